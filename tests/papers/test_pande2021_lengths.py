"""Scores at equal lengths: two corpora that differ only in length are the same once matched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headscope.errors import ResultsError
from headscope.papers.pande2021_lengths import matched_scores
from stats.made_roles import made_roles

ROLES = ("local", "delimiter")


def made(lengths: list[int], factor: float = 0.1) -> Any:
    """Scores that are the length times a factor, for every head."""
    scores = np.array(lengths, float)[:, None, None, None] * np.full((1, 2, 3, 2), factor)
    return made_roles(scores, ROLES, tokens=lengths)


def test_corpora_that_differ_only_in_length_have_the_same_matched_scores():
    short, long = [10, 10, 10, 20, 20], [20, 20, 40, 40, 40, 40]
    table = matched_scores({"short": made(short), "long": made(long)}, tau=3.0)
    rows = table[table["role"] == "local"].set_index("corpus")
    assert rows["length"].to_dict() == {"short": 14.0, "long": pytest.approx(200 / 6)}
    assert rows["mean"].to_dict() == pytest.approx({"short": 1.4, "long": 20 / 6})
    assert rows["over"].to_dict() == {"short": 0.0, "long": 6.0}
    assert rows["matched length"].to_dict() == {"short": 20.0, "long": 20.0}
    assert rows["matched mean"].to_dict() == pytest.approx({"short": 2.0, "long": 2.0})
    assert rows["matched over"].to_dict() == {"short": 0.0, "long": 0.0}
    assert rows["matched"].to_dict() == {"short": 2, "long": 2}


def test_bins_weigh_as_much_as_in_the_corpus_with_the_fewest_there():
    one, two = [10, 10, 10, 30], [10, 30, 30, 30, 30]  # in common: one of 10, one of 30
    table = matched_scores({"one": made(one), "two": made(two)}, tau=3.0, width=1)
    assert table["matched length"].tolist() == [20.0] * 4
    assert table["matched mean"].tolist() == pytest.approx([2.0] * 4)


def test_lengths_without_any_in_common_are_not_matched():
    table = matched_scores({"one": made([10, 12]), "two": made([50, 60])}, tau=3.0)
    assert table[["matched length", "matched mean", "matched over"]].isna().to_numpy().all()
    assert table["matched"].tolist() == [0] * 4


def test_a_role_is_compared_among_the_corpora_that_have_it():
    lone = made_roles(np.full((4, 2, 3, 1), 2.0), ["local"], tokens=[10] * 4)
    table = matched_scores({"one": made([10, 10]), "two": lone}, tau=3.0)
    assert table[["role", "corpus"]].values.tolist() == [["local", "one"], ["local", "two"]]


def test_results_without_lengths_say_so():
    old = made_roles(np.full((4, 2, 3, 1), 2.0), ["local"])
    with pytest.raises(ResultsError) as caught:
        matched_scores({"one": old, "two": old}, tau=3.0)
    assert caught.value.message == "these results do not say how long the sequences are"
