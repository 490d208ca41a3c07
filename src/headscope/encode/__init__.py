"""Encoding: tokens, the words that they belong to, and batches."""

from headscope.encode.batch import UNIT, WINDOW, Batch, WorkUnit, batches, collate, work_units
from headscope.encode.chat import check_chat
from headscope.encode.encoded import Counts, Encoded
from headscope.encode.encoder import LONG, Encoder
from headscope.encode.pieces import shorten
from headscope.encode.template import BOS, OTHER, SEPARATOR, START, TEXT, Bos, check_bos

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
    "work_units",
]
