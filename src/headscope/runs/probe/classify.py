"""A classifier on every unit (head or layer) of one task: L2 chosen on validation, scored on test, with a control on shuffled labels (J3, J6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import UserError, unknown
from headscope.runs.probe.linear import L2, Fitted, Problems, solve
from headscope.runs.probe.rmsprop import solve_rmsprop
from headscope.runs.probe.rows import Rows

SOLVERS = ("exact", "rmsprop")
FOLDS = 5
HELD_OUT = 0.1
"""The share of the training rows that says when RMSProp stops, where there is no validation part."""
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """How classifiers are trained and chosen."""

    solver: str = "exact"
    l2: tuple[float, ...] = L2
    folds: int = FOLDS
    control: bool = True
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise unknown("solver", self.solver, SOLVERS)
        if not self.l2 or any(not 0 < value < 1e6 for value in self.l2):
            raise UserError(
                f"L2 values must be above 0, got {', '.join(map(str, self.l2)) or 'none'} instead",
                hint="give e.g. --l2 0.001 --l2 0.01",
            )
        if self.folds < 2:
            raise UserError(f"the number of folds must be 2 or more, got {self.folds} instead")


@dataclass(frozen=True)
class Scores:
    """Of each unit: the validation score that chose its L2, the test score, and that of the control (NaN if there is none)."""

    validation: Array
    test: Array
    l2: Array
    control: Array
    constant: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """How many of its numbers never change in training, and so tell nothing."""
    unsolved: int = 0


def classify(x: Tensor, rows: Rows, settings: Settings) -> Scores:
    """Train and score the classifiers of all units on ``x``, (unit, row, width)."""
    problem = _Task(rows, settings)
    prepared, constant = standardise(x, rows.train)
    prepared = prepared.to(settings.device)
    fitted = problem.fit(prepared, rows.targets, settings.l2)
    validation = _units(fitted, prepared, problem.validation)  # (unit, l2)
    best = _best(validation)
    test = _units(fitted, prepared, problem.test).gather(1, best[:, None])[:, 0]
    control = (
        problem.control(prepared, best) if settings.control else torch.full_like(test, torch.nan)
    )
    chosen = np.array(settings.l2)[best.cpu().numpy()]
    return Scores(
        validation.gather(1, best[:, None])[:, 0].cpu().numpy(),
        test.cpu().numpy(),
        chosen,
        control.cpu().numpy(),
        constant,
        fitted.unsolved,
    )


def standardise(x: Tensor, train: NDArray[np.int64]) -> tuple[Tensor, NDArray[np.int64]]:
    """Features with mean 0 and deviation 1 over the training rows; one that never changes there becomes 0. Also how many these are, by unit."""
    wrong = ~torch.isfinite(x).all((1, 2))
    if bool(wrong.any()):
        raise UserError(
            f"the features of {int(wrong.sum())} of {len(x)} units have numbers that are not finite",
            hint="look for overflow: load the model in float32",
        )
    part = x[:, torch.from_numpy(train)]
    mean, deviation = part.mean(1, keepdim=True), part.std(1, keepdim=True, unbiased=False)
    size = part.abs().amax(1, keepdim=True)
    constant = deviation <= 1e-6 * size
    scaled = (x - mean) / torch.where(constant, torch.ones_like(deviation), deviation)
    return scaled.masked_fill(constant, 0.0), constant.sum((1, 2)).numpy()


class _Task:
    """The training sets of a task: its own, or folds and then the whole."""

    def __init__(self, rows: Rows, settings: Settings) -> None:
        self.rows, self.settings = rows, settings
        self.random = np.random.default_rng(settings.seed)
        size = len(rows.gold)
        self.held: list[NDArray[np.int64]]
        if len(rows.dev):
            self.held, self.trained = [rows.dev], [rows.train]
        else:
            if len(rows.train) < settings.folds:
                raise UserError(
                    f"{settings.folds} folds need as many training examples, got {len(rows.train)} instead",
                    hint="give more examples, or a validation part",
                )
            parts = np.array_split(self.random.permutation(rows.train), settings.folds)
            self.held = [*parts, np.zeros(0, np.int64)]
            self.trained = [*(np.setdiff1d(rows.train, part) for part in parts), rows.train]
            if settings.solver == "rmsprop":  # which must see when to stop
                self.held[-1] = self.random.permutation(rows.train)[
                    : max(1, round(HELD_OUT * len(rows.train)))
                ]
                self.trained[-1] = np.setdiff1d(rows.train, self.held[-1])
        self.sets = torch.from_numpy(
            np.stack([np.isin(np.arange(size), chosen) for chosen in self.trained])
        )
        self.watched = torch.from_numpy(
            np.stack([np.isin(np.arange(size), chosen) for chosen in self.held])
        )

    def fit(
        self, x: Tensor, targets: Tensor, l2: tuple[float, ...], *, last: bool = False
    ) -> Fitted:
        """The classifiers of all sets, or of the last one only."""
        part = slice(-1, None) if last else slice(None)
        classes = self.rows.classes or len(self.rows.levels)
        problems = Problems(x, targets.to(x.device), classes, self.sets[part].to(x.device), l2)
        return (
            solve(problems)
            if self.settings.solver == "exact"
            else solve_rmsprop(problems, self.watched[part].to(x.device), seed=self.settings.seed)
        )

    def validation(self, x: Tensor, fitted: Fitted) -> Tensor:
        """One unit's validation score for each L2: its own part's, or the mean over folds."""
        folds = len(self.held) - 1 or 1
        found = [
            self.rows.score(_logits(x, fitted, place, held), held)
            for place, held in enumerate(self.held[:folds])
        ]
        return torch.stack(found).mean(0)

    def test(self, x: Tensor, fitted: Fitted) -> Tensor:
        """One unit's test score for each L2, trained on all training rows."""
        return self.rows.score(_logits(x, fitted, -1, self.rows.test), self.rows.test)

    def control(self, x: Tensor, best: Tensor) -> Tensor:
        """The test scores of the same classifiers, with the L2 that was chosen, on labels that were shuffled within each part: what can be had without knowing anything."""
        order = np.arange(len(self.rows.gold))
        for part in (self.rows.train, self.rows.dev, self.rows.test):
            order[part] = self.random.permutation(part)
        shuffled = _Task(replace(self.rows, gold=self.rows.gold[order]), self.settings)
        scores = x.new_zeros(len(x), dtype=torch.float64)
        for value in sorted(set(best.tolist())):
            units = torch.nonzero(best == value)[:, 0]
            fitted = shuffled.fit(
                x[units], shuffled.rows.targets, (self.settings.l2[value],), last=True
            )
            scores[units] = _units(fitted, x[units], shuffled.test)[:, 0]
        return scores


def _logits(x: Tensor, fitted: Fitted, place: int, rows: NDArray[np.int64]) -> Tensor:
    """The logits of some rows of the one unit by the classifiers of one set, (l2, row, class)."""
    return (
        x[0, torch.from_numpy(rows).to(x.device)] @ fitted.weight[0, place]
        + fitted.bias[0, place, :, None]
    )


def _units(fitted: Fitted, x: Tensor, score: Callable[[Tensor, Fitted], Tensor]) -> Tensor:
    """A score of each unit and L2, one unit after the other: logits of many classes are large."""
    ones = (
        Fitted(fitted.weight[unit : unit + 1], fitted.bias[unit : unit + 1], fitted.steps)
        for unit in range(len(x))
    )
    return torch.stack([score(x[unit : unit + 1], one) for unit, one in enumerate(ones)])


def _best(validation: Tensor) -> Tensor:
    """The best L2 of each unit; of equals the largest."""
    scores = torch.nan_to_num(validation, nan=-1.0)
    return scores.shape[1] - 1 - scores.flip(1).argmax(1)
