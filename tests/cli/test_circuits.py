"""``headscope circuits`` and ``retrieval``: tables, files, what they refuse, and their reports."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import headscope as hs
from cli.test_mistakes import mistake
from planted_induction import INDUCTION, WORDS
from runs.retrieval.planted import LENGTH, NEEDLES, TEXTS, retrieving_model
from runs.test_vocabulary import planted as next_word_model
from runs.test_vocabulary import written


def test_the_strongest_heads_and_pairs_are_printed_and_all_saved(run, tiny_folder, tmp_path):
    path = tmp_path / "circuits.nc"
    asked = ("circuits", tiny_folder, "-o", path, "--top", 2, "--json", "--quiet")
    shown = json.loads(run(*asked).out)
    atlas = hs.open(path)
    copying = atlas["copying"]["mean"].values
    assert [row["copying"] for row in shown["copying"]] == pytest.approx(
        sorted(copying.ravel(), reverse=True)[:2]
    )
    excess = atlas["composition"]["excess"]
    for row in shown["composition"]:
        pairs = [[int(part) for part in row[way].split("-")] for way in ("from", "into")]
        (from_layer, from_head), (layer, head) = pairs
        one = excess.sel(kind=row["kind"], layer=layer, head=head)
        value = float(one.sel(from_layer=from_layer, from_head=from_head))
        assert row["excess"] == pytest.approx(value)
    best = [row["excess"] for row in shown["composition"] if row["kind"] == "K"]
    assert best[0] == pytest.approx(float(excess.sel(kind="K").max()))
    assert len(shown["composition"]) == 6


def test_what_is_left_out_is_said_and_the_file_is_the_result(run, tiny_folder, tmp_path):
    done = run("circuits", tiny_folder, "-o", tmp_path / "circuits.nc")
    assert done.out.splitlines()[-1] == str(tmp_path / "circuits.nc")
    assert "Copying heads" in done.out
    assert "note: this model normalises the residual stream itself (post-norm)" in done.err


def test_a_report_shows_circuits_beside_the_survey_of_the_same_weights(run, tiny_folder, tmp_path):
    survey, circuits, page = (tmp_path / name for name in ("s.nc", "c.nc", "page.html"))
    texts = ["the cat sat", "a small bird sang"]
    hs.survey(str(tiny_folder), texts, measures="position", max_length=32, output=survey)
    run("circuits", tiny_folder, "-o", circuits, "--quiet")
    for given in (("--circuits", circuits), (circuits,)):
        page.unlink(missing_ok=True)
        run("report", survey, *given, "-o", page, "--quiet")
        assert page.exists()
    error, _ = mistake(run("report", circuits, "--circuits", survey, "-o", page, "--quiet"))
    assert error == "these results are not circuits"


def test_a_stack_that_has_no_circuits_is_refused(run, tiny_folder):
    error, after = mistake(run("circuits", tiny_folder, "--circuits.stack", "cross", "--quiet"))
    assert error.startswith("circuits are not defined for cross attention")
    assert after == "use --circuits.stack encoder or --circuits.stack decoder"


def test_relations_are_given_and_shown_on_the_command_line(run, tmp_path):
    pairs = list(pairwise(WORDS[1:]))
    with next_word_model(1) as model:
        model.network.save_pretrained(tmp_path / "model")
        model.tokenizer.save_pretrained(tmp_path / "model")
    output = tmp_path / "c.nc"
    asked = ("circuits", tmp_path / "model", "--relations", written(tmp_path, pairs), "-o", output)
    shown = json.loads(run(*asked, "--within", 1, "--json", "--quiet").out)
    assert shown["vocabulary"][0] | {"next": ""} == {
        "relation": "next", "embedding": "plain", "pairs": 6, "head": INDUCTION, "share": 1.0,
        "next": "",
    }  # fmt: skip
    table = run("table", output, "vocabulary").out
    assert table.index("next") < table.index(INDUCTION) < table.index("copy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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


def test_the_planted_head_is_printed_first_and_a_report_shows_it(run, folder):
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


def test_an_encoder_is_refused_and_told_why(run, tiny_folder, tmp_path):
    output = tmp_path / "r.nc"
    error, after = mistake(run("retrieval", tiny_folder, "-o", output, "--quiet"))
    assert "is not a decoder-only language model: retrieval heads copy an answer" in error
    assert after == "choose a causal language model, such as 'demo-llm'"
    error, _ = mistake(run("retrieval", tiny_folder, "--needles", 99, "-o", output, "--quiet"))
    assert error == "the number of needles must be from 1 to 24, got 99 instead"
    assert not output.exists()
