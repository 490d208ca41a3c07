"""Shares of pattern classes: counted by hand, with intervals from definitions and scipy."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.errors import ResultsError
from headscope.stats.tables.patterns import (
    HETEROGENEOUS,
    leading_patterns,
    pattern_heads,
    pattern_layers,
    pattern_shares,
    shares_by_file,
)
from page.samples import made_results
from refusals import refusal
from stats.made_patterns import CLASSES, pattern_results, random_patterns
from stats.references import document_interval

UNEQUAL = np.array([0] * 3 + [1] * 9 + [4] * 16 + [7] * 12)
"""Forty examples in four blocks of different sizes."""


def expected(found: np.ndarray, blocks: np.ndarray, wanted: int) -> tuple[float, float, float]:
    """Share and ends of the interval, from the maps of each block."""
    hits = (found == wanted).reshape(len(found), -1)
    names = sorted(set(blocks.tolist()))
    sums = [int(hits[blocks == name].sum()) for name in names]
    counts = [hits[blocks == name].size for name in names]
    return float(hits.mean()), *document_interval(sums, counts, share=True)


@pytest.mark.parametrize("wanted", range(5))
def test_the_interval_of_a_share_is_that_of_leaving_out_blocks_one_by_one(wanted):
    found = random_patterns()
    row = pattern_shares(pattern_results(found, UNEQUAL)).set_index("pattern").loc[CLASSES[wanted]]
    seen = (row["share"], row["low"], row["high"])
    assert seen == pytest.approx(expected(found, UNEQUAL, wanted))
    assert row["examples"] == 40


def test_shares_by_layer_are_those_of_the_layer_alone():
    found = random_patterns()
    table = pattern_layers(pattern_results(found, UNEQUAL))
    assert len(table) == 2 * 5
    for _, row in table.iterrows():
        mine = found[:, row["layer"] - 1]
        wanted = pytest.approx(expected(mine, UNEQUAL, CLASSES.index(row["pattern"])))
        assert (row["share"], row["low"], row["high"]) == wanted
    assert table.groupby("layer")["share"].sum().to_numpy() == pytest.approx([1.0, 1.0])


def test_one_block_has_a_share_and_no_interval():
    table = pattern_shares(pattern_results(random_patterns(), np.zeros(40, int)))
    assert table["share"].sum() == pytest.approx(1.0)
    assert table[["low", "high"]].isna().all(axis=None)


def test_a_head_has_the_interval_of_its_documents():
    found = random_patterns()
    table = pattern_heads(pattern_results(found, UNEQUAL))
    assert len(table) == 2 * 3 * 5
    for _, row in table.iterrows():
        mine = found[:, row["layer"] - 1, row["head"] - 1]
        wanted = pytest.approx(expected(mine, UNEQUAL, CLASSES.index(row["pattern"])), abs=1e-9)
        assert (row["share"], row["low"], row["high"]) == wanted
        assert row["name"] == f"{row['layer']}-{row['head']}"


def test_the_leading_class_is_the_most_frequent_one_and_the_first_of_equals():
    # Head 1 is twice vertical; head 2 is block twice and heterogeneous twice.
    found = np.array([[[0, 4]], [[0, 3]], [[1, 3]], [[2, 4]]])
    table = leading_patterns(pattern_results(found, np.arange(4)))
    expected = [["1-1", "vertical", 0.5], ["1-2", "block", 0.5]]
    assert table[["name", "pattern", "share"]].to_numpy().tolist() == expected


def test_a_head_whose_maps_were_never_counted_has_no_class():
    found = random_patterns()
    found[:, 1, 2] = -1
    table = leading_patterns(pattern_results(found, UNEQUAL))
    assert "2-3" not in set(table["name"])
    assert len(table) == 5


def test_files_stand_one_after_the_other():
    one, two = (pattern_results(random_patterns(seed=seed), UNEQUAL) for seed in (1, 2))
    table = shares_by_file({"mrpc": one, "qqp": two})
    assert table["file"].tolist() == ["mrpc"] * 5 + ["qqp"] * 5
    expected = pytest.approx([*pattern_shares(one)["share"], *pattern_shares(two)["share"]])
    assert table["share"].to_numpy() == expected


def test_results_without_patterns_say_how_to_get_them():
    error = refusal(ResultsError, pattern_shares, made_results())
    message = "these results have no pattern classes; they have position, special, entropy"
    assert error.message == message
    assert error.hint == ('survey with patterns: hs.survey(model, corpus, measures="pattern")')


def test_results_of_no_example_say_so():
    with pytest.raises(ResultsError, match="of no example: all examples were skipped"):
        pattern_shares(pattern_results(np.full((3, 1, 2), -1), np.arange(3)))


@pytest.mark.shared
def test_the_published_shares_stand_in_the_paper(shared):
    text = (shared / "papers" / "kovaleva2019.txt").read_text(encoding="utf-8")
    assert (
        "varies from "
        + " to ".join(f"{share:.0%} ({task})" for task, share in HETEROGENEOUS.items())
        in text
    )
