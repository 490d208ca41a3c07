"""Differences of two results, and of two models: the numbers of numpy, and the tests of scipy and statsmodels, on the examples themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from headscope.errors import ResultsError
from headscope.measures.feature import FEATURES
from headscope.stats import change_table, difference_table, paired_table, same_examples
from stats.sampled import random_values, sampled


def test_each_statistic_has_its_mean_change_and_the_heads_that_changed_most() -> None:
    before, after = (random_values("feature", seed=seed) for seed in (1, 2))
    table = difference_table(sampled({"feature": before}), sampled({"feature": after}))
    change = after.mean(0) - before.mean(0)
    assert table["of"].tolist() == list(FEATURES)
    for column, row in enumerate(table.to_dict("records")):
        one = change[..., column]
        assert row["mean change"] == pytest.approx(one.mean())
        assert (row["rise by"], row["fall by"]) == pytest.approx((one.max(), one.min()))
        for words, place in (("rise", one.argmax()), ("fall", one.argmin())):
            assert row[f"largest {words}"] == f"{place // 3 + 1}-{place % 3 + 1}"
        assert row["heads"] == 6


def expected_changed(p: np.ndarray, change: np.ndarray) -> int:
    return int(
        (multipletests(p.ravel(), 0.05, "holm")[0] & (np.abs(change.ravel()) >= 0.001)).sum()
    )


def test_heads_are_counted_as_changed_by_welch_s_test_corrected_over_heads() -> None:
    before = random_values("feature", examples=30, seed=1)
    after = random_values("feature", examples=30, seed=2) * 0.5 + np.linspace(0, 0.6, 6).reshape(
        1, 2, 3, 1
    )
    table = difference_table(sampled({"feature": before}), sampled({"feature": after}))
    p = stats.ttest_ind(after, before, equal_var=False).pvalue
    expected = [
        expected_changed(p[..., column], (after.mean(0) - before.mean(0))[..., column])
        for column in range(len(FEATURES))
    ]
    assert table["heads changed"].tolist() == expected
    assert 0 < sum(expected) < 6 * len(FEATURES)


def test_the_differences_of_two_models_are_tested_in_pairs() -> None:
    differences = random_values("feature-change", examples=30, seed=3) * 0.1 + np.linspace(
        0, 0.06, 6
    ).reshape(1, 2, 3, 1)
    table = paired_table(
        sampled({"feature-change": differences, "change": random_values("change", examples=30)})
    )
    p = stats.ttest_1samp(differences, 0).pvalue
    expected = [
        expected_changed(p[..., column], differences.mean(0)[..., column])
        for column in range(len(FEATURES))
    ]
    assert set(table["measure"]) == {"feature-change"}
    assert table["heads changed"].tolist() == expected
    assert 0 < sum(expected) < 6 * len(FEATURES)
    assert table["mean change"].tolist() == pytest.approx(differences.mean((0, 1, 2)).tolist())


def test_certain_but_tiny_changes_are_not_counted() -> None:
    tiny = np.random.default_rng(0).normal(1e-5, 1e-7, (30, 2, 3, len(FEATURES)))
    assert (paired_table(sampled({"feature-change": tiny}))["heads changed"] == 0).all()


def test_undefined_statistics_have_no_head_that_changed() -> None:
    before, after = (random_values("feature", seed=seed) for seed in (1, 2))
    before[..., 3] = np.nan
    before[:, 0, 0, 2] = np.nan
    rows = difference_table(sampled({"feature": before}), sampled({"feature": after})).to_dict(
        "records"
    )
    assert (
        rows[3]["largest rise"],
        rows[3]["largest fall"],
        rows[3]["heads"],
        rows[3]["heads changed"],
    ) == ("", "", 0, 0)
    assert np.isnan(rows[3]["mean change"])
    assert rows[2]["heads"] == 5


def test_the_change_of_each_layer_and_the_head_that_changed_most() -> None:
    values = random_values("change", layers=3, heads=4)
    table = change_table(sampled({"change": values}))
    means = values.mean(0)
    assert table["layer"].tolist() == [1, 2, 3]
    assert table["cosine"].tolist() == pytest.approx(means.mean(1).tolist())
    assert table["changed most"].tolist() == [
        f"{layer + 1}-{means[layer].argmin() + 1}" for layer in range(3)
    ]
    assert table["its cosine"].tolist() == pytest.approx(means.min(1).tolist())
    low = stats.ttest_1samp(values[:, 0, means[0].argmin()], 0).confidence_interval().low
    assert table["low"][0] == pytest.approx(low)


def test_results_without_a_measure_in_common_are_refused() -> None:
    with pytest.raises(
        ResultsError,
        match=r"^the two results have no measure of heads in common: feature; and frame\nnext: survey both models with the same measures$",
    ):
        difference_table(
            sampled({"feature": random_values("feature")}),
            sampled({"frame": random_values("frame")}),
        )


def test_results_of_different_shapes_are_refused() -> None:
    with pytest.raises(ResultsError, match="different layers, heads or labels"):
        difference_table(
            sampled({"change": random_values("change")}),
            sampled({"change": random_values("change", heads=4)}),
        )


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"model": {"name": "another"}}, True),
        ({"corpus": {"name": "x", "sha256": "1" * 64}}, False),
        ({"settings": {"max_length": 64, "long": "truncate", "limit": None}}, False),
        ({"settings": {"max_length": 128, "long": "truncate", "limit": 5}}, False),
    ],
)
def test_runs_saw_the_same_examples_if_corpus_and_cuts_are_the_same(
    changes: dict[str, object], same: bool
) -> None:
    values = {"change": random_values("change")}
    one = sampled(values)
    other = type(one).build(one.sums(), one.provenance | changes)
    assert same_examples(one, other) is same
