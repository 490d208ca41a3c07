"""Which heads have which role: every test against scipy, and corrections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headscope.errors import ResultsError, UserError
from headscope.stats import role_tests
from page.samples import made_results
from refusals import refusal
from stats.made_roles import PAPER, ROLES, Values, made_roles, random_scores
from stats.references import CORRECTIONS, z_test

FIELDS = (
    *("mean", "low", "high", "effect", "p", "p_corrected", "has"),
    *("n", "clusters", "tau", "effective"),
)


def each(values: Values) -> list[tuple[int, ...]]:
    """Every head and role."""
    return list(np.ndindex(*values.shape[1:]))


@pytest.fixture(scope="module")
def values():
    return random_scores()


@pytest.fixture(scope="module")
def results(values):
    return made_roles(values)


# The tests


def test_z_is_scipys_t_taken_as_normal(values, results):
    tests = role_tests(results, tau=3.0, **PAPER)
    beyond = {"position", "position_low", "position_high", "p_position", "positional"}
    assert set(tests.data_vars) == set(FIELDS) | beyond
    for cell in each(values):
        column = values[:, *cell]
        assert float(tests["p"].values[cell]) == pytest.approx(z_test(column, 3.0), rel=1e-6)
        assert bool(tests["has"].values[cell]) == (z_test(column, 3.0) < 0.05)
    assert tests["has"].any()
    assert not tests["has"].all()


def test_t_is_that_of_scipy_with_its_interval_and_cohens_d(values, results):
    tests = role_tests(results, tau=2.5, correction="none")
    for cell in each(values):
        column = values[:, *cell]
        expected = stats.ttest_1samp(column, 2.5, alternative="greater")
        low, high = stats.ttest_1samp(column, 2.5).confidence_interval(0.95)
        assert float(tests["p"].values[cell]) == pytest.approx(expected.pvalue, rel=1e-6)
        wanted = pytest.approx((low, high), rel=1e-6)
        assert (float(tests["low"].values[cell]), float(tests["high"].values[cell])) == wanted
        wanted = pytest.approx((np.mean(column) - 2.5) / np.std(column, ddof=1), rel=1e-6)
        assert float(tests["effect"].values[cell]) == wanted
        assert float(tests["mean"].values[cell]) == pytest.approx(np.mean(column), rel=1e-6)
    assert (tests["n"] == len(values)).all()
    assert tests.attrs == {
        "test": "t",
        "correction": "none",
        "alpha": 0.05,
        "resamples": 0,
        "clustered": 0,
        "seed": 0,
        "exploratory": 0,
    }
    assert (tests["clusters"] == len(values)).all()


def bootstrap_t(column: Any, random: np.random.Generator, resamples: int) -> list[float]:
    """Student's statistic of each resample about the mean of the scores, by a plain loop."""
    found = []
    for _ in range(resamples):
        drawn = column[random.integers(0, len(column), len(column))]
        error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
        found.append((np.mean(drawn) - np.mean(column)) / error)
    return found


def test_the_bootstrap_is_that_of_a_plain_loop_within_what_chance_allows():
    values = random_scores(25, seed=3, layers=1, heads=2, roles=2)
    resamples = 2000
    tests = role_tests(
        made_roles(values, ROLES[:2]),
        tau=3.0,
        test="bootstrap",
        correction="none",
        resamples=resamples,
        seed=5,
    )
    random = np.random.default_rng(11)
    for cell in each(values):
        column = values[:, *cell]
        error = np.std(column, ddof=1) / np.sqrt(len(column))
        drawn = bootstrap_t(column, random, resamples)
        over = sum(one >= (np.mean(column) - 3.0) / error for one in drawn)
        p = (1 + over) / (1 + resamples)
        close = 5 * np.sqrt(2 * max(p * (1 - p), 1 / resamples) / resamples)
        assert float(tests["p"].values[cell]) == pytest.approx(p, abs=close)
        high, low = np.mean(column) - np.quantile(drawn, [0.025, 0.975]) * error
        expected = pytest.approx((low, high), abs=0.25 * error)
        assert (float(tests["low"].values[cell]), float(tests["high"].values[cell])) == expected


