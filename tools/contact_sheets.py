"""Draw attention maps on contact sheets: numbered pictures, 24 to a PNG file."""

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
PICTURE, GAP, TOP, ACROSS, DOWN = 184, 10, 16, 6, 4


def picture(packed: np.ndarray, second: int) -> np.ndarray:
    """Draw a map as the paper does: queries in rows, keys in columns, dark means high.

    Shades are square roots of weights, clipped at the 99th percentile. Ticks mark where a second
    text begins.
    """
    root = packed.astype(np.float64)
    shade = np.clip(root / max(float(np.quantile(root, 0.99)), 1.0), 0.0, 1.0)
    places = np.arange(PICTURE) * len(packed) // PICTURE
    drawn = np.full((PICTURE + 12, PICTURE + 12), 255, np.uint8)
    drawn[6:-6, 6:-6] = np.round(255 * (1.0 - shade))[places][:, places]
    drawn[5, 5:-5] = drawn[-6, 5:-5] = drawn[5:-5, 5] = drawn[5:-5, -6] = 150
    if second:
        at = 6 + second * PICTURE // len(packed)
        drawn[at, :6] = drawn[at, -6:] = drawn[:6, at] = drawn[-6:, at] = 0
    return drawn


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
) -> None:
    """Write contact sheets of 24 maps each, as ``NAME_00.png`` and so on.

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
    """
    wide, high = PICTURE + 12 + GAP, PICTURE + 12 + TOP
    for sheet, start in enumerate(range(0, len(maps), ACROSS * DOWN), first):
        page = np.full((DOWN * high + GAP, ACROSS * wide + GAP), 255, np.uint8)
        for place in range(min(ACROSS * DOWN, len(maps) - start)):
            top, left = place // ACROSS * high, GAP + place % ACROSS * wide
            label = number(numbers[start + place])
            page[top + 5 : top + 5 + label.shape[0], left + 6 : left + 6 + label.shape[1]] = label
            page[top + TOP : top + high, left : left + wide - GAP] = picture(
                maps[start + place], seconds[start + place]
            )
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
