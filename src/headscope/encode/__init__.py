"""Encoding: tokens, the words that they belong to, and batches."""

from headscope.encode.batch import WINDOW, Batch, batches, collate
from headscope.encode.encoded import Counts, Encoded
from headscope.encode.encoder import LONG, Encoder, shorten
from headscope.encode.template import OTHER, SEPARATOR, START, TEXT

__all__ = [
    "LONG",
    "OTHER",
    "SEPARATOR",
    "START",
    "TEXT",
    "WINDOW",
    "Batch",
    "Counts",
    "Encoded",
    "Encoder",
    "batches",
    "collate",
    "shorten",
]
