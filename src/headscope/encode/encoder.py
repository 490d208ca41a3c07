"""From an example to the tokens that the model sees, each with its kind, segment and word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.example import Example, plain_words
from headscope.encode.align import align, word_ends
from headscope.encode.encoded import Counts, Encoded
from headscope.encode.template import TEXT, find_template, marks_words, special_kind
from headscope.errors import UserError, unknown

Long = Literal["truncate", "split", "drop"]
LONG = ("truncate", "split", "drop")
FULL_STOPS = frozenset({".", ","})


@dataclass(frozen=True, slots=True)
class _Pieces:
    ids: NDArray[np.int64]
    word: NDArray[np.int64]
    text: tuple[str, ...]
    unit: NDArray[np.int64]

    def cut(self, start: int, stop: int) -> _Pieces:
        """The pieces from start to stop; a word that is cut in two belongs to neither side."""
        inside = self.word[start:stop]
        outside = np.concatenate([self.word[:start], self.word[stop:]])
        word = np.where(np.isin(inside, outside), -1, inside)
        return _Pieces(self.ids[start:stop], word, self.text[start:stop], self.unit[start:stop])


class Encoder:
    """Turns examples into tokens, and counts what is truncated, split or dropped.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        A fast one, which gives character offsets.
    max_length : int, default 128
        The largest number of tokens, special tokens included.
    long : {"truncate", "split", "drop"}, default "truncate"
        What happens to longer examples: truncate them (the longer text of a pair first), split them
        into consecutive parts, or drop them.
    start : int, optional
        The start token of a decoder, which comes before everything else.
    token_types : bool, default True
        Whether to tell the texts of a pair apart by token types. False makes all of them 0, as in
        the released code of Clark et al. (2019).

    Attributes
    ----------
    counts : Counts
        What happened to the examples so far.

    Examples
    --------
    >>> import headscope as hs
    >>> encoder = Encoder(hs.load("demo").tokenizer, max_length=16)
    >>> [encoded] = encoder.encode(hs.read(["A dog sits."]))
    >>> encoded.text
    ('', 'A', 'dog', 'sits', '.', '')
    >>> encoder.counts.used
    1
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
            raise unknown("treatment of long examples", long, LONG)
        self.tokenizer = tokenizer
        self.template = find_template(tokenizer)
        self.max_length = max_length
        self.long = long
        self.start = start
        # If nothing else separates the two texts of a pair, a space must.
        self.lead = "" if self.template.separates() or marks_words(tokenizer) else " "
        self.token_types = token_types
        self.unknown = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        self.counts = Counts()
        room = max_length - self.template.specials(2) - (start is not None)
        if room < 2:
            raise UserError(
                f"the maximum length must leave room for text besides {max_length - room} special "
                f"tokens; got {max_length} instead",
                hint="give e.g. max_length=128",
                command="give e.g. --max-length 128",
            )

    def encode(self, examples: Iterable[Example]) -> Iterator[Encoded]:
        """Encode examples one by one.

        Yields
        ------
        Encoded
            Several for an example that is split, none for one that is dropped.
        """
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
        """The pieces of each text, each with its word."""
        found: list[_Pieces] = []
        before = 0  # how many plain words the texts before have
        for segment, text in enumerate(example.texts):
            lead = self.lead if segment and text else ""
            coded = self.tokenizer(
                lead + text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            ids = np.array(coded["input_ids"], dtype=np.int64)
            offsets = [
                (max(start - len(lead), 0), end - len(lead))
                for start, end in coded["offset_mapping"]
            ]
            owners = self._words(example, segment, ids, offsets)
            units = owners
            if not example.words:
                spans = np.array(plain_words((text,))[0], dtype=np.int64).reshape(-1, 2)
                local = align(text, offsets, spans[:, 1], spans[:, 0])
                units = np.where(local >= 0, local + before, -1)
                before += len(spans)
            found.append(_Pieces(ids, owners, _characters(text, offsets), units))
        return found

    def _words(
        self,
        example: Example,
        segment: int,
        ids: NDArray[np.int64],
        offsets: list[tuple[int, int]],
    ) -> NDArray[np.int64]:
        """The annotated word of each piece of one text, or -1. Counts lost and unknown words."""
        indices = [index for index, word in enumerate(example.words) if word.segment == segment]
        if not indices:
            return np.full(len(offsets), -1, dtype=np.int64)
        text = example.texts[segment]
        words = [example.words[index].text for index in indices]
        if text != " ".join(words):
            raise UserError(
                f"example {example.id}: its text is not its words joined by single spaces",
                hint="make the texts with headscope.corpus.join_words",
            )
        local = align(text, offsets, word_ends(words))
        owners = np.where(local >= 0, np.array(indices)[local], -1)
        owned = set(owners[owners >= 0].tolist())
        known = set(owners[(owners >= 0) & (ids != self.unknown)].tolist())
        self.counts.words += len(indices)
        self.counts.words_lost += len(indices) - len(owned)
        self.counts.words_unknown += len(owned - known)
        return owners

    def _fit(self, pieces: list[_Pieces]) -> list[list[_Pieces]] | None:
        """Cut the texts to the room that special tokens leave; None drops the example."""
        room = self.max_length - self.template.specials(len(pieces)) - (self.start is not None)
        lengths = [len(part.ids) for part in pieces]
        if sum(lengths) <= room:
            return [pieces]
        if self.long == "drop":
            return None
        if self.long == "truncate":
            self.counts.truncated += 1
            kept = zip(pieces, shorten(lengths, room), strict=True)
            return [[part.cut(0, length) for part, length in kept]]
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
        """Put the texts into the tokenizer's template."""
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
