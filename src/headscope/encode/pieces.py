"""The pieces of a text, and how texts are shortened to fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a text: token ids, words, characters and surface words."""

    ids: NDArray[np.int64]
    word: NDArray[np.int64]
    text: tuple[str, ...]
    unit: NDArray[np.int64]

    def cut(self, start: int, stop: int) -> Pieces:
        """The pieces from start to stop; a word that is cut in two belongs to neither side."""
        inside = self.word[start:stop]
        outside = np.concatenate([self.word[:start], self.word[stop:]])
        word = np.where(np.isin(inside, outside), -1, inside)
        return Pieces(self.ids[start:stop], word, self.text[start:stop], self.unit[start:stop])


def characters(text: str, offsets: list[tuple[int, int]]) -> tuple[str, ...]:
    """The characters of each piece.

    A character beyond ASCII may be several pieces (its bytes), which all show it. An ASCII
    character is one piece: what is before it with the same offsets is a mark for the start of a
    word, which the tokenizer added, and shows nothing.
    """
    shown = [text[start:end] for start, end in offsets]
    marks = [
        here == after and piece.isascii()
        for piece, here, after in zip(shown, offsets, offsets[1:], strict=False)
    ]
    return tuple("" if mark else piece for piece, mark in zip(shown, [*marks, False], strict=False))


def shorten(lengths: list[int], room: int) -> list[int]:
    """Shorten the longer text until both fit; if both must be cut, they share the room.

    A token that halving leaves over goes to the longer text, and to the second of two equally long
    ones, as in the tokenizers library.

    >>> shorten([10, 4], 9), shorten([6, 6], 9), shorten([8, 6], 9)
    ([5, 4], [4, 5], [5, 4])
    """
    if sum(lengths) <= room or len(lengths) == 1:
        return [min(length, room) for length in lengths]
    # Sorting is stable: of two equal ones the second is the longer.
    short, long = sorted(range(2), key=lambda index: lengths[index])
    kept = [0, 0]
    kept[short] = min(lengths[short], room // 2)
    kept[long] = room - kept[short]
    return kept
