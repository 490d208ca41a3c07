"""Heads with several roles: plain Python sets, correlations of ranks, skills sorted as Figure 5."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headscope.heads import Head, all_heads, parse_heads
from headscope.stats import (
    COARSE,
    FINE,
    layer_shares,
    overlap_shares,
    regions,
    role_correlations,
    role_sets,
    skills,
)
from stats.made_roles import ROLES, made_roles, random_scores

LAYERS, HEADS = 2, 3
EVERY = all_heads(LAYERS, HEADS)
Has = dict[str, set[str]]
"""The heads of each role by name."""


def made_tests(has: Has, untested: tuple[str, ...] = ()) -> xr.Dataset:
    """Tests in which exactly these heads have these roles; an untested role has no p."""
    roles = [*has, *untested]
    cells = np.array(
        [
            [
                [f"{layer}-{head}" in has.get(role, set()) for role in roles]
                for head in range(1, HEADS + 1)
            ]
            for layer in range(1, LAYERS + 1)
        ]
    ).reshape(LAYERS, HEADS, -1)
    p = np.where(cells, 0.001, 0.9)
    p[..., len(has) :] = np.nan
    coordinates = {
        "layer": np.arange(1, LAYERS + 1),
        "head": np.arange(1, HEADS + 1),
        "role": np.array(roles, dtype=object),
    }
    return xr.Dataset(
        {"has": (("layer", "head", "role"), cells), "p": (("layer", "head", "role"), p)},
        coordinates,
    )


SETS = st.fixed_dictionaries(
    {role: st.sets(st.sampled_from([str(head) for head in EVERY])) for role in COARSE}
)


@given(has=SETS)
@settings(deadline=None, max_examples=40)
def test_sets_regions_and_shares_are_those_of_plain_sets(has):
    tests = made_tests(has)
    assert {role: set(map(str, heads)) for role, heads in role_sets(tests).items()} == has
    found = regions(role_sets(tests)).set_index("roles")
    by_roles: dict[str, set[str]] = {}
    for name in map(str, EVERY):
        mine = [role for role in COARSE if name in has[role]]
        if mine:
            by_roles.setdefault(" & ".join(mine), set()).add(name)
    assert set(found.index) == set(by_roles)
    for roles, heads in by_roles.items():
        assert found.loc[roles, "which"] == ", ".join(sorted(heads))
        assert found.loc[roles, "heads"] == len(heads)
        assert found.loc[roles, "degree"] == roles.count("&") + 1
    assert found["heads"].tolist() == sorted(found["heads"], reverse=True)
    shares = overlap_shares(tests)
    several = [
        name for name in map(str, EVERY) if sum(name in heads for heads in has.values()) >= 2
    ]
    assert shares["delimiter heads"] == pytest.approx(len(has["delimiter"]) / 6)
    assert shares["heads without a role"] == pytest.approx(1 - len(set.union(*has.values())) / 6)
    assert shares["heads with two roles or more"] == pytest.approx(len(several) / 6)
    both = (
        len(has["syntactic"] & has["local"]) / len(has["syntactic"]) if has["syntactic"] else np.nan
    )
    assert shares["syntactic heads that are local too"] == pytest.approx(both, nan_ok=True)


def test_heads_are_named_in_the_order_of_the_model_not_of_the_alphabet():
    heads = set(parse_heads("10-2,9-11,9-2"))
    assert regions({"local": heads})["which"].tolist() == ["9-2, 9-11, 10-2"]


def test_no_set_and_empty_sets_have_no_regions():
    empty: list[dict[str, set[Head]]] = [{}, {"local": set(), "block": set()}]
    for sets in empty:
        assert regions(sets).empty
        assert regions(sets).columns.tolist() == ["roles", "degree", "heads", "which"]


def test_a_role_that_was_not_tested_is_no_empty_set():
    tests = made_tests({"local": {"1-1"}, "syntactic": set()}, untested=("block", "delimiter"))
    assert role_sets(tests) == {"local": {Head(0, 0)}, "syntactic": set()}
    shares = overlap_shares(tests)
    assert np.isnan(shares["delimiter heads"])
    assert np.isnan(shares["syntactic heads that are local too"])
    assert shares["heads without a role"] == pytest.approx(5 / 6)


def test_shares_of_nothing_are_not_defined():
    assert np.isnan(list(overlap_shares(made_tests({}, untested=COARSE)).values())).all()
    alone = overlap_shares(made_tests({"syntactic": {"1-1", "2-3"}}, untested=("local",)))
    assert np.isnan(alone["syntactic heads that are local too"])  # local was not looked for
    assert np.isnan(alone["heads with two roles or more"])
    assert alone["heads without a role"] == pytest.approx(4 / 6)


# Correlations


def rank_correlation(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    """Spearman's rho as Pearson's correlation of ranks, and its p by Student's t."""
    rho = float(np.corrcoef(stats.rankdata(one), stats.rankdata(two))[0, 1])
    t = rho * np.sqrt((len(one) - 2) / (1 - rho**2))
    return rho, float(2 * stats.t.sf(abs(t), len(one) - 2))


