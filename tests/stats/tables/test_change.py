"""Differences of two results: numpy's numbers and scipy's tests on the examples themselves.

Two models over one corpus: paired changes against scipy's tests on the examples themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import headscope as hs
from headscope.errors import ResultsError
from headscope.measures import Feature
from headscope.results import Atlas
from headscope.results.moments import OLDER
from headscope.stats import (
    cosine_table,
    difference_atlas,
    difference_table,
    not_compared,
    paired_table,
    same_examples,
)
from headscope.stats.tables.change import mean_change
from refusals import refusal
from stats.references import holm
from stats.sampled import random_values, sampled

FEATURES = Feature.dims["feature"]

WORDS = [
    *("a noun", "a verb", "a pronoun", "a subject", "an object of the main predicate"),
    *("a negation", "punctuation"),
    *("[CLS]", "[SEP]"),
]


def cut(results: Atlas, measure: str, **labels: Any) -> Atlas:
    """The same results with fewer labels of one measure."""
    data = {name: results[name] for name in results}
    data[measure] = data[measure].sel(labels)
    return Atlas.build(data, results.provenance)


def test_each_statistic_has_its_mean_change_and_the_heads_that_changed_most():
    before, after = (random_values("feature", seed=seed) for seed in (1, 2))
    table = difference_table(sampled({"feature": before}), sampled({"feature": after}))
    change = after.mean(0) - before.mean(0)
    assert table["measure"].tolist() == ["feature"] * len(FEATURES)
    assert table["of"].tolist() == [f"largest attention to {what}" for what in WORDS]
    for column, row in enumerate(table.to_dict("records")):
        one = change[..., column]
        assert row["mean change"] == pytest.approx(one.mean())
        assert (row["rise by"], row["fall by"]) == pytest.approx((one.max(), one.min()))
        for words, place in (("rise", one.argmax()), ("fall", one.argmin())):
            assert row[f"largest {words}"] == f"{place // 3 + 1}-{place % 3 + 1}"
        assert row["heads"] == 6
    assert not_compared(table.attrs) == []


def elsewhere(values: dict[str, Any]) -> Atlas:
    """Results over another corpus."""
    found = sampled(values)
    corpus = found.provenance["corpus"] | {"sha256": "f" * 64}
    return found.described(found.provenance | {"corpus": corpus})


def welch(after: np.ndarray, before: np.ndarray) -> tuple[Any, Any, Any]:
    """p and interval of Welch's test, with errors that leave out one example after the other."""
    squares = [values.var(0, ddof=1) / (len(values) - 1) for values in (after, before)]
    freedom = [len(values) - 1 for values in (after, before)]
    error = np.sqrt(squares[0] + squares[1])
    degrees = error**4 / sum(one**2 / free for one, free in zip(squares, freedom, strict=True))
    change = after.mean(0) - before.mean(0)
    half = stats.t.ppf(0.975, degrees) * error
    return 2 * stats.t.sf(np.abs(change / error), degrees), change - half, change + half


def shifted() -> tuple[np.ndarray, np.ndarray]:
    """Examples of two runs in which some heads changed beyond chance and some did not."""
    before = random_values("feature", examples=30, seed=1)
    steps = np.linspace(0, 0.6, 6).reshape(1, 2, 3, 1)
    return before, random_values("feature", examples=20, seed=2) * 0.5 + steps


def test_heads_are_counted_as_changed_by_welchs_test_corrected_over_heads():
    before, after = shifted()
    table = difference_table(sampled({"feature": before}), elsewhere({"feature": after}))
    p, _, _ = welch(after, before)
    change = after.mean(0) - before.mean(0)
    expected = []
    for column in range(len(FEATURES)):
        chances = holm(p[..., column].ravel().tolist())
        sizes = np.abs(change[..., column]).ravel()
        expected.append(sum(a < 0.05 and b >= 0.001 for a, b in zip(chances, sizes, strict=True)))
    assert table["heads changed"].tolist() == expected
    assert 0 < sum(expected) < 6 * len(FEATURES)


