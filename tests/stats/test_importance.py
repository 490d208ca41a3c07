"""Agreement of gradient importance with disabling: the rank correlations of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headscope.errors import ResultsError
from headscope.stats.tables.ablation import agreement
from stats.made_ablation import EXAMPLES, HEADS, LAYERS, made_ablation, planted


def test_agreement_is_the_rank_correlation_with_drops_and_with_changes_of_loss() -> None:
    random = np.random.default_rng(4)
    outputs, gold = random.normal(size=(9, EXAMPLES, 1)), np.zeros(EXAMPLES)
    importance = random.random((EXAMPLES, LAYERS, HEADS))
    results = made_ablation(outputs, gold, metric="loss", importance=importance)
    table = agreement(results, resamples=400)
    rise = outputs[1:7, :, 0].mean(1) - outputs[0, :, 0].mean()
    size = np.abs(outputs[1:7, :, 0] - outputs[0, :, 0]).mean(1)
    flat = importance.mean(0).ravel()
    assert table["Spearman"].tolist() == pytest.approx(
        [stats.spearmanr(flat, rise).statistic, stats.spearmanr(flat, size).statistic]
    )
    assert table["importance against"].tolist() == ["rise in loss", "size of the change in loss"]
    assert (table["low"] < table["high"]).all()
    assert table["heads"].tolist() == [6, 6]


def test_a_drop_in_a_score_counts_as_a_rise_in_a_loss_does() -> None:
    outputs = np.tile(-np.arange(9.0)[:, None, None], (1, EXAMPLES, 1))
    importance = np.tile(np.arange(1.0, 7.0).reshape(1, LAYERS, HEADS), (EXAMPLES, 1, 1))
    results = made_ablation(outputs, np.zeros(EXAMPLES), metric="mean", importance=importance)
    table = agreement(results, resamples=50)
    assert table["Spearman"].tolist() == pytest.approx([1.0, 1.0])
    assert table["importance against"][0] == "drop in mean"


def test_importance_that_orders_heads_as_disabling_does_agrees_wholly() -> None:
    outputs = np.tile(np.arange(9.0)[:, None, None], (1, EXAMPLES, 1))
    importance = np.tile(np.arange(1.0, 7.0).reshape(1, LAYERS, HEADS), (EXAMPLES, 1, 1))
    results = made_ablation(outputs, np.zeros(EXAMPLES), metric="loss", importance=importance)
    table = agreement(results, resamples=50)
    assert table[["Spearman", "low", "high"]].to_numpy() == pytest.approx(np.ones((2, 3)))


def test_results_without_importance_say_how_to_get_it() -> None:
    with pytest.raises(ResultsError) as caught:
        agreement(planted())
    assert caught.value.message == "these results have no gradient importance"
    assert caught.value.hint == "ask for it: hs.ablate(model, importance=True)"
