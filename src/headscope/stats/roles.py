"""Which heads have which role (Pande et al. 2021): a test of each head's mean sieve bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError, unknown
from headscope.results import KEPT, Atlas
from headscope.results.moments import Ratio, range_of
from headscope.results.schema import GRID
from headscope.stats.beyond_position import with_positions
from headscope.stats.clusters import Array, bucket_clusters, role_clusters, shares_groups
from headscope.stats.resampling import (
    MAX_T,
    check_attained,
    check_resamples,
    enough_resamples,
    resample,
)
from headscope.stats.role_scores import kept_scores, role_data, same_roles
from headscope.stats.tau import TAU, Tau, find_taus, is_exploratory
from headscope.stats.tests import CORRECTIONS, correct, corrected_by

ALPHA = 0.05
ROUNDING = 1e-6
"""A deviation below this share of the mean is no more than the rounding of its sums."""
TEST, CORRECTION = "t", "holm"
"""How heads are tested by default; the paper has z and none."""
TESTS = ("z", "t", "bootstrap", "permutation")
RESAMPLING = ("bootstrap", "permutation")
ROLE_CORRECTIONS = (*CORRECTIONS, MAX_T)


def role_tests(
    results: Atlas,
    *,
    tau: Tau = TAU,
    test: str = TEST,
    correction: str = CORRECTION,
    alpha: float = ALPHA,
    resamples: int | None = None,
    clusters: bool = True,
    seed: int = 0,
) -> xr.Dataset:
    """Test for every head and role whether the mean score is above the threshold.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    tau
        The threshold: a number over 0; ``auto``, the smallest integer above the mean of all scores,
        which is exploratory, since the same scores are then tested against it; or a mapping of
        roles to these, with ``""`` for all others.
    test
        ``t`` (Student's) or ``z`` (the paper's, too lenient with few documents), from the moments
        of all sequences; ``bootstrap`` or ``permutation`` (sign flips), from the sequences whose
        scores are kept.
    correction
        holm or bh, over all heads and roles together; maxt, for tests by resampling: the largest
        statistic of all heads and roles in each resample; or none, as in the paper: of 100 heads
        without a role, 5 then seem to have it. Roles with the same tokens (``cls`` and ``first
        token`` of BERT) count once.
    alpha
        A head has a role where the corrected p is below this.
    resamples
        Of the bootstrap or permutation test. By default as many as the correction needs, at least
        5000.
    clusters
        Whether sequences that share a document or another group count as one cluster, where the
        corpus says so. False takes all sequences as independent, as the paper does.
    seed
        Of the bootstrap or permutation test.

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
    plan = _Plan(test, correction, alpha, resamples, clusters, seed)
    tests = plan.run(role_data(results), find_taus(results, tau).values[None])[0]
    tests = tests.assign_attrs(exploratory=int(is_exploratory(tau)))
    return with_positions(results, tests)


def role_tests_by_tau(
    results: Atlas,
    taus: Sequence[float],
    *,
    test: str = TEST,
    correction: str = CORRECTION,
    alpha: float = ALPHA,
    resamples: int | None = None,
    clusters: bool = True,
    seed: int = 0,
) -> list[xr.Dataset]:
    """Test every head and role against several thresholds, with the same resamples.

    Parameters
    ----------
    results
        Results with the measure ``role``.
    taus
        The thresholds, each for all roles.
    test, correction, alpha, resamples, clusters, seed
        As in :func:`role_tests`.

    Returns
    -------
    list of xarray.Dataset
        One for each threshold, as :func:`role_tests` returns it.
    """
    plan = _Plan(test, correction, alpha, resamples, clusters, seed)
    rows = [find_taus(results, float(tau)).values for tau in taus]
    found = plan.run(role_data(results), np.stack(rows))
    return [tests.assign_attrs(exploratory=0) for tests in found]


