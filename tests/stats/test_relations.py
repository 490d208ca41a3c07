"""The best head of each relation, on results made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from headscope.errors import UserError
from headscope.results import Atlas
from headscope.stats import best_heads, relation_tests
from stats.made import HEADS, LAYERS, dependency, results
from stats.references import CORRECTIONS, wilson_interval

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
def made() -> Atlas:
    return results(dependency=dependency(ANSWERS))


def test_the_best_head_and_direction_of_each_relation_win(made: Atlas) -> None:
    table = best_heads(made).set_index("relation")
    assert table.index.tolist() == ["all", "det", "obj"]  # all first, then by the number of words
    assert table[["words", "head", "direction", "offset"]].to_numpy().tolist() == [
        [200, "1-1", UP, 1],
        [40, "2-3", UP, 1],
        [30, "2-1", DOWN, -2],
    ]
    assert table["accuracy"].tolist() == pytest.approx([70 / 200, 38 / 40, 13 / 30])
    assert table["baseline"].tolist() == pytest.approx([60 / 200, 20 / 40, 12 / 30])
    for relation, right, words in (("all", 70, 200), ("det", 38, 40), ("obj", 13, 30)):
        assert table.loc[relation, ["low", "high"]].tolist() == pytest.approx(
            wilson_interval(right, words)
        )


def test_p_is_the_paired_test_against_the_offset(made: Atlas) -> None:
    table = best_heads(made).set_index("relation")
    for relation, mine, its in (
        ("all", 70 - 30, 60 - 30),
        ("det", 38 - 19, 20 - 19),
        ("obj", 1, 0),
    ):
        assert table.loc[relation, "p"] == pytest.approx(
            binomtest(mine, mine + its, 0.5, alternative="greater").pvalue
        )


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_p_is_corrected_over_all_heads_directions_and_relations_that_have_words(
    made: Atlas, correction: str
) -> None:
    every = []
    for given in list(ANSWERS.values())[:-1]:
        for direction in (UP, DOWN):
            for layer in range(1, LAYERS + 1):
                for head in range(1, HEADS + 1):
                    right, both = given["right"].get((direction, layer, head), (0, 0))
                    pair = right - both, given["offset_right"] - both
                    every.append(
                        binomtest(pair[0], sum(pair), 0.5, alternative="greater").pvalue
                        if sum(pair)
                        else 1.0
                    )
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


def test_relations_with_few_words_are_skipped_unless_named_or_asked_for(made: Atlas) -> None:
    assert "vocative" not in set(best_heads(made)["relation"])
    assert "vocative" in set(best_heads(made, least=19)["relation"])
    assert best_heads(made, relations=["vocative"])["accuracy"].tolist() == [1.0]
    with pytest.raises(UserError) as caught:
        best_heads(made, least=10**6)
    assert caught.value.message == "no relation has enough words"
    assert caught.value.hint == (
        "use a larger treebank, or accept fewer words per relation: least=5"
    )


def test_a_relation_without_words_has_no_best_head(made: Atlas) -> None:
    assert best_heads(made, relations=["unseen", "det"])["relation"].tolist() == ["det"]
    tests = relation_tests(made).sel(relation="unseen")
    assert tests["accuracy"].isnull().all()
    assert tests["p"].isnull().all()
    assert tests["p_corrected"].isnull().all()


def test_named_relations_come_in_the_order_given(made: Atlas) -> None:
    assert best_heads(made, relations=["obj", "all", "det"])["relation"].tolist() == [
        "obj",
        "all",
        "det",
    ]


def test_an_unknown_relation_is_refused_with_the_nearest(made: Atlas) -> None:
    with pytest.raises(UserError) as caught:
        best_heads(made, relations=["vocativ"])
    assert caught.value.message == (
        "the relation must be one of all, det, obj, unseen, vocative; got 'vocativ' instead. "
        "Did you mean 'vocative'?"
    )


def test_a_direction_may_be_chosen(made: Atlas) -> None:
    assert best_heads(made, relations=["det"], directions=[DOWN])[
        ["head", "accuracy"]
    ].to_numpy().tolist() == [["1-2", 0.75]]
    assert best_heads(made, relations=["det"], directions=[COLUMN])[
        ["head", "direction"]
    ].to_numpy().tolist() == [["1-1", COLUMN]]


def test_the_tests_of_every_head_are_labelled(made: Atlas) -> None:
    tests = relation_tests(made)
    assert tests["accuracy"].dims == ("layer", "head", "direction", "relation")
    assert tests["direction"].values.tolist() == [UP, DOWN]
    assert float(
        tests["accuracy"].sel(layer=1, head=2, direction=DOWN, relation="det")
    ) == pytest.approx(30 / 40)
    assert np.isfinite(tests["p_corrected"].sel(relation="det")).all()
