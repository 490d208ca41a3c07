"""What a cut cache costs: the loss and the recall as fewer KV heads keep all of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr

from headscope.numbers import MISSING, decimals, interval, percent
from headscope.results import Atlas
from headscope.results.atlas import measure_data

NAME, KEPT = "cache", "kept"
"""The groups of the results: losses and recalls, and which heads keep their cache."""
RANDOM = "random"
"""Stands for random choices among the rankings."""


def cache_table(results: Atlas) -> pd.DataFrame:
    """The loss and the recall with the cache of some KV heads cut.

    Parameters
    ----------
    results
        Results of :func:`headscope.cache`.

    Returns
    -------
    pandas.DataFrame
        One row per ranking (the last one is ``random``), share and what it is ``judged`` by:
        ``kept``, the KV heads with the whole cache, and their ``share``; ``mean`` with its
        interval; the ``change`` from the whole cache and what is ``over`` random choices, with
        theirs; ``random``, the mean of random choices, with the lowest and the highest.

    Raises
    ------
    ResultsError
        If the results have no cut cache.
    """
    how = "make them with hs.cache(model, text)"
    data = measure_data(results, NAME, "have no cut cache", how)
    draws = data["draw"]
    frame = data.drop_vars("draw").assign(
        random=draws.mean("draw"), random_low=draws.min("draw"), random_high=draws.max("draw")
    )
    return frame.to_dataframe(dim_order=["by", "kept", "judged"]).reset_index()


def best_choice(data: xr.Dataset) -> tuple[str, int] | None:
    """The ranking and the number of KV heads of the smallest cache within the tolerance.

    Parameters
    ----------
    data
        The group ``cache``.

    Returns
    -------
    tuple of str and int, or None
        None if no choice that keeps some heads is within it.
    """
    most = data.attrs["tolerance"]
    ranked = data["change"].sel(by=data["by"] != RANDOM)
    good = (ranked.sel(judged="loss") <= most) & (ranked.sel(judged="recall") >= -most)
    for kept in data["kept"].values[:0:-1]:
        fine = good.sel(kept=kept)
        if kept and bool(fine.any()):
            loss = ranked.sel(judged="loss", kept=kept).where(fine)
            return str(loss["by"].values[int(np.nanargmin(loss))]), int(kept)
    return None


def cache_sentences(results: Atlas) -> Iterator[str]:
    """What cutting costs by each ranking, at the share nearest to half; and the best choice.

    Parameters
    ----------
    results
        Results of :func:`headscope.cache`.
    """
    data, table = results[NAME], cache_table(results)
    shares = table.loc[table["share"] < 1, "share"]
    half = shares.iloc[(shares - 0.5).abs().argmin()]
    for by in [name for name in data["by"].values if name != RANDOM]:
        rows = table[(table["by"] == by) & (table["share"] == half)].set_index("judged")
        of_loss, of_recall = (_moved(rows.loc[judged]) for judged in ("loss", "recall"))
        yield (
            f"with {percent(1 - half)} % of KV heads {data.attrs['window']}, by {by}: "
            f"the loss {of_loss}, and the recall of needles {of_recall}"
        )
    tokens, loss = results.provenance["settings"]["tokens"], data.sel(judged="loss")
    within = f"{data.attrs['tolerance']:g} nats of loss and {data.attrs['tolerance']:g} of recall"
    best = best_choice(data)
    if best:
        share = percent(float(data["share"].sel(kept=best[1])))
        yield f"the smallest cache within {within}: {share} % of KV heads, by {best[0]}"
    else:
        yield f"no choice that keeps some KV heads is within {within}"
    yield (
        f"loss: {int(loss['n'].max())} texts of {tokens:,} tokens; recall: "
        f"{int(data.sel(judged='recall')['n'].max())} prompts; intervals by jackknife over texts "
        "and needles"
    )


def _moved(row: pd.Series) -> str:
    """What a cut does to a value, beside random choices."""
    after, before = (decimals(value, 3) for value in (row["mean"], row["mean"] - row["change"]))
    verb = "rises" if row["change"] > 0 else "falls"
    moved = f"stays at {after}" if after == before else f"{verb} from {before} to {after}"
    signed = partial(decimals, places=3, sign="+")
    ends = interval(row["change_low"], row["change_high"], form=signed)
    change = signed(row["change"]) if ends == MISSING else f"{signed(row['change'])} {ends}"
    low, high = (decimals(row[f"random_{end}"], 3) for end in ("low", "high"))
    return f"{moved} ({change}; random: {row['random']:.3f}, {low} to {high})"
