"""How much of a task n concatenated heads know (Jo and Myaeng 2020, §3.3 and §6.1): the test score against n, beside whole layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.gallery import figure
from headscope.figures.probing.heat import COLUMNS, model_name
from headscope.figures.roles import titled
from headscope.figures.style import BLUE, GREEN, ORANGE
from headscope.results import Results
from headscope.stats.probing import best_layer, probing_of, task_titles
from headscope.tasks.metrics import metric_title

CURVES = {"top": BLUE, "greedy": GREEN}
LAYERS = {"last layer": "#888888", "best layer": ORANGE}
DASHES = {"top": [1, 0], "greedy": [6, 2], "last layer": [2, 2], "best layer": [8, 3]}
WIDTH, HEIGHT = 170, 130
APART = 1.5
"""Two named numbers of heads are so many times apart."""


@figure(
    "top-n",
    title="Score of n concatenated heads",
    caption="After Jo and Myaeng 2020, §3.3: the heads with the best validation scores, and heads added one by one so that validation gains most (greedy). Bands are 95 % intervals of the test "
    "score; lines across are the hidden states of the last layer and of the one with the best validation score.",
    needs=("probe", "probe_layer", "probe_top"),
)
def top_curves(results: Results) -> Any:
    """One panel a task: test score against the number of heads, on a logarithmic axis."""
    titles = task_titles(results)
    across = -(-len(titles) // -(-len(titles) // COLUMNS))
    charts = [
        _curves(results, task, title, first=place % across == 0, last=place + across >= len(titles))
        for place, (task, title) in enumerate(titles.items())
    ]
    whole = alt.concat(*charts, columns=across, spacing={"row": 16, "column": 20}).resolve_scale(
        x="independent", y="independent", color="shared", strokeDash="shared"
    )
    return titled(
        whole,
        "Score of n concatenated heads",
        f"{model_name(results)}; axes of y do not begin at 0",
    )


def _curves(results: Results, task: str, title: str, *, first: bool, last: bool) -> Any:
    top = probing_of(results, "probe_top").sel(task=task)
    frame = (
        top[["test", "low", "high"]]
        .reset_coords(drop=True)
        .to_dataframe()
        .reset_index()
        .rename(columns={"way": "what"})
        .dropna(subset="test")
    )
    metric = str(probing_of(results)["metric"].sel(task=task).values)
    names = [*CURVES, *LAYERS]
    legend = alt.Legend(
        orient="top",
        title=None,
        symbolStrokeWidth=2,
        symbolType="stroke",
        symbolOpacity=1,
        symbolSize=300,
    )
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=names, range=[*CURVES.values(), *LAYERS.values()]),
        legend=legend,
    )
    dash = alt.StrokeDash(
        "what:N",
        scale=alt.Scale(domain=names, range=[DASHES[name] for name in names]),
        legend=legend,
    )
    small: dict[str, Any] = {"labelFontSize": 9, "titleFontSize": 10}
    counts = sorted(int(n) for n in top["n"].values)
    x = alt.X(
        "n:Q",
        title="heads" if last else None,
        scale=alt.Scale(type="log", base=2, domain=[counts[0], max(counts[-1], 2)], nice=False),
        axis=alt.Axis(
            values=named_counts(counts, probing_of(results).sizes["head"]),
            format="d",
            grid=False,
            **small,
        ),
    )
    named = metric_title(metric)
    y = alt.Y(
        "test:Q",
        title=named if first else None,
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format=".2f", tickCount=5, **small),
    )
    base = alt.Chart(frame, width=WIDTH, height=HEIGHT)
    score = [
        alt.Tooltip("test:Q", format=".3f", title=named),
        alt.Tooltip("low:Q", format=".3f", title="95 % from"),
        alt.Tooltip("high:Q", format=".3f", title="to"),
    ]
    shown = [alt.Tooltip("what:N", title="by"), alt.Tooltip("n:Q", title="heads"), *score]
    band = base.mark_area(opacity=0.18).encode(
        x=x,
        y=alt.Y("low:Q", scale=alt.Scale(zero=False), title=named if first else None),
        y2="high:Q",
        color=colour,
    )
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = base.mark_point(filled=True, size=22).encode(x=x, y=y, color=colour, tooltip=shown)
    rules = (
        alt.Chart(_layers(results, task))
        .mark_rule(strokeWidth=1.5)
        .encode(
            y=y,
            color=colour,
            strokeDash=dash,
            tooltip=[alt.Tooltip("what:N", title="of"), "layer:O", *score],
        )
    )
    return alt.layer(band, rules, lines, points).properties(
        title=alt.TitleParams(title, fontSize=11, anchor="middle", offset=4, limit=WIDTH + 20)
    )


def named_counts(counts: Sequence[int], first: int) -> list[int]:
    """The numbers of heads that are written under a logarithmic axis: the size of a layer if it is there, the ends, and others as far as they do not meet.

    >>> named_counts([1, 2, 4, 6, 8, 12, 16, 18, 24, 36, 72], 12)
    [1, 2, 4, 6, 12, 18, 36, 72]
    """
    kept: list[int] = []
    for count in [*(one for one in (first, counts[-1], counts[0]) if one in counts), *counts]:
        if all(max(count, one) / min(count, one) >= APART for one in kept):
            kept.append(count)
    return sorted(kept)


def _layers(results: Results, task: str) -> pd.DataFrame:
    """The last and the best layer's scores, where they are known."""
    data = probing_of(results, "probe_layer").sel(task=task)
    chosen = {"last layer": int(data["layer"].values[-1]), "best layer": best_layer(results, task)}
    rows = [
        {
            "what": what,
            "layer": layer,
            **{name: float(data[name].sel(layer=layer)) for name in ("test", "low", "high")},
        }
        for what, layer in chosen.items()
        if layer is not None
    ]
    return pd.DataFrame(rows).dropna(subset="test")
