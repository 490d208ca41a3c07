"""Scores against scikit-learn and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn import metrics as reference

from headscope.errors import UserError
from headscope.tasks import GLUE
from headscope.tasks.metrics import f1, main, majority, pearson, score, spearman

OUTPUTS = arrays(
    np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(-9, 9).map(float)
)
NUMBERS = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=30)


@given(OUTPUTS, st.integers(0, 2**30))
def test_f1_and_accuracy_are_scikit_learns(outputs, seed):
    gold = np.random.default_rng(seed).integers(0, 2, len(outputs))
    predicted = [
        1 if second > first else 0 for first, second in outputs
    ]  # of two equal outputs the first class is taken
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


def test_the_majority_is_that_of_training_and_scored_on_dev():
    assert majority(GLUE["mrpc"], np.array([1, 1, 0]), np.array([0, 0, 0, 1])) == {
        "f1": pytest.approx(0.4),
        "accuracy": 0.25,
    }
    assert math.isnan(
        majority(GLUE["sts-b"], np.array([1.0, 2.0]), np.array([0.0, 5.0]))["pearson"]
    )


@pytest.mark.shared
@pytest.mark.parametrize(("task", "published"), [("mrpc", (81.2, 68.3)), ("rte", (52.7,))])
def test_the_papers_random_models_of_two_tasks_say_only_the_majority_class(shared, task, published):
    # Table 1, "Fine-tuned, initialized with normal distr." The paper's own number, 68.3, is 279 of 408 cut rather than rounded.
    from headscope.tasks import label_ids, task_examples

    train, dev = (
        label_ids(GLUE[task], task_examples(GLUE[task], shared / "data" / "glue", split))
        for split in ("train", "dev")
    )
    assert [100 * value for value in majority(GLUE[task], train, dev).values()] == pytest.approx(
        published, abs=0.1
    )


@pytest.mark.parametrize("outputs", [np.zeros((3, 3)), np.zeros(3), np.zeros((2, 2))])
def test_outputs_of_another_shape_are_an_error(outputs):
    with pytest.raises(
        UserError, match=r"the outputs for 3 examples of RTE must have shape \(3, 2\), got"
    ):
        score(GLUE["rte"], outputs, np.array([0, 1, 0]))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_outputs_that_are_no_numbers_are_an_error_not_a_class(wrong):
    with pytest.raises(UserError, match=r"1 outputs for RTE are no numbers"):
        score(GLUE["rte"], np.array([[wrong, 0.0], [0.0, 1.0]]), np.array([0, 1]))


def test_the_main_metric_is_the_first():
    assert {name: main(task) for name, task in GLUE.items()} == {
        "mrpc": "f1",
        "sts-b": "pearson",
        "sst-2": "accuracy",
        "qqp": "f1",
        "rte": "accuracy",
        "qnli": "accuracy",
        "mnli": "accuracy",
    }
