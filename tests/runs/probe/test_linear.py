"""The exact solver, compared with scikit-learn, scipy and the conditions of an optimum."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from headscope.runs.probe import L2, linear
from headscope.runs.probe.linear import Fitted, Problems, solve

Case = tuple[torch.Tensor, torch.Tensor]


def made(units: int, rows: int, width: int, classes: int, *, seed: int = 0) -> Case:
    """Correlated features; the labels depend more on those of later units."""
    random = torch.Generator().manual_seed(seed)
    hidden = torch.randn(rows, 6, generator=random)
    labels = (
        hidden @ torch.randn(6, classes, generator=random)
        + 0.5 * torch.randn(rows, classes, generator=random)
    ).argmax(1)
    x = (
        torch.randn(units, rows, width, generator=random)
        + torch.einsum("nk,ukd->und", hidden, torch.randn(units, 6, width, generator=random))
        * torch.linspace(0, 1, units)[:, None, None]
    )
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True), labels


def everything(rows: int) -> torch.Tensor:
    return torch.ones(1, rows, dtype=torch.bool)


@pytest.mark.parametrize("classes", [2, 3, 11])
def test_the_weights_agree_with_scikit_learn(classes):
    x, labels = made(3, 500, 8, classes)
    found = solve(Problems(x, labels, classes, everything(500)))
    assert found.unsolved == 0
    for unit in range(3):
        for place, l2 in enumerate(L2):
            # For two classes scikit-learn has one weight vector, the difference of ours: its
            # penalty is half as strong.
            strength = (2 if classes == 2 else 1) / (500 * l2)
            values = x[unit].double().numpy()
            known = LogisticRegression(C=strength, tol=1e-9, max_iter=20_000)
            known.fit(values, labels.numpy())
            weight, bias = found.weight[unit, 0, place].numpy(), found.bias[unit, 0, place].numpy()
            if classes == 2:
                weight, bias = weight[:, 1:] - weight[:, :1], bias[1:] - bias[:1]
                margin = 2e-3 * max(1, np.abs(known.coef_).max())
                assert pytest.approx(known.coef_, abs=margin) == weight.T
                assert bias == pytest.approx(known.intercept_, abs=5e-3)
            scores = found.logits(x)[unit, 0, place]
            assert (scores.argmax(1).numpy() == known.predict(values)).mean() >= 0.996
            differences = scores.softmax(1).numpy() - known.predict_proba(values)
            assert np.abs(differences).max() < 0.02
            assert np.abs(differences).mean() < 1e-3


@pytest.mark.parametrize("classes", [2, 4])
def test_an_offset_is_added_to_the_logits(classes, monkeypatch):
    """The loss is the minimum that scipy finds with the same offset, whatever the portions."""
    x, labels = made(2, 200, 5, classes)
    l2, sets = 0.01, torch.stack([torch.arange(200) < 150, torch.arange(200) >= 50])
    offset = torch.randn(2, 200, classes, generator=torch.Generator().manual_seed(1))
    problems = Problems(x, labels, classes, sets, (l2,), offset)
    found = solve(problems, tolerance=1e-6)
    size = 5 * classes
    for unit in range(2):
        for place, chosen in enumerate(sets.numpy()):
            whole = (x[unit].double(), labels, offset[place].double())
            given = tuple(part.numpy()[chosen] for part in whole)

            def loss(parameters: np.ndarray, given: tuple[np.ndarray, ...] = given) -> float:
                rows, gold, added = given
                logits = added + rows @ parameters[:size].reshape(5, classes) + parameters[size:]
                logits -= logsumexp(logits, axis=1, keepdims=True)
                penalty = l2 / 2 * (parameters[:size] ** 2).sum()
                return float(penalty - logits[np.arange(150), gold].mean())

            best = minimize(loss, np.zeros(size + classes), method="BFGS", options={"gtol": 1e-8})
            ours = (part[unit, place, 0].double().numpy() for part in (found.weight, found.bias))
            values = np.concatenate([part.ravel() for part in ours])
            assert loss(values) == pytest.approx(best.fun, abs=1e-6)
    monkeypatch.setattr(linear, "PILOT_ROWS", 8)
    assert solve(problems, memory=1).weight == pytest.approx(found.weight, abs=1e-3)


def test_soft_targets_are_equivalent_to_copies_of_rows():
    """A row that is 30 % class 0 and 70 % class 2 counts as three and seven rows of these."""
    x, _ = made(1, 60, 4, 3)
    shares = torch.tensor([[0.3, 0.0, 0.7], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]).repeat(20, 1)
    soft = solve(Problems(x, shares, 3, everything(60), (0.01,)))
    counts = (10 * shares).round().long()
    rows = torch.repeat_interleave(torch.arange(60), counts.sum(1))
    labels = torch.cat([torch.repeat_interleave(torch.arange(3), row) for row in counts])
    hard = solve(Problems(x[:, rows], labels, 3, everything(600), (0.01,)))
    assert soft.weight == pytest.approx(hard.weight, abs=2e-3)


def test_each_training_set_uses_only_its_own_rows():
    x, labels = made(2, 300, 6, 2)
    sets = torch.zeros(2, 300, dtype=torch.bool)
    sets[0, :200], sets[1, 100:] = True, True
    both = solve(Problems(x, labels, 2, sets, (0.01, 0.1)))
    for place, rows in enumerate((slice(0, 200), slice(100, 300))):
        alone = solve(Problems(x[:, rows], labels[rows], 2, everything(200), (0.01, 0.1)))
        assert both.weight[:, place] == pytest.approx(alone.weight[:, 0], abs=1e-3)


def test_results_do_not_depend_on_portions_of_rows_and_units(monkeypatch):
    x, labels = made(5, 400, 6, 5)
    problems = Problems(x, labels, 5, everything(400), (0.01,))
    whole = solve(problems)
    monkeypatch.setattr(linear, "CACHE", 1)
    parts = solve(problems, memory=1)
    assert parts.weight == pytest.approx(whole.weight, abs=1e-3)
    for name, value in (("AXES", 1), ("PILOT_ROWS", 16)):  # and on a first solution on fewer rows
        monkeypatch.setattr(linear, name, value)
        assert solve(problems).weight == pytest.approx(whole.weight, abs=2e-3)


def test_uninformative_features_give_the_shares_of_the_classes():
    labels = torch.tensor([0] * 30 + [1] * 50 + [2] * 20)
    found = solve(Problems(torch.zeros(1, 100, 3), labels, 3, everything(100), (0.1,)))
    assert found.logits(torch.zeros(1, 1, 3))[0, 0, 0, 0].softmax(0).tolist() == pytest.approx(
        [0.3, 0.5, 0.2], abs=1e-3
    )
    assert found.weight.abs().max() == 0


def test_separable_rows_have_a_solution():
    x = torch.linspace(-1, 1, 40)[None, :, None]
    found = solve(Problems(x, (x[0, :, 0] > 0).long(), 2, everything(40), (1e-5,)))
    assert (found.logits(x)[0, 0, 0].argmax(1) == (x[0, :, 0] > 0)).all()
    known = LogisticRegression(C=2 / (40 * 1e-5), tol=1e-10, max_iter=100_000).fit(
        x[0].double().numpy(), (x[0, :, 0] > 0).numpy()
    )
    assert float(found.weight[0, 0, 0, 0, 1] - found.weight[0, 0, 0, 0, 0]) == pytest.approx(
        float(known.coef_[0, 0]), rel=0.05
    )


def test_a_thousand_classes_are_solved():
    x, _ = made(1, 2000, 16, 2)
    labels = torch.arange(2000) % 1000
    x[0] += 3 * torch.randn(1000, 16, generator=torch.Generator().manual_seed(1))[labels]
    found: Fitted = solve(Problems(x, labels, 1000, everything(2000), (1e-4,)))
    assert found.unsolved == 0
    assert float((found.logits(x)[0, 0, 0].argmax(1) == labels).float().mean()) > 0.9


def separable(rows: int, width: int, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Features with a falling spectrum, more of them than training rows, as layers of models have;
    the labels are noisy.
    """
    random = np.random.default_rng(0)
    spectrum = np.arange(1, width + 1) ** -1.0
    mixed = random.normal(size=(rows, width)) * spectrum @ random.normal(size=(width, width))
    labels = (mixed[:, :classes] + 2 * random.normal(size=(rows, classes))).argmax(1)
    x = (mixed - mixed.mean(0)) / mixed.std(0)
    return torch.from_numpy(x).float()[None], torch.from_numpy(labels)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("l2", "train"), [(1e-6, 120), (1e-5, 120), (1e-5, 180), (1e-2, 120)])
