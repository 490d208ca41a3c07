"""Which word each piece belongs to, by character offsets (C6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def word_ends(words: Sequence[str]) -> NDArray[np.int64]:
    """Where each word ends in the words joined by single spaces.

    >>> word_ends(["a", "dog"]).tolist()
    [1, 5]
    """
    return np.cumsum(np.array([len(word) + 1 for word in words], dtype=np.int64)) - 1


def align(
    text: str,
    offsets: Sequence[tuple[int, int]],
    ends: NDArray[np.int64],
    begins: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """The index of each piece's word, or -1. A piece belongs to the word of its first visible character.

    A piece without one belongs to the word it stands in, or else begins the next word: SentencePiece's lone ``▁`` is a space,
    and RoBERTa's lone ``Ġ`` has no characters at all once its space is taken off. Such a mark alone does not make a word: one that the
    tokenizer drops (a lone accent) owns nothing. Words begin after a space, unless ``begins`` says where.

    >>> align("go !", [(0, 2), (2, 3), (3, 4)], word_ends(["go", "!"])).tolist()
    [0, 1, 1]
    """
    owners = np.full(len(offsets), -1, dtype=np.int64)
    begins = np.concatenate([[0], ends[:-1] + 1]) if begins is None else begins
    seen: set[int] = set()
    for index, (start, end) in enumerate(offsets):
        visible = text[start:end].lstrip()
        first = end - len(visible) if visible else start
        word = int(np.searchsorted(ends, first, side="right"))
        if word < len(ends):
            owners[index] = word
            if end > begins[word]:
                seen.add(word)
    return np.where(np.isin(owners, list(seen)), owners, -1)
