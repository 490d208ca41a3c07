"""Which heads have which role (P3): every test against scipy or statsmodels, thresholds, corrections, and what a reader is warned of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ztest

from headscope.errors import ResultsError, UserError
from headscope.results import Results
from headscope.stats import (
    cautions,
    find_tau,
    find_taus,
    grand_mean,
    parse_tau,
    role_table,
    role_tests,
    tau_table,
    undecided,
)
from page.samples import made_results

ROLES = ("local", "syntactic", "delimiter", "block", "cls")
LAYERS, HEADS = 2, 3
FIELDS = ("mean", "low", "high", "effect", "p", "p_corrected", "has", "n", "tau")

Values = NDArray[np.float64]


def made_roles(
    values: Any,
    roles: Sequence[str] = ROLES,
    *,
    kept: int | None = None,
    ids: Sequence[str] | None = None,
    absent: Mapping[str, str] = {},
    **provenance: Any,
) -> Results:
    """Results with these scores (sequence, layer, head, role); NaN where a sequence has no such role. The first ``kept`` are kept one by one, all by default."""
    scores = np.asarray(values, np.float32)
    blocks = [scores[::2].astype(np.float64), scores[1::2].astype(np.float64)]
    sums = np.stack([np.nansum(block, 0) for block in blocks])
    squares = np.stack([np.nansum(block**2, 0) for block in blocks])
    counts = np.stack([(~np.isnan(block)).sum(0) for block in blocks])
    dims = ("block", "layer", "head", "role")
    size = len(scores) if kept is None else kept
    names = np.array(
        [str(index) for index in range(len(scores))] if ids is None else ids, dtype=object
    )
    coordinates: dict[str, Any] = {
        "block": [1, 2],
        "layer": np.arange(1, scores.shape[1] + 1),
        "head": np.arange(1, scores.shape[2] + 1),
        "role": np.array(roles, dtype=object),
    }
    variables: dict[str, Any] = {
        "sum": (dims, sums),
        "square": (dims, squares),
        "count": (dims, counts),
    }
    if size:
        variables["value"] = (("example", *dims[1:]), scores[:size])
        coordinates |= {"example": np.arange(size), "id": ("example", names[:size])}
    attributes = {
        "title": "Sieve bias",
        "unit": "times uniform attention",
        "source": "Pande et al. 2021",
        "absent": json.dumps(dict(absent)),
    }
    return Results.build(
        {"role": xr.Dataset(variables, coordinates, attributes)},
        made_results(scores.shape[1], scores.shape[2]).provenance | provenance,
    )


def random_scores(
    sequences: int = 40,
    *,
    seed: int = 0,
    layers: int = LAYERS,
    heads: int = HEADS,
    roles: int = len(ROLES),
) -> Values:
    """Scores around 3, skewed, each head and role with a mean of its own; as float32 keeps them."""
    random = np.random.default_rng(seed)
    centre = random.uniform(2.4, 3.6, (layers, heads, roles))
    return (
        (centre + random.gamma(2.0, 0.5, (sequences, layers, heads, roles)) - 1.0)
        .astype(np.float32)
        .astype(np.float64)
    )


def each(values: Values) -> list[tuple[int, int, int]]:
    return list(np.ndindex(*values.shape[1:]))


@pytest.fixture(scope="module")
def values() -> Values:
    return random_scores()


@pytest.fixture(scope="module")
def results(values: Values) -> Results:
    return made_roles(values)


# The tests


def test_z_is_that_of_statsmodels(values: Values, results: Results) -> None:
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


def test_t_is_that_of_scipy_with_its_interval_and_cohens_d(
    values: Values, results: Results
) -> None:
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
def test_a_seed_repeats_a_test_and_another_changes_it(results: Results, test: str) -> None:
    one, same, other = (
        role_tests(results, test=test, resamples=200, seed=seed) for seed in (1, 1, 2)
    )
    xr.testing.assert_identical(one, same)
    assert not one["p"].equals(other["p"])
    assert (one.attrs["resamples"], one.attrs["seed"]) == (200, 1)
    assert float(one["p"].min()) >= 1 / 201  # never 0


@pytest.mark.parametrize(("correction", "name"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_are_those_of_statsmodels_over_all_heads_and_roles_that_are_tested(
    correction: str, name: str, values: Values
) -> None:
    part = values.copy()
    part[..., 3] = np.nan
    tests = role_tests(made_roles(part), correction=correction)
    known = tests["p"].values[..., [0, 1, 2, 4]].ravel()
    expected = multipletests(known, alpha=0.05, method=name)
    np.testing.assert_allclose(
        tests["p_corrected"].values[..., [0, 1, 2, 4]].ravel(), expected[1], rtol=1e-12
    )
    np.testing.assert_array_equal(tests["has"].values[..., [0, 1, 2, 4]].ravel(), expected[0])
    assert tests["p_corrected"].sel(role="block").isnull().all()
    assert not tests["has"].sel(role="block").any()


def test_without_correction_p_stays_and_alpha_decides(results: Results) -> None:
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
            "the role must be one of block, cls, delimiter, local, syntactic; got 'sintactic' instead. Did you mean 'syntactic'?",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(
    results: Results, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        role_tests(results, **options)
    assert caught.value.message == message


def test_results_without_roles_say_how_to_get_them() -> None:
    with pytest.raises(ResultsError) as caught:
        role_tests(made_results(2, 2))
    assert caught.value.message == "these results have no roles in them"
    assert caught.value.hint == "run: headscope survey MODEL CORPUS --measure role -o roles.nc"


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_moments_alone_do_for_z_and_t_but_not_for_resampling(
    values: Values, results: Results, test: str
) -> None:
    moments = made_roles(values, kept=0)
    xr.testing.assert_identical(role_tests(moments), role_tests(results))
    with pytest.raises(ResultsError) as caught:
        role_tests(moments, test=test)
    assert (
        caught.value.message
        == "these results keep only the moments, not the score of every sequence"
    )
    assert caught.value.hint == "run the survey again without --keep 0, or use the z or t test"


# The threshold


def test_tau_from_the_data_is_the_smallest_integer_above_the_mean_of_the_papers_four_roles() -> (
    None
):
    scores = np.full((4, 1, 1, 5), 2.0)
    scores[..., 0], scores[..., 4] = (
        4.5,
        100.0,
    )  # (4.5 + 2 + 2 + 2) / 4; [CLS] is not one of the four
    found = made_roles(scores)
    assert grand_mean(found) == pytest.approx(10.5 / 4)
    assert find_tau(found, "auto") == 3.0
    assert (role_tests(found, tau="auto")["tau"] == 3.0).all()
    assert find_tau(made_roles(np.full((4, 1, 1, 5), 3.0)), "auto") == 4.0  # above, not at
    assert find_tau(made_roles(np.full((4, 1, 1, 5), 0.25)), "auto") == 1.0


def test_tau_from_the_data_counts_each_score_once_and_only_the_roles_that_are_there() -> None:
    scores = np.full((6, 1, 2, 5), np.nan)
    scores[:, ..., 0], scores[:2, ..., 1] = 1.0, 5.0
    assert grand_mean(made_roles(scores)) == pytest.approx((6 * 1 + 2 * 5) / 8)
    assert grand_mean(made_roles(np.full((3, 1, 1, 1), 7.5), ["mine"])) == pytest.approx(
        7.5
    )  # none of the four: all there are
    with pytest.raises(ResultsError) as caught:
        find_tau(made_roles(np.full((3, 1, 1, 5), np.nan)), "auto")
    assert (
        caught.value.message
        == "there is no score to find tau from: no sequence has any of the roles"
    )


def test_tau_may_differ_by_role(values: Values, results: Results) -> None:
    tests = role_tests(results, tau={"": 2.8, "block": 1.5, "cls": "auto"})
    assert tests["tau"].values.tolist() == [2.8, 2.8, 2.8, 1.5, find_tau(results, "auto")]
    assert float(tests["p"].values[0, 1, 3]) == pytest.approx(
        ztest(values[:, 0, 1, 3], value=1.5, alternative="larger")[1], rel=1e-6, abs=1e-300
    )
    assert float(tests["p"].values[0, 1, 2]) == pytest.approx(
        ztest(values[:, 0, 1, 2], value=2.8, alternative="larger")[1], rel=1e-6
    )
    assert find_taus(results, {"block": 1.5}).values.tolist() == [3.0, 3.0, 3.0, 1.5, 3.0]


def test_tau_is_typed_as_a_number_as_auto_or_by_role() -> None:
    assert parse_tau([]) == {"": 3.0}
    assert parse_tau(["2.5", "block=1.5", "cls=auto"]) == {"": 2.5, "block": 1.5, "cls": "auto"}
    with pytest.raises(UserError) as caught:
        parse_tau(["block=high"])
    assert (
        caught.value.message
        == "tau must be a number over 0, 'auto', or ROLE=NUMBER; got 'block=high' instead"
    )


def test_the_table_of_taus_counts_heads_as_a_literal_loop_does(
    values: Values, results: Results
) -> None:
    spread = values + np.linspace(-2.0, 2.0, HEADS)[:, None]
    table = tau_table(made_roles(spread))
    assert table.columns.tolist() == ["role", "tau 1", "tau 2", "tau 3", "tau 4", "tau 5"]
    assert table["role"].tolist() == list(ROLES)
    for column, role in enumerate(ROLES):
        for tau in (1, 2, 3, 4, 5):
            count = 0
            for layer in range(LAYERS):
                for head in range(HEADS):
                    if (
                        ztest(
                            spread[:, layer, head, column].astype(np.float32).astype(np.float64),
                            value=tau,
                            alternative="larger",
                        )[1]
                        < 0.05
                    ):
                        count += 1
            assert table.set_index("role")[f"tau {tau}"][role] == count
    held = tau_table(results, [2, 3.5], correction="holm", test="t")
    assert held.columns.tolist() == ["role", "tau 2", "tau 3.5"]
    expected = (
        role_tests(results, tau=3.5, correction="holm", test="t")["has"]
        .sum(("layer", "head"))
        .values.tolist()
    )
    assert held["tau 3.5"].tolist() == expected


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


# Tables and words


def test_the_table_of_roles_names_the_strongest_head_of_each(
    values: Values, results: Results
) -> None:
    tests = role_tests(results)
    table = role_table(results, tests).set_index("role")
    for column, role in enumerate(ROLES):
        means = values[..., column].mean(0)
        layer, head = divmod(
            max(range(LAYERS * HEADS), key=lambda place: means[place // HEADS][place % HEADS]),
            HEADS,
        )
        row = table.loc[role]
        count = sum(
            ztest(values[:, one, two, column], value=3.0, alternative="larger")[1] < 0.05
            for one in range(LAYERS)
            for two in range(HEADS)
        )
        assert row["strongest"] == f"{layer + 1}-{head + 1}"
        assert (row["heads"], row["share"], row["sequences"]) == (count, count / 6, 40)
        assert row["mean"] == pytest.approx(means.max(), rel=1e-6)
        assert row["p"] == pytest.approx(
            ztest(values[:, layer, head, column], value=3.0, alternative="larger")[1], rel=1e-6
        )


def test_a_role_that_no_sequence_has_is_in_the_table_with_nothing() -> None:
    scores = random_scores(35)
    scores[..., 3] = np.nan
    found = made_roles(scores)
    row = role_table(found, role_tests(found)).set_index("role").loc["block"]
    assert (row["heads"], row["share"], row["sequences"], row["strongest"]) == (0, 0.0, 0, "")
    assert np.isnan(
        [row[key] for key in ("mean", "low", "high", "effect", "p", "p_corrected")]
    ).all()


def test_undecided_is_the_share_of_ps_between_the_bounds_over_the_papers_four_roles(
    values: Values, results: Results
) -> None:
    tests = role_tests(results)
    ps = [
        ztest(values[:, *cell], value=3.0, alternative="larger")[1]
        for cell in each(values)
        if cell[2] < 4
    ]
    assert undecided(tests) == pytest.approx(sum(0.05 < p < 0.95 for p in ps) / len(ps))
    assert 0 < undecided(tests) < 1
    assert np.isnan(undecided(role_tests(made_roles(np.full((3, 1, 1, 5), np.nan)))))


def test_fewer_than_30_sequences_are_cautioned_by_role() -> None:
    scores = random_scores(30)
    scores[29:, ..., 1] = np.nan
    scores[..., 2] = np.nan
    found = made_roles(scores, absent={"nsubj": "the corpus has no tree: parse it"})
    assert cautions(found, role_tests(found, tau={"": 3.0, "block": 1.5})) == [
        "Fewer than 30 sequences: syntactic (29). The test of the mean is not to be trusted there; take more, or --test permutation.",
        "No sequence has a token of delimiter: not defined.",
        "Absent: nsubj (the corpus has no tree: parse it).",
    ]


def test_block_over_what_it_can_be_is_cautioned(results: Results) -> None:
    assert any(
        text.startswith("By the paper's formula block can be at most about 2.1")
        for text in cautions(results, role_tests(results, tau=3.0))
    )
    assert cautions(results, role_tests(results, tau=2.0)) == []


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_a_test_from_part_of_the_sequences_says_so_and_uses_only_those(test: str) -> None:
    scores = random_scores(60)
    scores[32:] += 50.0
    found = made_roles(scores, kept=32)
    tests = role_tests(found, tau=2.0, test=test, resamples=200)
    assert (tests["n"] == 32).all()
    assert float(tests["high"].max()) < 20.0
    assert cautions(found, tests) == [
        f"The {test} uses the 32 sequences whose scores are kept, of 60; means are over all."
    ]
