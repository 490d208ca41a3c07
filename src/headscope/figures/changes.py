"""Frames, linguistic features, and what fine-tuning changes (Kovaleva et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from headscope.figures.builders import (
    ROOMY,
    SPECIAL,
    by_task,
    coloured,
    heading,
    heat_grid,
    heat_map,
    known_range,
    measure_grid,
    numbered,
    outline,
    panels,
    shade,
    square_side,
    tips,
)
from headscope.figures.gallery import figure
from headscope.figures.later import alt
from headscope.figures.style import interval, styled, subject, subjects, unit_text
from headscope.results import Atlas
from headscope.stats import outstanding

SHARE = unit_text("share of attention")
# The links between words; the others start at [CLS].
PAIRS = ("verb to subject", "subject to verb", "noun to pronoun", "pronoun to noun")
START = "cls to "

# --- One pair of models ---------------------------------------------------------------------------


@figure("frames", title="Attention along frame links", needs=["frame"])
def frames(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, Figure 3: the largest attention between a frame's target and its
    core element, averaged over examples. Red: above the 99th percentile of all heads.
    """
    data = results["frame"].sel(direction="both")
    low, high = interval(data)
    chart = heat_map(
        data["mean"],
        title="Attention along frame links",
        subtitle=subject(results.provenance),
        unit=SHARE,
        low=low,
        high=high,
    )
    return chart + outline(outstanding(data["mean"])[1])


