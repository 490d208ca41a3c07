"""The greedy order of a pruning curve: at each step the head goes whose removal costs least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headscope.heads import Head

Losses = Callable[[Sequence[Head], Sequence[Head]], list[float]]
"""The loss with some heads removed, then with each of some others removed as well."""


@dataclass(frozen=True)
class GreedyState:
    """How far a greedy search is.

    Parameters
    ----------
    removed
        The removed heads, in their order.
    costs
        What removing each head added to the loss when it was last tried.
    trials
        How many trials were made.
    """

    removed: tuple[Head, ...] = ()
    costs: tuple[float, ...] = ()
    trials: int = 0


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
    candidates, budget
        See :class:`PruneSettings`.

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
    >>> head_names(search.state.removed)
    '1-2,1-3'
    """

    def __init__(
        self, heads: Sequence[Head], losses: Losses, *, candidates: int, budget: int
    ) -> None:
        self.heads, self.losses = tuple(heads), losses
        self.candidates, self.budget = candidates, budget
        self.state = GreedyState()

    @property
    def finished(self) -> bool:
        """Whether one head is left, or the budget does not suffice for another step."""
        state = self.state
        if not state.costs:
            return False
        left = len(self.heads) - len(state.removed)
        return left <= 1 or state.trials + min(self.candidates, left) > self.budget

    def step(self) -> None:
        """Try each head alone at first; afterwards remove one head."""
        state = self.state
        if not state.costs:
            start, *alone = self.losses((), self.heads)
            costs = tuple(loss - start for loss in alone)
            self.state = GreedyState((), costs, len(self.heads))
            return
        costs_by_head = dict(zip(self.heads, state.costs, strict=True))
        left = [head for head in self.heads if head not in state.removed]
        tried = sorted(left, key=lambda head: costs_by_head[head])[: self.candidates]
        start, *found = self.losses(state.removed, tried)
        for head, loss in zip(tried, found, strict=True):
            costs_by_head[head] = loss - start
        cheapest = min(tried, key=lambda head: costs_by_head[head])
        self.state = GreedyState(
            (*state.removed, cheapest),
            tuple(costs_by_head[head] for head in self.heads),
            state.trials + len(tried),
        )
