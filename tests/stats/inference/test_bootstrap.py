"""The paired bootstrap: intervals against scipy's, p against a z test and against sign flips."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from headscope.errors import UserError
from headscope.stats.inference.bootstrap import Outputs, bootstrap, compare_ratios, draws
from tasks.test_metrics import OUTSIDE, made


def test_a_resample_draws_as_many_examples_as_there_are_and_the_same_for_one_seed():
    counts = np.concatenate(list(draws(7, 1000, seed=3)))
    assert counts.shape == (1000, 7)
    assert (counts.sum(1) == 7).all()
    assert np.array_equal(counts, np.concatenate(list(draws(7, 1000, seed=3))))
    assert not np.array_equal(counts, np.concatenate(list(draws(7, 1000, seed=4))))
    assert counts.mean(0) == pytest.approx(np.ones(7), abs=0.15)
    # Binomial: seven draws with chance 1/7.
    assert counts.var(0) == pytest.approx(np.full(7, 6 / 7), abs=0.15)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "pearson", "spearman", "loss"])
def test_examples_of_one_document_are_drawn_together(metric):
    """With every example three times over, results by document are those of single examples."""
    outputs, gold = made(metric, runs=3, examples=30, seed=4)
    once = bootstrap(Outputs(metric, outputs, gold), seed=1, resamples=200)
    documents = np.repeat(np.arange(30), 3)
    thrice = np.repeat(outputs, 3, axis=1), np.repeat(gold, 3)
    found = bootstrap(Outputs(metric, *thrice, documents), seed=1, resamples=200)
    for name in found.data_vars:
        np.testing.assert_allclose(found[name], once[name], atol=1e-9)
    independent = Outputs(metric, *thrice)  # 90 examples
    alone = bootstrap(independent, seed=1, resamples=200)
    assert float(alone["deviation"][0]) < 0.8 * float(found["deviation"][0])


@pytest.mark.parametrize("metric", ["pearson", "loss"])
def test_intervals_and_errors_are_those_of_scipys_paired_bootstrap(metric):
    outputs, gold = made(metric, runs=2, examples=80, seed=2)
    boot = bootstrap(Outputs(metric, outputs, gold), seed=0, resamples=4000)

    def difference(places):
        chosen = places.astype(int)
        after, before = (OUTSIDE[metric](outputs[run, chosen], gold[chosen]) for run in (1, 0))
        return float(after - before)

    twin = stats.bootstrap(
        (np.arange(80),),
        difference,
        n_resamples=1000,
        method="percentile",
        vectorized=False,
        rng=np.random.default_rng(5),
    )
    low, high = twin.confidence_interval
    close = 0.1 * (high - low)
    assert float(boot["difference_low"][1]) == pytest.approx(low, abs=close)
    assert float(boot["difference_high"][1]) == pytest.approx(high, abs=close)
    assert float(boot["difference"][1]) == pytest.approx(difference(np.arange(80)))
    assert boot["deviation"].values.shape == (2,)


def test_the_error_of_a_mean_is_its_standard_error():
    outputs, gold = made("mean", runs=1, examples=200)
    error = float(bootstrap(Outputs("mean", outputs, gold), seed=0, resamples=4000)["deviation"][0])
    assert error == pytest.approx(outputs[0, :, 0].std() / np.sqrt(200), rel=0.05)


def test_p_is_that_of_a_z_test_where_differences_are_normal_and_1_where_there_are_none():
    random = np.random.default_rng(0)
    base = random.normal(size=400)
    outputs = np.stack([base, base + random.normal(0.05, 0.4, 400), base, base + 1.0])[..., None]
    boot = bootstrap(Outputs("mean", outputs, np.zeros(400)), seed=0, resamples=20000)
    gap = outputs[1, :, 0] - base
    z = gap.mean() / (gap.std() / np.sqrt(400))
    assert float(boot["p"][1]) == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.01)
    assert float(boot["p"][2]) == 1.0
    assert float(boot["p"][3]) == pytest.approx(2 / 20001)


def test_few_examples_cannot_make_p_smaller_than_flipping_their_signs_could():
    outputs = np.stack([np.zeros(5), np.ones(5)])[..., None]
    p = float(bootstrap(Outputs("mean", outputs, np.zeros(5)), seed=0, resamples=20000)["p"][1])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1)
    assert p == pytest.approx((np.abs(signs.sum(0)) >= 5).mean())


@pytest.mark.parametrize("metric", ["f1", "pearson", "spearman"])
def test_a_score_that_is_never_defined_has_no_interval_and_no_p(metric):
    outputs = np.tile([1.0, 0.0], (2, 5, 1))
    boot = bootstrap(Outputs(metric, outputs, np.zeros(5)), seed=0, resamples=20)
    assert np.isnan(boot["p"].values).all()
    assert np.isnan(boot["low"].values).all()
    assert np.isnan(boot["deviation"].values).all()


def test_an_unknown_metric_is_refused():
    with pytest.raises(UserError, match="Did you mean 'accuracy'"):
        bootstrap(Outputs("acuracy", np.zeros((1, 2, 1)), np.zeros(2)), seed=0, resamples=2)


def ratios() -> tuple[Any, Any]:
    """Right answers of three systems on 60 sentences; the first two differ a little everywhere."""
    random = np.random.default_rng(8)
    total = random.integers(3, 30, 60)
    hard = random.beta(4, 2, 60)
    first = random.binomial(total, hard)
    second = np.maximum(first - random.integers(0, 2, 60), 0)
    return np.stack([first, second, random.binomial(total, 0.66)]), total


def test_differences_of_ratios_have_the_interval_of_scipys_paired_bootstrap():
    right, total = ratios()
    found = compare_ratios(right, total, seed=0, resamples=4000)

    def difference(places):
        chosen = places.astype(int)
        return float((right[0, chosen].sum() - right[1, chosen].sum()) / total[chosen].sum())

    twin = stats.bootstrap(
        (np.arange(60),),
        difference,
        n_resamples=4000,
        method="percentile",
        vectorized=False,
        random_state=np.random.default_rng(1),
    )
    gap = (right[0].sum() - right[1].sum()) / total.sum()
    assert float(found["difference"][0, 1]) == pytest.approx(gap)
    assert float(found["difference"][1, 0]) == pytest.approx(-gap)
    interval = twin.confidence_interval
    assert float(found["low"][0, 1]) == pytest.approx(interval.low, abs=0.002)
    assert float(found["high"][0, 1]) == pytest.approx(interval.high, abs=0.002)
    assert float(found["low"][1, 0]) == pytest.approx(-float(found["high"][0, 1]))


def test_p_of_ratios_counts_the_resamples_that_turn_the_difference_round():
    right, total = ratios()
    found = compare_ratios(right, total, seed=5, resamples=500)
    counts = np.concatenate(list(draws(60, 500, seed=5)))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        below = above = 0
        for row in counts:
            gap = sum(n * (a - b) for n, a, b in zip(row, right[one], right[other], strict=True))
            below += gap <= 0
            above += gap >= 0
        expected = min(1.0, 2 * (min(below, above) + 1) / 501)
        assert float(found["p"][one, other]) == pytest.approx(expected)
    assert (np.diag(found["p"].values) == 1.0).all()


def test_ratios_are_compared_by_documents():
    right, total = ratios()
    once = compare_ratios(right, total, seed=0, resamples=300)
    documents = np.repeat(np.arange(60), 2)
    twice = compare_ratios(
        np.repeat(right, 2, axis=1), np.repeat(total, 2), seed=0, resamples=300, documents=documents
    )
    for name in once.data_vars:
        np.testing.assert_allclose(twice[name], once[name], atol=1e-12)
