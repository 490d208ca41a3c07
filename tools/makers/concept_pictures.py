"""Draw the pictures of docs/explanation/concepts.md: a head's lines, its map, and a role's sieve.

Run: python tools/makers/concept_pictures.py
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import headscope as hs
from headscope.figures import attention_lines, save_chart

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "concepts"
TEXT = "The old dog that I saw barked at the cat."
HEAD = "1-3"


def grid(values: NDArray[np.float64], tokens: list[str], title: str) -> alt.Chart:
    """A map: queries down, keys across."""
    numbered = [f"{place:02d} {token}" for place, token in enumerate(tokens)]
    rows = [
        {"from": numbered[query], "to": numbered[key], "weight": float(values[query, key])}
        for query in range(len(tokens))
        for key in range(len(tokens))
    ]
    axis = alt.Axis(labelExpr="substring(datum.label, 3)", ticks=False, domain=False)
    return (
        alt.Chart(pd.DataFrame(rows), title=title, width=300, height=300)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("to:N", axis=axis, title="to (key)"),
            y=alt.Y("from:N", axis=axis, title="from (query)"),
            color=alt.Color(
                "weight:Q",
                scale=alt.Scale(domain=[0, 1], range=["#f4f6fa", "#1f4e8c"]),
                title="weight, 0–1",
            ),
        )
    )


def main() -> None:
    """Write the three pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = hs.attention("demo", TEXT)
    tokens = [str(token) for token in text.maps["query_token"].values]
    weights = np.asarray(text.head(HEAD).values, np.float64)
    lines = attention_lines(tokens, weights, title=f"Head {HEAD} at work")
    save_chart(lines, FOLDER / "lines.png")
    save_chart(grid(weights, tokens, f"The map of head {HEAD}"), FOLDER / "map.png")
    places = np.arange(len(tokens))
    away = places[None, :] - places[:, None]
    before = ((away < 0) & (away >= -2)).astype(float)
    save_chart(grid(before, tokens, "The sieve of the role previous-local"), FOLDER / "sieve.png")


if __name__ == "__main__":
    main()
