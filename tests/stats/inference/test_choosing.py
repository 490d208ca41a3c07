"""Choosing on one half and scoring on the other, against a plain loop and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.stats.inference.correction import best_choice, cross_fit, cross_score


@st.composite
def tables(draw: st.DrawFn) -> list[list[tuple[int, int]]]:
    """(right, all) by bucket and choice; all choices of a bucket answer the same questions."""
    choices = draw(st.integers(1, 4))
    table = []
    for _ in range(draw(st.integers(2, 6))):
        n = draw(st.integers(0, 12))
        table.append([(draw(st.integers(0, n)), n) for _ in range(choices)])
    return table


def in_words(table: list[list[tuple[int, int]]]) -> tuple[float, tuple[int, int] | None]:
    """Choose on the even buckets and score on the odd ones, and the other way round."""
    halves = [range(0, len(table), 2), range(1, len(table), 2)]
    chosen = []
    for half in halves:
        best, most = -1, -1.0
        for choice in range(len(table[0])):
            n = sum(table[bucket][choice][1] for bucket in half)
            right = sum(table[bucket][choice][0] for bucket in half)
            if n and right / n > most:
                best, most = choice, right / n
        chosen.append(best)
    if -1 in chosen:
        return math.nan, None
    right = sum(table[bucket][chosen[0]][0] for bucket in halves[1])
    right += sum(table[bucket][chosen[1]][0] for bucket in halves[0])
    return right / sum(row[0][1] for row in table), (chosen[0], chosen[1])


@given(table=tables())
@settings(deadline=None)
def test_the_score_is_that_of_a_plain_loop(table):
    numbers = np.array(table)
    found = cross_fit(numbers[..., 0], numbers[..., 1])
    score, chosen = in_words(table)
    assert found.chosen == chosen
    assert found.score == pytest.approx(score, nan_ok=True)
    assert found.count.sum() == (numbers[:, 0, 1].sum() if chosen else 0)


def test_a_half_without_data_chooses_nothing():
    found = cross_fit([[3, 4], [0, 0]], [[5, 5], [0, 0]])
    assert found.chosen is None
    assert math.isnan(found.score)
    assert best_choice([0.0], [0]) is None


def test_scores_that_are_not_means_are_chosen_and_scored_apart():
    score, chosen = cross_score([0.2, 0.9, math.nan], [0.5, 0.3, 0.8])
    assert chosen == (1, 2)
    assert math.isnan(score)  # the second half's choice is not defined on the first
    assert cross_score([math.nan], [0.1]) == (pytest.approx(math.nan, nan_ok=True), None)
