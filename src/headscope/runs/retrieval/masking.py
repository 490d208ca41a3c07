"""The check: are answers lost without the retrieval heads, more than without other heads?

Heads must not be judged on the needles that chose them. Needles are divided into two halves by
their number: what is disabled for the needles of one half was chosen on the other half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.models import Shape
from headscope.runs.retrieval.settings import MASKED

HALVES = 2
SHARE = 4
"""Without a number of heads from the user, at most one head of so many is disabled."""


@dataclass(frozen=True)
class Variant:
    """What is disabled in one answer: nothing, the ``count`` top heads, or a draw of other heads.

    ``draw`` counts from 1; 0 stands for the top heads.
    """

    count: int = 0
    draw: int = 0

    @property
    def group(self) -> str:
        """What the results call it, all draws together."""
        if not self.count:
            return "none"
        return f"random {self.count}" if self.draw else f"top {self.count}"


def half_of(needle: int) -> int:
    """The half that a needle belongs to, 0 or 1."""
    return needle % HALVES


def variants_of(counts: Sequence[int], draws: int) -> list[Variant]:
    """All that is disabled in turn for one prompt, beginning with nothing.

    >>> [variant.group for variant in variants_of([5], draws=2)]
    ['none', 'top 5', 'random 5', 'random 5']
    """
    return [Variant(), *(Variant(count, draw) for count in counts for draw in range(draws + 1))]


def head_counts(given: Sequence[int] | None, heads: int) -> tuple[int, ...]:
    """How many heads are disabled at a time, for a model with so many heads.

    Random heads are drawn from those that are not among the top ones, so twice the largest number
    must not be more than there are.

    >>> head_counts(None, 270), head_counts(None, 24), head_counts(None, 8)
    ((5, 10), (5,), (1,))
    """
    if given is None:
        return tuple(one for one in MASKED if one <= heads // SHARE) or (1,)
    return tuple(one for one in given if 2 * one <= heads)


def choose_heads(
    scores: NDArray[np.float32],
    needles: NDArray[np.int64],
    recovered: NDArray[np.bool_],
    half: int,
    *,
    shape: Shape,
    counts: Sequence[int],
    draws: int,
    seed: int,
) -> list[tuple[Head, ...]] | None:
    """The heads to disable for the needles of one half, in the order of :func:`variants_of`.

    Parameters
    ----------
    scores
        Retrieval scores, (prompt, layer, head).
    needles, recovered
        The needle of each prompt, and whether its answer was recovered, (prompt,).
    half
        The half that is answered. Its own needles do not choose heads.
    shape
        The shape of the stack.
    counts, draws
        How many heads, and how many draws of random heads.
    seed
        Of the draws.

    Returns
    -------
    list of tuple of Head, or None
        None if no needle of the other half was recovered, or no head scored anything. Heads that
        score 0 are never among the top ones, so there may be fewer than asked for; draws of random
        heads are then as small.
    """
    others = np.array([half_of(int(one)) != half for one in needles], np.bool_) & recovered
    if not others.any():
        return None
    mean = scores[others].mean(0, dtype=np.float64).ravel()
    order = np.argsort(-mean, kind="stable")[: int((mean > 0).sum())]
    if not len(order):
        return None
    names = [Head(layer, head) for layer in shape.numbers for head in range(shape.heads)]
    rest = np.setdiff1d(np.arange(mean.size), order[: max(counts)])
    found: list[tuple[Head, ...]] = []
    for variant in variants_of(counts, draws):
        places = order[: variant.count]
        if variant.draw:
            generator = np.random.default_rng([seed, half, variant.count, variant.draw])
            places = generator.choice(rest, len(places), replace=False)
        found.append(tuple(names[place] for place in places))
    return found
