"""Which heads have which role (Pande et al. 2021): their scores, the threshold tau, the tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError, unknown
from headscope.options import AUTO, RESAMPLING, TAU, RoleTest, takes
from headscope.results import KEPT, Atlas
from headscope.results.atlas import measure_data
from headscope.results.moments import Ratio, range_of
from headscope.results.schema import GRID
from headscope.stats.heads.positions import with_positions
from headscope.stats.inference.correction import correct, corrected_by
from headscope.stats.inference.documents import Array, bucket_clusters, role_clusters, shares_groups
from headscope.stats.inference.resampling import (
    MAX_T,
    check_attained,
    check_resamples,
    enough_resamples,
    resample,
)

COARSE = ("local", "syntactic", "delimiter", "block")
"""The four roles of the paper."""
FINE = ("cls", "sep", "block", "previous-local", "next-local", "nsubj", "dobj", "amod", "advmod")
"""The nine roles of its Figure 5."""


def role_data(results: Atlas) -> xr.Dataset:
    """The measure ``role`` of results.

    Parameters
    ----------
    results
        Results of a survey.

    Raises
    ------
    ResultsError
        If the results have no roles; the message says how to get them.
    """
    how = 'survey with roles: hs.survey(model, corpus, measures="role")'
    return measure_data(results, "role", "have no roles in them", how)


def kept_scores(data: xr.Dataset) -> xr.DataArray:
    """The scores of single sequences.

    Parameters
    ----------
    data
        The measure ``role``.

    Raises
    ------
    ResultsError
        If only the moments were kept.
    """
    if KEPT not in data or not data.sizes["example"]:
        raise ResultsError(
            "these results keep only the moments, not the score of every sequence",
            hint="keep scores: hs.survey(model, corpus, keep=5000); or give test='z' or test='t'",
        )
    return data[KEPT]


def roles_with_scores(data: xr.Dataset, roles: Sequence[str]) -> list[str]:
    """Those of some roles that some sequence has a score for.

    Parameters
    ----------
    data
        Anything with ``n`` by role: the measure, or its tests.
    roles
        Names of roles.
    """
    known = {str(name) for name in data["role"].values}
    n = data["n"].max([str(dim) for dim in data["n"].dims if dim != "role"])
    return [name for name in roles if name in known and float(n.sel(role=name)) > 0]


def same_roles(data: xr.Dataset) -> dict[str, str]:
    """Roles that are an earlier one by another name, because their tokens are the same.

    The first token of a text is ``[CLS]`` in BERT, so that ``first token`` and ``cls`` have the
    same scores: one hypothesis, not two.

    Parameters
    ----------
    data
        The measure ``role``.

    Returns
    -------
    dict of str to str
        The earlier role by the later one.
    """
    sums = data[["sum", "count"]].transpose(..., "role")
    columns = {
        str(name): np.stack([sums["sum"].values[..., place], sums["count"].values[..., place]])
        for place, name in enumerate(data["role"].values)
    }
    same: dict[str, str] = {}
    for place, (name, column) in enumerate(columns.items()):
        if not column[1].any():
            continue
        for other in list(columns)[:place]:
            if other not in same and np.array_equal(columns[other], column):
                same[name] = other
                break
    return same


def mean_lengths(data: xr.Dataset) -> xr.DataArray:
    """The mean number of tokens of the sequences that have each role.

    Parameters
    ----------
    data
        The measure ``role``.

    Returns
    -------
    xarray.DataArray
        By role, of the sequences whose scores are kept; NaN where there are none.
    """
    if KEPT not in data or "tokens" not in data.coords:
        return xr.full_like(data["role"], np.nan, dtype=float).rename(None)
    has = data[KEPT].notnull().any(("layer", "head"))
    return data["tokens"].where(has).mean("example")


PAPER = f"give tau={TAU:g}, as in the paper"

Tau = float | str | Mapping[str, float | str]
"""A number, ``auto``, or a mapping of roles to these, with ``""`` for all other roles."""


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
    taus = dict(tau) if isinstance(tau, Mapping) else {"": tau}
    for name in taus:
        if name and name not in roles:
            raise unknown("role", name, roles)
    numbers = {name: find_tau(results, value) for name, value in taus.items()}
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
                f"tau must be a number over 0, or 'auto'; got {tau!r} instead", hint=PAPER
            )
        centre = pooled_mean(results)
        if math.isnan(centre):
            raise ResultsError(
                "tau cannot be found from the data: no sequence has any of the roles", hint=PAPER
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
    every = [role_data(atlas) for atlas in ([results] if isinstance(results, Atlas) else results)]
    four = any(roles_with_scores(data, COARSE) for data in every)
    total, count = 0.0, 0
    for data in every:
        names = roles_with_scores(data, COARSE) if four else list(data["role"].values)
        part = data[["sum", "count"]].sel(role=names).sum()
        total, count = total + float(part["sum"]), count + int(part["count"])
    return total / count if count else math.nan


ROUNDING = 1e-6
"""A deviation below this share of the mean is no more than the rounding of its sums."""
Parts = dict[str, xr.DataArray]
Chances = list[tuple[xr.DataArray, xr.DataArray]]
"""By threshold: p, and p corrected."""


@takes(RoleTest)
def role_tests(results: Atlas, options: RoleTest) -> xr.Dataset:
    """Test for every head and role whether the mean score is above the threshold.

    Parameters
    ----------
    results
        Results with the measure ``role``.

    Returns
    -------
    xarray.Dataset
        With dims layer, head and role: ``mean``, ``low``, ``high``, ``effect`` (Cohen's d against
        the threshold), ``p`` of "the mean is at most tau", ``p_corrected``, ``has``, ``n``,
        ``clusters`` (how many independent ones), ``effective`` (how many of equal size would say
        as much) and ``tau``; and what dependency roles have beyond the head's positions
        (:func:`headscope.stats.with_positions`): ``position``, with its interval and
        ``p_position``, and ``positional``. The attribute ``exploratory`` is 1 if a threshold was
        ``auto``.

    Raises
    ------
    UserError
        If an option is not one of those named above, or if so few resamples were asked for that no
        head could have a role.
    """
    tau = options.thresholds
    tests = tests_of(options, results, find_taus(results, tau).values[None])[0]
    return with_positions(results, tests.assign_attrs(exploratory=int(is_exploratory(tau))))


def tests_of(how: RoleTest, results: Atlas, taus: Array) -> list[xr.Dataset]:
    """Test against each row of thresholds, (threshold, role), with the same resamples."""
    data = role_data(results)
    clustered = how.clusters and shares_groups(data)
    resamples = 0
    if how.test in RESAMPLING:
        parts, chances, resamples = _by_resampling(how, data, taus, clustered)
    else:
        parts, chances = _by_moments(how, data, taus, clustered)
    about = {key: getattr(how, key) for key in ("test", "correction", "alpha", "seed")}
    about |= {"clustered": int(clustered), "resamples": resamples}
    mean, deviation = data["mean"], _spread(data)
    tests = []
    for row, (p, corrected) in zip(taus, chances, strict=True):
        tau = xr.DataArray(row, {"role": data["role"]}, ("role",))
        values = {
            "mean": mean,
            "effect": (mean - tau) / deviation.where(deviation > 0),
            "p": p,
            "p_corrected": corrected,
            "has": (corrected < how.alpha) & p.notnull(),
            "tau": tau,
        }
        tests.append(xr.Dataset(values | parts, attrs=about))
    return tests


def _by_moments(
    how: RoleTest, data: xr.Dataset, taus: Array, clustered: bool
) -> tuple[Parts, Chances]:
    """From the sums of all sequences."""
    moments, number = _moments(data, clustered)
    template = data["mean"].transpose(*GRID, "role")
    low, high = (template.copy(data=end) for end in moments.interval(range_of(data)))
    effective = template.copy(data=moments.effective)
    parts = {"low": low, "high": high, "n": data["n"], "clusters": number}
    if how.test == "z":
        known = np.isfinite(moments.degrees)
        moments = moments._replace(effective=np.where(known, np.inf, np.nan))  # of Student's t
    chances = []
    for row in taus:
        p = template.copy(data=moments.p_above(row))
        chances.append((p, template.copy(data=_corrected(how, data, p.values))))
    return parts | {"effective": effective}, chances


def _by_resampling(
    how: RoleTest, data: xr.Dataset, taus: Array, clustered: bool
) -> tuple[Parts, Chances, int]:
    """From the scores of single sequences; also the number of resamples."""
    kept_scores(data)  # says how to get them
    sums = role_clusters(data, clusters=clustered)
    template = data["mean"].transpose(*GRID, "role")
    heads, roles = sums.sums.shape[1:]
    tests = heads * int((np.isfinite(sums.ratio.degrees[0]) & _own(data)).sum())
    resamples = how.resamples
    if resamples is None:
        resamples = enough_resamples(tests, how.alpha, how.correction)
    check_resamples(resamples, tests, how.alpha, how.correction)
    options = {"resamples": resamples, "seed": how.seed}
    drawn = resample(sums, taus, test=how.test, values=range_of(data), **options)

    def labelled(values: NDArray[Any]) -> xr.DataArray:
        whole = np.broadcast_to(values, (heads, roles)).reshape(template.shape)
        return template.copy(data=whole.astype(np.float64))

    parts = {
        "low": labelled(drawn.low),
        "high": labelled(drawn.high),
        "n": labelled(sums.n),
        "clusters": labelled(sums.number),
        "effective": labelled(sums.ratio.effective),
    }
    chances = []
    for chance, p_max in zip(drawn.p, drawn.p_max, strict=True):
        p, corrected = labelled(chance), labelled(p_max)
        if how.correction != MAX_T:
            corrected = template.copy(data=_corrected(how, data, p.values))
            check_attained(p.values, corrected.values, resamples, how.alpha, how.correction)
        chances.append((p, corrected))
    return parts, chances, resamples


def _corrected(how: RoleTest, data: xr.Dataset, p: Array) -> Array:
    """Corrected over all heads and roles; those with the same tokens count once."""
    corrected = correct(np.where(_own(data), p, np.nan), how.correction)
    names = [str(name) for name in data["role"].values]
    for later, earlier in same_roles(data).items():
        corrected[..., names.index(later)] = corrected[..., names.index(earlier)]
    return corrected


def as_in_paper(tests: xr.Dataset) -> bool:
    """Whether heads were tested as in the paper: z, uncorrected, every sequence independent.

    Parameters
    ----------
    tests
        What :func:`role_tests` returns.
    """
    about = tests.attrs
    return (about["test"], about["correction"], about["clustered"]) == ("z", "none", 0)


def describe_test(tests: xr.Dataset) -> str:
    """The threshold and the test in a few words, such as for the line under a title.

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
    origin = " from the same scores, exploratory" if about.get("exploratory") else ""
    threshold = f"τ = {usual:g}{f' ({others})' if others else ''}{origin}"
    over = " by documents" if about["clustered"] else ""
    corrected = corrected_by(about["correction"], paper=as_in_paper(tests))
    return f"{threshold}; {about['test']} test{over}, p < {about['alpha']:g}, {corrected}"


