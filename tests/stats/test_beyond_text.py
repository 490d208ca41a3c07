"""Sentences about heads beyond ordinary text, from results made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headscope.results import Atlas
from headscope.stats import model_summary
from headscope.stats.heads.findings import retrieving_heads
from headscope.stats.words.describe import findings_of

HEADS = {"layer": [1, 2], "head": [1, 2]}
GRID = ("layer", "head")


def scored(mean: list[float], width: float, kind: str = "mean") -> xr.Dataset:
    values = np.array(mean).reshape(2, 2)
    cells = {"mean": values, "low": values - width, "high": values + width}
    cells["n"] = np.full((2, 2), 9)
    return xr.Dataset({name: (GRID, array) for name, array in cells.items()}, HEADS, {"kind": kind})


@pytest.fixture(scope="module")
def results() -> Atlas:
    zero = [0.0] * 4
    scores = {"induction": [0.0, 0.35, 0.9, 0.0], "duplicate": zero, "previous": [0.97, 0, 0, 0]}
    synthetic = xr.concat(
        [scored(values, 0.1).expand_dims(score=[name]) for name, values in scores.items()], "score"
    )
    groups = {
        "synthetic": synthetic.assign_attrs(kind="mean"),
        "copying": scored([-0.9, 0.2, 0.93, 0.5], np.nan, "weights"),
        "retrieval": scored([0.02, 0.15, 0.8, 0.3], 0.2),
    }
    return Atlas.build(groups, {"model": {"name": "made", "layers": 2, "heads": 2}})


def test_only_sure_and_strong_scores_are_said(results: Atlas) -> None:
    analysis = results.analysis
    found = {head: findings_of(analysis, head) for head in analysis.heads}
    twice = (
        "Where random tokens are written twice, {} of its attention in the second copy is on {}."
    )
    assert found["1-1"] == [twice.format("97 %", "the token before")]
    assert found["2-1"] == [
        twice.format("90 %", "what followed the same token in the first (induction)"),
        "By its weights it copies what it attends to (copying score 0.93).",
        "It copies answers out of long texts: retrieval score 0.80 (0.60 to 1.00).",
    ]
    assert not found["1-2"]  # 0.35 ± 0.1 and 0.15 ± 0.2 are not sure, and 0.2 is not strong
    assert [line.partition(" (")[0] for line in found["2-2"]] == [
        "By its weights it copies what it attends to",
        "It copies answers out of long texts: retrieval score 0.30",
    ]


def test_the_description_and_the_summary_have_them(results: Atlas) -> None:
    assert findings_of(results.analysis, "2-1")[-1].startswith("It copies answers")
    assert retrieving_heads(results) == ["2-1", "2-2"]
    lines = [line.text for line in model_summary(results)]
    expected = "2 heads (2-1, 2-2) copy answers out of long texts (retrieval score of 0.1 or more)."
    assert expected in lines
