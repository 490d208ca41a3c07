"""What a cut cache costs: the loss and the recall as fewer KV heads keep all of theirs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError
from headscope.numbers import percent
from headscope.results import Atlas

NAME, KEPT = "cache", "kept"
"""The groups of the results: losses and recalls, and which heads keep their cache."""
RANDOM = "random"
"""Stands for random choices among the rankings."""
COLUMNS = ("mean", "low", "high", "change", "change_low", "change_high")


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
    if NAME not in results:
        raise ResultsError(
            "these results have no cut cache", hint="make them with hs.cache(model, text)"
        )
    data = results[NAME]
    rows = []
    for by in data["by"].values:
        for kept in data["kept"].values:
            for judged in data["judged"].values:
                cell, draws = data.sel(by=by, kept=kept, judged=judged), data["draw"]
                random = draws.sel(kept=kept, judged=judged).values
                over = ("over", "over_low", "over_high")
                rows.append(
                    {"by": str(by), "kept": int(kept), "share": float(cell["share"])}
                    | {"judged": str(judged)}
                    | {name: float(cell[name]) for name in (*COLUMNS, *over)}
                    | {"random": random.mean(), "random_low": random.min()}
                    | {"random_high": random.max(), "n": int(cell["n"])}
                )
    return pd.DataFrame(rows)


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
        said = []
        for judged, what in (("loss", "the loss"), ("recall", "the recall of needles")):
            row = rows.loc[judged]
            verb = "rises" if row["change"] > 0 else "falls"
            said.append(
                f"{what} {verb} from {row['mean'] - row['change']:.3f} to {row['mean']:.3f} "
                f"({row['change']:+.3f}, 95 %: {row['change_low']:+.3f} to "
                f"{row['change_high']:+.3f}; random: {row['random']:.3f}, "
                f"{row['random_low']:.3f} to {row['random_high']:.3f})"
            )
        yield (
            f"with {percent(1 - half)} % of KV heads {data.attrs['window']}, by {by}: "
            f"{said[0]}, and {said[1]}"
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
        f"{int(data.sel(judged='recall')['n'].max())} prompts; intervals over texts and needles, "
        "Student's t"
    )
