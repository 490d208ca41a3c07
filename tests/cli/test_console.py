"""Where things are said: the result on standard output, everything else on standard error, nothing
when asked to be quiet.
"""

from __future__ import annotations

import json
import math

import pytest

from cli.conftest import MEASURES
from headscope.cli.console import Console


def test_json_stands_alone_on_standard_output_while_the_rest_goes_to_standard_error(demo_nc):
    rows = json.loads(demo_nc.with_name("out.json").read_text(encoding="utf-8"))
    assert {row["measure"] for row in rows} >= {"position", "special", "entropy"}
    assert {row["heads"] for row in rows} == {6 * 12}
    best = next(row for row in rows if (row["measure"], row["label"]) == ("position", "previous"))
    assert best["strongest"] == "1-3"
    said = demo_nc.with_name("err.txt").read_text(encoding="utf-8").splitlines()
    assert "6 examples used; nothing cut or dropped" in said
    text = " ".join(line.strip() for line in said)
    assert "look at the previous token, most clearly 1-3, " in text
    assert all(len(line) <= 100 for line in said if line.startswith("* "))
    assert said[-5:] == [
        f"all statistics: headscope table {demo_nc} statistics",
        f"next: headscope report {demo_nc}",
        f"      headscope head {demo_nc} HEAD",
        f"      headscope table {demo_nc} roles",
        str(demo_nc),
    ]


def test_json_has_null_where_a_number_is_not_defined(run, tmp_path, causal_folder, text):
    done = run(
        "survey", causal_folder, text, *MEASURES, "--max-length 32 -o", tmp_path / "x.nc", "--json"
    )
    rows = {
        (row["measure"], row["label"]): row
        for row in json.loads(done.out, parse_constant=pytest.fail)
    }
    assert ("position", "next") not in rows  # a causal model sees no next token
    assert rows["position", "previous"]["value"] > 0
    assert rows["entropy", "all"]["over"] is None  # not a share


def test_a_table_has_a_dash_where_a_number_is_not_defined(run, tmp_path, causal_folder, text):
    done = run("survey", causal_folder, text, "--max-length", "32", "-o", tmp_path / "x.nc")
    row = next(line for line in done.out.splitlines() if "entropy of attention from all" in line)
    assert "–" in [cell.strip() for cell in row.split("│")]  # heads over 0.5: not a share
    assert "nan" not in done.out.lower()


@pytest.mark.parametrize("flag", ["--quiet", "-q"])
def test_a_quiet_survey_says_only_where_the_results_are(run, tmp_path, tiny_folder, text, flag):
    output = tmp_path / "x.nc"
    done = run("survey", tiny_folder, text, "--max-length", "32", "-o", output, flag)
    assert (done.code, done.out, done.err) == (0, f"{output}\n", "")


def test_a_quiet_survey_with_json_says_only_the_json(run, tmp_path, tiny_folder, text):
    how = (*MEASURES, "--max-length 32 --json --quiet -o", tmp_path / "x.nc")
    done = run("survey", tiny_folder, text, *how)
    assert done.err == ""
    assert len(json.loads(done.out)) == 15


@pytest.mark.parametrize("command", ["ls", "figures", "report", "export", "merge"])
def test_the_other_commands_are_silent_on_standard_error_when_quiet(
    run, tmp_path, small_nc, command
):
    output = {
        "ls": [],
        "figures": ["--figure", "entropy", "-o", tmp_path / "f"],
        "report": [],
        "export": ["-o", tmp_path / "x.csv"],
        "merge": ["-o", tmp_path / "whole.nc"],
    }
    done = run(command, small_nc, *output[command], "--quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out


def test_an_error_is_told_even_when_quiet(run):
    done = run("ls", "nowhere.nc", "--quiet")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: no such results file: nowhere.nc\nnext:  ")


def test_a_survey_tells_what_was_cut(run, tmp_path, tiny_folder, text):
    done = run("survey", tiny_folder, text, "--max-length", "8", "-o", tmp_path / "x.nc")
    assert "2 examples used; 2 cut to the maximum length" in done.err


def test_a_survey_names_what_was_left_out(run, tmp_path, tiny_folder, text):
    text.write_text("A cat.\n\nA dog.\n\n" + "The cat sat on the mat. " * 20 + "\n\nA bird.\n")
    done = run("survey", tiny_folder, text, "--max-length 32 --long drop -o", tmp_path / "x.nc")
    assert "1 example used; 1 dropped as too long" in done.err
    assert "more than 32 tokens" in next(
        line for line in done.err.splitlines() if "skipped:" in line
    )


def test_markup_in_a_name_is_shown_as_it_is(capsys):
    Console().table([{"of": "[bold]x[/bold] [SEP]"}])
    assert "[bold]x[/bold] [SEP]" in capsys.readouterr().out


def test_a_table_without_rows_is_an_empty_list_in_json(capsys):
    Console(as_json=True).table([])
    assert json.loads(capsys.readouterr().out) == []


def test_json_keeps_numbers_of_numpy_and_letters_of_every_script(capsys):
    import numpy as np

    Console(as_json=True).table(
        [{"a": np.float64(0.25), "b": np.int64(3), "c": math.nan, "d": "häuser"}]
    )
    assert json.loads(capsys.readouterr().out) == [{"a": 0.25, "b": 3, "c": None, "d": "häuser"}]


def test_a_log_has_a_line_on_progress_now_and_then(monkeypatch, capsys):
    now = [1000.0]
    monkeypatch.setattr("headscope.progress.time.monotonic", lambda: now[0])
    with Console().progress("surveying") as tell:
        assert tell is not None
        for done in range(300, 341):  # 300 were done before; each of the others takes 2 seconds
            tell(done, 340)
            now[0] += 2
    assert capsys.readouterr().err.splitlines() == [
        "surveying: 315/340 · 0:30 elapsed · about 0:50 left",
        "surveying: 330/340 · 1:00 elapsed · about 0:20 left",
        "surveying: 340 of 340 in 1:22",
    ]
    with Console(quiet=True).progress("surveying") as tell:
        tell(1, 2)
    with Console().progress("nothing"):
        pass
    assert capsys.readouterr().err == ""
