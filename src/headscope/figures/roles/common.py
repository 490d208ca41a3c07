"""What the figures of roles share: roles shown, their colours, and how tests are described."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError
from headscope.figures.style import BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from headscope.results import Atlas
from headscope.stats.overlap import present
from headscope.stats.role_scores import COARSE, FINE, kept_scores, role_data
from headscope.stats.roles import as_in_paper
from headscope.stats.tests import corrected_by

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


def describe_test(tests: xr.Dataset) -> str:
    """Describe the test in a few words, for the line under a title.

    Examples
    --------
    >>> attributes = {"test": "t", "correction": "holm", "alpha": 0.05, "clustered": 1}
    >>> roles = {"role": ["local", "block"]}
    >>> describe_test(xr.Dataset({"tau": ("role", [3.0, 1.5])}, roles, attributes))
    'τ = 3 (block: 1.5); t test by documents, p < 0.05, corrected (Holm)'
    """
    pairs = zip(tests["role"].values, tests["tau"].values, strict=True)
    taus = {str(name): float(tau) for name, tau in pairs}
    usual = max(taus.values(), key=list(taus.values()).count)
    others = ", ".join(f"{name}: {tau:g}" for name, tau in taus.items() if tau != usual)
    about = tests.attrs
    found = " from the same scores, exploratory" if about.get("exploratory") else ""
    threshold = f"τ = {usual:g}{f' ({others})' if others else ''}{found}"
    over = " by documents" if about["clustered"] else ""
    corrected = corrected_by(about["correction"], paper=as_in_paper(tests))
    return f"{threshold}; {about['test']} test{over}, p < {about['alpha']:g}, {corrected}"


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
