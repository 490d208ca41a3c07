"""The figures of Kovaleva et al. 2019 on frames, change, features and token-to-token attention (Fig. 3, 5, 6, 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt
import numpy as np
import xarray as xr

from headscope.figures.gallery import figure
from headscope.figures.heat import heat_map
from headscope.figures.style import GREY, RED, styled, subject
from headscope.results import Results
from headscope.stats import outstanding

SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}


@figure(
    "frames",
    title="Attention along frame links",
    caption="As Kovaleva et al. 2019, Figure 3: the largest attention between target and core element, averaged over examples. Red: over the 99th percentile of all heads.",
    needs=("frame",),
)
def _frames(results: Results) -> Any:
    data = results["frame"].sel(direction="both")
    chart = heat_map(
        data["mean"],
        title="Attention along frame links",
        subtitle=subject(results.provenance),
        unit="share of attention",
        low=data["low"],
        high=data["high"],
    )
    _, names = outstanding(data["mean"])
    return chart + _outline(names)


def _outline(names: Sequence[str]) -> Any:
    """A red frame around heads, to be laid over a heat map."""
    rows = [
        {"layer": int(layer), "head": int(head), "name": f"{layer}-{head}"}
        for layer, head in (name.split("-") for name in names)
    ]
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect(filled=False, stroke=RED, strokeWidth=3)
        .encode(
            x=alt.X("head:O", title="head"),
            y=alt.Y("layer:O", title="layer", sort="descending"),
            tooltip=alt.Tooltip("name:N", title="head"),
        )
    )


@figure(
    "change",
    title="Likeness of the two models' maps, head by head",
    caption="As Kovaleva et al. 2019, Figure 5: cosine between the flattened maps of the two models; 1 where a head has not changed.",
    needs=("change",),
)
def _change(results: Results) -> Any:
    data = results["change"]
    return heat_map(
        data["mean"],
        title="Likeness of maps",
        subtitle=subject(results.provenance),
        unit="cosine",
        domain=(0, 1),
        low=data["low"],
        high=data["high"],
    )


def heat_grid(
    values: xr.DataArray,
    dim: str,
    *,
    title: str,
    subtitle: str = "",
    unit: str = "",
    diverging: bool = False,
    columns: int = 4,
) -> Any:
    """Small heat maps of all heads, one for each label of ``dim``, each on a colour scale of its own (a diverging one is centred on 0): labels differ by orders of magnitude.

    ``values`` has dims layer, head and ``dim``.
    """
    charts = [
        _small(
            values.sel({dim: label}), SPECIAL.get(str(label), str(label)), unit, diverging=diverging
        )
        for label in values[dim].values
    ]
    return styled(
        alt.concat(*charts, columns=columns, spacing=22).resolve_scale(color="independent"),
        title,
        subtitle,
    )


def _small(values: xr.DataArray, label: str, unit: str, *, diverging: bool) -> Any:
    frame = values.reset_coords(drop=True).to_dataframe(name="value").reset_index()
    frame["name"] = frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    known = np.abs(values.values[np.isfinite(values.values)])
    most = float(known.max()) if known.size and known.max() > 0 else 1.0
    scale = (
        alt.Scale(scheme="purpleorange", domain=[-most, most], domainMid=0)
        if diverging
        else alt.Scale(scheme="viridis", domain=[0, most])
    )
    size = max(4, min(15, 180 // values.sizes["head"]))
    height = size * values.sizes["layer"]
    base = alt.Chart(frame, width=size * values.sizes["head"], height=height).encode(
        x=alt.X(
            "head:O", title="head", axis=alt.Axis(labelAngle=0, labelFontSize=8, labelOverlap=True)
        ),
        y=alt.Y(
            "layer:O",
            title="layer",
            sort="descending",
            axis=alt.Axis(labelFontSize=8, labelOverlap=True),
        ),
    )
    legend = alt.Legend(
        title=None,
        gradientLength=height,
        gradientThickness=8,
        labelFontSize=8,
        tickCount=3,
        offset=6,
    )
    shown = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", format="+.4f" if diverging else ".4f", title=unit),
    ]
    squares = alt.layer(
        base.transform_filter("!isValid(datum.value)")
        .mark_rect(color=GREY)
        .encode(tooltip=shown[:1]),
        base.transform_filter("isValid(datum.value)")
        .mark_rect()
        .encode(color=alt.Color("value:Q", scale=scale, legend=legend), tooltip=shown),
    )
    return squares.properties(title=alt.TitleParams(label, fontSize=11, anchor="middle"))


def _grid(
    measure: str, title: str, *, labels: Sequence[str] | None = None
) -> Callable[[Results], Any]:
    """Draw a grid of a measure with one dimension of its own, or of some of its labels."""

    def draw(results: Results) -> Any:
        values = results.mean(measure)
        dim = next(str(dim) for dim in values.dims if dim not in ("layer", "head"))
        diverging = measure.endswith("-change")
        unit = "change" if diverging else "share of attention"
        chosen = values.sel({dim: list(labels)}) if labels else values
        return heat_grid(
            chosen,
            dim,
            title=title,
            subtitle=subject(results.provenance),
            unit=unit,
            diverging=diverging,
            columns=2 if labels else 4,
        )

    return draw


_TOKENS = ("verb to subject", "subject to verb", "noun to pronoun", "pronoun to noun")
_DIFFERENCE = "The second model less the first, example by example: orange is more, purple less."
figure(
    "features",
    title="Attention to linguistic features",
    caption="As Kovaleva et al. 2019, Figure 6: attention from all tokens to the token with the feature, divided by the number of tokens; of several the largest.",
    needs=("feature",),
)(_grid("feature", "Attention to features"))
figure(
    "features-change",
    title="Change in attention to linguistic features",
    caption=f"As Kovaleva et al. 2019, §4.4, for two models. {_DIFFERENCE}",
    needs=("feature-change",),
)(_grid("feature-change", "Change in attention to features"))
figure(
    "links",
    title="Attention between verbs and subjects, nouns and pronouns",
    caption="Kovaleva et al. 2019, §4.5: the largest weight among the pairs of an example, averaged.",
    needs=("link",),
)(_grid("link", "Token to token", labels=_TOKENS))
figure(
    "links-change",
    title="Change in attention between verbs and subjects, nouns and pronouns",
    caption=f"Kovaleva et al. 2019, §4.5, for two models. {_DIFFERENCE}",
    needs=("link-change",),
)(_grid("link-change", "Change from token to token", labels=_TOKENS))


@figure(
    "from-cls",
    title="Attention from [CLS] in the last layer",
    caption="As Kovaleva et al. 2019, Figure 7: the largest weight from [CLS] (in a causal model the last token) to a token with the feature.",
    needs=("link",),
)
def _from_cls(results: Results) -> Any:
    return from_cls(
        results.mean("link"),
        title="Attention from [CLS], last layer",
        subtitle=subject(results.provenance),
    )


def from_cls(means: xr.DataArray, *, title: str, subtitle: str = "") -> Any:
    """Heads by features for the last layer. ``means`` has dims layer, head and link."""
    links = [str(link) for link in means["link"].values if str(link).startswith("cls to ")]
    last = means.isel(layer=-1).sel(link=links)
    frame = last.reset_coords(drop=True).to_dataframe(name="value").reset_index()
    frame["feature"] = (
        frame["link"].str.removeprefix("cls to ").map(lambda name: SPECIAL.get(name, name))
    )
    order = list(dict.fromkeys(frame["feature"]))
    size = 34 if last.sizes["head"] <= 16 else 20
    known = last.values[np.isfinite(last.values)]
    most = float(known.max()) if known.size and known.max() > 0 else 1.0
    base = alt.Chart(frame, width=size * last.sizes["head"], height=26 * len(order)).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("feature:N", sort=order, title=None),
    )
    shown = [
        alt.Tooltip("feature:N"),
        alt.Tooltip("head:O"),
        alt.Tooltip("value:Q", format=".3f", title="share of attention"),
    ]
    defined, undefined = (
        base.transform_filter("isValid(datum.value)"),
        base.transform_filter("!isValid(datum.value)"),
    )
    layers = [
        undefined.mark_rect(color=GREY).encode(tooltip=shown[:2]),
        defined.mark_rect().encode(
            color=alt.Color(
                "value:Q", scale=alt.Scale(scheme="viridis", domain=[0, most]), title="share"
            ),
            tooltip=shown,
        ),
    ]
    if size == 34:
        numbers = defined.mark_text(fontSize=9).encode(
            text=alt.Text("value:Q", format=".2f"), tooltip=shown
        )
        layers.append(
            numbers.encode(
                color=alt.condition(
                    f"datum.value > {most / 2}", alt.value("black"), alt.value("white")
                )
            )
        )
    return styled(alt.layer(*layers), title, subtitle)
