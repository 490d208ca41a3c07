"""Draw the picture of the README: a head at work on a sentence, beside the grid of all heads.

Run: python tools/readme_picture.py
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np

import headscope as hs
from headscope.figures import attention_lines, save_chart
from headscope.figures.heat import measure_map

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "readme.png"
TEXT = "The old dog that I saw barked at the cat."
HEAD = "1-3"


def main() -> None:
    """Write the picture."""
    model = hs.load("demo")
    text = hs.attention(model, TEXT)
    weights = np.asarray(text.head(HEAD).values, np.float64)
    lines = attention_lines(list(text.tokens), weights, title=f"Head {HEAD} at work")
    atlas = hs.survey(model, "demo", measures=["position"], limit=24)
    grid = measure_map(
        atlas,
        "position",
        "All heads: attention to the previous token",
        offset="previous",
        unit="share of attention, 0–1",
    )
    config = grid.config
    for chart in (lines, grid):  # settings belong to the whole picture
        chart.config = alt.Undefined
    both = alt.hconcat(lines, grid, spacing=40, config=config)
    save_chart(both, PICTURE, scale=1.5)


if __name__ == "__main__":
    main()
