"""Scores with heads off: planted gains and drops are found, and corrected over all heads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headscope.errors import ResultsError, UserError
from headscope.results import Atlas
from headscope.stats.tables.ablation import ablation_scores, agreement, change_table, scored
from headscope.stats.tables.disabling import disabling_summary
from stats.made_ablation import EXAMPLES, HEADS, LAYERS, made_ablation, planted


def test_planted_gains_and_drops_are_found_and_the_other_heads_are_not() -> None:
    data = scored(planted())["head_off"]
    assert data.attrs["baseline"] == pytest.approx(0.75)
    assert data["mean"].values.tolist() == pytest.approx(
        np.array([[0.75, 0.95, 0.75], [0.75, 0.75, 0.5]])
    )
    assert data["difference"].sel(layer=1, head=2).item() == pytest.approx(0.2)
    assert (data["p_corrected"].values < 0.05).tolist() == [
        [False, True, False],
        [False, False, True],
    ]
    assert data["p"].sel(layer=1, head=1).item() == 1.0
    gain = data.sel(layer=1, head=2)
    assert 0 < gain["difference_low"] < 0.2 < gain["difference_high"]
    assert data["n"].values.tolist() == [[60] * 3] * 2


def test_the_table_has_the_largest_gain_first_and_a_gain_in_loss_is_a_fall() -> None:
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


def test_layers_and_sets_have_tables_of_their_own() -> None:
    results = scored(planted(sets=1), resamples=500)
    assert change_table(results, "layer")["layer off"].tolist() == ["1", "2"]
    assert change_table(results, "layer")["gain"].tolist() == pytest.approx([0.0, -0.25])
    assert change_table(results, "set")["set off"].tolist() == ["1-1,2-1"]


def test_corrections_are_over_all_heads_and_none_leaves_p_unchanged() -> None:
    free, holm, bh = (
        scored(planted(), correction=name)["head_off"] for name in ("none", "holm", "bh")
    )
    assert np.array_equal(free["p"].values, free["p_corrected"].values)
    assert float(holm["p_corrected"].min()) == pytest.approx(6 * float(holm["p"].min()))
    assert (bh["p_corrected"] <= holm["p_corrected"]).all()
    assert (bh["p_corrected"] < holm["p_corrected"]).any()
    with pytest.raises(UserError, match="the correction must be one of bh, holm, none"):
        scored(planted(), correction="bonferoni")


def test_a_head_is_placed_by_its_name_and_heads_that_stayed_on_have_no_score() -> None:
    raw = planted()["ablation"]
    order = [0, 6, 2, 4]  # the baseline, then 2-3, 1-2 and 2-1
    data = ablation_scores(
        raw.isel(run=order), (range(1, LAYERS + 1), HEADS), seed=0, resamples=200
    )
    assert list(data) == ["head_off"]
    assert data["head_off"]["mean"].values.tolist() == pytest.approx(
        np.array([[np.nan, 0.95, np.nan], [0.75, np.nan, 0.5]]), nan_ok=True
    )
    assert int(data["head_off"]["n"].notnull().sum()) == 3


def test_scores_are_of_the_class_that_was_given_and_keep_what_was_there() -> None:
    class Mine(Atlas):
        pass

    results = scored(Mine(planted().tree), resamples=100)
    assert type(results) is Mine
    assert results.measures == ("ablation", "head_off", "layer_off")
    xr.testing.assert_identical(results["ablation"], planted()["ablation"])


def test_scores_survive_save_and_open_and_show_in_the_common_table(tmp_path: Path) -> None:
    results = scored(planted(), resamples=300)
    back = Atlas.open(results.save(tmp_path / "off.nc"))
    assert back["head_off"]["p"].equals(results["head_off"]["p"])
    table = back.table("head_off")
    row = table[(table["layer"] == 1) & (table["head"] == 2)]
    assert row["mean"].item() == pytest.approx(0.95)
    assert "head_off" in back.listed
    assert "ablation" not in back.listed


def test_results_without_what_is_asked_for_say_how_to_get_it() -> None:
    results = planted()
    with pytest.raises(ResultsError) as caught:
        change_table(results)
    assert caught.value.message == "these results have no scores with a head off"
    assert caught.value.hint == "disable heads: hs.ablate(model, heads=True)"
    with pytest.raises(UserError, match="the kind must be one of head, layer, set; got 'hed'"):
        change_table(results, "hed")
    empty = Atlas(xr.DataTree.from_dict({"/": xr.Dataset(attrs=results.tree.attrs)}))
    with pytest.raises(ResultsError, match="these results are not of an ablation"):
        scored(empty)


def test_examples_of_one_document_are_drawn_together_by_all_that_resamples() -> None:
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
    np.testing.assert_allclose(
        agreement(grouped, resamples=50)[["low", "high"]],
        agreement(once, resamples=50)[["low", "high"]],
    )
    first, second = (disabling_summary(results, resamples=99) for results in (once, grouped))
    assert (first.mean_low, first.mean_high) == pytest.approx((second.mean_low, second.mean_high))
    assert first.fitted == pytest.approx(second.fitted)
    assert (second.examples, second.documents) == (80, 40)
    assert scored(grouped, resamples=50)["head_off"].attrs["documents"] == 40
