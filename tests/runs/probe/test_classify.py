"""Classifiers of one task, compared with scikit-learn and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import LogisticRegression

from headscope.corpus import Example
from headscope.errors import CorpusError, UserError
from headscope.runs.probe import L2, Probing
from headscope.runs.probe.classify import classify, standardise
from headscope.runs.probe.rows import LabelledRows
from headscope.tasks.task import ProbingTask


def rows_of(count: int, classes: int, *, dev: bool = True, seed: int = 0) -> LabelledRows:
    gold = np.random.default_rng(seed).integers(0, classes, count).astype(np.float64)
    parts = np.split(np.arange(count), [count // 2, 3 * count // 4])
    return LabelledRows(
        gold,
        classes,
        *(parts if dev else (np.concatenate(parts[:2]), np.zeros(0, np.int64), parts[2])),
    )


def seen(rows: LabelledRows, units: int, width: int, *, seed: int = 1) -> torch.Tensor:
    """Features: those of unit 0 are noise, later units depend more and more on the labels."""
    random = np.random.default_rng(seed)
    places = random.normal(size=(max(rows.classes, 6), width))
    x = (
        random.normal(size=(units, len(rows.gold), width))
        + np.linspace(0, 1.2, units)[:, None, None] * places[rows.gold.astype(int)]
    )
    return torch.from_numpy(7 + 3 * x).float()


@pytest.mark.parametrize("classes", [2, 5])
def test_l2_and_scores_agree_with_scikit_learn(classes: int) -> None:
    rows = rows_of(1200, classes)
    x = seen(rows, 4, 6)
    found = classify(x, rows, Probing(control=False))
    for unit in range(4):
        values = x[unit].double().numpy()
        values = (values - values[rows.train].mean(0)) / values[rows.train].std(0)
        scores = []
        for l2 in L2:
            model = LogisticRegression(
                C=(2 if classes == 2 else 1) / (len(rows.train) * l2), tol=1e-8, max_iter=10_000
            ).fit(values[rows.train], rows.gold[rows.train])
            scores.append(
                (
                    model.score(values[rows.dev], rows.gold[rows.dev]),
                    model.score(values[rows.test], rows.gold[rows.test]),
                )
            )
        best = max(range(len(L2)), key=lambda place: (scores[place][0], L2[place]))
        assert found.validation[unit] == pytest.approx(scores[best][0], abs=0.005)
        assert found.test[unit] == pytest.approx(scores[best][1], abs=0.01)
    assert found.test[3] > found.test[0] + 0.2
    assert np.isnan(found.control).all()


def test_folds_replace_a_missing_validation_split() -> None:
    rows = rows_of(800, 3, dev=False)
    x = seen(rows, 3, 5)
    found = classify(x, rows, Probing(l2=(0.01,), seed=4))
    values = standardise(x, rows.train)[0][2].double().numpy()
    folds = np.array_split(np.random.default_rng(4).permutation(rows.train), 5)
    scores = []
    for fold in folds:
        others = np.setdiff1d(rows.train, fold)
        model = LogisticRegression(C=1 / (len(others) * 0.01), tol=1e-8, max_iter=10_000).fit(
            values[others], rows.gold[others]
        )
        scores.append(model.score(values[fold], rows.gold[fold]))
    whole = LogisticRegression(C=1 / (len(rows.train) * 0.01), tol=1e-8, max_iter=10_000).fit(
        values[rows.train], rows.gold[rows.train]
    )
    assert found.validation[2] == pytest.approx(np.mean(scores), abs=0.005)
    assert found.test[2] == pytest.approx(
        whole.score(values[rows.test], rows.gold[rows.test]), abs=0.01
    )


def test_the_control_is_at_chance_even_for_informative_features() -> None:
    rows = rows_of(4000, 2)
    found = classify(seen(rows, 3, 5), rows, Probing())
    assert found.test[2] > 0.8
    assert found.control == pytest.approx(0.5, abs=0.06)


def test_an_uninformative_unit_is_at_chance() -> None:
    rows = rows_of(4000, 2)
    found = classify(seen(rows, 2, 5), rows, Probing(control=False))
    assert found.test[0] == pytest.approx(0.5, abs=0.05)
    assert found.l2[0] in L2


def test_the_largest_of_equally_good_l2_values_is_chosen() -> None:
    rows = rows_of(200, 2)
    x = torch.zeros(1, 200, 3)  # uninformative: all L2 values are equally good
    assert classify(x, rows, Probing(control=False)).l2.tolist() == [0.1]


def test_scores_from_0_to_5_are_judged_by_correlation() -> None:
    random = np.random.default_rng(0)
    gold = np.round(random.uniform(0, 5, 1200), 2)
    rows = LabelledRows(gold, 0, np.arange(800), np.zeros(0, np.int64), np.arange(800, 1200))
    x = torch.from_numpy(
        np.stack([random.normal(size=(1200, 4)), gold[:, None] + random.normal(size=(1200, 4))])
    ).float()
    found = classify(x, rows, Probing())
    assert abs(found.test[0]) < 0.2
    assert found.test[1] > 0.85
    assert abs(found.control[1]) < 0.2
    assert np.isnan(rows.majority)


def test_a_regression_is_scored_by_scipys_correlation_of_the_expected_level() -> None:
    gold = np.array([0.0, 1.4, 2.5, 5.0, 3.3])
    rows = LabelledRows(gold, 0, np.arange(3), np.zeros(0, np.int64), np.arange(5))
    logits = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
    expected = logits.double().softmax(1).numpy() @ np.arange(6)
    assert float(rows.score(logits, np.arange(5))) == pytest.approx(pearsonr(expected, gold)[0])
    assert float(rows.rank_score(logits, np.arange(5))) == pytest.approx(
        spearmanr(expected, gold)[0]
    )
    assert rows.targets[1].tolist() == pytest.approx([0, 0.6, 0.4, 0, 0, 0])
    assert rows.targets.sum(1).tolist() == pytest.approx([1] * 5)


def test_constant_features_are_ignored_and_counted() -> None:
    rows = rows_of(300, 2)
    x = seen(rows, 2, 4)
    x[1, :, 2] = 5.0
    found = classify(x, rows, Probing(control=False))
    assert found.constant.tolist() == [0, 1]
    without = classify(x[1:, :, [0, 1, 3]], rows, Probing(control=False))
    assert found.test[1] == pytest.approx(without.test[0], abs=0.01)


def test_features_that_are_not_finite_are_an_error() -> None:
    rows = rows_of(100, 2)
    x = seen(rows, 2, 4)
    x[1, 3, 0] = np.inf
    with pytest.raises(
        UserError, match="the vectors of 1 of 2 heads or layers contain numbers that are not finite"
    ):
        classify(x, rows, Probing())


def test_features_are_scaled_by_the_training_rows_alone() -> None:
    rows = rows_of(100, 2)
    x = seen(rows, 1, 3)
    scaled = standardise(x, rows.train)[0]
    assert scaled[0, rows.train].mean(0).tolist() == pytest.approx([0] * 3, abs=1e-5)
    assert scaled[0, rows.train].std(0, unbiased=False).tolist() == pytest.approx([1] * 3, abs=1e-5)
    x[0, rows.test] += 100
    assert torch.equal(standardise(x, rows.train)[0][0, rows.train], scaled[0, rows.train])


def test_rmsprop_is_near_the_optimum() -> None:
    rows = rows_of(2400, 3)
    x = seen(rows, 3, 6)
    exact, paper = (
        classify(x, rows, Probing(solver=solver, control=False)) for solver in ("exact", "rmsprop")
    )
    assert paper.test == pytest.approx(exact.test, abs=0.05)


def test_rows_of_a_task() -> None:
    examples = {
        split: tuple(
            Example(f"{split}{place}", (f"text {place}",), label="ab"[place % 2])
            for place in range(count)
        )
        for split, count in (("train", 4), ("dev", 2), ("test", 3))
    }
    rows = LabelledRows.of(ProbingTask("made", "Made", ("a", "b"), examples))
    assert rows.gold.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert [part.tolist() for part in (rows.train, rows.dev, rows.test)] == [
        [0, 1, 2, 3],
        [4, 5],
        [6, 7, 8],
    ]
    assert rows.majority == pytest.approx(2 / 3)
    with pytest.raises(CorpusError, match=r"^Made has no test examples"):
        LabelledRows.of(ProbingTask("made", "Made", ("a", "b"), {"train": examples["train"]}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"solver": "adam"}, "solver must be one of exact, rmsprop"),
        ({"l2": (0.0,)}, "L2 values must be numbers above 0"),
        ({"l2": ()}, "L2 values must be numbers above 0"),
        ({"folds": 1}, "folds must be 2 or more"),
    ],
)
def test_bad_options(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Probing(**wrong)  # type: ignore[arg-type]


def test_fewer_examples_than_folds() -> None:
    rows = LabelledRows(
        np.array([0.0, 1.0, 0.0, 1.0]), 2, np.arange(3), np.zeros(0, np.int64), np.array([3])
    )
    with pytest.raises(UserError, match="5 folds need at least 5 training examples, got 3 instead"):
        classify(torch.randn(1, 4, 2), rows, Probing())
