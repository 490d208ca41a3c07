"""From which value on something is said of a head: every threshold with its source."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import pandas as pd

from headscope.results import Atlas
from headscope.stats.inference.correction import ALPHA

OURS = "our choice"
CHANGE = 0.2
"""By how much :func:`threshold_table` moves each threshold, both ways."""


def _threshold(value: float, means: str, source: str = OURS) -> Any:
    return field(default=value, metadata={"means": means, "source": source})


@dataclass(frozen=True)
class Thresholds:
    """The thresholds behind main roles and the sentences about heads.

    See Also
    --------
    threshold_table : what each means, where it comes from, and what hangs on it.

    Examples
    --------
    >>> Thresholds().least, Thresholds(least=0.2).least
    (0.1, 0.2)
    """

    alpha: float = _threshold(
        ALPHA, "a test counts below this corrected p", "convention; Pande et al. 2021, §4"
    )
    least: float = _threshold(
        0.1, "a role counts if the lower end of its excess over chance is at least this"
    )
    relation: float = _threshold(
        1.2,
        "a relation is more than position if the lower end of × position alone is at least this; "
        "on shuffled words, no head of three models with a role is there",
    )
    beyond: float = _threshold(
        1.5, "a role along arcs names a head from this lower end of × position alone on"
    )
    specific: float = _threshold(
        0.5, "the most specific role names a head from this share of the largest excess on"
    )
    close: float = _threshold(
        0.9, "a second role is named from this share of the main role's excess on"
    )
    broad: float = _threshold(
        0.85, "a head without a role is broad from this share of the greatest possible entropy on"
    )
    resting: float = _threshold(0.05, "a head rests if a smaller share of its attention is active")
    stable: float = _threshold(
        0.8, "a main role is borderline if fewer resamples of the documents give it"
    )
    half: float = _threshold(
        0.5,
        "from this share of attention on, a head looks at something rather than leans towards it",
        "Clark et al. 2019, §3.1",
    )
    nearly: float = _threshold(
        0.9, "entropy above this share of the greatest possible is nearly even, without main roles"
    )
    moved: float = _threshold(
        0.05, "between two models, a larger change in a share of attention is worth a sentence"
    )
    collapse: float = _threshold(
        0.8, "a share of attention above this on one kind of token is a collapse"
    )
    repeated: float = _threshold(
        0.3, "on random tokens written twice, an interval above this is worth a sentence"
    )
    copies: float = _threshold(
        0.5, "a head copies by its weights from this score on (scores run from -1 to 1)"
    )
    writes: float = _threshold(
        0.1,
        "a head writes almost nothing if the upper end of its output norm is below this share of "
        "its layer's mean",
    )
    maps: float = _threshold(
        0.5, "the weights of a head hold a relation of words from this share of its pairs on"
    )
    retrieves: float = _threshold(
        0.1, "a head retrieves from this score on", "Wu et al. 2024, §3.1"
    )


DEFAULT = Thresholds()
ROLES = ("alpha", "least", "beyond", "specific", "close", "broad", "resting", "stable")
"""What main roles hang on; the others are of sentences."""


def threshold_table(results: Atlas | None = None) -> pd.DataFrame:
    """Every threshold, where it comes from, and how many heads change their role with it.

    Parameters
    ----------
    results
        Results with main roles. Default: only the thresholds.

    Returns
    -------
    pandas.DataFrame
        One row per threshold: ``threshold``, its ``value``, what it ``means`` and its ``source``.
        With results also ``at -20 %`` and ``at +20 %``: how many heads get another main role,
        second role or borderline mark if the threshold alone is so much smaller or larger (at
        most 1); missing where roles do not hang on it.

    Examples
    --------
    >>> threshold_table().set_index("threshold").loc["retrieves", "source"]
    'Wu et al. 2024, §3.1'
    """
    from headscope.stats.heads.main_roles import MainRoles

    rows = [
        {"threshold": entry.name, "value": getattr(DEFAULT, entry.name), **entry.metadata}
        for entry in fields(Thresholds)
    ]
    if results is None:
        return pd.DataFrame(rows)
    roles = MainRoles.of(results)
    now = roles.marks(DEFAULT)
    for row in rows:
        for name, factor in (("at -20 %", 1 - CHANGE), ("at +20 %", 1 + CHANGE)):
            moved = {row["threshold"]: min(row["value"] * factor, 1.0)}
            then = roles.marks(replace(DEFAULT, **moved))
            changed = sum(before != after for before, after in zip(now, then, strict=True))
            row[name] = changed if row["threshold"] in ROLES else pd.NA
    return pd.DataFrame(rows).astype({"at -20 %": "Int64", "at +20 %": "Int64"})
