"""Repetition (Olsson et al. 2022): what a head does where a token occurs again."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.encode import Encoded
from headscope.measures.kinds import Pairs, mass_weights
from headscope.measures.relation import Linear, Weights
from headscope.measures.sieves.builtin import alike, known_ids


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
    pairs = alike(known_ids(item))
    earlier = pairs.keys < pairs.queries
    return Pairs(len(item), pairs.queries[earlier], pairs.keys[earlier])


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
    after = same.keys + 1
    good = (after < same.queries) & (known_ids(item)[after] >= 0)
    return Pairs(len(item), same.queries[good], after[good])


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
    unit = "share of attention"
    source = "Olsson et al. 2022"
    dims = {"repeat": ("induction", "duplicate")}

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Lists of pairs."""
        return [mass_weights(followers(item)), mass_weights(earlier_same(item))]
