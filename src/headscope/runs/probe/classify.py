"""Classifiers on every unit (head or layer) of one task, trained, chosen and scored.

Features are standardised, L2 is chosen by the validation score, and the test split only gives the
score (Jo and Myaeng 2020, appendix A.2). A control repeats the training on shuffled labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.errors import UserError
from headscope.options import Option, Options, takes
from headscope.runs.probe import Probing
from headscope.runs.probe.linear import Fitted, Problems, solve
from headscope.runs.probe.many_classes import ROUGH, is_costly, search
from headscope.runs.probe.rows import LabelledRows

STOPPING_SHARE = 0.1
"""Share of the training rows that decides when RMSProp stops if there is no validation split."""
Array = NDArray[np.float64]
Measure = Callable[[Tensor, NDArray[np.int64]], Tensor]
"""From logits, (..., row, class), and their rows to scores, (...), or answers, (..., row)."""


@dataclass(frozen=True)
class ClassifierScores:
    """Scores of the classifiers of some units, (unit,) each.

    Parameters
    ----------
    validation
        The validation score, which chose the L2 value.
    test
        The test score.
    l2
        The L2 value chosen.
    control
        The test score of the control; NaN if there is none.
    constant
        Number of features that do not vary in the training split.
    unsolved
        Number of classifiers of all units that did not converge.
    spearman
        For a regression, Spearman's correlation on the test split; ``test`` is Pearson's.
    right
        Which test examples each unit gets right, (unit, example); None unless asked for.
    """

    validation: Array
    test: Array
    l2: Array
    control: Array
    constant: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    unsolved: int = 0
    spearman: Array = field(default_factory=lambda: np.full(1, np.nan))
    right: NDArray[np.bool_] | None = None


def classify(
    x: Tensor, rows: LabelledRows, options: Probing, *, keep_right: bool = False
) -> ClassifierScores:
    """Train and score a classifier on each unit.

    Parameters
    ----------
    x
        Features, (unit, row, width).
    rows
        Labels and splits.
    options
        Solver, L2 values, folds, control, seed and device.
    keep_right
        Whether to keep which test examples each unit gets right (classes only).

    Returns
    -------
    ClassifierScores

    Raises
    ------
    UserError
        If features are not finite, or there are fewer training examples than folds.

    Examples
    --------
    >>> gold = np.arange(40) % 2
    >>> rows = LabelledRows(
    ...     gold.astype(float), 2, np.arange(20), np.arange(20, 30), np.arange(30, 40)
    ... )
    >>> x = torch.from_numpy(np.stack([gold, np.zeros(40)])[..., None]).float()
    >>> classify(x, rows, Probing(control=False)).test.tolist()
    [1.0, 0.5]
    """
    trainer = _Trainer(rows, options)
    prepared, constant = standardise(x, rows.train)
    prepared = prepared.to(options.device)
    fitted = trainer.fit(prepared, rows.targets, options.l2)
    validation = _each_unit(fitted, prepared, trainer.validation)  # (unit, l2)
    best = _best(validation)
    units = torch.arange(len(x), device=best.device)

    def at_best(measure: Measure) -> NDArray[Any]:
        """A measure of the test rows, with the L2 value of each unit."""
        every = _each_unit(fitted, prepared, partial(trainer.test, measure=measure))
        return every.to(best.device)[units, best].cpu().numpy()

    nothing = np.full(len(x), np.nan)
    return ClassifierScores(
        validation[units, best].cpu().numpy(),
        at_best(rows.score),
        np.array(options.l2)[best.cpu().numpy()],
        trainer.control(prepared, best).cpu().numpy() if options.control else nothing,
        constant,
        fitted.unsolved,
        at_best(rows.rank_score) if rows.regression else nothing,
        at_best(rows.right) if keep_right else None,
    )


def standardise(x: Tensor, train: NDArray[np.int64]) -> tuple[Tensor, NDArray[np.int64]]:
    """Scale features to mean 0 and standard deviation 1 over the training rows.

    Parameters
    ----------
    x
        Features, (unit, row, width).
    train
        Training rows.

    Returns
    -------
    scaled
        Like ``x``. A feature that does not vary in the training rows becomes 0.
    constant
        Number of such features of each unit.

    Raises
    ------
    UserError
        If features are not finite.

    Examples
    --------
    >>> scaled, constant = standardise(torch.tensor([[[1.0, 5.0], [3.0, 5.0]]]), np.arange(2))
    >>> scaled.tolist(), constant.tolist()
    ([[[-1.0, 0.0], [1.0, 0.0]]], [1])
    """
    wrong = ~torch.isfinite(x).all((1, 2))
    if bool(wrong.any()):
        raise UserError(
            f"the vectors of {int(wrong.sum())} of {len(x)} heads or layers contain numbers that "
            "are not finite",
            hint="load the model in float32: lower precision may overflow",
        )
    part = x[:, torch.from_numpy(train)]
    mean, deviation = part.mean(1, keepdim=True), part.std(1, keepdim=True, unbiased=False)
    size = part.abs().amax(1, keepdim=True)
    constant = deviation <= 1e-6 * size
    scaled = (x - mean) / torch.where(constant, torch.ones_like(deviation), deviation)
    return scaled.masked_fill(constant, 0.0), constant.sum((1, 2)).numpy()


class _Trainer:
    """The training sets of a task: its own, or folds and then the whole training split.

    ``trained`` are the rows of each set; ``held_out`` the rows that judge it.
    """

    def __init__(self, rows: LabelledRows, options: Probing) -> None:
        self.rows, self.options = rows, options
        self.random = np.random.default_rng(options.seed)
        self.held_out: list[NDArray[np.int64]] = [rows.dev]
        self.trained: list[NDArray[np.int64]] = [rows.train]
        if not len(rows.dev):
            self._make_folds()
        self.sets, self.stopping = (
            torch.from_numpy(
                np.stack([np.isin(np.arange(len(rows.gold)), chosen) for chosen in sets])
            )
            for sets in (self.trained, self.held_out)
        )

    def _make_folds(self) -> None:
        train, folds = self.rows.train, self.options.folds
        if len(train) < folds:
            raise UserError(
                f"{folds} folds need at least {folds} training examples, got {len(train)} instead",
                hint="use more examples or fewer folds, or add a validation split",
            )
        parts = np.array_split(self.random.permutation(train), folds)
        self.held_out = [*parts, np.zeros(0, np.int64)]
        self.trained = [*(np.setdiff1d(train, part) for part in parts), train]
        if self.options.solver == "rmsprop":  # needs rows to decide when to stop
            count = max(1, round(STOPPING_SHARE * len(train)))
            self.held_out[-1] = self.random.permutation(train)[:count]
            self.trained[-1] = np.setdiff1d(train, self.held_out[-1])

    def fit(
        self, x: Tensor, targets: Tensor, l2: Sequence[float], *, control: bool = False
    ) -> Fitted:
        """Train the classifiers of all sets, or of the last one only, which scores a control.

        With many classes, controls are solved roughly: they are at chance in any case, and no
        labels are as hard to fit to the optimum as shuffled ones.
        """
        part = slice(-1, None) if control else slice(None)
        problems = Problems(
            x, targets.to(x.device), self.rows.outputs, self.sets[part].to(x.device), tuple(l2)
        )
        if self.options.solver == "exact" and is_costly(problems):
            if control:
                return search(problems, tolerance=ROUGH)
            held_out = sum(len(rows) for rows in self.held_out)
            return search(
                problems,
                lambda unit, fitted: self.validation(x[unit : unit + 1], fitted),
                held_out=held_out,
            )
        if self.options.solver == "exact":
            return solve(problems)
        return solve_rmsprop(problems, self.stopping[part].to(x.device), seed=self.options.seed)

    def validation(self, x: Tensor, fitted: Fitted) -> Tensor:
        """The validation score of one unit for each L2: of the split, or the mean over folds."""
        folds = len(self.held_out) - 1 or 1
        scores = [
            self.rows.score(_logits(x, fitted, place, judged), judged)
            for place, judged in enumerate(self.held_out[:folds])
        ]
        return torch.stack(scores).mean(0)

    def test(self, x: Tensor, fitted: Fitted, measure: Measure) -> Tensor:
        """A measure of the test rows of one unit for each L2, after training on all rows."""
        return measure(_logits(x, fitted, -1, self.rows.test), self.rows.test)

    def control(self, x: Tensor, best: Tensor) -> Tensor:
        """Test scores with labels shuffled within each split, and the L2 chosen before."""
        order = np.arange(len(self.rows.gold))
        for part in (self.rows.train, self.rows.dev, self.rows.test):
            order[part] = self.random.permutation(part)
        shuffled = _Trainer(replace(self.rows, gold=self.rows.gold[order]), self.options)
        scores = x.new_zeros(len(x), dtype=torch.float64)
        for value in sorted(set(best.tolist())):
            units = torch.nonzero(best == value)[:, 0]
            penalty = (self.options.l2[value],)
            fitted = shuffled.fit(x[units], shuffled.rows.targets, penalty, control=True)
            test = partial(shuffled.test, measure=shuffled.rows.score)
            scores[units] = _each_unit(fitted, x[units], test)[:, 0]
        return scores


def _logits(x: Tensor, fitted: Fitted, place: int, rows: NDArray[np.int64]) -> Tensor:
    """Logits of some rows of a single unit by the classifiers of one set, (l2, row, class)."""
    return (
        x[0, torch.from_numpy(rows).to(x.device)] @ fitted.weight[0, place]
        + fitted.bias[0, place, :, None]
    )


def _each_unit(fitted: Fitted, x: Tensor, score: Callable[[Tensor, Fitted], Tensor]) -> Tensor:
    """A score for each unit and L2, unit by unit: the logits of many classes are large."""
    return torch.stack([score(x[unit : unit + 1], fitted.unit(unit)) for unit in range(len(x))])


def _best(validation: Tensor) -> Tensor:
    """The best L2 of each unit; the largest of equally good ones."""
    scores = torch.nan_to_num(validation, nan=-1.0)
    return scores.shape[1] - 1 - scores.flip(1).argmax(1)


# --- by RMSProp ---

ALPHA = 0.99
EPSILON = 1e-8
MEMORY = 2**28
"""Units are trained together while their logits and weights take about this many bytes."""


class Schedule(Options):
    """How :func:`solve_rmsprop` trains.

    Parameters
    ----------
    rate
        Learning rate.
    batch
        Number of rows in a minibatch.
    patience
        Number of consecutive epochs without improvement after which a problem stops.
    epochs
        Maximum number of epochs.
    seed
        Seed of the initial weights and of the order of the rows.
    """

    rate: float = 0.1
    batch: Annotated[int, Option(least=1, name="batch parameter")] = 256
    patience: Annotated[int, Option(least=1, name="patience parameter")] = 3
    epochs: Annotated[int, Option(least=1, name="epochs parameter")] = 200
    seed: int = 0


@takes(Schedule)
def solve_rmsprop(problems: Problems, validation: Tensor, schedule: Schedule) -> Fitted:
    """Train every problem as ``torch.optim.RMSprop`` would train one ``nn.Linear``.

    All units and L2 values of a training set are trained at once. A problem's result does not
    depend on which others are trained beside it. As in SentEval, every problem starts from the
    same random weights, and L2 is torch's ``weight_decay``: it is added to the gradient and applies
    to the bias too.

    Parameters
    ----------
    problems
        The logistic regressions.
    validation
        (set, row), true for the rows that decide when to stop. A problem keeps its weights from
        the first epoch with the highest accuracy on them. For soft targets, whose rows must sum to
        1, the lowest cross-entropy counts instead.

    Returns
    -------
    Fitted
        ``steps`` is the number of minibatches of the problem that took longest.

    Raises
    ------
    UserError
        If a number is below 1, or a training set has no rows to train on or to stop by.

    Examples
    --------
    >>> x = torch.tensor([[[-1.0], [-1.0], [1.0], [1.0]]])
    >>> sets = torch.ones(1, 4, dtype=torch.bool)
    >>> fitted = solve_rmsprop(Problems(x, torch.tensor([0, 0, 1, 1]), 2, sets), sets)
    >>> fitted.logits(x)[0, 0, 0].argmax(-1).tolist()
    [0, 0, 1, 1]
    """
    _check(problems, validation)
    units, _, width = problems.x.shape
    numbers = len(problems.l2) * problems.classes * (3 * schedule.batch + 6 * (width + 1))
    together = max(1, min(units, MEMORY // (numbers * problems.x.element_size())))
    weights, longest = [], 0
    for rows, judges in zip(problems.sets, validation, strict=True):
        parts = []
        for x in torch.split(problems.x, together):
            part, steps = _train(
                x, problems, rows.nonzero()[:, 0], judges.nonzero()[:, 0], schedule
            )
            parts.append(part)
            longest = max(longest, steps)
        weights.append(torch.cat(parts))
    both = torch.stack(weights, 1).mT  # (unit, set, l2, width + 1, class)
    return Fitted(both[..., :-1, :].contiguous(), both[..., -1, :].contiguous(), longest)


def _check(problems: Problems, validation: Tensor) -> None:
    if validation.shape != problems.sets.shape:
        raise UserError(
            "the validation parameter must have one row per training set, of shape "
            f"{tuple(problems.sets.shape)}; got {tuple(validation.shape)} instead"
        )
    for purpose, sets in (("train on", problems.sets), ("decide when to stop", validation)):
        empty = (~sets.any(1)).nonzero()[:, 0].tolist()
        if empty:
            raise UserError(
                f"training set {empty[0] + 1} has no rows to {purpose}",
                hint="use more examples or fewer folds",
            )


def _train(
    x: Tensor, problems: Problems, rows: Tensor, judges: Tensor, schedule: Schedule
) -> tuple[Tensor, int]:
    """The best weights on one training set, and the number of minibatches.

    Weights are (unit, l2, class, width + 1); the last column is the bias. A unit is dropped when
    all its L2 values have stopped.
    """
    random = np.random.default_rng(schedule.seed)
    weights = (
        _start(x, problems.classes, schedule.seed)
        .expand(len(x), len(problems.l2), -1, -1)
        .contiguous()
    )
    decay = torch.tensor(problems.l2, dtype=x.dtype, device=x.device)[:, None, None]
    squares, best = torch.zeros_like(weights), weights.clone()
    top = torch.full(weights.shape[:2], -torch.inf, dtype=x.dtype, device=x.device)
    idle = torch.zeros(weights.shape[:2], dtype=torch.int64, device=x.device)
    units = torch.arange(len(x), device=x.device)
    steps = 0
    for _ in range(schedule.epochs):
        order = rows[torch.from_numpy(random.permutation(len(rows))).to(rows.device)]
        for some in torch.split(order, schedule.batch):
            gradient = _gradient(weights, _pick(x, units, some), _targets(problems, some))
            gradient.add_(decay * weights)
            squares.mul_(ALPHA).addcmul_(gradient, gradient, value=1 - ALPHA)
            weights.addcdiv_(gradient, squares.sqrt().add_(EPSILON), value=-schedule.rate)
            steps += 1
        quality = _quality(weights, x, units, problems, torch.split(judges, schedule.batch))
        better = (quality > top[units]) & (idle[units] < schedule.patience)
        best[units] = torch.where(better[..., None, None], weights, best[units])
        top[units] = torch.where(better, quality, top[units])
        idle[units] = torch.where(better, 0, idle[units] + 1)
        going = (idle[units] < schedule.patience).any(1)
        if not going.any():
            break
        if not going.all():
            units, weights, squares = units[going], weights[going], squares[going]
    return best, steps


def _start(x: Tensor, classes: int, seed: int) -> Tensor:
    """The random weights and bias, (class, width + 1), of a new ``nn.Linear``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = torch.nn.Linear(x.shape[2], classes, dtype=x.dtype)
    return torch.cat([layer.weight, layer.bias[:, None]], 1).detach().to(x.device)


