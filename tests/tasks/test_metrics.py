"""Metrics against scikit-learn and scipy, and their registry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics as reference
from sklearn.metrics import accuracy_score, f1_score

from headscope.errors import UserError
from headscope.tasks import GLUE
from headscope.tasks.metrics import (
    METRICS,
    Metric,
    accuracy,
    example_losses,
    f1,
    main,
    majority,
    mean,
    metric_title,
    pearson,
    score,
    spearman,
)
from refusals import refusal

# --- metrics ---

OUTPUTS = arrays(
    np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(-9, 9).map(float)
)
NUMBERS = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=30)


@given(OUTPUTS, st.integers(0, 2**30))
def test_f1_and_accuracy_are_scikit_learns(outputs, seed):
    gold = np.random.default_rng(seed).integers(0, 2, len(outputs))
    # Of two equal outputs the first class is taken.
    predicted = [1 if second > first else 0 for first, second in outputs]
    found = score(GLUE["mrpc"], outputs, gold)
    assert list(found) == ["f1", "accuracy"]
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(gold, predicted))
    if any(predicted) or gold.any():
        assert found["f1"] == pytest.approx(reference.f1_score(gold, predicted, zero_division=0))
    else:
        assert math.isnan(found["f1"])


def test_f1_is_zero_where_nothing_is_found_as_in_the_papers_table():
    assert f1(np.array([0, 0]), np.array([1, 0])) == 0


def test_three_classes_are_scored_by_the_largest_output():
    outputs = np.array([[1.0, 2.0, 3.0], [5.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 9.0]])
    assert score(GLUE["mnli"], outputs, np.array([2, 0, 0, 2])) == {"accuracy": 0.75}


@given(NUMBERS)
def test_correlations_are_scipys(pairs):
    one, two = np.array(pairs, np.float64).T
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        assert math.isnan(pearson(one, two))
        assert math.isnan(spearman(one, two))
        return
    found = score(GLUE["sts-b"], one, two)
    assert found["pearson"] == pytest.approx(stats.pearsonr(one, two).statistic, abs=1e-9)
    assert found["spearman"] == pytest.approx(stats.spearmanr(one, two).statistic, abs=1e-9)
    assert list(found) == ["pearson", "spearman"]


def test_a_constant_that_is_no_round_number_still_has_no_correlation():
    assert math.isnan(pearson(np.full(7, 0.1), np.arange(7.0)))


def test_without_examples_no_metric_is_defined():
    empty = np.zeros(0)
    assert all(math.isnan(one(empty, empty)) for one in (accuracy, f1, pearson, spearman, mean))


# The registry


def test_every_metric_has_a_title_a_direction_and_a_range():
    found = {name: (METRICS[name].title, METRICS[name].better) for name in METRICS}
    titles = {"f1": "F1", "pearson": "Pearson", "spearman": "Spearman"}
    names = ("accuracy", "f1", "pearson", "spearman", "mean")
    expected = {name: (titles.get(name, name), "higher") for name in names}
    assert found == expected | {"loss": ("loss", "lower")}
    ranges = {name: (METRICS[name].low, METRICS[name].high) for name in METRICS}
    assert ranges == {
        **dict.fromkeys(("accuracy", "f1"), (0, 1)),
        **dict.fromkeys(("pearson", "spearman"), (-1, 1)),
        **dict.fromkeys(("mean", "loss"), (-math.inf, math.inf)),
    }
    assert [METRICS[name].sign for name in METRICS] == [1, 1, 1, 1, 1, -1]


def test_an_unknown_metric_is_an_error_that_names_the_nearest():
    assert refusal(UserError, lambda: METRICS["acuracy"]).message == (
        "the metric must be one of accuracy, f1, loss, mean, pearson, spearman; "
        "got 'acuracy' instead. Did you mean 'accuracy'?"
    )
    assert metric_title("spearman") == "Spearman"
    assert metric_title("acuracy") == "acuracy"


def test_a_users_metric_is_checked():
    metric = Metric("other", "Other", accuracy, "classes")
    for wrong in (accuracy, metric):
        with pytest.raises(UserError, match="the metric 'mine' must be a Metric of that name"):
            METRICS.add("mine", wrong)  # type: ignore[arg-type]
    assert "mine" not in METRICS


def test_losses_of_examples_are_cross_entropy_squared_error_or_the_outputs():
    random = np.random.default_rng(0)
    outputs, gold = random.normal(size=(2, 25, 2)), random.integers(0, 2, 25).astype(float)
    for run, losses in enumerate(example_losses("f1", outputs, gold)):
        chances = np.exp(outputs[run]) / np.exp(outputs[run]).sum(1, keepdims=True)
        expected = reference.log_loss(gold, chances)
        assert losses.mean() == pytest.approx(expected)
        assert losses[0] == pytest.approx(-np.log(chances[0, int(gold[0])]))
    assert example_losses("pearson", outputs, gold) == pytest.approx((outputs[..., 0] - gold) ** 2)
    assert example_losses("loss", outputs, gold) == pytest.approx(outputs[..., 0])
    assert example_losses("mean", outputs, gold) == pytest.approx(-outputs[..., 0])


# Tasks


def test_the_majority_is_that_of_training_and_scored_on_dev():
    expected = {"f1": pytest.approx(0.4), "accuracy": 0.25}
    assert majority(GLUE["mrpc"], np.array([1, 1, 0]), np.array([0, 0, 0, 1])) == expected
    numbers = majority(GLUE["sts-b"], np.array([1.0, 2.0]), np.array([0.0, 5.0]))
    assert math.isnan(numbers["pearson"])


@pytest.mark.shared
@pytest.mark.parametrize(("task", "published"), [("mrpc", (81.2, 68.3)), ("rte", (52.7,))])
def test_the_papers_random_models_of_two_tasks_give_only_the_majority_class(
    shared, task, published
):
    # Table 1, "Fine-tuned, initialized with normal distr." The paper's own number, 68.3, is 279 of
    # 408 cut off rather than rounded.
    from headscope.tasks import label_ids, task_examples

    train, dev = (
        label_ids(GLUE[task], task_examples(GLUE[task], shared / "data" / "glue", split))
        for split in ("train", "dev")
    )
    found = [100 * value for value in majority(GLUE[task], train, dev).values()]
    assert found == pytest.approx(published, abs=0.1)


@pytest.mark.parametrize("outputs", [np.zeros((3, 3)), np.zeros(3), np.zeros((2, 2))])
def test_outputs_of_another_shape_are_an_error(outputs):
    message = r"the outputs for 3 examples of RTE must have shape \(3, 2\), got"
    with pytest.raises(UserError, match=message):
        score(GLUE["rte"], outputs, np.array([0, 1, 0]))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_outputs_that_are_not_finite_are_an_error_not_a_class(wrong):
    error = refusal(
        UserError, score, GLUE["rte"], np.array([[wrong, 0.0], [0.0, 1.0]]), np.array([0, 1])
    )
    assert error.message == "RTE: 1 output is not finite (NaN or infinite)"
    assert error.hint == "train with a lower learning rate"


def test_the_main_metric_is_the_first():
    expected = dict.fromkeys(GLUE, "accuracy") | {"mrpc": "f1", "qqp": "f1", "sts-b": "pearson"}
    assert {name: main(task) for name, task in GLUE.items()} == expected


# --- resampled ---

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
def test_resamples_are_scored_as_scikit_learn_and_scipy_score_the_drawn_examples(name):
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
@settings(max_examples=30)
@given(case=resamples())
def test_many_resamples_at_once_score_as_the_plain_metric_does_one_by_one(name, case):
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
def test_a_metric_without_a_quick_form_is_resampled_by_a_loop(name):
    known = METRICS[name]
    slow = Metric("mine", "mine", known.compute, known.outputs)
    outputs, gold = made(name, runs=2, examples=12)
    counts = np.random.default_rng(2).multinomial(12, np.full(12, 1 / 12), 5).astype(float)
    np.testing.assert_allclose(
        slow.prepare(outputs, gold)(counts), known.prepare(outputs, gold)(counts), atol=1e-12
    )


@pytest.mark.parametrize("name", ["f1", "pearson", "spearman"])
def test_a_metric_is_undefined_where_nothing_can_be_told(name):
    outputs, gold = np.tile([1.0, 0.0], (1, 5, 1)), np.zeros(5)
    assert np.isnan(METRICS[name].prepare(outputs, gold)(np.ones((1, 5)))).all()


def test_the_correlation_of_large_numbers_keeps_its_digits():
    random = np.random.default_rng(3)
    gold = random.normal(size=50)
    outputs = (gold + random.normal(size=50) + 1e6)[None, :, None]
    found = METRICS["pearson"].prepare(outputs, gold)(np.ones((1, 50)))[0, 0]
    assert found == pytest.approx(stats.pearsonr(outputs[0, :, 0], gold).statistic, abs=1e-9)
