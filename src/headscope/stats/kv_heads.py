"""Statistics per KV head: over the query heads that share keys and values."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.heads import Head
from headscope.results import Atlas
from headscope.results.query import split_value
from headscope.stats.query import head_values


def kv_head_counts(atlas: Atlas) -> tuple[int, ...]:
    """The number of KV heads in each layer: that of query heads, unless the model groups them.

    Parameters
    ----------
    atlas
        The results.

    Raises
    ------
    UserError
        If the results do not say it: they are of two models, or have no values of single heads.

    Examples
    --------
    >>> about = {"model": {"layers": 2, "heads": 4, "kv_heads": 2}}
    >>> kv_head_counts(Atlas.build({}, about))
    (2, 2)
    """
    layers, heads = atlas.shape
    if not layers or not heads:
        raise UserError("these results are not of single heads", hint="use the results of a survey")
    given = atlas.provenance["model"].get("kv_heads", heads)
    counts = tuple(given) if isinstance(given, list) else (given,) * layers
    numbers = all(isinstance(count, int) and count > 0 for count in counts)
    if len(counts) != layers or not numbers or any(heads % count for count in counts):
        raise UserError(
            f"these results do not say which of the {heads} heads of a layer share keys and "
            f"values: kv_heads is {given!r}",
            hint="use the results of one model",
        )
    return counts


def kv_head_table(atlas: Atlas, by: str) -> pd.DataFrame:
    """A statistic per KV head: its mean and maximum over the query heads that share it.

    Parameters
    ----------
    atlas
        The results.
    by
        The statistic, such as ``"streaming:distant"``.

    Returns
    -------
    pandas.DataFrame
        ``layer`` and ``kv_head`` (both from 1), ``mean``, ``max`` and the query ``heads``, in the
        order of the model. Both are NaN where the statistic of any of the heads is not defined.
    """
    rows = []
    values = values_by(atlas, by)
    for layer, own, count in zip(atlas.layers, values, kv_head_counts(atlas), strict=True):
        edges = range(0, len(own) + 1, len(own) // count)
        for number, (first, end) in enumerate(pairwise(edges), start=1):
            group = own[first:end]
            names = ", ".join(str(Head(layer - 1, head)) for head in range(first, end))
            rows.append((layer, number, group.mean(), group.max(), names))
    return pd.DataFrame(rows, columns=["layer", "kv_head", "mean", "max", "heads"])


def values_by(atlas: Atlas, by: str) -> NDArray[np.float64]:
    """The statistic of every head, (layer, head).

    Parameters
    ----------
    atlas
        The results.
    by
        The statistic, such as ``"streaming:distant"``.
    """
    if not by.strip():
        raise UserError(
            "name the value to show per KV head",
            hint='e.g. atlas.kv_heads("position:previous")',
            command="e.g. headscope heads FILE --kv --by position:previous",
        )
    dataset, _ = head_values(atlas, split_value(by))
    return np.asarray(dataset["value"].values, np.float64)
