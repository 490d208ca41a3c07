"""Syntactic and semantic scores of heads: plain loops, scipy's correlations and bootstraps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.tables.probing import GROUPS, correlation, syntactic_semantic
from stats.made_probing import TEN, TITLES, changed, made_probing

SYNTACTIC = ("tree_depth", "top_constituents", "bigram_shift")
SEMANTIC = ("past_present", "subj_number", "obj_number", "odd_man_out", "coordination_inversion")


def test_a_head_s_two_scores_are_means_over_the_papers_tasks() -> None:
    results = made_probing(2, 3)
    test = results["probe"]["test"]
    frame = syntactic_semantic(results)
    assert list(frame) == ["layer", "head", "syntactic", "semantic"]
    for row in frame.to_dict("records"):
        mine = {
            task: float(test.sel(task=task, layer=row["layer"], head=row["head"])) for task in TEN
        }
        assert row["syntactic"] == pytest.approx(sum(mine[task] for task in SYNTACTIC) / 3)
        assert row["semantic"] == pytest.approx(sum(mine[task] for task in SEMANTIC) / 5)
    assert {group: [TITLES[name][0] for name in GROUPS[group]] for group in GROUPS} == frame.attrs[
        "tasks"
    ]
    assert frame.attrs["missing"] == []


def test_tasks_that_were_not_probed_are_listed_and_a_head_without_a_score_is_nan() -> None:
    def hole(values: Any) -> Any:
        values[1, 0, 2] = np.nan
        return values

    results = changed(
        made_probing(2, 3, ("bigram_shift", "past_present", "subj_number", "mrpc")),
        "probe",
        test=hole,
    )
    frame = syntactic_semantic(results)
    assert frame.attrs["tasks"] == {"syntactic": ["BigramShift"], "semantic": ["Tense", "SubjNum"]}
    assert frame.attrs["missing"] == [
        "tree_depth",
        "top_constituents",
        "obj_number",
        "odd_man_out",
        "coordination_inversion",
    ]
    assert frame[["syntactic", "semantic"]].isna().to_numpy().nonzero() == (2, 1)
    assert correlation(frame, resamples=100)["heads"].tolist() == [5, 5]
    with pytest.raises(ResultsError) as caught:
        syntactic_semantic(made_probing(2, 3, ("tree_depth", "mrpc")))
    assert caught.value.message == (
        "none of the semantic tasks was probed "
        "(past_present, subj_number, obj_number, odd_man_out, coordination_inversion)"
    )
    with pytest.raises(
        ResultsError, match="no head has a score in all of the syntactic and semantic tasks"
    ):
        syntactic_semantic(
            changed(made_probing(2, 3), "probe", test=lambda values: np.full_like(values, np.nan))
        )
    own = syntactic_semantic(
        made_probing(2, 3, ("tree_depth", "mrpc")),
        {"syntactic": ["tree_depth"], "semantic": ["mrpc"]},
    )
    assert own.attrs["tasks"] == {"syntactic": ["Depth"], "semantic": ["MRPC"]}


def points(
    layers: int = 8, heads: int = 10, *, clustered: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """Two related scores per head; ``clustered`` is how much of both is the layer's own."""
    random = np.random.default_rng(seed)
    own = random.normal(size=(layers, heads, 2))
    own[..., 1] += own[..., 0]
    # Rounded, so that there are equal values among them.
    whole = (own + clustered * random.normal(size=(layers, 1, 2))).round(2)
    rows = [
        {
            "layer": layer + 1,
            "head": head + 1,
            "syntactic": whole[layer, head, 0],
            "semantic": whole[layer, head, 1],
        }
        for layer in range(layers)
        for head in range(heads)
    ]
    return pd.DataFrame(rows)


def test_correlations_and_fisher_s_interval_are_those_of_scipy_and_of_the_formula() -> None:
    frame = points()
    table = correlation(frame, resamples=200).set_index("correlation")
    one, other = frame["syntactic"], frame["semantic"]
    assert table["value"]["Pearson"] == pytest.approx(stats.pearsonr(one, other).statistic)
    assert table["value"]["Spearman"] == pytest.approx(stats.spearmanr(one, other).statistic)
    half = stats.norm.ppf(0.975) / np.sqrt(len(frame) - 3)
    centre = np.arctanh(np.corrcoef(one, other)[0, 1])
    assert (table["low"]["Pearson"], table["high"]["Pearson"]) == pytest.approx(
        (np.tanh(centre - half), np.tanh(centre + half))
    )


def test_spearman_s_interval_over_heads_is_that_of_scipy_s_bootstrap() -> None:
    frame = points()
    row = correlation(frame, seed=3).iloc[1]
    found = stats.bootstrap(
        (frame["syntactic"].to_numpy(), frame["semantic"].to_numpy()),
        lambda one, other: np.corrcoef(stats.rankdata(one), stats.rankdata(other))[0, 1],
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert (row["low"], row["high"]) == pytest.approx((found.low, found.high), abs=0.03)


@pytest.mark.parametrize(("place", "seen"), [(0, np.asarray), (1, stats.rankdata)])
def test_the_interval_over_layers_is_that_of_a_loop_that_draws_whole_layers(
    place: int, seen: Any
) -> None:
    frame = points(clustered=1.0)
    row = correlation(frame, seed=3).iloc[place]
    random = np.random.default_rng(11)
    groups = [group[["syntactic", "semantic"]].to_numpy() for _, group in frame.groupby("layer")]
    found = []
    for _ in range(2000):
        drawn = np.concatenate(
            [groups[layer] for layer in random.integers(len(groups), size=len(groups))]
        )
        found.append(np.corrcoef(seen(drawn[:, 0]), seen(drawn[:, 1]))[0, 1])
    assert (row["layer low"], row["layer high"]) == pytest.approx(
        np.quantile(found, [0.025, 0.975]), abs=0.03
    )


def test_where_layers_differ_much_the_interval_over_layers_is_the_wider_one() -> None:
    table = correlation(points(clustered=3.0))
    assert ((table["layer high"] - table["layer low"]) > 1.5 * (table["high"] - table["low"])).all()
    assert correlation(points(), seed=1).equals(correlation(points(), seed=1))
    assert not correlation(points(), seed=1).equals(correlation(points(), seed=2))


def test_correlations_that_are_not_defined_are_nan() -> None:
    single = correlation(points(layers=1), resamples=100)
    assert single[["value", "low", "high"]].notna().all(axis=None)
    # One layer cannot be drawn in different ways.
    assert single[["layer low", "layer high"]].isna().all(axis=None)
    for frame in (points().assign(semantic=0.5), points(layers=1, heads=2)):
        assert (
            correlation(frame, resamples=100)[["value", "low", "high", "layer low", "layer high"]]
            .isna()
            .all(axis=None)
        )


def test_scores_of_saved_results_are_the_same(tmp_path: Path) -> None:
    results = made_probing(2, 3)
    opened = Atlas.open(results.save(tmp_path / "probe.nc"))
    pd.testing.assert_frame_equal(syntactic_semantic(opened), syntactic_semantic(results))
