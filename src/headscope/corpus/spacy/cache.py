"""A cache on disk for parses, so that spaCy parses a corpus only once."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from headscope.corpus.example import ROOT, Word
from headscope.errors import UserError
from headscope.files import cache_folder, write_bytes

FORMAT = 1
"""Increased whenever the same text gives other words than before, or is written differently."""
EVERY = 500
"""After how many new parses the file is saved, so that a killed run does not lose all of them."""
FIELDS = [str, int, int, int, str, str, str, str]
DAMAGED = (OSError, EOFError, zlib.error, ValueError, RecursionError)


class ParseCache:
    """The parses of one corpus by one parser, in the order of its texts.

    First :meth:`recall` those that are there, then :meth:`add` the rest. Each parse has a checksum
    of its texts and its words, so that a damaged one, or one of another text, is never used.

    Parameters
    ----------
    *key : object
        Everything that decides what the texts are and how they are parsed. Without a key, nothing
        is kept.
    """

    def __init__(self, *key: object) -> None:
        folder = cache_folder() if key else None
        name = hashlib.sha256(json.dumps([FORMAT, *key]).encode()).hexdigest()[:32]
        self.path = folder and folder / "parses" / f"{name}.jsonl.gz"
        self._kept = _lines(self.path) if self.path else iter(())
        self._count = 0
        self._new: list[str] = []

    def recall(self, texts: Sequence[str]) -> tuple[Word, ...] | None:
        """The words of the next texts, or None if they are not in the cache.

        A file that is damaged, or holds other texts, is deleted.
        """
        try:
            line = next(self._kept, None)
            words = None if line is None else _decode(line, texts)
        except FileNotFoundError:
            return None
        except DAMAGED:
            self._discard()
            return None
        self._count += words is not None
        return words

    def add(self, texts: Sequence[str], words: Sequence[Word]) -> None:
        """Keep the words of the next texts; only call it once ``recall`` has found no more."""
        if self.path:
            self._new.append(_encode(texts, words))
            # Each save writes the whole file, so that saves become rarer as it grows.
            if len(self._new) >= max(EVERY, self._count // 4):
                self.save()

    def save(self) -> None:
        """Append what was added to the file.

        A longer file, written by another process, is left alone. If the folder cannot be written,
        a warning says so, and nothing is kept.
        """
        if not self.path or not self._new:
            return
        old, there = self._there(self.path)
        if self._count <= there < self._count + len(self._new):
            more = "".join(self._new[there - self._count :]).encode("ascii")
            try:
                # Several gzip files one after the other are one gzip file.
                write_bytes(self.path, old + gzip.compress(more, compresslevel=6, mtime=0))
            except UserError as error:
                _warn(f"parses are not kept: {error.message}")
                self.path = None
        self._count += len(self._new)
        self._new = []

    def close(self) -> None:
        """Save, and close the file."""
        self.save()
        self._kept = iter(())

    def _there(self, path: Path) -> tuple[bytes, int]:
        """The file as it is now, and how many parses it holds."""
        try:
            old = path.read_bytes()
            return old, sum(1 for _ in gzip.GzipFile(fileobj=io.BytesIO(old)))
        except FileNotFoundError:
            return b"", 0
        except DAMAGED:
            self._discard()
            return b"", 0

    def _discard(self) -> None:
        if self.path:
            with suppress(OSError):
                self.path.unlink()


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="ascii", newline="\n") as file:
        yield from file


def _checksum(texts: Sequence[str], words: Any) -> str:
    return hashlib.sha256(json.dumps([list(texts), words]).encode()).hexdigest()[:32]


def _encode(texts: Sequence[str], words: Sequence[Word]) -> str:
    rows = [
        [
            word.text,
            word.segment,
            word.sentence,
            word.head,
            word.relation,
            word.upos,
            word.xpos,
            word.lemma,
        ]
        for word in words
    ]
    return json.dumps({"checksum": _checksum(texts, rows), "words": rows}) + "\n"


def _decode(line: str, texts: Sequence[str]) -> tuple[Word, ...]:
    record = json.loads(line)
    rows = record.get("words") if isinstance(record, dict) else None
    if not isinstance(rows, list) or record.get("checksum") != _checksum(texts, rows):
        raise ValueError("not a parse of these texts")
    if any(not isinstance(row, list) or [type(field) for field in row] != FIELDS for row in rows):
        raise ValueError("not the fields of words")
    words = tuple(Word(*row) for row in rows)
    if not all(_in_range(word, len(texts), len(words)) for word in words):
        raise ValueError("a number out of range")
    return words


def _in_range(word: Word, texts: int, words: int) -> bool:
    heads = word.head is not None and ROOT <= word.head < words
    return heads and 0 <= word.segment < texts and word.sentence >= 0


@cache
def _warn(message: str) -> None:
    """Log a warning, once."""
    logging.getLogger(__name__).warning(message)