def exploratory_note(tests: xr.Dataset) -> str:
    """What to say of a threshold that was chosen from the scores it tests; else empty.

    Parameters
    ----------
    tests
        What :func:`role_tests` returns.
    """
    if not tests.attrs.get("exploratory"):
        return ""
    return (
        " Exploratory: τ was chosen from the same scores (auto), so p-values do not hold at their "
        "level."
    )


def _own(data: xr.Dataset) -> NDArray[np.bool_]:
    """Which roles are not an earlier one by another name."""
    same = same_roles(data)
    return np.array([str(name) not in same for name in data["role"].values])


def _spread(data: xr.Dataset) -> xr.DataArray:
    """The scores' deviation; 0 where it is no more than rounding, as of scores all the same."""
    deviation = data["deviation"]
    return deviation.where((deviation > ROUNDING * abs(data["mean"])) | deviation.isnull(), 0.0)


def _moments(data: xr.Dataset, clustered: bool) -> tuple[Ratio, xr.DataArray]:
    """The mean of every head and role with its error, and the number of clusters.

    Layers, heads and roles are in this order.
    """
    if not clustered:  # every sequence is a cluster of its own
        value, deviation, n = (
            part.transpose(*GRID, "role").values
            for part in (data["mean"], _spread(data), data["n"])
        )
        number = np.where(n > 0, n, np.nan)
        return Ratio(value, deviation / np.sqrt(number), number), data["n"]
    everything = data.sizes["example"] == int(data["n"].max())
    sums = role_clusters(data) if KEPT in data and everything else bucket_clusters(data)
    mean = data["mean"].transpose(*GRID, "role")
    value, error, effective = (part.reshape(mean.shape) for part in sums.ratio)
    rounding = error <= ROUNDING * np.abs(value)
    means = Ratio(value, np.where(rounding, 0.0, error), effective)
    return means, xr.zeros_like(mean) + sums.number