@figure("change", title="Similarity of the two models' maps, head by head", needs=["change"])
def change(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, Figure 5: the cosine between the flattened maps of the two
    models. It is 1 where a head has not changed.
    """
    data = results["change"]
    return heat_map(
        data["mean"],
        title="Similarity of the two models' maps",
        subtitle=subject(results.provenance),
        unit="cosine, 1 = unchanged",
        domain=(0, 1),
        low=data["low"].clip(-1, 1),
        high=data["high"].clip(-1, 1),
    )


@figure("features", title="Attention to linguistic features", needs=["feature"])
def features(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, Figure 6: attention from all tokens to the token with the
    feature, divided by the number of tokens. If several tokens have it, the largest counts.
    """
    return measure_grid(results, "feature", "Attention to features")


@figure(
    "features-change", title="Change in attention to linguistic features", needs=["feature-change"]
)
def features_change(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, §4.4, for two models. The second model minus the first, example
    by example: orange is more attention, purple less.
    """
    return measure_grid(results, "feature-change", "Change in attention to features")


@figure("links", title="Attention between verbs and subjects, nouns and pronouns", needs=["link"])
def links(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, §4.5: the largest weight among the pairs of an example, averaged
    over examples.
    """
    title = "Attention from token to token"
    return measure_grid(results, "link", title, labels=PAIRS, columns=2)


@figure(
    "links-change",
    title="Change in attention between verbs and subjects, nouns and pronouns",
    needs=["link-change"],
)
def links_change(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, §4.5, for two models. The second model minus the first, example
    by example: orange is more attention, purple less.
    """
    title = "Change in attention from token to token"
    return measure_grid(results, "link-change", title, labels=PAIRS, columns=2)


@figure("from-cls", title="Attention from [CLS] in the last layer", needs=["link"])
def from_cls(results: Atlas) -> Any:
    """After Kovaleva et al. 2019, Figure 7: the largest weight from [CLS] (in a causal model, from
    the last token) to a token with the feature.
    """
    last = results.mean("link").isel(layer=-1)
    frame, most = _from_cls(last), _most(_from_cls(last)["value"])
    order, heads = list(dict.fromkeys(frame["feature"])), last.sizes["head"]
    base = alt.Chart(frame, width=square_side(heads) * heads, height=26 * len(order)).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("feature:N", sort=order, title=None),
    )
    shown = tips("feature", "head:O", "value .3f", value=SHARE)
    marks = coloured(base, shade("value", (0, most), SHARE), shown)
    if heads <= ROOMY:
        marks += numbered(base, most / 2, shown)
    title = f"Attention from [CLS] in the last layer ({int(last['layer'])})"
    return styled(alt.layer(*marks), title, subject(results.provenance))


def _most(values: Any) -> float:
    """The end of a colour scale that begins at 0."""
    high = known_range(values)[1]
    return high if high > 0 else 1.0


def _from_cls(last: xr.DataArray) -> pd.DataFrame:
    """List the attention of one layer from [CLS], one row per head and feature."""
    names = [str(link) for link in last["link"].values if str(link).startswith(START)]
    frame = last.sel(link=names).reset_coords(drop=True).to_dataframe(name="value").reset_index()
    features = frame["link"].str.removeprefix(START)
    return frame.assign(feature=features.map(lambda name: SPECIAL.get(name, name)))


# --- Several tasks side by side -------------------------------------------------------------------


def from_cls_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw heads by features for the last layer of every task's model, on one scale (Figure 7).

    Parameters
    ----------
    results : mapping of str to Atlas
        Surveys of fine-tuned models with the measure ``link``, by the name of the task.

    Returns
    -------
    altair chart
        One panel per task; columns are heads, rows are features.
    """
    tables = {name: _from_cls(atlas.mean("link").isel(layer=-1)) for name, atlas in results.items()}
    most = _most(pd.concat(tables.values())["value"])
    colour = shade("value", (0, most), SHARE, gradientThickness=8, labelFontSize=8)
    shown = tips("feature", "head:O", "value .3f", value=SHARE)
    charts, across, side = [], 3, 15
    for number, (name, frame) in enumerate(tables.items()):
        order, heads = list(dict.fromkeys(frame["feature"])), frame["head"].nunique()
        first = number % across == 0  # the first panel of a line names the features
        axis = alt.Axis(labelFontSize=9, labels=first, ticks=first)
        base = alt.Chart(frame, width=side * heads, height=side * len(order)).encode(
            x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0, labelFontSize=8)),
            y=alt.Y("feature:N", sort=order, title=None, axis=axis),
        )
        marks = coloured(base, colour, shown)
        charts.append(alt.layer(*marks).properties(title=heading(name)))
    return styled(
        panels(charts, across, 14, color="shared"),
        "Attention from [CLS] in the last layer",
        subjects([atlas.provenance for atlas in results.values()]),
        "all panels have one colour scale",
    )


def similarity_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw how similar each head's maps are before and after fine-tuning (Figure 5).

    Parameters
    ----------
    results : mapping of str to Atlas
        Comparisons of two models, by the name of the task.

    Returns
    -------
    altair chart
        One map per task, on one scale from 0 to 1.
    """
    return heat_grid(
        by_task({name: atlas["change"]["mean"] for name, atlas in results.items()}),
        "task",
        title="Similarity of maps before and after fine-tuning",
        subtitle=subjects([atlas.provenance for atlas in results.values()]),
        unit="cosine, 1 = unchanged",
        columns=min(4, len(results)),
        scale="one",
    )


def special_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw attention to [SEP] and [CLS], one column per task (Figure 6).

    Parameters
    ----------
    results : mapping of str to Atlas
        Surveys of fine-tuned models with the measure ``feature``, by the name of the task.

    Returns
    -------
    altair chart
        [SEP] above, [CLS] below, all on one scale.
    """
    maps = {
        f"{SPECIAL[token]}, {name}": atlas["feature"]["mean"].sel(feature=token, drop=True)
        for token in ("sep", "cls")
        for name, atlas in results.items()
    }
    return heat_grid(
        by_task(maps),
        "task",
        title="Attention to [SEP] (above) and [CLS] (below)",
        subtitle=subjects([atlas.provenance for atlas in results.values()]),
        unit="share of attention",
        columns=len(results),
        scale="one",
    )
