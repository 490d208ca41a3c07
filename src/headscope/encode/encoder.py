"""From an example to the tokens that the model sees, each with its kind, segment and word; nothing is cut silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.example import Example, plain_words
from headscope.encode.align import align, word_ends
from headscope.encode.template import TEXT, find_template, marks_words, special_kind
from headscope.errors import UserError, unknown

Long = Literal["truncate", "split", "drop"]
LONG = ("truncate", "split", "drop")
FULL_STOPS = frozenset({".", ","})
NAMED = 20
"""How many dropped examples are named one by one in the provenance."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of one example (T of them), and what each one is."""

    example: Example
    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    kind: NDArray[np.int8]  # TEXT, START, SEPARATOR, OTHER
    segment: NDArray[np.int8]  # 0 or 1; -1 for special tokens
    word: NDArray[np.int64]  # index into example.words; -1 for none
    stop: NDArray[np.bool_]  # "." or ","
    text: tuple[str, ...]  # the characters of each piece; "" for special tokens
    unit: NDArray[
        np.int64
    ]  # index into headscope.corpus.surface_words(example): as word, but text without annotation has its plain words; -1 for none

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(slots=True)
class Counts:
    """What encoding did to the corpus."""

    read: int = 0
    used: int = 0
    truncated: int = 0
    split: int = 0
    too_long: int = 0
    empty: int = 0
    words: int = 0
    words_lost: int = 0
    words_unknown: int = 0
    dropped: list[str] = field(default_factory=list)

    def drop(self, example: Example, why: str) -> None:
        """Remember why an example is left out (the first few by name)."""
        if len(self.dropped) < NAMED:
            self.dropped.append(
                f"{example.id} ({example.source}): {why}"
                if example.source
                else f"{example.id}: {why}"
            )


@dataclass(frozen=True, slots=True)
class _Pieces:
    ids: NDArray[np.int64]
    word: NDArray[np.int64]
    text: tuple[str, ...]
    unit: NDArray[np.int64]

    def cut(self, start: int, stop: int) -> _Pieces:
        """Pieces start to stop; a word that is cut in two belongs to neither side."""
        inside, outside = (
            self.word[start:stop],
            np.concatenate([self.word[:start], self.word[stop:]]),
        )
        word = np.where(np.isin(inside, outside), -1, inside)
        return _Pieces(self.ids[start:stop], word, self.text[start:stop], self.unit[start:stop])


