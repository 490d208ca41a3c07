"""Words that attention aligns: attention to the same word, or to the word that comes next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, surface_words
from headscope.encode import Encoded
from headscope.encode.cross import CrossEncoded, key_item
from headscope.measures.kinds import Pairs, mass_weights
from headscope.measures.relation import Linear, Weights


class Alignment(Linear):
    """Mean attention to the pieces of equal words: of a token's own word, or of the next one.

    ``this word`` is attention to the words that equal the token's own; ``next word`` to those that
    equal the word of the token after it, which the decoder is about to write. Upper and lower case
    are the same. Tokens whose word is not among the keys do not count. It is given for cross
    attention, where it shows heads that copy or align names and numbers; for other attention it
    must be asked for by name, and a token's own word then includes itself.
    """

    name = "alignment"
    title = "Attention to equal words"
    unit = "share of attention"
    source = "Headscope"
    dims = {"word": ("this word", "next word")}
    offered = False
    cross = True

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Pairs of a token and the pieces of equal words."""
        keys = key_item(item)
        pieces: dict[str, list[int]] = {}
        for place, word in enumerate(token_words(keys)):
            if word:
                pieces.setdefault(word, []).append(place)
        words = token_words(item)
        return [
            mass_weights(Pairs(len(item), *_pairs(asked, pieces)))
            for asked in (words, [*words[1:], ""])
        ]


def token_words(item: Encoded) -> list[str]:
    """The word of each token in lower case; "" for a token of none."""
    # The tokens of cross attention were encoded one text at a time.
    alone = isinstance(item, CrossEncoded)
    example = Example("", item.example.texts[-1:]) if alone else item.example
    words = surface_words(example, int(item.unit.max(initial=-1)) + 1)
    return ["" if unit < 0 else words[unit].lower() for unit in item.unit.tolist()]


def _pairs(
    asked: Sequence[str], pieces: dict[str, list[int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each token with the keys that are pieces of its word."""
    found = [(row, key) for row, word in enumerate(asked) if word for key in pieces.get(word, ())]
    queries, keys = np.array(found, np.int64).reshape(-1, 2).T
    return queries, keys
