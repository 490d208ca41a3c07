"""Tables of probes: every number against a plain loop, choices by validation only.

Means over repeated splits and their intervals, computed by hand and with scipy.

Heads above the majority class, counted with scipy's exact test and plain corrections.

Syntactic and semantic scores of heads: plain loops, scipy's correlations and bootstraps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.stats import binomtest, false_discovery_control

from headscope.errors import ResultsError, UserError
from headscope.page.probing import probe_section
from headscope.results import Atlas
from headscope.stats.tables.probing import (
    GROUPS,
    better_heads,
    correlation,
    head_table,
    median_gain,
    probing_remarks,
    small_test_text,
    small_tests,
    split_interval,
    split_table,
    split_text,
    syntactic_semantic,
    top_table,
)
from refusals import refusal
from stats.made_probing import HALF, TEN, TITLES, changed, made_probing
from stats.references import holm


def test_the_table_has_the_scores_of_layers_and_chosen_heads_in_percent():
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
            wanted = pytest.approx((100 * score, 100 * (score - HALF), 100 * (score + HALF)))
            assert (row[name], row[f"{name} low"], row[f"{name} high"]) == wanted
            if name != "last":
                assert row[f"{name} gain"] == pytest.approx(100 * (score - states[-1]) / states[-1])


def test_the_best_layer_is_chosen_by_validation_and_never_by_test():
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
    expected = pytest.approx([100 * (0.5 / 0.6 - 1), 100 * (0.1 / 0.3 - 1)])
    assert table["best gain"].tolist() == expected


def test_any_number_of_heads_can_be_asked_for_that_was_probed():
    results = made_probing(3, 4, TEN[:2])
    place = results["probe_top"]["n"].values.tolist().index(12)
    expected = pytest.approx((100 * results["probe_top"]["test"].values[:, 1, place]).tolist())
    assert top_table(results, n=12)["greedy"].tolist() == expected
    message = "the number of heads must be one of 1, 2, 4, 6, 8, 12, got 5 instead"
    assert refusal(UserError, top_table, results, n=5).message == message


def test_what_was_not_probed_is_missing_and_so_is_a_gain_over_a_negative_score():
    results = made_probing(3, 4, ("mrpc", "sts-b"))

    def unknown(values):
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


def test_published_numbers_are_shown_with_their_gains():
    table = top_table(
        made_probing(3, 4, TEN[:3]),
        {"sentence_length": (58.0, 87.8, 95.0), "tree_depth": (29.8, 31.7, None)},
    )
    assert table["paper: last"].tolist() == pytest.approx([58.0, np.nan, 29.8], nan_ok=True)
    assert table["paper: top"].tolist() == pytest.approx([95.0, np.nan, np.nan], nan_ok=True)
    expected = pytest.approx([51, np.nan, 6], nan_ok=True)
    assert table["paper: best gain"].round(0).tolist() == expected
    expected = pytest.approx([64, np.nan, np.nan], nan_ok=True)
    assert table["paper: top gain"].round(0).tolist() == expected
    assert not any(column.startswith("paper") for column in top_table(made_probing(3, 4, TEN[:3])))


def test_the_median_gain_is_over_all_tasks_of_all_models():
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


def test_the_best_heads_are_sorted_by_validation_and_selectivity_is_test_minus_control():
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
    expected = pytest.approx([test[place] - control[place] for place in order])
    assert table["selectivity"].tolist() == expected
    assert (table["high"] - table["low"]).tolist() == pytest.approx([2 * HALF] * 6)
    expected = ["head", "test", "low", "high", "control", "selectivity", "validation", "l2"]
    assert list(table) == expected
    assert len(head_table(results, "tree_depth", count=4)) == 4
    assert head_table(made_probing(2, 3, control=False), "tree_depth")["selectivity"].isna().all()
    with pytest.raises(UserError, match="Did you mean 'tree_depth'"):
        head_table(results, "tree-depth")


@pytest.mark.parametrize(
    ("group", "what"),
    [("probe", "heads"), ("probe_layer", "layers"), ("probe_top", "concatenated heads")],
)
def test_results_without_probes_are_refused_with_what_to_type(group, what):
    parts = [name for name in ("probe", "probe_layer", "probe_top") if name != group]
    error = refusal(ResultsError, top_table, made_probing(2, 3, parts=parts))
    assert error.message == f"these results have no probes of {what}"
    assert error.hint == "make some with hs.probe(model, tasks)"


def test_remarks_name_heads_with_constant_dimensions_and_count_unsolved_classifiers():
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


def test_a_remark_says_that_greedy_selection_tries_a_shortlist():
    results = made_probing(2, 3, TEN[:1])
    results.tree["probe_top"].attrs["shortlist"] = 4
    (said,) = probing_remarks(results)
    assert said.startswith("Greedy selection does not try every head")
    assert "each of the 4 most promising ones" in said
    greedy = results.tree["probe_top"]["test"].sel(way="greedy")
    greedy.values[:] = np.nan  # selection was skipped
    assert probing_remarks(results) == []


EACH = np.array(
    [
        [[0.5, 0.6, 0.7], [0.6, 0.6, 0.6], [0.9, 0.8, 1.0]],
        [[0.2, 0.4, 0.3], [0.3, 0.5, 0.2], [0.3, 0.4, 0.2]],
    ]
)
"""Scores by task, way (last, best, top) and split."""


def repeated(names: tuple[str, str] = ("past_present", "tree_depth")) -> Atlas:
    plain = made_probing(2, 3, names)
    facts = {"title": ["Tense", "Depth"], "classes": [2, 8], "train": [80, 80]}
    data = xr.Dataset(
        {
            "each": (("task", "way", "split"), EACH),
            "rank": (("task", "split", "place"), np.full((2, 3, 2), "1-1")),
            **{name: ("task", values) for name, values in facts.items()},
            "test_size": ("task", [20, 20]),
        },
        {"task": list(names), "way": ["last", "best", "top"]},
        {"kind": "probe", "listed": "no"},
    )
    groups = {name: plain[name] for name in plain} | {"probe_splits_top": data}
    return Atlas.build(groups, plain.provenance)


def test_the_interval_is_a_t_interval_whose_variance_counts_shared_sentences():
    scores = np.random.default_rng(0).normal(0.7, 0.1, 8)
    plain = stats.t.interval(0.95, 7, scores.mean(), stats.sem(scores))
    mean, low, high = split_interval(scores, train=10**12, test=1)
    assert (low, high) == pytest.approx(plain)  # hardly any test sentences: the usual interval
    mean, low, high = split_interval(scores, train=80, test=20)
    wider = np.sqrt((1 / 8 + 20 / 80) / (1 / 8))
    assert mean == pytest.approx(scores.mean())
    assert (high - low) / (plain[1] - plain[0]) == pytest.approx(wider)
    assert np.isnan(split_interval(scores[:1], 80, 20)[1])


def test_a_row_has_means_and_differences_that_are_paired_by_split():
    tense = split_table(repeated()).iloc[0]
    assert (tense["task"], tense["splits"], tense["test size"], tense["n"]) == ("Tense", 3, 20, 2)
    assert tense[["last", "best", "top"]].tolist() == pytest.approx([60, 60, 90])
    half = stats.t.ppf(0.975, 2) * 10 * np.sqrt(1 / 3 + 20 / 80)
    assert tense["last low"] == pytest.approx(60 - half)
    assert tense["top high"] == 100  # no accuracy is above it
    assert (tense["best low"], tense["best high"]) == pytest.approx((60, 60))
    difference = np.array([40.0, 20.0, 30.0])  # top minus last, split by split
    half = stats.t.ppf(0.975, 2) * difference.std(ddof=1) * np.sqrt(1 / 3 + 20 / 80)
    assert tense["top - last"] == pytest.approx(30)
    assert tense["top - last low"] == pytest.approx(30 - half)


def test_the_note_names_tasks_whose_target_words_are_no_longer_kept_apart():
    text = split_text(repeated())
    assert text.startswith("Means over 3 splits: all sentences of a task are divided again")
    assert "In the new splits of Tense, a target word may be in training" in text
    assert "target word" not in split_text(repeated(("word_content", "tree_depth")))
    assert split_text(made_probing(2, 3)) == ""


def test_results_without_repeated_splits_say_how_to_get_them():
    with pytest.raises(ResultsError, match="these results have no repeated splits") as error:
        split_table(made_probing(2, 3))
    assert "repeats=5" in error.value.hint


def test_the_page_has_a_table_of_repeated_splits_where_there_are_any():
    titles = [table.title for table in probe_section(made_probing(2, 3)).tables]
    assert titles == ["Layers and top heads", "Best heads"]
    tables = probe_section(repeated()).tables
    assert [table.title for table in tables] == [titles[0], "Repeated splits", titles[1]]
    row = tables[1].rows[0]
    assert (row["best layer"], row["test sentences"]) == ("60.0 (60–60)", 20)
    assert row["top − last, points"] == "+30.0 (-2.9 to +62.9)"


def test_heads_are_counted_as_scipy_and_the_definition_count_them():
    random = np.random.default_rng(0)
    right = random.binomial(200, 0.53, (2, 6, 12))
    right[0, 0] = 130
    options = {"test": lambda _: right / 200, "test_size": lambda _: np.full(2, 200.0)}
    results = changed(made_probing(6, 12, ("past_present", "subj_number")), "probe", **options)
    frame = better_heads(results)
    for place, row in enumerate(frame.to_dict("records")):
        p = [
            binomtest(int(count), 200, 0.5, alternative="greater").pvalue
            for count in right[place].ravel()
        ]
        assert row["uncorrected"] == sum(value < 0.05 for value in p)
        assert row["holm"] == sum(value < 0.05 for value in holm(p))
        assert row["bh"] == (false_discovery_control(p) < 0.05).sum()
        assert (row["heads"], row["test size"]) == (72, 200)
    assert frame["holm"][0] >= 12
    assert frame["uncorrected"][1] > frame["holm"][1]


def test_tasks_without_a_majority_are_left_out_and_heads_without_a_score_do_not_count():
    def hole(values):
        values[0, 0, 0] = np.nan
        return values

    results = changed(made_probing(2, 3, ("past_present", "sts-b")), "probe", test=hole)
    frame = better_heads(results)
    assert frame[["task", "heads"]].to_numpy().tolist() == [["Tense", 5]]


def test_tests_with_fewer_than_a_hundred_examples_are_small():
    results = changed(
        made_probing(2, 3, ("past_present", "subj_number")),
        "probe",
        test_size=lambda _: np.array([99.0, 100.0]),
    )
    assert small_tests(results) == {"Tense": 99}


def test_a_warning_names_the_small_tests():
    assert small_test_text({"Tense": 48, "Depth": 5}) == (
        "Small tests: Tense (48 sentences), Depth (5). A gain of a few points there is one or two "
        "sentences."
    )
    assert small_test_text({}) == ""


SYNTACTIC = ("tree_depth", "top_constituents", "bigram_shift")
SEMANTIC = ("past_present", "subj_number", "obj_number", "odd_man_out", "coordination_inversion")


def test_a_head_s_two_scores_are_means_over_the_papers_tasks():
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
    expected = frame.attrs["tasks"]
    assert {group: [TITLES[name][0] for name in GROUPS[group]] for group in GROUPS} == expected
    assert frame.attrs["missing"] == []


def test_tasks_that_were_not_probed_are_listed_and_a_head_without_a_score_is_nan():
    def hole(values):
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
        *("tree_depth", "top_constituents", "obj_number"),
        *("odd_man_out", "coordination_inversion"),
    ]
    assert frame[["syntactic", "semantic"]].isna().to_numpy().nonzero() == (2, 1)
    assert correlation(frame, resamples=100)["heads"].tolist() == [5, 5]
    assert refusal(
        ResultsError, syntactic_semantic, made_probing(2, 3, ("tree_depth", "mrpc"))
    ).message == (
        "none of the semantic tasks was probed "
        "(past_present, subj_number, obj_number, odd_man_out, coordination_inversion)"
    )
    message = "no head has a score in all of the syntactic and semantic tasks"
    with pytest.raises(ResultsError, match=message):
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


def test_correlations_and_fisher_s_interval_are_those_of_scipy_and_of_the_formula():
    frame = points()
    table = correlation(frame, resamples=200).set_index("correlation")
    one, other = frame["syntactic"], frame["semantic"]
    assert table["value"]["Pearson"] == pytest.approx(stats.pearsonr(one, other).statistic)
    assert table["value"]["Spearman"] == pytest.approx(stats.spearmanr(one, other).statistic)
    half = stats.norm.ppf(0.975) / np.sqrt(len(frame) - 3)
    centre = np.arctanh(np.corrcoef(one, other)[0, 1])
    expected = pytest.approx((np.tanh(centre - half), np.tanh(centre + half)))
    assert (table["low"]["Pearson"], table["high"]["Pearson"]) == expected


def test_spearman_s_interval_over_heads_is_that_of_scipy_s_bootstrap():
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
def test_the_interval_over_layers_is_that_of_a_loop_that_draws_whole_layers(place, seen):
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
    expected = pytest.approx(np.quantile(found, [0.025, 0.975]), abs=0.03)
    assert (row["layer low"], row["layer high"]) == expected


def test_correlations_that_are_not_defined_are_nan():
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
