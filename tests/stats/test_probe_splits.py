"""Means over repeated splits and their intervals, computed by hand and with scipy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headscope.errors import ResultsError
from headscope.page.probing import probe_section, split_rows
from headscope.results import Atlas
from headscope.stats.tables.probing import split_interval, split_table, split_text
from stats.made_probing import made_probing

EACH = np.array(
    [
        [[0.5, 0.6, 0.7], [0.6, 0.6, 0.6], [0.9, 0.8, 1.0]],
        [[0.2, 0.4, 0.3], [0.3, 0.5, 0.2], [0.3, 0.4, 0.2]],
    ]
)
"""Scores by task, way (last, best, top) and split."""


def repeated(names: tuple[str, str] = ("past_present", "tree_depth")) -> Atlas:
    plain = made_probing(2, 3, names)
    facts = {"title": ["Tense", "Depth"], "classes": [2, 8], "train": [80, 80]}
    data = xr.Dataset(
        {
            "each": (("task", "way", "split"), EACH),
            "rank": (("task", "split", "place"), np.full((2, 3, 2), "1-1")),
            **{name: ("task", values) for name, values in facts.items()},
            "test_size": ("task", [20, 20]),
        },
        {"task": list(names), "way": ["last", "best", "top"]},
        {"kind": "probe"},
    )
    groups = {name: plain[name] for name in plain} | {"probe_splits_top": data}
    return Atlas.build(groups, plain.provenance)


def test_the_interval_is_a_t_interval_whose_variance_counts_shared_sentences() -> None:
    scores = np.random.default_rng(0).normal(0.7, 0.1, 8)
    plain = stats.t.interval(0.95, 7, scores.mean(), stats.sem(scores))
    mean, low, high = split_interval(scores, train=10**12, test=1)
    assert (low, high) == pytest.approx(plain)  # hardly any test sentences: the usual interval
    mean, low, high = split_interval(scores, train=80, test=20)
    wider = np.sqrt((1 / 8 + 20 / 80) / (1 / 8))
    assert mean == pytest.approx(scores.mean())
    assert (high - low) / (plain[1] - plain[0]) == pytest.approx(wider)
    assert np.isnan(split_interval(scores[:1], 80, 20)[1])


def test_it_covers_the_expected_score_where_the_usual_interval_is_too_narrow() -> None:
    """Splits of 50 sentences, drawn 300 times: a majority rule whose expected score is known."""
    random, inside = np.random.default_rng(1), np.zeros(2)
    for _ in range(300):
        right = random.random(50) < 0.7  # sentences that the rule gets right
        scores = np.array([right[random.permutation(50)[:25]].mean() for _ in range(5)])
        _, low, high = split_interval(scores, train=25, test=25)
        usual = stats.t.interval(0.95, 4, scores.mean(), stats.sem(scores) + 1e-12)
        inside += [low <= 0.7 <= high, usual[0] <= 0.7 <= usual[1]]
    assert inside[0] / 300 > 0.9 > inside[1] / 300


def test_a_row_has_means_and_differences_that_are_paired_by_split() -> None:
    tense = split_table(repeated()).iloc[0]
    assert (tense["task"], tense["splits"], tense["test size"], tense["n"]) == ("Tense", 3, 20, 2)
    assert tense[["last", "best", "top"]].tolist() == pytest.approx([60, 60, 90])
    half = stats.t.ppf(0.975, 2) * 10 * np.sqrt(1 / 3 + 20 / 80)
    assert tense["last low"] == pytest.approx(60 - half)
    assert tense["top high"] == 100  # no accuracy is above it
    assert (tense["best low"], tense["best high"]) == pytest.approx((60, 60))
    difference = np.array([40.0, 20.0, 30.0])  # top minus last, split by split
    half = stats.t.ppf(0.975, 2) * difference.std(ddof=1) * np.sqrt(1 / 3 + 20 / 80)
    assert tense["top - last"] == pytest.approx(30)
    assert tense["top - last low"] == pytest.approx(30 - half)


def test_the_note_names_tasks_whose_target_words_are_no_longer_kept_apart() -> None:
    text = split_text(repeated())
    assert text.startswith("Means over 3 splits: all sentences of a task are divided again")
    assert "In the new splits of Tense, a target word may be in training" in text
    assert "target word" not in split_text(repeated(("word_content", "tree_depth")))
    assert split_text(made_probing(2, 3)) == ""


def test_results_without_repeated_splits_say_how_to_get_them() -> None:
    with pytest.raises(ResultsError, match="these results have no repeated splits") as error:
        split_table(made_probing(2, 3))
    assert "repeats=5" in error.value.hint


def test_the_page_has_a_table_of_repeated_splits_where_there_are_any() -> None:
    titles = [table.title for table in probe_section(made_probing(2, 3)).tables]
    assert titles == ["Layers and top heads", "Best heads"]
    tables = probe_section(repeated()).tables
    assert [table.title for table in tables] == [titles[0], "Repeated splits", titles[1]]
    row = split_rows(split_table(repeated()))[0]
    assert row == tables[1].rows[0]
    assert (row["best layer"], row["test sentences"]) == ("60.0 (60–60)", 20)
    assert row["top − last, points"] == "+30.0 (-2.9 to +62.9)"
