"""Table 4 and Figure 4: medians, gains and means over seeds, from the paper's own numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headscope.papers.jo2020 import (
    STATES,
    gain_rows,
    mean_scores,
    neighbour_gains,
    state_rows,
    tuning_gains,
    tuning_rows,
)
from headscope.papers.jo2020_release import TABLE_4, TUNED_GAINS
from headscope.results import Atlas
from headscope.tasks import find_task
from stats.made_probing import made_probing

TASKS = [find_task(name) for name in ("mrpc", "sts-b", "sst-2")]


def tuned(encoder: str, spread: tuple[float, ...]) -> dict[str, Any]:
    """Runs by task and state whose median over seeds is the paper's number."""
    runs: dict[str, Any] = {}
    for task in TASKS:
        rows = {metric: TABLE_4[encoder][task.name, metric] for metric in task.metrics}
        runs[task.name] = {
            state: [
                SimpleNamespace(
                    scores={metric: (row[part] + away) / 100 for metric, row in rows.items()}
                )
                for away in (spread if part == 2 else [0.0] * len(spread))
            ]
            for part, state in enumerate(STATES)
        }
    return runs


def gains(done: dict[str, Any]) -> dict[str, Any]:
    """What the best layer and the top heads gain, by model."""
    return {
        model: {state: tuning_gains(TASKS, runs, state) for state in STATES[1:]}
        for model, runs in done.items()
    }


@pytest.mark.parametrize("encoder", ["BERT base", "BERT large"])
def test_medians_and_mean_gains_of_the_papers_numbers_are_the_papers(encoder):
    done = {"mine": tuned(encoder, (-0.5, 0.0, 0.25))}
    rows = tuning_rows(TASKS, done, {"mine": encoder})
    names = ["MRPC (f1)", "MRPC (accuracy)", "STS-B (pearson)", "STS-B (spearman)"]
    assert [row["task"] for row in rows] == [*names, "SST-2 (accuracy)"]
    for row in rows:
        for state in STATES:
            assert float(row[state].split()[0]) == row[f"{state}: paper"]
    lines = gain_rows(gains(done), {"mine": encoder})
    best, top = lines
    assert float(top["mean gain"]) == TUNED_GAINS[encoder]
    assert top["paper"] == f"+{TUNED_GAINS[encoder]}"
    assert float(top["lowest seed"]) == pytest.approx(TUNED_GAINS[encoder] - 0.5)
    assert float(top["highest seed"]) == pytest.approx(TUNED_GAINS[encoder] + 0.25)
    differences = [best - last for last, best, _ in TABLE_4[encoder].values()]
    assert float(best["mean gain"]) == pytest.approx(np.mean(differences), abs=0.005)


def test_a_model_that_is_no_published_encoder_has_no_published_numbers():
    done = {"mine": tuned("BERT base", (0.0,))}
    assert not any("paper" in key for row in tuning_rows(TASKS, done, {"mine": ""}) for key in row)
    assert not any("paper" in row for row in gain_rows(gains(done), {"mine": ""}))


def test_scores_after_tuning_are_the_mean_over_seeds_without_intervals():
    runs = [made_probing(2, 3, ("mrpc",), seed=seed) for seed in range(3)]
    mean = mean_scores(runs)["probe"]
    expected = np.mean([one["probe"]["test"].values for one in runs], axis=0)
    np.testing.assert_allclose(mean["test"].values, expected)
    assert bool(mean["low"].isnull().all())
    assert mean_scores(runs[:1]) is runs[0]
    before, after = state_rows({"mine": {"mrpc": {"before": runs[0], "last layer": runs[1]}}})
    one, other = (run["probe"]["test"].values.ravel() for run in runs[:2])
    assert after["Spearman with before"] == pytest.approx(stats.spearmanr(one, other).statistic)
    assert after["mean over heads"] == pytest.approx(100 * other.mean())
    found = (before["Spearman with before"], before["best head"])
    assert found == (None, pytest.approx(100 * one.max()))


def test_neighbours_of_the_best_heads_are_beside_them_and_in_the_next_layers():
    before = made_probing(3, 4, ("mrpc",))
    scores = np.zeros((1, 3, 4))
    scores[0, 1, 1] = 0.9  # the best tenth of twelve heads, with four neighbours
    gains_by_head = np.zeros((1, 3, 4))
    for layer, head, gain in ((0, 1, 0.01), (2, 1, 0.02), (1, 0, 0.03), (1, 2, 0.04), (0, 0, 1)):
        gains_by_head[0, layer, head] = gain

    def with_scores(test: Any) -> Atlas:
        dims = ("task", "layer", "head")
        return Atlas.build({"probe": before["probe"].assign(test=(dims, test))}, {})

    states = {"before": with_scores(scores), "last layer": with_scores(scores + gains_by_head)}
    quantile = np.nanquantile(scores, 0.9)
    assert quantile == 0  # ties: all heads count as best, so none is a neighbour only
    scores += np.linspace(0, 1e-3, 12).reshape(1, 3, 4)
    states = {"before": with_scores(scores), "last layer": with_scores(scores + gains_by_head)}
    best = [(1, 1), (2, 3)]  # two of twelve reach the ninth decile
    near = {
        (layer + down, head + right)
        for layer, head in best
        for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))
        if 0 <= layer + down < 3 and 0 <= head + right < 4
    }
    expected = 100 * np.mean([gains_by_head[0][place] for place in near - set(best)])
    assert neighbour_gains({"mrpc": states}) == pytest.approx([expected])
