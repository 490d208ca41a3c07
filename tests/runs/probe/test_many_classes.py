"""The search for L2 in tasks with many classes, compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.special import softmax as shares
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from headscope.runs.probe import L2, Probing
from headscope.runs.probe import many_classes as softmax
from headscope.runs.probe.classify import classify, standardise
from headscope.runs.probe.linear import Fitted, Problems
from headscope.runs.probe.many_classes import (
    RIDGE,
    Axes,
    Descent,
    SoftmaxRegression,
    class_curvature,
    is_costly,
    own_rows_curvature,
    search,
    uniform_curvature,
)
from headscope.runs.probe.rows import LabelledRows


def made(classes: int, units: int = 3, *, rows: int = 2400) -> tuple[torch.Tensor, LabelledRows]:
    """Noisy places of classes; later units tell them apart better."""
    random = np.random.default_rng(classes)
    gold = random.integers(0, classes, rows)
    places = random.normal(size=(classes, 8))
    strength = np.linspace(0.4, 1.2, units)[:, None, None]
    x = random.normal(size=(units, rows, 8)) + strength * places[gold]
    parts = np.split(np.arange(rows), [rows // 2, 3 * rows // 4])
    return torch.from_numpy(x).float(), LabelledRows(gold.astype(np.float64), classes, *parts)


def known_scores(values: NDArray[np.float64], rows: LabelledRows) -> NDArray[np.float64]:
    """Validation and test accuracy of scikit-learn for each L2 value, (l2, 2)."""
    scores = []
    for l2 in L2:
        strength = (2 if rows.classes == 2 else 1) / (len(rows.train) * l2)
        model = LogisticRegression(C=strength, tol=1e-6, max_iter=5000)
        model.fit(values[rows.train], rows.gold[rows.train])
        scores.append(
            [model.score(values[part], rows.gold[part]) for part in (rows.dev, rows.test)]
        )
    return np.array(scores)


@pytest.mark.parametrize("classes", [2, 5, 60])
def test_the_choice_of_l2_and_the_accuracies_are_those_of_scikit_learn(classes):
    x, rows = made(classes)
    found = classify(x, rows, Probing(control=False))
    prepared = standardise(x, rows.train)[0].double().numpy()
    assert found.unsolved == 0
    for unit, values in enumerate(prepared):
        scores = known_scores(values, rows)
        best = max(range(len(L2)), key=lambda place: (scores[place, 0], L2[place]))
        assert found.l2[unit] == L2[best]
        assert found.validation[unit] == pytest.approx(scores[best, 0], abs=0.002)
        assert found.test[unit] == pytest.approx(scores[best, 1], abs=0.002)


def everything(rows: int) -> torch.Tensor:
    return torch.ones(1, rows, dtype=torch.bool)


def test_each_training_set_uses_only_its_own_rows():
    x, rows = made(60, 1, rows=1200)
    sets = torch.stack([torch.arange(1200) < 800, torch.arange(1200) >= 300])
    both = search(Problems(x, rows.targets, 60, sets, (1e-2,)))
    for place, chosen in enumerate(sets):
        alone = search(
            Problems(x[:, chosen], rows.targets[chosen], 60, everything(int(chosen.sum())), (1e-2,))
        )
        assert both.weight[:, place] == pytest.approx(alone.weight[:, 0], abs=1e-4)


def test_soft_targets_are_equivalent_to_classes_if_each_row_has_one():
    x, rows = made(60, 1, rows=1200)
    hard = search(Problems(x, rows.targets, 60, everything(1200), (1e-2,)))
    soft = torch.nn.functional.one_hot(rows.targets, 60).float()
    same = search(Problems(x, soft, 60, everything(1200), (1e-2,)))
    assert same.weight == pytest.approx(hard.weight, abs=1e-4)


Asked = list[tuple[float, float]]
"""The L2 value and the score of every validation, in order."""


def searched(scores: dict[float, list[float]]) -> tuple[Fitted, Asked]:
    """Search with given scores: those of each L2 value, first rough and then ever more exact."""
    x, rows = made(60, 1, rows=1200)
    problems = Problems(x, rows.targets, 60, everything(1200), tuple(sorted(scores)))
    left = {l2: list(values) for l2, values in scores.items()}
    asked: Asked = []
    known: list[tuple[float, torch.Tensor]] = []

    def l2_of(weight: torch.Tensor) -> float:
        """A strong penalty makes small weights: the order of the sizes is that of the values."""
        size = weight.norm()
        for l2, found in known:
            if abs(found - size) < 0.1 * size:
                return l2
        raise AssertionError("no such value")

    exact = search(problems)
    known = [(l2, exact.weight[0, 0, place].norm()) for place, l2 in enumerate(problems.l2)]

    def validate(unit: int, fitted: Fitted) -> torch.Tensor:
        l2 = l2_of(fitted.weight[0, 0, 0])
        asked.append((l2, left[l2].pop(0)))
        return torch.tensor([asked[-1][1]])

    return search(problems, validate, held_out=400), asked


def test_the_search_stops_when_validation_has_fallen_and_solves_only_the_best():
    """0.001 is far below 0.01. So 0.1 may be better than 0.01; it is not, and 0.01 is solved."""
    found, asked = searched({1e-4: [], 1e-3: [0.2], 1e-2: [0.5, 0.5, 0.5], 1e-1: [0.3]})
    assert [l2 for l2, _ in asked] == [1e-2, 1e-3, 1e-1, 1e-2, 1e-2]
    assert torch.equal(found.weight[:, :, 0], found.weight[:, :, 1])  # not tried
    assert found.unsolved == 0


def test_the_strongest_value_is_not_tried_if_the_next_is_far_below_the_best():
    found, asked = searched({1e-4: [0.2], 1e-3: [0.5, 0.5, 0.5], 1e-2: [0.2], 1e-1: []})
    assert [l2 for l2, _ in asked] == [1e-2, 1e-3, 1e-4, 1e-3, 1e-3]
    assert torch.equal(found.weight[:, :, 3], found.weight[:, :, 2])


def test_a_best_value_that_falls_when_solved_is_compared_with_the_others_again():
    _, asked = searched({1e-2: [0.45, 0.46, 0.46], 1e-1: [0.50, 0.40]})
    assert [l2 for l2, _ in asked] == [1e-1, 1e-2, 1e-1, 1e-2, 1e-2]


def test_weaker_values_are_tried_after_all_if_the_best_value_falls():
    """0.001 is far below 0.01, until 0.01 turns out to be no better."""
    scores = {1e-4: [0.20], 1e-3: [0.45, 0.45, 0.45], 1e-2: [0.50, 0.40], 1e-1: [0.20]}
    _, asked = searched(scores)
    assert [l2 for l2, _ in asked] == [1e-2, 1e-3, 1e-1, 1e-2, 1e-4, 1e-3, 1e-3]


def test_the_fewer_values_are_improved_the_more_exact_they_are():
    """A standard error is 0.025: 0.49 is within a half of it of the best score, 0.48 is not."""
    scores = {1e-3: [0.48], 1e-2: [0.50, 0.50, 0.50], 1e-1: [0.49, 0.49]}
    _, asked = searched(scores)
    assert sorted(asked) == sorted((l2, score) for l2 in scores for score in scores[l2])


@pytest.mark.parametrize(("classes", "costly"), [(49, False), (50, True)])
def test_only_tasks_with_many_classes_are_searched(classes, costly):
    x = torch.zeros(1, 4, 8)
    assert is_costly(Problems(x, torch.zeros(4).long(), classes, everything(4))) is costly


def mean_loss(
    x: NDArray[np.float64], y: NDArray[np.int64], l2: float, weight: np.ndarray, bias: np.ndarray
) -> float:
    """Mean cross-entropy and penalty in float64; ``weight`` is (width, class)."""
    logits = x @ weight + bias
    gold = logits[np.arange(len(y)), y]
    return float((logsumexp(logits, axis=1) - gold).mean() + l2 / 2 * (weight**2).sum())


@pytest.mark.parametrize(
    ("width", "classes", "rows", "strength", "own"),
    [
        (20, 60, 900, 0.7, 64),  # narrow features: classes overlap
        (96, 60, 480, 0.4, 64),  # wide features: every training row can be learned by heart
        (70, 50, 1000, 0.3, 12),  # more rows of a class than are taken one by one
    ],
)
def test_every_loss_is_within_a_hundred_thousandth_of_the_optimum(
    width, classes, rows, strength, own, monkeypatch
):
    monkeypatch.setattr(softmax, "OWN_ROWS", own)
    random = np.random.default_rng(width)
    gold = random.integers(0, classes, rows)
    x = random.normal(size=(rows, width)) + strength * random.normal(size=(classes, width))[gold]
    x = x @ random.normal(size=(width, width)) / width**0.5  # correlated features
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32).astype(np.float64)
    problems = Problems(
        torch.from_numpy(x).float()[None], torch.from_numpy(gold), classes, everything(rows)
    )
    found = search(problems)
    assert found.unsolved == 0
    for place, l2 in enumerate(L2):
        known = LogisticRegression(C=1 / (rows * l2), tol=1e-9, max_iter=20_000)
        known.fit(x, gold)
        best = mean_loss(x, gold, l2, known.coef_.T, known.intercept_)
        weight, bias = (part[0, 0, place].double().numpy() for part in (found.weight, found.bias))
        assert mean_loss(x, gold, l2, weight, bias) < best * (1 + 1e-5)


def test_the_choice_among_wide_features_is_that_of_scikit_learn():
    random = np.random.default_rng(5)
    gold = random.integers(0, 60, 1800)
    x = random.normal(size=(1800, 96)) + 0.35 * random.normal(size=(60, 96))[gold]
    parts = np.split(np.arange(1800), [900, 1350])
    rows = LabelledRows(gold.astype(np.float64), 60, *parts)
    features = torch.from_numpy(x).float()[None]
    found = classify(features, rows, Probing(control=False))
    scores = known_scores(standardise(features, rows.train)[0][0].double().numpy(), rows)
    best = max(range(len(L2)), key=lambda place: (scores[place, 0], L2[place]))
    assert found.l2[0] == L2[best]
    assert found.validation[0] == pytest.approx(scores[best, 0], abs=1e-9)
    assert found.test[0] == pytest.approx(scores[best, 1], abs=0.003)


# --- softmax regression on one unit ---

ROWS, WIDTH, CLASSES, WEAK = 40, 3, 5, 0.02
MANY, WIDE, SEVEN, PENALTY = 150, 5, 7, 0.03


def drawn_rows() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
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
    return block + np.diag(ridge + WEAK * (np.arange(WIDTH + 1) < WIDTH))


def test_equally_likely_classes_share_the_covariance_of_the_features():
    x, _, gradient = drawn_rows()
    found = uniform_curvature(Axes(x), CLASSES, WEAK)(gradient)
    covariance = x.numpy()[:, :-1].T @ x.numpy()[:, :-1] / ROWS
    bend = (1 - 1 / CLASSES) / CLASSES
    expected = np.linalg.solve(bend * covariance + WEAK * np.eye(WIDTH), gradient.numpy()[:-1])
    np.testing.assert_allclose(found[:-1], expected, rtol=1e-9)
    np.testing.assert_allclose(found[-1], gradient.numpy()[-1] / bend, rtol=1e-12)


@pytest.mark.parametrize("portion", [7, 100])
def test_narrow_features_have_the_second_derivatives_of_each_class(portion):
    x, theta, gradient = drawn_rows()
    rows, bend = x.numpy(), bends(x, theta)
    blocks = [with_penalty((rows * bend[:, k : k + 1]).T @ rows / ROWS) for k in range(CLASSES)]
    found = class_curvature(x, theta, WEAK, portion)(gradient)
    np.testing.assert_allclose(found, scaled(blocks, gradient), rtol=1e-8)


@pytest.mark.parametrize("most", [64, 3])
def test_wide_features_have_own_rows_and_the_covariance_for_the_rest(most, monkeypatch):
    monkeypatch.setattr("headscope.runs.probe.many_classes.OWN_ROWS", most)
    x, theta, gradient = drawn_rows()
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
        block += np.diag(ridge + WEAK * (np.arange(WIDTH + 1) < WIDTH))
        blocks.append(block)
    found = own_rows_curvature(x, own, Axes(x), theta, WEAK, portion=9)(gradient)
    np.testing.assert_allclose(found, scaled(blocks, gradient), rtol=1e-7)


def test_a_descent_that_runs_out_of_steps_can_be_continued():
    x, _, _ = drawn_rows()
    loss = SoftmaxRegression(x[:, :-1], torch.arange(ROWS) % CLASSES, CLASSES)
    descent = Descent(loss, loss.zeros, 1e-4)
    assert not descent.until(1e-9, steps=1)
    assert descent.until(1e-9, steps=100)
    at_once = Descent(loss, loss.zeros, 1e-4)
    assert at_once.until(1e-9, steps=100)
    torch.testing.assert_close(descent.theta, at_once.theta)


def test_rounding_does_not_turn_steps_uphill_when_classes_are_far_apart():
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
def test_the_loss_and_its_gradient_are_those_of_torch(soft, size, monkeypatch):
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


def test_a_direction_that_leads_uphill_does_not_end_a_descent():
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
