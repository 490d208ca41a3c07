"""Two models over one corpus: paired changes against scipy's tests on the examples themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from headscope.measures import Feature
from headscope.results import Atlas
from headscope.stats import cosine_table, difference_atlas, difference_table, paired_table
from stats.references import holm
from stats.sampled import random_values, sampled

FEATURES = Feature.dims["feature"]


def test_the_differences_of_two_models_are_tested_in_pairs() -> None:
    steps = np.linspace(0, 0.06, 6).reshape(1, 2, 3, 1)
    differences = random_values("feature-change", examples=30, seed=3) * 0.1 + steps
    table = paired_table(
        sampled({"feature-change": differences, "change": random_values("change", examples=30)})
    )
    t = stats.ttest_1samp(differences, 0).statistic * np.sqrt(29 / 30)  # leaving out one by one
    p = 2 * stats.t.sf(np.abs(t), 29)
    expected = []
    for column in range(len(FEATURES)):
        chances = holm(p[..., column].ravel().tolist())
        sizes = np.abs(differences.mean(0)[..., column]).ravel()
        expected.append(sum(a < 0.05 and b >= 0.001 for a, b in zip(chances, sizes, strict=True)))
    assert set(table["measure"]) == {"feature"}
    assert table["of"][0] == "largest attention to a noun"
    assert table["heads changed"].tolist() == expected
    assert 0 < sum(expected) < 6 * len(FEATURES)
    assert table["mean change"].tolist() == pytest.approx(differences.mean((0, 1, 2)).tolist())


def test_a_comparison_of_two_results_keeps_the_test_that_it_has() -> None:
    before = random_values("feature", examples=30, seed=1)
    after = random_values("feature", examples=30, seed=2) * 0.5
    first, second = sampled({"feature": before}), sampled({"feature": after})
    compared = Atlas.build(difference_atlas(first, second), first.provenance)
    pd.testing.assert_frame_equal(
        paired_table(compared), difference_table(first, second), check_flags=False
    )


def test_certain_but_tiny_changes_are_not_counted() -> None:
    tiny = np.random.default_rng(0).normal(1e-5, 1e-7, (30, 2, 3, len(FEATURES)))
    assert (paired_table(sampled({"feature-change": tiny}))["heads changed"] == 0).all()
    every = paired_table(sampled({"feature-change": tiny}), least=1e-6)
    assert (every["heads changed"] == 6).all()


def test_the_cosine_of_each_layer_and_the_head_that_changed_most() -> None:
    values = random_values("change", layers=3, heads=4)
    table = cosine_table(sampled({"change": values}))
    means = values.mean(0)
    assert table["layer"].tolist() == [1, 2, 3]
    assert table["cosine"].tolist() == pytest.approx(means.mean(1).tolist())
    assert table["changed most"].tolist() == [
        f"{layer + 1}-{means[layer].argmin() + 1}" for layer in range(3)
    ]
    assert table["its cosine"].tolist() == pytest.approx(means.min(1).tolist())
    share = values[:, 0, means[0].argmin()]
    odds = np.log(share.mean() / (1 - share.mean()))
    error = share.std(ddof=1) / np.sqrt(11) / (share.mean() * (1 - share.mean()))
    low = 1 / (1 + np.exp(-odds + stats.t.ppf(0.975, 11) * error))
    assert table["low"][0] == pytest.approx(low)
    assert table["examples"].tolist() == [12, 12, 12]


def test_a_layer_without_a_value_has_no_head_that_changed() -> None:
    values = random_values("change", layers=2, heads=2)
    values[:, 1] = np.nan
    row = cosine_table(sampled({"change": values})).iloc[1]
    assert row["changed most"] == ""
    assert np.isnan([row["cosine"], row["its cosine"], row["low"], row["high"]]).all()
