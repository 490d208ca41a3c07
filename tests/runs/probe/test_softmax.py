"""Softmax regression on one unit: its loss, estimates of its curvature, and its descents."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax as shares
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from headscope.runs.probe import many_classes as softmax
from headscope.runs.probe.many_classes import (
    RIDGE,
    Axes,
    Descent,
    SoftmaxRegression,
    class_curvature,
    own_rows_curvature,
    uniform_curvature,
)

ROWS, WIDTH, CLASSES, L2 = 40, 3, 5, 0.02
MANY, WIDE, SEVEN, PENALTY = 150, 5, 7, 0.03


def made() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features with a column of ones, parameters, and a gradient, all in float64."""
    random = torch.Generator().manual_seed(3)
    x = torch.randn(ROWS, WIDTH, generator=random, dtype=torch.float64)
    theta, gradient = torch.randn(2, WIDTH + 1, CLASSES, generator=random, dtype=torch.float64)
    return torch.cat([x, torch.ones(ROWS, 1, dtype=torch.float64)], 1), theta, gradient


def bends(x: torch.Tensor, theta: torch.Tensor) -> np.ndarray:
    """p (1 - p) of each row and class."""
    share = shares((x @ theta).numpy(), axis=1)
    return share * (1 - share)


def scaled(blocks: list[np.ndarray], gradient: torch.Tensor) -> np.ndarray:
    """The inverse of each class's block times its gradient, without what all classes share."""
    values = gradient.numpy() - gradient.numpy().mean(1, keepdims=True)
    step = np.stack([np.linalg.solve(block, values[:, k]) for k, block in enumerate(blocks)], 1)
    return step - step.mean(1, keepdims=True)


def with_penalty(block: np.ndarray) -> np.ndarray:
    ridge = np.full(WIDTH + 1, RIDGE * np.diag(block).mean())
    return block + np.diag(ridge + L2 * (np.arange(WIDTH + 1) < WIDTH))


def test_equally_likely_classes_share_the_covariance_of_the_features() -> None:
    x, _, gradient = made()
    found = uniform_curvature(Axes(x), CLASSES, L2)(gradient)
    covariance = x.numpy()[:, :-1].T @ x.numpy()[:, :-1] / ROWS
    bend = (1 - 1 / CLASSES) / CLASSES
    expected = np.linalg.solve(bend * covariance + L2 * np.eye(WIDTH), gradient.numpy()[:-1])
    np.testing.assert_allclose(found[:-1], expected, rtol=1e-9)
    np.testing.assert_allclose(found[-1], gradient.numpy()[-1] / bend, rtol=1e-12)


@pytest.mark.parametrize("portion", [7, 100])
def test_narrow_features_have_the_second_derivatives_of_each_class(portion: int) -> None:
    x, theta, gradient = made()
    rows, bend = x.numpy(), bends(x, theta)
    blocks = [with_penalty((rows * bend[:, k : k + 1]).T @ rows / ROWS) for k in range(CLASSES)]
    found = class_curvature(x, theta, L2, portion)(gradient)
    np.testing.assert_allclose(found, scaled(blocks, gradient), rtol=1e-8)


