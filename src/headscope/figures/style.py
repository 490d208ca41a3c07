"""How every figure looks: colours that colour-blind readers can tell apart, plain axes, print sizes."""

from __future__ import annotations

from typing import Any

import altair as alt

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
COLOURS = [BLUE, ORANGE, GREEN, RED, PURPLE, SKY]
GREY = "#dddddd"
FONT = "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif"

LONGEST = 460
"""Pixels of a title's line before it is cut, so that a long model name does not widen a figure."""


def styled(chart: Any, title: str, subtitle: str = "") -> Any:
    """Give a finished chart its title and the common look."""
    text = alt.TitleParams(
        title,
        subtitle=[subtitle] if subtitle else [],
        anchor="start",
        offset=8,
        limit=LONGEST,
        fontSize=14,
        subtitleFontSize=11,
        subtitleColor="#555",
    )
    return (
        chart.properties(title=text)
        .configure(font=FONT)
        .configure_view(stroke="#ddd")
        .configure_axis(
            labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#eee"
        )
        .configure_legend(labelFontSize=11, titleFontSize=11, titleFontWeight="normal")
    )


def subject(provenance: dict[str, Any]) -> str:
    """The line under a title: which model, which corpus, how many examples."""
    model = provenance["model"]["name"].rstrip("/")
    model = (
        model if model.count("/") < 2 else model.rsplit("/", 1)[-1]
    )  # a folder by its last part, a hub id whole
    return f"{model} on {short_corpus(provenance['corpus']['name'])}, {provenance['counts']['seen']} examples"


def short_corpus(name: str) -> str:
    """A corpus by its file's name; one that every task has (dev.tsv) with its folder.

    >>> short_corpus("data/ewt.conllu.gz"), short_corpus("glue/MRPC/dev.tsv.gz")
    ('ewt.conllu.gz', 'MRPC/dev.tsv.gz')
    """
    parts = name.split("/")
    return "/".join(
        parts[-2:]
        if parts[-1].split(".")[0] in ("train", "dev", "test", "dev_matched")
        else parts[-1:]
    )
