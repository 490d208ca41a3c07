"""How far norm-weighted maps tell the same of heads as attention maps do."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used

from headscope.errors import UserError
from headscope.labels import NORM, label_text, map_measure
from headscope.results import Atlas
from headscope.results.schema import GRID, label_dims, of_heads, statistics
from headscope.results.summary import says_the_same
from headscope.stats.columns import NOT_SHOWN

LEAST = 3
"""Fewer heads have no rank correlation."""


def both_maps(atlas: Atlas) -> list[str]:
    """The measures that results have on attention and on norm-weighted maps.

    Parameters
    ----------
    atlas
        Any results.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks."], measures=["position"], maps="both")
    >>> both_maps(atlas)
    ['position']
    """
    return [
        name
        for name in atlas
        if f"{NORM}{name}" in atlas and of_heads(atlas[name]) and map_measure(name) not in NOT_SHOWN
    ]


def map_agreement(atlas: Atlas) -> pd.DataFrame:
    """Rank correlation over heads between attention and norm-weighted maps, for every statistic.

    Parameters
    ----------
    atlas
        Results of a survey with ``maps="both"``.

    Returns
    -------
    pandas.DataFrame
        One row per statistic: measure, label, statistic in words, ``heads``, ``spearman``, the mean
        over heads on ``attention`` and on ``norm`` maps, and the strongest head on each. Statistics
        that are the same for all heads are left out.

    Raises
    ------
    UserError
        If the results have no measure on both kinds of maps.

    References
    ----------
    Kobayashi et al. 2020, "Attention is Not Only a Weight".

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["position"], maps="both", limit=4)
    >>> map_agreement(atlas)[["label", "heads", "strongest"]].values.tolist()[0]
    ['previous', 72, '1-3']
    """
    names = both_maps(atlas)
    if not names:
        raise UserError(
            "these results have no measure on both attention and norm-weighted maps",
            hint="survey with hs.survey(model, corpus, maps='both')",
        )
    rows = [row for name in names for row in _rows(atlas, name)]
    columns = ["measure", "label", "statistic", "heads", "spearman"]
    columns += ["attention", "norm", "strongest", "strongest norm"]
    return pd.DataFrame(rows, columns=columns)


def _rows(atlas: Atlas, name: str) -> list[dict[str, object]]:
    """The statistics of one measure."""
    data, own = atlas[name], label_dims(atlas[name])
    attributes = {str(key): str(text) for key, text in data.attrs.items()}
    both = [
        statistics(atlas[one])["value"].transpose(*own, *GRID).values
        for one in (name, f"{NORM}{name}")
    ]
    heads = [
        f"{layer}-{head}" for layer, head in itertools.product(*(data[dim].values for dim in GRID))
    ]
    found = []
    for place in itertools.product(*(range(data.sizes[dim]) for dim in own)):
        labels = {dim: str(data[dim].values[at]) for dim, at in zip(own, place, strict=True)}
        if attributes.get("kind") == "share" and "every" not in labels.values():
            continue  # kept for a paired test
        if says_the_same(name, statistics(data)["value"], labels):
            continue
        raw, norm = (values[place].ravel().astype(float) for values in both)
        known = ~np.isnan(raw) & ~np.isnan(norm)
        if known.sum() < LEAST or not (np.ptp(raw[known]) and np.ptp(norm[known])):
            continue
        found.append(
            {
                "measure": name,
                "label": ", ".join(labels.values()),
                "statistic": label_text(name, labels, attributes),
                "heads": int(known.sum()),
                "spearman": float(scipy.stats.spearmanr(raw[known], norm[known])[0]),
                "attention": float(raw[known].mean()),
                "norm": float(norm[known].mean()),
                "strongest": heads[int(np.nanargmax(raw))],
                "strongest norm": heads[int(np.nanargmax(norm))],
            }
        )
    return found
