"""Classifiers of one task, compared with scikit-learn and scipy."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from headscope.corpus import Example
from headscope.errors import CorpusError, UserError
from headscope.runs.probe import L2, Probing
from headscope.runs.probe import classify as rmsprop
from headscope.runs.probe.classify import classify, solve_rmsprop, standardise
from headscope.runs.probe.linear import Problems
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


def reference(l2: float, classes: int, rows: int) -> LogisticRegression:
    """scikit-learn has one weight vector for two classes, whose penalty is half as strong."""
    strength = (2 if classes == 2 else 1) / (rows * l2)
    return LogisticRegression(C=strength, tol=1e-8, max_iter=10_000)


@pytest.mark.parametrize("classes", [2, 5])
def test_l2_and_scores_agree_with_scikit_learn(classes):
    rows = rows_of(1200, classes)
    x = seen(rows, 4, 6)
    found = classify(x, rows, Probing(control=False))
    for unit in range(4):
        values = x[unit].double().numpy()
        values = (values - values[rows.train].mean(0)) / values[rows.train].std(0)
        scores = []
        for l2 in L2:
            model = reference(l2, classes, len(rows.train))
            model.fit(values[rows.train], rows.gold[rows.train])
            parts = (rows.dev, rows.test)
            scores.append([model.score(values[part], rows.gold[part]) for part in parts])
        best = max(range(len(L2)), key=lambda place: (scores[place][0], L2[place]))
        assert found.validation[unit] == pytest.approx(scores[best][0], abs=0.005)
        assert found.test[unit] == pytest.approx(scores[best][1], abs=0.01)
    assert found.test[3] > found.test[0] + 0.2
    assert np.isnan(found.control).all()


def test_folds_replace_a_missing_validation_split():
    rows = rows_of(800, 3, dev=False)
    x = seen(rows, 3, 5)
    found = classify(x, rows, Probing(l2=(0.01,), seed=4))
    values = standardise(x, rows.train)[0][2].double().numpy()
    folds = np.array_split(np.random.default_rng(4).permutation(rows.train), 5)
    scores = []
    for fold in folds:
        others = np.setdiff1d(rows.train, fold)
        model = reference(0.01, 3, len(others)).fit(values[others], rows.gold[others])
        scores.append(model.score(values[fold], rows.gold[fold]))
    whole = reference(0.01, 3, len(rows.train)).fit(values[rows.train], rows.gold[rows.train])
    assert found.validation[2] == pytest.approx(np.mean(scores), abs=0.005)
    expected = whole.score(values[rows.test], rows.gold[rows.test])
    assert found.test[2] == pytest.approx(expected, abs=0.01)


def test_the_control_is_at_chance_even_for_informative_features():
    rows = rows_of(4000, 2)
    found = classify(seen(rows, 3, 5), rows, Probing())
    assert found.test[2] > 0.8
    assert found.test[0] == pytest.approx(0.5, abs=0.05)  # tells nothing
    assert set(found.l2) <= set(L2)
    assert found.control == pytest.approx(0.5, abs=0.06)


def test_the_largest_of_equally_good_l2_values_is_chosen():
    rows = rows_of(200, 2)
    x = torch.zeros(1, 200, 3)  # uninformative: all L2 values are equally good
    assert classify(x, rows, Probing(control=False)).l2.tolist() == [0.1]


def test_scores_from_0_to_5_are_judged_by_correlation():
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


def test_a_regression_is_scored_by_scipys_correlation_of_the_expected_level():
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


def test_constant_features_are_ignored_and_counted():
    rows = rows_of(300, 2)
    x = seen(rows, 2, 4)
    x[1, :, 2] = 5.0
    found = classify(x, rows, Probing(control=False))
    assert found.constant.tolist() == [0, 1]
    without = classify(x[1:, :, [0, 1, 3]], rows, Probing(control=False))
    assert found.test[1] == pytest.approx(without.test[0], abs=0.01)


def test_features_that_are_not_finite_are_an_error():
    rows = rows_of(100, 2)
    x = seen(rows, 2, 4)
    x[1, 3, 0] = np.inf
    message = "the vectors of 1 of 2 heads or layers contain numbers that are not finite"
    with pytest.raises(UserError, match=message):
        classify(x, rows, Probing())


def test_features_are_scaled_by_the_training_rows_alone():
    rows = rows_of(100, 2)
    x = seen(rows, 1, 3)
    scaled = standardise(x, rows.train)[0]
    assert scaled[0, rows.train].mean(0).tolist() == pytest.approx([0] * 3, abs=1e-5)
    assert scaled[0, rows.train].std(0, unbiased=False).tolist() == pytest.approx([1] * 3, abs=1e-5)
    x[0, rows.test] += 100
    assert torch.equal(standardise(x, rows.train)[0][0, rows.train], scaled[0, rows.train])


def test_rmsprop_is_near_the_optimum():
    rows = rows_of(2400, 3)
    x = seen(rows, 3, 6)
    exact, paper = (
        classify(x, rows, Probing(solver=solver, control=False)) for solver in ("exact", "rmsprop")
    )
    assert paper.test == pytest.approx(exact.test, abs=0.05)


def test_rows_of_a_task():
    examples = {
        split: tuple(
            Example(f"{split}{place}", (f"text {place}",), label="ab"[place % 2])
            for place in range(count)
        )
        for split, count in (("train", 4), ("dev", 2), ("test", 3))
    }
    rows = LabelledRows.of(ProbingTask("made", "Made", ("a", "b"), examples))
    assert rows.gold.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    parts = [part.tolist() for part in (rows.train, rows.dev, rows.test)]
    assert parts == [[0, 1, 2, 3], [4, 5], [6, 7, 8]]
    assert rows.majority == pytest.approx(2 / 3)
    with pytest.raises(CorpusError, match=r"^Made has no test examples"):
        LabelledRows.of(ProbingTask("made", "Made", ("a", "b"), {"train": examples["train"]}))


def test_fewer_examples_than_folds():
    rows = LabelledRows(
        np.array([0.0, 1.0, 0.0, 1.0]), 2, np.arange(3), np.zeros(0, np.int64), np.array([3])
    )
    with pytest.raises(UserError, match="5 folds need at least 5 training examples, got 3 instead"):
        classify(torch.randn(1, 4, 2), rows, Probing())


# --- by RMSProp ---


def some_problems(
    *,
    classes: int = 2,
    units: int = 3,
    rows: int = 150,
    soft: bool = False,
    dtype: torch.dtype = torch.float64,
) -> tuple[Problems, Tensor]:
    """Problems on two training sets, and the validation rows of each.

    Later units are more informative.
    """
    generator = torch.Generator().manual_seed(classes)
    targets = torch.randint(classes, (rows,), generator=generator)
    x = torch.randn(units, rows, 6, generator=generator, dtype=dtype)
    centres = torch.randn(classes, 6, generator=generator, dtype=dtype)
    x += torch.arange(units)[:, None, None] * 0.5 * centres[targets]
    fold, wanted = torch.arange(rows) % 3, targets
    if soft:
        noise = torch.rand(rows, classes, generator=generator)
        wanted = (3 * functional.one_hot(targets, classes) + noise).to(dtype).softmax(1)
    sets, held = torch.stack([fold != 0, fold == 0]), torch.stack([fold == 0, fold == 1])
    return Problems(x, wanted, classes, sets, (1e-4, 1e-1)), held


EXACT: dict[str, Any] = {"rtol": 1e-7, "atol": 1e-9}


def plain_loop(
    problems: Problems,
    held: Tensor,
    unit: int,
    number: int,
    l2: float,
    *,
    rate: float,
    batch: int,
    patience: int,
    epochs: int,
    seed: int,
) -> tuple[torch.nn.Linear, int, int]:
    """The classifier with the best validation accuracy, its epoch, and the number of epochs.

    For soft targets, the classifier with the lowest cross-entropy.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = torch.nn.Linear(problems.x.shape[2], problems.classes, dtype=problems.x.dtype)
    optimizer = torch.optim.RMSprop(layer.parameters(), lr=rate, weight_decay=l2)
    random = np.random.default_rng(seed)
    x, y = problems.x[unit], problems.targets
    train, judges = np.flatnonzero(problems.sets[number]), np.flatnonzero(held[number])
    best, best_layer, best_epoch = -np.inf, layer, 0
    for epoch in range(1, epochs + 1):
        order = train[random.permutation(len(train))]
        for start in range(0, len(order), batch):
            indices = order[start : start + batch]
            optimizer.zero_grad()
            functional.cross_entropy(layer(x[indices]), y[indices]).backward()
            optimizer.step()
        with torch.no_grad():
            reported = layer(x[judges])
            if y.ndim == 1:
                quality = float((reported.argmax(1) == y[judges]).double().mean())
            else:
                quality = -float(functional.cross_entropy(reported, y[judges]))
        if quality > best:
            best, best_layer, best_epoch = quality, copy.deepcopy(layer), epoch
        elif epoch - best_epoch == patience:
            break
    return best_layer, best_epoch, epoch


