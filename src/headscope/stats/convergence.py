"""Is the corpus large enough? How the intervals of the strongest statistics shrink with examples.

Sums are kept in buckets of whole documents. Intervals from a few buckets show what a smaller
corpus would have given, and how much a larger one would help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError, unknown
from headscope.labels import label_text
from headscope.results import Atlas
from headscope.results.moments import ratio
from headscope.results.schema import GRID
from headscope.stats.grid import grid_heads
from headscope.stats.role_words import ROLE_WORDS, sink_words

STEPS = (4, 8, 12, 16, 24, 32)
"""From how many buckets intervals are computed, as far as there are so many."""
ORDERS = 20
"""In how many orders the buckets are taken."""
HALVED = 4
"""An interval is inversely proportional to the root of the number of examples."""
COLUMNS = (
    "statistic",
    "measure",
    "head",
    "value",
    "buckets",
    "examples",
    "half_width",
    "to_halve",
)
USUAL: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("position", {"offset": "previous"}),
    ("position", {"offset": "next"}),
    ("special", {"token": "cls", "row": "all"}),
    ("special", {"token": "sep", "row": "all"}),
    ("entropy", {"row": "all"}),
)

Array = NDArray[np.float64]
Statistic = tuple[str, Mapping[str, str]]
"""A measure, and the labels of one of its values."""


def convergence(
    atlas: Atlas,
    statistics: Sequence[Statistic] | None = None,
    *,
    seed: int = 0,
    orders: int = ORDERS,
) -> pd.DataFrame:
    """How the 95 % intervals of the strongest head of some statistics shrink with examples.

    Parameters
    ----------
    atlas
        Results of a survey.
    statistics
        Measures and labels, such as ``("position", {"offset": "previous"})``. Default: attention
        to the previous and next token and to the model's own special tokens (or the first token),
        entropy, the largest excess of a main role, and the best head at a dependency relation, as
        far as the results have them.
    seed
        Of the orders in which buckets of documents are taken.
    orders
        How many orders are averaged over.

    Returns
    -------
    pandas.DataFrame
        One row per statistic and number of buckets (4, 8, 12, 16, 24, 32, and all that have
        documents): ``statistic`` in words, ``measure``, the strongest ``head`` with its ``value``,
        ``buckets``, how many ``examples`` they hold, and ``half_width`` of the interval over
        documents, both averaged over orders. ``to_halve`` is how many examples would halve the
        interval from all: four times as many. Statistics with fewer than two buckets are left out.

    Raises
    ------
    UserError
        If a label is missing or unknown, or if there are no orders to average over.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", limit=30, measures="position")
    >>> table = convergence(atlas, [("position", {"offset": "previous"})])
    >>> table["head"].unique().tolist(), int(table["to_halve"].iloc[0])
    (['1-3'], 120)
    >>> bool(table["half_width"].iloc[-1] < table["half_width"].iloc[0])
    True
    """
    if orders < 1:
        raise UserError(f"the number of orders must be 1 or more, got {orders} instead")
    traces = _usual(atlas) if statistics is None else [_trace(atlas, *one) for one in statistics]
    found = [trace for trace in traces if trace is not None]
    examples = _examples(atlas) if found else np.zeros(0)
    rows = [row for trace in found for row in trace.rows(examples, seed=seed, orders=orders)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True)
class Trace:
    """The sums behind one statistic of one head, by bucket of documents.

    Parameters
    ----------
    statistic, measure, head
        What it is, in words; the measure; the head.
    total, count
        (bucket,): the statistic is the ratio of their sums.
    """

    statistic: str
    measure: str
    head: str
    total: Array
    count: Array

    def rows(self, examples: Array, *, seed: int, orders: int) -> list[dict[str, object]]:
        """One row per number of buckets, which hold so many ``examples``, (bucket,)."""
        filled = np.flatnonzero(self.count > 0)
        if len(filled) < 2:
            return []
        random = np.random.default_rng(seed)
        order = np.stack([random.permutation(filled) for _ in range(orders)], 1)
        steps = sorted({step for step in STEPS if step < len(filled)} | {len(filled)})
        value = float(self.total.sum() / self.count.sum())
        about = {"statistic": self.statistic, "measure": self.measure, "head": self.head}
        return [
            {
                **about,
                "value": value,
                "buckets": step,
                "examples": float(examples[order[:step]].sum(0).mean()),
                "half_width": self._half(order[:step]),
                "to_halve": int(HALVED * examples[filled].sum()),
            }
            for step in steps
        ]

    def _half(self, order: NDArray[np.int64]) -> float:
        """Half the width of the interval from some buckets, (bucket, order), on average."""
        part = ratio(self.total[order.T], self.count[order.T])
        return float(np.nanmean(part.quantile() * part.error))


def _trace(atlas: Atlas, measure: str, labels: Mapping[str, str]) -> Trace | None:
    """The strongest head of a statistic; None where it is defined for none."""
    data = atlas[measure]
    if "bucket" not in data.dims:
        raise UserError(
            f"{measure!r} is not kept by documents, so its intervals cannot be followed",
            hint="choose a measure of a survey, such as position",
        )
    own = [str(dim) for dim in data["sum"].dims if dim not in ("bucket", *GRID)]
    for dim in own:
        known = [str(label) for label in data[dim].values]
        if dim not in labels:
            raise UserError(
                f"the statistic {measure!r} needs a label for {dim!r}: one of {', '.join(known)}",
                hint=f'e.g. ("{measure}", {{"{dim}": "{known[0]}"}})',
            )
        if labels[dim] not in known:
            raise unknown(dim, labels[dim], known)
    part = data[["sum", "count"]].sel({dim: labels[dim] for dim in own})
    attributes = {str(key): str(text) for key, text in data.attrs.items()}
    words = label_text(measure, labels, attributes)
    return _strongest(words, measure, part["sum"], part["count"])


def _strongest(words: str, measure: str, total: xr.DataArray, count: xr.DataArray) -> Trace | None:
    """The head with the largest ratio of sums."""
    order = ("bucket", *GRID)
    sums, counts = (
        values.transpose(*order).values.astype(np.float64).reshape(values.sizes["bucket"], -1)
        for values in (total, count)
    )
    whole = counts.sum(0)
    if not (whole > 0).any():
        return None
    means = np.where(whole > 0, sums.sum(0) / np.where(whole > 0, whole, 1.0), -np.inf)
    place = int(np.argmax(means))
    head = str(grid_heads(total)[place])
    return Trace(words, measure, head, sums[:, place], counts[:, place])


def _examples(atlas: Atlas) -> Array:
    """How many examples each bucket holds: no measure has more values than examples, but shares
    of words or mentions do.
    """
    found = [
        _largest(data["count"])
        for data in (atlas[name] for name in atlas)
        if "bucket" in data.dims and "count" in data and data.attrs.get("kind", "mean") == "mean"
    ]
    if not found:  # only shares of words: their numbers have to do
        found = [_largest(atlas[next(iter(atlas))]["count"])]
    most: Array = np.max(np.stack(found), 0).astype(np.float64)
    return most


def _largest(counts: xr.DataArray) -> Array:
    """The largest number of each bucket."""
    by_bucket = counts.transpose("bucket", ...).values
    largest: Array = by_bucket.reshape(len(by_bucket), -1).max(1)
    return largest


def _usual(atlas: Atlas) -> list[Trace | None]:
    """What is followed unless a caller asks for something else."""
    named = [
        (measure, labels)
        for measure, labels in USUAL
        if measure in atlas
        and all(label in atlas[measure][dim].values for dim, label in labels.items())
    ]
    found = [_trace(atlas, measure, labels) for measure, labels in named]
    cls = any(one is not None and one.measure == "special" for one in found)
    if "activity" in atlas and not cls:
        data = atlas["activity"].sel(where="other")
        words = f"attention that rests on {sink_words(atlas)['other']}"
        found.append(_strongest(words, "activity", data["sum"], data["count"]))
    return [*found, *_largest_excess(atlas), *_best_relation(atlas)]


def _largest_excess(atlas: Atlas) -> list[Trace | None]:
    """The head whose main role has the largest excess."""
    table = atlas.analysis.roles
    if "excess" not in table or table["excess"].isna().all():
        return []
    head = str(table["excess"].idxmax())
    role = str(table.loc[head, "role"])
    layer, number = map(int, head.split("-"))
    sums = atlas["work"]["sum"].sel(layer=layer, head=number, role=role)
    total = (sums.sel(part="attention") - sums.sel(part="uniform")).values
    words = f"excess of its main role, {ROLE_WORDS[role].name}"
    return [Trace(words, "work", head, total, sums.sel(part="left").values)]


def _best_relation(atlas: Atlas) -> list[Trace | None]:
    """The head that finds the most words of a relation beyond the best fixed offset."""
    best = [one for one in atlas.analysis.relations if one.leads]
    if not best:
        return []
    labels = {"direction": best[0].direction, "relation": best[0].relation, "words": "every"}
    return [_trace(atlas, "dependency", labels)]
