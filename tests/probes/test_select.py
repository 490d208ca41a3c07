"""Greedy selection is the plain one, with a regression solved anew for every candidate; it takes what is missing, where the best heads alone take the same thing twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from headscope.probes import select
from headscope.probes.classify import Rows, Settings, classify, standardise
from headscope.probes.select import RIDGE, greedy, judged, ranking

NONE = np.zeros(0, np.int64)


def literal(x: Any, gold: Any, train: Any, held: Any, *, count: int, regression: bool) -> list[int]:
    """Every candidate's ridge regression from scratch, in double precision."""
    levels = np.arange(np.floor(gold.min()), np.ceil(gold.max()) + 1) if regression else np.unique(gold)
    wanted = np.array([[max(0.0, 1 - abs(one - level)) if regression else float(one == level) for level in levels] for one in gold])
    middle = wanted[train].mean(0)
    chosen: list[int] = []
    while len(chosen) < count:
        errors = {}
        for unit in range(len(x)):
            if unit in chosen:
                continue
            features = np.concatenate([x[one] for one in [*chosen, unit]], 1)
            inside = features[train]
            weights = np.linalg.solve(inside.T @ inside / len(train) + RIDGE * np.eye(inside.shape[1]), inside.T @ (wanted[train] - middle) / len(train))
            errors[unit] = ((middle + features[held] @ weights - wanted[held]) ** 2).sum()
        chosen.append(min(errors, key=lambda unit: errors[unit]))
    return chosen


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "scores"])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_regressions_from_scratch(seed: int, regression: bool) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(7, 90, 3))
    x[3] = 0.8 * x[1] + 0.6 * x[3]  # heads are not independent
    score = x[1, :, 0] + 0.7 * x[4, :, 1] + 0.5 * x[5, :, 2] + random.normal(0, 0.5, 90)
    gold = np.clip(score + 2.5, 0, 5) if regression else np.digitize(score, [-0.6, 0.6]).astype(float)
    rows = Rows(gold, 0 if regression else 3, np.arange(60), np.arange(60, 90), NONE)
    prepared = standardise(torch.from_numpy(x).float(), rows.train)[0]
    found = greedy(prepared, rows, count=7)
    assert found == literal(prepared.double().numpy(), gold, rows.train, rows.dev, count=7, regression=regression)
    assert greedy(prepared, rows, count=3) == found[:3]
    assert sorted(greedy(prepared, rows, count=99)) == list(range(7))


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
    scores = [classify(torch.cat([x[unit] for unit in units], 1)[None], rows, settings).test[0] for units in (top, chosen)]
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
    assert sorted(kept) == list(range(10, 40))  # each once: nothing is trained on and judged by, and nothing is of the test part
    assert judged(alone, 1)[0].tolist() != kept.tolist()
    monkeypatch.setattr(select, "TRAINED_ON", 8)
    assert [len(judged(one, 0)[1].train) for one in (rows, alone)] == [8, 8]


def test_units_without_a_score_rank_last_and_equals_keep_their_order() -> None:
    assert ranking(np.array([np.nan, 0.2, 0.9, 0.2, np.nan, -0.5])) == [2, 1, 3, 5, 0, 4]
