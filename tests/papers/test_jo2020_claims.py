"""The claims of Jo and Myaeng 2020: each rule on scores that were made to meet it or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headscope.papers.claims import Finding
from headscope.papers.jo2020.claims import CLAIMS, findings
from headscope.papers.jo2020.release import read_release
from headscope.results import Atlas
from stats.made_probing import TEN, changed, made_probing


def by_layer(layers: int, score: Callable[[str, float], float]) -> Atlas:
    """Heads whose test score depends on the task and on how high their layer is, 0 to 1."""
    results = made_probing(layers, 4)
    heights = np.linspace(0, 1, layers)
    tiny = np.linspace(0, 1e-3, 4)
    test = np.array([[score(task, at) + tiny for at in heights] for task in TEN])
    return changed(results, "probe", test=lambda _: test)


def holds(found: list[Finding], name: str) -> bool | None:
    return next(one.holds for one in found if one.claim.text == CLAIMS[name].text)


def test_claims_about_layers_hold_where_scores_were_made_so_and_not_the_other_way_round() -> None:
    def paper(task: str, at: float) -> float:
        if task in ("sentence_length", "tree_depth"):
            return 0.8 - 0.2 * at
        if task in ("subj_number", "coordination_inversion"):
            return 0.8 - abs(at - 0.5)
        return 0.5 + 0.2 * at

    def reverse(task: str, at: float) -> float:
        if task in ("subj_number", "coordination_inversion"):
            return 0.5 + abs(at - 0.5)
        return 1.3 - paper(task, at)

    good = findings({"m": by_layer(7, paper)}, {})
    bad = findings({"m": by_layer(7, reverse)}, {})
    for name in ("low", "middle", "high"):
        assert (holds(good, name), holds(bad, name)) == (True, False), name
    assert holds(good, "upper") is None
    assert holds(good, "tuned") is holds(good, "last") is None


@pytest.mark.parametrize(("layers", "rise", "upper"), [(12, True, None), (24, False, False)])
def test_scores_that_rise_with_the_layer_fit_small_models_only(
    layers: int, rise: bool, upper: bool | None
) -> None:
    rising = findings({"m": by_layer(layers, lambda task, at: 0.5 + 0.2 * at)}, {})
    falling = findings({"m": by_layer(layers, lambda task, at: 0.7 - 0.2 * at)}, {})
    assert (holds(rising, "rise"), holds(falling, "rise")) == (rise, not rise)
    assert (holds(rising, "upper"), holds(falling, "upper")) == (upper, None if rise else True)
    assert holds(rising, "linear") is True


def test_claims_about_layers_and_top_heads_count_tasks() -> None:
    table = pd.DataFrame({"last": [50.0] * 10, "best": [50.0] + [55.0] * 9, "top": [60.0] * 10})
    found = findings({}, {"m": table})
    assert [holds(found, name) for name in ("last", "top", "gain")] == [True, True, True]
    worse = table.assign(top=[48.0, 54.0] + [60.0] * 8, best=[49.0] + [55.0] * 9)
    found = findings({}, {"m": worse})
    assert [holds(found, name) for name in ("last", "top", "gain")] == [False, False, True]
    here = {one.claim.text: one.here for one in found}
    assert here[CLAIMS["top"].text] == "8 of 10"
    assert here[CLAIMS["last"].text] == "9 of 10"


def test_claims_about_tuning_need_gains_and_rank_correlations() -> None:
    found = findings({}, {}, {"m": 0.82}, {"m": [(1.0, 0.9), (0.5, 0.6)]})
    assert (holds(found, "tuned"), holds(found, "amplified")) == (True, True)
    found = findings({}, {}, {"m": -0.1}, {"m": [(1.0, 0.9), (0.5, 0.4)]})
    assert (holds(found, "tuned"), holds(found, "amplified")) == (False, False)


@pytest.mark.shared
def test_two_claims_do_not_hold_in_the_authors_own_numbers(shared: Path) -> None:
    release = read_release(shared / "data" / "reference" / "jo2020_results.tar.gz")
    tables = {
        encoder: pd.DataFrame(list(rows.values()), columns=["last", "best", "top"])
        for encoder, rows in release.table.items()
    }
    found = findings(release.encoders, tables)
    verdicts = {name: holds(found, name) for name in CLAIMS}
    assert verdicts["low"] is verdicts["high"] is verdicts["linear"] is verdicts["last"] is True
    assert verdicts["top"] is verdicts["gain"] is True
    assert verdicts["middle"] is verdicts["upper"] is False
    here = {one.claim.text: one.here for one in found}
    # Means over (layer, head) of the released JSON, computed by a plain loop outside this project.
    assert "BERT large: syntactic 44.5 against 43.2" in here[CLAIMS["upper"].text]
    assert "BERT large: SubjNum layer 15 of 24" in here[CLAIMS["middle"].text]
    assert "GPT: 9 of 10" in here[CLAIMS["top"].text]
    assert here[CLAIMS["gain"].text].startswith("19.2 %")
