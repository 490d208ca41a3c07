"""The best head of each relation, on results made by hand.

Heads that stand out at frame links: those over the percentile, the largest first.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headscope.errors import UserError
from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats import best_heads, frame_table, outstanding, relation_tests
from refusals import refusal
from stats.made import HEADS, LAYERS, dependency, parts, results
from stats.references import CORRECTIONS, document_interval, paired_p
from stats.sampled import random_values, sampled

UP, DOWN, COLUMN = "dependent to head", "head to dependent", "head to dependent by column"
ANSWERS = {
    "all": {
        "n": 200,
        "offset_right": 60,
        "offset": 1,
        "right": {(UP, 1, 1): (70, 30), (UP, 2, 2): (50, 20)},
    },
    "det": {
        "n": 40,
        "offset_right": 20,
        "offset": 1,
        "right": {(UP, 2, 3): (38, 19), (DOWN, 1, 2): (30, 20), (COLUMN, 1, 1): (40, 20)},
    },
    "obj": {
        "n": 30,
        "offset_right": 12,
        "offset": -2,
        "right": {(DOWN, 2, 1): (13, 12), (UP, 1, 1): (12, 10)},
    },
    "vocative": {"n": 19, "offset_right": 9, "offset": 1, "right": {(UP, 1, 1): (19, 9)}},
    "unseen": {"n": 0, "offset_right": 0, "offset": 1},
}


@pytest.fixture(scope="module")
def made():
    return results(dependency=dependency(ANSWERS))


def test_the_best_head_and_direction_of_each_relation_win(made):
    table = best_heads(made).set_index("relation")
    assert table.index.tolist() == ["all", "det", "obj"]  # all first, then by the number of words
    expected = [[200, "1-1", UP, 1], [40, "2-3", UP, 1], [30, "2-1", DOWN, -2]]
    assert table[["words", "head", "direction", "offset"]].to_numpy().tolist() == expected
    assert table["accuracy"].tolist() == pytest.approx([70 / 200, 38 / 40, 13 / 30])
    assert table["baseline"].tolist() == pytest.approx([60 / 200, 20 / 40, 12 / 30])


def test_intervals_are_by_documents(made):
    table = best_heads(made).set_index("relation")
    for relation, right, words in (("all", 70, 200), ("det", 38, 40), ("obj", 13, 30)):
        expected = pytest.approx(document_interval(parts(right), parts(words), share=True))
        assert table.loc[relation, ["low", "high"]].tolist() == expected


APART = {
    "det": {
        "n": 30,
        "offset_right": 12,
        "offset": 1,
        # by bucket 5, 1, 2, 2, 0, 5, 5, 3, 4 and 3 words: 16 in the first half, 14 in the second
        "right": {(UP, 1, 1): (25, 12), (UP, 2, 2): (9, 3), (DOWN, 1, 3): (24, 12)},
    }
}


def apart() -> Atlas:
    """In the first half head 1-3 is best (downwards, 14 of 16; 1-1 has 12), in the second 1-1 (13
    of 14; 1-3 has 9).
    """
    data = dependency(APART)
    where = {"relation": "det", "words": "every"}
    for direction, layer, head, right in (
        (UP, 1, 1, (3, 1, 2, 2, 0, 4, 4, 3, 3, 3)),
        (DOWN, 1, 3, (5, 1, 2, 1, 0, 3, 4, 2, 3, 2)),
    ):
        place = where | {"direction": direction, "layer": layer, "head": head}
        data["sum"].loc[place] = np.array(right, float)
    data["sum"].loc[{"words": "held-out offset right"}] = 0.0
    for bucket, right in enumerate((2, 0, 1, 1, 0, 3, 1, 1, 1, 0), 1):
        data["count"].loc[{"bucket": bucket, "words": "held-out offset right"}] = right
    data.attrs["half_offsets"] = '{"det": [1, 2]}'
    return results(dependency=data)


def test_heads_are_chosen_on_one_half_and_scored_on_the_other():
    row = best_heads(apart()).iloc[0]
    assert (row["head"], row["direction"]) == ("1-1", UP)
    assert row["accuracy"] == pytest.approx(25 / 30)
    assert row["held_out"] == pytest.approx((9 + 12) / 30)
    assert row["held_out_head"] == f"1-3 ({DOWN}) | 1-1"
    assert row["held_out_low"] < 21 / 30 < row["held_out_high"]
    assert row["held_out_baseline"] == pytest.approx(10 / 30)
    assert row["held_out_offset"] == "1 | 2"


def test_where_both_halves_choose_the_same_head_nothing_changes(made):
    row = best_heads(made, relations=["det"]).iloc[0]
    assert row[["held_out", "held_out_head"]].tolist() == [38 / 40, "2-3"]
    assert row[["held_out_low", "held_out_high"]].tolist() == row[["low", "high"]].tolist()
    assert row[["held_out_baseline", "held_out_offset"]].tolist() == [20 / 40, "1"]


def test_heads_and_offsets_are_chosen_on_training_results(made):
    training = {
        "det": {"n": 50, "offset_right": 20, "offset": 2, "right": {(DOWN, 1, 2): (45, 20)}}
    }
    train = results(dependency=dependency(training))
    table = best_heads(made, relations=["det", "obj"], train=train).set_index("relation")
    assert table.loc["det", "accuracy"] == 38 / 40
    assert table.loc["det", "held_out"] == 30 / 40
    assert table.loc["det", "held_out_head"] == f"1-2 ({DOWN})"
    # The head word is never two words away here.
    assert table.loc["det", ["held_out_baseline", "held_out_offset"]].tolist() == [0.0, "2"]
    # The training results have no objects.
    assert np.isnan(table.loc["obj", "held_out"])
    assert table.loc["obj", "held_out_head"] == ""


def test_training_results_of_another_model_are_refused(made):
    other = Atlas.build({"dependency": dependency(ANSWERS).isel(head=[0, 1])}, made.provenance)
    assert refusal(UserError, best_heads, made, train=other).message == (
        "heads can only be chosen on results of the same model: the training results have 2 × 2 "
        "heads, the others 2 × 3"
    )


def test_results_without_held_out_offsets_are_refused(made):
    old = dependency(ANSWERS).sel(words=["every", "offset right"])
    error = refusal(UserError, best_heads, results(dependency=old))
    assert error.message.startswith("these results do not say which offset each half")
    assert error.hint == "survey again"


def test_stanford_relations_are_shown_only_if_named():
    made = results(dependency=dependency(ANSWERS | {"pobj (SD)": ANSWERS["det"]}))
    assert "pobj (SD)" not in set(best_heads(made)["relation"])
    assert best_heads(made, relations=["pobj (SD)"])["head"].tolist() == ["2-3"]


def test_p_is_the_paired_test_against_the_offset(made):
    table = best_heads(made).set_index("relation")
    for relation, numbers in {"all": (70, 60), "det": (38, 20), "obj": (13, 12)}.items():
        assert table.loc[relation, "p"] == pytest.approx(paired_p(*map(parts, numbers)))


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_p_is_corrected_over_all_heads_directions_and_relations_that_have_words(made, correction):
    every = []
    for given in list(ANSWERS.values())[:-1]:
        for direction in (UP, DOWN):
            for layer in range(1, LAYERS + 1):
                for head in range(1, HEADS + 1):
                    right, _ = given["right"].get((direction, layer, head), (0, 0))
                    every.append(paired_p(parts(right), parts(given["offset_right"])))
    corrected = dict(zip(every, CORRECTIONS[correction](every), strict=True))
    assert len(every) == 4 * 2 * LAYERS * HEADS
    table = best_heads(made, correction=correction)
    assert table["p_corrected"].tolist() == pytest.approx(
        [
            next(after for p, after in corrected.items() if p == pytest.approx(row))
            for row in table["p"]
        ]
    )
    assert best_heads(made, correction="none")["p_corrected"].tolist() == table["p"].tolist()


def test_relations_with_few_words_are_skipped_unless_named_or_asked_for(made):
    assert "vocative" not in set(best_heads(made)["relation"])
    assert "vocative" in set(best_heads(made, least=19)["relation"])
    assert best_heads(made, relations=["vocative"])["accuracy"].tolist() == [1.0]
    error = refusal(UserError, best_heads, made, least=10**6)
    assert error.message == "no relation has enough words"
    assert error.hint == ("use a larger treebank, or accept fewer words per relation: least=5")


def test_a_relation_without_words_has_no_best_head(made):
    assert best_heads(made, relations=["unseen", "det"])["relation"].tolist() == ["det"]
    tests = relation_tests(made).sel(relation="unseen")
    assert tests["accuracy"].isnull().all()
    assert tests["p"].isnull().all()
    assert tests["p_corrected"].isnull().all()


def test_named_relations_come_in_the_order_given(made):
    expected = ["obj", "all", "det"]
    assert best_heads(made, relations=["obj", "all", "det"])["relation"].tolist() == expected


def test_an_unknown_relation_is_refused_with_the_nearest(made):
    assert refusal(UserError, best_heads, made, relations=["vocativ"]).message == (
        "the relation must be one of all, det, obj, unseen, vocative; got 'vocativ' instead. "
        "Did you mean 'vocative'?"
    )


def test_a_direction_may_be_chosen(made):
    assert best_heads(made, relations=["det"], directions=[DOWN])[
        ["head", "accuracy"]
    ].to_numpy().tolist() == [["1-2", 0.75]]
    assert best_heads(made, relations=["det"], directions=[COLUMN])[
        ["head", "direction"]
    ].to_numpy().tolist() == [["1-1", COLUMN]]


def test_the_tests_of_every_head_are_labelled(made):
    tests = relation_tests(made)
    assert tests["accuracy"].dims == ("layer", "head", "direction", "relation")
    assert tests["direction"].values.tolist() == [UP, DOWN]
    expected = pytest.approx(30 / 40)
    assert float(tests["accuracy"].sel(layer=1, head=2, direction=DOWN, relation="det")) == expected
    assert np.isfinite(tests["p_corrected"].sel(relation="det")).all()


def grid(values: list[list[float]]) -> xr.DataArray:
    array = np.array(values)
    return xr.DataArray(
        array,
        dims=("layer", "head"),
        coords={"layer": np.arange(1, len(array) + 1), "head": np.arange(1, array.shape[1] + 1)},
    )


@pytest.mark.parametrize(("layers", "heads", "over"), [(12, 12, 2), (6, 12, 1), (24, 16, 4)])
def test_as_many_heads_are_over_the_99th_percentile_as_in_the_paper(layers, heads, over):
    values = np.random.default_rng(1).permutation(layers * heads).reshape(layers, heads) / 1000
    threshold, found = outstanding(grid(values.tolist()))
    # The values are 0, 0.001, 0.002 …: interpolated, 99 % of the way from the first to the last.
    assert threshold == pytest.approx(0.99 * (layers * heads - 1) / 1000)
    assert len(found) == over  # BERT base: 2 of 144
    order = np.argsort(-values, axis=None)[:over]
    assert found == [(place // heads, place % heads) for place in order]


def test_undefined_heads_are_skipped_and_nothing_stands_out_where_all_are():
    assert outstanding(grid([[np.nan, 0.1], [0.2, 0.9]]), 50)[1] == [Head(1, 1)]
    threshold, heads = outstanding(grid([[np.nan, np.nan]]))
    assert np.isnan(threshold)
    assert heads == []


@pytest.mark.parametrize("percentile", [-1, 100.5, float("nan")])
def test_a_percentile_beyond_0_to_100_is_refused(percentile):
    with pytest.raises(UserError, match=r"^the percentile must be between 0 and 100, got"):
        outstanding(grid([[0.1]]), percentile)


def test_the_table_has_the_strongest_heads_with_each_direction():
    values = random_values("frame", layers=3, heads=4)
    table = frame_table(
        sampled({"frame": values}), direction="element to target", percentile=80, top=5
    )
    means = values.mean(0)
    order = np.argsort(-means[..., 2], axis=None)[:5]
    places = [np.unravel_index(place, (3, 4)) for place in order]
    assert table["head"].tolist() == [f"{layer + 1}-{head + 1}" for layer, head in places]
    expected = pytest.approx([means[layer, head, 2] for layer, head in places])
    assert table["mean"].tolist() == expected
    expected = pytest.approx([means[layer, head, 1] for layer, head in places])
    assert table["target to element"].tolist() == expected
    expected = pytest.approx([means[layer, head, 0] for layer, head in places])
    assert table["both"].tolist() == expected
    # Of twelve heads, the 80th percentile is between the third and the fourth from the top.
    assert table["over"].tolist() == [True, True, True, False, False]
    third, fourth = (means[..., 2][places[place]] for place in (2, 3))
    assert fourth < table["percentile"][0] < third
    assert (table["sentences"] == 12).all()
    assert ((table["low"] < table["mean"]) & (table["mean"] < table["high"])).all()


def test_an_unknown_direction_gets_the_nearest():
    with pytest.raises(
        UserError,
        match=r"^the direction must be one of both, element to target, target to element; "
        r"got 'bth' instead\. Did you mean 'both'\?",
    ):
        frame_table(sampled({"frame": random_values("frame")}), direction="bth")
