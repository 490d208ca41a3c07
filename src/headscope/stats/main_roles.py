"""The main role of every head: what it does most, with the attention that rests on sinks set aside.

A head has a role if it puts more of its working attention on the role's tokens than even attention
would, by a test over documents that is corrected for all heads and roles, and by at least a tenth.
The main role is the one with the largest excess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.labels import CLAUSE, NOUN_PHRASE, family_of
from headscope.numbers import number
from headscope.results import Atlas
from headscope.stats.crossfit import FIRST, SECOND
from headscope.stats.grid import labelled_head
from headscope.stats.jackknife import cluster_test, jackknife
from headscope.stats.relations import relation_tests
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
NEEDED = ("activity", "work", "spread")

Flags = NDArray[np.bool_]


def main_roles(results: Atlas, *, least: float = LEAST) -> pd.DataFrame:
    """The main role of every head.

    Parameters
    ----------
    results
        Results with the measures ``activity``, ``work`` and ``spread``. Roles along arcs of the
        dependency tree also need ``dependency``: such a role must beat the best fixed offset at
        one of its relations, or it might be a mere habit of position.
    least
        The smallest excess of a role that counts.

    Returns
    -------
    pandas.DataFrame
        One row per head: ``head``, ``role`` (one of :data:`FAMILIES`; or "broad", "no clear role",
        "rests"), ``family``, ``excess`` with its 95 % interval ``low`` … ``high`` and
        ``p_corrected`` (Benjamini and Hochberg over heads and roles; NaN without a role),
        ``second`` (a role within 10 % of the main one, or ""), ``activity`` (the share of attention
        at work), ``spread`` (0 to 1) and ``borderline``: whether the two halves of the corpus
        disagree on the role. The halves share the test against fixed offsets.

    Raises
    ------
    ResultsError
        If a measure is missing.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["activity", "work", "spread"], limit=20)
    >>> table = main_roles(atlas).set_index("head")
    >>> table.loc["1-3", "role"], float(table.loc["1-3", "excess"].round(1))
    ('previous', 1.0)
    """
    for name in NEEDED:
        if name not in results:
            raise ResultsError(
                f"these results have no measure {name!r}, which main roles need",
                hint=f"hs.survey(model, corpus, measures={[*NEEDED, 'dependency']})",
                command="survey again with "
                + " ".join(f"--measure {one}" for one in (*NEEDED, "dependency")),
            )
    allowed = _beats_offset(results)
    whole = Excess.of(results, allowed, slice(None), least)
    halves = [Excess.of(results, allowed, half, least).roles() for half in (FIRST, SECOND)]
    rows = whole.rows()
    for number_, row in enumerate(rows):
        row["borderline"] = halves[0][number_] != halves[1][number_]
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Excess:
    """The excess of every head at every role, in a part of the corpus.

    Attributes
    ----------
    names
        The roles.
    places
        Layer and head (labelled from 1) of every row below.
    value, half, p
        (head, role): the excess, half the width of its interval, and its corrected p.
    counts
        (head, role): whether the head has the role.
    activity, spread
        (head,).
    """

    names: list[str]
    places: list[tuple[int, int]]
    value: NDArray[np.float64]
    half: NDArray[np.float64]
    p: NDArray[np.float64]
    counts: Flags
    activity: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, results: Atlas, allowed: xr.DataArray, buckets: slice, least: float) -> Excess:
        """From the sums of some buckets of documents."""
        sums = results["work"]["sum"].isel(bucket=buckets).stack(place=("layer", "head"))
        left = sums.sel(part="left")
        more = sums.sel(part="attention") - sums.sel(part="uniform")
        value = more.sum("bucket") / left.sum("bucket").where(left.sum("bucket") > 0)
        p = cluster_test(more, left)
        order = ("place", "role")
        corrected = correct(p.transpose(*order).values, "bh")
        found = value.transpose(*order).values
        may = allowed.stack(place=("layer", "head")).transpose(*order).values
        with np.errstate(invalid="ignore"):
            counts = (found >= least) & (corrected < ALPHA) & may
        return cls(
            [str(name) for name in sums["role"].values],
            [(int(layer), int(head)) for layer, head in sums["place"].values],
            found,
            jackknife(more, left).transpose(*order).values,
            corrected,
            counts,
            _ratio(results["activity"], buckets, {"where": "at work"}, "count"),
            _ratio(results["spread"], buckets, {"part": "entropy"}, {"part": "left"}),
        )

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

    def rows(self) -> list[dict[str, object]]:
        """One row per head."""
        found: list[dict[str, object]] = []
        for place, (layer, head) in enumerate(self.places):
            role, chosen = self.role(place), self.chosen(place)
            row: dict[str, object] = {
                "head": str(labelled_head(layer, head)),
                "role": role,
                "family": FAMILIES.get(role, role),
                "excess": np.nan,
                "low": np.nan,
                "high": np.nan,
                "p_corrected": np.nan,
                "second": "",
            }
            if role in self.names:
                at = self.names.index(role)
                value, half = self.value[place, at], self.half[place, at]
                row |= {"excess": value, "low": value - half, "high": min(value + half, 1.0)}
                row |= {"p_corrected": self.p[place, at]}
                row["second"] = chosen[1] if len(chosen) > 1 else ""
            found.append(row | {"activity": self.activity[place], "spread": self.spread[place]})
        return found


def _ratio(
    data: xr.Dataset, buckets: slice, top: dict[str, str], bottom: dict[str, str] | str
) -> NDArray[np.float64]:
    """A ratio of sums over some buckets, (head,)."""
    part = data.isel(bucket=buckets).sum("bucket").stack(place=("layer", "head"))
    under = part[bottom].sel(top) if isinstance(bottom, str) else part["sum"].sel(bottom)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: NDArray[np.float64] = part["sum"].sel(top).values / under.values
    return found


def _beats_offset(results: Atlas) -> xr.DataArray:
    """Which heads may have which role: those along arcs only where a relation of the family is
    found more often than by the best fixed offset.
    """
    work = results["work"]
    allowed = xr.ones_like(work["n"].isel(part=0, drop=True), bool)
    arcs = [str(name) for name in work["role"].values if str(name) in DIRECTION]
    if not arcs:
        return allowed
    tests = None
    if "dependency" in results:
        ways = sorted(set(DIRECTION.values()))
        tests = relation_tests(results, directions=ways, correction="bh")
    found = {}
    for name in arcs:
        if tests is None:
            found[name] = xr.zeros_like(allowed.isel(role=0, drop=True))
            continue
        labels = [
            label for label in tests["relation"].values if family_of(str(label)) == FAMILIES[name]
        ]
        part = tests.sel(direction=DIRECTION[name], relation=labels)
        found[name] = (part["p_corrected"] < ALPHA).any("relation")
    columns = [
        found.get(str(name), xr.ones_like(allowed.isel(role=0, drop=True)))
        .drop_vars("direction", errors="ignore")
        .transpose("layer", "head")
        for name in work["role"].values
    ]
    return xr.concat(columns, dim=work["role"].variable).rename("allowed")


def main_role_sentence(row: pd.Series, titles: dict[str, str]) -> str:
    """A head's main role in a sentence, with its evidence.

    Parameters
    ----------
    row
        A row of :func:`main_roles`.
    titles
        What the roles are called.

    Examples
    --------
    >>> row = pd.Series({"role": "previous", "second": "", "excess": 0.94, "low": 0.93,
    ...     "high": 0.95, "activity": 0.91, "spread": 0.1, "borderline": False})
    >>> main_role_sentence(row, {"previous": "the previous token"})
    'Main role: the previous token, 0.94 ± 0.010 over even attention; 91 % of attention is at work.'
    """
    work = f"{row['activity']:.0%}".replace("%", " %")
    if row["role"] == RESTS:
        return f"Rests: only {work} of its attention is on other tokens than sinks."
    if row["role"] == BROADLY:
        return f"Broad: it looks at most words alike (spread {row['spread']:.2f} of 1)."
    if row["role"] == UNCLEAR:
        return f"No clear role; {work} of its attention is at work."
    names = titles.get(str(row["role"]), str(row["role"]))
    if row["second"]:
        names += f", and {titles.get(str(row['second']), str(row['second']))}"
    half = number((float(row["high"]) - float(row["low"])) / 2)
    sure = ". The two halves of the corpus disagree" if row["borderline"] else ""
    return (
        f"Main role: {names}, {float(row['excess']):.2f} ± {half} over even attention; "
        f"{work} of attention is at work{sure}."
    )
