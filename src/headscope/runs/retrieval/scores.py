"""Retrieval scores, and the heads that they choose for a check.

Heads must not be judged on the needles that chose them. Needles are divided into two halves by
their number: what is disabled for the needles of one half was chosen on the other half. Random
heads come from the layers of the top ones, because layers differ in how much depends on them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.heads import Head, all_heads
from headscope.models import Shape
from headscope.results.moments import Range
from headscope.runs.ablate.groups import matched_heads
from headscope.stats.inference.documents import interval, standard_error

MASKED = (5, 10)
HALVES = 2
SHARE = 4
"""Without a number of heads from the user, at most one head of so many is disabled."""
Array = NDArray[Any]


def retrieval_scores(
    top_keys: NDArray[np.int64],
    written: NDArray[np.int64],
    prompt: NDArray[np.int64],
    span: tuple[int, int],
) -> NDArray[np.float32]:
    """The share of the answer's tokens that each head copied (Wu et al. 2024, section 2).

    A head copies a token of the answer if, in the step in which the model writes that very token,
    the head attends to it more than to any other token. Each token of the answer counts once.

    Parameters
    ----------
    top_keys
        The place of the token with the most attention, (step, layer, head).
    written
        The token that each step wrote, (step,).
    prompt
        The tokens that were read, (token,).
    span
        The first token of the answer in the prompt, and the one after its last.

    Returns
    -------
    ndarray of float32, (layer, head)
        From 0 to 1.

    Examples
    --------
    One head looks at places 2 and 3 while tokens 7 and 8 are written; only place 2 holds what is
    written then.

    >>> top_keys = np.array([[[2]], [[3]]])
    >>> prompt = np.array([5, 6, 7, 9])
    >>> retrieval_scores(top_keys, np.array([7, 8]), prompt, span=(2, 4)).tolist()
    [[0.5]]
    """
    start, stop = span
    copied = np.zeros((*top_keys.shape[1:], stop - start), np.bool_)
    for places, token in zip(top_keys, written, strict=True):
        inside = (places >= start) & (places < stop)
        same = prompt[np.where(inside, places, start)] == token
        layers, heads = np.nonzero(inside & same)
        copied[layers, heads, places[layers, heads] - start] = True
    return np.asarray(copied.mean(-1), np.float32)


def unigram_recall(answer: str, written: str) -> float:
    """The share of the answer's words that were written (ROUGE-1 recall, without stemming).

    Parameters
    ----------
    answer
        The right answer.
    written
        What the model wrote.

    Examples
    --------
    >>> unigram_recall("a jar of honey", "It is a jar of jam.")
    0.75
    """
    wanted, given = (Counter(re.findall(r"\w+", text.lower())) for text in (answer, written))
    return (wanted & given).total() / max(wanted.total(), 1)


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
        heads are then as small. Random heads are drawn from the layers of the top ones; none of
        them is among the top heads of the largest number.
    """
    others = np.array([half_of(int(one)) != half for one in needles], np.bool_) & recovered
    if not others.any():
        return None
    mean = scores[others].mean(0, dtype=np.float64).ravel()
    order = np.argsort(-mean, kind="stable")[: int((mean > 0).sum())]
    if not len(order):
        return None
    names = all_heads(shape.numbers, shape.heads)
    ranked = [names[place] for place in order]
    others_left = [head for head in names if head not in set(ranked[: max(counts)])]
    chosen: list[tuple[Head, ...]] = []
    for variant in variants_of(counts, draws):
        heads = tuple(ranked[: variant.count])
        if variant.draw:
            generator = np.random.default_rng([seed, half, variant.count, variant.draw])
            heads = matched_heads(heads, others_left, generator)
        chosen.append(heads)
    return chosen


def layer_note(
    halves: Sequence[Sequence[tuple[Head, ...]]], variants: Sequence[Variant]
) -> str | None:
    """What to say if layers had too few other heads to match the top ones, or None.

    Parameters
    ----------
    halves
        What :func:`choose_heads` returned for each half of the needles.
    variants
        What stands for each of these sets of heads.

    Examples
    --------
    >>> chosen = [(), (Head(0, 0), Head(0, 1)), (Head(0, 2), Head(1, 1))]
    >>> layer_note([chosen], variants_of([2], draws=1))
    'layer 1 has too few other heads: 1 of 2 random heads came from other layers'
    """
    missing: Counter[int] = Counter()
    drawn = 0
    for chosen in halves:
        top: Counter[int] = Counter()
        for heads, variant in zip(chosen, variants, strict=True):
            layers = Counter(head.layer for head in heads)
            if variant.draw:
                drawn += len(heads)
                missing += top - layers
            else:
                top = layers
    if not missing:
        return None
    names = ", ".join(str(layer + 1) for layer in sorted(missing))
    which = f"layer {names} has" if len(missing) == 1 else f"layers {names} have"
    return (
        f"{which} too few other heads: {missing.total()} of {drawn} random heads came from other "
        "layers"
    )


def over_needles(
    cells: xr.DataArray, needles: Array, values: Range = "signed"
) -> tuple[xr.DataArray, ...]:
    """The mean over prompts with its 95 % interval and standard error, by jackknife over needles.

    Prompts with the same needle depend on each other, so one needle after the other is left out.

    Parameters
    ----------
    cells
        Values, one of the dimensions of which is prompt.
    needles
        The needle of each prompt.
    values
        Where the mean may lie: "share" (0 to 1), "positive" or "signed".

    Returns
    -------
    tuple of xarray.DataArray
        Mean, low, high and standard error. All are NaN without prompts; all but the mean are NaN
        with too few needles.

    Examples
    --------
    >>> cells = xr.DataArray([0.2, 0.4, 0.9], dims="prompt")
    >>> mean, low, high, error = over_needles(cells, np.array([0, 0, 1]))
    >>> round(float(mean), 3), round(float(error), 3)
    (0.5, 0.447)
    """
    if not cells.sizes["prompt"]:
        nothing = cells.sum("prompt") * np.nan
        return nothing, nothing, nothing, nothing
    known = np.unique(needles)
    parts = [cells[{"prompt": np.flatnonzero(needles == one)}].sum("prompt") for one in known]
    sums = xr.concat(parts, dim="bucket")
    counts = xr.DataArray([int((needles == one).sum()) for one in known], dims="bucket")
    return cells.mean("prompt"), *interval(sums, counts, values), standard_error(sums, counts)
