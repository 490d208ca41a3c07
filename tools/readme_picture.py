"""Draw the picture of the README: one head on a sentence, beside all heads of the model.

    python tools/readme_picture.py [RESULTS]

RESULTS is a survey of the embedded model on the built-in corpus with the measure dependency;
without it, one is made. The picture is written to docs/images/readme.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import altair as alt
import xarray as xr

import headscope as hs
from headscope.figures import attention_lines, heat_map, save_chart
from headscope.figures.squares import outline
from headscope.figures.style import BLUE, styled
from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats import relation_tests

OUTPUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "readme.png"
HEAD = "3-9"
SENTENCE = "A local couple has now quietly bought the shop ."
RED = ("A", "the")
RELATION, DIRECTION = "det", "dependent to head"
ALPHA = 0.05


def one_head() -> Any:
    """Draw the head on a sentence of the built-in corpus."""
    attention = hs.attention("demo", SENTENCE, words=True, heads=HEAD)
    tokens = attention.tokens
    special = [place for place, token in enumerate(tokens) if token in ("[CLS]", "[SEP]")]
    red = [place for place, token in enumerate(tokens) if token in RED]
    chart = attention_lines(
        tokens,
        attention.head(HEAD).values,
        title=f"Head {HEAD} on a sentence",
        subtitle="Determiners (red) attend to their noun. Darker lines are larger weights; "
        "attention to [CLS] and [SEP] is not drawn.",
        red=red,
        hide=special,
        threshold=0.04,
    )
    for line in chart.layer[0].data.values:
        if line["query"] not in red:  # only what determiners attend to is red
            line["colour"] = BLUE
    return chart


def all_heads(atlas: Atlas) -> Any:
    """Draw how often each head's determiners attend most to their noun."""
    tests = relation_tests(atlas).sel(relation=RELATION, direction=DIRECTION)
    baseline = float(tests["baseline"].isel(layer=0, head=0))
    chart = heat_map(
        tests["accuracy"],
        title="The same question for all 72 heads",
        unit="share of determiners, 0–1",
        domain=(0, 1),
    )
    chart.title.subtitle = [
        "How often a determiner attends most to its noun.",
        f"Outlined: better than always choosing the next word ({baseline:.2f}),",
        f"p < {ALPHA}, corrected over all heads, directions and relations.",
    ]
    return chart + outline(best(tests))


def best(tests: xr.Dataset) -> list[Head]:
    """Return the heads that beat the best fixed offset."""
    good = tests["p_corrected"].stack(place=("layer", "head"))
    places = good["place"].values[good.values < ALPHA]
    return [Head(int(layer) - 1, int(head) - 1) for layer, head in places]


def picture(atlas: Atlas) -> Any:
    """Return both drawings side by side."""
    parts = [one_head(), all_heads(atlas)]
    for part in parts:
        part.config = alt.Undefined  # Vega-Lite takes a configuration of the whole figure only
    whole = styled(alt.hconcat(*parts, spacing=36), "")
    whole.title = alt.Undefined
    return whole.properties(background="white", padding=12)


def main() -> None:
    """Draw and save the picture."""
    parser = argparse.ArgumentParser(description="Draw the picture of the README.")
    parser.add_argument("results", nargs="?", type=Path)
    path = parser.parse_args().results
    atlas = Atlas.open(path) if path else hs.survey("demo", "demo", measures="dependency")
    print(save_chart(picture(atlas), OUTPUT, scale=2.0))


if __name__ == "__main__":
    main()
