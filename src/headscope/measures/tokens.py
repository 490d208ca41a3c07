"""What attention comes back to, and how far it goes: repeated tokens, sinks, distances."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.encode import SEPARATOR
from headscope.errors import UserError
from headscope.measures.base import at_least
from headscope.measures.combinators import NAN, ColumnMean, Linear, RowMean, Weights
from headscope.measures.kernels import (
    TINY,
    distance_sums,
)
from headscope.measures.lazy import torch
from headscope.measures.relations import (
    Matrix,
    Pairs,
    mass_weights,
)
from headscope.measures.roles import known_ids

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.encode import Encoded


class Repetition(Linear):
    """Attention from a token that has occurred before.

    ``induction``: to the tokens that followed its earlier occurrences; ``duplicate``: to these
    occurrences themselves. The sum over all of them, averaged over the tokens that have any.
    Special tokens and unknown ones take no part. On text, a head may attend to such tokens for
    other reasons too; :func:`headscope.synthetic` tests the same on random tokens.

    References
    ----------
    Olsson et al. 2022, "In-context Learning and Induction Heads".

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog saw the cat and the dog barked.", "A cat, a mat, a cat."]
    >>> atlas = hs.survey("demo", texts, measures="repetition")
    >>> atlas.mean("repetition").sel(layer=4, head=2).round(1).values.tolist()
    [0.2, 0.0]
    """

    name = "repetition"
    title = "Attention where a token occurs again"
    source = "Olsson et al. 2022"
    says = "attention to {repeat}"
    labels = {
        "repeat": {
            "induction": "what followed the same token before",
            "duplicate": "earlier occurrences of the same token",
        }
    }

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Lists of pairs."""
        return [mass_weights(followers(item)), mass_weights(earlier_same(item))]


def earlier_same(item: Encoded) -> Pairs:
    """From every token to each of its earlier occurrences.

    Special tokens and unknown ones are never the same as another.

    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> item = next(iter(encoder.encode(hs.read(["a b c a"]))))  # [CLS] a b c a [SEP]
    >>> pairs = earlier_same(item)
    >>> pairs.queries.tolist(), pairs.keys.tolist()
    ([4], [1])
    """
    same = Pairs.alike(known_ids(item))
    return same.where(same.keys < same.queries)


def followers(item: Encoded) -> Pairs:
    """From every token to what followed each of its earlier occurrences, up to the token before.

    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> item = next(iter(encoder.encode(hs.read(["a b c a"]))))  # [CLS] a b c a [SEP]
    >>> pairs = followers(item)
    >>> pairs.queries.tolist(), pairs.keys.tolist()
    ([4], [2])
    """
    same = earlier_same(item)
    after = Pairs(len(item), same.queries, same.keys + 1)
    return after.where((after.keys < after.queries) & (known_ids(item)[after.keys] >= 0))


class Sink(ColumnMean):
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
    says = "{sink}"
    labels = {
        "sink": {
            "first": "attention to the first of {length} tokens",
            "rate": "sink rate: texts with more than {threshold} on the first token",
            "learned": "attention to the learned sink",
        }
    }
    read = {"sink": ("first", "rate")}
    length: int

    def __init__(self, length: int = 64, threshold: float = 0.3) -> None:
        self.length = at_least("length of texts for sinks", length, 4)
        if isinstance(threshold, bool) or not 0 < threshold < 1:
            raise UserError(
                f"the threshold of sinks must be between 0 and 1, got {threshold!r} instead",
                hint="e.g. threshold=0.3",
            )
        self.threshold = float(threshold)

    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """The first rows of texts that are long enough."""
        return (np.arange(len(item)) < self.length) & (len(item) >= self.length)

    def of_columns(self, columns: Tensor, prepared: SimpleNamespace) -> Tensor:
        """Attention to the first token, whether it is a sink, and what the learned sink takes."""
        first = columns[..., :1] / self.length  # every row sees the first token
        learned = 1 - columns.sum(-1, keepdim=True) / self.length
        none = learned if self.context.shape.sink else torch.full_like(learned, NAN)
        return torch.cat([first, (first > self.threshold).float(), none], -1)


class SinkPlaces(Sink):
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
    says = "sink rate of token {token}"
    labels = {"token": {"": "{}"}}
    read = {"token": ()}
    listed = False

    def __init__(self, length: int = 64, threshold: float = 0.3) -> None:
        super().__init__(length, threshold)
        self.dims = {"token": tuple(str(place) for place in range(2, length // 2 + 1))}

    def of_columns(self, columns: Tensor, prepared: SimpleNamespace) -> Tensor:
        """Whether each token but the first is a sink, by the mean over the rows that see it."""
        sums = columns[..., 1 : self.length // 2]
        places = torch.arange(1, 1 + sums.shape[-1], device=sums.device)
        means = sums / (self.length - places if self.context.causal else self.length)
        # There are too few columns only where all texts are too short: they do not count.
        padding = (0, self.width - means.shape[-1])
        return torch.nn.functional.pad((means > self.threshold).float(), padding)


class Reach(RowMean):
    """The distance between a token and the tokens that it attends to, in tokens.

    Three means over tokens: ``distance``, the mean distance under the token's weights; ``square``,
    the mean squared distance; and ``variance``, their variance within the row. The variance over
    all rows and keys together is ``square`` less the square of ``distance``. In a model with a
    learned sink (GPT-OSS), what the sink takes has no distance: rows are scaled to sum to 1.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="reach")
    >>> round(float(atlas.mean("reach").sel(layer=1, head=3, moment="distance")))
    1
    """

    name = "reach"
    title = "Distance of attention"
    unit = "tokens"
    range = "positive"
    says = "{moment}"
    labels = {
        "moment": {
            "distance": "distance of attention",
            "square": "squared distance of attention (tokens²)",
            "variance": "variance of the distance within a token's attention (tokens²)",
        }
    }

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """Mean distance, mean square and variance of every row."""
        if self.context.shape.sink:
            block = block / block.sum(-1, keepdim=True).clamp_min(TINY)
        once, twice = distance_sums(block, first_row)
        return torch.stack([once, twice, (twice - once**2).clamp_min(0.0)], -1)


class Confidence(RowMean):
    """The mean over tokens of their largest attention weight.

    The end token ([SEP], EOS) takes no part, neither as a row nor as a key.

    References
    ----------
    Voita et al. 2019, "Analyzing Multi-Head Self-Attention", section 5.1.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="confidence")
    >>> round(float(atlas.mean("confidence").sel(layer=1, head=3)), 1)
    1.0
    """

    name = "confidence"
    title = "Confidence"
    source = "Voita et al. 2019, §5.1"
    says = "largest attention weight of a token"

    def of_rows(self, block: Tensor, first_row: int) -> Tensor:
        """The largest weight of every row."""
        return block.amax(-1, keepdim=True)

    def counted_rows(self, item: Encoded) -> Matrix:
        """All rows but those of end tokens."""
        return np.asarray(item.kind != SEPARATOR)

    counted_keys = counted_rows
