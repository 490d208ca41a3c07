"""What the parts of a portrait found, for the claims and for the heads that are disabled."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.tables.circuits import composition_of

PERMUTATIONS = 2000
ENOUGH = 21
"""With fewer ways to choose heads, no choice can be unlikely."""
Array = NDArray[np.float64]

GROUPS = {
    "sink": ("sink:first",),
    "previous token": ("synthetic:previous", "position:previous"),
    "induction": ("synthetic:induction", "repetition:induction"),
    "duplicate token": ("synthetic:duplicate", "repetition:duplicate"),
    "copying": ("copying",),
    "logit attribution": ("logit_attribution",),
    "retrieval": ("retrieval",),
}
"""The statistic that ranks the heads of each group, and what stands in where it is missing: a model
with few tokens cannot read random ones."""


@dataclass
class Found:
    """The results of a portrait, as far as its parts have run."""

    survey: Atlas | None = None
    circuits: Atlas | None = None
    retrieval: Atlas | None = None
    losses: Atlas | None = None
    why: dict[str, str] = field(default_factory=dict)
    """Why something is missing, by what it is."""

    def ranked(self, group: str, top: int) -> list[Head]:
        """The heads at the top of a group; empty where it was not measured."""
        table = self.table(group, top)
        return [] if table is None else [Head.parse(name) for name in table["head"]]

    def table(self, group: str, top: int) -> pd.DataFrame | None:
        """The heads at the top of a group: head, zero-based, value, low, high.

        Heads without a value, and scores of 0 or less, are left out.
        """
        for by in GROUPS[group]:
            for atlas in (self.survey, self.circuits, self.retrieval):
                if atlas is not None and by.partition(":")[0] in atlas:
                    table = atlas.heads(by=by, top=top)
                    table = table.rename(columns={table.columns[2]: "value"})
                    return table[table["value"] > 0].reset_index(drop=True)
        return None


def permuted_p(values: Array, chosen: NDArray[np.int64], seed: int) -> tuple[float, float, float]:
    """Whether chosen heads have larger values than as many heads drawn at random.

    Parameters
    ----------
    values
        (head,), NaN where not defined.
    chosen
        Places of the heads.
    seed
        Of the draws.

    Returns
    -------
    mean, others, p : float
        The mean of the chosen heads, of all, and the share of draws, the choice among them, whose
        mean is at least as large. NaN where there are too few heads for any p below 0.05.

    Examples
    --------
    >>> mean, others, p = permuted_p(np.arange(100.0), np.array([98, 99]), seed=0)
    >>> mean, others, p < 0.01
    (98.5, 49.5, True)
    """
    known = np.flatnonzero(~np.isnan(values))
    chosen = np.intersect1d(chosen, known)
    if not len(chosen) or math.comb(len(known), len(chosen)) < ENOUGH:
        return np.nan, np.nan, np.nan
    generator = np.random.default_rng(seed)
    order = generator.permuted(np.tile(known, (PERMUTATIONS, 1)), axis=1)[:, : len(chosen)]
    mean = float(values[chosen].mean())
    reached = int((values[order].mean(1) >= mean - 1e-12).sum())
    return mean, float(values[known].mean()), (1 + reached) / (1 + PERMUTATIONS)


def feeding(circuits: Atlas, into: list[Head]) -> pd.DataFrame:
    """How strongly every earlier head feeds some later heads by K-composition.

    Parameters
    ----------
    circuits
        Results with composition.
    into
        The later heads.

    Returns
    -------
    pandas.DataFrame
        ``head``, ``excess`` (the mean over those of the later heads that come after it) and
        ``strongest`` (the later head that it feeds most), the strongest first. Heads after which
        none of them comes are missing.
    """
    excess = composition_of(circuits)["excess"].sel(kind="K")
    rows = []
    for layer in map(int, excess["from_layer"].values):
        for number in map(int, excess["from_head"].values):
            later = {
                head: float(
                    excess.sel(
                        from_layer=layer,
                        from_head=number,
                        layer=head.layer + 1,
                        head=head.head + 1,
                    )
                )
                for head in into
                if head.layer + 1 > layer
            }
            known = {head: value for head, value in later.items() if not np.isnan(value)}
            if known:
                strongest = max(known, key=lambda head: known[head])
                name = str(Head(layer - 1, number - 1))
                mean = float(np.mean(list(known.values())))
                rows.append({"head": name, "excess": mean, "strongest": str(strongest)})
    frame = pd.DataFrame(rows, columns=["head", "excess", "strongest"])
    return frame.sort_values("excess", ascending=False, kind="stable").reset_index(drop=True)
