"""Draw attention maps on contact sheets: numbered pictures, 16 to a PNG file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

DIGITS = (
    "7 5 5 5 7",
    "2 6 2 2 7",
    "7 1 7 4 7",
    "7 1 7 1 7",
    "5 5 7 1 1",
    "7 4 7 1 7",
    "7 4 7 5 7",
    "7 1 1 1 1",
    "7 5 7 5 7",
    "7 5 7 1 7",
)
"""The digits in a font of 3 × 5 dots: five rows of three bits, from the top."""
PICTURE, GAP, TOP, ACROSS, DOWN = 256, 3, 11, 4, 4
EDGE = 5
"""The margin in which ticks are drawn."""
EVERY = 16
"""Grey ticks count tokens in steps of this many."""


def picture(packed: np.ndarray, second: int, special: Sequence[int] = ()) -> np.ndarray:
    """Draw a map as the paper does: queries in rows, keys in columns, dark means high.

    Shades are square roots of weights, clipped at the 99th percentile. Long black ticks at all four
    edges mark where a second text begins, short black ones special tokens, and grey ones every
    sixteenth token. Each token is a whole number of dots, so that no line looks thicker than
    another.
    """
    root = packed.astype(np.float64)
    shade = np.clip(root / max(float(np.quantile(root, 0.99)), 1.0), 0.0, 1.0)
    dots = max(PICTURE // len(packed), 1)
    size = dots * len(packed)
    drawn = np.full((size + 2 * EDGE, size + 2 * EDGE), 255, np.uint8)
    drawn[EDGE:-EDGE, EDGE:-EDGE] = np.kron(
        np.round(255 * (1.0 - shade)).astype(np.uint8), np.ones((dots, dots), np.uint8)
    )
    drawn[EDGE - 1, EDGE - 1 : 1 - EDGE] = drawn[-EDGE, EDGE - 1 : 1 - EDGE] = 150
    drawn[EDGE - 1 : 1 - EDGE, EDGE - 1] = drawn[EDGE - 1 : 1 - EDGE, -EDGE] = 150
    for token in range(EVERY, len(packed), EVERY):
        _tick(drawn, token * dots, 2, 150)
    for token in special:
        _tick(drawn, token * dots + dots // 2, 3, 0)
    if second:
        _tick(drawn, second * dots, EDGE, 0)
    return drawn


def _tick(drawn: np.ndarray, at: int, long: int, shade: int) -> None:
    """Mark a place at all four edges."""
    at += EDGE
    drawn[at, EDGE - long : EDGE] = drawn[at, -EDGE : len(drawn) - EDGE + long] = shade
    drawn[EDGE - long : EDGE, at] = drawn[-EDGE : len(drawn) - EDGE + long, at] = shade


def number(value: int) -> np.ndarray:
    """Draw a number in dots, at twice the size of its font."""
    drawn = [
        np.array(
            [
                [255 * (1 - (int(row) >> bit & 1)) for bit in (2, 1, 0)] + [255]
                for row in DIGITS[int(digit)].split()
            ],
            np.uint8,
        )
        for digit in str(value)
    ]
    return np.kron(np.concatenate(drawn, 1), np.ones((2, 2), np.uint8))


def sheets(
    folder: Path,
    name: str,
    maps: Sequence[np.ndarray],
    seconds: Sequence[int],
    numbers: Sequence[int],
    first: int = 0,
    specials: Sequence[Sequence[int]] | None = None,
) -> None:
    """Write contact sheets of 16 maps each, as ``NAME_00.png`` and so on.

    Parameters
    ----------
    folder
        Where to write them.
    name
        The first part of the files' names.
    maps
        Packed maps.
    seconds
        Where the second text of each map begins; 0 if there is none.
    numbers
        The number printed above each map.
    first
        The number of the first sheet.
    specials
        The places of the special tokens of each map, to be marked.
    """
    wide, high = PICTURE + 2 * EDGE + GAP, PICTURE + 2 * EDGE + TOP
    for sheet, start in enumerate(range(0, len(maps), ACROSS * DOWN), first):
        page = np.full((DOWN * high, ACROSS * wide + GAP), 255, np.uint8)
        for place in range(min(ACROSS * DOWN, len(maps) - start)):
            top, left = place // ACROSS * high, GAP + place % ACROSS * wide
            label = number(numbers[start + place])
            page[top : top + label.shape[0], left + 6 : left + 6 + label.shape[1]] = label
            drawn = picture(
                maps[start + place],
                seconds[start + place],
                specials[start + place] if specials is not None else (),
            )
            page[top + TOP : top + TOP + len(drawn), left : left + len(drawn)] = drawn
        write_png(folder / f"{name}_{sheet:02d}.png", page)


def write_png(path: Path, page: np.ndarray) -> None:
    """Write an 8-bit grey picture."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    height, width = page.shape
    rows = b"".join(b"\0" + row.tobytes() for row in page)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )
