"""Two models over one corpus: how alike their maps are, and changes paired by example."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from headscope.labels import CHANGE
from headscope.results import Atlas
from headscope.results.moments import ratio
from headscope.results.schema import contents, label_dims
from headscope.stats.differences import ALPHA, LEAST, change_rows
from headscope.stats.grid import labelled_head
from headscope.stats.tests import correct


def cosine_table(comparison: Atlas) -> pd.DataFrame:
    """Compare the maps of two models, one row per layer (Kovaleva et al. 2019, Figure 5).

    Parameters
    ----------
    comparison
        Results of comparing two models.

    Returns
    -------
    pandas.DataFrame
        The mean over the layer's heads of the cosine between the two models' maps, and the head
        that changed most, with its interval.
    """
    data = comparison["change"]
    rows = []
    for layer in data["layer"].values:
        one = data.sel(layer=layer)
        known = one["mean"].dropna("head")
        row: dict[str, object] = {
            "layer": int(layer),
            "cosine": float(known.mean()) if known.size else np.nan,
        }
        head = known["head"].values[int(known.values.argmin())] if known.size else None
        row["changed most"] = "" if head is None else str(labelled_head(layer, head))
        for words, key in (("its cosine", "mean"), ("low", "low"), ("high", "high")):
            row[words] = np.nan if head is None else float(one[key].sel(head=head))
        rows.append(row | {"examples": int(one["n"].max())})
    return pd.DataFrame(rows)


def paired_table(comparison: Atlas, *, alpha: float = ALPHA, least: float = LEAST) -> pd.DataFrame:
    """Compare the measures of two models, one row per statistic.

    Parameters
    ----------
    comparison
        Results of comparing two models, or two results: measures ``NAME-change``.
    alpha
        A head counts as changed where the test, corrected (Holm) over the heads of the statistic,
        gives a p below this. It is over documents, and paired where both read the same texts.
    least
        Smaller changes do not count.

    Returns
    -------
    pandas.DataFrame
        The columns of :func:`~headscope.stats.differences.difference_table`.
    """
    rows: list[dict[str, object]] = []
    for name in comparison:
        if name.endswith(CHANGE):
            data = comparison[name]
            tested = data if contents(data).tested else paired_test(data)
            rows += change_rows(name, tested, alpha=alpha, least=least)
    return pd.DataFrame(rows)


def paired_test(data: xr.Dataset) -> xr.Dataset:
    """Add ``p`` and ``p_corrected`` (Holm over heads) of no change to paired differences.

    Parameters
    ----------
    data
        Dataset with the sums of differences by bucket of documents, dims layer, head, …
    """
    dims = ("layer", "head", *label_dims(data))
    sums, counts = (data[key].transpose(*dims, "bucket").values for key in ("sum", "count"))
    p = ratio(sums, counts).p_differs()
    ordered = data[["mean", "deviation", "n"]].transpose(*dims)
    return ordered.assign(
        p=(dims, p), p_corrected=(dims, correct(p, "holm", axis=(0, 1)))
    ).assign_attrs(data.attrs)
