"""Corpora: reading text, pairs and treebanks into examples."""

from headscope.corpus.corpus import Corpus, from_examples, from_texts, read
from headscope.corpus.example import (
    ROOT,
    Example,
    FrameLink,
    Mention,
    Word,
    bucket_of,
    join_words,
    plain_words,
    surface_words,
)

__all__ = [
    "ROOT",
    "Corpus",
    "Example",
    "FrameLink",
    "Mention",
    "Word",
    "bucket_of",
    "from_examples",
    "from_texts",
    "join_words",
    "plain_words",
    "read",
    "surface_words",
]
