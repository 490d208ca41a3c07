"""Parses kept on disk: what spaCy found in a corpus is found once, then read."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from headscope.corpus.example import ROOT, Word

FORMAT = 1
"""Counted up whenever the same text gives other words than before, or is written another way."""
EVERY = 500
"""After how many new parses they are saved, so that a run that is killed does not lose them all."""
FIELDS = [str, int, int, int, str, str, str, str]
DAMAGED = (OSError, EOFError, zlib.error, ValueError, RecursionError)


def cache_folder() -> Path | None:
    """Where things are kept between runs: $HEADSCOPE_CACHE, else $XDG_CACHE_HOME/headscope, else ~/.cache/headscope; None where it is off or there is no home."""
    given, base = os.environ.get("HEADSCOPE_CACHE", ""), Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        if given:
            return None if given == "off" else Path(given).expanduser()
        return (base if base.is_absolute() else Path.home() / ".cache") / "headscope"
    except RuntimeError:
        return None


class Parses:
    """The parses of one corpus by one parser, in the order of its texts: recall those that are there, then add the rest.

    Each carries a checksum of its texts and its words, so that a parse of another text, or a damaged one, is never taken.
    """

    def __init__(self, *key: object) -> None:
        """Open the parses kept under a key: all that decides what the texts are and how they are parsed. Without a key nothing is kept."""
        folder = cache_folder() if key else None
        name = hashlib.sha256(json.dumps([FORMAT, *key]).encode()).hexdigest()[:32]
        self.path = folder and folder / "parses" / f"{name}.jsonl.gz"
        self._kept = _lines(self.path) if self.path else iter(())
        self._count = 0
        self._new: list[str] = []

    def recall(self, texts: Sequence[str]) -> tuple[Word, ...] | None:
        """The words of the next texts, or None if they were not kept. A store that is damaged, or of other texts, is thrown away."""
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
        """Keep the words of the next texts; only once ``recall`` has found no more."""
        if self.path:
            self._new.append(_encode(texts, words))
            if len(self._new) >= max(
                EVERY, self._count // 4
            ):  # the whole file is written anew each time, so ever more rarely
                self.save()

    def save(self) -> None:
        """Put what was added behind what is there. A longer store, by another process, stays; a folder that cannot be written is no error."""
        if not self.path or not self._new:
            return
        try:
            old, there = self._there(self.path)
            if self._count <= there < self._count + len(self._new):
                more = "".join(self._new[there - self._count :]).encode("ascii")
                _replace(
                    self.path, old, gzip.compress(more, compresslevel=6, mtime=0)
                )  # gzip files one after the other are one gzip file
        except OSError as error:
            _tell(
                f"parses are not kept, {self.path.parent} cannot be written: {error.strerror or error}"
            )
            self.path = None
        self._count += len(self._new)
        self._new = []

    def close(self) -> None:
        """Save, and let go of the file."""
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


def _replace(path: Path, *parts: bytes) -> None:
    """Write beside the file, then put that in its place in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", suffix=".tmp", delete=False
    ) as file:
        temporary = Path(file.name)
        try:
            file.writelines(parts)
            file.close()
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


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
    if any(
        not (
            0 <= word.segment < len(texts)
            and word.sentence >= 0
            and word.head is not None
            and ROOT <= word.head < len(words)
        )
        for word in words
    ):
        raise ValueError("a number out of range")
    return words


@cache
def _tell(message: str) -> None:
    logging.getLogger(__name__).warning(message)
