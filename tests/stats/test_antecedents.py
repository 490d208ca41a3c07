"""Table 2 from results made by hand."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from headscope.results import Atlas
from headscope.stats import antecedent_table
from stats.made import HEADS, LAYERS, coreference, results
from stats.references import holm, wilson_interval

N = {"all": (50, 10, 20, 30), "pronoun": (30, 6, 5, 20), "nominal": (20, 4, 15, 10)}
"""Mentions, and those that nearest, same head word and rules have right."""
RIGHT = {
    ("mentions", 2, 1): {
        "all": (36, 8, 18, 25),
        "pronoun": (24, 5, 4, 18),
        "nominal": (12, 3, 14, 7),
    },
    ("mentions", 1, 3): {"all": (35, 9, 10, 20)},
    ("words", 1, 2): {"all": (5, 1, 2, 3)},
}


@pytest.fixture(scope="module")
def made() -> Atlas:
    return results(coreference=coreference(N, RIGHT))


def test_baselines_come_first_then_the_best_head_and_the_number_of_mentions(made: Atlas) -> None:
    table = antecedent_table(made)
    assert table["system"].tolist() == [
        "nearest",
        "same head word",
        "rules",
        "head 2-1",
        "mentions",
    ]
    assert table["all"].tolist() == pytest.approx([0.2, 0.4, 0.6, 0.72, 50])
    assert table["pronoun"].tolist() == pytest.approx([6 / 30, 5 / 30, 20 / 30, 24 / 30, 30])
    assert table["nominal"].tolist() == pytest.approx([4 / 20, 15 / 20, 10 / 20, 12 / 20, 20])


def test_a_kind_without_mentions_is_not_defined(made: Atlas) -> None:
    table = antecedent_table(made)
    assert table["proper"].isna().tolist() == [True, True, True, True, False]
    assert table["proper"].iloc[-1] == 0


def test_the_best_head_has_wilsons_interval_and_a_corrected_p_over_each_baseline(
    made: Atlas,
) -> None:
    row = antecedent_table(made).iloc[3]
    assert (row["low"], row["high"]) == pytest.approx(wilson_interval(36, 50))
    for column, name in enumerate(("nearest", "same head word", "rules"), 1):
        every = []
        for layer in range(1, LAYERS + 1):
            for head in range(1, HEADS + 1):
                numbers = RIGHT.get(("mentions", layer, head), {}).get("all", (0, 0, 0, 0))
                mine, its = numbers[0] - numbers[column], N["all"][column] - numbers[column]
                every.append(binomtest(mine, mine + its, 0.5, alternative="greater").pvalue)
        # Head 2-1 is the first of the second layer.
        assert row[f"p over {name}"] == pytest.approx(holm(every)[HEADS])


def test_all_words_as_candidates_may_have_another_best_head(made: Atlas) -> None:
    table = antecedent_table(made, candidates="words")
    assert table["system"].iloc[3] == "head 1-2"
    assert table["all"].iloc[3] == pytest.approx(0.1)


def test_without_any_mention_nothing_is_defined() -> None:
    table = antecedent_table(results(coreference=coreference({}, {})))
    assert table["all"].iloc[:-1].isna().all()
    assert table["all"].iloc[-1] == 0
    assert math.isnan(table["low"].iloc[3])
