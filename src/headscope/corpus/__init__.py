"""Corpora: reading text, pairs and treebanks into examples."""

from headscope.corpus.corpus import Corpus, from_examples, from_texts
from headscope.corpus.example import (
    ROOT,
    Example,
    FrameLink,
    Mention,
    Word,
    bucket_of,
    join_words,
    plain_words,
    sentence_numbers,
    surface_words,
)
from headscope.corpus.reading import CorpusLike, read, read_documents

__all__ = [
    "ROOT",
    "Corpus",
    "CorpusLike",
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
    "read_documents",
    "sentence_numbers",
    "surface_words",
]
