"""``headscope plan``: what it prints runs as it is, and adds up to the survey in one piece."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

import headscope as hs
from cli.conftest import Run
from cli.test_mistakes import mistake

OPTIONS = ("--limit", "20", "--batch-size", "1", "--max-length", "40", "--measure", "position")
"""Twenty examples one by one: units of work of 8, 8 and 4."""
SMALL = ("demo", "demo", *OPTIONS)
SBATCH = """\
#!{python}
import os, subprocess, sys
script = sys.stdin.read()
with open("submitted", "a") as log:
    print(*sys.argv[1:], file=log)
last = next((word.split("-")[-1] for word in sys.argv if word.startswith("--array=1-")), "")
for number in range(1, int(last or 1) + 1):
    task = {{"SLURM_ARRAY_TASK_ID": str(number)}} if last else {{}}
    subprocess.run(["bash", "-eu"], input=script, text=True, check=True, env=os.environ | task,
                   stdout=sys.stderr)
print("7;cluster" if "--parsable" in sys.argv else "Submitted batch job 8")
"""
"""A stand-in for Slurm's command that runs a job at once, and an array task by task."""
HEADSCOPE = """\
#!{python}
import json, sys
with open("commands", "a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
"""
"""A stand-in for our command that writes down what it is asked to do."""


@pytest.fixture(scope="module")
def whole(tiny_folder: Path) -> hs.Atlas:
    """The survey in one piece."""
    return hs.survey(
        str(tiny_folder), "demo", limit=20, batch_size=1, max_length=40, measures="position"
    )


def same(merged: hs.Atlas, whole: hs.Atlas) -> None:
    xr.testing.assert_identical(merged["position"], whole["position"])
    assert merged.provenance["shards"] == ["1/1"]
    assert merged.provenance["counts"] == whole.provenance["counts"]


@pytest.mark.parametrize("shards", [2, 3])
def test_the_commands_give_the_numbers_of_the_whole(
    run: Run, tmp_path: Path, tiny_folder: Path, whole: hs.Atlas, shards: int
) -> None:
    planned = run(
        "plan", tiny_folder, "demo", *OPTIONS, "--shards", shards, "-o", tmp_path / "merged.nc"
    )
    assert planned.code == 0
    assert planned.err == (
        f"examples: 20; units of work (8 batches of 1 each): 3; shards: {shards}\n"
    )
    *surveys, merge = (shlex.split(line) for line in planned.out.splitlines())
    assert len(surveys) == shards
    assert [words[:2] for words in (*surveys, merge)] == [
        *[["headscope", "survey"]] * shards,
        ["headscope", "merge"],
    ]
    for words in (*surveys, merge):
        assert run(*words[1:]).code == 0
    seen = [
        hs.open(tmp_path / f"merged-{number}-of-{shards}.nc").provenance["counts"]["seen"]
        for number in range(1, shards + 1)
    ]
    assert seen == ([12, 8] if shards == 2 else [8, 8, 4])
    same(hs.open(tmp_path / "merged.nc"), whole)


def test_the_slurm_script_submits_an_array_and_a_merge_that_waits_for_it(
    run: Run, tmp_path: Path, tiny_folder: Path, whole: hs.Atlas
) -> None:
    stand_ins = {
        "sbatch": SBATCH.format(python=sys.executable),
        "headscope": HEADSCOPE.format(python=sys.executable),
    }
    (tmp_path / "bin").mkdir()
    for name, text in stand_ins.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    output = tmp_path / "it's $HOME {1..2}.nc"
    planned = run("plan", tiny_folder, "demo", *OPTIONS, "--shards", "2", "--slurm", "-o", output)
    assert planned.code == 0
    (tmp_path / "survey.sh").write_text(planned.out)
    subprocess.run(["bash", "-n", "survey.sh"], cwd=tmp_path, check=True)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "survey.sh", "--partition=short"],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Submitted batch job 8\n"
    assert (tmp_path / "submitted").read_text().splitlines() == [
        "--parsable --job-name=headscope-survey --array=1-2 --partition=short",
        "--job-name=headscope-merge --dependency=afterok:7 --kill-on-invalid-dep=yes "
        "--partition=short",
    ]
    commands = (tmp_path / "commands").read_text().splitlines()
    assert len(commands) == 3  # two parts of the survey, and the merge
    for words in map(json.loads, commands):
        assert run(*words).code == 0
    same(hs.open(output), whole)


def test_arguments_are_quoted_for_the_shell(run: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "it's; echo $HOME.txt"
    corpus.write_text("\n\n".join(["A dog barks."] * 9))
    given = ["--single", "--batch-size", "1", "demo", str(corpus)]  # options may come first
    planned = run("plan", *given, "--shards", "2", "-q", "-o", "a b.nc")
    assert planned.err == ""
    first, *_ = planned.out.splitlines()
    expected = ["headscope", "survey", *given, "--shard", "1/2", "-o", "a b-1-of-2.nc"]
    echo = f"import sys; assert sys.argv[1:] == {expected!r}, sys.argv[1:]"
    subprocess.run(
        ["sh", "-c", f"{shlex.quote(sys.executable)} -c {shlex.quote(echo)} {first}"], check=True
    )


def test_a_plan_for_larger_machines_may_have_more_workers_than_there_are_cores_here(
    run: Run,
) -> None:
    planned = run("plan", *SMALL, "--shards", "2", "--engine", "processes", "--workers", "4096")
    assert planned.code == 0
    assert "--engine processes --workers 4096 --shard 1/2 " in planned.out


def test_more_shards_than_units_of_work(run: Run) -> None:
    assert mistake(run("plan", *SMALL, "--shards", "4")) == (
        "the number of shards must be at most 3, the number of units of work (8 batches of 1 "
        "each), got 4 instead",
        "give --shards 3, or a smaller --batch-size",
    )


def test_no_shards(run: Run) -> None:
    assert mistake(run("plan", *SMALL, "--shards", "0")) == (
        "the number of shards must be 1 or more, got 0 instead",
        "see headscope plan --help",
    )


def test_a_shard_of_a_plan(run: Run) -> None:
    assert mistake(run("plan", *SMALL, "--shards", "2", "--shard", "1/2")) == (
        "a plan has all shards, got --shard 1/2",
        "leave --shard out; --shards says how many there are",
    )


def test_what_is_wrong_with_the_survey_is_found_when_it_is_planned(run: Run) -> None:
    error, _ = mistake(run("plan", *SMALL, "--shards", "2", "--measure", "entrpy"))
    assert error.endswith("got 'entrpy' instead. Did you mean 'entropy'?")
    assert mistake(run("plan", "demo", "nowhere.txt", "--shards", "2"))[0] == (
        "no such corpus file: nowhere.txt"
    )
    unknown = run("plan", *SMALL, "--shards", "2", "--limt", "3")
    assert (unknown.code, unknown.out) == (2, "")
    assert "No such option: --limt" in unknown.err


def test_a_plan_needs_no_torch() -> None:
    script = (
        "import sys\n"
        "from headscope.cli import main\n"
        f"sys.argv = ['headscope', 'plan', *{SMALL!r}, '--shards', '2', '-q']\n"
        "try:\n    main()\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