def _pick(x: Tensor, units: Tensor, rows: Tensor) -> Tensor:
    """(unit, row, width), in one selection: faster than by units and then by rows."""
    return (
        x.reshape(-1, x.shape[2])
        .index_select(0, (units[:, None] * x.shape[1] + rows).flatten())
        .view(len(units), len(rows), -1)
    )


def _targets(problems: Problems, rows: Tensor) -> Tensor:
    """Probabilities of the classes, (class, row)."""
    targets = problems.targets[rows]
    if targets.ndim == 1:
        targets = functional.one_hot(targets, problems.classes)
    return targets.to(problems.x.dtype).mT


def _unit_logits(weights: Tensor, x: Tensor) -> Tensor:
    """(unit, l2, class, row): a softmax over few classes is fast only if rows come last."""
    flat = weights.flatten(1, 2)
    return torch.baddbmm(flat[..., -1:], flat[..., :-1], x.mT).view(*weights.shape[:3], -1)


def _gradient(weights: Tensor, x: Tensor, targets: Tensor) -> Tensor:
    """Gradient of the mean cross-entropy over the rows with respect to weights and bias."""
    error = _unit_logits(weights, x).softmax(2).sub_(targets).div_(targets.shape[1]).flatten(1, 2)
    return torch.cat([error @ x, error.sum(2, keepdim=True)], 2).view_as(weights)


def _quality(
    weights: Tensor, x: Tensor, units: Tensor, problems: Problems, portions: Sequence[Tensor]
) -> Tensor:
    """(unit, l2): number of correct rows; for soft targets, minus the sum of cross-entropies."""
    total = weights.new_zeros(weights.shape[:2])
    for rows in portions:
        logits, targets = _unit_logits(weights, _pick(x, units, rows)), _targets(problems, rows)
        total += (
            (logits.log_softmax(2) * targets).sum((2, 3))
            if problems.targets.ndim > 1
            else (logits.argmax(2) == targets.argmax(0)).sum(2)
        )
    return total