@pytest.mark.parametrize("most", [64, 3])
def test_wide_features_have_own_rows_and_the_covariance_for_the_rest(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.probe.many_classes.OWN_ROWS", most)
    x, theta, gradient = made()
    own = torch.arange(ROWS) % CLASSES
    rows, bend = x.numpy(), bends(x, theta)
    spread = np.zeros((WIDTH + 1, WIDTH + 1))
    spread[:-1, :-1] = rows[:, :-1].T @ rows[:, :-1] / ROWS
    spread[-1, -1] = 1
    axes = np.linalg.eigvalsh(spread[:-1, :-1])
    blocks = []
    for k in range(CLASSES):
        mine = np.flatnonzero(own.numpy() == k)
        kept = mine[np.argsort(-bend[mine, k])][:most]
        others = (bend[:, k].sum() - bend[kept, k].sum()) / ROWS
        ridge = RIDGE * others * (axes.sum() + 1) / (WIDTH + 1)
        block = others * spread + (rows[kept] * bend[kept, k : k + 1]).T @ rows[kept] / ROWS
        block += np.diag(ridge + L2 * (np.arange(WIDTH + 1) < WIDTH))
        blocks.append(block)
    found = own_rows_curvature(x, own, Axes(x), theta, L2, portion=9)(gradient)
    np.testing.assert_allclose(found, scaled(blocks, gradient), rtol=1e-7)


def test_the_gradient_is_the_derivative_of_the_loss() -> None:
    x, theta, _ = made()
    loss = SoftmaxRegression(x[:, :-1], torch.arange(ROWS) % CLASSES, CLASSES)
    theta.requires_grad_()
    known = torch.nn.functional.cross_entropy(x @ theta, torch.arange(ROWS) % CLASSES)
    known = known + L2 / 2 * theta[:-1].square().sum()
    (expected,) = torch.autograd.grad(known, theta)
    value, gradient = loss.evaluate(theta.detach(), L2)
    assert value == pytest.approx(float(known.detach()), rel=1e-9)
    torch.testing.assert_close(gradient, expected)


def test_a_descent_that_runs_out_of_steps_can_be_continued() -> None:
    x, _, _ = made()
    loss = SoftmaxRegression(x[:, :-1], torch.arange(ROWS) % CLASSES, CLASSES)
    descent = Descent(loss, loss.zeros, 1e-4)
    assert not descent.until(1e-9, steps=1)
    assert descent.until(1e-9, steps=100)
    at_once = Descent(loss, loss.zeros, 1e-4)
    assert at_once.until(1e-9, steps=100)
    torch.testing.assert_close(descent.theta, at_once.theta)


def test_rounding_does_not_turn_steps_uphill_when_classes_are_far_apart() -> None:
    """Rows of other classes then hardly bend the loss, and nothing bounds the bias but this."""
    random = torch.Generator().manual_seed(0)
    classes, each, width = 60, 6, 96
    own = torch.arange(classes).repeat_interleave(each)
    places = torch.randn(classes, width, generator=random, dtype=torch.float64)
    x = places[own] + 0.1 * torch.randn(len(own), width, generator=random, dtype=torch.float64)
    x = torch.cat([x, torch.ones(len(own), 1, dtype=torch.float64)], 1)
    theta = torch.cat([0.35 * places.t(), torch.zeros(1, classes, dtype=torch.float64)])
    gradient = torch.randn(width + 1, classes, generator=random, dtype=torch.float64)
    steps = []
    for dtype in (torch.float32, torch.float64):
        rows = x.to(dtype)
        inverse = own_rows_curvature(rows, own, Axes(rows), theta.to(dtype), 1e-4, 100)
        steps.append(inverse(gradient.to(dtype)).double())
    error = (steps[0] - steps[1]).norm() / steps[1].norm()
    assert error < 1e-3


def classes_apart() -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    y = torch.randint(SEVEN, (MANY,), generator=random)
    x = torch.randn(MANY, WIDE, generator=random, dtype=torch.float64)
    return x + torch.randn(SEVEN, WIDE, generator=random, dtype=torch.float64)[y], y


@pytest.mark.parametrize("soft", [False, True], ids=["classes", "probabilities"])
@pytest.mark.parametrize("size", [1, 1e3])
def test_the_loss_and_its_gradient_are_those_of_torch(
    soft: bool, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in portions of rows, and where exponentials of the logits would overflow."""
    monkeypatch.setattr(softmax, "LOGITS", 1)
    x, y = classes_apart()
    targets = torch.softmax(torch.randn(MANY, SEVEN).double(), 1) if soft else y
    theta = size * torch.randn(WIDE + 1, SEVEN).double()
    theta.requires_grad_()
    expected = functional.cross_entropy(x @ theta[:-1] + theta[-1], targets)
    expected = expected + PENALTY / 2 * theta[:-1].square().sum()
    expected.backward()
    value, gradient = SoftmaxRegression(x, targets, SEVEN).evaluate(theta.detach(), PENALTY)
    assert value == pytest.approx(float(expected.detach()), rel=1e-12)
    torch.testing.assert_close(gradient, theta.grad)


def test_a_direction_that_leads_uphill_does_not_end_a_descent() -> None:
    x, y = classes_apart()
    loss = SoftmaxRegression(x, y, SEVEN)
    descent = Descent(loss, loss.zeros, PENALTY)
    descent.inverse = torch.neg  # an estimate of the curvature with the wrong sign
    assert descent.until(1e-9, steps=100)
    known = LogisticRegression(C=1 / (MANY * PENALTY), tol=1e-10, max_iter=5000).fit(x, y)
    expected = torch.from_numpy(known.predict_proba(x))
    torch.testing.assert_close(
        torch.softmax(loss.x @ descent.theta, 1), expected, atol=1e-3, rtol=0
    )
