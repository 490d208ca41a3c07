"""Disabling heads: against plain loops with scikit-learn and scipy, and on planted effects."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import hypergeom, spearmanr
from sklearn.metrics import f1_score

from headscope.stats.inference.bootstrap import Outputs
from headscope.stats.tables.disabling import (
    best_by_chance,
    cross_fitted_gain,
    disabling_summary,
    mean_gain_interval,
    shared_heads,
)
from stats.made_ablation import made_ablation

RANDOM = np.random.default_rng(5)


def labels(runs: int, examples: int) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of two classes, and right answers."""
    return RANDOM.normal(size=(runs, examples, 2)), RANDOM.integers(2, size=examples).astype(float)


def test_outputs_are_exchanged_as_in_a_plain_loop():
    outputs, gold = labels(4, 30)
    found = best_by_chance(Outputs("f1", outputs, gold), seed=3, shuffles=20)
    coins = np.random.default_rng(3).integers(2, size=(20, 30))
    for shuffle, coin in enumerate(coins):
        gains = []
        for run in outputs[1:]:
            one, other = run.argmax(-1).copy(), outputs[0].argmax(-1).copy()
            for example in range(30):
                if coin[example]:
                    one[example], other[example] = other[example], one[example]
            gains.append(f1_score(gold, one) - f1_score(gold, other))
        assert found[shuffle] == pytest.approx(max(gains))


def test_the_best_head_is_scored_on_the_other_half():
    outputs, gold = labels(5, 24)
    gain, chosen = cross_fitted_gain(Outputs("accuracy", outputs, gold), seed=1, splits=10)
    orders = np.argsort(np.random.default_rng(1).random((10, 24)), axis=1)
    right = outputs.argmax(-1) == gold
    gains, often = [], np.zeros(5)
    for order in orders:
        first = [example for example in range(24) if order[example] < 12]
        second = [example for example in range(24) if order[example] >= 12]
        for choosing, scoring in ((first, second), (second, first)):
            scores = {run: right[run, choosing].sum() for run in range(1, 5)}
            best = [run for run in scores if scores[run] == max(scores.values())]
            for run in best:
                often[run] += 1 / len(best)
            base = right[0, scoring].mean()
            gains.append(np.mean([right[run, scoring].mean() - base for run in best]))
    assert gain == pytest.approx(np.mean(gains))
    assert [chosen[place] for place in range(4)] == pytest.approx(often[1:])


def test_examples_of_one_document_share_a_half_and_a_coin():
    """With every example twice, results by document are those of single examples."""
    outputs, gold = labels(4, 20)
    twice, answers = np.repeat(outputs, 2, axis=1), np.repeat(gold, 2)
    groups = np.repeat(np.arange(20), 2)
    gain, _ = cross_fitted_gain(Outputs("accuracy", outputs, gold), seed=1, splits=10)
    again, _ = cross_fitted_gain(Outputs("accuracy", twice, answers, groups), seed=1, splits=10)
    assert again == pytest.approx(gain)
    by_chance = best_by_chance(Outputs("f1", twice, answers, groups), seed=1, shuffles=9)
    expected = pytest.approx(best_by_chance(Outputs("f1", outputs, gold), seed=1, shuffles=9))
    assert by_chance == expected
    bounds = mean_gain_interval(Outputs("accuracy", twice, answers, groups), seed=2, resamples=99)
    assert bounds == pytest.approx(
        mean_gain_interval(Outputs("accuracy", outputs, gold), seed=2, resamples=99)
    )


def test_the_mean_over_all_heads_has_the_interval_of_a_plain_bootstrap():
    values = RANDOM.normal(size=(4, 40, 1))
    low, high = mean_gain_interval(Outputs("mean", values, np.zeros(40)), seed=0, resamples=4000)
    change = (values[1:, :, 0] - values[0, :, 0]).mean(0)
    random = np.random.default_rng(9)
    means = [change[random.integers(40, size=40)].mean() for _ in range(4000)]
    assert (low, high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.03)


def test_a_head_that_helps_when_it_is_off_is_found_by_all_three_numbers():
    random = np.random.default_rng(2)
    gold = random.integers(2, size=300).astype(float)
    right = np.repeat(random.random((1, 300)) < 0.6, 9, axis=0)  # baseline, six heads, two layers
    right[1:7] ^= random.random((6, 300)) < 0.05
    right[4] = right[0] | (random.random(300) < 0.3)
    answers = np.where(right, gold, 1 - gold)
    outputs = np.stack([1 - answers, answers], axis=-1)
    found = disabling_summary(made_ablation(outputs, gold), seed=0)
    expected = right[4].mean() - right[0].mean()
    assert (found.best, found.chosen, found.chosen_share) == ("2-1", "2-1", 1.0)
    assert found.best_gain == pytest.approx(expected)
    assert found.fitted == pytest.approx(expected)
    assert found.p < 0.01
    assert found.chance_high < expected
    assert found.mean == pytest.approx((right[1:7].mean(1) - right[0].mean()).mean())
    assert found.mean_low < found.mean < found.mean_high
    layers = disabling_summary(made_ablation(outputs, gold), "layer", seed=0)
    assert (layers.best_gain, layers.mean, layers.chance, layers.p) == (0, 0, 0, 1)


def test_heads_that_two_tasks_share_are_counted_as_scipy_counts_them():
    places = {"layer": [1, 2], "head": [1, 2, 3, 4, 5]}
    one = xr.DataArray(RANDOM.normal(size=(2, 5)), places, tuple(places))
    other = xr.DataArray(RANDOM.normal(size=(2, 5)), places, tuple(places))
    one[1, 2], other[1, 2] = -9.0, -9.0
    row = shared_heads({"RTE": one, "STS-B": other}, part=0.3).iloc[0]
    left, right = one.values.ravel(), other.values.ravel()
    both = set(np.argsort(left)[:3]) & set(np.argsort(right)[:3])
    assert row["correlation"] == pytest.approx(spearmanr(left, right).statistic)
    assert row["shared"] == len(both)
    assert row["by chance"] == pytest.approx(0.9)
    drawn = hypergeom(10, 3, 3)
    assert row["p"] == pytest.approx(sum(drawn.pmf(number) for number in range(len(both), 4)))
    assert row["heads"].split(", ")[0] == "2-3"


def test_a_head_that_does_no_harm_when_it_is_off_is_not_relied_on():
    places = {"layer": [1], "head": list(range(1, 11))}

    def gains(*values):
        return xr.DataArray([values], places, tuple(places))

    idle = gains(0, 0, 0, 0, 0, 0, 0, 0, 0, 2)
    one = gains(0, 0, 0, 0, 0, 0, 0, -1, -3, 2)
    tied = gains(-1, -1, -1, 0, 0, 0, 0, 0, -3, 2)
    table = shared_heads({"idle": idle, "one": one, "tied": tied}, part=0.3)
    assert table["relied on"].tolist() == ["0 and 2", "0 and 1", "2 and 1"]
    assert table["heads"].tolist() == ["none", "none", "1-9"]
    assert table["p"].tolist() == pytest.approx([1, 1, 0.2])  # one of two among ten
