"""Scores with heads off: planted gains and drops are found, and corrected over all heads.

Agreement of gradient importance with disabling: the rank correlations of scipy.

Losses with groups of heads disabled, against plain arithmetic and scipy.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headscope.errors import ResultsError, UserError
from headscope.results import Atlas
from headscope.stats.tables.ablation import (
    NAME,
    ablation_scores,
    agreement,
    change_table,
    group_dataset,
    group_table,
    repeated_more,
    scored,
)
from headscope.stats.tables.disabling import disabling_summary
from refusals import refusal
from stats.made_ablation import EXAMPLES, HEADS, LAYERS, made_ablation, planted


def test_planted_gains_and_drops_are_found_and_the_other_heads_are_not():
    data = scored(planted())["head_off"]
    assert data.attrs["baseline"] == pytest.approx(0.75)
    expected = pytest.approx(np.array([[0.75, 0.95, 0.75], [0.75, 0.75, 0.5]]))
    assert data["mean"].values.tolist() == expected
    assert data["difference"].sel(layer=1, head=2).item() == pytest.approx(0.2)
    expected = [[False, True, False], [False, False, True]]
    assert (data["p_corrected"].values < 0.05).tolist() == expected
    assert data["p"].sel(layer=1, head=1).item() == 1.0
    gain = data.sel(layer=1, head=2)
    assert 0 < gain["difference_low"] < 0.2 < gain["difference_high"]
    assert data["n"].values.tolist() == [[60] * 3] * 2


def test_the_table_has_the_largest_gain_first_and_a_gain_in_loss_is_a_fall():
    table = change_table(scored(planted()))
    assert table["head off"].tolist()[0] == "1-2"
    assert table["head off"].tolist()[-1] == "2-3"
    assert table["gain"].tolist() == pytest.approx([0.2, 0, 0, 0, 0, -0.25])
    outputs = np.ones((9, EXAMPLES, 1))
    outputs[3] = 0.5
    outputs[4] = 2.0
    results = made_ablation(outputs, np.zeros(EXAMPLES), metric="loss")
    losses = change_table(scored(results, resamples=200))
    assert losses["head off"].tolist()[0] == "1-3"
    assert losses["gain"].tolist() == pytest.approx([0.5, 0, 0, 0, 0, -1.0])
    assert (losses["low"] <= losses["gain"]).all()
    assert (losses["gain"] <= losses["high"]).all()


def test_layers_and_sets_have_tables_of_their_own():
    results = scored(planted(sets=1), resamples=500)
    assert change_table(results, "layer")["layer off"].tolist() == ["1", "2"]
    assert change_table(results, "layer")["gain"].tolist() == pytest.approx([0.0, -0.25])
    assert change_table(results, "set")["set off"].tolist() == ["1-1,2-1"]


def test_corrections_are_over_all_heads_and_none_leaves_p_unchanged():
    free, holm, bh = (
        scored(planted(), correction=name)["head_off"] for name in ("none", "holm", "bh")
    )
    assert np.array_equal(free["p"].values, free["p_corrected"].values)
    assert float(holm["p_corrected"].min()) == pytest.approx(6 * float(holm["p"].min()))
    assert (bh["p_corrected"] <= holm["p_corrected"]).all()
    assert (bh["p_corrected"] < holm["p_corrected"]).any()
    with pytest.raises(UserError, match="the correction must be one of bh, holm, none"):
        scored(planted(), correction="bonferoni")


def test_a_head_is_placed_by_its_name_and_heads_that_stayed_on_have_no_score():
    raw = planted()["ablation"]
    order = [0, 6, 2, 4]  # the baseline, then 2-3, 1-2 and 2-1
    data = ablation_scores(
        raw.isel(run=order), (range(1, LAYERS + 1), HEADS), seed=0, resamples=200
    )
    assert list(data) == ["head_off"]
    expected = pytest.approx(np.array([[np.nan, 0.95, np.nan], [0.75, np.nan, 0.5]]), nan_ok=True)
    assert data["head_off"]["mean"].values.tolist() == expected
    assert int(data["head_off"]["n"].notnull().sum()) == 3


def test_scores_are_of_the_class_that_was_given_and_keep_what_was_there():
    class Mine(Atlas):
        pass

    results = scored(Mine(planted().tree), resamples=100)
    assert type(results) is Mine
    assert results.measures == ("ablation", "head_off", "layer_off")
    xr.testing.assert_identical(results["ablation"], planted()["ablation"])


def test_scores_survive_save_and_open_and_show_in_the_common_table(tmp_path):
    results = scored(planted(), resamples=300)
    back = Atlas.open(results.save(tmp_path / "off.nc"))
    assert back["head_off"]["p"].equals(results["head_off"]["p"])
    table = back.table("head_off")
    row = table[(table["layer"] == 1) & (table["head"] == 2)]
    assert row["mean"].item() == pytest.approx(0.95)
    assert "head_off" in back.listed
    assert "ablation" not in back.listed


def test_results_without_what_is_asked_for_say_how_to_get_it():
    results = planted()
    error = refusal(ResultsError, change_table, results)
    assert error.message == "these results have no scores with a head off"
    assert error.hint == "disable heads: hs.ablate(model, heads=True)"
    with pytest.raises(UserError, match="the kind must be one of head, layer, set; got 'hed'"):
        change_table(results, "hed")
    empty = Atlas(xr.DataTree.from_dict({"/": xr.Dataset(attrs=results.tree.attrs)}))
    with pytest.raises(ResultsError, match="these results are not of an ablation"):
        scored(empty)


def test_examples_of_one_document_are_drawn_together_by_all_that_resamples():
    """With every example twice, what is said by document is what is said of single examples."""
    random = np.random.default_rng(8)
    outputs, gold = random.normal(size=(9, 40, 2)), random.integers(2, size=40).astype(float)
    importance = random.random((40, 2, 3))
    once = made_ablation(outputs, gold, importance=importance)
    twice, answers = np.repeat(outputs, 2, axis=1), np.repeat(gold, 2)
    groups = [f"d{place // 2}" for place in range(80)]
    weights = np.repeat(importance, 2, axis=0)
    apart = made_ablation(twice, answers, importance=weights, groups=[""] * 80)
    grouped = made_ablation(twice, answers, importance=weights, groups=groups)
    for name in ("mean", "low", "high", "deviation", "difference_low", "difference_high", "p"):
        one, other, wrong = (
            scored(results, resamples=500)["head_off"][name] for results in (once, grouped, apart)
        )
        np.testing.assert_allclose(other, one, atol=1e-9)
        if name == "deviation":
            assert float(wrong.mean()) < 0.8 * float(one.mean())
    expected = agreement(once, resamples=50)[["low", "high"]]
    np.testing.assert_allclose(agreement(grouped, resamples=50)[["low", "high"]], expected)
    first, second = (disabling_summary(results, resamples=99) for results in (once, grouped))
    assert (first.mean_low, first.mean_high) == pytest.approx((second.mean_low, second.mean_high))
    assert first.fitted == pytest.approx(second.fitted)
    assert (second.examples, second.documents) == (80, 40)
    assert scored(grouped, resamples=50)["head_off"].attrs["documents"] == 40


def test_agreement_is_the_rank_correlation_with_drops_and_with_changes_of_loss():
    random = np.random.default_rng(4)
    outputs, gold = random.normal(size=(9, EXAMPLES, 1)), np.zeros(EXAMPLES)
    importance = random.random((EXAMPLES, LAYERS, HEADS))
    results = made_ablation(outputs, gold, metric="loss", importance=importance)
    table = agreement(results, resamples=400)
    rise = outputs[1:7, :, 0].mean(1) - outputs[0, :, 0].mean()
    size = np.abs(outputs[1:7, :, 0] - outputs[0, :, 0]).mean(1)
    flat = importance.mean(0).ravel()
    assert table["Spearman"].tolist() == pytest.approx(
        [stats.spearmanr(flat, rise).statistic, stats.spearmanr(flat, size).statistic]
    )
    assert table["importance against"].tolist() == ["rise in loss", "size of the change in loss"]
    assert (table["low"] < table["high"]).all()
    assert table["heads"].tolist() == [6, 6]


def test_a_drop_in_a_score_counts_as_a_rise_in_a_loss_does():
    outputs = np.tile(-np.arange(9.0)[:, None, None], (1, EXAMPLES, 1))
    importance = np.tile(np.arange(1.0, 7.0).reshape(1, LAYERS, HEADS), (EXAMPLES, 1, 1))
    results = made_ablation(outputs, np.zeros(EXAMPLES), metric="mean", importance=importance)
    table = agreement(results, resamples=50)
    assert table["Spearman"].tolist() == pytest.approx([1.0, 1.0])
    assert table["importance against"][0] == "drop in mean"


def test_importance_that_orders_heads_as_disabling_does_agrees_wholly():
    outputs = np.tile(np.arange(9.0)[:, None, None], (1, EXAMPLES, 1))
    importance = np.tile(np.arange(1.0, 7.0).reshape(1, LAYERS, HEADS), (EXAMPLES, 1, 1))
    results = made_ablation(outputs, np.zeros(EXAMPLES), metric="loss", importance=importance)
    table = agreement(results, resamples=50)
    assert table[["Spearman", "low", "high"]].to_numpy() == pytest.approx(np.ones((2, 3)))


def test_results_without_importance_say_how_to_get_it():
    error = refusal(ResultsError, agreement, planted())
    assert error.message == "these results have no gradient importance"
    assert error.hint == "ask for it: hs.ablate(model, importance=True)"


PASSAGES, DRAWS = 6, 4


def dataset(losses: np.ndarray, documents: list[str]) -> xr.Dataset:
    names = {"mine": "1-1,1-2", "yours": "2-1"}
    return group_dataset(losses, names, draws=DRAWS, documents=documents)


def jackknifed(low: float, high: float) -> tuple[float, float]:
    """The interval with the jackknife's error, the usual one times √(n / (n - 1))."""
    middle, half = (low + high) / 2, (high - low) / 2 * np.sqrt(PASSAGES / (PASSAGES - 1))
    return middle - half, middle + half


