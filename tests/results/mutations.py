"""Ways in which the contents of a results file can be wrong, although its digest is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

Groups = dict[str, xr.Dataset]
"""The groups of some results by their path; the root is "/"."""
Mutation = Callable[[Groups], None]
"""Changes one thing."""


def attribute(group: str, name: str, value: Any) -> Mutation:
    """Another value of an attribute; None removes it."""

    def change(groups: Groups) -> None:
        rest = {key: old for key, old in groups[group].attrs.items() if key != name}
        groups[group].attrs = rest if value is None else {**rest, name: value}

    return change


def provenance(where: str, value: Any) -> Mutation:
    """Another value in the provenance; None removes it. ``where`` is like "model.layers"."""

    def change(groups: Groups) -> None:
        about = json.loads(groups["/"].attrs["provenance"])
        *above, last = where.split(".")
        part = about
        for name in above:
            part = part[name]
        part.pop(last, None)
        if value is not None:
            part[last] = value
        groups["/"].attrs["provenance"] = json.dumps(about)

    return change


def group(name: str, made: xr.Dataset | None) -> Mutation:
    """Another group; None removes it."""

    def change(groups: Groups) -> None:
        groups.pop(name, None)
        if made is not None:
            groups[name] = made

    return change


def dataset(name: str, change: Callable[[xr.Dataset], xr.Dataset]) -> Mutation:
    """A changed group."""

    def apply(groups: Groups) -> None:
        groups[name] = change(groups[name])

    return apply


def variable(name: str, of: str, change: Callable[[np.ndarray], Any]) -> Mutation:
    """Other values of a variable, of the same shape."""
    return dataset(name, lambda data: data.assign({of: (data[of].dims, change(data[of].values))}))


def labels(name: str, dim: str, change: Callable[[np.ndarray], Any]) -> Mutation:
    """Other labels of a dimension."""
    return dataset(name, lambda data: data.assign_coords({dim: change(data[dim].values)}))


def without(name: str, *variables: str) -> Mutation:
    """Without some variables."""
    return dataset(name, lambda data: data.drop_vars(list(variables)))


def first(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Put a value in the first place."""

    def change(values: np.ndarray) -> np.ndarray:
        made = values.astype(object if isinstance(value, str) else type(value))
        made.flat[0] = value
        return made

    return change


def _other(data: xr.Dataset) -> xr.Dataset:
    return data.isel(layer=slice(0, 1), head=slice(0, 1))


def _texts(change: Callable[[bytes], bytes]) -> Mutation:
    """Other texts of the kept examples, as many bytes as before."""

    def apply(values: np.ndarray) -> np.ndarray:
        before = values.tobytes()
        made = change(before)
        assert len(made) == len(before)
        assert made != before
        return np.frombuffer(made, values.dtype)

    return variable("/examples", "texts", apply)


def _inner(kind: str, name: str) -> Mutation:
    """An empty group inside one of a kind."""

    def change(groups: Groups) -> None:
        groups[f"/{kind}"] = xr.Dataset(attrs={"kind": kind})
        groups[f"/{kind}/{name}"] = xr.Dataset()

    return change


def _only_root(groups: Groups) -> None:
    for name in set(groups) - {"/"}:
        del groups[name]


