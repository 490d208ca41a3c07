"""The score with each head disabled (Kovaleva et al. 2019, Figure 8)."""

from __future__ import annotations

from typing import Any

import altair as alt

from headscope.figures.ablation.scores import score_frame, score_tooltip, sentence_case, way_text
from headscope.figures.squares import ROOMY, head_squares, legend_length, split_defined
from headscope.figures.style import (
    BLUE,
    GREY,
    ORANGE,
    legend_ticks,
    legend_title,
    styled,
    subject,
)
from headscope.results import Atlas

ALPHA = 0.05
SIDE = 36
"""Pixels of a square's width in models with few heads per layer: a score takes more room."""


def head_off(results: Atlas) -> Any:
    """Draw one square per head, coloured by how the score changes without it.

    The number is the score; hover for the change with its interval and p.
    """
    data = results["head_off"]
    metric, baseline = str(data.attrs["metric"]), float(data.attrs["baseline"])
    frame = score_frame(data, ["layer", "head"])
    reach = float(frame["difference"].abs().max()) or 1e-3
    worse, better = (ORANGE, BLUE) if data.attrs["better"] == "higher" else (BLUE, ORANGE)
    scale = alt.Scale(
        domain=[-reach, 0, reach], range=[worse, "#ffffff", better], interpolate="rgb"
    )
    heads = data.sizes["head"]
    side = SIDE if heads <= ROOMY else 0
    base = head_squares(frame, heads, data.sizes["layer"], side).encode(
        tooltip=score_tooltip(metric)
    )
    known, unknown = split_defined(base, "score")
    colour = alt.Color(
        "difference:Q",
        scale=scale,
        title=legend_title(f"change in {metric}"),
        legend=_legend(reach, legend_length(heads, data.sizes["layer"], side)),
    )
    marks = [
        unknown.mark_rect(color=GREY),
        known.mark_rect().encode(color=colour),
        base.transform_filter(f"datum.p_corrected < {ALPHA}").mark_rect(
            filled=False, stroke="black", strokeWidth=2
        ),
    ]
    if heads <= ROOMY:
        text = alt.Text("score:Q", format=".3f" if reach < 0.1 else ".2f")
        marks.append(known.mark_text(fontSize=9).encode(text=text))
    return styled(
        alt.layer(*marks),
        f"{sentence_case(metric)} with one head disabled",
        f"{subject(results.provenance)}; baseline {baseline:.3f}",
        f"{way_text(data.attrs['way'])}; framed: p < {ALPHA:g}, corrected",
    )


def _legend(reach: float, length: float) -> alt.Legend:
    """Return a legend of changes with their sign."""
    ticks = legend_ticks(-reach, reach)
    signed = ticks | {"format": f"+{ticks['format']}"}
    return alt.Legend(
        gradientLength=length, labelExpr="datum.value == 0 ? '0' : datum.label", **signed
    )
