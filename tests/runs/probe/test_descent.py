"""Softmax regression on one unit: its loss and gradient, and descents that must not end early."""

from __future__ import annotations

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from headscope.runs.probe import softmax
from headscope.runs.probe.softmax import Descent, SoftmaxRegression

ROWS, WIDTH, CLASSES, L2 = 150, 5, 7, 0.03


def made() -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    y = torch.randint(CLASSES, (ROWS,), generator=random)
    x = torch.randn(ROWS, WIDTH, generator=random, dtype=torch.float64)
    return x + torch.randn(CLASSES, WIDTH, generator=random, dtype=torch.float64)[y], y


@pytest.mark.parametrize("soft", [False, True], ids=["classes", "probabilities"])
@pytest.mark.parametrize("size", [1, 1e3])
def test_the_loss_and_its_gradient_are_those_of_torch(
    soft: bool, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in portions of rows, and where exponentials of the logits would overflow."""
    monkeypatch.setattr(softmax, "LOGITS", 1)
    x, y = made()
    targets = torch.softmax(torch.randn(ROWS, CLASSES).double(), 1) if soft else y
    theta = size * torch.randn(WIDTH + 1, CLASSES).double()
    theta.requires_grad_()
    expected = functional.cross_entropy(x @ theta[:-1] + theta[-1], targets)
    expected = expected + L2 / 2 * theta[:-1].square().sum()
    expected.backward()
    value, gradient = SoftmaxRegression(x, targets, CLASSES).evaluate(theta.detach(), L2)
    assert value == pytest.approx(float(expected.detach()), rel=1e-12)
    torch.testing.assert_close(gradient, theta.grad)


def test_a_direction_that_leads_uphill_does_not_end_a_descent() -> None:
    x, y = made()
    loss = SoftmaxRegression(x, y, CLASSES)
    descent = Descent(loss, loss.zeros, L2)
    descent.inverse = torch.neg  # an estimate of the curvature with the wrong sign
    assert descent.until(1e-9, steps=100)
    known = LogisticRegression(C=1 / (ROWS * L2), tol=1e-10, max_iter=5000).fit(x, y)
    expected = torch.from_numpy(known.predict_proba(x))
    torch.testing.assert_close(
        torch.softmax(loss.x @ descent.theta, 1), expected, atol=1e-3, rtol=0
    )
