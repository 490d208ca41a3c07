"""Probe heads in a task with many classes: the search for L2 against solving all L2 values.

The size is reduced: with 1000 classes and 10,000 rows, solving all values takes minutes. The bar
guards against regressions; the goal for heads of that full size is 10. Times are processor times.
"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from benchmarks.timing import Row, best_times, row
from headscope.runs.probe import L2
from headscope.runs.probe.linear import Fitted, Problems, solve
from headscope.runs.probe.many_classes import search

HEADS, WIDTH, CLASSES, TRAIN, HELD = 6, 32, 200, 2000, 400
SEED = 0


def make() -> tuple[Problems, Tensor]:
    """Make heads that tell noisy classes apart, later ones better; and the held-out rows."""
    random = torch.Generator().manual_seed(SEED)
    labels = torch.randint(CLASSES, (TRAIN + HELD,), generator=random)
    places = torch.randn(CLASSES, WIDTH, generator=random)[labels]
    strength = torch.linspace(0.3, 0.8, HEADS)[:, None, None]
    x = torch.randn(HEADS, TRAIN + HELD, WIDTH, generator=random) + strength * places
    x = (x - x[:, :TRAIN].mean(1, keepdim=True)) / x[:, :TRAIN].std(1, keepdim=True)
    row = torch.arange(TRAIN + HELD)
    return Problems(x, labels, CLASSES, (row < TRAIN)[None], L2), row[TRAIN:]


def scores(problems: Problems, held: Tensor, unit: int, fitted: Fitted) -> Tensor:
    """Accuracy of a unit's classifiers on the held-out rows, one for each L2 value."""
    logits = problems.x[unit, held] @ fitted.weight[0, 0] + fitted.bias[0, 0, :, None]
    return (logits.argmax(-1) == problems.targets[held]).double().mean(-1)


def choice(problems: Problems, held: Tensor, fitted: Fitted) -> list[float]:
    """The L2 value of each head that is best on the held-out rows; the largest of equal ones."""
    chosen = []
    for unit in range(HEADS):
        part = slice(unit, unit + 1)
        one = Fitted(fitted.weight[part], fitted.bias[part], fitted.steps)
        found = scores(problems, held, unit, one).tolist()
        chosen.append(max(zip(found, L2, strict=True))[1])
    return chosen


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
    problems, held = make()

    def searched() -> Fitted:
        return search(
            problems,
            lambda unit, fitted: scores(problems, held, unit, fitted),
            held_out=HELD,
        )

    all_values, some = best_times(
        lambda: solve(problems), searched, rounds=2, clock=time.process_time
    )
    base, ours = choice(problems, held, solve(problems)), choice(problems, held, searched())
    same = sum(one == two for one, two in zip(base, ours, strict=True))
    name = f"{HEADS} heads, {CLASSES} classes, {TRAIN} rows, {len(L2)} L2 values"
    seconds = {"base": f"{all_values:.2f} s", "ours": f"{some:.2f} s"}
    searching = f"{name}: all values solved ÷ search for the best"
    choosing = f"{name}: heads with the same choice of L2"
    return [
        row(searching, all_values / some, "≥ 5", digits=1, **seconds),
        row(choosing, same / HEADS, "≥ 1", base=str(HEADS), ours=str(same), digits=2),
    ]
