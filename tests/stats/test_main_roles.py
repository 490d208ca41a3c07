"""Main roles from made-up sums, where it is known which role a head has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.main_roles import main_roles, role_agreement
from stats.made_work import BUCKETS, atlas_of, relations_of


def roles_of(*heads: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    table = main_roles(atlas_of(list(heads), **options))
    return list(zip(table["role"], table["second"], strict=True))


def test_the_largest_excess_is_the_main_role_if_it_is_a_tenth_or_more() -> None:
    assert roles_of(
        {"itself": 0.5, "same": 0.3},
        {"itself": 0.08},
        {"same": 0.13},
        {"same": -0.5},
    ) == [("itself", ""), ("no clear role", ""), ("same", ""), ("no clear role", "")]


def test_a_specific_role_replaces_the_general_one_from_four_fifths_on() -> None:
    assert roles_of(
        {"near": 0.5, "previous": 0.45},
        {"near": 0.5, "previous": 0.35},
        {"near": 0.5, "next": 0.45, "previous": 0.1},
        noise=0.001,
    ) == [("previous", ""), ("near", ""), ("next", "")]


def test_a_second_role_is_named_within_a_tenth() -> None:
    assert roles_of({"itself": 0.5, "same": 0.47}, {"itself": 0.5, "same": 0.42}, noise=0.001) == [
        ("itself", "same"),
        ("itself", ""),
    ]


def test_without_a_role_spread_and_activity_decide() -> None:
    assert roles_of(
        {"spread": 0.9},
        {"spread": 0.8},
        {"spread": 0.9, "activity": 0.04},
        {"same": 0.4, "activity": 0.04},
    ) == [("broad", ""), ("no clear role", ""), ("rests", ""), ("rests", "")]


def test_noise_is_no_role() -> None:
    """An excess of 0.15 on average that comes from a few documents only."""
    assert roles_of({"same": 0.15}, noise=3.0) == [("no clear role", "")]


def test_halves_that_disagree_are_borderline() -> None:
    table = main_roles(
        atlas_of([{"itself": (0.5, 0.1), "same": (0.1, 0.4)}, {"itself": (0.3, 0.5)}], noise=0.001)
    )
    assert table["borderline"].tolist() == [True, False]
    assert table[["first_half", "second_half"]].values.tolist() == [
        ["itself", "same"],
        ["itself", "itself"],
    ]


def test_agreement_counts_the_heads_on_which_the_halves_give_the_same_role() -> None:
    heads = [{"itself": (0.5, 0.1), "same": (0.1, 0.4)}, {"itself": 0.4}, {}, {"same": (0.3, 0.0)}]
    assert role_agreement(atlas_of(heads, noise=0.001)) == (2, 4)


def test_excess_and_interval_are_those_of_a_jackknife_written_out() -> None:
    results = atlas_of([{"same": 0.4}], noise=0.1)
    row = main_roles(results).iloc[0]
    sums = results["work"]["sum"].sel(role="same").isel(layer=0, head=0)
    more = (sums.sel(part="attention") - sums.sel(part="uniform")).values
    left = sums.sel(part="left").values
    whole, terms = more.sum() / left.sum(), []
    for out in range(BUCKETS):
        kept = np.arange(BUCKETS) != out
        share = left.sum() / left[out]
        pseudo = share * whole - (share - 1) * more[kept].sum() / left[kept].sum()
        terms.append((pseudo - whole) ** 2 / (share - 1))
    error = np.sqrt(np.mean(terms))
    assert row["excess"] == pytest.approx(whole)
    assert row["high"] - row["excess"] == pytest.approx(stats.t.ppf(0.975, BUCKETS - 1) * error)
    assert row["p_corrected"] >= stats.t.sf(whole / error, BUCKETS - 1)


def test_a_role_along_arcs_must_beat_the_best_offset() -> None:
    heads = [{"modifier to noun": 0.5, "near": 0.2}] * 2
    assert roles_of(*heads) == [("near", ""), ("near", "")]  # not tested: no such role
    found = roles_of(*heads, relations=relations_of([288, 160]))
    assert found == [("modifier to noun", ""), ("near", "")]


def test_a_missing_measure_is_an_error_that_says_what_to_do() -> None:
    results = atlas_of([{}])
    poor = Atlas.build({"work": results["work"]}, results.provenance)
    with pytest.raises(ResultsError, match="no measure 'activity'") as error:
        main_roles(poor)
    assert "measures=['activity', 'work', 'spread', 'dependency']" in str(error.value.hint)
