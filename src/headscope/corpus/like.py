"""What may stand for a corpus wherever one is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headscope.corpus.corpus import Corpus, from_texts, read

CorpusLike = Any
"""A path, "demo", a corpus, or a list of texts."""


def as_corpus(source: CorpusLike) -> Corpus:
    """The corpus that something stands for."""
    if isinstance(source, Corpus):
        return source
    return read(source) if isinstance(source, str | Path) else from_texts(source)
