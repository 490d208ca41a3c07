"""Metrics against scikit-learn and scipy, and their registry."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn import metrics as reference

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

OUTPUTS = arrays(
    np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(-9, 9).map(float)
)
NUMBERS = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=30)


@given(OUTPUTS, st.integers(0, 2**30))
def test_f1_and_accuracy_are_scikit_learns(outputs: Any, seed: int) -> None:
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


def test_f1_is_zero_where_nothing_is_found_as_in_the_papers_table() -> None:
    assert f1(np.array([0, 0]), np.array([1, 0])) == 0


def test_three_classes_are_scored_by_the_largest_output() -> None:
    outputs = np.array([[1.0, 2.0, 3.0], [5.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 9.0]])
    assert score(GLUE["mnli"], outputs, np.array([2, 0, 0, 2])) == {"accuracy": 0.75}


@given(NUMBERS)
def test_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    one, two = np.array(pairs, np.float64).T
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        assert math.isnan(pearson(one, two))
        assert math.isnan(spearman(one, two))
        return
    found = score(GLUE["sts-b"], one, two)
    assert found["pearson"] == pytest.approx(stats.pearsonr(one, two).statistic, abs=1e-9)
    assert found["spearman"] == pytest.approx(stats.spearmanr(one, two).statistic, abs=1e-9)
    assert list(found) == ["pearson", "spearman"]


def test_a_constant_that_is_no_round_number_still_has_no_correlation() -> None:
    assert math.isnan(pearson(np.full(7, 0.1), np.arange(7.0)))


def test_without_examples_no_metric_is_defined() -> None:
    empty = np.zeros(0)
    assert all(math.isnan(one(empty, empty)) for one in (accuracy, f1, pearson, spearman, mean))


# The registry


def test_every_metric_has_a_title_a_direction_and_a_range() -> None:
    found = {name: (METRICS[name].title, METRICS[name].better) for name in METRICS}
    assert found == {
        "accuracy": ("accuracy", "higher"),
        "f1": ("F1", "higher"),
        "pearson": ("Pearson", "higher"),
        "spearman": ("Spearman", "higher"),
        "mean": ("mean", "higher"),
        "loss": ("loss", "lower"),
    }
    ranges = {name: (METRICS[name].low, METRICS[name].high) for name in METRICS}
    assert ranges == {
        **dict.fromkeys(("accuracy", "f1"), (0, 1)),
        **dict.fromkeys(("pearson", "spearman"), (-1, 1)),
        **dict.fromkeys(("mean", "loss"), (-math.inf, math.inf)),
    }
    assert [METRICS[name].sign for name in METRICS] == [1, 1, 1, 1, 1, -1]


@pytest.mark.parametrize("name", ["accuracy", "f1", "pearson", "spearman"])
def test_right_answers_score_the_best_there_is_and_wrong_ones_the_worst(name: str) -> None:
    metric = METRICS[name]
    gold = np.array([0.0, 1.0, 1.0, 0.0])
    right = np.eye(2)[gold.astype(int)] if metric.outputs == "classes" else gold[:, None]
    assert metric.score(right, gold) == pytest.approx(metric.high)
    assert metric.score(-right, gold) == pytest.approx(metric.low)


def test_an_unknown_metric_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        METRICS["acuracy"]
    assert caught.value.message == (
        "the metric must be one of accuracy, f1, loss, mean, pearson, spearman; "
        "got 'acuracy' instead. Did you mean 'accuracy'?"
    )
    assert metric_title("spearman") == "Spearman"
    assert metric_title("acuracy") == "acuracy"


def test_a_users_metric_is_checked() -> None:
    metric = Metric("other", "Other", accuracy, "classes")
    for wrong in (accuracy, metric):
        with pytest.raises(UserError, match="the metric 'mine' must be a Metric of that name"):
            METRICS.add("mine", wrong)  # type: ignore[arg-type]
    assert "mine" not in METRICS


def test_losses_of_examples_are_cross_entropy_squared_error_or_the_outputs() -> None:
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


def test_the_majority_is_that_of_training_and_scored_on_dev() -> None:
    assert majority(GLUE["mrpc"], np.array([1, 1, 0]), np.array([0, 0, 0, 1])) == {
        "f1": pytest.approx(0.4),
        "accuracy": 0.25,
    }
    numbers = majority(GLUE["sts-b"], np.array([1.0, 2.0]), np.array([0.0, 5.0]))
    assert math.isnan(numbers["pearson"])


@pytest.mark.shared
@pytest.mark.parametrize(("task", "published"), [("mrpc", (81.2, 68.3)), ("rte", (52.7,))])
def test_the_papers_random_models_of_two_tasks_give_only_the_majority_class(
    shared: Path, task: str, published: tuple[float, ...]
) -> None:
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
def test_outputs_of_another_shape_are_an_error(outputs: Any) -> None:
    with pytest.raises(
        UserError, match=r"the outputs for 3 examples of RTE must have shape \(3, 2\), got"
    ):
        score(GLUE["rte"], outputs, np.array([0, 1, 0]))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_outputs_that_are_not_finite_are_an_error_not_a_class(wrong: float) -> None:
    with pytest.raises(UserError) as caught:
        score(GLUE["rte"], np.array([[wrong, 0.0], [0.0, 1.0]]), np.array([0, 1]))
    assert caught.value.message == "RTE: 1 output is not finite (NaN or infinite)"
    assert caught.value.hint == "train with a lower learning rate"


def test_the_main_metric_is_the_first() -> None:
    assert {name: main(task) for name, task in GLUE.items()} == {
        "mrpc": "f1",
        "sts-b": "pearson",
        "sst-2": "accuracy",
        "qqp": "f1",
        "rte": "accuracy",
        "qnli": "accuracy",
        "mnli": "accuracy",
    }
