"""Figures 1 and 2 of Clark et al. 2019: the clearest heads on a text, and attention to [SEP]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import xarray as xr

from headscope.corpus import Example
from headscope.figures import attention_lines, attention_panel
from headscope.figures.attention import from_sep, special
from headscope.figures.lines import NARROW, NEAR
from headscope.models import Model
from headscope.page import Plot
from headscope.papers.sections import gallery_plots
from headscope.results import Atlas
from headscope.runs.attention import attention
from headscope.runs.examples import short_text
from headscope.stats.grid import heads_over

FIGURE_1 = (
    "As in Figure 1: the model's clearest heads of four kinds, on the sentences around a paragraph "
    "break. The darker a line, the more attention; lines under 2 % are not drawn. The numbers are "
    "means over all segments, so a head may behave differently on this text. If the number is "
    "small, the model has no such head."
)


@dataclass(frozen=True)
class Kind:
    """A kind of head in Figure 1, with the statistic that finds the clearest one.

    Parameters
    ----------
    title
        What such a head attends to.
    values
        One number per head, dims layer and head; the largest is the clearest.
    words
        How the number is written: a format with one place.
    """

    title: str
    values: xr.DataArray
    words: str


def surface_kinds(results: Atlas) -> list[Kind]:
    """List the kinds of heads in Figure 1, each with its statistic.

    Parameters
    ----------
    results
        A survey with the measures position, special and entropy.

    Returns
    -------
    list of Kind
        Broad, next token, [SEP], full stops and commas, in the paper's order. A kind that is not
        defined for the model is left out.
    """
    entropy, special = results.mean("entropy"), results.mean("special").sel(row="all")
    kinds = [
        Kind(
            "broad",
            entropy.sel(row="all") / entropy.sel(row="uniform"),
            "{:.0f} % of uniform entropy, on average",
        ),
        Kind(
            "next token",
            results.mean("position").sel(offset="next"),
            "{:.0f} % of its attention, on average",
        ),
        Kind("[SEP]", special.sel(token="sep"), "{:.0f} % of its attention, on average"),
        Kind(
            "full stop, comma",
            special.sel(token="punctuation"),
            "{:.0f} % of its attention, on average",
        ),
    ]
    return [kind for kind in kinds if bool(kind.values.notnull().any())]


def surface_plots(model: Model, results: Atlas, corpus: Iterable[Example]) -> list[Plot]:
    """Draw Figure 1: the clearest head of each kind on one short text.

    Parameters
    ----------
    model
        The model.
    results
        A survey with the measures position, special and entropy.
    corpus
        Where the text is taken from.

    Returns
    -------
    list of Plot
        One panel; empty if the corpus has no text that is short enough.
    """
    texts = short_text(corpus)
    kinds = surface_kinds(results)
    if texts is None or not kinds:
        return []
    charts = []
    for kind in kinds:
        head = heads_over(kind.values, -1.0)[0]
        seen = attention(model, texts if len(texts) == 2 else texts[0], heads=str(head))
        number = 100 * float(kind.values.sel(layer=head.layer + 1, head=head.head + 1))
        charts.append(
            attention_lines(
                seen.tokens,
                seen.head(head).values,
                title=f"Head {head}: {kind.title}",
                subtitle=kind.words.format(number),
                widest=NARROW,
                between=NEAR,
            )
        )
    panel = attention_panel(charts, title="Examples of surface patterns", columns=2)
    return [Plot("figure-1", "Examples of surface patterns", FIGURE_1, panel)]


def separator_plots(results: Atlas, uniform: float) -> list[Plot]:
    """Draw Figure 2 with the line that [SEP] would be at if attention were uniform.

    Parameters
    ----------
    results
        A survey with the measure special.
    uniform
        That share; NaN draws no line.

    Returns
    -------
    list of Plot
        Attention to special tokens, then attention to [SEP] from [SEP] and from other tokens.
    """
    special_plot, from_sep_plot = gallery_plots(results, "special", "from-sep")
    line = " Dotted: half of all attention, and the share of [SEP] if attention were uniform."
    return [
        replace(plot, chart=draw(results, uniform=uniform), caption=plot.caption + line)
        for plot, draw in ((special_plot, special), (from_sep_plot, from_sep))
    ]
