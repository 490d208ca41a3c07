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

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.crossfit import FIRST, SECOND
from headscope.stats.excess import DIRECTION, FAMILIES, LEAST, Excess, Work, beats_offset
from headscope.stats.grid import labelled_head
from headscope.stats.relations import relation_tests
from headscope.stats.tests import correct

NEEDED = ("activity", "work", "spread")
"""The measures that main roles need."""


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
        One row per head: ``head``, ``role`` (one of :data:`headscope.stats.excess.FAMILIES`; or
        "broad", "no clear role", "rests"), ``family``, ``excess`` with its 95 % interval ``low`` …
        ``high`` and ``p_corrected`` (Benjamini and Hochberg over heads and roles; NaN without a
        role), ``second`` (a role within 10 % of the main one, or ""), ``activity`` (the share of
        attention at work), ``spread`` (0 to 1), the roles in the two halves of the corpus
        (``first_half``, ``second_half``; "" where a half has too few documents to test) and
        ``borderline``: whether they differ. The halves share the test against fixed offsets.

    Raises
    ------
    ResultsError
        If a measure is missing.

    See Also
    --------
    headscope.stats.descriptions : the same in sentences.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["activity", "work", "spread"], limit=20)
    >>> table = main_roles(atlas).set_index("head")
    >>> table.loc["1-3", "role"], float(table.loc["1-3", "excess"].round(1))
    ('previous', 1.0)
    """
    return MainRoles.of(results, least=least).table()


def role_agreement(results: Atlas) -> tuple[int, int]:
    """On how many heads the two halves of the corpus agree, and on how many they were compared.

    Parameters
    ----------
    results
        As in :func:`main_roles`.

    Returns
    -------
    same, total : int
        Both are 0 where a half has too few documents to test.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", measures=["activity", "work", "spread"], limit=20)
    >>> same, total = role_agreement(atlas)
    >>> total, 0 < same <= total
    (72, True)
    """
    table = main_roles(results)
    compared = table[table["first_half"] != ""]
    return int((~compared["borderline"]).sum()), len(compared)


def has_main_roles(results: Atlas) -> bool:
    """Whether results have what main roles need."""
    return all(name in results for name in NEEDED)


@dataclass(frozen=True)
class MainRoles:
    """The excess of every head in the whole corpus, and the roles in its two halves.

    The roles of both halves are empty where one of them has too few documents to test.
    """

    whole: Excess
    halves: tuple[list[str], list[str]]

    @classmethod
    def of(
        cls, results: Atlas, *, least: float = LEAST, tests: xr.Dataset | None = None
    ) -> MainRoles:
        """Analyse results; see :func:`main_roles`.

        Parameters
        ----------
        results, least
            As there.
        tests
            What :func:`headscope.stats.relation_tests` says of both directions, if it is known.
        """
        for name in NEEDED:
            if name not in results:
                raise ResultsError(
                    f"these results have no measure {name!r}, which main roles need",
                    hint=f"hs.survey(model, corpus, measures={[*NEEDED, 'dependency']})",
                    command="survey again with "
                    + " ".join(f"--measure {one}" for one in (*NEEDED, "dependency")),
                )
        work = Work.of(results)
        if "dependency" in results and set(work.names) & set(DIRECTION):
            tests = relation_tests(results) if tests is None else tests
            p = tests["p"]
            tests = tests.assign(p_corrected=(p.dims, correct(p.values, "bh")))
        allowed = beats_offset(work, tests)
        halves = [
            Excess.of(work, allowed, least=least, buckets=half, intervals=False)
            for half in (FIRST, SECOND)
        ]
        none = [""] * len(work.places)
        compared = all(half.tested for half in halves)
        first, second = (half.roles() if compared else none for half in halves)
        return cls(Excess.of(work, allowed, least=least), (first, second))

    def table(self) -> pd.DataFrame:
        """One row per head; see :func:`main_roles`."""
        rows = []
        for place, (first, second) in enumerate(zip(*self.halves, strict=True)):
            halves = {"first_half": first, "second_half": second, "borderline": first != second}
            rows.append(self._row(place) | halves)
        return pd.DataFrame(rows)

    def _row(self, place: int) -> dict[str, object]:
        whole = self.whole
        role, chosen = whole.role(place), whole.chosen(place)
        row: dict[str, object] = {
            "head": str(labelled_head(*whole.places[place])),
            "role": role,
            "family": FAMILIES.get(role, role),
            "excess": np.nan,
            "low": np.nan,
            "high": np.nan,
            "p_corrected": np.nan,
            "second": "",
        }
        if role in whole.names:
            at = whole.names.index(role)
            value, half = whole.value[place, at], whole.half[place, at]
            row |= {"excess": value, "low": value - half, "high": min(value + half, 1.0)}
            row |= {"p_corrected": whole.p[place, at]}
            row["second"] = chosen[1] if len(chosen) > 1 else ""
        return row | {"activity": whole.activity[place], "spread": whole.spread[place]}
