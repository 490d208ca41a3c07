"""How long an ablation will take, measured before it begins."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from headscope.encode import Batch
from headscope.models import Shape
from headscope.progress import clock
from headscope.runs.ablate.plan import NOTHING, Disabled
from headscope.runs.ablate.work import STACKED_TOKENS, AblationWork

IMPORTANCE = 3.0
"""Gradient importance takes about as long as so many full passes."""
WARM = 1.0
"""A first pass that takes so many seconds is timed; a shorter one only warms up."""


@dataclass(frozen=True)
class PassTimes:
    """The seconds that passes over one batch take.

    Parameters
    ----------
    full
        The pass with all heads.
    lowest, highest
        A pass with a head of the first layer disabled, and one with a head of the last.
    tokens
        The tokens of the batch, padding included.
    """

    full: float
    lowest: float
    highest: float
    tokens: int

    def disabled(self, off: Disabled, shape: Shape) -> float:
        """The seconds of a pass: in proportion to the layers that are computed.

        Examples
        --------
        >>> from headscope.heads import Head
        >>> times = PassTimes(12.0, 12.0, 2.0, 100)
        >>> times.disabled(Disabled("head", "2-1", (Head(1, 0),)), Shape(3, 2, 8))
        7.0
        """
        if not off.heads or shape.layers == 1:
            return self.lowest if off.heads else 0.0
        above = shape.layers - 1 - _place(off, shape)
        return self.highest + (self.lowest - self.highest) * above / (shape.layers - 1)

    def sweep(self, passes: Sequence[Disabled], shape: Shape, *, importance: bool = False) -> float:
        """The seconds of all passes over the batch, the first with all heads."""
        extra = IMPORTANCE * self.full if importance else 0.0
        return self.full + sum(self.disabled(off, shape) for off in passes) + extra


def time_passes(
    work: AblationWork, batch: Batch, passes: Sequence[Disabled], *, threads: int | None = None
) -> PassTimes:
    """Measure passes over one batch.

    Parameters
    ----------
    work
        What is done to a batch.
    batch
        The batch.
    passes
        What is disabled in each pass of the ablation.
    threads
        The threads of a worker; None for those of this process.
    """
    shape = work.model.shape(work.stack)
    most = max(STACKED_TOKENS // batch.ids.size, 1)
    places = sorted({_place(off, shape) for off in passes if off.heads})
    with _threads(threads):
        full = _seconds(work, batch, [NOTHING])
        if full < WARM:
            full = _seconds(work, batch, [NOTHING])
        found: list[float] = []
        for place in (places[0], places[-1]):
            group = [off for off in passes if off.heads and _place(off, shape) == place][:most]
            if len(group) > 1 and not found:
                work(batch, [NOTHING, *group])  # the first of these is checked against single ones
            took = _seconds(work, batch, [NOTHING, *group]) - full
            found.append(max(took, 0.0) / len(group))
    lowest, highest = found
    if len(places) == 1:  # heads of one layer: all passes take the same time
        lowest = highest
    return PassTimes(full, lowest, highest, int(batch.ids.size))


def tokens_of_example(window: Sequence[Batch]) -> float:
    """The mean number of tokens of an example in some batches, padding included."""
    return sum(batch.ids.size for batch in window) / sum(map(len, window))


def describe_time(seconds: float, *, passes: int, examples: int, workers: int = 1) -> str:
    """The estimate as a sentence.

    Examples
    --------
    >>> describe_time(7400.0, passes=157, examples=408, workers=2)
    '157 passes over 408 examples will take about 1:01:40 with 2 workers'
    """
    share = clock(max(seconds / workers, 1.0))
    by = f" with {workers} workers" if workers > 1 else ""
    return f"{passes} passes over {examples} examples will take about {share}{by}"


def _place(off: Disabled, shape: Shape) -> int:
    """The place of the first layer in which heads are disabled."""
    return min(shape.place(head.layer) for head in off.heads)


def _seconds(work: AblationWork, batch: Batch, passes: Sequence[Disabled]) -> float:
    began = time.perf_counter()
    work(batch, passes)
    return time.perf_counter() - began


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
