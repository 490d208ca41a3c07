"""Greedy selection is the plain one, with a classifier trained anew for every candidate; it takes what is missing, where the best heads alone take the same thing twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from headscope.runs.probe import select
from headscope.runs.probe.classify import Settings, classify, standardise
from headscope.runs.probe.rows import Rows
from headscope.runs.probe.select import JUDGE_L2, candidates, greedy, judged, ranking

NONE = np.zeros(0, np.int64)


def literal(x: Any, wanted: Any, train: Any, held: Any, *, count: int) -> list[int]:
    """Every set of heads from scratch, by scikit-learn's logistic regression in double precision. ``wanted`` (row, class) may be shares: a row then counts as often as it has classes."""
    repeated, answers = (
        np.repeat(train, wanted.shape[1]),
        np.tile(np.arange(wanted.shape[1]), len(train)),
    )
    chosen: list[int] = []
    while len(chosen) < count:
        losses = {}
        for unit in set(range(len(x))) - set(chosen):
            features = np.concatenate([x[one] for one in [*chosen, unit]], 1)
            model = LogisticRegression(C=1 / (JUDGE_L2 * len(train)), tol=1e-8, max_iter=5000).fit(
                features[repeated], answers, sample_weight=wanted[train].ravel()
            )
            losses[unit] = -(wanted[held] * model.predict_log_proba(features[held])).sum()
        chosen.append(min(losses, key=lambda unit: losses[unit]))
    return chosen


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "scores"])
@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_that_of_classifiers_from_scratch(
    seed: int, regression: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "SHORT", 99)
    monkeypatch.setattr(select, "TOLERANCE", 1e-5)
    random = np.random.default_rng(seed)
    x = random.normal(size=(6, 90, 3))
    x[3] = 0.8 * x[1] + 0.6 * x[3]  # heads are not independent
    score = x[1, :, 0] + 0.7 * x[4, :, 1] + 0.5 * x[5, :, 2] + random.normal(0, 0.5, 90)
    gold = (
        np.clip(score + 2.5, 0, 5) if regression else np.digitize(score, [-0.6, 0.6]).astype(float)
    )
    levels = np.arange(np.floor(gold.min()), np.ceil(gold.max()) + 1)
    wanted = np.clip(1 - np.abs(gold[:, None] - levels), 0, None)
    rows = Rows(gold, 0 if regression else 3, np.arange(60), np.arange(60, 90), NONE)
    prepared = standardise(torch.from_numpy(x).float(), rows.train)[0]
    found = greedy(prepared, rows, count=6)
    assert found == literal(prepared.double().numpy(), wanted, rows.train, rows.dev, count=6)
    assert greedy(prepared, rows, count=3) == found[:3]
    assert sorted(greedy(prepared, rows, count=99)) == list(range(6))


def test_the_most_promising_heads_are_tried() -> None:
    """Of 40 heads six know something; with four tried each time it is these that are chosen, though a copy of the best is better alone than most."""
    random = np.random.default_rng(1)
    x = random.normal(size=(40, 900, 4))
    known = [31, 4, 17, 22, 38, 9]
    score = sum(
        weight * x[unit, :, 0]
        for unit, weight in zip(known, (1.6, 1.4, 1.2, 1.0, 0.8, 0.6), strict=True)
    )
    x[12, :, 0] = x[31, :, 0] + 0.3 * random.normal(size=900)  # says the same as another, less well
    gold = np.digitize(score + 0.3 * random.normal(size=900), [-1.0, 1.0]).astype(float)
    rows = Rows(gold, 3, np.arange(600), np.arange(600, 900), NONE)
    prepared = standardise(torch.from_numpy(x).float(), rows.train)[0]
    assert sorted(greedy(prepared, rows, count=6)) == sorted(known)


def test_of_two_copies_the_best_heads_take_both_and_greedy_the_other_one() -> None:
    random = np.random.default_rng(0)
    one, two = random.integers(0, 2, (2, 600))
    best = (2.0 * one - 1 + random.normal(0, 0.3, 600))[:, None]
    other = (2.0 * two - 1 + random.normal(0, 0.8, 600))[:, None]
    x = torch.from_numpy(np.stack([other, best, best, random.normal(size=(600, 1))])).float()
    rows = Rows(2.0 * one + two, 4, np.arange(300), np.arange(300, 400), np.arange(400, 600))
    settings = Settings(control=False)
    top = ranking(classify(x, rows, settings).validation)[:2]
    chosen = greedy(standardise(x, rows.train)[0], rows, count=2)
    assert (top, chosen) == ([1, 2], [1, 0])
    scores = [
        classify(torch.cat([x[unit] for unit in units], 1)[None], rows, settings).test[0]
        for units in (top, chosen)
    ]
    assert scores[0] < 0.6  # of two bits one is known
    assert scores[1] > 0.8


def test_what_greedy_selection_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    gold = np.arange(50.0)
    rows = Rows(gold, 50, np.arange(10, 40), np.arange(5), np.arange(40, 50))
    kept, part = judged(rows, 0)
    assert sorted(kept[part.train]) == list(range(10, 40))
    assert kept[part.dev].tolist() == [0, 1, 2, 3, 4]
    assert part.gold.tolist() == gold[kept].tolist()
    alone = Rows(gold, 50, np.arange(10, 40), NONE, np.arange(40, 50))
    kept, part = judged(alone, 0)
    assert (len(part.train), len(part.dev)) == (24, 6)
    assert sorted(kept) == list(
        range(10, 40)
    )  # each once: nothing is trained on and judged by, and nothing is of the test part
    assert judged(alone, 1)[0].tolist() != kept.tolist()
    monkeypatch.setattr(select, "TRAINED_ON", 8)
    assert [len(judged(one, 0)[1].train) for one in (rows, alone)] == [8, 8]


def test_how_many_heads_greedy_selection_chooses_from() -> None:
    def seen(*, width: int, classes: int, train: int, count: int) -> int:
        return len(
            candidates(
                range(400),
                Rows(np.zeros(train), classes, np.arange(train), NONE, NONE),
                width,
                count,
            )
        )

    assert seen(width=64, classes=2, train=10_000, count=12) == 144
    assert seen(width=128, classes=2, train=10_000, count=12) == 72
    assert seen(width=32, classes=1000, train=10_000, count=12) == 25
    assert (
        seen(width=64, classes=1000, train=10_000, count=16) == 16
    )  # never fewer than are to be chosen


def test_units_without_a_score_rank_last_and_equals_keep_their_order() -> None:
    assert ranking(np.array([np.nan, 0.2, 0.9, 0.2, np.nan, -0.5])) == [2, 1, 3, 5, 0, 4]
