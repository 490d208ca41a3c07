"""Blocks that are done elsewhere and in any order: an engine in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope.corpus import from_texts, read
from headscope.errors import Interrupted
from headscope.results import Atlas
from headscope.runs.survey import SurveyOptions
from headscope.runs.survey.surveying import Survey
from runs.in_process import OddFirst, stop_after
from tiny import tiny_model

TEXTS = from_texts([f"the cat sat on {number} mats" for number in range(40)])


def run(output: Path | None, progress: Any = False, *, split: bool = False) -> Atlas:
    options = SurveyOptions(
        batch_size=1, max_length=30, measures=["entropy"], output=output, progress=progress
    )
    survey = Survey(tiny_model("bert"), read(TEXTS), options)
    survey.engine = OddFirst() if split else None
    return survey.execute()


@pytest.mark.parametrize(
    "stops",
    [
        [(True, 2), (False, 3), (True, 1)],
        [(False, 3), (True, 1), (False, 2), (True, 2)],
        # The second unit is done ahead; then the run stops here, within the third.
        [(True, 1), (False, 12)],
    ],
)
def test_every_example_is_counted_once_however_a_run_is_stopped_and_resumed(stops, tmp_path):
    whole = run(None)
    output = tmp_path / "run.nc"
    for split, steps in stops:
        with pytest.raises(Interrupted):
            run(output, stop_after(steps), split=split)
    found = run(output, split=True)
    assert found["entropy"].identical(whole["entropy"])
    assert found.provenance["counts"] == whole.provenance["counts"]