def test_sign_flips_are_those_of_scipy_which_tries_all():
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
        # Of the jackknife's error, which is the usual one times √(n / (n - 1)).
        assert (
            float((tests["high"] - tests["low"]).values[cell]),
            float((tests["high"] + tests["low"]).values[cell]),
        ) == pytest.approx(((high - low) * np.sqrt(9 / 8), high + low), rel=1e-6)
    assert min(found) < 0.2 < max(found)


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_a_seed_repeats_a_test_and_another_changes_it(results, test):
    one, same, other = (
        role_tests(results, test=test, correction="none", resamples=200, seed=seed)
        for seed in (1, 1, 2)
    )
    xr.testing.assert_identical(one, same)
    assert not one["p"].equals(other["p"])
    assert (one.attrs["resamples"], one.attrs["seed"]) == (200, 1)
    assert float(one["p"].min()) >= 1 / 201  # never 0


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_ps_are_corrected_over_all_heads_and_roles_that_are_tested(correction, values):
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


def test_without_correction_p_stays_and_alpha_decides(results):
    tests = role_tests(results, correction="none", alpha=0.5)
    xr.testing.assert_equal(tests["p"], tests["p_corrected"])
    np.testing.assert_array_equal(tests["has"].values, tests["p"].values < 0.5)
    assert tests["has"].sum() > role_tests(results, correction="none", alpha=0.001)["has"].sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"test": "wilcoxon"},
            "the test must be one of bootstrap, permutation, t, z; got 'wilcoxon' instead.",
        ),
        (
            {"correction": "bonferoni"},
            "the correction must be one of bh, holm, maxt, none; got 'bonferoni' instead.",
        ),
        ({"alpha": 0.0}, "alpha must be between 0 and 1, got 0.0 instead"),
        ({"alpha": 1.0}, "alpha must be between 0 and 1, got 1.0 instead"),
        ({"alpha": float("nan")}, "the alpha must be a number, got nan instead"),
        (
            {"test": "bootstrap", "resamples": 0},
            "the number of resamples must be 1 or more, got 0 instead",
        ),
        (
            {"correction": "maxt"},
            "the correction maxt needs a test by resampling, got the t test instead",
        ),
        (
            {"test": "bootstrap", "correction": "none", "resamples": 18},
            "with 18 resamples no head can have a role at the level 0.05: the least p is 1/19",
        ),
        (
            {"test": "permutation", "correction": "holm", "resamples": 599},
            "with 599 resamples no head can have a role at the level 0.05: the least p is 1/600, "
            "and Holm multiplies it by 30 tests",
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
        ({"tau": "x"}, "tau must be a number over 0, 'auto', or ROLE=NUMBER; got 'x' instead"),
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
def test_what_cannot_be_is_refused_with_what_is_allowed(results, options, message):
    assert refusal(UserError, role_tests, results, **options).message == message


def test_results_without_roles_say_how_to_get_them():
    error = refusal(ResultsError, role_tests, made_results(2, 2))
    assert error.message == "these results have no roles in them"
    assert error.hint == 'survey with roles: hs.survey(model, corpus, measures="role")'


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_moments_alone_do_for_z_and_t_but_not_for_resampling(values, results, test):
    moments = made_roles(values, kept=0)
    xr.testing.assert_identical(role_tests(moments), role_tests(results))
    error = refusal(ResultsError, role_tests, moments, test=test)
    assert error.message == "these results keep only the moments, not the score of every sequence"
    message = "keep scores: hs.survey(model, corpus, keep=5000); or give test='z' or test='t'"
    assert error.hint == message


# Scores that are hard to test


@pytest.mark.parametrize("test", ["z", "t", "bootstrap", "permutation"])
def test_scores_without_spread_are_decided_by_their_mean(test):
    scores = np.broadcast_to(np.array([3.3, 2.7, 3.0]), (40, 1, 1, 3))
    tests = role_tests(made_roles(scores, ROLES[:3]), test=test, resamples=500).isel(
        layer=0, head=0
    )
    assert tests["has"].values.tolist() == [True, False, False]
    assert tests["effect"].isnull().all()
    if test in ("z", "t"):
        assert tests["p"].values.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("test", ["z", "t", "bootstrap", "permutation"])
def test_one_sequence_or_none_gives_no_test(test):
    scores = np.full((3, 1, 2, 3), 9.0)
    scores[1:, ..., 1] = np.nan
    scores[..., 2] = np.nan
    tests = role_tests(made_roles(scores, ROLES[:3]), test=test, resamples=50)
    assert tests["n"].isel(layer=0, head=0).values.tolist() == [3, 1, 0]
    assert tests["p"].sel(role=["syntactic", "delimiter"]).isnull().all()
    assert not tests["has"].sel(role=["syntactic", "delimiter"]).any()
    expected = pytest.approx([9.0, 9.0, np.nan], nan_ok=True)
    assert tests["mean"].isel(layer=0, head=0).values.tolist() == expected
    assert tests["p"].sel(role="local").notnull().all()


# Corrections of tests by resampling


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
@pytest.mark.parametrize("correction", ["holm", "bh", "maxt"])
def test_by_default_there_are_enough_resamples_for_the_correction(test, correction):
    # 360 tests, of which one head is far above tau: 5000 resamples would never show it.
    scores = random_scores(60, layers=6, heads=12) - 1.0
    scores[:, 2, 3, 0] += 9.0
    tests = role_tests(made_roles(scores), test=test, correction=correction)
    assert tests["has"].values.nonzero() == (np.array([2]), np.array([3]), np.array([0]))
    assert tests.attrs["resamples"] == (5000 if correction == "maxt" else 2 * 360 / 0.05)


def test_an_empty_answer_that_only_the_number_of_resamples_explains_is_an_error():
    scores = random_scores(60, layers=6, heads=12) - 1.0
    scores[:, 2, 3, 0] += 9.0
    error = refusal(
        UserError, role_tests, made_roles(scores), test="bootstrap", correction="bh", resamples=999
    )
    assert error.message == (
        "with 999 resamples no head has a role at the level 0.05, though 1 of 360 tests have the "
        "least p there can be, 1/1,000"
    )
    assert error.hint == "give resamples=14400 or more, or correction='maxt'"


@pytest.mark.parametrize("test", ["z", "bootstrap"])
def test_roles_with_the_same_tokens_count_as_one_test(values, test):
    twice = np.concatenate([values, values[..., [4]]], -1)
    results = made_roles(twice, [*ROLES, "first token"])
    options = {"test": test, "correction": "holm"}
    once, both = role_tests(made_roles(values), **options), role_tests(results, **options)
    np.testing.assert_array_equal(
        both["p_corrected"].sel(role=list(ROLES)), once["p_corrected"].sel(role=list(ROLES))
    )
    np.testing.assert_array_equal(
        both["p_corrected"].sel(role="first token"), both["p_corrected"].sel(role="cls")
    )


# Sequences of one document


def repeated(values: Values) -> tuple[Values, list[str]]:
    """Every sequence three times over, as if documents said everything thrice."""
    return np.repeat(values, 3, 0), [f"d{number // 3}" for number in range(3 * len(values))]


@pytest.mark.parametrize("test", ["z", "t", "bootstrap", "permutation"])
def test_repeating_every_sequence_adds_nothing_where_documents_are_known(values, results, test):
    thrice, groups = repeated(values)
    once = role_tests(results, test=test)
    clustered = role_tests(made_roles(thrice, groups=groups), test=test)
    # Leaving out documents in turn gives the usual error times √(n / (n - 1)).
    wider = np.sqrt(40 / 39) if test in ("z", "t") else 1.0
    width, usual = (tests["high"] - tests["low"] for tests in (clustered, once))
    np.testing.assert_allclose(width, wider * usual, rtol=1e-4)
    np.testing.assert_allclose(clustered["p"], once["p"], atol=1e-12 if wider == 1.0 else 0.004)
    assert (clustered["n"] == 120).all()
    assert (clustered["clusters"] == 40).all()
    assert clustered.attrs["clustered"] == 1
    plain = role_tests(made_roles(thrice, groups=groups), test=test, clusters=False)
    assert float(plain["high"].isel(layer=0, head=0, role=0)) < float(
        once["high"].isel(layer=0, head=0, role=0)
    )
    assert plain.attrs["clustered"] == 0


def test_where_not_all_scores_are_kept_documents_are_taken_by_bucket(values):
    groups = [f"d{number % 4}" for number in range(40)]  # one in each bucket
    whole = role_tests(made_roles(values, groups=groups, buckets=4))
    part = role_tests(made_roles(values, groups=groups, buckets=4, kept=12))
    assert (part["clusters"] == 4).all()
    assert part["p"].notnull().all()
    np.testing.assert_allclose(part["p"], whole["p"], rtol=1e-6)
