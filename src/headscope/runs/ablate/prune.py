"""The pruning curve: a model's score with fewer and fewer heads.

Heads are removed in three orders: by gradient importance, computed once; greedily, where the loss
decides at each step; and at random. Every second example chooses the heads, and the curve is that
of the others: the examples that chose the heads would flatter them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.encode import Batch, Encoded
from headscope.errors import UserError
from headscope.files import uninterrupted
from headscope.heads import Head, head_names, parse_heads
from headscope.models import Model
from headscope.runs.ablate import AblateOptions
from headscope.runs.ablate.objectives import Objective
from headscope.runs.ablate.work import (
    NOTHING,
    BatchOutputs,
    Disabled,
    OutputParts,
    disabled_set,
    head_importance,
    join_outputs,
    outputs_dataset,
)
from headscope.runs.workers import Engine, Task

SOURCE = "Michel et al. 2019, §4.2"
TITLE = "Loss with fewer and fewer heads"


class Pruning:
    """The steps of a pruning curve: a greedy search, then batches of the other examples.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    items
        All encoded examples.
    options
        With the stack whose heads are removed.

    Raises
    ------
    UserError
        If there are fewer than two examples.

    References
    ----------
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.2.
    """

    def __init__(
        self, model: Model, objective: Objective, items: Sequence[Encoded], options: AblateOptions
    ) -> None:
        if len(items) < 2:
            raise UserError(
                "a pruning curve needs two examples or more: one half chooses the heads, the other "
                "is scored",
                hint="give more examples",
            )
        self.model, self.objective, self.options = model, objective, options
        self.shape = model.shape(options.stack)
        self.heads = self.shape.every_head
        self.choosing, self.scored = (
            list(model.batches(items[half::2], size=options.batch_size)) for half in (0, 1)
        )
        self.chosen_on = len(items) - len(items) // 2
        every, points = len(self.heads), options.prune_points
        counts = {round(every * step / points) for step in range(1, points)}
        self.counts = sorted(counts - {0, every})
        candidates, budget = options.prune_candidates, options.prune_budget
        self.trials = every * (1 + candidates) if budget is None else budget
        self.search = GreedySearch(
            self.heads, self._mean_losses, candidates=candidates, budget=self.trials
        )
        self.parts = OutputParts()
        self.workers: Engine | None = None
        """Those who run batches with heads disabled: set before the first step."""

    @property
    def steps(self) -> int:
        """The number of steps, at most one per head for the search, and one per scored batch."""
        return len(self.heads) + len(self.scored)

    @property
    def total(self) -> int:
        """The work in all steps: passes times examples."""
        scored = sum(len(batch) for batch in self.scored)
        return self.trials * self.chosen_on + (3 * len(self.counts) + 1) * scored

    @property
    def done(self) -> int:
        """The work that is done, in the units of :attr:`total`."""
        over = self.search.finished or self.parts.examples
        trials = self.trials if over else self.search.trials
        return trials * self.chosen_on + (3 * len(self.counts) + 1) * self.parts.examples

    def do(self, step: int) -> None:
        """Do a step. Doing one again changes nothing."""
        if step >= len(self.heads):
            self.parts.add(step, self._outputs([self.scored_batch(step)], self.passes))
        elif not self.search.finished:
            self.search.step()

    def scored_batch(self, step: int) -> Batch:
        """The batch that is scored in a step after the search."""
        return self.scored[step - len(self.heads)]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a checkpoint must hold."""
        search, (parts, arrays) = self.search, self.parts.state()
        kept = {"removed": head_names(search.removed), "trials": search.trials}
        return {"search": kept | {"costs": list(search.costs.values())}, "parts": parts}, arrays

    def restore(self, state: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what a checkpoint held."""
        kept, search = state["search"], self.search
        search.removed = parse_heads(kept["removed"]) if kept["removed"] else ()
        search.costs = dict(zip(self.heads, kept["costs"], strict=False))
        search.trials = kept["trials"]
        self.parts.restore(state["parts"], arrays)

    def dataset(self) -> xr.Dataset:
        """The curves: outputs and losses with fewer and fewer heads, in three orders."""
        outputs = self.parts.joined()
        assert outputs is not None  # there are two examples or more
        about, way = self.objective.about(), self.options.way
        dataset = outputs_dataset(self.passes, outputs, about, way, title=TITLE, source=SOURCE)
        orders = {f"order_{kind}": head_names(order) for kind, order in self.orders.items()}
        left = len(self.heads) - dataset["off"]
        return dataset.assign(left=left).assign_attrs(orders, chosen_on=self.chosen_on)

    @cached_property
    def orders(self) -> dict[str, tuple[Head, ...]]:
        """The order in which heads are removed: by importance, greedily, at random."""
        values = np.concatenate(
            [
                head_importance(
                    self.model, self.objective, self.objective.ask(batch), self.options.stack
                )
                for batch in self.choosing
            ]
        ).mean(0)
        shuffled = np.random.default_rng(self.options.seed).permutation(len(self.heads))
        return {
            "importance": tuple(
                self.heads[place] for place in np.argsort(values, axis=None, kind="stable")
            ),
            "greedy": self.search.removed,
            "random": tuple(self.heads[index] for index in shuffled),
        }

    @cached_property
    def passes(self) -> list[Disabled]:
        """What is disabled at each point of each curve, after a pass with all heads."""
        passes = [NOTHING]
        for kind, order in self.orders.items():
            for count in self.counts:
                if count <= len(order):
                    name = f"{kind}, {len(self.heads) - count} left"
                    passes.append(disabled_set(self.shape, order[:count], kind, name))
        return passes

    def _outputs(
        self, chosen: Sequence[Batch], passes: Sequence[Disabled], base: Disabled = NOTHING
    ) -> BatchOutputs:
        """What the passes give for some batches, in their order."""
        how = {"pruning": True}
        tasks = (Task(place, (batch, passes, base), how) for place, batch in enumerate(chosen))
        assert self.workers is not None
        done = dict(self.workers.map(tasks))
        return join_outputs(done[place][0] for place in range(len(chosen)))

    def _mean_losses(self, base: Sequence[Head], tried: Sequence[Head]) -> list[float]:
        """The mean loss without ``base``, then without each tried head as well."""
        start = disabled_set(self.shape, base) if base else NOTHING
        passes = [start, *(disabled_set(self.shape, [*base, head]) for head in tried)]
        losses = self._outputs(self.choosing, passes, start).losses.astype(np.float64)
        return [float(value) for value in np.nanmean(losses, 1)]


Losses = Callable[[Sequence[Head], Sequence[Head]], list[float]]
"""The loss with some heads removed, then with each of some others removed as well."""


class GreedySearch:
    """Removes the head that costs least, again and again, until one is left.

    What a head's removal costs is remembered from when it was last tried; only the heads that
    seemed cheapest are tried again.

    Parameters
    ----------
    heads
        All heads.
    losses
        Computes the loss without some heads.
    candidates
        How many heads are tried at each step: those whose removal cost least when last tried.
    budget
        After how many trials the search ends.

    Attributes
    ----------
    removed
        The removed heads, in their order.
    costs
        What removing each head added to the loss when it was last tried.
    trials
        How many trials were made.

    Examples
    --------
    >>> from headscope.heads import head_names
    >>> costs = {Head(0, 0): 3.0, Head(0, 1): 1.0, Head(0, 2): 2.0}
    >>> def losses(base, tried):
    ...     start = sum(costs[head] for head in base)
    ...     return [start, *(start + costs[head] for head in tried)]
    >>> search = GreedySearch(list(costs), losses, candidates=2, budget=99)
    >>> while not search.finished:
    ...     search.step()
    >>> head_names(search.removed)
    '1-2,1-3'
    """

    def __init__(
        self, heads: Sequence[Head], losses: Losses, *, candidates: int, budget: int
    ) -> None:
        self.heads, self.losses = tuple(heads), losses
        self.candidates, self.budget = candidates, budget
        self.removed: tuple[Head, ...] = ()
        self.costs: dict[Head, float] = {}
        self.trials = 0

    @property
    def finished(self) -> bool:
        """Whether one head is left, or the budget does not suffice for another step."""
        left = len(self.heads) - len(self.removed)
        over = left <= 1 or self.trials + min(self.candidates, left) > self.budget
        return bool(self.costs) and over

    def step(self) -> None:
        """Try each head alone at first; afterwards remove one head."""
        first = not self.costs
        tried = self.heads if first else self._cheapest()
        start, *losses = self.losses(self.removed, tried)
        costs = {head: loss - start for head, loss in zip(tried, losses, strict=True)}
        with uninterrupted():  # a checkpoint holds all of a step, or nothing
            self.costs = self.costs | costs
            self.trials += len(tried)
            self.removed += () if first else (min(tried, key=costs.__getitem__),)

    def _cheapest(self) -> Sequence[Head]:
        """The heads to try again, of those that are left."""
        left = [head for head in self.heads if head not in self.removed]
        return sorted(left, key=self.costs.__getitem__)[: self.candidates]
