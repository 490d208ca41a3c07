"""A text as the explorer shows it: its tokens, its words, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, surface_words
from headscope.encode import Encoded
from headscope.encode.template import TEXT
from headscope.errors import UserError
from headscope.models import Model
from headscope.runs.text_maps import token_names

UNLIMITED = 10**7
MOST = 8192
"""The most tokens of a text, whatever the model takes: more cannot be looked at."""


class LiveText(NamedTuple):
    """What a user typed.

    Parameters
    ----------
    text, second
        The text, and the second text of a pair.
    more
        Ids of tokens that were generated after the text.
    """

    text: str
    second: str | None = None
    more: tuple[int, ...] = ()


@dataclass(frozen=True)
class Reading:
    """The tokens of a text.

    Attributes
    ----------
    encoded
        What the model reads.
    tokens
        The tokens as they are shown; special tokens by their names.
    words
        The words that have tokens.
    unit
        The word of each token, -1 for special tokens.
    special, stop
        Which tokens are special, and which are "." or ",".
    masks
        Where the mask token stands.
    """

    encoded: Encoded
    tokens: list[str]
    words: list[str]
    unit: NDArray[np.int64]
    special: NDArray[np.bool_]
    stop: NDArray[np.bool_]
    masks: list[int]

    def __len__(self) -> int:
        return len(self.encoded)


def longest(model: Model) -> int:
    """The most tokens that a text may have."""
    return min(model.longest or MOST, MOST)


def read_text(model: Model, given: LiveText, stack: str) -> Reading:
    """Encode a text.

    Parameters
    ----------
    model
        The model that is to read it.
    given
        The text, its pair, and generated tokens.
    stack
        The stack of layers that reads it.

    Raises
    ------
    UserError
        If the text is empty, has something that is not a character, or is longer than the model
        takes.
    """
    texts = (given.text,) if given.second is None else (given.text, given.second)
    if not all(one.strip() for one in texts):
        raise UserError("the text is empty", hint="type at least one word")
    encoder = model.encoder(max_length=longest(model), long="truncate", stack=stack)
    encoder.max_length = UNLIMITED  # so that the error can say how long the text is
    encoded = next(iter(encoder.encode([Example("text", texts)])), None)
    if encoded is None:
        raise UserError("the text has no tokens", hint="type at least one word")
    if given.more:
        encoded = with_more(model, encoded, given.more)
    if len(encoded) > longest(model):
        raise UserError(
            f"the text has {len(encoded):,} tokens, and at most {longest(model):,} can be read by "
            f"{model.label} here",
            hint="shorten the text",
        )
    return _reading(model, encoded)


def with_more(model: Model, encoded: Encoded, ids: Sequence[int]) -> Encoded:
    """The tokens of a text with generated ones after them.

    Generated tokens are kept as they are: the tokenizer might cut their text in another way.
    """
    size = len(model.tokenizer)
    if any(not 0 <= one < size for one in ids):
        raise UserError(f"generated tokens must be numbers from 0 to {size - 1}")
    written = [model.tokenizer.decode(list(ids[:count])) for count in range(len(ids) + 1)]
    pieces = [after[len(before) :] for before, after in pairwise(written)]
    units, last = [], int(encoded.unit.max(initial=-1))
    end = encoded.text[-1][-1:] if encoded.text else ""
    for piece in pieces:
        continues = end.isalnum() and piece[:1].isalnum() and last >= 0
        last += not continues
        units.append(last)
        end = piece[-1:]
    count = len(ids)
    return replace(
        encoded,
        ids=np.concatenate([encoded.ids, np.array(ids, np.int64)]),
        types=np.concatenate([encoded.types, np.full(count, encoded.types[-1])]),
        kind=np.concatenate([encoded.kind, np.full(count, TEXT, np.int8)]),
        segment=np.concatenate([encoded.segment, np.full(count, encoded.segment.max(), np.int8)]),
        word=np.concatenate([encoded.word, np.full(count, -1)]),
        stop=np.concatenate([encoded.stop, np.array([one.strip() in ".," for one in pieces])]),
        text=(*encoded.text, *pieces),
        unit=np.concatenate([encoded.unit, np.array(units, np.int64)]),
        unknown=np.concatenate([encoded.unknown, np.zeros(count, np.bool_)]),
    )


def _reading(model: Model, encoded: Encoded) -> Reading:
    """What is shown of the tokens. Words are numbered anew: those without tokens are left out."""
    tokens = token_names(model, encoded)
    names = surface_words(encoded.example)
    special = encoded.kind != TEXT
    mask = model.tokenizer.mask_token_id
    masks = [] if mask is None else np.flatnonzero(encoded.ids == mask).tolist()
    words: list[str] = []
    unit = np.full(len(encoded), -1, np.int64)
    last: int | None = None
    for place in np.flatnonzero(~special).tolist():
        own = int(encoded.unit[place])
        alone = own < 0 or place in masks
        if alone or own != last:
            known = 0 <= own < len(names) and not alone
            words.append(names[own] if known else tokens[place])
        elif own >= len(names):  # a generated word has the characters of its pieces
            words[-1] += encoded.text[place]
        unit[place] = len(words) - 1
        last = None if alone else own
    return Reading(encoded, tokens, words, unit, special, encoded.stop, masks)
