"""What the figures of roles share: roles shown, their colours, and how tests are described."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.figures.style import BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from headscope.results import Atlas
from headscope.stats.tables.role_tables import present
from headscope.stats.tables.roles import COARSE, FINE, kept_scores, role_data

PAPER = tuple(dict.fromkeys((*COARSE, *FINE)))
"""The roles of the paper, coarse ones first."""
NOTHING = "no role could be tested: at least three sequences or documents are needed"
BIAS = "sieve bias, times uniform attention"
"""The unit of scores."""
_COLOURS = dict(zip(COARSE, (BLUE, ORANGE, GREEN, PURPLE), strict=True))
_OTHERS = (RED, SKY, "#8C6D31", "#6B6ECF")


def role_colours(roles: Sequence[str]) -> list[str]:
    """Return the colour of each role: always the same for the paper's four.

    Examples
    --------
    >>> role_colours(["syntactic", "nsubj"]) == [ORANGE, RED]
    True
    """
    others = [role for role in roles if role not in _COLOURS]
    return [_COLOURS.get(role) or _OTHERS[others.index(role) % len(_OTHERS)] for role in roles]


def shown_roles(tests: xr.Dataset, roles: Sequence[str] = COARSE) -> list[str]:
    """Return those of some roles that were tested or, if none was, all roles that were."""
    return present(tests, roles) or present(tests, [str(name) for name in tests["role"].values])


def heads_text(count: int) -> str:
    """Write a number of heads.

    Examples
    --------
    >>> heads_text(1), heads_text(2)
    ('1 head', '2 heads')
    """
    return f"{count} head{'' if count == 1 else 's'}"


def known_scores(scores: xr.DataArray) -> NDArray[np.float64]:
    """Return all defined scores of single sequences, in one row."""
    values = scores.values.ravel().astype(np.float64)
    return values[~np.isnan(values)]


def why_no_scores(results: Atlas) -> str:
    """Say why figures of single sequences cannot be drawn; empty if they can."""
    try:
        kept_scores(role_data(results))
    except ResultsError as error:
        return error.message
    return ""
