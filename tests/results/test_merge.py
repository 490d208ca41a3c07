"""Shards of one run add up to the whole; anything else is refused in words."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import xarray as xr

from headscope.errors import ResultsError
from headscope.results import Atlas, merge
from headscope.results.merge import add
from refusals import refusal

VALUES = np.random.default_rng(6).random((9, 2, 3, 3))


def parts(make, total: int = 3, **changes: Any) -> list[Atlas]:
    """Shards of the nine values; each shard reads and uses only its own examples."""
    each = len(VALUES) // total
    return [
        make(
            position=VALUES[number * each : (number + 1) * each],
            first=number * each,
            shards=[f"{number + 1}/{total}"],
            counts={
                "read": each,
                "used": each,
                "seen": each,
                "nonfinite": number,
                "nonfinite_examples": [f"{number}-{index}" for index in range(number)],
            },
            created=f"day {number}",
            **changes,
        )
        for number in range(total)
    ]


def refused(given: list[Atlas], *, partial: bool = False) -> tuple[str, str]:
    error = refusal(ResultsError, merge, given, partial=partial)
    return error.message, error.hint


def test_shards_in_any_order_merge_to_the_whole(make):
    whole = make(position=VALUES)
    merged = [merge(order) for order in permutations(parts(make))]
    for one in merged:
        xr.testing.assert_identical(one["position"], whole["position"])
        assert one.tree.identical(merged[0].tree)
    known = merged[0].provenance
    assert known["shards"] == ["1/1"]
    assert known["counts"] == {
        "read": 9,
        "used": 9,
        "seen": 9,
        "nonfinite": 3,
        "nonfinite_examples": ["1-0", "2-0", "2-1"],
    }


def test_a_whole_run_merges_to_itself(some):
    merged = merge([some])
    assert all(merged[name].identical(some[name]) for name in some)
    expected = {**some.provenance, "identity": ""}
    assert merged.provenance == expected  # but it is not what one call made


def test_missing_shards_are_listed_unless_what_there_is_will_do(make):
    first, _, last = parts(make)
    message, hint = refused([last])
    assert message == "2 of 3 shards are missing: 1/3, 2/3"
    assert hint == "give all shards, or partial=True to merge those there are"
    some = merge([last, first], partial=True)
    assert some.provenance["shards"] == ["1/3", "3/3"]
    assert some["position"]["n"].values.tolist() == np.full((2, 3, 3), 6).tolist()


def test_partial_merges_merge_on_to_the_whole(make):
    first, second, last = parts(make)
    merged = merge([merge([last, first], partial=True), second])
    xr.testing.assert_identical(merged["position"], make(position=VALUES)["position"])
    assert merged.provenance["shards"] == ["1/1"]
    message = "shard 1/3 is given more than once"
    assert refused([merge([last, first], partial=True), first], partial=True)[0] == message


def test_more_than_nine_shards_are_listed_in_the_order_of_their_numbers(make):
    each = [
        make(position=VALUES[:1], first=number, shards=[f"{number}/12"]) for number in (10, 2, 11)
    ]
    assert merge(each, partial=True).provenance["shards"] == ["2/12", "10/12", "11/12"]


@pytest.mark.parametrize("partial", [False, True])
def test_a_shard_given_twice_is_refused(make, partial):
    first, second, last = parts(make)
    expected = ("shard 2/3 is given more than once", "give each shard once")
    assert refused([first, second, last, second], partial=partial) == expected


@pytest.mark.parametrize("partial", [False, True])
def test_shards_of_different_cuts_are_refused_for_they_share_examples(make, partial):
    halves, thirds = parts(make, 1), parts(make, 3)
    message = "shards 1/1 and 2/3 divide the corpus differently and cannot be added"
    assert refused([*halves, thirds[1]], partial=partial)[0] == message
    found = refused([thirds[0], make(position=VALUES[:1], shards=["2/2"])], partial=partial)[0]
    assert found == "shards 2/2 and 1/3 divide the corpus differently and cannot be added"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": {"name": "hand", "weights": "xyz"}}, "weights: 'abc' and 'xyz'"),
        ({"corpus": {"name": "mine.txt", "sha256": "999"}}, "corpus.sha256: '123' and '999'"),
        ({"settings": {"batch_size": 16, "seed": 7}}, "seed: 0 and 7"),
        ({"settings": {"batch_size": 16, "seed": 0, "new": 1}}, "new: not given and 1"),
        ({"measures": ["position", "entropy"]}, "measures: 'position' and 'position', 'entropy'"),
    ],
    ids=["model", "corpus", "settings", "a new setting", "measures"],
)
def test_shards_of_another_run_are_refused_with_what_differs(make, change, why):
    first, other = parts(make)[0], parts(make, **change)[1]
    for given in ([first, other], [other, first]):
        message, hint = refused(given)
        assert message == f"these are not shards of one run: they differ in {why}"
        assert hint.startswith("merge only shards of one run: ")


def test_nothing_to_merge_is_an_error():
    assert refused([]) == ("there is nothing to merge", "hs.merge([first, second])")


def test_merging_changes_none_of_the_parts(make):
    given = parts(make)
    copies = [part.tree.copy(deep=True) for part in given]
    merge(given)
    assert all(part.tree.identical(copy) for part, copy in zip(given, copies, strict=True))


def test_a_label_that_only_one_shard_has_counts_as_nothing_in_the_other():
    def dataset(labels, value):
        parts = {
            "sum": [float(value)] * len(labels),
            "square": [float(value**2)] * len(labels),
            "count": [value] * len(labels),
        }
        return xr.Dataset(
            {name: ("relation", numbers) for name, numbers in parts.items()},
            {"relation": labels},
            {"unit": "share"},
        )

    both = add(dataset(["nsubj", "det"], 2), dataset(["det", "obj"], 3))
    assert {
        str(label): tuple(
            float(both[name].sel(relation=label)) for name in ("sum", "square", "count")
        )
        for label in both["relation"].values
    } == {"det": (5.0, 13.0, 5.0), "nsubj": (2.0, 4.0, 2.0), "obj": (3.0, 9.0, 3.0)}
    assert both["count"].dtype == np.int64
    assert both.attrs == {"unit": "share"}
