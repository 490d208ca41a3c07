"""Sinks of every head: the first token, and the strongest other one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.crossfit import cross_fit
from headscope.stats.grid import grid_heads

NEEDED = ("sink", "sink_places")


def sink_table(results: Atlas) -> pd.DataFrame:
    """How strongly the heads attend to the first token, and to which other token instead.

    The strongest other token is chosen by its sink rate among many, so it is also scored on texts
    that it was not chosen on: chosen on one half of the documents and scored on the other, both
    ways.

    Parameters
    ----------
    results
        Results with the measures ``sink`` and ``sink_places``.

    Returns
    -------
    pandas.DataFrame
        One row per head: ``head``; ``first``, its mean attention to the first token; ``rate``, the
        share of texts in which that is a sink, with its interval ``low`` … ``high``; ``learned``,
        its attention to a learned sink (NaN for models without one); ``other``, the number (from
        1) of the strongest other token, "" if none is ever a sink; ``other_rate``, its sink rate;
        ``held_out``, the rate on texts on which it was not chosen; and ``n`` texts.

    Raises
    ------
    ResultsError
        If a measure is missing, or no text was long enough.

    References
    ----------
    Gu et al. 2025, "When Attention Sink Emerges in Language Models", section 2.

    Examples
    --------
    >>> import headscope as hs
    >>> measures = [hs.Sink(length=16), hs.SinkPlaces(length=16)]
    >>> table = sink_table(hs.survey("demo", "demo", measures=measures, limit=8))
    >>> table.loc[0, "head"], int(table.loc[0, "n"])
    ('1-1', 8)
    """
    for name in NEEDED:
        if name not in results:
            raise ResultsError(
                f"these results have no measure {name!r}, which tables of sinks need",
                hint=f"hs.survey(model, corpus, measures={list(NEEDED)})",
            )
    sink, places = results["sink"], results["sink_places"]
    if not sink["n"].any():
        raise ResultsError(
            "no text was long enough to look for sinks",
            hint="use longer texts, or hs.Sink(length=…) and hs.SinkPlaces(length=…) with a "
            "smaller length",
        )
    rows = []
    for head in grid_heads(sink):
        place = {"layer": head.layer + 1, "head": head.head + 1}
        rows.append({"head": str(head)} | _first(sink.sel(place)) | _other(places.sel(place)))
    return pd.DataFrame(rows).assign(n=int(sink["n"].max()))


def _first(sink: xr.Dataset) -> dict[str, object]:
    rate = sink.sel(sink="rate")
    return {
        "first": float(sink["mean"].sel(sink="first")),
        "rate": float(rate["mean"]),
        "low": float(rate["low"]),
        "high": float(rate["high"]),
        "learned": float(sink["mean"].sel(sink="learned")),
    }


def _other(places: xr.Dataset) -> dict[str, object]:
    """The strongest other token, chosen on all texts, and the procedure scored apart."""
    means = places["mean"].values
    best = int(np.nanargmax(means))
    fitted = cross_fit(
        *(places[part].transpose("bucket", "token").values for part in ("sum", "count"))
    )
    return {
        "other": str(places["token"].values[best]) if means[best] > 0 else "",
        "other_rate": float(means[best]),
        "held_out": fitted.score,
    }
