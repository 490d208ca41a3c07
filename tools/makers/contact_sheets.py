"""Draw attention maps on contact sheets: numbered pictures, 16 to a PNG file.

    python tools/makers/contact_sheets.py docs/images/patterns/test-maps.png

draws test maps of each pattern class on one sheet, for the docs. Rows are the labels: vertical,
diagonal, vertical+diagonal, block, heterogeneous. The maps are drawn by seed from the second round
of the test split. A thick frame marks those that the network puts into another class.
"""

from __future__ import annotations

import argparse
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headscope.measures.patterns.labels import read_labelled
from headscope.measures.patterns.network import CLASSES, load_network
from headscope.measures.patterns.training import predict

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
SMALL, COLUMNS, SEED, FRAME = 128, 8, 0, 4
"""The sheet of the docs: the size of a picture, pictures per row, and the width of a frame."""


def picture(
    packed: np.ndarray, second: int, special: Sequence[int] = (), *, wide: int = PICTURE
) -> np.ndarray:
    """Draw a map as the paper does: queries in rows, keys in columns, dark means high.

    Shades are square roots of weights, clipped at the 99th percentile. Long black ticks at all four
    edges mark where a second text begins, short black ones special tokens, and grey ones every
    sixteenth token. Each token is a whole number of dots, so that no line looks thicker than
    another.
    """
    root = packed.astype(np.float64)
    shade = np.clip(root / max(float(np.quantile(root, 0.99)), 1.0), 0.0, 1.0)
    dots = max(wide // len(packed), 1)
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


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    output: Path = parser.parse_args().output
    held = read_labelled().part(split="test", round="2")
    random = np.random.default_rng(SEED)
    side = SMALL + 2 * EDGE + GAP + FRAME
    page = np.full((len(CLASSES) * side, COLUMNS * side), 255, np.uint8)
    for row, name in enumerate(CLASSES):
        places = [index for index, label in enumerate(held.labels) if label == name]
        chosen = held.take(sorted(random.permutation(places)[:COLUMNS].tolist()))
        found = predict(load_network(), chosen.maps)
        for column, (one, known) in enumerate(zip(chosen.maps, chosen.known, strict=True)):
            drawn = picture(one, int(known["second"]), wide=SMALL)
            if found[column] != name:
                inner = drawn[FRAME:-FRAME, FRAME:-FRAME].copy()
                drawn[:] = 0
                drawn[FRAME:-FRAME, FRAME:-FRAME] = inner
            top, left = row * side, column * side
            page[top : top + len(drawn), left : left + len(drawn)] = drawn
    output.parent.mkdir(parents=True, exist_ok=True)
    write_png(output, page)


if __name__ == "__main__":
    main()
