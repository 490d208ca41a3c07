"""Writing documents with coreference to files, and reading their mentions."""

import gzip

import pytest

from headscope import corpus
from headscope.errors import CorpusError


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


def spans(example):
    return [
        (mention.start, mention.end, mention.head, mention.entity, mention.kind)
        for mention in example.mentions
    ]


def complaint(path, **options):
    with pytest.raises(CorpusError) as caught:
        list(corpus.read(path, **options))
    return str(caught.value)
