"""The recipe of Kovaleva et al. on a tiny model and a tiny task: every part of the paper is on the page, and nothing is done twice."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Run
from cli.test_mistakes import mistake
from headscope.papers.kovaleva2019 import facts
from headscope.results import Results
from papers.conftest import rows_of

ROWS = [
    ("The old cat slept.", "A dog saw the ball.", "not_entailment"),
    ("She did not see him.", "He never saw her.", "entailment"),
] * 6


@pytest.fixture
def glue(tmp_path: Path) -> Path:
    """A folder as GLUE has it, with a small RTE."""
    folder = tmp_path / "glue"
    (folder / "RTE").mkdir(parents=True)
    lines = [
        "index\tsentence1\tsentence2\tlabel",
        *(f"{number}\t{one}\t{two}\t{label}" for number, (one, two, label) in enumerate(ROWS)),
    ]
    for split in ("train", "dev"):
        (folder / "RTE" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
def test_the_whole_paper_from_the_command_line(
    run: Run, tiny_folder: Path, glue: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "kovaleva"
    asked = (
        "paper",
        "kovaleva2019",
        "--model",
        tiny_folder,
        "--task",
        "rte",
        "--data",
        glue,
        "--epochs",
        "1",
        "--max-length",
        "48",
        "--limit",
        "6",
        "-o",
        folder,
    )
    done = run(*asked)
    assert (done.code, done.out) == (0, f"{folder / 'kovaleva2019.html'}\n"), done.err
    page = (folder / "kovaleva2019.html").read_text(encoding="utf-8")
    assert "Left out" not in page
    for section in ("glue", "patterns", "frames", "change-rte", "off-rte"):
        assert f'<h2 id="{section}">' in page
    table = next(row for row in rows_of(folder / "kovaleva2019.html") if row and row[0] == "RTE")
    assert [cell.strip() for cell in table if cell.strip() in ("52.7", "64.6")] == [
        "52.7",
        "52.7",
        "64.6",
    ]
    for name in (
        "patterns-by-task",
        "pattern-layers",
        "pattern-heads",
        "frames",
        "change-rte",
        "features-change-rte",
        "from-cls-rte",
        "head-off-rte",
        "layer-off-rte",
    ):
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name
    # the untrained start is the pretrained encoder itself, so that only the classifier is new; the tuned one is another model
    change = Results.open(folder / "change-rte.nc")["change"]
    assert bool((change["mean"] < 1 - 1e-7).any())
    assert float(change["mean"].max()) <= 1 + 1e-6
    kept = {
        path: path.stat().st_mtime_ns
        for path in [*folder.glob("*.nc"), *folder.rglob("headscope-tune.json")]
    }
    assert run(*asked).code == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_an_unknown_task_start_or_way(run: Run, glue: Path, tmp_path: Path) -> None:
    assert mistake(
        run("paper", "kovaleva2019", "--task", "rtee", "--data", glue, "-o", tmp_path / "x")
    )[0].endswith("Did you mean 'rte'?")
    assert mistake(run("paper", "kovaleva2019", "--start", "cold", "-o", tmp_path / "x"))[
        0
    ].startswith("the start must be one of pretrained, random, untrained")
    assert not (tmp_path / "x").exists()


def test_the_facts_are_those_of_the_paper(shared: Path) -> None:
    paper = re.sub(
        r"\s+", " ", (shared / "papers" / "kovaleva2019.txt").read_text(encoding="utf-8")
    )
    gains = facts.KOVALEVA_GAINS
    assert (
        f"ranging from the minimum absolute gain of {gains['sts-b']}% for STS-B, to the maximum of {gains['mrpc']}% for MRPC"
        in paper
    )
    assert (
        f"disabling the first layer in the RTE task gives a significant boost, resulting in an absolute performance gain of {facts.KOVALEVA_LAYER_GAIN['rte']}%"
        in paper
    )
    assert "account for {} and {}".format(*facts.KOVALEVA_FRAME_HEADS) in paper
    assert np.isclose(facts.KOVALEVA_MEAN_GAIN, 35.9)
    assert f"{facts.KOVALEVA_MEAN_GAIN}" in paper