def test_correlations_are_over_heads_and_over_heads_and_sequences():
    values = random_scores(20)
    values[..., 1] = values[..., 0] ** 2 + np.random.default_rng(1).normal(
        0, 0.5, values.shape[:-1]
    )
    values[::4, ..., 1] = np.nan
    values = values.astype(np.float32).astype(np.float64)
    table = role_correlations(made_roles(values))
    assert len(table) == 10
    assert (table["role"] + table["other"]).is_unique
    for _, row in table.iterrows():
        one, two = (values[..., ROLES.index(row[side])] for side in ("role", "other"))
        heads = rank_correlation(np.nanmean(one, 0).ravel(), np.nanmean(two, 0).ravel())
        assert (row["rho (heads)"], row["p (heads)"]) == pytest.approx(heads)
        assert row["n (heads)"] == 6
        left, right = one.ravel(), two.ravel()
        known = ~np.isnan(left) & ~np.isnan(right)
        each = rank_correlation(left[known], right[known])
        assert (row["rho (sequences)"], row["p (sequences)"]) == pytest.approx(each)
        assert row["n (sequences)"] == known.sum()
    assert table.set_index(["role", "other"])["rho (sequences)"][("local", "syntactic")] > 0.5


def test_correlations_of_some_roles_of_moments_alone_and_of_what_cannot_be_ranked():
    values = random_scores(10)
    values[..., 2] = 1.0
    values[..., 3] = np.nan
    table = role_correlations(
        made_roles(values, kept=0), ["local", "delimiter", "block", "not there"]
    )
    expected = [("local", "delimiter"), ("local", "block"), ("delimiter", "block")]
    assert list(zip(table["role"], table["other"], strict=True)) == expected
    assert table["rho (heads)"].isnull().all()
    assert table["n (heads)"].tolist() == [6, 0, 0]
    assert not any("sequences" in str(column) for column in table)


# Skills


def test_heads_are_sorted_in_their_layer_by_how_many_fine_roles_they_have_and_then_by_number():
    has = {"cls": {"1-3", "2-1"}, "sep": {"1-3", "1-2"}, "nsubj": {"2-1", "2-3", "2-2"}}
    frame = skills(made_tests(has | {"local": {"1-1", "1-2"}}))  # local is not one of the nine
    assert set(frame["role"]) == set(has)
    assert len(frame) == 6 * 3
    heads = frame.drop_duplicates(["layer", "head"]).sort_values(["layer", "head"])
    assert heads["skills"].tolist() == [0, 1, 2, 2, 1, 1]
    assert heads["place"].tolist() == [3, 2, 1, 1, 2, 3]
    rows = frame.set_index(["layer", "head", "role"])["has"]
    assert rows[(1, 3, "sep")]
    assert not rows[(1, 1, "sep")]


def test_the_nine_fine_roles_are_those_of_figure_5():
    syntactic = {"nsubj", "dobj", "amod", "advmod"}
    assert {*FINE} == {"cls", "sep", "block", "previous-local", "next-local"} | syntactic
    assert len(FINE) == 9


def test_shares_by_layer_count_the_heads_of_each():
    tests = made_tests(
        {"cls": {"1-3", "2-1"}, "sep": {"1-3", "1-2"}, "local": {"1-1"}}, untested=("block",)
    )
    frame = layer_shares(tests).set_index("layer")
    assert frame.columns.tolist() == ["cls", "sep", "local", "block", "fine roles per head"]
    assert frame["cls"].tolist() == pytest.approx([1 / 3, 1 / 3])
    assert frame["sep"].tolist() == pytest.approx([2 / 3, 0])
    assert frame["fine roles per head"].tolist() == pytest.approx([3 / 3, 1 / 3])
    expected = ["layer", "local", "fine roles per head"]
    assert layer_shares(tests, ["local", "block"]).columns.tolist() == expected
