"""Losses with groups of heads disabled, against plain arithmetic and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headscope.errors import UserError
from headscope.results import Atlas
from headscope.stats.tables.ablation import NAME, group_dataset, group_table, repeated_more

PASSAGES, DRAWS = 6, 4


def dataset(losses: np.ndarray, documents: list[str]) -> xr.Dataset:
    names = {"mine": "1-1,1-2", "yours": "2-1"}
    return group_dataset(losses, names, draws=DRAWS, documents=documents)


def jackknifed(low: float, high: float) -> tuple[float, float]:
    """The interval with the jackknife's error, the usual one times √(n / (n - 1))."""
    middle, half = (low + high) / 2, (high - low) / 2 * np.sqrt(PASSAGES / (PASSAGES - 1))
    return middle - half, middle + half


@pytest.fixture(scope="module")
def losses() -> np.ndarray:
    generator = np.random.default_rng(3)
    found = generator.normal(2.0, 0.3, (1 + 2 * (DRAWS + 1), PASSAGES, 2))
    found[1, :, 1] += 3.0  # the first group hurts the second copy
    return found


@pytest.fixture(scope="module")
def results(losses: np.ndarray) -> Atlas:
    data = dataset(losses, [""] * PASSAGES)
    return Atlas.build({NAME: data}, {"model": {"name": "made"}})


def test_the_rise_has_the_t_interval_of_its_passages(losses: np.ndarray, results: Atlas) -> None:
    table = group_table(results).set_index(["group", "text"])
    for group, first in (("mine", 1), ("yours", 2 + DRAWS)):
        for copy, text in enumerate(("new", "repeated")):
            rises = losses[first, :, copy] - losses[0, :, copy]
            low, high = stats.ttest_1samp(rises, 0).confidence_interval(0.95)
            row = table.loc[(group, text)]
            np.testing.assert_allclose(
                [row["rise"], row["low"], row["high"]], [rises.mean(), *jackknifed(low, high)]
            )


def test_passages_of_one_document_count_once(losses: np.ndarray) -> None:
    once = dataset(losses, [""] * PASSAGES)
    twice = dataset(np.repeat(losses, 2, axis=1), [f"d{place // 2}" for place in range(12)])
    for name in ("mean", "low", "high", "deviation", "more_low", "more_high"):
        np.testing.assert_allclose(twice[name], once[name])


def test_draws_and_p_are_counted(losses: np.ndarray, results: Atlas) -> None:
    table = group_table(results).set_index(["group", "text"])
    drawn = [(losses[place, :, 0] - losses[0, :, 0]).mean() for place in range(2, 2 + DRAWS)]
    row = table.loc[("mine", "new")]
    np.testing.assert_allclose([row["others"], row["most"]], [np.mean(drawn), max(drawn)])
    assert row["p"] == (1 + sum(one >= row["rise"] for one in drawn)) / (1 + DRAWS)
    assert table.loc[("mine", "repeated"), "p"] == 1 / (1 + DRAWS)


def test_repeated_and_new_text_are_compared_by_passage(losses: np.ndarray, results: Atlas) -> None:
    row = repeated_more(results).set_index("group").loc["mine"]
    rises = losses[1] - losses[0]
    test = stats.ttest_rel(rises[:, 1], rises[:, 0])
    low, high = test.confidence_interval(0.95)
    np.testing.assert_allclose([row["low"], row["high"]], jackknifed(low, high))


def test_other_results_are_refused() -> None:
    with pytest.raises(UserError, match="not of disabled groups of heads"):
        group_table(Atlas.build({}, {"model": {"name": "made"}}))
