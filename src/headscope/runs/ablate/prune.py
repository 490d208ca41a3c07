"""The pruning curve: how a model does with fewer and fewer heads, taken away by importance once, or greedily with the rest scored again.

Heads are chosen on every second example, and the curve is of the others: a curve on the examples that chose the heads would flatter them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.corpus import Corpus
from headscope.encode import Batch, batches
from headscope.errors import UserError
from headscope.heads import Head, all_heads, head_names
from headscope.models import Model
from headscope.runs.ablate.importance import head_importance
from headscope.runs.ablate.objective import Objective
from headscope.runs.ablate.plan import BASELINE, Run, set_run
from headscope.runs.ablate.sums import Part, run_sums, together
from headscope.runs.ablate.sweep import Sweep, head_means
from headscope.runs.settings import make_settings

CANDIDATES = 3
POINTS = 20


def prune(
    model: Model,
    corpus: Corpus,
    objective: Objective,
    *,
    way: str = "uniform",
    candidates: int = CANDIDATES,
    budget: int | None = None,
    points: int = POINTS,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> xr.Dataset:
    """Outputs and losses with heads taken away step by step, in three orders: importance, greedy and random.

    Greedy takes away, of the ``candidates`` heads whose loss looked least when last tried, the one without which the loss is least now; it stops when
    ``budget`` trials (passes over the choosing half; by default enough for all heads) are used up. The curves are read at ``points`` - 1 numbers of heads left.
    """
    chosen = make_settings(**settings)
    stack = chosen.stack or model.main_stack()
    shape = model.shape(stack)
    encoder = model.encoder(
        max_length=chosen.max_length, long=chosen.long, stack="", token_types=chosen.token_types
    )
    items = list(encoder.encode(corpus.first(chosen.limit)))
    if len(items) < 2:
        raise UserError(
            "a pruning curve needs two examples or more: one half chooses, the other tells",
            hint="give more examples",
        )
    choosing, telling = (
        list(batches(items[half::2], size=chosen.batch_size, pad=model.pad)) for half in (0, 1)
    )
    heads = all_heads(shape.layers, shape.heads)
    limit = budget if budget is not None else len(heads) * (1 + candidates)
    counts = sorted(
        {round(len(heads) * step / points) for step in range(1, points)} - {0, len(heads)}
    )
    total = limit + 3 * len(counts) * max(1, len(telling)) // max(1, len(choosing))
    tell = progress or (lambda _done, _total: None)

    sweep = Sweep(
        model, objective, stack, way, head_means(model, choosing, stack) if way == "mean" else {}
    )
    values = np.concatenate(
        [head_importance(model, objective, objective.ask(batch), stack) for batch in choosing]
    ).mean(0)
    orders = {
        "importance": sorted(heads, key=lambda place: float(values[place])),
        "greedy": greedy(
            heads,
            lambda base, tried: mean_losses(sweep, objective, choosing, shape, base, tried),
            candidates,
            limit,
            lambda done: tell(done, total),
        ),
        "random": [
            heads[index] for index in np.random.default_rng(chosen.seed).permutation(len(heads))
        ],
    }
    runs = [Run("baseline", BASELINE, ())]
    for kind, order in orders.items():
        runs += [
            Run(kind, f"{kind}, {len(heads) - count} left", set_run(shape, order[:count]).heads)
            for count in counts
            if count <= len(order)
        ]
    parts = []
    for done, batch in enumerate(telling):
        tell(limit + (total - limit) * done // len(telling), total)
        question = objective.ask(batch)
        outputs, losses = sweep.outputs(question, runs)
        keep = np.isfinite(outputs[0]).all(1)
        ids = [item.example.id for item, kept in zip(batch.items, keep, strict=True) if kept]
        parts.append(
            Part(
                outputs[:, keep],
                losses[:, keep],
                question.gold.double().cpu().numpy()[keep],
                np.zeros((len(ids), 0, 0), np.float32),
                ids,
            )
        )
    tell(total, total)
    named = {f"order_{kind}": head_names(order) for kind, order in orders.items()}
    dataset = run_sums(
        runs, together(parts), objective.about(), way, title="Loss with fewer and fewer heads"
    )
    return dataset.assign(left=len(heads) - dataset["off"]).assign_attrs(
        named, source="Michel et al. 2019, §4.2", chosen_on=len(items) - len(items) // 2
    )


def greedy(
    heads: Sequence[Head],
    losses: Callable[[list[Head], list[Head]], list[float]],
    candidates: int,
    budget: int,
    tell: Callable[[int], None],
) -> list[Head]:
    """The order in which heads go, until one is left or the budget of trials is used up.

    ``losses(base, tried)`` gives the loss with ``base`` off, then with ``base`` and each tried head off. What a head's removal costs is remembered
    from when it was last tried; only those that seemed cheapest are tried again.

    >>> cost = {(0, 0): 3.0, (0, 1): 1.0, (0, 2): 2.0}
    >>> greedy(list(cost), lambda base, tried: [sum(cost[one] for one in [*base, *more]) for more in ([], *([one] for one in tried))], 2, 99, lambda done: None)
    [(0, 1), (0, 2)]
    """
    gone: list[Head] = []
    start, *alone = losses(gone, list(heads))
    costs = {head: loss - start for head, loss in zip(heads, alone, strict=True)}
    used = len(heads)
    tell(used)
    while len(gone) < len(heads) - 1:
        tried = sorted((head for head in heads if head not in gone), key=lambda head: costs[head])[
            :candidates
        ]
        if used + len(tried) > budget:
            break
        here, *found = losses(gone, tried)
        costs |= {head: loss - here for head, loss in zip(tried, found, strict=True)}
        gone.append(min(tried, key=lambda head: costs[head]))
        used += len(tried)
        tell(used)
    return gone


def mean_losses(
    sweep: Sweep,
    objective: Objective,
    stream: Sequence[Batch],
    shape: Any,
    base: list[Head],
    tried: list[Head],
) -> list[float]:
    """The mean loss over some batches with ``base`` off, then with each tried head off as well."""
    start = set_run(shape, base) if base else Run("baseline", BASELINE, ())
    runs = [start, *(set_run(shape, [*base, head]) for head in tried)]
    found = np.concatenate(
        [sweep.outputs(objective.ask(batch), runs, base=start)[1] for batch in stream], 1
    )
    return [float(value) for value in np.nanmean(found.astype(np.float64), 1)]
