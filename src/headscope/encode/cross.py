"""Tokens for cross attention: a decoder's rows, and the encoder's keys that they attend to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from headscope.corpus.example import Example
from headscope.encode.batch import Batch, collate
from headscope.encode.encoder import Counts, Encoded, Encoder
from headscope.errors import UserError


@dataclass(frozen=True, slots=True)
class CrossEncoded(Encoded):
    """The tokens of a decoder, with those of the encoder.

    Parameters
    ----------
    keys
        The encoder's tokens: the columns of cross attention. Everything else is of the decoder's
        tokens, its rows.
    """

    keys: Encoded


def key_item(item: Encoded) -> Encoded:
    """The tokens that an example's tokens attend to: themselves, except in cross attention."""
    return item.keys if isinstance(item, CrossEncoded) else item


def key_batch(batch: Batch, *, pad: int = 0) -> Batch:
    """The same for a batch: the encoder's tokens in cross attention, else the batch itself."""
    if not any(isinstance(item, CrossEncoded) for item in batch.items):
        return batch
    return collate([key_item(item) for item in batch.items], index=batch.index, pad=pad)


COUNTED = ("truncated", "tokens", "tokens_lost")
"""What is counted of both texts; a single text counts twice, since both stacks read it."""


class CrossEncoder:
    """Turns examples into tokens for cross attention.

    The encoder reads the first text of a pair and the decoder the second. A single text goes to
    both.

    Parameters
    ----------
    keys, rows
        The encoders of the tokens that the encoder and the decoder of the model read.

    Attributes
    ----------
    counts
        What happened to the examples so far. An example counts as truncated if either text was.
    """

    def __init__(self, keys: Encoder, rows: Encoder) -> None:
        if rows.long == "split":
            raise UserError(
                "long texts cannot be split for cross attention: the parts of one text do not "
                "belong to those of the other",
                hint='give long="truncate" or long="drop"',
            )
        self.keys, self.rows = keys, rows
        self.counts = Counts()

    def encode(self, examples: Iterable[Example]) -> Iterator[Encoded]:
        """Encode examples one by one; those of which either text cannot be used are dropped."""
        for example in examples:
            self.counts.read += 1
            before = [self._both(name) for name in COUNTED]
            keys = self._one(self.keys, example, example.texts[0])
            rows = None if keys is None else self._one(self.rows, example, example.texts[-1])
            truncated, tokens, lost = (
                self._both(name) - number for name, number in zip(COUNTED, before, strict=True)
            )
            self.counts.tokens += tokens
            if keys is None or rows is None:
                self.counts.tokens_lost += tokens
                continue
            self.counts.tokens_lost += lost
            self.counts.truncated += truncated > 0
            self.counts.used += 1
            parts = {part.name: getattr(rows, part.name) for part in fields(rows)}
            yield CrossEncoded(**(parts | {"example": example}), keys=keys)

    def _both(self, name: str) -> int:
        """A count of both encoders together."""
        return int(getattr(self.keys.counts, name) + getattr(self.rows.counts, name))

    def _one(self, encoder: Encoder, example: Example, text: str) -> Encoded | None:
        """The tokens of one text; None, with the reason counted, if it has none or too many."""
        empty = encoder.counts.empty
        alone = Example(example.id, (text,), source=example.source)
        encoded = next(iter(encoder.encode([alone])), None)
        if encoded is None and encoder.counts.empty > empty:
            self.counts.empty += 1
            self.counts.drop(example, "no tokens")
        elif encoded is None:
            self.counts.too_long += 1
            self.counts.drop(example, f"more than {encoder.max_length} tokens")
        return encoded