@pytest.mark.parametrize("blocks", [linear.BLOCKS, 0])
def test_separable_classes_under_a_weak_penalty_are_solved_to_the_optimum(
    classes, l2, train, blocks, monkeypatch
):
    """Every prediction for other rows is that of scikit-learn's Newton solver in float64; with
    fewer or more training rows than features, and too wide for the curvature of each class.
    """
    monkeypatch.setattr(linear, "BLOCKS", blocks)
    rows = 400
    x, labels = separable(rows, 160, classes)
    sets = (torch.arange(rows) < train)[None]
    found = solve(Problems(x, labels, classes, sets, (l2,)), steps=5000)
    assert found.unsolved == 0
    values, gold = x[0].double().numpy(), labels.numpy()
    strength = (2 if classes == 2 else 1) / (train * l2)
    known = LogisticRegression(C=strength, tol=1e-10, max_iter=1000, solver="newton-cholesky").fit(
        values[:train], gold[:train]
    )
    ours = found.logits(x)[0, 0, 0]
    assert (ours.argmax(1).numpy() == known.predict(values)).all()
    assert ours[train:].softmax(1).numpy() == pytest.approx(
        known.predict_proba(values[train:]), abs=1e-3
    )


def test_newtons_method_needs_few_conjugate_gradients_whatever_classes_share(monkeypatch):
    """It reaches scikit-learn's solution. Only a weak penalty bends the part of a step that all
    classes share; a step with such a part would need up to 200 of them.
    """
    taken, step = [], linear._newton_step

    def counted(*given):
        found = step(*given)
        taken.append(found[1])
        return found

    monkeypatch.setattr(linear, "_newton_step", counted)
    x, labels = separable(400, 160, 6)
    fitted = solve(Problems(x, labels, 6, everything(400), (1e-5,)), steps=1)
    assert fitted.unsolved == 0
    assert max(taken) < 50
    known = LogisticRegression(
        C=1 / (400 * 1e-5), tol=1e-10, max_iter=1000, solver="newton-cholesky"
    ).fit(x[0].double().numpy(), labels.numpy())
    chances = fitted.logits(x)[0, 0, 0].softmax(1).numpy()
    assert chances == pytest.approx(known.predict_proba(x[0].double().numpy()), abs=1e-3)


