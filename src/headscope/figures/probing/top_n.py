"""How much of a task n concatenated heads know (Jo and Myaeng 2020, §3.3 and §6.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from headscope.figures.probing.panels import COLUMNS, model_name
from headscope.figures.style import BLUE, GREEN, ORANGE, styled
from headscope.results import Atlas
from headscope.stats.tables.probing import best_layer, probing_of, task_titles
from headscope.tasks.metrics import metric_title

CURVES = {"top": BLUE, "greedy": GREEN}
CHOSEN = {"top": "n best heads", "greedy": "n heads chosen greedily"}
"""What the legend calls the curves."""
LAYERS = {"last layer": "#888888", "best layer": ORANGE}
DASHES = {"top": [1, 0], "greedy": [6, 2], "last layer": [2, 2], "best layer": [8, 3]}
WIDTH, HEIGHT, TICKS = 170, 130, 5
SMALL: dict[str, Any] = {"labelFontSize": 9, "titleFontSize": 10}
APART = 1.5
"""Two labelled numbers of heads differ at least by this factor."""


def top_curves(results: Atlas) -> Any:
    """Draw one panel per task: the test score against the number of heads.

    Parameters
    ----------
    results : Atlas
        Results of a probe, with heads, layers and concatenated heads.

    Returns
    -------
    altair chart
        The number of heads is on a logarithmic axis.
    """
    titles = task_titles(results)
    across = -(-len(titles) // -(-len(titles) // COLUMNS))
    charts = []
    for place, (task, title) in enumerate(titles.items()):
        first, last = place % across == 0, place + across >= len(titles)
        heading = alt.TitleParams(title, fontSize=11, anchor="middle", offset=4, limit=WIDTH + 20)
        panel = _panel(results, task, first=first, last=last)
        charts.append(panel.properties(title=heading))
    whole = alt.concat(*charts, columns=across, spacing={"row": 16, "column": 20})
    return styled(
        whole.resolve_scale(x="independent", y="independent", color="shared", strokeDash="shared"),
        "Score of n concatenated heads",
        f"{model_name(results)}; y axes do not begin at 0",
    )


def _panel(results: Atlas, task: str, *, first: bool, last: bool) -> Any:
    """Draw the curves of one task, and the scores of whole layers as horizontal lines."""
    top = probing_of(results, "probe_top").sel(task=task)
    unit = metric_title(str(probing_of(results)["metric"].sel(task=task).values))
    title, own = (unit if first else None), alt.Scale(zero=False, nice=TICKS)
    y = alt.Y(
        "test:Q", title=title, scale=own, axis=alt.Axis(format=".2f", tickCount=TICKS, **SMALL)
    )
    counts = sorted(int(n) for n in top["n"].values)
    labelled = named_counts(counts, probing_of(results).sizes["head"])
    x = alt.X(
        "n:Q",
        title="heads" if last else None,
        scale=alt.Scale(type="log", base=2, domain=[counts[0], max(counts[-1], 2)], nice=False),
        axis=alt.Axis(values=labelled, format="d", grid=False, **SMALL),
    )
    colour, dash = _looks()
    score = [
        alt.Tooltip("test:Q", format=".3f", title=unit),
        alt.Tooltip("low:Q", format=".3f", title="95 % from"),
        alt.Tooltip("high:Q", format=".3f", title="to"),
    ]
    chosen = [alt.Tooltip("what:N", title="chosen by"), alt.Tooltip("n:Q", title="heads"), *score]
    layer = [alt.Tooltip("what:N", title="of"), "layer:O", *score]
    frame = top[["test", "low", "high"]].reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame.rename(columns={"way": "what"}).dropna(subset="test")
    base = alt.Chart(frame, width=WIDTH, height=HEIGHT)
    low = alt.Y("low:Q", scale=own, title=title)
    band = base.mark_area(opacity=0.18).encode(x=x, y=low, y2="high:Q", color=colour)
    rules = alt.Chart(_layers(results, task)).mark_rule(strokeWidth=1.5)
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = base.mark_point(filled=True, size=22).encode(x=x, y=y, color=colour, tooltip=chosen)
    return alt.layer(
        band, rules.encode(y=y, color=colour, strokeDash=dash, tooltip=layer), lines, points
    )


def _looks() -> tuple[alt.Color, alt.StrokeDash]:
    """Return the colours and dashes of curves and layers, with one legend for both."""
    names = [*CURVES, *LAYERS]
    legend = alt.Legend(
        orient="top",
        title=None,
        symbolStrokeWidth=2,
        symbolType="stroke",
        symbolOpacity=1,
        symbolSize=300,
        labelLimit=200,
        labelExpr=f"{json.dumps(CHOSEN)}[datum.label] || datum.label",
    )
    colours = alt.Scale(domain=names, range=[*CURVES.values(), *LAYERS.values()])
    dashes = alt.Scale(domain=names, range=[DASHES[name] for name in names])
    return (
        alt.Color("what:N", scale=colours, legend=legend),
        alt.StrokeDash("what:N", scale=dashes, legend=legend),
    )


def named_counts(counts: Sequence[int], first: int) -> list[int]:
    """Choose the numbers of heads that are written under a logarithmic axis.

    Parameters
    ----------
    counts : sequence of int
        All numbers of heads, in order.
    first : int
        The heads of a layer: the number that should be written if any is.

    Returns
    -------
    list of int
        ``first`` and the ends, and others as long as they do not touch.

    Examples
    --------
    >>> named_counts([1, 2, 4, 6, 8, 12, 16, 18, 24, 36, 72], 12)
    [1, 2, 4, 6, 12, 18, 36, 72]
    """
    kept: list[int] = []
    for count in [*(one for one in (first, counts[-1], counts[0]) if one in counts), *counts]:
        if all(max(count, one) / min(count, one) >= APART for one in kept):
            kept.append(count)
    return sorted(kept)


def _layers(results: Atlas, task: str) -> pd.DataFrame:
    """Return the scores of the last and of the best layer, where they are known."""
    data = probing_of(results, "probe_layer").sel(task=task)
    chosen = {"last layer": int(data["layer"].values[-1]), "best layer": best_layer(results, task)}
    rows = []
    for what, layer in chosen.items():
        if layer is not None:
            one = data.sel(layer=layer)
            scores = {name: float(one[name]) for name in ("test", "low", "high")}
            rows.append({"what": what, "layer": layer, **scores})
    return pd.DataFrame(rows).dropna(subset="test")
