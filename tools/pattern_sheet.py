"""Draw test maps of each pattern class on one sheet, for the docs.

    python tools/pattern_sheet.py docs/images/patterns/test-maps.png

Rows are the labels: vertical, diagonal, vertical+diagonal, block, heterogeneous. The maps are drawn
by seed from the second round of the test split. A thick frame marks those that the network puts
into another class.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import contact_sheets
import numpy as np
from contact_sheets import EDGE, GAP, picture, write_png

from headscope.measures.patterns.labels import read_labelled
from headscope.measures.patterns.network import CLASSES, load_network
from headscope.measures.patterns.training import predict

ACROSS, SEED, FRAME = 8, 0, 4


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    output: Path = parser.parse_args().output
    contact_sheets.PICTURE = 128
    held = read_labelled().part(split="test", round="2")
    random = np.random.default_rng(SEED)
    side = contact_sheets.PICTURE + 2 * EDGE + GAP + FRAME
    page = np.full((len(CLASSES) * side, ACROSS * side), 255, np.uint8)
    for row, name in enumerate(CLASSES):
        places = [index for index, label in enumerate(held.labels) if label == name]
        chosen = held.take(sorted(random.permutation(places)[:ACROSS].tolist()))
        found = predict(load_network(), chosen.maps)
        for column, (one, known) in enumerate(zip(chosen.maps, chosen.known, strict=True)):
            drawn = picture(one, int(known["second"]))
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
