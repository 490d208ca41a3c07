"""Main roles from made-up sums, where it is known which role a head has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.heads.main_roles import MainRoles, main_roles, role_stability
from headscope.stats.heads.thresholds import threshold_table
from stats.made_work import BUCKETS, ROLES, atlas_of, relations_of


def roles_of(*heads: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    table = main_roles(atlas_of(list(heads), **options))
    return list(zip(table["role"], table["second"], strict=True))


def test_a_role_counts_from_a_tenth_on_by_the_lower_end_of_its_interval():
    expected = [("itself", ""), ("no clear role", ""), ("same", ""), ("no clear role", "")]
    assert roles_of({"itself": 0.5}, {"itself": 0.08}, {"same": 0.13}, {"same": -0.5}) == expected
    wide = main_roles(atlas_of([{"same": (0.22, 0.04)}])).iloc[0]  # 0.13 ± 0.04
    assert (wide["role"], wide["family"]) == ("no clear role", "no clear role")


def test_the_most_specific_role_with_half_of_the_largest_excess_names_the_head():
    """Many heads look near and do something more specific there."""
    assert roles_of(
        {"near": 0.5, "previous": 0.3},
        {"near": 0.5, "previous": 0.2},
        {"near": 0.5, "same": 0.3},
        {"near": 0.5, "next": 0.45, "previous": 0.3},
        {"itself": 0.5, "same": 0.3, "previous": 0.5},
        {"itself": 0.5, "near": 0.49},
        noise=0.001,
    ) == [
        ("previous", ""),  # near contains it
        ("near", ""),
        ("same", "near"),
        ("next", ""),
        ("same", "previous"),
        ("itself", "near"),
    ]


def test_the_general_role_or_one_that_is_close_is_named_second():
    assert roles_of(
        {"itself": 0.5, "same": 0.47},
        {"itself": 0.5, "near": 0.46},
        {"itself": 0.5, "near": 0.42},
        noise=0.001,
    ) == [("same", "itself"), ("itself", "near"), ("itself", "")]


def test_without_a_role_spread_and_activity_decide():
    assert roles_of(
        {"spread": 0.9},
        {"spread": 0.8},
        {"spread": 0.9, "activity": 0.04},
        {"same": 0.4, "activity": 0.04},
    ) == [("broad", ""), ("no clear role", ""), ("rests", ""), ("rests", "")]


def test_noise_is_no_role():
    """An excess of 0.15 on average that comes from a few documents only."""
    assert roles_of({"same": 0.15}, noise=3.0) == [("no clear role", "")]


def test_a_head_whose_role_hangs_on_some_documents_is_borderline():
    heads = [{"same": (0.66, 0.0), "itself": (0.6, 0.6)}, {"itself": 0.5}, {}]
    table = main_roles(atlas_of(heads, noise=0.001))
    assert table["role"].tolist() == ["same", "itself", "no clear role"]
    unsure, sure, none = table.to_dict("records")
    assert 0.3 < unsure["stability"] < 0.8
    assert unsure["instead"] == "itself"
    assert unsure["borderline"]
    assert (sure["stability"], sure["instead"], sure["borderline"]) == (1.0, "", False)
    assert (none["stability"], none["borderline"]) == (1.0, False)


def test_stability_counts_heads_with_a_role_only():
    heads = [{"same": (0.66, 0.0), "itself": (0.6, 0.6)}, {"itself": 0.4}, {}, {"same": 0.3}]
    assert role_stability(atlas_of(heads, noise=0.001)) == (2, 3)


def test_stability_is_that_of_a_plain_loop_over_resamples():
    """Each resample is analysed as if it were a corpus, by the table of roles itself."""
    heads = [{"same": 0.13, "near": 0.3}, {"itself": 0.14}, {"near": 0.4, "previous": 0.2}]
    results = atlas_of(heads, noise=0.12)
    table = main_roles(results)
    random = np.random.default_rng(3)
    draws = 120
    times = dict.fromkeys(range(3), 0)
    for _ in range(draws):
        drawn = random.integers(BUCKETS, size=BUCKETS)
        groups = {name: results[name].isel(bucket=drawn) for name in results}
        sums = {name: data[["sum", "square", "count"]] for name, data in groups.items()}
        for name, data in sums.items():
            data["bucket"] = range(BUCKETS)
            sums[name] = data.assign_attrs(results[name].attrs)
        again = MainRoles.of(Atlas.build(sums, results.provenance)).whole.roles()
        for head, role in enumerate(again):
            times[head] += role == table["role"][head]
    for head, share in enumerate(table["stability"]):
        assert times[head] / draws == pytest.approx(share, abs=0.13)
    assert table["stability"].min() < 0.95


def test_excess_and_interval_are_those_of_a_jackknife_written_out():
    results = atlas_of([{"same": 0.4}], noise=0.1)
    row = main_roles(results).iloc[0]
    sums = results["work"]["sum"].sel(role="same").isel(layer=0, head=0)
    more = (sums.sel(part="attention") - sums.sel(part="uniform")).values
    left = sums.sel(part="left").values
    whole, moved = more.sum() / left.sum(), []
    for out in range(BUCKETS):
        kept = np.arange(BUCKETS) != out
        moved.append(more[kept].sum() / left[kept].sum() - whole)
    error = np.sqrt(np.sum(np.square(moved)))
    degrees = left.sum() ** 2 / np.sum(left**2) - 1
    assert row["excess"] == pytest.approx(whole)
    assert row["high"] - row["excess"] == pytest.approx(stats.t.ppf(0.975, degrees) * error)
    expected = pytest.approx(len(ROLES) * stats.t.sf(whole / error, degrees), rel=1e-6)
    assert row["p_corrected"] == expected


def retrieval_of(*scores: float) -> xr.Dataset:
    """Scores of one layer, each with a standard error of 0.05."""
    mean = np.array([scores])
    cells = {
        "mean": mean,
        "low": mean - 0.1,
        "high": mean + 0.1,
        "error": np.full(mean.shape, 0.05),
    }
    return xr.Dataset(
        {name: (("layer", "head"), values) for name, values in cells.items()}
        | {"needle": ("prompt", range(1, 25))},
        {"layer": [1], "head": list(range(1, len(scores) + 1))},
        {"kind": "mean"},
    )


def test_retrieval_counts_as_a_role_where_results_hold_it():
    heads, more = (
        [{"near": 0.4, "activity": 0.01}, {"near": 0.4}],
        {"retrieval": retrieval_of(0.6, 0)},
    )
    assert roles_of(*heads, more=more) == [("retrieval", ""), ("near", "")]
    assert roles_of(*heads) == [("rests", ""), ("near", "")]


def test_retrieval_does_not_make_one_document_enough_to_say_that_roles_are_stable():
    made = atlas_of([{"near": 0.4}])
    groups = {
        name: data[["sum", "square", "count"]]
        .where(data["bucket"] == 3, 0)
        .assign_attrs(data.attrs)
        for name, data in ((name, made[name]) for name in made)
    }
    results = Atlas.build({**groups, "retrieval": retrieval_of(0.6)}, made.provenance)
    row = main_roles(results).iloc[0]
    assert row["role"] == "retrieval"
    assert np.isnan(row["stability"])
    assert role_stability(results) == (0, 0)


def test_a_head_that_looks_more_at_the_same_word_is_not_one_for_antecedents():
    roles = ("near", "same", "antecedent")
    right = np.full((BUCKETS, 1, 2, 1, 1, 4), 8.0)  # both heads find 8 of 10, the rules 2
    sums, counts = right * 1.0, np.full(right.shape, 2.0)
    counts[..., 0] = 10.0
    sums[..., 1:] = 1.0
    dims = ("bucket", "layer", "head", "candidates", "kind", "mentions")
    mentions = ["every", "nearest right", "same head word right", "rules right"]
    labels = {"candidates": ["mentions"], "kind": ["all"], "mentions": mentions}
    coreference = xr.Dataset(
        {"sum": (dims, sums), "square": (dims, sums), "count": (dims, counts.astype(int))},
        {"layer": [1], "head": [1, 2], **labels},
        {"kind": "share"},
    )
    heads = [{"antecedent": 0.4, "same": 0.3}, {"antecedent": 0.3, "same": 0.4}]
    options: dict[str, Any] = {"roles": roles, "noise": 0.001}
    expected = [("antecedent", ""), ("same", "")]
    assert roles_of(*heads, more={"coreference": coreference}, **options) == expected
    assert roles_of(*heads, **options) == [("same", ""), ("same", "")]


def test_the_report_of_thresholds_counts_the_heads_that_change():
    heads = [{"same": 0.1}, {"near": 0.5, "previous": 0.28}, {"itself": 0.5}, {"spread": 0.8}]
    table = threshold_table(atlas_of(heads, noise=0.001)).set_index("threshold")
    assert table.loc["least", ["at -20 %", "at +20 %"]].tolist() == [1, 0]  # 0.1 is just missed
    assert table.loc["specific", ["at -20 %", "at +20 %"]].tolist() == [0, 1]
    assert table.loc["broad", "at -20 %"] == 1
    assert table.loc["copies"].isna()[["at -20 %", "at +20 %"]].all()
    assert set(threshold_table()["threshold"]) == set(table.index)
    assert table["source"].str.len().gt(0).all()


def test_a_role_along_arcs_must_beat_the_best_offset():
    heads = [{"modifier to noun": 0.5, "near": 0.2}] * 2
    assert roles_of(*heads) == [("near", ""), ("near", "")]  # not tested: no such role
    found = roles_of(*heads, relations=relations_of([288, 160]))
    assert found == [("modifier to noun", ""), ("near", "")]
    heads = [{"modifier to noun": 0.2, "near": 0.35}]  # the general role is named second
    assert roles_of(*heads, relations=relations_of([288])) == [("modifier to noun", "near")]


def test_a_missing_measure_is_an_error_that_says_what_to_do():
    results = atlas_of([{}])
    poor = Atlas.build({"work": results["work"]}, results.provenance)
    with pytest.raises(ResultsError, match="no measure 'activity'") as error:
        main_roles(poor)
    assert "measures=['activity', 'work', 'spread', 'dependency']" in str(error.value.hint)
