"""Where heads look: positions, special tokens, entropy, gradients, relations (Clark 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from headscope.figures.builders import (
    BESIDE,
    HALF,
    layer_scatter,
    measure_map,
    ranked_bars,
    uniform_level,
)
from headscope.figures.gallery import figure
from headscope.figures.style import subject, unit_text
from headscope.results import Atlas
from headscope.stats import best_heads

SHARE: dict[str, Any] = {"unit": unit_text("share of attention"), "top": 1.0}
TO = {"to [CLS]": "cls", "to [SEP]": "sep", "to full stop or comma": "punctuation"}


def _by_layer(
    results: Atlas,
    title: str,
    means: xr.DataArray,
    series: Mapping[str, Mapping[str, str]],
    **looks: Any,
) -> Any:
    """Draw one point per head for some labels of a measure."""
    drawn = {name: means.sel(labels) for name, labels in series.items()}
    return layer_scatter(drawn, title=title, subtitle=subject(results.provenance), **looks)


@figure("position", title="Attention to the previous, current and next token", needs=["position"])
def position(results: Atlas) -> Any:
    """One point per head; lines are layer means (Clark et al. 2019, §3.1). Heads of a layer are
    spread sideways, so that equal ones can be seen.
    """
    means = results.mean("position")
    series = {f"{offset} token": {"offset": offset} for offset in means["offset"].values}
    title = "Attention by relative position"
    return _by_layer(results, title, means, series, levels=HALF, **SHARE)


@figure("special", title="Attention to special tokens", needs=["special"])
def special(results: Atlas, *, uniform: float | None = None) -> Any:
    """After Clark et al. 2019, Figure 2, top: one point per head; lines are layer means. [CLS] and
    [SEP] stand for the model's own start and end tokens. Heads of a layer are spread sideways.

    Parameters
    ----------
    results : Atlas
        With the measure special.
    uniform : float, optional
        The share that [SEP] would get if attention were uniform, drawn as a line.

    Returns
    -------
    altair chart
    """
    series = {name: {"token": token, "row": "all"} for name, token in TO.items()}
    levels = HALF | uniform_level(uniform)
    title = "Attention to special tokens"
    return _by_layer(results, title, results.mean("special"), series, levels=levels, **SHARE)


@figure("from-sep", title="Attention to [SEP], from [SEP] and from other tokens", needs=["special"])
def from_sep(results: Atlas, *, uniform: float | None = None) -> Any:
    """After Clark et al. 2019, Figure 2, bottom: one point per head; lines are layer means.

    Parameters
    ----------
    results : Atlas
        With the measure special.
    uniform : float, optional
        The share that [SEP] would get if attention were uniform, drawn as a line.

    Returns
    -------
    altair chart
    """
    means = results.mean("special").sel(token="sep")
    series = {"from [SEP]": {"row": "sep"}, "from other tokens": {"row": "other"}}
    levels = HALF | uniform_level(uniform)
    return _by_layer(results, "Attention to [SEP]", means, series, levels=levels, **SHARE)


@figure("entropy", title="Entropy of attention", needs=["entropy"])
def entropy(results: Atlas) -> Any:
    """After Clark et al. 2019, Figure 4: low entropy is focused attention, high entropy is broad.
    The dashed line is the entropy of uniform attention.
    """
    means = results.mean("entropy")
    series = {"from all tokens": {"row": "all"}, "from [CLS]": {"row": "cls"}}
    return _by_layer(
        results,
        "Entropy of attention",
        means,
        series,
        unit="entropy, nats (0 = all on one token)",
        line=means.sel(row="uniform"),
        line_name="uniform attention",
    )


def _squares(name: str, title: str, above: str, measure: str, **labels: str) -> None:
    """Add a figure with one square per head."""

    @figure(f"heat-{name}", title=f"{title}, head by head", needs=[measure])
    def squares(results: Atlas) -> Any:
        """One square per head, layer 1 at the bottom; hover for the 95 % interval over examples.
        Grey: not defined.
        """
        return measure_map(results, measure, above, **labels)


_squares(
    "previous", "Previous token", "Attention to the previous token", "position", offset="previous"
)
_squares("next", "Next token", "Attention to the next token", "position", offset="next")
_squares("cls", "[CLS]", "Attention to [CLS]", "special", token="cls", row="all")
_squares("sep", "[SEP]", "Attention to [SEP]", "special", token="sep", row="all")
_squares("entropy", "Entropy", "Entropy of attention", "entropy", unit="entropy, nats", row="all")


@figure("gradient", title="Gradient importance", needs=["gradient"])
def gradient(results: Atlas) -> Any:
    """After Clark et al. 2019, Figure 3: how much the loss changes with attention to each kind of
    token. One point per head; lines are layer means.
    """
    names = {**TO, "to other tokens": "other"}
    series = {name: {"token": token} for name, token in names.items() if token != "cls"}
    unit = "mean |∂loss/∂α| (higher = matters more)"
    return _by_layer(results, "Gradient importance", results.mean("gradient"), series, unit=unit)


@figure("dependencies", title="Best head of each dependency relation", needs=["dependency"])
def dependencies(results: Atlas) -> Any:
    """After Clark et al. 2019, Table 1: the accuracy of the best head, with its 95 % interval, and
    of the best fixed offset. A word counts if it attends most to the right word. Beside each row:
    the best head, which word attends to which, and the offset (+1: the word to the right is
    predicted as the head word).
    """
    table = best_heads(results).head(24)  # the most frequent relations
    ways = table["direction"].str.replace(" to ", " → ").str.replace(" by column", ", by column")
    beside = table["head"] + ", " + ways + "; " + table["offset"].map("{:+d}".format)
    short = {"all but root and punctuation": "all but root and punct"}
    return ranked_bars(
        table.assign(relation=table["relation"].replace(short), **{BESIDE: beside}),
        label="relation",
        title="Dependencies: the best head of each relation",
        subtitle=subject(results.provenance),
        unit="accuracy: share of words, 0–1",
    )
