"""Files that tests write, and what is read from them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headscope import corpus


def written(path: Path, text: str | bytes) -> Path:
    """The path, with the text in it; packed where its name ends in ``.gz``, in new folders."""
    data = text.encode() if isinstance(text, str) else text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.name.lower().endswith(".gz") else data)
    return path


def read_written(path: Path, text: str | bytes, **options: Any) -> list[corpus.Example]:
    """The examples in a file with this text."""
    return list(corpus.read(written(path, text), **options))


def texts_of(examples: Iterable[corpus.Example]) -> list[tuple[str, ...]]:
    return [example.texts for example in examples]


def rows_of(examples: Iterable[corpus.Example]) -> list[tuple[tuple[str, ...], str | None]]:
    """Texts and label of each."""
    return [(example.texts, example.label) for example in examples]
