"""The search for L2 in tasks with many classes, compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from headscope.runs.probe.classify import classify, standardise
from headscope.runs.probe.many_classes import is_costly, search
from headscope.runs.probe.options import L2, ProbeOptions
from headscope.runs.probe.problems import Fitted, Problems
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
def test_the_choice_of_l2_and_the_accuracies_are_those_of_scikit_learn(classes: int) -> None:
    x, rows = made(classes)
    found = classify(x, rows, ProbeOptions(control=False))
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


def test_without_validation_every_problem_is_solved() -> None:
    x, rows = made(60, 1, rows=1200)
    x, _ = standardise(x, np.arange(1200))
    found = search(Problems(x, rows.targets, 60, everything(1200), (1e-3, 1e-2)))
    assert found.unsolved == 0
    for place, l2 in enumerate((1e-3, 1e-2)):
        known = LogisticRegression(C=1 / (1200 * l2), tol=1e-8, max_iter=5000)
        known.fit(x[0].double().numpy(), rows.gold)
        probabilities = found.logits(x)[0, 0, place].softmax(1).numpy()
        expected = known.predict_proba(x[0].double().numpy())
        assert np.abs(probabilities - expected).mean() < 2e-4
        assert probabilities == pytest.approx(expected, abs=0.02)


def test_each_training_set_uses_only_its_own_rows() -> None:
    x, rows = made(60, 1, rows=1200)
    sets = torch.stack([torch.arange(1200) < 800, torch.arange(1200) >= 300])
    both = search(Problems(x, rows.targets, 60, sets, (1e-2,)))
    for place, chosen in enumerate(sets):
        alone = search(
            Problems(x[:, chosen], rows.targets[chosen], 60, everything(int(chosen.sum())), (1e-2,))
        )
        assert both.weight[:, place] == pytest.approx(alone.weight[:, 0], abs=1e-4)


def test_soft_targets_are_equivalent_to_classes_if_each_row_has_one() -> None:
    x, rows = made(60, 1, rows=1200)
    hard = search(Problems(x, rows.targets, 60, everything(1200), (1e-2,)))
    soft = torch.nn.functional.one_hot(rows.targets, 60).float()
    same = search(Problems(x, soft, 60, everything(1200), (1e-2,)))
    assert same.weight == pytest.approx(hard.weight, abs=1e-4)


def test_the_search_stops_when_validation_has_fallen_and_solves_only_the_best() -> None:
    x, rows = made(60, 1, rows=1200)
    asked: list[Fitted] = []

    def validate(unit: int, fitted: Fitted) -> torch.Tensor:
        asked.append(fitted)
        return torch.tensor([{1: 0.3, 2: 0.5}.get(len(asked), 0.5 if len(asked) == 4 else 0.2)])

    found = search(Problems(x, rows.targets, 60, everything(1200)), validate, held_out=400)
    # 0.1, 0.01 and 0.001 are tried, the last is far below the best; then 0.01 is solved.
    assert len(asked) == 4
    assert torch.equal(found.weight[:, :, 3], asked[3].weight[:, :, 0])
    for untried in (0, 1):
        assert torch.equal(found.weight[:, :, untried], found.weight[:, :, 2])


def test_a_best_value_that_falls_when_solved_is_compared_with_the_others_again() -> None:
    x, rows = made(60, 1, rows=1200)
    scores = iter([0.50, 0.45, 0.40, 0.46])  # 0.1 and 0.01 roughly, 0.1 solved, 0.01 solved
    search(
        Problems(x, rows.targets, 60, everything(1200), (1e-2, 1e-1)),
        lambda unit, fitted: torch.tensor([next(scores)]),
        held_out=400,
    )
    assert next(scores, None) is None


@pytest.mark.parametrize(
    ("classes", "width", "costly"), [(49, 8, False), (50, 64, True), (50, 65, False)]
)
def test_only_many_classes_of_narrow_features_are_searched(
    classes: int, width: int, costly: bool
) -> None:
    x = torch.zeros(1, 4, width)
    assert is_costly(Problems(x, torch.zeros(4).long(), classes, everything(4))) is costly
