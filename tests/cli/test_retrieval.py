"""``headscope retrieval``: its tables and file, and the report beside a survey."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headscope as hs
from cli.conftest import Run
from cli.test_mistakes import mistake
from runs.retrieval.planted import LENGTH, NEEDLES, TEXTS, retrieving_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted model, its needles and its text, as files."""
    place = tmp_path_factory.mktemp("retrieval")
    with retrieving_model() as model:
        model.network.save_pretrained(place / "model")
        model.tokenizer.save_pretrained(place / "model")
    lines = [
        json.dumps({"text": one.text, "question": one.question, "answer": one.answer})
        for one in NEEDLES[:2]
    ]
    (place / "needles.jsonl").write_text("\n".join(lines))
    (place / "text.txt").write_text("\n".join(TEXTS))
    return place


def test_the_planted_head_is_printed_first_and_a_report_shows_it(run: Run, folder: Path) -> None:
    model, output, survey = folder / "model", folder / "r.nc", folder / "s.nc"
    asked = ["retrieval", model, folder / "text.txt", "--length", LENGTH]
    asked += ["--needles", folder / "needles.jsonl", "--draws", 1, "--top", 2, "-o", output]
    shown = json.loads(run(*asked, "--json", "--quiet").out)
    assert shown["recovered"] == [
        {"length": str(LENGTH), "prompts": 2, "recovered": 2, "share": 1.0, "recall": 1.0}
    ]
    assert shown["heads"][0]["head"] == "2-3"
    assert [row["recall"] for row in shown["masking"]] == [1.0, 0.0, 1.0]
    done = run(*asked)  # the results are opened, not made again
    assert done.out.splitlines()[-1] == str(output)
    for title in ("Answers recovered", "Retrieval heads", "Recovered answers with heads disabled"):
        assert title in done.out
    hs.survey(str(model), TEXTS, measures="position", max_length=32, output=survey)
    page = folder / "page.html"
    run("report", survey, "--retrieval", output, "-o", page, "--quiet")
    assert page.exists()
    error, _ = mistake(run("report", survey, "--retrieval", survey, "-o", page, "--quiet"))
    assert error == "these results are not retrieval scores"


def test_an_encoder_is_refused_and_told_why(run: Run, tiny_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.nc"
    error, after = mistake(run("retrieval", tiny_folder, "-o", output, "--quiet"))
    assert "is not a decoder-only language model: retrieval heads copy an answer" in error
    assert after == "choose a causal language model, such as 'demo-llm'"
    error, _ = mistake(run("retrieval", tiny_folder, "--needles", 99, "-o", output, "--quiet"))
    assert error == "the number of needles must be from 1 to 24, got 99 instead"
    assert not output.exists()
