"""The main role of every head: what it does with the attention that does not rest on sinks.

A head has a role if it puts more of its active attention on the role's tokens than even attention
would, by a test over documents that is corrected for all heads and roles, and surely by a tenth.
Many heads look near and do something more specific there, so the main role is the most specific one
with at least half of the largest excess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.grid import labelled_head
from headscope.stats.heads.excess import DIRECTION, FAMILIES, Excess, Work, beyond_habits
from headscope.stats.heads.thresholds import DEFAULT, Thresholds
from headscope.stats.inference.correction import correct
from headscope.stats.tables.relations import relation_tests

NEEDED = ("activity", "work", "spread")
"""The measures that main roles need."""
RESAMPLES, SEED = 1000, 0
"""How often documents are drawn anew to see whether a head keeps its role."""
PIECE = 100
"""How many resamples are done at a time."""
RETRIEVAL = "retrieval"
FAR = 6.0
"""A role whose excess is more errors below what counts does not count in any resample."""

Array = NDArray[np.float64]


def main_roles(results: Atlas, *, thresholds: Thresholds = DEFAULT) -> pd.DataFrame:
    """The main role of every head.

    Parameters
    ----------
    results
        Results with the measures ``activity``, ``work`` and ``spread``. Roles along arcs of the
        dependency tree need the measures of :func:`headscope.stats.beyond_position`: such a role
        must get at least 1.5 times what the head's positions alone would give. Antecedents need
        ``coreference``, and must beat the nearest mention with the same head word. Retrieval scores
        count as a role where they were added (:meth:`headscope.Atlas.with_retrieval`).
    thresholds
        From which values on roles count.

    Returns
    -------
    pandas.DataFrame
        One row per head: ``head``, ``role`` (one of those in
        :data:`headscope.stats.heads.excess.FAMILIES`; or "broad", "no clear role", "rests"),
        ``family``, ``excess`` with its 95 % interval ``low`` … ``high`` and ``p_corrected`` (Holm
        over heads and roles; NaN without a role), ``second`` (the role with the largest excess if
        that is another one, or a role within 10 % of the main one; or ""), ``activity`` (the share
        of active attention), ``spread`` (0 to 1), ``stability`` (the share of 1000 resamples of
        the documents in which the head has the same main role; NaN where there are too few
        documents), ``instead`` (what it has most often in the others, or "") and ``borderline``:
        whether the stability is below 0.8.

    Raises
    ------
    ResultsError
        If a measure is missing.

    See Also
    --------
    headscope.stats.descriptions : the same in sentences.
    headscope.stats.threshold_table : how many heads change their role with each threshold.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["activity", "work", "spread"], limit=20)
    >>> table = main_roles(atlas).set_index("head")
    >>> table.loc["1-3", "role"], float(table.loc["1-3", "excess"].round(1))
    ('previous', 1.0)
    """
    return MainRoles.of(results, thresholds=thresholds).table()


def role_stability(results: Atlas) -> tuple[int, int]:
    """How many heads have a role, and how many of these keep it when documents are drawn anew.

    Parameters
    ----------
    results
        As in :func:`main_roles`.

    Returns
    -------
    stable, total : int
        Heads whose role is not borderline, and all heads with a role.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["activity", "work", "spread"], limit=20)
    >>> stable, total = role_stability(atlas)
    >>> 0 < stable <= total < 72
    True
    """
    table = main_roles(results)
    having = table["role"].isin(list(FAMILIES)) & table["stability"].notna()
    return int((having & ~table["borderline"]).sum()), int(having.sum())


def has_main_roles(results: Atlas) -> bool:
    """Whether results have what main roles need."""
    return all(name in results for name in NEEDED)


@dataclass(frozen=True)
class MainRoles:
    """The excess of every head at every role, and the sums it comes from."""

    whole: Excess
    work: Work

    @classmethod
    def of(
        cls, results: Atlas, *, thresholds: Thresholds = DEFAULT, tests: xr.Dataset | None = None
    ) -> MainRoles:
        """Analyse results; see :func:`main_roles`.

        Parameters
        ----------
        results, thresholds
            As there.
        tests
            What :func:`headscope.stats.relation_tests` says of both directions, if it is known.
        """
        for name in NEEDED:
            if name not in results:
                raise ResultsError(
                    f"these results have no measure {name!r}, which main roles need",
                    hint=f"hs.survey(model, corpus, measures={[*NEEDED, 'dependency']})",
                )
        work = Work.of(results)
        if "dependency" in results and set(work.names) & set(DIRECTION):
            tests = relation_tests(results) if tests is None else tests
        whole = Excess.of(work, beyond_habits(work, results, tests), thresholds)
        if RETRIEVAL in results:
            whole = whole.joined(RETRIEVAL, _retrieval(results))
        return cls(whole, work)

    def marks(self, thresholds: Thresholds) -> list[tuple[str, str, bool]]:
        """Main role, second role and borderline mark of every head under some thresholds."""
        excess, (share, _) = self.whole.under(thresholds), self.stability
        return [
            (role, excess.second(place, role), bool(share[place] < thresholds.stable))
            for place, role in enumerate(excess.roles())
        ]

    @cached_property
    def stability(self) -> tuple[Array, list[str]]:
        """The share of resamples in which each head has its main role, and what it has most often
        in the others ("" where it always has its own).

        Buckets of documents are drawn with replacement. Each resample has errors of its own, and
        the critical values of the whole corpus.
        """
        whole = self.whole
        labels, heads = len(whole.labels), len(whole.places)
        now = np.array([whole.labels.index(role) for role in whole.roles()])
        if not whole.tested:
            return np.full(heads, np.nan), [""] * heads
        times = np.zeros((heads, labels), np.int64)
        for value, counts, activity, spread in self._resampled():
            roles = whole.main(value, counts, activity, spread)
            for head in range(heads):
                times[head] += np.bincount(roles[:, head], minlength=labels)
        share = times[np.arange(heads), now] / RESAMPLES
        times[np.arange(heads), now] = 0
        often = [
            whole.labels[at] if times[head, at] else "" for head, at in enumerate(times.argmax(1))
        ]
        return share, often

    def _resampled(self) -> Iterator[tuple[Array, NDArray[np.bool_], Array, Array]]:
        """Excess, whether roles count, activity and spread, (resample, head, …), piece by piece."""
        whole, work, limit = self.whole, self.work, self.whole.thresholds
        size, buckets = len(work.names), len(work.left)
        # Few heads could have few roles in any resample; only these are computed.
        reach = (whole.value + FAR * whole.error)[:, :size]
        able = np.flatnonzero((reach >= limit.least) & (whole.beyond[:, :size] >= limit.beyond))
        more = (work.attention - work.even).reshape(buckets, -1)[:, able]
        left = work.left.reshape(buckets, -1)[:, able]
        with np.errstate(invalid="ignore", divide="ignore"):
            rest = 1.0 - left / left.sum(0)
            scaled, weight = (np.where(rest > 0, part / rest, 0.0) for part in (more, left))
        parts = (more, left, scaled**2, scaled * weight, weight**2)
        wide, sure = whole.quantile[:, :size].ravel()[able], self._critical()[able]
        random = np.random.default_rng(SEED)
        for _ in range(0, RESAMPLES, PIECE):
            times = random.multinomial(buckets, np.full(buckets, 1 / buckets), PIECE).astype(float)
            # What has no sums by document stays as it is.
            values = np.tile(whole.value, (PIECE, 1, 1))
            counts = np.tile(whole.counts, (PIECE, 1, 1))
            counts[..., :size] = False
            with np.errstate(invalid="ignore", divide="ignore"):
                above, total, squares, crossed, weights = (times @ part for part in parts)
                value = above / total
                square = squares - 2 * value * crossed + value**2 * weights
                error = np.sqrt(square.clip(min=0.0)) / total  # rounding may put 0 below 0
                surely = value - wide * error >= limit.least
                at = (slice(None), able // size, able % size)
                values[at], counts[at] = value, surely & (value > sure * error)
                activity, spread = (
                    (times @ top) / (times @ bottom)
                    for top, bottom in ((work.active, work.rows), (work.entropy, work.entropy_left))
                )
            yield values, counts, activity, spread

    def _critical(self) -> Array:
        """How many errors an excess must be above zero to pass the corrected test, (cell,).

        By Holm, p is compared with alpha over the number of tests that fail; one that passes is
        among them until it does.
        """
        whole, size = self.whole, len(self.work.names)
        corrected, alpha = whole.p[:, :size], whole.thresholds.alpha
        passing = corrected < alpha
        tests = np.isfinite(corrected).sum() - passing.sum() + passing
        degrees = whole.degrees[:, :size]
        critical: Array = special.stdtrit(degrees, 1 - alpha / np.maximum(tests, 1)).ravel()
        return critical

    def table(self) -> pd.DataFrame:
        """One row per head; see :func:`main_roles`."""
        share, instead = self.stability
        least = self.whole.thresholds.stable
        return pd.DataFrame(
            [
                self._row(place, role)
                | {
                    "stability": share[place],
                    "instead": instead[place],
                    "borderline": bool(share[place] < least),
                }
                for place, role in enumerate(self.whole.roles())
            ]
        )

    def _row(self, place: int, role: str) -> dict[str, object]:
        whole = self.whole
        row: dict[str, object] = {
            "head": str(labelled_head(*whole.places[place])),
            "role": role,
            "family": FAMILIES.get(role, role),
            "excess": np.nan,
            "low": np.nan,
            "high": np.nan,
            "p_corrected": np.nan,
            "second": whole.second(place, role),
        }
        if role in whole.names:
            at = whole.names.index(role)
            value, half = whole.value[place, at], whole.half[place, at]
            row |= {"excess": value, "low": value - half, "high": min(value + half, 1.0)}
            row |= {"p_corrected": whole.p[place, at]}
        return row | {"activity": whole.activity[place], "spread": whole.spread[place]}


def _retrieval(results: Atlas) -> dict[str, Array]:
    """Retrieval scores as the excess of a role: no other tokens are expected to be copied."""
    data = results[RETRIEVAL].transpose("layer", "head", ...)
    names = ("mean", "low", "high", "error")
    mean, low, high, error = (data[name].values.astype(float).ravel() for name in names)
    degrees = np.full(mean.shape, len(np.unique(data["needle"].values)) - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = correct(special.stdtr(degrees, -mean / error), "holm")
    shares = {"share": mean, "share_low": low, "share_high": high}
    return {"value": mean, "error": error, "degrees": degrees, "p": p, **shares}
