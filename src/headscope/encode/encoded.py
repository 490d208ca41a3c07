"""What an encoder returns: the tokens of an example, and counts of what it did."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.example import Example
from headscope.labels import first_names


@dataclass(frozen=True)
class Encoded:
    """The T tokens of one example, and what each one is.

    Parameters
    ----------
    example : Example
        The example that was encoded.
    ids, types : array of shape (T,)
        Token ids and token types.
    kind : array of shape (T,)
        TEXT, START, SEPARATOR or OTHER.
    segment : array of shape (T,)
        The text that the token is in, 0 or 1; -1 for special tokens.
    word : array of shape (T,)
        The index of the token's word in ``example.words``; -1 for none.
    stop : array of shape (T,)
        Whether the token is "." or ",".
    text : tuple of str
        The characters of each piece; "" for special tokens.
    unit : array of shape (T,)
        The index of the token's word in ``surface_words(example)``: the same as ``word``, but text
        without annotation has its plain words; -1 for none.
    unknown : array of shape (T,)
        Whether the token stands for anything that the tokenizer does not know: two of them need
        not be the same word.
    """

    example: Example
    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    kind: NDArray[np.int8]
    segment: NDArray[np.int8]
    word: NDArray[np.int64]
    stop: NDArray[np.bool_]
    text: tuple[str, ...]
    unit: NDArray[np.int64]
    unknown: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def pieces(self) -> dict[int, list[int]]:
        """The tokens of each word of ``example.words``; words that are cut off are missing."""
        found: dict[int, list[int]] = {}
        for place, number in enumerate(self.word.tolist()):
            if number >= 0:
                found.setdefault(number, []).append(place)
        return found

    @cached_property
    def arcs(self) -> list[tuple[int, int, int]]:
        """The arcs of the tree, between the pieces of their words: the number of the dependent's
        word, one of its tokens, and one of its head word's.
        """
        pieces = self.pieces
        return [
            (number, token, other)
            for number, word in enumerate(self.example.words)
            if word.head is not None and word.head in pieces
            for token in pieces.get(number, ())
            for other in pieces[word.head]
        ]


@dataclass(slots=True)
class Counts:
    """How many examples were read, used, truncated, split or dropped, and what became of their
    tokens and words.

    ``tokens`` are those of the texts as read, without special tokens; ``tokens_lost`` were thrown
    away because an example was too long, cut or dropped.
    """

    read: int = 0
    used: int = 0
    truncated: int = 0
    split: int = 0
    too_long: int = 0
    empty: int = 0
    tokens: int = 0
    tokens_lost: int = 0
    words: int = 0
    words_lost: int = 0
    words_unknown: int = 0
    dropped: list[str] = field(default_factory=list)

    def drop(self, example: Example, why: str) -> None:
        """Note why an example is dropped; only a few are named."""
        where = f" ({example.source})" if example.source else ""
        self.dropped = first_names(self.dropped, [f"{example.id}{where}: {why}"])

    def add(self, other: Counts) -> None:
        """Add what happened to other examples. The order does not matter."""
        for one in fields(self):
            if one.type == "int":
                setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        self.dropped = first_names(self.dropped, other.dropped)
