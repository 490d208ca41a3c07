"""Every figure that can be drawn from results, by name; each knows which measures it needs and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headscope.errors import UserError, unknown
from headscope.figures.heat import heat_map
from headscope.figures.layers import layer_scatter
from headscope.figures.points import head_points, ranked_bars
from headscope.figures.style import subject
from headscope.results import Results
from headscope.stats import behaviours, best_heads, scale
from headscope.stats.behaviour import OTHER


@dataclass(frozen=True)
class Figure:
    """One figure: ``draw`` makes an Altair chart of results that have all of ``needs``."""

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]
    draw: Callable[[Results], Any]


_GALLERY: dict[str, Figure] = {}


def figure(
    name: str, *, title: str, caption: str, needs: tuple[str, ...]
) -> Callable[[Callable[[Results], Any]], Callable[[Results], Any]]:
    """Register a drawing function in the gallery."""

    def register(draw: Callable[[Results], Any]) -> Callable[[Results], Any]:
        _GALLERY[name] = Figure(name, title, caption, needs, draw)
        return draw

    return register


def gallery(results: Results) -> Iterator[Figure]:
    """The figures that these results allow."""
    return (
        item
        for item in _GALLERY.values()
        if set(item.needs) <= {name for name in results if bool((results[name]["n"] > 0).any())}
    )


def find_figure(name: str, results: Results) -> Figure:
    """A figure by name; an error if there is none, or if the results lack what it needs."""
    if name not in _GALLERY:
        raise unknown("figure", name, _GALLERY)
    missing = [need for need in _GALLERY[name].needs if need not in results.measures]
    if missing:
        raise UserError(
            f"the figure {name!r} needs the measure {missing[0]!r}, which these results do not have",
            hint=f"run the survey with --measure {missing[0]}",
        )
    return _GALLERY[name]


@figure(
    "position",
    title="Attention to the previous, current and next token",
    caption="One point a head; lines are layer means (Clark et al. 2019, §3.1).",
    needs=("position",),
)
def _position(results: Results) -> Any:
    means = results.mean("position")
    series = {str(offset): means.sel(offset=offset) for offset in means["offset"].values}
    return layer_scatter(
        series,
        title="Attention by relative position",
        subtitle=subject(results.provenance),
        unit="share of attention",
        top=1.0,
    )


@figure(
    "special",
    title="Attention to special tokens",
    caption="As Clark et al. 2019, Figure 2, top: one point a head, lines are layer means. [CLS] and [SEP] stand for the model's own start and end tokens.",
    needs=("special",),
)
def _special(results: Results) -> Any:
    means = results.mean("special").sel(row="all")
    series = {
        "[CLS]": means.sel(token="cls"),
        "[SEP]": means.sel(token="sep"),
        ". or ,": means.sel(token="punctuation"),
    }
    return layer_scatter(
        series,
        title="Attention to special tokens",
        subtitle=subject(results.provenance),
        unit="share of attention",
        top=1.0,
    )


@figure(
    "from-sep",
    title="Attention to [SEP], from [SEP] and from other tokens",
    caption="As Clark et al. 2019, Figure 2, bottom.",
    needs=("special",),
)
def _from_sep(results: Results) -> Any:
    means = results.mean("special").sel(token="sep")
    series = {"[SEP] → [SEP]": means.sel(row="sep"), "other → [SEP]": means.sel(row="other")}
    return layer_scatter(
        series,
        title="Attention to [SEP]",
        subtitle=subject(results.provenance),
        unit="share of attention",
        top=1.0,
    )


@figure(
    "entropy",
    title="Entropy of attention",
    caption="As Clark et al. 2019, Figure 4: low is focused, high is broad; the dashed line is what uniform attention would have.",
    needs=("entropy",),
)
def _entropy(results: Results) -> Any:
    means = results.mean("entropy")
    series = {"all tokens": means.sel(row="all"), "from [CLS]": means.sel(row="cls")}
    return layer_scatter(
        series,
        title="Entropy of attention",
        subtitle=subject(results.provenance),
        unit="nats",
        line=means.sel(row="uniform"),
        line_name="uniform attention",
    )


def _heat(
    measure: str, title: str, unit: str, domain: tuple[float, float] | None, **labels: str
) -> Callable[[Results], Any]:
    def draw(results: Results) -> Any:
        chosen = results[measure].sel(labels)
        return heat_map(
            chosen["mean"],
            title=title,
            subtitle=subject(results.provenance),
            unit=unit,
            domain=domain,
            low=chosen["low"],
            high=chosen["high"],
        )

    return draw


_SHARE, _CAPTION = (
    "share",
    "One square a head; hover for the 95 % interval over examples. Grey: not defined.",
)
figure(
    "heat-previous", title="Previous token, head by head", caption=_CAPTION, needs=("position",)
)(_heat("position", "Attention to the previous token", _SHARE, (0, 1), offset="previous"))
figure("heat-next", title="Next token, head by head", caption=_CAPTION, needs=("position",))(
    _heat("position", "Attention to the next token", _SHARE, (0, 1), offset="next")
)
figure("heat-cls", title="[CLS], head by head", caption=_CAPTION, needs=("special",))(
    _heat("special", "Attention to [CLS]", _SHARE, (0, 1), token="cls", row="all")
)
figure("heat-sep", title="[SEP], head by head", caption=_CAPTION, needs=("special",))(
    _heat("special", "Attention to [SEP]", _SHARE, (0, 1), token="sep", row="all")
)
figure("heat-entropy", title="Entropy, head by head", caption=_CAPTION, needs=("entropy",))(
    _heat("entropy", "Entropy of attention", "nats", None, row="all")
)


@figure(
    "gradient",
    title="Gradient importance",
    caption="As Clark et al. 2019, Figure 3: how much the loss changes with attention to each kind of token; lines are layer means.",
    needs=("gradient",),
)
def _gradient(results: Results) -> Any:
    means = results.mean("gradient")
    series = {
        "[SEP]": means.sel(token="sep"),
        ". or ,": means.sel(token="punctuation"),
        "other": means.sel(token="other"),
    }
    return layer_scatter(
        series,
        title="Gradient importance",
        subtitle=subject(results.provenance),
        unit="mean |∂loss/∂α|",
    )


@figure(
    "dependencies",
    title="Best head of each relation",
    caption="As Clark et al. 2019, Table 1: the best head (95 % interval, Wilson) against the best fixed offset.",
    needs=("dependency",),
)
def _dependencies(results: Results) -> Any:
    table = best_heads(results).head(24)
    return ranked_bars(
        table,
        label="relation",
        title="Dependencies: the best head of each relation",
        subtitle=subject(results.provenance),
        unit="accuracy",
    )


@figure(
    "heads-by-layer",
    title="Heads by distance, coloured by layer",
    caption="As Clark et al. 2019, Figure 6: heads that attend alike stand together (metric MDS of Jensen–Shannon divergences).",
    needs=("distance",),
)
def _by_layer(results: Results) -> Any:
    points, stress = scale(
        results.mean("distance"), seed=int(results.provenance["settings"]["seed"])
    )
    points["layer"] = points["name"].str.split("-").str[0].astype(int)
    return head_points(
        points,
        title="Heads by distance: layers",
        subtitle=f"{subject(results.provenance)}; stress {stress:.2f}",
        colour="layer",
    )


@figure(
    "heads-by-behaviour",
    title="Heads by distance, coloured by behaviour",
    caption="As Clark et al. 2019, Figure 6; behaviours by the measured statistics (thresholds in the docs).",
    needs=("distance", "position"),
)
def _by_behaviour(results: Results) -> Any:
    points, stress = scale(
        results.mean("distance"), seed=int(results.provenance["settings"]["seed"])
    )
    merged = points.merge(behaviours(results), on="name")
    there = [name for name in dict.fromkeys(merged["behaviour"]) if name != OTHER]
    return head_points(
        merged,
        title="Heads by distance: behaviours",
        subtitle=f"{subject(results.provenance)}; stress {stress:.2f}",
        colour="behaviour",
        categories=[*sorted(there), OTHER],
    )
