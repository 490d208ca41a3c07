"""Limits on what is read from files, so that a small or damaged file cannot fill the memory.

Every reader of users' files goes through this package. The limits are far above what real corpora
have. Each can be raised by an environment variable, which the error names.
"""

from headscope.limits.limit import (
    ALL,
    FREE,
    LINE,
    MEMBER,
    NESTING,
    RATIO,
    RECORD,
    RESULTS,
    UNPACKED,
    Limit,
)
from headscope.limits.strict_json import parse_json, read_json, read_text
from headscope.limits.unpack import open_bytes, open_tar, raw_lines, too_long

__all__ = [
    "ALL",
    "FREE",
    "LINE",
    "MEMBER",
    "NESTING",
    "RATIO",
    "RECORD",
    "RESULTS",
    "UNPACKED",
    "Limit",
    "open_bytes",
    "open_tar",
    "parse_json",
    "raw_lines",
    "read_json",
    "read_text",
    "too_long",
]