class Encoder:
    """Turns examples into tokens for one tokenizer.

    ``long`` says what happens to an example of more than ``max_length`` tokens: truncate (the longer side of a pair first),
    split (into consecutive parts) or drop. ``counts`` tells how often.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        max_length: int = 128,
        long: str = "truncate",
        start: int | None = None,
        token_types: bool = True,
    ) -> None:
        if long not in LONG:
            raise unknown("way with long examples", long, LONG)
        self.tokenizer = tokenizer
        self.template = find_template(tokenizer)
        self.max_length = max_length
        self.long = long
        self.start = start  # a decoder's start token, put before everything
        # Where nothing else keeps the two texts of a pair apart, a space must.
        self.lead = "" if self.template.separates() or marks_words(tokenizer) else " "
        self.token_types = (
            token_types  # false: all 0, as the released code of Clark et al. has them
        )
        self.unknown = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        self.counts = Counts()
        room = max_length - self.template.specials(2) - (start is not None)
        if room < 2:
            raise UserError(
                f"the maximum length must leave room for text beside {max_length - room} special tokens; got {max_length} instead",
                hint="give --max-length 128, say",
            )

    def encode(self, examples: Iterable[Example]) -> Iterator[Encoded]:
        """Encode examples one by one, counting what is cut or left out."""
        for example in examples:
            self.counts.read += 1
            pieces = self._pieces(example)
            if not any(len(part.ids) for part in pieces):
                self.counts.empty += 1
                self.counts.drop(example, "no tokens")
                continue
            parts = self._fit(pieces)
            if parts is None:
                self.counts.too_long += 1
                self.counts.drop(example, f"more than {self.max_length} tokens")
                continue
            if len(parts) > 1:
                self.counts.split += 1
            for part in parts:
                encoded = self._assemble(example, part)
                self.counts.used += 1
                yield encoded

    def _pieces(self, example: Example) -> list[_Pieces]:
        """The pieces of each text, with the word that each belongs to."""
        found: list[_Pieces] = []
        before = 0  # plain words of the first text
        for segment, text in enumerate(example.texts):
            lead = self.lead if segment and text else ""
            coded = self.tokenizer(
                lead + text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            offsets = [
                (max(start - len(lead), 0), end - len(lead))
                for start, end in coded["offset_mapping"]
            ]
            indices = [index for index, word in enumerate(example.words) if word.segment == segment]
            owners = np.full(len(offsets), -1, dtype=np.int64)
            if indices:
                words = [example.words[index].text for index in indices]
                if text != " ".join(words):
                    raise UserError(
                        f"example {example.id}: its text is not its words joined by single spaces",
                        hint="make the texts with headscope.corpus.join_words",
                    )
                local = align(text, offsets, word_ends(words))
                owners = np.where(local >= 0, np.array(indices)[local], -1)
                self.counts.words += len(indices)
                known = set(
                    owners[(owners >= 0) & (np.array(coded["input_ids"]) != self.unknown)].tolist()
                )
                owned = set(owners[owners >= 0].tolist())
                self.counts.words_lost += len(indices) - len(owned)
                self.counts.words_unknown += len(owned - known)
            units = owners
            if not example.words:
                spans = np.array(plain_words((text,))[0], dtype=np.int64).reshape(-1, 2)
                local = align(text, offsets, spans[:, 1], spans[:, 0])
                units = np.where(local >= 0, local + before, -1)
                before += len(spans)
            found.append(
                _Pieces(
                    np.array(coded["input_ids"], dtype=np.int64),
                    owners,
                    _characters(text, offsets),
                    units,
                )
            )
        return found

    def _fit(self, pieces: list[_Pieces]) -> list[list[_Pieces]] | None:
        """Cut the texts to the length that is left beside special tokens; None to drop the example."""
        room = self.max_length - self.template.specials(len(pieces)) - (self.start is not None)
        lengths = [len(part.ids) for part in pieces]
        if sum(lengths) <= room:
            return [pieces]
        if self.long == "drop":
            return None
        if self.long == "truncate":
            self.counts.truncated += 1
            return [
                [
                    part.cut(0, length)
                    for part, length in zip(pieces, shorten(lengths, room), strict=True)
                ]
            ]
        number = 2
        while sum(-(-length // number) for length in lengths) > room:
            number += 1
        shares = [
            [(length * index // number, length * (index + 1) // number) for length in lengths]
            for index in range(number)
        ]
        return [
            [part.cut(*share) for part, share in zip(pieces, portion, strict=True)]
            for portion in shares
        ]

    def _assemble(self, example: Example, pieces: list[_Pieces]) -> Encoded:
        """Put the texts into the tokenizer's frame."""
        rows: list[tuple[int, int, int, int, int, str, int]] = []
        if self.start is not None:
            rows.append(self._special(self.start, 0))
        for part in self.template.parts(len(pieces)):
            if part.token is not None:
                rows.append(self._special(part.token, part.type))
            elif part.text is not None:
                run = pieces[part.text]
                pieces_of = zip(
                    run.ids.tolist(), run.word.tolist(), run.text, run.unit.tolist(), strict=True
                )
                rows += [
                    (token, part.type, TEXT, part.text, word, text, unit)
                    for token, word, text, unit in pieces_of
                ]
        ids, types, kind, segment, word, text, unit = zip(*rows, strict=True)
        stop = np.array([piece.strip() in FULL_STOPS for piece in text], np.bool_)
        return Encoded(
            example,
            np.array(ids, np.int64),
            np.array(types, np.int64) * self.token_types,
            np.array(kind, np.int8),
            np.array(segment, np.int8),
            np.array(word, np.int64),
            stop,
            text,
            np.array(unit, np.int64),
        )

    def _special(self, token: int, type: int) -> tuple[int, int, int, int, int, str, int]:
        return token, type, special_kind(self.tokenizer, token), -1, -1, "", -1


def _characters(text: str, offsets: list[tuple[int, int]]) -> tuple[str, ...]:
    """The characters of each piece.

    A character beyond ASCII may be several pieces (its bytes), which all show it. An ASCII one is a single piece: what stands before
    it with the same offsets is the mark of a word's start that the tokenizer put before the text, and shows nothing.
    """
    shown = [text[start:end] for start, end in offsets]
    marks = [
        here == after and piece.isascii()
        for piece, here, after in zip(shown, offsets, offsets[1:], strict=False)
    ]
    return tuple("" if mark else piece for piece, mark in zip(shown, [*marks, False], strict=False))


def shorten(lengths: list[int], room: int) -> list[int]:
    """Shorten the longer text until all fit; where both must be cut they share the room (as the paper and the tokenizers do).

    A token left over by halving goes to the text that was longer, and to the second of two equally long, as in the tokenizers library.

    >>> shorten([10, 4], 9), shorten([6, 6], 9), shorten([8, 6], 9)
    ([5, 4], [4, 5], [5, 4])
    """
    if sum(lengths) <= room or len(lengths) == 1:
        return [min(length, room) for length in lengths]
    short, long = sorted(
        range(2), key=lambda index: lengths[index]
    )  # stable: of two equal ones the second is the long one
    kept = [0, 0]
    kept[short] = min(lengths[short], room // 2)
    kept[long] = room - kept[short]
    return kept