JSON = {
    f"{where} is {what}": attribute(group, where, value)
    for group, where in (
        ("/", "provenance"),
        ("/role", "titles"),
        ("/role", "absent"),
        ("/work", "words"),
        ("/dependency", "offsets"),
        ("/dependency", "half_offsets"),
        ("/dependency", "offset_counts"),
    )
    for what, value in (
        ("missing", None),
        ("not JSON", "{'a': 1"),
        ("a JSON list", "[1, 2]"),
        ("a JSON object of others", '{"a": [[{}]]}'),
        ("a number", 3),
    )
} | {"provenance is nested deeply": attribute("/", "provenance", "[" * 100_000)}
ROOT: dict[str, Mutation] = {
    "no schema": attribute("/", "headscope_schema", None),
    "schema is a text": attribute("/", "headscope_schema", "three"),
    "schema is 3.5": attribute("/", "headscope_schema", 3.5),
    "schema is NaN": attribute("/", "headscope_schema", float("nan")),
    "schema is a list": attribute("/", "headscope_schema", [3, 3]),
    "schema is huge": attribute("/", "headscope_schema", 2**62),
    "schema is negative": attribute("/", "headscope_schema", -3),
}
PROVENANCE: dict[str, Mutation] = {
    f"{where} is {value!r}": provenance(where, value)
    for where, values in {
        "model": (None, "demo", []),
        "model.name": (None, 3, ["a"]),
        "model.layers": (None, -1, 10**12, "2", 7.5, 1),
        "model.heads": (None, 0, 10**12, "4", 3),
        "model.layer_numbers": ([1], "12", [2, 1], [1, "2"]),
        "model.tokens": (None, "CLS", {"start": 3}),
        "model.stack": (None, 3),
        "corpus": (None, 3),
        "corpus.name": (None, {}),
        "counts": (None, []),
        "counts.seen": (None, -5, "many", 1e400),
        "settings": (None, "none"),
        "settings.seed": (None, "zero", -1),
        "notes": (None, "a note", [3]),
        "measures": (None, "position", [3]),
        "shards": (None, [], ["one"], [1]),
        "details": (None, []),
        "kind": (3, "circuits"),
        "examples": (None, 3),
        "versions": (None, "1"),
        "created": (None, 3),
        "checkpoints": ([], [{"name": 3}]),
    }.items()
    for value in values
}
GROUPS: dict[str, Mutation] = {
    **{f"no group {name}": group(f"/{name}", None) for name in ("position", "work", "examples")},
    **{f"empty group {name}": group(f"/{name}", xr.Dataset()) for name in ("role", "examples")},
    "only the root": _only_root,
    "a group of weather": group("/rain", xr.Dataset({"rain": ("day", [1.0, 2.0])})),
    "a null group without nulls": group("/null", xr.Dataset(attrs={"kind": "null"})),
    "a null group without a kind": group("/null/shuffled-words", xr.Dataset()),
    "a null without provenance": _inner("null", "shuffled-words"),
    "a null group that is a measure": group("/null", xr.Dataset(attrs={"kind": "mean"})),
    "a track without checkpoints": group("/track", xr.Dataset(attrs={"kind": "track"})),
    "an empty track": _inner("track", "position"),
    "examples that are a measure": attribute("/examples", "kind", "mean"),
    "a measure that is examples": attribute("/position", "kind", "examples"),
    "a kind of the future": attribute("/position", "kind", "future"),
    "a kind that is another": attribute("/position", "kind", "probe"),
    "a kind that is a number": attribute("/position", "kind", 3),
    "a kind that is tested": attribute("/position", "kind", "score"),
    "a kind of pairs": attribute("/entropy", "kind", "composition"),
    **{
        f"{name} is {value!r}": attribute("/entropy", name, value)
        for name in ("title", "unit", "source", "listed")
        for value in (None, 3, [1.0, 2.0], "")
    },
}
VARIABLES: dict[str, Mutation] = {
    **{f"no {name}": without("/position", name) for name in ("mean", "low", "deviation", "n")},
    **{f"no {name}": without("/special", name) for name in ("sum", "square", "count")},
    **{
        f"no labels of {dim}": without("/dependency", dim)
        for dim in ("layer", "head", "relation", "words")
    },
    "no sums": without("/dependency", "sum", "square", "count"),
    "no values of examples": without("/role", "value"),
    "no ids of examples": without("/role", "id"),
    "means are texts": variable("/position", "mean", lambda values: values.astype(str)),
    "means are booleans": variable("/entropy", "mean", lambda values: values > 0.5),
    "counts are texts": variable("/special", "count", lambda values: values.astype(str)),
    "counts are negative": variable("/special", "n", lambda values: -values - 1),
    "counts are huge": variable("/special", "n", lambda values: values + 2**62),
    "sums are NaN": variable("/work", "sum", lambda values: values * np.nan),
    "counts are 0": variable("/work", "count", lambda values: values * 0),
    "means are infinite": variable("/position", "mean", lambda values: values + np.inf),
    "means are NaN": variable("/position", "mean", lambda values: values * np.nan),
    "means are not shares": variable("/position", "mean", lambda values: values - 7.0),
    "words are negative": variable("/dependency", "count", lambda values: -values),
    "another order of dimensions": dataset("/position", lambda data: data.transpose()),
    "a dimension of another name": dataset("/position", lambda data: data.rename(offset="place")),
    "no dimension of layers": dataset("/entropy", lambda data: data.isel(layer=0, drop=True)),
    "no dimension of labels": dataset("/entropy", lambda data: data.isel(row=0, drop=True)),
    "no relations": dataset("/dependency", lambda data: data.isel(relation=slice(0, 0))),
    "fewer heads": dataset("/entropy", _other),
    "fewer heads at work": dataset("/work", _other),
    "fewer layers at roles": dataset("/role", lambda data: data.isel(layer=slice(1, 2))),
    "one bucket": dataset("/dependency", lambda data: data.isel(bucket=slice(0, 1))),
}
LABELS: dict[str, Mutation] = {
    "layers are NaN": labels("/position", "layer", lambda values: values * np.nan),
    "layers are texts": labels("/position", "layer", lambda values: values.astype(str)),
    "layers count from 0": labels("/entropy", "layer", lambda values: values - 1),
    "layers are negative": labels("/entropy", "layer", lambda values: -values),
    "layers are others": labels("/special", "layer", lambda values: values + 40),
    "layers are twice the same": labels("/special", "layer", lambda values: values * 0 + 1),
    "heads are not whole": labels("/role", "head", lambda values: values + 0.5),
    "heads are reversed": labels("/role", "head", lambda values: values[::-1]),
    "offsets are numbers": labels("/position", "offset", lambda values: [1, 2, 3]),
    "offsets are others": labels("/position", "offset", lambda values: ["a", "b", "c"]),
    "a label twice": labels("/position", "offset", lambda values: ["next"] * 3),
    "an empty label": labels("/special", "token", first("")),
    "a strange label": labels("/role", "role", first("\u202e<script>")),
    "a role of others at work": labels("/work", "role", first("cooking")),
    "rows are others": labels("/entropy", "row", lambda values: ["a", "b", "c"]),
    "directions are others": labels("/dependency", "direction", first("up")),
    "words are others": labels("/dependency", "words", first("some")),
    "kinds of sinks are others": labels("/activity", "where", first("home")),
}
EXAMPLES: dict[str, Mutation] = {
    **{
        f"no {name} of examples": without("/examples", name)
        for name in ("texts", "text_rows", "keys", "counts", "sample_share", "layer")
    },
    "examples are not JSON": _texts(lambda text: text.replace(b"{", b"[", 1)),
    "examples are not UTF-8": _texts(lambda text: text.replace(b"{", b"\xff", 1)),
    "examples lack tokens": _texts(lambda text: text.replace(b'"tokens"', b'"nekots"', 1)),
    "examples have other types": _texts(lambda text: text.replace(b'"number":1', b'"number":[', 1)),
    "examples have texts for words": _texts(
        lambda text: text.replace(b'"unit":[-', b'"unit":[1', 1)
    ),
    "bytes are negative": variable("/examples", "text_bytes", lambda values: -values),
    "bytes are too few": variable("/examples", "text_bytes", lambda values: values - 1),
    "texts that are not there": variable("/examples", "strongest_text", lambda values: values + 99),
    "samples that are not there": variable("/examples", "sample_text", lambda values: values - 99),
    "rows that are not there": variable("/examples", "text_rows", lambda values: values + 1),
    "keys that are not there": variable("/examples", "keys", lambda values: values + 500),
    "counts that are not there": variable("/examples", "counts", lambda values: values + 1),
    "keys are floats": variable("/examples", "keys", lambda values: values + 0.5),
    "scores are NaN": variable("/examples", "strongest_score", lambda values: values * np.nan),
    "shares are NaN": variable("/examples", "sample_share", lambda values: values * np.nan),
}
ALL: dict[str, Mutation] = {
    f"{kind}: {name}": mutation
    for kind, some in {
        "json": JSON,
        "root": ROOT,
        "provenance": PROVENANCE,
        "groups": GROUPS,
        "variables": VARIABLES,
        "labels": LABELS,
        "examples": EXAMPLES,
    }.items()
    for name, mutation in some.items()
}
"""All of them by name."""
