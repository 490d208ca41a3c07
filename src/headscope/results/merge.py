"""Putting the shards of one run together: sums add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr

from headscope.errors import ResultsError
from headscope.results.tree import KEPT, SUMS, Results


def merge(parts: Sequence[Results], *, partial: bool = False) -> Results:
    """Add shards of one run. They must come from the same model, corpus and settings, each once; all of them, unless ``partial``."""
    if not parts:
        raise ResultsError("nothing to merge", hint="headscope merge part1.nc part2.nc -o whole.nc")
    parts = sorted(
        parts, key=lambda part: _number(part.provenance["shards"][0])
    )  # so that the order in which they are given does not matter
    first = parts[0].provenance
    for part in parts[1:]:
        for key in ("model", "corpus", "settings", "measures", "details"):
            if part.provenance.get(key) != first.get(key):
                raise ResultsError(
                    f"these are not shards of one run: their {key} differs ({_difference(first.get(key), part.provenance.get(key))})",
                    hint="merge only shards made by one command with --shard 1/n … n/n",
                )
    shards = sorted((shard for part in parts for shard in part.provenance["shards"]), key=_number)
    twice = sorted({shard for shard in shards if shards.count(shard) > 1}, key=_number)
    if twice:
        raise ResultsError(f"shard {twice[0]} is given more than once", hint="give each shard once")
    total = _number(shards[0])[0]
    other = next((shard for shard in shards if _number(shard)[0] != total), None)
    if other is not None:  # 1/2 and 1/3 hold some examples both
        raise ResultsError(
            f"shards {shards[0]} and {other} are of different cuts of the corpus, and cannot be added",
            hint="merge only shards made by one command with --shard 1/n … n/n",
        )
    missing = [
        f"{number}/{total}" for number in range(1, total + 1) if f"{number}/{total}" not in shards
    ]
    if missing and not partial:
        raise ResultsError(
            f"shards are missing: {', '.join(missing)}",
            hint="run them, or pass --partial to merge what there is",
        )
    sums = parts[0].sums()
    for part in parts[1:]:
        sums = {name: add(dataset, part.sums()[name]) for name, dataset in sums.items()}
    return Results.build(
        sums,
        {
            **first,
            "shards": ["1/1"] if not missing else shards,
            "counts": _counts([part.provenance for part in parts]),
            "identity": "",
        },
    )


def _number(shard: str) -> tuple[int, int]:
    """Of how many shards it is one, and which: to sort them by."""
    number, total = shard.split("/")
    return int(total), int(number)


def add(left: xr.Dataset, right: xr.Dataset) -> xr.Dataset:
    """Sum two measures' sums; a label that only one of them has counts as zero in the other. Kept values of examples stand side by side, in their order."""
    names = list(SUMS)
    one, two = xr.align(
        left[names].drop_vars(("example", "id"), errors="ignore"),
        right[names].drop_vars(("example", "id"), errors="ignore"),
        join="outer",
        fill_value=0,
    )
    total = (one + two).assign_attrs(left.attrs)
    return (
        total.merge(xr.concat([left[[KEPT]], right[[KEPT]]], "example").sortby("example"))
        if KEPT in left
        else total
    )


def _counts(provenances: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each shard reads and encodes the whole corpus, so those counts are the whole's already; what was used or lost in the pass adds up."""
    counts = dict(provenances[0]["counts"])
    for other in provenances[1:]:
        for key in ("seen", "nonfinite"):
            counts[key] += other["counts"][key]
        counts["nonfinite_examples"] = (
            counts["nonfinite_examples"] + other["counts"]["nonfinite_examples"]
        )
    return counts


def _difference(one: Any, two: Any) -> str:
    if isinstance(one, dict) and isinstance(two, dict):
        key = next(
            (key for key in one if one.get(key) != two.get(key)),
            next((key for key in two if key not in one), ""),
        )
        return f"{key}: {one.get(key)!r} and {two.get(key)!r}"
    return f"{one!r} and {two!r}"
