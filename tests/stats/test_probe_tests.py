"""Heads above the majority class, counted with scipy's exact test and plain corrections."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest, false_discovery_control

from headscope.stats.tables.probing import better_heads, small_test_text, small_tests
from stats.made_probing import changed, made_probing
from stats.references import holm


def test_heads_are_counted_as_scipy_and_the_definition_count_them() -> None:
    random = np.random.default_rng(0)
    right = random.binomial(200, 0.53, (2, 6, 12))
    right[0, 0] = 130
    results = changed(
        made_probing(6, 12, ("past_present", "subj_number")),
        "probe",
        test=lambda _: right / 200,
        test_size=lambda _: np.full(2, 200.0),
    )
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


def test_tasks_without_a_majority_are_left_out_and_heads_without_a_score_do_not_count() -> None:
    def hole(values: np.ndarray) -> np.ndarray:
        values[0, 0, 0] = np.nan
        return values

    results = changed(made_probing(2, 3, ("past_present", "sts-b")), "probe", test=hole)
    frame = better_heads(results)
    assert frame[["task", "heads"]].to_numpy().tolist() == [["Tense", 5]]


def test_tests_with_fewer_than_a_hundred_examples_are_small() -> None:
    results = changed(
        made_probing(2, 3, ("past_present", "subj_number")),
        "probe",
        test_size=lambda _: np.array([99.0, 100.0]),
    )
    assert small_tests(results) == {"Tense": 99}


def test_a_warning_names_the_small_tests() -> None:
    assert small_test_text({"Tense": 48, "Depth": 5}) == (
        "Small tests: Tense (48 sentences), Depth (5). A gain of a few points there is one or two "
        "sentences."
    )
    assert small_test_text({}) == ""