@dataclass(frozen=True)
class _Plan:
    """How heads are tested."""

    test: str
    correction: str
    alpha: float
    resamples: int | None
    clusters: bool
    seed: int

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise unknown("test", self.test, TESTS)
        if self.correction not in ROLE_CORRECTIONS:
            raise unknown("correction", self.correction, ROLE_CORRECTIONS)
        if self.correction == MAX_T and self.test not in RESAMPLING:
            raise UserError(
                f"the correction maxt needs a test by resampling, got the {self.test} test instead",
                hint="give test='bootstrap', or correction='holm'",
            )
        if not 0 < self.alpha < 1:
            raise UserError(
                f"alpha must be between 0 and 1, got {self.alpha} instead", hint="0.05 is usual"
            )

    def run(self, data: xr.Dataset, taus: Array) -> list[xr.Dataset]:
        """Test against each row of thresholds, (threshold, role)."""
        clustered = self.clusters and shares_groups(data)
        if self.test in RESAMPLING:
            return self._resampled(data, taus, clustered)
        moments, number = _moments(data, clustered)
        template = data["mean"].transpose(*GRID, "role")
        low, high = (template.copy(data=end) for end in moments.interval(range_of(data)))
        known = np.isfinite(moments.degrees)
        tested = moments._replace(effective=np.where(known, np.inf, np.nan))  # of Student's t
        tested = tested if self.test == "z" else moments
        parts = {
            "low": low,
            "high": high,
            "n": data["n"],
            "clusters": number,
            "effective": template.copy(data=moments.effective),
        }
        found = []
        for row in taus:
            parts["tau"] = xr.DataArray(row, {"role": data["role"]}, ("role",))
            p = template.copy(data=tested.p_above(row))
            found.append(self._dataset(data, parts, p, self._corrected(data, p.values)))
        return [tests.assign_attrs(clustered=int(clustered), resamples=0) for tests in found]

    def _resampled(self, data: xr.Dataset, taus: Array, clustered: bool) -> list[xr.Dataset]:
        """From the scores of single sequences."""
        kept_scores(data)  # says how to get them
        sums = role_clusters(data, clusters=clustered)
        template = data["mean"].transpose("layer", "head", "role")
        heads, roles = sums.sums.shape[1:]
        tests = heads * int((np.isfinite(sums.ratio.degrees[0]) & _own(data)).sum())
        resamples = self.resamples
        if resamples is None:
            resamples = enough_resamples(tests, self.alpha, self.correction)
        check_resamples(resamples, tests, self.alpha, self.correction)
        drawn = resample(
            sums,
            taus,
            test=self.test,
            resamples=resamples,
            seed=self.seed,
            values=range_of(data),
        )

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
        found = []
        for row, p, p_max in zip(taus, drawn.p, drawn.p_max, strict=True):
            parts["tau"] = xr.DataArray(row, {"role": data["role"]}, ("role",))
            values = labelled(p).values
            if self.correction == MAX_T:
                corrected = labelled(p_max).values
            else:
                corrected = self._corrected(data, values)
                check_attained(values, corrected, resamples, self.alpha, self.correction)
            found.append(self._dataset(data, parts, labelled(p), corrected))
        about = {"clustered": int(clustered), "resamples": resamples}
        return [tests.assign_attrs(about) for tests in found]

    def _dataset(
        self,
        data: xr.Dataset,
        parts: dict[str, xr.DataArray],
        p: xr.DataArray,
        corrected: Array,
    ) -> xr.Dataset:
        """Everything that is known of the heads at one threshold."""
        mean, deviation = data["mean"], _spread(data)
        adjusted = p.copy(data=corrected)
        tests = xr.Dataset(
            {
                "mean": mean,
                "effect": ((mean - parts["tau"]) / deviation.where(deviation > 0)),
                "p": p,
                "p_corrected": adjusted,
                "has": (adjusted < self.alpha) & p.notnull(),
                **parts,
            }
        )
        return tests.assign_attrs(
            test=self.test, correction=self.correction, alpha=self.alpha, seed=self.seed
        )

    def _corrected(self, data: xr.Dataset, p: Array) -> Array:
        """Corrected over all heads and roles; those with the same tokens count once."""
        corrected = correct(np.where(_own(data), p, np.nan), self.correction)
        names = [str(name) for name in data["role"].values]
        for one, other in same_roles(data).items():
            corrected[..., names.index(one)] = corrected[..., names.index(other)]
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
    found = " from the same scores, exploratory" if about.get("exploratory") else ""
    threshold = f"τ = {usual:g}{f' ({others})' if others else ''}{found}"
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
    found = Ratio(value, np.where(rounding, 0.0, error), effective)
    return found, xr.zeros_like(mean) + sums.number