@pytest.mark.parametrize(
    ("classes", "soft"), [(2, False), (3, False), (30, False), (2, True), (5, True)]
)
@pytest.mark.parametrize(
    "setting",
    [
        {"rate": 0.1, "batch": 32, "patience": 3, "epochs": 40, "seed": 0},
        {"rate": 0.02, "batch": 7, "patience": 1, "epochs": 6, "seed": 5},
    ],
)
def test_every_problem_agrees_with_a_plain_loop(classes, soft, setting):
    problems, held = some_problems(classes=classes, soft=soft)
    fitted = solve_rmsprop(problems, held, **setting)
    assert fitted.weight.shape == (3, 2, 2, 6, classes)
    assert fitted.bias.shape == (3, 2, 2, classes)
    steps = []
    for unit, number, place in product(range(3), range(2), range(2)):
        layer, _, epochs = plain_loop(problems, held, unit, number, problems.l2[place], **setting)
        found = fitted.weight[unit, number, place], fitted.bias[unit, number, place]
        expected = layer.weight.detach().mT, layer.bias.detach()
        torch.testing.assert_close(found, expected, **EXACT)
        batches = -(-int(problems.sets[number].sum()) // int(setting["batch"]))
        steps.append(epochs * batches)
    assert fitted.steps == max(steps)


def test_problems_of_the_comparison_stop_after_different_epochs_and_keep_earlier_weights():
    """Otherwise the comparison would miss a problem stopped by another, or the last weights."""
    problems, held = some_problems()
    setting = {"rate": 0.1, "batch": 32, "patience": 3, "epochs": 40, "seed": 0}
    found = [
        plain_loop(problems, held, unit, number, l2, **setting)[1:]
        for unit in range(3)
        for number in range(2)
        for l2 in problems.l2
    ]
    assert len({ran for _, ran in found}) > 2
    assert all(ran - best == 3 for best, ran in found)


def test_single_precision_agrees_up_to_rounding():
    problems, held = some_problems(classes=3, dtype=torch.float32)
    fitted = solve_rmsprop(problems, held, epochs=3, batch=32)
    assert fitted.weight.dtype == torch.float32
    layer, _, _ = plain_loop(
        problems, held, 2, 0, 0.1, rate=0.1, batch=32, patience=3, epochs=3, seed=0
    )
    torch.testing.assert_close(
        fitted.weight[2, 0, 1], layer.weight.detach().mT, rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("classes", [2, 4])
def test_problems_do_not_depend_on_those_trained_beside_them(classes):
    problems, held = some_problems(classes=classes, units=5)
    fitted = solve_rmsprop(problems, held, batch=32)
    for unit, number, place in product(range(5), range(2), range(2)):
        x, sets = problems.x[unit : unit + 1], problems.sets[number : number + 1]
        alone = Problems(x, problems.targets, classes, sets, (problems.l2[place],))
        single = solve_rmsprop(alone, held[number : number + 1], batch=32)
        found = fitted.weight[unit, number, place], fitted.bias[unit, number, place]
        expected = single.weight[0, 0, 0], single.bias[0, 0, 0]
        torch.testing.assert_close(found, expected, **EXACT)


def test_results_do_not_depend_on_memory(monkeypatch):
    problems, held = some_problems(classes=3, units=5)
    whole = solve_rmsprop(problems, held, batch=32)
    calls: list[int] = []
    train = rmsprop._train
    monkeypatch.setattr(rmsprop, "_train", lambda x, *rest: calls.append(len(x)) or train(x, *rest))
    monkeypatch.setattr(rmsprop, "MEMORY", 1)
    parts = solve_rmsprop(problems, held, batch=32)
    assert calls == [1] * 10
    torch.testing.assert_close(parts.weight, whole.weight, rtol=1e-7, atol=1e-9)
    assert parts.steps == whole.steps


def test_rows_outside_a_training_set_have_no_effect():
    problems, held = some_problems()
    other = problems.x.clone()
    other[:, ~(problems.sets[0] | held[0])] = torch.nan
    some = replace(problems, sets=problems.sets[:1])
    torch.testing.assert_close(
        solve_rmsprop(some, held[:1], batch=32).weight,
        solve_rmsprop(replace(some, x=other), held[:1], batch=32).weight,
        rtol=1e-7,
        atol=1e-9,
    )


@pytest.mark.parametrize("classes", [2, 10])
def test_separable_classes_are_learned_and_noise_is_not(classes):
    generator = torch.Generator().manual_seed(1)
    targets = torch.randint(classes, (600,), generator=generator)
    x = 4 * torch.eye(classes)[targets] + 0.3 * torch.randn(2, 600, classes, generator=generator)
    x = torch.cat([x, torch.randn(1, 600, classes, generator=generator)])
    train = torch.arange(600) < 400
    held = (torch.arange(600) >= 400) & (torch.arange(600) < 500)
    fitted = solve_rmsprop(
        Problems(x, targets, classes, train[None], (1e-5, 1e-2)), held[None], batch=64
    )
    right = (fitted.logits(x[:, 500:]).argmax(-1) == targets[500:]).double().mean(-1)[:, 0]
    assert right[:2].min() == 1.0
    assert right[2].max() < 0.7


def test_a_thousand_classes_are_learned():
    generator = torch.Generator().manual_seed(0)
    targets = torch.arange(3000) % 1000
    x = torch.randn(1000, 24, generator=generator)[targets] + 0.1 * torch.randn(
        3, 3000, 24, generator=generator
    )
    train = torch.arange(3000) < 2000
    fitted = solve_rmsprop(Problems(x, targets, 1000, train[None], (1e-5,)), ~train[None], epochs=6)
    assert (fitted.logits(x[:, 2000:]).argmax(-1) == targets[2000:]).double().mean() > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "the batch parameter must be 1 or more, got 0 instead"),
        ({"patience": 0}, "the patience parameter must be 1 or more, got 0 instead"),
        ({"epochs": -1}, "the epochs parameter must be 1 or more, got -1 instead"),
    ],
)
def test_counts_must_be_positive(change, message):
    problems, held = some_problems()
    with pytest.raises(UserError, match=f"^{message}"):
        solve_rmsprop(problems, held, **change)


def test_every_training_set_needs_rows_to_train_on_and_to_stop_by():
    problems, held = some_problems()
    with pytest.raises(
        UserError,
        match=r"^the validation parameter must have one row per training set, of shape "
        r"\(2, 150\); got \(1, 150\) instead",
    ):
        solve_rmsprop(problems, held[:1])
    with pytest.raises(UserError, match=r"^training set 2 has no rows to decide when to stop"):
        solve_rmsprop(problems, held & torch.tensor([[True], [False]]))
    with pytest.raises(UserError, match=r"^training set 1 has no rows to train on"):
        solve_rmsprop(replace(problems, sets=problems.sets & torch.tensor([[False], [True]])), held)