@pytest.fixture(scope="module")
def losses():
    generator = np.random.default_rng(3)
    found = generator.normal(2.0, 0.3, (1 + 2 * (DRAWS + 1), PASSAGES, 2))
    found[1, :, 1] += 3.0  # the first group hurts the second copy
    return found


@pytest.fixture(scope="module")
def results(losses):
    data = dataset(losses, [""] * PASSAGES)
    return Atlas.build({NAME: data}, {"model": {"name": "made"}})


def test_the_rise_has_the_t_interval_of_its_passages(losses, results):
    table = group_table(results).set_index(["group", "text"])
    for group, first in (("mine", 1), ("yours", 2 + DRAWS)):
        for copy, text in enumerate(("new", "repeated")):
            rises = losses[first, :, copy] - losses[0, :, copy]
            low, high = stats.ttest_1samp(rises, 0).confidence_interval(0.95)
            row = table.loc[(group, text)]
            np.testing.assert_allclose(
                [row["rise"], row["low"], row["high"]], [rises.mean(), *jackknifed(low, high)]
            )


def test_passages_of_one_document_count_once(losses):
    once = dataset(losses, [""] * PASSAGES)
    twice = dataset(np.repeat(losses, 2, axis=1), [f"d{place // 2}" for place in range(12)])
    for name in ("mean", "low", "high", "deviation", "more_low", "more_high"):
        np.testing.assert_allclose(twice[name], once[name])


def test_draws_and_p_are_counted(losses, results):
    table = group_table(results).set_index(["group", "text"])
    drawn = [(losses[place, :, 0] - losses[0, :, 0]).mean() for place in range(2, 2 + DRAWS)]
    row = table.loc[("mine", "new")]
    np.testing.assert_allclose([row["others"], row["most"]], [np.mean(drawn), max(drawn)])
    assert row["p"] == (1 + sum(one >= row["rise"] for one in drawn)) / (1 + DRAWS)
    assert table.loc[("mine", "repeated"), "p"] == 1 / (1 + DRAWS)


def test_repeated_and_new_text_are_compared_by_passage(losses, results):
    row = repeated_more(results).set_index("group").loc["mine"]
    rises = losses[1] - losses[0]
    test = stats.ttest_rel(rises[:, 1], rises[:, 0])
    low, high = test.confidence_interval(0.95)
    np.testing.assert_allclose([row["low"], row["high"]], jackknifed(low, high))


def test_other_results_are_refused():
    with pytest.raises(UserError, match="not of disabled groups of heads"):
        group_table(Atlas.build({}, {"model": {"name": "made"}}))
