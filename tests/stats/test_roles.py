"""Which heads have which role: every test against scipy and statsmodels, and corrections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.weightstats import ztest

from headscope.errors import ResultsError, UserError
from headscope.results import Atlas
from headscope.stats import role_tests
from page.samples import made_results
from stats.made_roles import ROLES, Values, made_roles, random_scores
from stats.references import CORRECTIONS

FIELDS = ("mean", "low", "high", "effect", "p", "p_corrected", "has", "n", "tau")


def each(values: Values) -> list[tuple[int, ...]]:
    """Every head and role."""
    return list(np.ndindex(*values.shape[1:]))


@pytest.fixture(scope="module")
def values() -> Values:
    return random_scores()


@pytest.fixture(scope="module")
def results(values: Values) -> Atlas:
    return made_roles(values)


# The tests


def test_z_is_that_of_statsmodels(values: Values, results: Atlas) -> None:
    tests = role_tests(results, tau=3.0)
    assert set(tests.data_vars) == set(FIELDS)
    for cell in each(values):
        column = values[:, *cell]
        assert float(tests["p"].values[cell]) == pytest.approx(
            ztest(column, value=3.0, alternative="larger")[1], rel=1e-6
        )
        assert bool(tests["has"].values[cell]) == (
            ztest(column, value=3.0, alternative="larger")[1] < 0.05
        )
    assert tests["has"].any()
    assert not tests["has"].all()


def test_t_is_that_of_scipy_with_its_interval_and_cohens_d(values: Values, results: Atlas) -> None:
    tests = role_tests(results, tau=2.5, test="t")
    for cell in each(values):
        column = values[:, *cell]
        expected = stats.ttest_1samp(column, 2.5, alternative="greater")
        low, high = stats.ttest_1samp(column, 2.5).confidence_interval(0.95)
        assert float(tests["p"].values[cell]) == pytest.approx(expected.pvalue, rel=1e-6)
        assert (
            float(tests["low"].values[cell]),
            float(tests["high"].values[cell]),
        ) == pytest.approx((low, high), rel=1e-6)
        assert float(tests["effect"].values[cell]) == pytest.approx(
            (np.mean(column) - 2.5) / np.std(column, ddof=1), rel=1e-6
        )
        assert float(tests["mean"].values[cell]) == pytest.approx(np.mean(column), rel=1e-6)
    assert (tests["n"] == len(values)).all()
    assert tests.attrs == {
        "test": "t",
        "correction": "none",
        "alpha": 0.05,
        "resamples": 0,
        "seed": 0,
    }


def test_the_bootstrap_is_that_of_a_plain_loop_within_what_chance_allows() -> None:
    values = random_scores(25, seed=3, layers=1, heads=2, roles=2)
    resamples = 2000
    tests = role_tests(
        made_roles(values, ROLES[:2]), tau=3.0, test="bootstrap", resamples=resamples, seed=5
    )
    random = np.random.default_rng(11)
    for cell in each(values):
        column = values[:, *cell]
        centre = sum(column) / len(column)
        means = []
        for _ in range(resamples):
            drawn = random.integers(0, len(column), len(column))
            means.append(sum(column[drawn]) / len(column))
        over = sum(mean - centre + 3.0 >= centre for mean in means)
        p = (1 + over) / (1 + resamples)
        error = 5 * np.sqrt(2 * max(p * (1 - p), 1 / resamples) / resamples)
        assert float(tests["p"].values[cell]) == pytest.approx(p, abs=error)
        width = max(means) - min(means)
        low, high = np.quantile(means, [0.025, 0.975])
        assert (
            float(tests["low"].values[cell]),
            float(tests["high"].values[cell]),
        ) == pytest.approx((low, high), abs=0.05 * width)


def test_the_bootstrap_interval_is_that_of_scipy_within_what_chance_allows() -> None:
    values = random_scores(60, seed=4, layers=1, heads=1, roles=2)
    tests = role_tests(made_roles(values, ROLES[:2]), tau=3.0, test="bootstrap", resamples=4000)
    for role in range(2):
        column = values[:, 0, 0, role]
        expected = stats.bootstrap(
            (column,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(1)
        ).confidence_interval
        close = 0.1 * np.std(column) / np.sqrt(len(column))
        assert float(tests["low"].values[0, 0, role]) == pytest.approx(expected.low, abs=2 * close)
        assert float(tests["high"].values[0, 0, role]) == pytest.approx(
            expected.high, abs=2 * close
        )


def test_sign_flips_are_those_of_scipy_which_tries_all() -> None:
    values = random_scores(9, seed=6, layers=1, heads=3, roles=3)
    resamples = 8000
    tests = role_tests(
        made_roles(values, ROLES[:3]), tau=3.0, test="permutation", resamples=resamples
    )
    found = []
    for cell in each(values):
        column = values[:, *cell] - 3.0
        exact = stats.permutation_test(
            (column,),
            np.mean,
            permutation_type="samples",
            alternative="greater",
            n_resamples=np.inf,
            vectorized=True,
        ).pvalue
        found.append(exact)
        assert float(tests["p"].values[cell]) == pytest.approx(
            exact, abs=5 * np.sqrt(exact * (1 - exact) / resamples) + 2 / resamples
        )
        low, high = stats.ttest_1samp(column + 3.0, 0.0).confidence_interval(0.95)
        assert (
            float(tests["low"].values[cell]),
            float(tests["high"].values[cell]),
        ) == pytest.approx((low, high), rel=1e-6)
    assert min(found) < 0.2 < max(found)


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_a_seed_repeats_a_test_and_another_changes_it(results: Atlas, test: str) -> None:
    one, same, other = (
        role_tests(results, test=test, resamples=200, seed=seed) for seed in (1, 1, 2)
    )
    xr.testing.assert_identical(one, same)
    assert not one["p"].equals(other["p"])
    assert (one.attrs["resamples"], one.attrs["seed"]) == (200, 1)
    assert float(one["p"].min()) >= 1 / 201  # never 0


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_ps_are_corrected_over_all_heads_and_roles_that_are_tested(
    correction: str, values: Values
) -> None:
    part = values.copy()
    part[..., 3] = np.nan
    tests = role_tests(made_roles(part), correction=correction)
    known = tests["p"].values[..., [0, 1, 2, 4]].ravel()
    expected = np.array(CORRECTIONS[correction](known.tolist()))
    found = tests["p_corrected"].values[..., [0, 1, 2, 4]].ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    has = tests["has"].values[..., [0, 1, 2, 4]].ravel()
    np.testing.assert_array_equal(has, expected < 0.05)
    assert tests["p_corrected"].sel(role="block").isnull().all()
    assert not tests["has"].sel(role="block").any()


def test_without_correction_p_stays_and_alpha_decides(results: Atlas) -> None:
    tests = role_tests(results, alpha=0.5)
    xr.testing.assert_equal(tests["p"], tests["p_corrected"])
    np.testing.assert_array_equal(tests["has"].values, tests["p"].values < 0.5)
    assert tests["has"].sum() > role_tests(results, alpha=0.001)["has"].sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"test": "wilcoxon"},
            "the test must be one of bootstrap, permutation, t, z; got 'wilcoxon' instead.",
        ),
        (
            {"correction": "bonferoni"},
            "the correction must be one of bh, holm, none; got 'bonferoni' instead.",
        ),
        ({"alpha": 0.0}, "alpha must be between 0 and 1, got 0.0 instead"),
        ({"alpha": 1.0}, "alpha must be between 0 and 1, got 1.0 instead"),
        ({"alpha": float("nan")}, "alpha must be between 0 and 1, got nan instead"),
        (
            {"test": "bootstrap", "resamples": 0},
            "the number of resamples must be 1 or more, got 0 instead",
        ),
        ({"tau": 0.0}, "tau must be over 0 (1 is what uniform attention gives), got 0 instead"),
        ({"tau": -1.5}, "tau must be over 0 (1 is what uniform attention gives), got -1.5 instead"),
        (
            {"tau": float("nan")},
            "tau must be over 0 (1 is what uniform attention gives), got nan instead",
        ),
        (
            {"tau": float("inf")},
            "tau must be over 0 (1 is what uniform attention gives), got inf instead",
        ),
        ({"tau": "x"}, "tau must be a number over 0, or 'auto'; got 'x' instead"),
        (
            {"tau": {"local": 0.0}},
            "tau must be over 0 (1 is what uniform attention gives), got 0 instead",
        ),
        (
            {"tau": {"sintactic": 2.0}},
            "the role must be one of block, cls, delimiter, local, syntactic; "
            "got 'sintactic' instead. Did you mean 'syntactic'?",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(
    results: Atlas, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        role_tests(results, **options)
    assert caught.value.message == message


def test_results_without_roles_say_how_to_get_them() -> None:
    with pytest.raises(ResultsError) as caught:
        role_tests(made_results(2, 2))
    assert caught.value.message == "these results have no roles in them"
    assert caught.value.hint == 'survey with roles: hs.survey(model, corpus, measures="role")'
    assert caught.value.command == "run: headscope survey MODEL CORPUS --measure role -o roles.nc"


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_moments_alone_do_for_z_and_t_but_not_for_resampling(
    values: Values, results: Atlas, test: str
) -> None:
    moments = made_roles(values, kept=0)
    xr.testing.assert_identical(role_tests(moments), role_tests(results))
    with pytest.raises(ResultsError) as caught:
        role_tests(moments, test=test)
    assert (
        caught.value.message
        == "these results keep only the moments, not the score of every sequence"
    )
    assert caught.value.hint == (
        "keep scores in the survey: hs.Role(keep=5000); or use the z or t test"
    )
    assert caught.value.command == (
        "run the survey again without --keep 0, or use --test z or --test t"
    )


# Scores that are hard to test


@pytest.mark.parametrize("test", ["z", "t", "bootstrap", "permutation"])
def test_scores_without_spread_are_decided_by_their_mean(test: str) -> None:
    scores = np.broadcast_to(np.array([3.3, 2.7, 3.0]), (40, 1, 1, 3))
    tests = role_tests(made_roles(scores, ROLES[:3]), test=test, resamples=500).isel(
        layer=0, head=0
    )
    assert tests["has"].values.tolist() == [True, False, False]
    assert tests["effect"].isnull().all()
    if test in ("z", "t"):
        assert tests["p"].values.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("test", ["z", "t", "bootstrap", "permutation"])
def test_one_sequence_or_none_gives_no_test(test: str) -> None:
    scores = np.full((3, 1, 2, 3), 9.0)
    scores[1:, ..., 1] = np.nan
    scores[..., 2] = np.nan
    tests = role_tests(made_roles(scores, ROLES[:3]), test=test, resamples=50)
    assert tests["n"].isel(layer=0, head=0).values.tolist() == [3, 1, 0]
    assert tests["p"].sel(role=["syntactic", "delimiter"]).isnull().all()
    assert not tests["has"].sel(role=["syntactic", "delimiter"]).any()
    assert tests["mean"].isel(layer=0, head=0).values.tolist() == pytest.approx(
        [9.0, 9.0, np.nan], nan_ok=True
    )
    assert tests["p"].sel(role="local").notnull().all()


@pytest.mark.parametrize("test", ["z", "t", "bootstrap", "permutation"])
def test_sequences_without_the_role_do_not_count(values: Values, test: str) -> None:
    part = values.copy()
    part[::3, ..., 1] = np.nan
    whole = role_tests(made_roles(part), test=test, resamples=300)
    rest = role_tests(
        made_roles(np.delete(part[..., [1]], slice(None, None, 3), 0), ROLES[1:2]),
        test=test,
        resamples=300,
    )
    assert (whole["n"].sel(role="syntactic") == (~np.isnan(part[:, 0, 0, 1])).sum()).all()
    for field in ("mean", "effect"):
        np.testing.assert_allclose(
            whole[field].sel(role="syntactic"), rest[field].sel(role="syntactic"), rtol=1e-9
        )
    close = 1e-9 if test in ("z", "t") else 0.15  # draws of another number
    np.testing.assert_allclose(
        whole["p"].sel(role="syntactic"), rest["p"].sel(role="syntactic"), atol=close
    )
