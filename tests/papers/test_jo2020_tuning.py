"""Table 4 and Figure 4: medians, gains and means over seeds, from the paper's own numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headscope.papers.jo2020 import facts
from headscope.papers.jo2020.tuning import STATES, gain_rows, mean_scores, state_rows, tuning_rows
from headscope.tasks import find_task
from stats.made_probing import made_probing

TASKS = [find_task(name) for name in ("mrpc", "sts-b", "sst-2")]


def tuned(encoder: str, spread: tuple[float, ...]) -> dict[str, Any]:
    """Runs by task and state whose median over seeds is the paper's number."""
    runs: dict[str, Any] = {}
    for task in TASKS:
        rows = {row.metric: row for row in facts.TABLE_4[encoder] if row.task == task.name}
        runs[task.name] = {
            state: [
                SimpleNamespace(
                    scores={
                        metric: (getattr(row, part) + away) / 100 for metric, row in rows.items()
                    }
                )
                for away in (spread if part == "top" else [0.0] * len(spread))
            ]
            for state, part in zip(STATES, ("last", "best", "top"), strict=True)
        }
    return runs


@pytest.mark.parametrize("encoder", ["BERT base", "BERT large"])
def test_medians_and_mean_gains_of_the_papers_numbers_are_the_papers(encoder: str) -> None:
    done = {"mine": tuned(encoder, (-0.5, 0.0, 0.25))}
    rows = tuning_rows(TASKS, done, {"mine": encoder})
    assert [row["task"] for row in rows] == [
        "MRPC (f1)",
        "MRPC (accuracy)",
        "STS-B (pearson)",
        "STS-B (spearman)",
        "SST-2 (accuracy)",
    ]
    for row in rows:
        for state in STATES:
            assert float(row[state].split()[0]) == row[f"{state}: paper"]
    best, top = gain_rows(TASKS, done, {"mine": encoder})
    assert float(top["mean gain"]) == facts.TUNED_GAINS[encoder]
    assert top["paper"] == f"+{facts.TUNED_GAINS[encoder]}"
    assert float(top["lowest seed"]) == pytest.approx(facts.TUNED_GAINS[encoder] - 0.5)
    assert float(top["highest seed"]) == pytest.approx(facts.TUNED_GAINS[encoder] + 0.25)
    differences = [row.best - row.last for row in facts.TABLE_4[encoder]]
    assert float(best["mean gain"]) == pytest.approx(np.mean(differences), abs=0.005)


def test_a_model_that_is_no_published_encoder_has_no_published_numbers() -> None:
    done = {"mine": tuned("BERT base", (0.0,))}
    assert not any("paper" in key for row in tuning_rows(TASKS, done, {"mine": ""}) for key in row)
    assert not any("paper" in row for row in gain_rows(TASKS, done, {"mine": ""}))


def test_scores_after_tuning_are_the_mean_over_seeds_without_intervals() -> None:
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
    assert (before["Spearman with before"], before["best head"]) == (
        None,
        pytest.approx(100 * one.max()),
    )
