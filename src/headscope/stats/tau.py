"""The threshold tau that a head's mean sieve bias must exceed for a role (Pande et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.results import Atlas
from headscope.stats.role_scores import COARSE, role_data, roles_with_scores

TAU = 3.0
"""The paper's threshold: three times as much attention as uniform attention gives."""
AUTO = "auto"
"""Stands for a threshold that is found from the data: exploratory, since the same data are tested
against it."""
PAPER = f"give tau={TAU:g}, as in the paper"

Tau = float | str | Mapping[str, float | str]
"""A number, ``auto``, or a mapping of roles to these, with ``""`` for all other roles."""


def parse_tau(given: Sequence[str]) -> Tau:
    """Read thresholds as they are typed.

    Parameters
    ----------
    given
        Texts like ``3``, ``auto`` and ``block=1.5``.

    Raises
    ------
    UserError
        If one of them is not a threshold.

    Examples
    --------
    >>> parse_tau(["3", "block=1.5"])
    {'': 3.0, 'block': 1.5}
    """
    taus: dict[str, float | str] = {"": TAU}
    for text in given:
        role, _, value = text.rpartition("=")
        try:
            taus[role] = value if value == AUTO else float(value)
        except ValueError:
            raise UserError(
                f"tau must be a number over 0, 'auto', or ROLE=NUMBER; got {text!r} instead",
                hint="give tau=3, as in the paper, or tau='block=1.5' for one role",
            ) from None
    return taus


def pooled_tau(results: Sequence[Atlas], tau: Tau = TAU) -> Tau:
    """Find thresholds from the data of all corpora together, as in the paper.

    Parameters
    ----------
    results
        Results with the measure ``role``, one for each corpus.
    tau
        As given; every ``auto`` in it is replaced by a number.

    Returns
    -------
    float or mapping of str to float
        Thresholds without ``auto``.
    """
    if not isinstance(tau, Mapping):
        return find_tau(results, tau)
    return {role: find_tau(results, value) for role, value in tau.items()}


def is_exploratory(tau: Tau) -> bool:
    """Whether a threshold is chosen from the scores that are tested against it.

    Examples
    --------
    >>> is_exploratory("auto"), is_exploratory({"": 3, "block": "auto"}), is_exploratory(3)
    (True, True, False)
    """
    return AUTO in (tau.values() if isinstance(tau, Mapping) else (tau,))


def find_taus(results: Atlas, tau: Tau = TAU) -> xr.DataArray:
    """The threshold of every role.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    tau
        One threshold for all roles, or one by role.

    Raises
    ------
    UserError
        If a role is not in the results, or a threshold is not over 0.
    """
    coordinate = role_data(results)["role"]
    roles = [str(name) for name in coordinate.values]
    given = dict(tau) if isinstance(tau, Mapping) else {"": tau}
    for name in given:
        if name and name not in roles:
            raise unknown("role", name, roles)
    numbers = {name: find_tau(results, value) for name, value in given.items()}
    return xr.DataArray(
        [numbers.get(role, numbers.get("", TAU)) for role in roles], {"role": coordinate}, ("role",)
    )


def find_tau(results: Atlas | Sequence[Atlas], tau: float | str = TAU) -> float:
    """One threshold: as given, or from the data.

    Parameters
    ----------
    results
        Results with the measure ``role``, of one corpus or of several.
    tau
        A number over 0; or ``auto``: the smallest integer above the mean of all scores of the
        paper's four roles, as far as the corpora have them, or else of all roles (exploratory).

    Raises
    ------
    UserError
        If tau is neither.
    ResultsError
        If there is no score to find it from.
    """
    if isinstance(tau, str):
        if tau != AUTO:
            raise UserError(
                f"tau must be a number over 0, or 'auto'; got {tau!r} instead",
                hint=PAPER,
            )
        centre = pooled_mean(results)
        if math.isnan(centre):
            raise ResultsError(
                "tau cannot be found from the data: no sequence has any of the roles",
                hint=PAPER,
            )
        return float(math.floor(centre) + 1)
    if not tau > 0 or not math.isfinite(tau):
        raise UserError(
            f"tau must be over 0 (1 is what uniform attention gives), got {tau:g} instead",
            hint=f"{PAPER}, or tau='auto'",
        )
    return float(tau)


def grand_mean(results: Atlas) -> float:
    """The mean of all scores: over heads, sequences and the paper's four roles.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    """
    return pooled_mean(results)


def pooled_mean(results: Atlas | Sequence[Atlas]) -> float:
    """The mean of all scores of one corpus or of several, each score counted once.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    """
    every = [role_data(one) for one in ([results] if isinstance(results, Atlas) else results)]
    four = any(roles_with_scores(data, COARSE) for data in every)
    total, count = 0.0, 0
    for data in every:
        names = roles_with_scores(data, COARSE) if four else list(data["role"].values)
        part = data[["sum", "count"]].sel(role=names).sum()
        total, count = total + float(part["sum"]), count + int(part["count"])
    return total / count if count else math.nan
