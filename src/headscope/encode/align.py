"""The word that each piece of the tokenizer belongs to, by character offsets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def word_ends(words: Sequence[str]) -> NDArray[np.int64]:
    """Find where each word ends once the words are joined by single spaces.

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
    """Find the word of each piece.

    A piece belongs to the word of its first visible character. A piece without one belongs to the
    word that it is in, or else begins the next word: SentencePiece's lone ``▁`` is a space, and
    RoBERTa's lone ``Ġ`` has no characters at all once its space is removed. Such a mark alone does
    not make a word: a word that the tokenizer drops (a lone accent) owns no piece.

    Parameters
    ----------
    text : str
        The text that was tokenized.
    offsets : sequence of (int, int)
        Where each piece begins and ends in it.
    ends : array of int
        Where each word ends.
    begins : array of int, optional
        Where each word begins; by default one character after the end of the one before.

    Returns
    -------
    array of int
        The index of each piece's word, or -1.

    Examples
    --------
    >>> align("go !", [(0, 2), (2, 3), (3, 4)], word_ends(["go", "!"])).tolist()
    [0, 1, 1]
    """
    stops = ends.tolist()
    starts = [0, *(stop + 1 for stop in stops[:-1])] if begins is None else begins.tolist()
    owners: list[int] = []
    seen: set[int] = set()
    for start, end in offsets:
        visible = text[start:end].lstrip()
        word = bisect_right(stops, end - len(visible) if visible else start)
        owners.append(word)
        if word < len(stops) and end > starts[word]:
            seen.add(word)
    return np.array([word if word in seen else -1 for word in owners], dtype=np.int64)
