"""What stands out in a survey: the strongest head of each statistic, and remarks in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

MOST = 0.5
SINK = 0.8
TOKENS = {
    "cls": "the start token ([CLS] or BOS)",
    "sep": "the separator ([SEP] or EOS)",
    "punctuation": "full stops and commas",
}


def head_name(layer: int, head: int) -> str:
    """A head as people write it, both from 1.

    >>> head_name(8, 10)
    '8-10'
    """
    return f"{layer}-{head}"


def heads_over(values: xr.DataArray, threshold: float) -> list[str]:
    """The heads whose value is over a threshold, the largest first, equal ones in the order of the model."""
    stacked = values.stack(place=("layer", "head"))
    order = stacked.where(stacked > threshold, drop=True).sortby(-stacked)
    return [head_name(int(layer), int(head)) for layer, head in order["place"].values]


def summary(results: Atlas, *, threshold: float = MOST) -> pd.DataFrame:
    """One row a statistic: its mean over all heads, the strongest head with its interval, and how many heads are over the threshold (shares only)."""
    rows = []
    table = results.table()
    for (measure, label), group in table[table["measure"].isin(results.listed)].groupby(
        ["measure", "label"], sort=False
    ):
        known = group.dropna(subset="mean")
        row: dict[str, object] = {
            "measure": measure,
            "label": label,
            "heads": len(group),
            "mean": known["mean"].mean() if len(known) else np.nan,
        }
        best = known.iloc[int(known["mean"].to_numpy().argmax())] if len(known) else None
        share = str(results[str(measure)].attrs.get("unit", "")).startswith("share")
        row["strongest"] = "" if best is None else head_name(int(best["layer"]), int(best["head"]))
        row |= {
            key: np.nan if best is None else float(best[source])
            for key, source in (("value", "mean"), ("low", "low"), ("high", "high"))
        }
        row["over"] = int((known["mean"] > threshold).sum()) if share else None
        row["n"] = int(group["n"].max()) if len(group) else 0
        rows.append(row)
    return pd.DataFrame(rows)


def remarks(results: Atlas) -> list[str]:
    """Plain sentences on what a reader should know first, warnings included."""
    found: list[str] = []
    if "position" in results.measures:
        means = results.mean("position")
        for offset in ("previous", "next"):
            heads = heads_over(means.sel(offset=offset), MOST)
            if heads:
                found.append(
                    f"{_heads(heads)} more than half of the attention on the {offset} token."
                )
    if "special" in results.measures:
        means = results.mean("special").sel(row="all")
        for token, words in TOKENS.items():
            heads = heads_over(means.sel(token=token), SINK)
            total = int(means.sel(token=token).notnull().sum())
            if heads and len(heads) * 3 >= total:
                found.append(
                    f"Collapsed onto a sink: {len(heads)} of {total} heads put more than {SINK:.0%} of their attention on {words}. Read other statistics of these heads with care."
                )
            elif heads:
                found.append(f"{_heads(heads)} more than {SINK:.0%} of the attention on {words}.")
    if "entropy" in results.measures:
        means = results.mean("entropy")
        share = means.sel(row="all") / means.sel(row="uniform")
        heads = heads_over(share, 0.9)
        if heads:
            found.append(
                f"{_heads(heads, 'attends', 'attend')} almost uniformly (entropy over 90 % of the uniform line)."
            )
    counts = results.provenance.get("counts", {})
    if counts.get("nonfinite"):
        those = (
            "1 example was left out because its"
            if counts["nonfinite"] == 1
            else f"{counts['nonfinite']} examples were left out because their"
        )
        found.append(f"{those} attention was not finite, e.g. {counts['nonfinite_examples'][0]}.")
    return found


def _heads(heads: list[str], one: str = "puts", many: str = "put") -> str:
    shown = ", ".join(heads[:8]) + (f" and {len(heads) - 8} more" if len(heads) > 8 else "")
    return f"Head {shown} {one}" if len(heads) == 1 else f"{len(heads)} heads ({shown}) {many}"
