"""Greedy selection is the plain one, with a regression solved anew for every candidate; it takes what is missing, where the best heads alone take the same thing twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from headscope.probes import select
from headscope.probes.classify import Settings, classify, standardise
from headscope.probes.rows import Rows
from headscope.probes.select import RIDGE, greedy, judged, ranking

NONE = np.zeros(0, np.int64)


def literal(x: Any, gold: Any, parts: Any, *, count: int, regression: bool) -> list[int]:
    """Every candidate's regression from scratch, by scikit-learn in double precision; ``parts`` are rows to train on and rows to judge by."""
    levels = np.arange(np.floor(gold.min()), np.ceil(gold.max()) + 1) if regression else np.unique(gold)
    wanted = np.array([[max(0.0, 1 - abs(one - level)) if regression else float(one == level) for level in levels] for one in gold])
    chosen: list[int] = []
    while len(chosen) < count:
        errors = dict.fromkeys(set(range(len(x))) - set(chosen), 0.0)
        for unit in errors:
            features = np.concatenate([x[one] for one in [*chosen, unit]], 1)
            for train, held in parts:
                model = Ridge(alpha=RIDGE * len(train)).fit(features[train], wanted[train])
                errors[unit] += ((model.predict(features[held]) - wanted[held]) ** 2).sum()
        chosen.append(min(errors, key=lambda unit: errors[unit]))
    return chosen


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "scores"])
@pytest.mark.parametrize("validation", [True, False], ids=["validation", "folds"])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_regressions_from_scratch(seed: int, validation: bool, regression: bool) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(7, 90, 3))
    x[3] = 0.8 * x[1] + 0.6 * x[3]  # heads are not independent
    score = x[1, :, 0] + 0.7 * x[4, :, 1] + 0.5 * x[5, :, 2] + random.normal(0, 0.5, 90)
    gold = np.clip(score + 2.5, 0, 5) if regression else np.digitize(score, [-0.6, 0.6]).astype(float)
    dev = np.arange(60, 90) if validation else NONE
    rows = Rows(gold, 0 if regression else 3, np.arange(60), dev, NONE)
    prepared = standardise(torch.from_numpy(x).float(), rows.train)[0]
    found = greedy(prepared, rows, count=7)
    parts = [(np.delete(np.arange(60), range(start, start + 12)), np.arange(start, start + 12)) for start in range(0, 60, 12)]
    assert found == literal(prepared.double().numpy(), gold, [*parts, *([(rows.train, dev)] if validation else [])], count=7, regression=regression)
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
    assert sorted(kept[part.train]) == list(range(10, 40))
    assert len(part.dev) == 0
    assert judged(alone, 1)[0].tolist() != kept.tolist()
    monkeypatch.setattr(select, "TRAINED_ON", 8)
    assert [len(judged(one, 0)[1].train) for one in (rows, alone)] == [8, 8]


def test_heads_that_are_good_by_luck_on_a_small_validation_part_are_not_chosen() -> None:
    """Of 60 heads one knows the label, of 400 training rows; on 12 validation rows others look better."""
    random = np.random.default_rng(0)
    gold = random.integers(0, 2, 412).astype(float)
    x = random.normal(size=(60, 412, 1))
    x[17] = (gold - 0.5)[:, None] + random.normal(size=(412, 1))
    rows = Rows(gold, 2, np.arange(400), np.arange(400, 412), NONE)
    prepared = standardise(torch.from_numpy(x).float(), rows.train)[0]
    single = [((prepared[unit, 400:, 0].numpy() > 0) == gold[400:]).mean() for unit in range(60)]
    assert max(single) > single[17]
    assert greedy(prepared, rows, count=1) == [17]


def test_units_without_a_score_rank_last_and_equals_keep_their_order() -> None:
    assert ranking(np.array([np.nan, 0.2, 0.9, 0.2, np.nan, -0.5])) == [2, 1, 3, 5, 0, 4]
