"""Metrics of many runs and resamples at once: against the plain metric of the drawn examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from headscope.tasks.metrics import METRICS, Metric

Values = NDArray[np.float64]

OUTSIDE: dict[str, Any] = {
    "accuracy": lambda outputs, gold: accuracy_score(gold, outputs.argmax(1)),
    "f1": lambda outputs, gold: f1_score(gold, outputs.argmax(1)),
    "pearson": lambda outputs, gold: stats.pearsonr(outputs[:, 0], gold).statistic,
    "spearman": lambda outputs, gold: stats.spearmanr(outputs[:, 0], gold).statistic,
    "mean": lambda outputs, _gold: np.mean(outputs[:, 0]),
    "loss": lambda outputs, _gold: np.mean(outputs[:, 0]),
}
"""Each metric of one run and one resample by somebody else's code."""


def made(metric: str, runs: int = 4, examples: int = 25, seed: int = 0) -> tuple[Values, Values]:
    """Outputs that have something to do with the right answers, with equal values among them."""
    random = np.random.default_rng(seed)
    classes = METRICS[metric].outputs == "classes"
    gold = (
        random.integers(0, 2, examples).astype(float)
        if classes
        else random.normal(size=examples).round(1)
    )
    outputs = random.normal(size=(runs, examples, 2)).round(1)
    if METRICS[metric].outputs != "value":
        outputs[..., int(classes)] += gold
    return outputs, gold


@pytest.mark.parametrize("name", METRICS)
def test_resamples_are_scored_as_scikit_learn_and_scipy_score_the_drawn_examples(name: str) -> None:
    outputs, gold = made(name)
    counts = np.random.default_rng(1).multinomial(len(gold), np.full(len(gold), 1 / len(gold)), 30)
    scores = METRICS[name].prepare(outputs, gold)(counts.astype(float))
    for row, drawn in enumerate(counts):
        places = np.repeat(np.arange(len(gold)), drawn)
        for run in range(len(outputs)):
            expected = OUTSIDE[name](outputs[run, places], gold[places])
            assert scores[row, run] == pytest.approx(expected, abs=1e-9)


@st.composite
def resamples(draw: st.DrawFn) -> tuple[Values, Values, Values]:
    """Few distinct values, so that ties and constants are frequent; every resample draws some."""
    runs, examples, rows = (draw(st.integers(1, most)) for most in (3, 8, 4))
    tenths = st.integers(-3, 3).map(lambda value: value / 10)
    outputs = draw(arrays(np.float64, (runs, examples, 2), elements=tenths))
    gold = draw(arrays(np.float64, examples, elements=st.sampled_from([0.0, 1.0])))
    counts = draw(arrays(np.float64, (rows, examples), elements=st.integers(0, 3).map(float)))
    counts[:, 0] += counts.sum(1) == 0
    return outputs, gold, counts


@pytest.mark.parametrize("name", METRICS)
@given(case=resamples())
def test_many_resamples_at_once_score_as_the_plain_metric_does_one_by_one(
    name: str, case: tuple[Values, Values, Values]
) -> None:
    outputs, gold, counts = case
    metric = METRICS[name]
    scores = metric.prepare(outputs, gold)(counts)
    assert scores.shape == (len(counts), len(outputs))
    for row, drawn in enumerate(counts.astype(int)):
        places = np.repeat(np.arange(len(gold)), drawn)
        expected = [metric.score(run[places], gold[places]) for run in outputs]
        assert scores[row].tolist() == pytest.approx(expected, abs=1e-9, nan_ok=True)
        known = scores[row][np.isfinite(scores[row])]
        assert ((known >= metric.low - 1e-9) & (known <= metric.high + 1e-9)).all()


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_without_a_quick_form_is_resampled_by_a_loop(name: str) -> None:
    known = METRICS[name]
    slow = Metric("mine", "mine", known.compute, known.outputs)
    outputs, gold = made(name, runs=2, examples=12)
    counts = np.random.default_rng(2).multinomial(12, np.full(12, 1 / 12), 5).astype(float)
    np.testing.assert_allclose(
        slow.prepare(outputs, gold)(counts), known.prepare(outputs, gold)(counts), atol=1e-12
    )


@pytest.mark.parametrize("name", ["f1", "pearson", "spearman"])
def test_a_metric_is_undefined_where_nothing_can_be_told(name: str) -> None:
    outputs, gold = np.tile([1.0, 0.0], (1, 5, 1)), np.zeros(5)
    assert np.isnan(METRICS[name].prepare(outputs, gold)(np.ones((1, 5)))).all()


def test_the_correlation_of_large_numbers_keeps_its_digits() -> None:
    random = np.random.default_rng(3)
    gold = random.normal(size=50)
    outputs = (gold + random.normal(size=50) + 1e6)[None, :, None]
    found = METRICS["pearson"].prepare(outputs, gold)(np.ones((1, 50)))[0, 0]
    assert found == pytest.approx(stats.pearsonr(outputs[0, :, 0], gold).statistic, abs=1e-9)
