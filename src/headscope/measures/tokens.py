"""What attention comes back to, and how far it goes: repeated tokens, sinks, distances; the context
of an answer, and sentences that later ones return to.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import sentence_numbers
from headscope.encode import SEPARATOR, Batch, Encoded
from headscope.errors import UserError
from headscope.measures.base import Measure, at_least
from headscope.measures.combinators import NAN, ColumnMean, Linear, RowMean, Weights
from headscope.measures.kernels import TINY, distance_sums, to_device
from headscope.measures.lazy import torch
from headscope.measures.relations import Matrix, Pairs, mass_weights
from headscope.measures.roles import known_ids

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.models import LayerView


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


class Lookback(RowMean):
    """How much the tokens of an answer attend to its context rather than to the answer so far.

    The context is all that stands before the answer (the second text of a pair), special tokens
    included; the answer so far goes up to the token itself. ``share`` divides the attention on the
    context by that on both, so that uniform attention has the context's share of the tokens;
    ``ratio`` does so with the means per token, as the paper does: uniform attention has 0.5. Both
    are means over the tokens of the answer.

    It must be asked for by name, and needs pairs.

    References
    ----------
    Chuang et al. 2024, "Lookback Lens", arXiv 2407.07071, section 2.1.

    Examples
    --------
    >>> import headscope as hs
    >>> pairs = [("A dog barks at the cat.", "The dog is loud."), ("It rains.", "It is wet.")]
    >>> atlas = hs.survey("demo", pairs, measures="lookback")
    >>> bool((atlas.mean("lookback").sel(lookback="share") > 0.5).any())
    True
    """

    name = "lookback"
    title = "Attention of an answer to its context"
    unit = "share"
    source = "Chuang et al. 2024, §2.1"
    says = "{lookback}"
    labels = {
        "lookback": {
            "share": "share of attention on the context, not on the answer so far",
            "ratio": "lookback ratio: the same by means per token",
        }
    }
    needs = frozenset({"pair"})
    offered = False

    def counted_rows(self, item: Encoded) -> Matrix:
        """The tokens of the answer."""
        return np.asarray(item.segment == 1)

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """Also which keys are context and which answer, and how many of each up to every row."""
        prepared, parts = super().prepare(batch, device), np.zeros((len(batch), batch.width, 2))
        for row, item in enumerate(batch.items):
            answer = self.counted_rows(item)
            parts[row, : len(item), 0] = np.cumsum(answer) == 0
            parts[row, : len(item), 1] = answer
        counts = np.cumsum(parts, 1).clip(1)
        prepared.parts, prepared.counts = (
            to_device(array[:, None].astype(np.float32), device) for array in (parts, counts)
        )
        return prepared

    def row_values(self, block: Tensor, first_row: int, prepared: SimpleNamespace) -> Tensor:
        """Share and ratio of every row, from the keys up to its own."""
        sums = block.tril(first_row) @ prepared.parts
        means = sums / prepared.counts[:, :, first_row : first_row + block.shape[2]]
        both = [pair[..., 0] / pair.sum(-1).clamp_min(TINY) for pair in (sums, means)]
        return torch.stack(both, -1)


class Receiver(Measure):
    """Whether a few sentences receive much of the attention from sentences far behind them.

    A sentence receives the mean attention that the tokens of each later sentence, ``later`` or more
    sentences on, pay to each of its tokens; each later sentence counts equally. The value is the
    excess kurtosis of that over the sentences of a text that have so late a follower: it is high
    where some receive far more than the others. Texts with fewer than ``least`` sentences are left
    out, so that long texts are needed (``--max-length``). Tokens that belong to no word take no
    part; :func:`headscope.corpus.sentence_numbers` says where sentences end.

    It must be asked for by name.

    Parameters
    ----------
    later
        How many sentences later attention counts from.
    least
        The fewest sentences of a text. Of n values, the kurtosis is at most n - 5 + 1 / (n - 1).

    References
    ----------
    Bogdan et al. 2025, "Thought Anchors", arXiv 2506.19143, section 4. Their heads are ranked by
    the mean over texts of hundreds of sentences; ``least`` is our choice.

    Examples
    --------
    >>> import headscope as hs
    >>> text = "A dog barks. It is loud. A cat sleeps. It dreams. A dog barks. It is late."
    >>> atlas = hs.survey("demo", [text], measures=hs.Receiver(later=1, least=6))
    >>> bool(atlas.mean("receiver").max() > 0)
    True
    """

    name = "receiver"
    title = "Kurtosis of the attention that sentences receive"
    unit = "excess kurtosis"
    source = "Bogdan et al. 2025, §4"
    says = "kurtosis over sentences of the attention received from later ones"
    offered = False
    in_blocks = True

    def __init__(self, later: int = 4, least: int = 8) -> None:
        self.later = at_least("number of sentences later", later, 1)
        self.least = at_least("number of sentences of a text", least, later + 2)

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """The weights that average over the tokens of each sentence, (batch, 1, sentence, token);
        those that average over later sentences, (batch, 1, sentence, later sentence).
        """
        numbers = [sentences_of(item) for item in batch.items]
        most = max(int(number.max(initial=0)) for number in numbers) + 1
        tokens = np.zeros((len(batch), 1, most, batch.width))
        later = np.zeros((len(batch), 1, most, most))
        for row, (number, item) in enumerate(zip(numbers, batch.items, strict=True)):
            count = int(number.max(initial=-1)) + 1
            tokens[row, 0, :count, : len(item)] = number == np.arange(count)[:, None]
            if count >= self.least:
                later[row, 0, :count, :count] = np.tri(count, k=-self.later).T
        tokens, later = (array / array.sum(-1, keepdims=True).clip(1) for array in (tokens, later))
        return SimpleNamespace(
            tokens=to_device(tokens.astype(np.float32), device),
            later=to_device(later, device),
            received=0.0,
        )

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: Any) -> None:
        """Add the attention of a block between sentences, (batch, head, key's, query's)."""
        queries = prepared.tokens[..., first_row : first_row + block.shape[2]]
        # Padded rows may hold anything, even infinity.
        block = block.where(queries.any(2)[..., None], 0.0)
        prepared.received = prepared.received + prepared.tokens @ (queries @ block).mT

    def end(self, view: LayerView, prepared: Any) -> Tensor:
        """(batch, head, 1); NaN with too few sentences, and where all receive the same."""
        received, prepared.received = prepared.received, 0.0
        values, counted = (received * prepared.later).sum(-1), prepared.later.any(-1)
        return kurtosis(values, counted).float()[..., None]


def kurtosis(values: Tensor, counted: Tensor) -> Tensor:
    """The excess kurtosis of some values, m4 / m2² - 3 over the last dimension.

    >>> import torch
    >>> kurtosis(torch.tensor([1.0, 1.0, 1.0, 5.0]), torch.tensor([True, True, True, True]))
    tensor(-0.6667)
    """
    count = counted.sum(-1, keepdim=True)
    mean = values.where(counted, 0.0).sum(-1, keepdim=True) / count
    away = (values - mean).where(counted, 0.0)
    second, fourth = ((away**power).sum(-1) / count[..., 0] for power in (2, 4))
    return fourth / second**2 - 3


def sentences_of(item: Encoded) -> NDArray[np.int64]:
    """The number of each token's sentence among those that have tokens; -1 for none."""
    inside = item.unit >= 0
    numbers = np.full(len(item), -1)
    if inside.any():
        every = np.array(sentence_numbers(item.example))[item.unit[inside]]
        numbers[inside] = np.unique(every, return_inverse=True)[1]
    return numbers
