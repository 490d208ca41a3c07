"""Sinks (Gu et al. 2025): tokens that take attention from all others, whatever they are."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.errors import UserError
from headscope.measures.base import Measure
from headscope.measures.options import at_least
from headscope.models import LayerView

LENGTH, THRESHOLD = 64, 0.3
"""The length of texts and the threshold of Gu et al."""


@dataclass
class SinkSums:
    """Which examples are long enough, (batch, 1, 1), and the sums over rows of a layer so far."""

    short: Tensor
    heads: int = 0
    columns: Tensor | None = None
    whole: Tensor | None = None


def column_means(sums: Tensor, first: int, length: int, *, causal: bool) -> Tensor:
    """Column sums over the first ``length`` rows as means over the rows that see the key.

    Parameters
    ----------
    sums
        (…, key), for consecutive keys.
    first
        The number of the first of these keys, from 0.
    length
        How many rows were summed.
    causal
        Whether a key is seen only by itself and later rows.

    Examples
    --------
    >>> column_means(torch.tensor([4.0, 3.0]), 0, 4, causal=True)
    tensor([1., 1.])
    """
    if not causal:
        return sums / length
    return sums / (length - first - torch.arange(sums.shape[-1], device=sums.device))


class OfFirstTokens(Measure):
    """What sinks share: options, and column sums over the first rows of long enough examples."""

    in_blocks = True

    def __init__(self, length: int = LENGTH, threshold: float = THRESHOLD) -> None:
        self.length = at_least("length of texts for sinks", length, 4)
        if isinstance(threshold, bool) or not 0 < threshold < 1:
            raise UserError(
                f"the threshold of sinks must be between 0 and 1, got {threshold!r} instead",
                hint="e.g. threshold=0.3",
            )
        self.threshold = float(threshold)

    @property
    @abstractmethod
    def keys(self) -> slice:
        """Which keys are looked at."""

    def prepare(self, batch: Batch, device: Any) -> SinkSums:
        """Leave out examples that are too short."""
        short = torch.from_numpy(batch.lengths < self.length)[:, None, None]
        return SinkSums(short.to(device))

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: SinkSums) -> None:
        """Add the first rows of the maps; later ones do not count."""
        prepared.heads = block.shape[1]
        height = self.length - first_row
        if height <= 0 or block.shape[3] < self.length:
            return
        added = block[:, :, :height, self.keys].sum(2)
        prepared.columns = added if prepared.columns is None else prepared.columns + added
        if self.context.shape.sink:
            whole = block[:, :, :height, : self.length].sum((2, 3))
            prepared.whole = whole if prepared.whole is None else prepared.whole + whole

    def means(self, prepared: SinkSums) -> Tensor | None:
        """Mean attention to each key, (batch, head, key); None if all examples are too short."""
        if prepared.columns is None:
            return None
        causal, first = self.context.causal, self.keys.start or 0
        means = column_means(prepared.columns, first, self.length, causal=causal)
        prepared.columns = None
        return means

    def none(self, prepared: SinkSums) -> Tensor:
        """Values of which none is defined."""
        shape = (len(prepared.short), prepared.heads, self.width)
        return torch.full(shape, float("nan"), device=prepared.short.device)


class Sink(OfFirstTokens):
    """Whether the first token is a sink of attention.

    ``first`` is the mean attention to the first token over the first ``length`` tokens of a text;
    ``rate`` the share of texts in which that is over ``threshold``. Longer texts are cut, and
    shorter ones are left out: the number of texts says how many took part. ``learned`` is what a
    learned sink takes (GPT-OSS), where a row of attention sums to less than 1.

    Parameters
    ----------
    length
        How many tokens of a text count.
    threshold
        From which mean attention on a token is a sink.

    See Also
    --------
    SinkPlaces : the same for other tokens.
    headscope.stats.sink_table : both, one row per head.

    References
    ----------
    Gu et al. 2025, "When Attention Sink Emerges in Language Models", section 2.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat that sleeps.", "A cat sleeps on the mat all day."]
    >>> atlas = hs.survey("demo", texts, measures=hs.Sink(length=8))
    >>> float(atlas.mean("sink").sel(layer=1, head=3, sink="rate"))
    0.0
    """

    name = "sink"
    title = "Attention sink on the first token"
    unit = "share of attention or of texts"
    source = "Gu et al. 2025, §2"
    dims = {"sink": ("first", "rate", "learned")}

    @property
    def keys(self) -> slice:
        """The first token."""
        return slice(0, 1)

    def attributes(self) -> dict[str, str]:
        """Also what the values are called."""
        titles = {
            "first": f"attention to the first of {self.length} tokens",
            "rate": f"sink rate: texts with more than {self.threshold:g} on the first token",
            "learned": "attention to the learned sink",
        }
        return super().attributes() | {"titles": json.dumps(titles)}

    def end(self, view: LayerView, prepared: SinkSums) -> Tensor:
        """(batch, head, 3)."""
        means = self.means(prepared)
        if means is None:
            return self.none(prepared)
        over = (means > self.threshold).to(means.dtype)
        learned = torch.full_like(means, float("nan"))
        if prepared.whole is not None:
            learned, prepared.whole = 1 - prepared.whole[..., None] / self.length, None
        found = torch.cat([means, over, learned], -1)
        return found.masked_fill(prepared.short, float("nan"))


class SinkPlaces(OfFirstTokens):
    """Which other tokens are sinks: the sink rate of each token up to half of ``length``.

    Later tokens are not looked at, because few rows see them: at the end, every head that attends
    to the token itself would seem to have a sink.

    Parameters
    ----------
    length, threshold
        As in :class:`Sink`.

    References
    ----------
    Gu et al. 2025, "When Attention Sink Emerges in Language Models", section 2.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat that sleeps.", "A cat sleeps on the mat all day."]
    >>> atlas = hs.survey("demo", texts, measures=hs.SinkPlaces(length=8))
    >>> atlas.mean("sink_places")["token"].values.tolist()
    ['2', '3', '4']
    """

    name = "sink_places"
    title = "Sink rate by token"
    unit = "share of texts"
    source = "Gu et al. 2025, §2"
    listed = False

    def __init__(self, length: int = LENGTH, threshold: float = THRESHOLD) -> None:
        super().__init__(length, threshold)
        self.dims = {"token": tuple(str(place) for place in range(2, length // 2 + 1))}

    @property
    def keys(self) -> slice:
        """All keys of the first half but the first."""
        return slice(1, self.length // 2)

    def end(self, view: LayerView, prepared: SinkSums) -> Tensor:
        """(batch, head, token)."""
        means = self.means(prepared)
        if means is None:
            return self.none(prepared)
        over = (means > self.threshold).to(means.dtype)
        prepared.whole = None
        return over.masked_fill(prepared.short, float("nan"))
