"""The excess of every head at every role: how much more of its working attention is on the role's
tokens than even attention would put there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.labels import CLAUSE, NOUN_PHRASE, family_of
from headscope.results import Atlas
from headscope.stats.inference import document_ratio
from headscope.stats.tests import correct

LEAST = 0.1
"""A role counts from this excess on."""
ALPHA = 0.05
SPECIFIC = 0.8
"""A specific role replaces a general one that contains it from this share of its excess on."""
CLOSE = 0.9
"""A second role is named from this share of the main role's excess on."""
BROAD = 0.85
"""From this spread on, a head without a role is broad."""
RESTING = 0.05
"""Below this activity a head rests."""
BROADLY, UNCLEAR, RESTS = "broad", "no clear role", "rests"

FAMILIES = {
    "previous": "previous",
    "next": "next",
    "near": "near",
    "itself": "itself",
    "same": "same",
    "induction": "induction",
    "modifier to noun": NOUN_PHRASE,
    "noun to modifier": NOUN_PHRASE,
    "dependent to verb": CLAUSE,
    "verb to dependent": CLAUSE,
}
"""The family of each role: what pictures give one colour."""
CONTAINS = {"near": ("previous", "next")}
"""General roles, and the specific ones that they contain."""
DIRECTION = {
    "modifier to noun": "dependent to head",
    "noun to modifier": "head to dependent",
    "dependent to verb": "dependent to head",
    "verb to dependent": "head to dependent",
}
"""Roles along arcs of the tree. They also have to beat the best fixed offset at a relation."""

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
        and all attention at work in the same rows.
    active, rows
        (bucket, head): the share at work, summed over examples, and their number.
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


def _flat(values: xr.DataArray, *last: str) -> Array:
    """(bucket, head, …), the heads layer by layer."""
    array = values.transpose("bucket", "layer", "head", *last).values.astype(np.float64)
    return array.reshape(array.shape[0], -1, *array.shape[3:])


@dataclass(frozen=True)
class Excess:
    """The excess of every head at every role, in a part of the corpus.

    Attributes
    ----------
    names, places
        As in :class:`Work`.
    value, half, p
        (head, role): the excess, half the width of its 95 % interval, and its corrected p.
    share, share_half, even
        (head, role): the share of the working attention on the role's tokens, half the width of
        its interval, and what even attention would give.
    counts
        (head, role): whether the head has the role.
    activity, spread
        (head,).
    """

    names: list[str]
    places: list[tuple[int, int]]
    value: Array
    half: Array
    p: Array
    share: Array
    share_half: Array
    even: Array
    counts: Flags
    activity: Array
    spread: Array

    @classmethod
    def of(
        cls,
        work: Work,
        allowed: Flags,
        *,
        least: float,
        buckets: slice = slice(None),
        intervals: bool = True,
    ) -> Excess:
        """From the sums of some buckets of documents.

        Parameters
        ----------
        work
            The sums.
        allowed
            (head, role): which heads may have which role.
        least
            The smallest excess that counts.
        buckets
            Which buckets. Default: all.
        intervals
            False leaves the intervals out (NaN), which halves the time.
        """
        on, even, left = (
            xr.DataArray(values[buckets], dims=("bucket", "place", "role"))
            for values in (work.attention, work.even, work.left)
        )
        total = left.sum("bucket").where(left.sum("bucket") > 0)
        value = ((on - even).sum("bucket") / total).values
        difference, share = document_ratio(on - even, left), document_ratio(on, left)
        corrected = correct(difference.p_above(), "bh")
        none = np.full(value.shape, np.nan)
        with np.errstate(invalid="ignore"):
            counts = (value >= least) & (corrected < ALPHA) & allowed
        return cls(
            work.names,
            work.places,
            value,
            difference.quantile() * difference.error if intervals else none,
            corrected,
            (on.sum("bucket") / total).values,
            share.quantile() * share.error if intervals else none,
            (even.sum("bucket") / total).values,
            counts,
            _ratio(work.active, work.rows, buckets),
            _ratio(work.entropy, work.entropy_left, buckets),
        )

    @property
    def tested(self) -> bool:
        """Whether there are documents enough to test any role."""
        return bool(np.isfinite(self.p).any())

    def chosen(self, place: int) -> list[str]:
        """The roles of a head: the main one, and one that is close to it, if any."""
        ranked = sorted(
            (name for at, name in enumerate(self.names) if self.counts[place, at]),
            key=lambda name: -self._at(place, name),
        )
        if not ranked:
            return []
        main = ranked[0]
        inside = [name for name in ranked if name in CONTAINS.get(main, ())]
        if inside and self._at(place, inside[0]) >= SPECIFIC * self._at(place, main):
            main = inside[0]
        own = {main, *CONTAINS.get(main, ())}
        own |= {general for general, inside_ in CONTAINS.items() if main in inside_}
        second = [
            name
            for name in ranked
            if name not in own and self._at(place, name) >= CLOSE * self._at(place, main)
        ]
        return [main, *second[:1]]

    def _at(self, place: int, name: str) -> float:
        return float(self.value[place, self.names.index(name)])

    def role(self, place: int) -> str:
        """The main role of a head, or what it does instead."""
        if self.activity[place] < RESTING:
            return RESTS
        chosen = self.chosen(place)
        if chosen:
            return chosen[0]
        return BROADLY if self.spread[place] >= BROAD else UNCLEAR

    def roles(self) -> list[str]:
        """The main roles of all heads."""
        return [self.role(place) for place in range(len(self.places))]


def _ratio(top: Array, bottom: Array, buckets: slice) -> Array:
    """A ratio of sums over some buckets, (head,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = top[buckets].sum(0) / bottom[buckets].sum(0)
    return found


def beats_offset(work: Work, tests: xr.Dataset | None) -> Flags:
    """Which heads may have which role.

    A role along arcs must find a relation of its family more often than the best fixed offset, or
    it might be a mere habit of position.

    Parameters
    ----------
    work
        The sums, which name heads and roles.
    tests
        What :func:`headscope.stats.relation_tests` says, corrected over all; None if the results
        have no relations: then no head may have such a role.

    Returns
    -------
    numpy.ndarray
        (head, role).
    """
    allowed = np.ones((len(work.places), len(work.names)), bool)
    for at, name in enumerate(work.names):
        if name not in DIRECTION:
            continue
        allowed[:, at] = False
        if tests is None:
            continue
        mine = [family_of(str(label)) == FAMILIES[name] for label in tests["relation"].values]
        p = tests["p_corrected"].sel(direction=DIRECTION[name]).transpose("layer", "head", ...)
        allowed[:, at] = (p.values[..., mine] < ALPHA).any(-1).ravel()
    return allowed
