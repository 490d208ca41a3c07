"""Heads of the check: chosen on the other half of the needles, matched by layer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import headscope as hs
from headscope.heads import Head
from headscope.models import Shape
from headscope.runs.retrieval.asking import choose_heads, layer_note, variants_of
from runs.retrieval.planted import LENGTH, NEEDLES, TEXTS, retrieving_model

SHAPE = Shape(6, 4, 8)


def scores_of(*names: str) -> np.ndarray:
    """Two needles on which these heads score, the first one most."""
    scores = np.zeros((2, SHAPE.layers, SHAPE.heads), np.float32)
    for rank, name in enumerate(names):
        scores[:, *Head.parse(name)] = 1 - rank / 100
    return scores


def chosen_for(scores: np.ndarray, counts: list[int], draws: int, seed: int) -> list:
    how = {"shape": SHAPE, "counts": counts, "draws": draws, "seed": seed}
    found = choose_heads(scores, np.array([0, 1]), np.array([True, True]), 0, **how)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(5))
def test_random_heads_come_from_the_layers_of_the_top_heads(seed):
    scores = scores_of("5-1", "3-4", "5-2", "2-2")
    _, top_2, *draws_2, top_4, a, b, c = chosen_for(scores, [2, 4], draws=3, seed=seed)
    assert [str(head) for head in top_4] == ["5-1", "3-4", "5-2", "2-2"]
    for top, draws in ((top_2, draws_2), (top_4, [a, b, c])):
        wanted = Counter(head.layer for head in top)
        for drawn in draws:
            assert Counter(head.layer for head in drawn) == wanted
            assert not set(drawn) & set(top_4)  # nor those that only the larger number disables
            assert len(set(drawn)) == len(top)


def test_draws_differ_and_every_other_head_of_a_layer_is_drawn():
    chosen = chosen_for(scores_of("5-1"), [1], draws=30, seed=0)
    assert {str(heads[0]) for heads in chosen[2:]} == {"5-2", "5-3", "5-4"}


def test_heads_of_other_layers_are_drawn_and_named_where_a_layer_has_none_left():
    chosen = chosen_for(scores_of("5-1", "5-2", "5-3", "3-1"), [4], draws=2, seed=0)
    for drawn in chosen[2:]:
        assert Counter(head.layer for head in drawn[:2]) == {4: 1, 2: 1}
        assert not {head.layer for head in drawn[2:]} & {4}
        assert len(set(drawn)) == 4
    assert layer_note([chosen], variants_of([4], draws=2)) == (
        "layer 5 has too few other heads: 4 of 8 random heads came from other layers"
    )


def test_matched_draws_need_no_note():
    chosen = chosen_for(scores_of("5-1", "3-4"), [2], draws=2, seed=0)
    assert layer_note([chosen], variants_of([2], draws=2)) is None


@pytest.fixture(scope="module")
def planted():
    return retrieving_model()


def test_the_planted_head_is_compared_with_others_of_its_layer(planted):
    atlas = hs.retrieval(planted, TEXTS, lengths=[LENGTH], needles=NEEDLES[:2], draws=4)
    drawn = [
        head
        for one in atlas.provenance["masking"]
        for head in one["heads"]
        if one["disabled"] == "random 1"
    ]
    assert len(drawn) == 8
    assert set(drawn) <= {"2-1", "2-2", "2-4"}
    assert not [note for note in atlas.provenance["notes"] if "other layers" in note]


def test_results_say_that_random_heads_came_from_other_layers(planted, monkeypatch):
    scores = np.array([[0, 0, 0, 0], [1, 1, 1, 0]], np.float32)  # only 2-4 is left in layer 2
    monkeypatch.setattr("headscope.runs.retrieval.asking.retrieval_scores", lambda *_: scores)
    how = {"lengths": [LENGTH], "needles": NEEDLES[:2], "masked": [3], "draws": 1}
    atlas = hs.retrieval(planted, TEXTS, **how)
    top, other = (one["heads"] for one in atlas.provenance["masking"][:2])
    assert (top, other[0]) == (["2-1", "2-2", "2-3"], "2-4")
    assert {name[0] for name in other[1:]} == {"1"}
    assert atlas.provenance["notes"][-1] == (
        "layer 2 has too few other heads: 4 of 6 random heads came from other layers"
    )
