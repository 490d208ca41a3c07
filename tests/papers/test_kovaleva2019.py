"""The recipe of Kovaleva et al. 2019 on a tiny model: all parts, and no work done twice."""

from __future__ import annotations

import re

import pytest

from cli.test_mistakes import mistake
from headscope.measures.patterns import RELIABLE
from headscope.models import load
from headscope.papers import kovaleva2019 as facts
from headscope.papers import recipe as base
from headscope.results import Atlas
from page.samples import rows_of, section_ids
from page.samples import said as said_on

ROWS = [
    ("The old cat slept.", "A dog saw the ball.", "not_entailment"),
    ("She did not see him.", "He never saw her.", "entailment"),
] * 6


@pytest.fixture
def glue(tmp_path):
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
def test_the_whole_paper_from_the_command_line(run, tiny_folder, glue, tmp_path, monkeypatch):
    folder = tmp_path / "kovaleva"
    how = "--epochs 3 --max-length 48 --limit 6 -o"  # the learning rate of the first step is 0
    asked = ("paper", "kovaleva2019", "--model", tiny_folder, "--task rte --data", glue)
    asked += (how, folder)
    done = run(*asked)
    assert (done.code, done.out) == (0, f"{folder / 'kovaleva2019.html'}\n"), done.err
    page = said_on(folder / "kovaleva2019.html")
    assert "Skipped" not in page
    parts = ["claims", "tuning", "patterns", "frames", "change", "disabling"]
    assert section_ids(folder / "kovaleva2019.html") == parts
    # what the paper says, and how far ours can be trusted
    for said in (
        "6 examples are few for a bootstrap",
        "published: 35.9 over seven tasks",
        "disabling the first layer gains 3.2 points on RTE",
        "Dev examples: RTE 6 of 12, drawn at random.",
    ):
        assert said in page, said
    assert not [
        cell for row in rows_of(folder / "kovaleva2019.html") for cell in row if "nan" in cell
    ]
    table = next(row for row in rows_of(folder / "kovaleva2019.html") if row and row[0] == "RTE")
    published = [cell.strip() for cell in table if cell.strip() in ("52.7", "64.6")]
    assert published == ["52.7", "52.7", "64.6"]
    names = "patterns-by-task pattern-layers pattern-heads frames appendix-rte features-change-rte"
    numbered = [f"figure-{number}" for number in (1, 5, 6, 7, 8, 9)]
    for name in (*names.split(), *numbered, "links-change"):
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name
    # patterns are surveyed at a length for which the network is reliable, whatever --max-length is
    patterns = Atlas.open(folder / "patterns-rte.nc").provenance["settings"]
    assert patterns["max_length"] == min(RELIABLE, load(tiny_folder).longest)
    assert patterns["max_length"] > 48
    assert "cut at 64 tokens, whatever the length of tuning" in page
    # the tuned model is another one than the pretrained
    change = Atlas.open(folder / "change-rte.nc")["change"]
    assert bool((change["mean"] < 1).any())
    assert float(change["mean"].max()) <= 1 + 1e-6
    kept = {
        path: path.stat().st_mtime_ns
        for path in [*folder.glob("*.nc"), *folder.rglob("headscope-tune.json")]
    }
    monkeypatch.setattr(base, "save_in_formats", lambda _chart, paths: paths)
    assert run(*asked).code == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_an_unknown_task_start_or_way(run, glue, tmp_path):
    for options, error in {
        ("--task rtee --data", glue): "Did you mean 'rte'?",
        ("--start", "cold"): "the start must be one of pretrained, random, untrained",
        ("--way", "none"): "the way of disabling heads must be one of mean, uniform, zero",
    }.items():
        assert error in mistake(run("paper", "kovaleva2019", *options, "-o", tmp_path / "x"))[0]
    assert not (tmp_path / "x").exists()


def test_the_facts_are_those_of_the_paper(shared):
    paper = re.sub(
        r"\s+", " ", (shared / "papers" / "kovaleva2019.txt").read_text(encoding="utf-8")
    )
    least, most = facts.GAINS["sts-b"], facts.GAINS["mrpc"]
    assert f"minimum absolute gain of {least}% for STS-B, to the maximum of {most}% for" in paper
    assert "disabling the first layer in the RTE task gives a significant boost" in paper
    assert f"an absolute performance gain of {facts.LAYER_GAIN['rte']}%" in paper
    mixed = facts.HETEROGENEOUS
    assert f"varies from {mixed['MRPC']}% (MRPC) to {mixed['QQP']}% (QQP)" in paper
    assert "account for {} and {}".format(*facts.FRAME_HEADS) in paper
    assert f"an average of {facts.MEAN_GAIN} points of absolute difference" in paper
