"""Encoding: tokens, the words that they belong to, and batches."""

from headscope.encode.batch import (
    UNIT,
    WINDOW,
    Batch,
    WorkUnit,
    batches,
    collate,
    token_batch,
    work_units,
)
from headscope.encode.encoder import LONG, Counts, Encoded, Encoder, shorten
from headscope.encode.template import BOS, OTHER, SEPARATOR, START, TEXT, Bos, check_bos, check_chat

__all__ = [
    "BOS",
    "LONG",
    "OTHER",
    "SEPARATOR",
    "START",
    "TEXT",
    "UNIT",
    "WINDOW",
    "Batch",
    "Bos",
    "Counts",
    "Encoded",
    "Encoder",
    "WorkUnit",
    "batches",
    "check_bos",
    "check_chat",
    "collate",
    "shorten",
    "token_batch",
    "work_units",
]
