"""From an example to the tokens that the model sees, each with its kind, segment and word."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.example import Example, plain_words
from headscope.encode.template import (
    OTHER,
    START,
    TEXT,
    Template,
    TemplatePart,
    check_bos,
    check_chat,
    find_template,
    marks_words,
    render_chat,
    special_kind,
    with_bos,
)
from headscope.errors import UserError, unknown
from headscope.labels import first_names

# --- what an encoder returns ---


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
        tokens: dict[int, list[int]] = {}
        for place, number in enumerate(self.word.tolist()):
            if number >= 0:
                tokens.setdefault(number, []).append(place)
        return tokens

    @cached_property
    def arcs(self) -> list[tuple[int, int, int]]:
        """The arcs of the tree, between the pieces of their words: the number of the dependent's
        word, one of its tokens, and one of its head word's.
        """
        pieces = self.pieces
        return [
            (number, token, head)
            for number, word in enumerate(self.example.words)
            if word.head is not None and word.head in pieces
            for token in pieces.get(number, ())
            for head in pieces[word.head]
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
        for count in fields(self):
            if count.type == "int":
                setattr(self, count.name, getattr(self, count.name) + getattr(other, count.name))
        self.dropped = first_names(self.dropped, other.dropped)


# --- words of pieces ---


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


# --- pieces of a text ---


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


# --- the encoder ---

Long = Literal["truncate", "split", "drop"]
LONG = ("truncate", "split", "drop")
FULL_STOPS = frozenset({".", ","})


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
    bos : {"add", "keep", "none"}, default "keep"
        Whether texts begin with the beginning-of-sequence token: always, as the tokenizer has it,
        or never.
    bos_token : int, optional
        That token. Default: the tokenizer's.
    chat : bool, default False
        Make a text the user's turn of a chat, with the tokenizer's chat template, and the second
        text of a pair the assistant's. The template's words and special tokens are special tokens;
        of several beginning-of-sequence tokens, only the first of all counts as one.

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
        bos: str = "keep",
        bos_token: int | None = None,
        chat: bool = False,
    ) -> None:
        if long not in LONG:
            raise unknown("treatment of long examples", long, LONG)
        self.bos_token = tokenizer.bos_token_id if bos_token is None else bos_token
        check_bos(bos, self.bos_token, chat=chat)
        if chat:
            check_chat(tokenizer)
        self.tokenizer = tokenizer
        self.bos = bos
        self.chat = chat
        template = find_template(tokenizer)
        self.template = Template(self._bos(template.one), self._bos(template.two))
        self.max_length = max_length
        self.long = long
        self.start = start
        # If nothing else separates the two texts of a pair, a space must.
        self.lead = "" if self.template.separates() or marks_words(tokenizer) else " "
        self.token_types = token_types
        self.unknown = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        self.counts = Counts()
        parts = self._chat(Example("", ("a", "a")))[1] if chat else self.template.two
        room = max_length - _specials(parts) - (start is not None)
        if room < 2:
            raise UserError(
                f"the maximum length must leave room for text besides {max_length - room} special "
                f"tokens; got {max_length} instead",
                hint="give e.g. max_length=128",
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
            pieces, template = self._chat(example) if self.chat else self._plain(example)
            if not any(len(part.ids) for part in pieces):
                self.counts.empty += 1
                self.counts.drop(example, "no tokens")
                continue
            parts = self._fit(pieces, template)
            tokens = _length(pieces)
            self.counts.tokens += tokens
            self.counts.tokens_lost += tokens - sum(map(_length, parts or []))
            if parts is None:
                self.counts.too_long += 1
                self.counts.drop(example, f"more than {self.max_length} tokens")
                continue
            if len(parts) > 1:
                self.counts.split += 1
            for part in parts:
                encoded = self._assemble(example, part, template)
                self.counts.used += 1
                yield encoded

    def _plain(self, example: Example) -> tuple[list[Pieces], tuple[TemplatePart, ...]]:
        """The pieces of each text, and the template around them."""
        pieces: list[Pieces] = []
        for segment, text in enumerate(example.texts):
            lead = self.lead if segment and text else ""
            ids, spans = self._tokens(lead + text)
            offsets = [(max(start - len(lead), 0), end - len(lead)) for start, end in spans]
            pieces.append(self._pieces(example, segment, ids, offsets))
        return pieces, self.template.parts(len(pieces))

    def _chat(self, example: Example) -> tuple[list[Pieces], tuple[TemplatePart, ...]]:
        """The same for a chat, which is tokenized as a whole."""
        chat = render_chat(self.tokenizer, example.texts)
        ids, spans = self._tokens(chat.text)
        places = [_place(span, chat.starts, chat.stops) for span in spans]
        pieces: list[Pieces] = []
        for segment, (start, cut) in enumerate(zip(chat.starts, chat.cut, strict=True)):
            inside = [index for index, place in enumerate(places) if place == segment]
            offsets = [
                (max(spans[index][0] - start, 0) + cut, spans[index][1] - start + cut)
                for index in inside
            ]
            pieces.append(self._pieces(example, segment, [ids[index] for index in inside], offsets))
        parts: list[TemplatePart] = []
        for token, place in zip(ids, places, strict=True):
            if place is None:
                parts.append(TemplatePart(token, None, 0))
            elif not parts or parts[-1].text != place:
                parts.append(TemplatePart(None, place, 0))
        return pieces, self._bos(tuple(parts))

    def _tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        try:
            coded = self.tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
        except TypeError:  # what fast tokenizers raise for a text that is not Unicode
            if not any("\ud800" <= sign <= "\udfff" for sign in text):
                raise
            raise UserError(
                "the text has half of a surrogate pair (\\ud800 to \\udfff), which is not a "
                "character",
                hint='clean the text, e.g. text.encode("utf-8", "replace").decode()',
                command="give the text as UTF-8",
            ) from None
        return coded["input_ids"], coded["offset_mapping"]

    def _bos(self, parts: tuple[TemplatePart, ...]) -> tuple[TemplatePart, ...]:
        return with_bos(parts, self.bos, self.bos_token)

    def _pieces(
        self, example: Example, segment: int, tokens: list[int], offsets: list[tuple[int, int]]
    ) -> Pieces:
        """The pieces of one text, each with its word."""
        ids = np.array(tokens, dtype=np.int64)
        text = example.texts[segment]
        owners = self._words(example, segment, ids, offsets)
        units = owners
        if not example.words:
            spans = np.array(plain_words((text,))[0], dtype=np.int64).reshape(-1, 2)
            local = align(text, offsets, spans[:, 1], spans[:, 0])
            before = sum(len(words) for words in plain_words(example.texts[:segment]))
            units = np.where(local >= 0, local + before, -1)
        return Pieces(ids, owners, characters(text, offsets), units)

    def _words(
        self, example: Example, segment: int, ids: NDArray[np.int64], offsets: list[tuple[int, int]]
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

    def _fit(
        self, pieces: list[Pieces], template: tuple[TemplatePart, ...]
    ) -> list[list[Pieces]] | None:
        """Cut the texts to the room that special tokens leave; None drops the example."""
        room = self.max_length - _specials(template) - (self.start is not None)
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

    def _assemble(
        self, example: Example, pieces: list[Pieces], template: tuple[TemplatePart, ...]
    ) -> Encoded:
        """Put the texts into the tokenizer's template."""
        rows: list[tuple[int, int, int, int, int, str, int]] = []
        if self.start is not None:
            rows.append(self._special(self.start, 0, first=True))
        for part in template:
            if part.token is not None:
                rows.append(self._special(part.token, part.type, first=not rows))
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
        return Encoded(
            example,
            np.array(ids, np.int64),
            np.array(types, np.int64) * self.token_types,
            np.array(kind, np.int8),
            np.array(segment, np.int8),
            np.array(word, np.int64),
            np.array([piece.strip() in FULL_STOPS for piece in text], np.bool_),
            text,
            np.array(unit, np.int64),
            np.array(ids, np.int64) == self.unknown,
        )

    def _special(
        self, token: int, type: int, *, first: bool
    ) -> tuple[int, int, int, int, int, str, int]:
        kind = special_kind(self.tokenizer, token)
        if self.bos == "add" and token == self.bos_token:
            kind = START
        if self.chat and kind == START and not first:  # the mark of a turn, as in ChatML
            kind = OTHER
        return token, type, kind, -1, -1, "", -1


def _length(pieces: list[Pieces]) -> int:
    """How many tokens some texts have."""
    return sum(len(part.ids) for part in pieces)


def _specials(parts: tuple[TemplatePart, ...]) -> int:
    """How many tokens a template adds."""
    return sum(part.token is not None for part in parts)


def _place(span: tuple[int, int], starts: tuple[int, ...], stops: tuple[int, ...]) -> int | None:
    """The text of a chat that a token belongs to; None for one of the template."""
    for text, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        if span[0] < stop and span[1] > start:
            return text
    return None
