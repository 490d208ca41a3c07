"""Which maps the measures of a run are computed on: attention, norm-weighted, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from headscope.errors import UserError
from headscope.labels import NORM

if TYPE_CHECKING:
    from headscope.measures.base import Measure

Maps = Literal["attention", "norm", "both"]
"""Attention maps; maps weighted by the length of what attention carries; or each measure on
either."""


def check_maps(maps: str) -> None:
    """Refuse an unknown kind of maps.

    >>> check_maps("norms")
    Traceback (most recent call last):
    headscope.errors.UserError: maps must be 'attention', 'norm' or 'both', got 'norms' instead
    """
    if maps not in get_args(Maps):
        raise UserError(f"maps must be 'attention', 'norm' or 'both', got {maps!r} instead")


def on_maps(measures: Sequence[Measure], maps: Maps) -> tuple[list[Measure], list[str]]:
    """The measures of a run, on the maps that were asked for; and notes on what is left out.

    Parameters
    ----------
    measures
        Bound to the run.
    maps
        With "both", each measure is computed on attention and, under a name that begins with
        ``norm_``, on norm-weighted maps.

    Raises
    ------
    UserError
        If a measure makes no sense on norm-weighted maps, and only these were asked for; or if its
        own name begins with ``norm_``.
    """
    if maps == "attention":
        return list(measures), []
    named = next((one.name for one in measures if one.name.startswith(NORM)), None)
    if named is not None:
        raise UserError(
            f"the name of the measure {named!r} begins with {NORM!r}, which stands for measures on "
            "norm-weighted maps",
            hint="give the class another name, or survey attention maps alone",
        )
    without = [one.name for one in measures if not one.weightable]
    weighted = [one.norm_weighted() for one in measures if one.weightable]
    if maps == "both":
        notes = [f"{name} is not computed on norm-weighted maps" for name in without]
        return [*measures, *weighted], notes
    if without:
        raise UserError(
            f"the measure {without[0]!r} cannot be computed on norm-weighted maps: it reads "
            "something other than maps, or was trained on attention",
            hint="leave it out, or give maps='both'",
        )
    return weighted, []
