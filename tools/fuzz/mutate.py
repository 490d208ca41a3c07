"""Changes of valid files: of bytes, of cells and of JSON values."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

TOKENS: tuple[bytes, ...] = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b"\r", b"\n",
    b"\n\n", b"\t", b"\t\t\t\t\t\t\t\t\t", b" ", b"\xc2\xb2", b"\xd9\xa3", b"_", b"-", b"0", b"-1",
    b"1e999", b"9" * 20, b"9" * 5000, b"NaN", b"Infinity", b"null", b"true", b"{}", b"[]", b'""',
    b"[" * 5000, b'{"a":' * 2000, b"(" * 600, b")", b"(", b"|", b"Entity=(", b"Entity=1)", b"#",
    b"# newdoc", b"# global.Entity = a-b", b"#begin document ", b"#end document", b'"', b"\\",
    b"\\ud800", b"\\u0000", b",", b";", b"1.1", b"1-2", b"*-*", b"L1H1", b"(-NONE- x)", b"()",
    b"\x1f\x8b", b"PK", b"\x93NUMPY", b"x" * 3000,
)  # fmt: skip
"""Bytes that readers have stumbled over, or might."""
KINDS = ("flip", "insert", "delete", "repeat", "replace", "token", "cut", "swap")
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, "", " ", "x", "\0", "²",
    "a\nb", "3-9", "*-*", "9" * 5000, "\ud800", [], {}, [[]], [None], {"": ""}, [0, 0], [1, 0],
    ["a"],
)  # fmt: skip
"""Values that are put into JSON."""


def change(data: bytes, kind: str, place: int, size: int, token: int) -> bytes:
    """Change bytes in one of the ways of :data:`KINDS`.

    >>> change(b"abcd", "delete", 1, 2, 0)
    b'ad'
    """
    at = place % (len(data) + 1)
    end = min(at + size, len(data))
    given = TOKENS[token % len(TOKENS)]
    new: dict[str, Callable[[], bytes]] = {
        "flip": lambda: (
            bytes(byte ^ (1 << token % 8) for byte in data[at : at + 1]) + data[at + 1 : end]
        ),
        "insert": lambda: bytes([token % 256]) + data[at:end],
        "delete": lambda: b"",
        "repeat": lambda: data[at:end] * (2 + token % 4),
        "replace": lambda: bytes([token % 256]) * (end - at),
        "token": lambda: given,
        "cut": lambda: b"",
        "swap": lambda: data[at:end][::-1],
    }
    return data[:at] + new[kind]() + (b"" if kind == "cut" else data[end:])


def change_cell(data: bytes, line: int, cell: int, token: int) -> bytes:
    """Replace one cell of a tab-separated file."""
    lines = data.split(b"\n")
    cells = lines[line % len(lines)].split(b"\t")
    cells[cell % len(cells)] = TOKENS[token % len(TOKENS)]
    lines[line % len(lines)] = b"\t".join(cells)
    return b"\n".join(lines)


def change_json(data: bytes, line: int, place: int, value: int) -> bytes:
    """Replace one value, at any depth, of one line of JSON."""
    lines = data.split(b"\n")
    try:
        whole = json.loads(lines[line % len(lines)])
    except (ValueError, RecursionError):
        return data
    if not isinstance(whole, dict | list):
        return data
    places = list(_places(whole))
    if places:
        parent, key = places[place % len(places)]
        parent[key] = VALUES[value % len(VALUES)]
    lines[line % len(lines)] = json.dumps(whole).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def _places(value: Any) -> Any:
    """Where each value inside a JSON value is: its parent and its key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(pairs):
        yield value, key
        if isinstance(part, dict | list):
            yield from _places(part)


def mutated(data: bytes, others: tuple[bytes, ...], rng: Random) -> bytes:
    """Change a file at random, in one to five steps."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        way = rng.random()
        if way < 0.55:
            kind = rng.choice(KINDS)
            size = rng.choice((0, 1, 1, 2, 4, 16, 64))
            data = change(data, kind, rng.randrange(len(data) + 1), size, rng.randrange(1 << 16))
        elif way < 0.7:
            data = change_cell(data, *(rng.randrange(1 << 16) for _ in range(3)))
        elif way < 0.9:
            data = change_json(data, *(rng.randrange(1 << 16) for _ in range(3)))
        elif others:
            other = rng.choice(others)
            data = data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]
    return data[:200_000]
