"""The excess of every head at every role: how much more of its active attention is on the role's
tokens than even attention would put there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from headscope.labels import family_of
from headscope.measures.roles import BROADLY, NONE, RANKED, RESTS, UNCLEAR
from headscope.results import Atlas
from headscope.results.moments import CONFIDENCE, ratio
from headscope.stats.heads.positions import has_positions, times_position
from headscope.stats.heads.thresholds import DEFAULT, Thresholds
from headscope.stats.inference.correction import correct
from headscope.stats.tables.antecedents import RIGHT, AntecedentAnswers

FAMILIES = {role.name: role.family for role in RANKED}
"""The family of each role: what pictures give one colour."""
ORDER = (*dict.fromkeys(FAMILIES.values()), *NONE)
"""The families in the order in which they are listed: the most specific first."""
CONTAINS = {role.name: role.contains for role in RANKED if role.contains}
"""General roles, and the specific ones that they contain."""
DIRECTION = {role.name: role.way for role in RANKED if role.way}
"""Roles along arcs of the tree. They also have to beat the best fixed offset at a relation."""
RANK = {role.name: role.rank for role in RANKED}
"""From 0, the most specific role."""
SPECIAL = RANK["retrieval"]
"""Roles up to this rank name a head however little of its attention is active."""

SIMPLE = (f"nearest{RIGHT}", f"same head word{RIGHT}")
"""What a head for antecedents must beat."""
NUMBERS = ("value", "error", "degrees", "p", "share", "share_low", "share_high", "even")
"""What :class:`Excess` has of every head and role."""

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Work:
    """The sums that excesses come from, by bucket of documents.

    Attributes
    ----------
    names
        The roles.
    places
        Layer and head (labelled from 1) of every head.
    attention, even, left
        (bucket, head, role): attention on the role's tokens, what even attention would put there,
        and all active attention in the same rows.
    active, rows
        (bucket, head): the active share, summed over examples, and their number.
    entropy, entropy_left
        (bucket, head): the two sums whose ratio is the spread.
    """

    names: list[str]
    places: list[tuple[int, int]]
    attention: Array
    even: Array
    left: Array
    active: Array
    rows: Array
    entropy: Array
    entropy_left: Array

    @classmethod
    def of(cls, results: Atlas) -> Work:
        """From the measures ``work``, ``activity`` and ``spread``."""
        data = results["work"]["sum"]
        activity = results["activity"].sel(where="at work")
        spread = results["spread"]["sum"]
        return cls(
            [str(name) for name in data["role"].values],
            [(int(a), int(b)) for a in data["layer"].values for b in data["head"].values],
            attention=_flat(data.sel(part="attention"), "role"),
            even=_flat(data.sel(part="uniform"), "role"),
            left=_flat(data.sel(part="left"), "role"),
            active=_flat(activity["sum"]),
            rows=_flat(activity["count"]),
            entropy=_flat(spread.sel(part="entropy")),
            entropy_left=_flat(spread.sel(part="left")),
        )

    def excess(self, name: str) -> Array:
        """The excess of every head at a role; NaN where it was not measured, (head,)."""
        if name not in self.names:
            return np.full(len(self.places), np.nan)
        at = self.names.index(name)
        more, left = (self.attention - self.even)[..., at].sum(0), self.left[..., at].sum(0)
        excess: Array = more / np.where(left > 0, left, np.nan)
        return excess


def _flat(values: xr.DataArray, *last: str) -> Array:
    """(bucket, head, …), the heads layer by layer."""
    array = values.transpose("bucket", "layer", "head", *last).values.astype(np.float64)
    return array.reshape(array.shape[0], -1, *array.shape[3:])


@dataclass(frozen=True)
class Excess:
    """The excess of every head at every role.

    Attributes
    ----------
    names, places
        As in :class:`Work`.
    value, error, degrees, p
        (head, role): the excess, its standard error over documents with the degrees of freedom, and
        p of "no more than even attention", corrected by Holm over heads and roles.
    share, share_low, share_high, even
        (head, role): the share of the active attention on the role's tokens with its interval, and
        what even attention would give.
    beyond
        (head, role): how many times a simpler habit would give; see :func:`beyond_habits`.
    counts
        (head, role): whether the head has the role.
    activity, spread
        (head,).
    thresholds
        From which values on roles count.
    """

    names: list[str]
    places: list[tuple[int, int]]
    value: Array
    error: Array
    degrees: Array
    p: Array
    share: Array
    share_low: Array
    share_high: Array
    even: Array
    beyond: Array
    counts: Flags
    activity: Array
    spread: Array
    thresholds: Thresholds

    @classmethod
    def of(cls, work: Work, beyond: Array, thresholds: Thresholds = DEFAULT) -> Excess:
        """From the sums.

        Parameters
        ----------
        work
            The sums.
        beyond
            (head, role): see :func:`beyond_habits`.
        thresholds
            From which values on roles count.
        """
        on, even, left = (
            np.moveaxis(values, 0, -1) for values in (work.attention, work.even, work.left)
        )
        excess, share = ratio(on - even, left), ratio(on, left)
        with np.errstate(invalid="ignore", divide="ignore"):
            uniform = even.sum(-1) / left.sum(-1)
        return cls(
            work.names,
            work.places,
            excess.value,
            excess.error,
            excess.degrees,
            correct(excess.p_above(), "holm"),
            share.value,
            *share.interval("share"),
            uniform,
            beyond,
            np.zeros(beyond.shape, bool),
            _ratio(work.active, work.rows),
            _ratio(work.entropy, work.entropy_left),
            thresholds,
        ).under(thresholds)

    def under(self, thresholds: Thresholds) -> Excess:
        """The same with roles that count under other thresholds."""
        counts = (self.value - self.half >= thresholds.least) & (self.p < thresholds.alpha)
        counts &= self.beyond >= thresholds.beyond
        return replace(self, counts=counts, thresholds=thresholds)

    def joined(self, name: str, values: Mapping[str, Array]) -> Excess:
        """The same with one more role, whose numbers come from elsewhere; NaN where not given."""
        nothing = np.full(len(self.places), np.nan)
        columns: dict[str, Any] = {
            key: np.column_stack([getattr(self, key), values.get(key, nothing)]) for key in NUMBERS
        }
        beyond = np.column_stack([self.beyond, np.full(len(self.places), np.inf)])
        more = replace(self, names=[*self.names, name], beyond=beyond, **columns)
        return more.under(self.thresholds)

    @cached_property
    def quantile(self) -> Array:
        """How many errors the 95 % interval reaches to each side, (head, role)."""
        quantile: Array = special.stdtrit(self.degrees, 0.5 + CONFIDENCE / 2)
        return quantile

    @property
    def half(self) -> Array:
        """Half the width of the 95 % interval of the excess, (head, role)."""
        return self.quantile * self.error

    @property
    def tested(self) -> bool:
        """Whether there are documents enough to test any role; retrieval is not of documents."""
        columns = [at for at, name in enumerate(self.names) if name != "retrieval"]
        return bool(np.isfinite(self.p[:, columns]).any())

    def main(self, value: Array, counts: Flags, activity: Array, spread: Array) -> NDArray[np.intp]:
        """The main role of every head: its number, or beyond all roles one of ``NONE``.

        The most specific of the roles that count and have at least half of the largest excess; of
        equally specific ones, that with the larger excess.

        Parameters
        ----------
        value, counts
            (…, head, role).
        activity, spread
            (…, head).
        """
        rank, size = np.array([RANK[name] for name in self.names]), len(self.names)
        having = np.where(counts, value, -np.inf)
        near = having >= self.thresholds.specific * having.max(-1, keepdims=True)
        # An excess is at most 1, so a rank always outweighs it.
        chosen = np.where(counts & near, value - 2.0 * rank, -np.inf).argmax(-1)
        broad = np.where(spread >= self.thresholds.broad, NONE.index(BROADLY), NONE.index(UNCLEAR))
        numbers = np.where(counts.any(-1), chosen, size + broad)
        special = counts.any(-1) & (rank[chosen] <= SPECIAL)
        resting = (activity < self.thresholds.resting) & ~special
        return np.where(resting, size + NONE.index(RESTS), numbers)

    @property
    def labels(self) -> list[str]:
        """What the numbers of :meth:`main` stand for."""
        return [*self.names, *NONE]

    def roles(self) -> list[str]:
        """The main roles of all heads."""
        numbers = self.main(self.value, self.counts, self.activity, self.spread)
        return [self.labels[number] for number in numbers]

    def second(self, place: int, main: str) -> str:
        """The role that is named beside a head's main one: the largest excess, if that is another
        role, or one that is close; "" if there is none.
        """
        if main not in self.names:
            return ""
        own = {main, *CONTAINS.get(main, ())}
        own |= {general for general, inside in CONTAINS.items() if main in inside}
        others = [
            (float(self.value[place, at]), name)
            for at, name in enumerate(self.names)
            if self.counts[place, at] and name not in own
        ]
        value, name = max(others, default=(-np.inf, ""))
        least = self.thresholds.close * self.value[place, self.names.index(main)]
        return name if value >= least else ""


def _ratio(top: Array, bottom: Array) -> Array:
    """A ratio of sums over all buckets, (head,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Array = top.sum(0) / bottom.sum(0)
    return ratio


def beyond_habits(work: Work, results: Atlas, tests: xr.Dataset | None) -> Array:
    """How many times as much heads give roles as simpler habits would.

    A role along arcs is compared with what the head's own offsets would give the arcs of its family
    (:mod:`headscope.stats.beyond_position`); in results that cannot tell, a head must find a
    relation of the family more often than the best fixed offset. A head for antecedents must find
    them more often than the nearest mention and than the nearest one with the same head word, and
    look at them more than at the same word elsewhere, or it might look for the word only.

    Parameters
    ----------
    work
        The sums, which name heads and roles.
    results
        The results that they come from.
    tests
        What :func:`headscope.stats.relation_tests` says, corrected over all; None if the results
        have no relations.

    Returns
    -------
    numpy.ndarray
        (head, role): the lower end of "× position alone"; infinite where a test of another kind is
        passed, or where there is no simpler habit; 0 where the test fails.
    """
    if has_positions(results):
        beyond = times_position(results, work.names)
    else:
        beyond = np.where(_beats_offset(work, tests), np.inf, 0.0)
    for at, name in enumerate(work.names):
        if name == "antecedent":
            more = ~(work.excess(name) <= work.excess("same"))
            beyond[:, at] = np.where(_finds_antecedents(results) & more, np.inf, 0.0)
    return beyond


def _beats_offset(work: Work, tests: xr.Dataset | None) -> Flags:
    """Which heads find a relation of a role's family more often than the best fixed offset."""
    allowed = np.ones((len(work.places), len(work.names)), bool)
    for at, name in enumerate(work.names):
        if name not in DIRECTION:
            continue
        allowed[:, at] = False
        if tests is None:
            continue
        mine = [family_of(str(label)) == FAMILIES[name] for label in tests["relation"].values]
        p = tests["p_corrected"].sel(direction=DIRECTION[name]).transpose("layer", "head", ...)
        allowed[:, at] = (p.values[..., mine] < DEFAULT.alpha).any(-1).ravel()
    return allowed


def _finds_antecedents(results: Atlas) -> Flags:
    """Which heads find antecedents more often than both simple baselines, by corrected tests."""
    if "coreference" not in results:
        return np.zeros(1, bool)
    answers = AntecedentAnswers(results["coreference"].sel(candidates="mentions"))
    p = answers.tests(answers.right.sel(kind=["all"]), "holm")
    p = p.sel(kind="all", mentions=list(SIMPLE))
    beats: Flags = np.all(p.transpose("place", ...).values < DEFAULT.alpha, axis=-1)
    return beats
