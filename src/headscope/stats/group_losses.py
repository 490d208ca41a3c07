"""What disabling groups of heads costs a language model, against other heads of the same layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.results.moments import ratio
from headscope.stats.clusters import cluster_numbers

NAME = "group_loss"
"""The group of the results."""
COPIES = ("new", "repeated")
"""The first copy of a passage, and the second."""
Array = NDArray[np.float64]


def group_dataset(
    losses: Array, groups: Mapping[str, str], *, draws: int, documents: Sequence[str]
) -> xr.Dataset:
    """How much the loss rises with each group of heads disabled.

    Parameters
    ----------
    losses
        (set, passage, copy): with nothing disabled, then for every group with the group disabled
        and with each draw of other heads.
    groups
        The heads of each group, by name.
    draws
        How many draws each group has.
    documents
        The document of each passage; "" for one of its own.

    Returns
    -------
    xarray.Dataset
        ``mean`` is the rise of the loss in nats, with its 95 % interval over documents (Student's
        t); ``draw`` the rise with other heads disabled; ``p`` the share of draws, the group among
        them, whose rise is at least as large; ``more`` the rise on repeated text less that on new
        text, with its interval; ``loss`` the loss with no head disabled.
    """
    whole, rest = losses[0], losses[1:].reshape(len(groups), draws + 1, *losses.shape[1:])
    rise = rest - whole
    own, others = rise[:, 0], rise[:, 1:].mean(2)  # (group, passage, copy), (group, draw, copy)
    numbers = cluster_numbers(documents)
    mean, low, high, error = _interval(own, numbers)
    more = _interval((own[..., 1] - own[..., 0])[..., None], numbers)
    reached = (others >= mean[:, None]).sum(1)
    cells = ("disabled", "text")
    return xr.Dataset(
        {
            "mean": (cells, mean),
            "low": (cells, low),
            "high": (cells, high),
            "deviation": (cells, error),
            "n": (cells, np.full(mean.shape, losses.shape[1], np.int64)),
            "p": (cells, (1 + reached) / (1 + draws)),
            "draw": (("disabled", "drawn", "text"), others),
            "loss": ("text", whole.mean(0)),
            **{
                name: ("disabled", part[:, 0])
                for name, part in zip(("more", "more_low", "more_high"), more, strict=False)
            },
            "heads": ("disabled", np.array(list(groups.values()), dtype=object)),
        },
        {"disabled": np.array(list(groups), dtype=object), "text": np.array(COPIES, dtype=object)},
        {
            "title": "Loss with groups of heads disabled",
            "unit": "nats",
            "source": "Headscope",
            "kind": "curve",
            "listed": "no",
        },
    )


def group_table(results: Atlas) -> pd.DataFrame:
    """What disabling each group costs, on new and on repeated text.

    Parameters
    ----------
    results
        Results of :func:`headscope.group_losses`.

    Returns
    -------
    pandas.DataFrame
        One row per group and text: ``group``, ``heads``, ``text`` ("new": the first copy of a
        passage; "repeated": the second), ``loss`` with no head disabled, its ``rise`` with the
        group disabled and the interval ``low`` … ``high``, ``others`` (the mean rise with as many
        other heads of the same layers) and ``most`` of these draws, and ``p``.
    """
    data = _group(results)
    rows = [
        {
            "group": name,
            "heads": str(data["heads"].values[at]),
            "text": text,
            "loss": float(data["loss"].values[copy]),
            "rise": float(data["mean"].values[at, copy]),
            "low": float(data["low"].values[at, copy]),
            "high": float(data["high"].values[at, copy]),
            "others": float(data["draw"].values[at, :, copy].mean()),
            "most": float(data["draw"].values[at, :, copy].max()),
            "p": float(data["p"].values[at, copy]),
        }
        for at, name in enumerate(map(str, data["disabled"].values))
        for copy, text in enumerate(map(str, data["text"].values))
    ]
    return pd.DataFrame(rows)


def repeated_more(results: Atlas) -> pd.DataFrame:
    """By how much more the loss rises on repeated than on new text, one row per group.

    Parameters
    ----------
    results
        Results of :func:`headscope.group_losses`.

    Returns
    -------
    pandas.DataFrame
        ``group``, ``more`` (nats) and its interval over documents, ``low`` … ``high``.
    """
    data = _group(results)
    columns = {"more": "more", "low": "more_low", "high": "more_high"}
    return pd.DataFrame(
        {"group": data["disabled"].values.astype(str)}
        | {name: data[variable].values for name, variable in columns.items()}
    )


def _group(results: Atlas) -> xr.Dataset:
    if NAME not in results:
        raise ResultsError(
            "these results are not of disabled groups of heads",
            hint="make them with hs.group_losses(model, corpus, groups)",
        )
    return results[NAME]


def _interval(values: Array, documents: NDArray[np.int64]) -> tuple[Array, Array, Array, Array]:
    """Mean, low, high and standard error of values (group, passage, copy) over documents."""
    by_document = np.zeros((int(documents.max()) + 1, *np.moveaxis(values, 1, 0).shape[1:]))
    np.add.at(by_document, documents, np.moveaxis(values, 1, 0))
    sizes = np.bincount(documents).astype(np.float64)
    counts = np.broadcast_to(sizes, (*by_document.shape[1:], len(by_document)))
    found = ratio(np.moveaxis(by_document, 0, -1), counts)
    return found.value, *found.interval(), found.error
