"""Tables of probes: every number against a plain loop, choices by validation only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headscope.errors import ResultsError, UserError
from headscope.results import Atlas
from headscope.stats.tables.probing import head_table, median_gain, probing_remarks, top_table
from stats.made_probing import HALF, TEN, TITLES, changed, made_probing


def test_the_table_has_the_scores_of_layers_and_chosen_heads_in_percent() -> None:
    results = made_probing(layers=3, heads=4)
    heads, layers, top = (results[name] for name in ("probe", "probe_layer", "probe_top"))
    table = top_table(results)
    assert table["task"].tolist() == [TITLES[task][0] for task in TEN]
    assert set(table["n"]) == {4}
    for place in range(len(TEN)):
        row: Any = table.iloc[place]
        states = layers["test"].values[place]
        best = max(range(3), key=lambda layer: layers["validation"].values[place, layer])
        size = top["n"].values.tolist().index(4)
        expected = {
            "last": states[-1],
            "best": states[best],
            "top": top["test"].values[place, 0, size],
            "greedy": top["test"].values[place, 1, size],
        }
        assert row["best layer"] == best + 1
        assert row["majority"] == pytest.approx(100 * heads["majority"].values[place])
        for name, score in expected.items():
            assert (row[name], row[f"{name} low"], row[f"{name} high"]) == pytest.approx(
                (100 * score, 100 * (score - HALF), 100 * (score + HALF))
            )
            if name != "last":
                assert row[f"{name} gain"] == pytest.approx(100 * (score - states[-1]) / states[-1])


def test_the_best_layer_is_chosen_by_validation_and_never_by_test() -> None:
    results = changed(
        made_probing(3, 4, TEN[:2]), "probe_layer", validation=np.array, test=np.array
    )
    results = changed(
        results,
        "probe_layer",
        test=lambda _: np.array([[0.9, 0.5, 0.6], [0.1, 0.2, 0.3]]),
        validation=lambda _: np.array([[0.1, 0.8, 0.8], [0.7, np.nan, 0.2]]),
    )
    table = top_table(results)
    # Of equally good layers the lowest; one without a score is passed over.
    assert table["best layer"].tolist() == [2, 1]
    assert table["best"].tolist() == pytest.approx([50, 10])
    assert table["best gain"].tolist() == pytest.approx(
        [100 * (0.5 / 0.6 - 1), 100 * (0.1 / 0.3 - 1)]
    )


def test_any_number_of_heads_can_be_asked_for_that_was_probed() -> None:
    results = made_probing(3, 4, TEN[:2])
    place = results["probe_top"]["n"].values.tolist().index(12)
    assert top_table(results, n=12)["greedy"].tolist() == pytest.approx(
        (100 * results["probe_top"]["test"].values[:, 1, place]).tolist()
    )
    with pytest.raises(UserError) as caught:
        top_table(results, n=5)
    assert (
        caught.value.message
        == "the number of heads must be one of 1, 2, 4, 6, 8, 12, got 5 instead"
    )


def test_what_was_not_probed_is_missing_and_so_is_a_gain_over_a_negative_score() -> None:
    results = made_probing(3, 4, ("mrpc", "sts-b"))

    def unknown(values: Any) -> Any:
        values[:, 1] = np.nan  # greedy
        return values

    results = changed(results, "probe_top", test=unknown, low=unknown, high=unknown)
    results = changed(
        results,
        "probe_layer",
        test=lambda values: np.where(np.arange(3) == 2, -0.1, values),
        validation=lambda values: np.full_like(values, np.nan),
    )
    table = top_table(results)
    assert table["metric"].tolist() == ["accuracy", "pearson"]
    assert np.isnan(table["majority"][1])
    assert table["last"].tolist() == pytest.approx([-10, -10])
    assert table["best layer"].isna().all()
    assert (
        table[["best", "best low", "greedy", "greedy low", "greedy gain", "top gain", "best gain"]]
        .isna()
        .all(axis=None)
    )
    assert table["top"].notna().all()
    assert np.isnan(median_gain(table))


def test_published_numbers_are_shown_with_their_gains() -> None:
    table = top_table(
        made_probing(3, 4, TEN[:3]),
        {"sentence_length": (58.0, 87.8, 95.0), "tree_depth": (29.8, 31.7, None)},
    )
    assert table["paper: last"].tolist() == pytest.approx([58.0, np.nan, 29.8], nan_ok=True)
    assert table["paper: top"].tolist() == pytest.approx([95.0, np.nan, np.nan], nan_ok=True)
    assert table["paper: best gain"].round(0).tolist() == pytest.approx(
        [51, np.nan, 6], nan_ok=True
    )
    assert table["paper: top gain"].round(0).tolist() == pytest.approx(
        [64, np.nan, np.nan], nan_ok=True
    )
    assert not any(column.startswith("paper") for column in top_table(made_probing(3, 4, TEN[:3])))


def test_the_median_gain_is_over_all_tasks_of_all_models() -> None:
    both = pd.concat([top_table(made_probing(3, 4, seed=seed)) for seed in (1, 2)])
    gains = sorted(
        (row["greedy"] - row["last"]) / row["last"] * 100 for row in both.to_dict("records")
    )
    assert median_gain(both, way="greedy", over="last") == pytest.approx((gains[9] + gains[10]) / 2)
    ours = sorted((row["top"] - row["best"]) / row["best"] * 100 for row in both.to_dict("records"))
    assert median_gain(both) == pytest.approx((ours[9] + ours[10]) / 2)
    with pytest.raises(UserError, match="the way must be one of greedy, top; got 'best' instead"):
        median_gain(both, way="best")
    with pytest.raises(UserError, match="the baseline must be one of best, last"):
        median_gain(both, over="first")


def test_the_best_heads_are_sorted_by_validation_and_selectivity_is_test_minus_control() -> None:
    results = made_probing(2, 3)
    test, control, validation = (
        results["probe"][name].values[2] for name in ("test", "control", "validation")
    )
    order = sorted(
        ((layer, head) for layer in range(2) for head in range(3)),
        key=lambda place: -validation[place],
    )
    table = head_table(results, "tree_depth", count=None)
    assert table["head"].tolist() == [f"{layer + 1}-{head + 1}" for layer, head in order]
    assert table["test"].tolist() == pytest.approx([test[place] for place in order])
    assert table["selectivity"].tolist() == pytest.approx(
        [test[place] - control[place] for place in order]
    )
    assert (table["high"] - table["low"]).tolist() == pytest.approx([2 * HALF] * 6)
    assert list(table) == [
        "head",
        "test",
        "low",
        "high",
        "control",
        "selectivity",
        "validation",
        "l2",
    ]
    assert len(head_table(results, "tree_depth", count=4)) == 4
    assert head_table(made_probing(2, 3, control=False), "tree_depth")["selectivity"].isna().all()
    with pytest.raises(UserError, match="Did you mean 'tree_depth'"):
        head_table(results, "tree-depth")


@pytest.mark.parametrize(
    ("group", "what"),
    [("probe", "heads"), ("probe_layer", "layers"), ("probe_top", "concatenated heads")],
)
def test_results_without_probes_are_refused_with_what_to_type(group: str, what: str) -> None:
    parts = [name for name in ("probe", "probe_layer", "probe_top") if name != group]
    with pytest.raises(ResultsError) as caught:
        top_table(made_probing(2, 3, parts=parts))
    assert caught.value.message == f"these results have no probes of {what}"
    assert caught.value.hint == "make some with hs.probe(model, tasks)"


def test_tables_of_saved_results_are_the_same(tmp_path: Path) -> None:
    results = made_probing(2, 3)
    opened = Atlas.open(results.save(tmp_path / "probe.nc"))
    pd.testing.assert_frame_equal(top_table(opened), top_table(results))
    pd.testing.assert_frame_equal(
        head_table(opened, "bigram_shift"), head_table(results, "bigram_shift")
    )


def test_remarks_name_heads_with_constant_dimensions_and_count_unsolved_classifiers() -> None:
    results = made_probing(2, 6, TEN[:2])
    constant = np.zeros((2, 2, 6))
    constant[0] = 3
    constant[1, 1, 4] = 2
    results = changed(
        results,
        "probe",
        constant=(("task", "layer", "head"), constant),
        unsolved=(("task",), np.array([0, 1])),
    )
    heads = ", ".join(f"{head} (3)" for head in ("1-1", "1-2", "1-3", "1-4", "1-5", "1-6"))
    told = "some dimensions of these heads never change in training and carry no information"
    assert probing_remarks(results) == [
        f"Length: {told} (how many): {heads}, 2-1 (3), 2-2 (3) and 4 more.",
        f"WordContent: {told} (how many): 2-5 (2).",
        "WordContent: 1 classifier had not quite reached the optimum after the last step.",
    ]
    assert probing_remarks(made_probing(2, 3)) == []


def test_a_remark_says_that_greedy_selection_tries_a_shortlist() -> None:
    results = made_probing(2, 3, TEN[:1])
    results.tree["probe_top"].attrs["shortlist"] = 4
    (said,) = probing_remarks(results)
    assert said.startswith("Greedy selection does not try every head")
    assert "each of the 4 most promising ones" in said
    greedy = results.tree["probe_top"]["test"].sel(way="greedy")
    greedy.values[:] = np.nan  # selection was skipped
    assert probing_remarks(results) == []