def test_what_newtons_method_does_not_solve_is_counted(monkeypatch):
    x, labels = separable(400, 160, 2)
    problems = Problems(x, labels, 2, (torch.arange(400) < 120)[None], (1e-5, 1e-1))
    assert solve(problems).unsolved == 0
    monkeypatch.setattr(linear, "WORK", 0)
    assert solve(problems).unsolved == 1


@pytest.mark.parametrize("classes", [2, 6])
def test_the_losses_of_wide_features_are_within_3e_5_of_the_optimum(classes):
    x, labels = made(1, 600, 200, classes, seed=7)
    values, gold = x[0].double().numpy(), labels.numpy()
    fitted = solve(Problems(x, labels, classes, everything(600)))
    assert fitted.unsolved == 0

    def loss(l2: float, weight: np.ndarray, bias: np.ndarray) -> float:
        logits = values @ weight + bias
        lost = logsumexp(logits, axis=1) - logits[np.arange(600), gold]
        return float(lost.mean() + l2 / 2 * (weight**2).sum())

    for place, l2 in enumerate(L2):
        strength = (2 if classes == 2 else 1) / (600 * l2)
        known = LogisticRegression(C=strength, tol=1e-8, max_iter=20_000)
        known.fit(values, gold)
        weight, bias = known.coef_.T, known.intercept_
        if classes == 2:
            weight, bias = np.hstack([-weight, weight]) / 2, np.array([-bias[0], bias[0]]) / 2
        ours = (part[0, 0, place].double().numpy() for part in (fitted.weight, fitted.bias))
        assert loss(l2, *ours) < loss(l2, weight, bias) * (1 + 3e-5)