def test_the_change_of_every_head_is_that_of_welchs_test_on_the_documents():
    before, after = shifted()
    atlas = difference_atlas(sampled({"feature": before}), elsewhere({"feature": after}))
    assert list(atlas) == ["feature-change"]
    data = atlas["feature-change"]
    assert data["mean"].dims == ("layer", "head", "feature")
    assert data["feature"].values.tolist() == list(FEATURES)
    p, low, high = welch(after, before)
    expected = {
        "first": before.mean(0),
        "second": after.mean(0),
        "mean": after.mean(0) - before.mean(0),
        "low": low,
        "high": high,
        "p": p,
        "n": np.full((2, 3, len(FEATURES)), 20),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(data[name].values, values, rtol=1e-9, atol=1e-12, err_msg=name)
    errors = np.sqrt(before.var(0, ddof=1) / 29 + after.var(0, ddof=1) / 19)
    np.testing.assert_allclose((data["deviation"] / np.sqrt(data["n"])).values, errors)
    for column in range(len(FEATURES)):
        np.testing.assert_allclose(
            data["p_corrected"].values[..., column].ravel(), holm(p[..., column].ravel().tolist())
        )


def test_runs_over_the_same_texts_are_paired_document_by_document():
    """What makes a text hard for both models does not count as noise."""
    random = np.random.default_rng(4)
    before = random_values("feature", examples=24, seed=1)
    after = before + random.normal(0.02, 0.03, before.shape)
    same = difference_atlas(sampled({"feature": before}), sampled({"feature": after}))
    data, test = same["feature-change"], stats.ttest_1samp(after - before, 0)
    t = test.statistic * np.sqrt(23 / 24)
    np.testing.assert_allclose(data["p"].values, 2 * stats.t.sf(np.abs(t), 23), rtol=1e-9)
    half = (test.confidence_interval().high - test.confidence_interval().low) / 2
    np.testing.assert_allclose(
        (data["high"] - data["mean"]).values, half * np.sqrt(24 / 23), rtol=1e-9
    )
    apart = difference_atlas(sampled({"feature": before}), elsewhere({"feature": after}))
    assert (data["p"].values < apart["feature-change"]["p"].values).all()


def test_results_of_an_older_version_are_not_mixed_with_new_ones():
    old, new = (sampled({"feature": random_values("feature")}) for _ in range(2))
    old.tree["feature"].attrs["intervals"] = OLDER
    with pytest.raises(ResultsError, match="made by an older version") as caught:
        difference_table(old, new)
    assert caught.value.hint == "run the older ones again with this version"
    with pytest.raises(ResultsError, match="made by an older version"):
        hs.merge([old, new])
    assert len(difference_table(old, old)) == len(FEATURES)


def test_a_change_says_what_it_is_a_change_of():
    results = sampled({"feature": random_values("feature")})
    about = difference_atlas(results, results)["feature-change"].attrs
    assert about == {
        "title": "Title of feature: change",
        "unit": "change in share of attention",
        "source": "Source",
        "kind": "change",
    }


def test_undefined_statistics_have_no_head_that_changed():
    before, after = (random_values("feature", seed=seed) for seed in (1, 2))
    before[..., 3] = np.nan
    before[:, 0, 0, 2] = np.nan
    table = difference_table(sampled({"feature": before}), sampled({"feature": after}))
    row = table.to_dict("records")[3]
    found = [row[key] for key in ("largest rise", "largest fall", "heads", "heads changed")]
    assert found == [*("", "", 0, 0)]
    assert np.isnan(row["mean change"])
    assert table["heads"][2] == 5


@pytest.mark.parametrize("examples", [2, 3])
def test_two_documents_have_a_change_but_no_test(examples):
    before, after = (random_values("change", examples=examples, seed=seed) for seed in (1, 2))
    data = difference_atlas(sampled({"change": before}), sampled({"change": after}))
    chances = data["change-change"]
    assert np.isfinite(chances["mean"].values).all()
    assert bool(np.isnan(chances["p"].values).all()) == (examples == 2)
    assert bool(np.isnan(chances["low"].values).all()) == (examples == 2)
    table = difference_table(sampled({"change": before}), sampled({"change": after}))
    assert bool(np.isnan(table["heads changed"][0])) == (examples == 2)  # not tested, not "none"


def test_heads_that_never_vary_have_changed_for_certain_or_not_at_all():
    before = np.full((5, 1, 2), 0.25)
    after = before + np.array([0.5, 0.0])
    data = difference_atlas(sampled({"change": before}), sampled({"change": after}))
    assert data["change-change"]["mean"].values.tolist() == [[0.5, 0.0]]
    assert data["change-change"]["p"].values.tolist() == [[0.0, 1.0]]


def test_a_deviation_that_is_a_standard_error_already_is_not_divided_again():
    def scores(mean, error):
        arrays = {"mean": mean, "deviation": error, "n": 400}
        cells = {key: (("layer", "head"), np.full((1, 1), value)) for key, value in arrays.items()}
        return xr.Dataset(cells, {"layer": [1], "head": [1]}, {"kind": "score"})

    data = mean_change(scores(0.70, 0.03), scores(0.80, 0.04)).squeeze()
    assert float(data["p"]) == pytest.approx(2 * stats.norm.sf(0.1 / 0.05))
    low, high = stats.norm.interval(0.95, 0.1, 0.05)
    assert (float(data["low"]), float(data["high"])) == pytest.approx((low, high))


# What only one of the two has


def test_labels_that_only_one_has_are_listed_and_the_others_compared():
    before, after = (random_values("feature", seed=seed) for seed in (1, 2))
    first = cut(sampled({"feature": before}), "feature", feature=["verb", "noun", "sep"])
    second = cut(sampled({"feature": after}), "feature", feature=["noun", "object", "verb"])
    table = difference_table(first, second)
    assert table["of"].tolist() == ["largest attention to a verb", "largest attention to a noun"]
    change = after.mean(0) - before.mean(0)
    assert table["mean change"].tolist() == pytest.approx(
        [change[..., FEATURES.index(name)].mean() for name in ("verb", "noun")]
    )
    assert table.attrs["only_first"]["labels"] == {"feature": {"feature": ["sep"]}}
    assert table.attrs["only_second"]["labels"] == {"feature": {"feature": ["object"]}}
    assert not_compared(table.attrs, first="a.nc", second="b.nc") == [
        "Only a.nc has the feature sep (measure feature).",
        "Only b.nc has the feature object (measure feature).",
    ]


def test_measures_that_only_one_has_are_listed():
    both = {"feature": random_values("feature")}
    first = sampled(both | {"frame": random_values("frame"), "link": random_values("link")})
    table = difference_table(first, sampled(both | {"change": random_values("change")}))
    assert set(table["measure"]) == {"feature"}
    assert not_compared(table.attrs) == [
        "Only the first has the measures frame and link.",
        "Only the second has the measure change.",
    ]


def test_models_of_different_shapes_are_compared_where_they_overlap():
    before = random_values("change", layers=4, heads=3, seed=1)
    after = random_values("change", layers=2, heads=5, seed=2)
    first, second = sampled({"change": before}), sampled({"change": after})
    table = difference_table(first, second)
    assert table["heads"].tolist() == [2 * 3]
    data = difference_atlas(first, second)["change-change"]
    np.testing.assert_allclose(
        data["mean"].values, after.mean(0)[:, :3] - before.mean(0)[:2], rtol=1e-12
    )
    expected = ["Only the first has layers 3–4.", "Only the second has heads 4–5 of each layer."]
    assert not_compared(table.attrs) == expected


def test_results_without_a_measure_in_common_are_refused():
    error = refusal(
        ResultsError,
        difference_table,
        sampled({"feature": random_values("feature")}),
        sampled({"frame": random_values("frame")}),
    )
    message = "the two results have no measure in common: the first has feature, the second frame"
    assert error.message == message
    assert error.hint == "survey both models with the same measures"


def test_results_without_a_label_in_common_are_refused():
    results = sampled({"feature": random_values("feature")})
    error = refusal(
        ResultsError,
        difference_table,
        cut(results, "feature", feature=["noun"]),
        cut(results, "feature", feature=["verb"]),
    )
    assert error.message == (
        "the two results share no value of a head that can be compared "
        "(feature: the two have no feature in common)"
    )
    message = "survey both models with the same measures, on corpora with the same labels"
    assert error.hint == message


def test_measures_that_have_no_heads_or_other_units_are_skipped_and_named():
    values = {"feature": random_values("feature"), "change": random_values("change")}
    names = {"one": ["1-1", "1-2"], "other": ["1-1", "1-2"]}
    cells = {key: (("one", "other"), np.ones((2, 2))) for key in ("mean", "deviation", "n")}
    first, second = sampled(values), sampled(values)
    data = {name: first[name] for name in first} | {"distance": xr.Dataset(cells, names)}
    other = data | {"change": data["change"].assign_attrs(unit="cosine")}
    table = difference_table(
        Atlas.build(data, first.provenance), Atlas.build(other, second.provenance)
    )
    assert set(table["measure"]) == {"feature"}
    assert not_compared(table.attrs) == [
        "The measure change was not compared: its units differ (share of attention and cosine).",
        "The measure distance was not compared: it has no value for each head.",
    ]


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
def test_runs_saw_the_same_examples_if_corpus_and_cuts_are_the_same(changes, same):
    values = {"change": random_values("change")}
    one = sampled(values)
    other = type(one).build(one.sums(), one.provenance | changes)
    assert same_examples(one, other) is same


def test_the_differences_of_two_models_are_tested_in_pairs():
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


def test_a_comparison_of_two_results_keeps_the_test_that_it_has():
    before = random_values("feature", examples=30, seed=1)
    after = random_values("feature", examples=30, seed=2) * 0.5
    first, second = sampled({"feature": before}), sampled({"feature": after})
    compared = Atlas.build(difference_atlas(first, second), first.provenance)
    pd.testing.assert_frame_equal(
        paired_table(compared), difference_table(first, second), check_flags=False
    )


def test_certain_but_tiny_changes_are_not_counted():
    tiny = np.random.default_rng(0).normal(1e-5, 1e-7, (30, 2, 3, len(FEATURES)))
    assert (paired_table(sampled({"feature-change": tiny}))["heads changed"] == 0).all()
    every = paired_table(sampled({"feature-change": tiny}), least=1e-6)
    assert (every["heads changed"] == 6).all()


def test_the_cosine_of_each_layer_and_the_head_that_changed_most():
    values = random_values("change", layers=3, heads=4)
    table = cosine_table(sampled({"change": values}))
    means = values.mean(0)
    assert table["layer"].tolist() == [1, 2, 3]
    assert table["cosine"].tolist() == pytest.approx(means.mean(1).tolist())
    expected = [f"{layer + 1}-{means[layer].argmin() + 1}" for layer in range(3)]
    assert table["changed most"].tolist() == expected
    assert table["its cosine"].tolist() == pytest.approx(means.min(1).tolist())
    share = values[:, 0, means[0].argmin()]
    odds = np.log(share.mean() / (1 - share.mean()))
    error = share.std(ddof=1) / np.sqrt(11) / (share.mean() * (1 - share.mean()))
    low = 1 / (1 + np.exp(-odds + stats.t.ppf(0.975, 11) * error))
    assert table["low"][0] == pytest.approx(low)
    assert table["examples"].tolist() == [12, 12, 12]


def test_a_layer_without_a_value_has_no_head_that_changed():
    values = random_values("change", layers=2, heads=2)
    values[:, 1] = np.nan
    row = cosine_table(sampled({"change": values})).iloc[1]
    assert row["changed most"] == ""
    assert np.isnan([row["cosine"], row["its cosine"], row["low"], row["high"]]).all()
