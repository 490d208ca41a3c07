"""What a head mostly does: the first behaviour that fits, by the thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headscope.figures.distances import BehaviourThresholds, behaviours, two_groups
from headscope.results import Atlas
from stats.made import HEADS, LAYERS, coreference, dependency, results

NONE = "none of these"


def surface(**changes: tuple[tuple[int, ...], float]) -> dict[str, NDArray[np.float64]]:
    """Means of heads that do nothing in particular, with changes: measure_NUMBER=(where, value)."""
    values = {
        "position": np.full((LAYERS, HEADS, 3), 0.1),
        "special": np.full((LAYERS, HEADS, 3, 3), 0.1),
        "entropy": np.full((LAYERS, HEADS, 3), 1.0),
    }
    values["entropy"][..., 2] = 4.0
    for name, (where, value) in changes.items():
        values[name.partition("_")[0]][where] = value
    return values


def found(results: Atlas, **limits: float) -> dict[str, str]:
    table = behaviours(results, BehaviourThresholds(**limits) if limits else None)
    expected = [f"{layer}-{head}" for layer in range(1, LAYERS + 1) for head in range(1, HEADS + 1)]
    assert table["name"].tolist() == expected
    assert table["layer"].tolist() == [1, 1, 1, 2, 2, 2]
    rows = zip(table["name"], table["behaviour"], strict=True)
    return {name: what for name, what in rows if what != NONE}


def test_heads_are_named_after_the_token_that_has_more_than_half_of_their_attention():
    made = results(
        surface=surface(
            position_1=((0, 0, 0), 0.51),
            position_2=((0, 1, 2), 0.9),
            position_3=((0, 2, 1), 0.8),
            special_1=((1, 0, 0, 0), 0.7),
            special_2=((1, 1, 1, 0), 0.6),
            special_3=((1, 2, 2, 0), 0.55),
        )
    )
    assert found(made) == {
        **{"1-1": "previous token", "1-2": "next token", "1-3": "current token"},
        **{"2-1": "[CLS]", "2-2": "[SEP]", "2-3": "full stop or comma"},
    }
    assert found(made, position=0.85, token=0.65) == {"1-2": "next token", "2-1": "[CLS]"}


def spread(shares: list[float]) -> Atlas:
    """Shares of attention on [CLS], one for each of the six heads."""
    values = surface()
    values["special"][..., 0, 0] = np.reshape(shares, (LAYERS, HEADS))
    return results(surface=values)


def test_a_threshold_is_where_the_heads_of_the_model_fall_apart():
    made = spread([0.02, 0.36, 0.44, 0.40, 0.06, 0.04])
    assert found(made) == dict.fromkeys(("1-2", "1-3", "2-1"), "[CLS]")
    assert behaviours(made).attrs["thresholds"]["[CLS]"] == pytest.approx((0.06 + 0.36) / 2)
    assert found(made, token=0.42) == {"1-3": "[CLS]"}


@pytest.mark.parametrize(
    ("shares", "threshold", "named"),
    [
        ([0.01, 0.02, 0.02, 0.12, 0.13, 0.14], 0.2, []),  # the upper group is still weak
        ([0.6, 0.6, 0.62, 0.95, 0.96, 0.97], 0.5, ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"]),
        ([0.3, 0.3, 0.3, 0.3, 0.3, 0.3], 0.5, []),  # one group
    ],
)
def test_thresholds_from_the_data_stay_between_a_fifth_and_the_papers_half(
    shares, threshold, named
):
    made = spread(shares)
    assert behaviours(made).attrs["thresholds"]["[CLS]"] == threshold
    assert list(found(made)) == named


@pytest.mark.parametrize("seed", range(5))
def test_two_groups_are_those_of_two_means(seed):
    from sklearn.cluster import KMeans

    random = np.random.default_rng(seed)
    values = np.concatenate([random.beta(2, 30, 40), random.beta(8, 8, 32)])
    cut = two_groups(values)
    groups = KMeans(2, n_init=20, random_state=0).fit_predict(values[:, None])
    assert len({*groups[values > cut]}) == len({*groups[values < cut]}) == 1
    assert not np.isclose(values, cut).any()


def test_equal_or_missing_values_make_no_groups():
    assert np.isnan(two_groups([0.3, 0.3, np.nan]))
    assert np.isnan(two_groups([]))
    assert two_groups([0.1, np.nan, 0.3, 0.1]) == pytest.approx(0.2)


def test_attention_from_separators_alone_makes_no_special_token_head():
    to_sep_from_sep = surface(special_1=((0, 0, 1, 1), 0.99))
    assert found(results(surface=to_sep_from_sep)) == {}


def test_the_first_that_fits_is_taken():
    both = results(
        surface=surface(
            position_1=((0, 0, 0), 0.6), special_1=((0, 0, 1, 0), 0.9), entropy_1=((0, 0, 0), 3.9)
        )
    )
    assert found(both) == {"1-1": "previous token"}
    assert found(both, position=0.7) == {"1-1": "[SEP]"}
    assert found(both, position=0.7, token=0.95) == {"1-1": "broad"}


def test_broad_heads_have_nine_tenths_of_the_entropy_of_uniform_attention():
    made = results(surface=surface(entropy_1=((1, 2, 0), 3.61), entropy_2=((1, 1, 0), 3.59)))
    assert found(made) == {"2-3": "broad"}
    assert found(made, broad=0.85) == {"2-2": "broad", "2-3": "broad"}


UP = "dependent to head"
ANSWERS: dict[str, dict[str, Any]] = {
    "all": {"n": 100, "offset_right": 10, "offset": 1, "right": {(UP, 1, 1): (90, 5)}},
    # All ten documents say the same: one flip of 1024.
    "det": {"n": 60, "offset_right": 20, "offset": 1, "right": {(UP, 2, 3): (58, 20)}},
    "obj": {"n": 40, "offset_right": 20, "offset": 1, "right": {(UP, 2, 2): (21, 15)}},
}


def test_the_best_head_of_a_relation_counts_where_it_beats_the_offset_and_all_is_no_relation():
    made = results(surface=surface(), dependency=dependency(ANSWERS))
    assert found(made) == {"2-3": "dependency"}
    assert found(made, p=1e-9) == {}


def test_a_relation_says_more_than_attention_of_less_than_half_to_one_kind_of_token():
    some = surface(special_1=((1, 2, 0, 0), 0.4), special_2=((1, 1, 0, 0), 0.4))
    expected = {"2-2": "[CLS]", "2-3": "dependency"}
    assert found(results(surface=some, dependency=dependency(ANSWERS))) == expected
    most = surface(special_1=((1, 2, 0, 0), 0.6))
    assert found(results(surface=most, dependency=dependency(ANSWERS))) == {"2-3": "[CLS]"}


def test_the_best_head_at_antecedents_is_one_too():
    made = results(
        surface=surface(),
        coreference=coreference(
            {"all": (50, 10, 20, 30)},
            {
                ("mentions", 2, 1): {"all": (36, 8, 18, 25)},
                ("words", 1, 1): {"all": (40, 8, 18, 25)},
            },
        ),
    )
    assert found(made) == {"2-1": "coreference"}


def test_without_mentions_no_head_is_best_at_antecedents():
    assert found(results(surface=surface(), coreference=coreference({}, {}))) == {}


@pytest.mark.parametrize("words", [0, 12])
def test_a_treebank_of_few_words_or_none_does_not_stand_in_the_way(words):
    few = {
        "all": {"n": words, "offset_right": 0, "offset": 1, "right": {(UP, 1, 1): (words, 0)}},
        "det": {"n": words, "offset_right": 0, "offset": 1, "right": {(UP, 1, 2): (words, 0)}},
    }
    seen = found(results(surface=surface(position_1=((1, 0, 0), 0.9)), dependency=dependency(few)))
    assert seen == {"2-1": "previous token"}
