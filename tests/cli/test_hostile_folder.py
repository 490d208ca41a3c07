"""A folder with files that have the names of libraries: nothing in it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

import headscope as hs

PLANTED = """
import os
with open(os.environ["TRACE"], "a") as trace:
    trace.write(__name__ + "\\n")
raise SystemExit("a file of the current folder ran")
"""
MEASURE = """
import headscope as hs
from sibling import largest

class Mine(hs.Measure):
    name, title, unit, source = "mine", "Largest weight", "share of attention", "a test"
    dims = {"of": ("map",)}

    def layer(self, view, attention, prepared):
        return largest(attention)[..., None]
"""
SIBLING = "def largest(attention):\n    return attention.amax((2, 3))\n"
SCRIPT = [str(Path(sys.executable).with_name("headscope"))]
MODULE = [sys.executable, "-m", "headscope"]
PYTHONS_OWN = {
    *("collections", "contextlib", "functools", "importlib", "keyword", "operator", "reprlib"),
    *("types", "warnings"),
}
"""What ``python -m`` imports from the current folder before it runs anything of ours."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A file for every module of Python and of the packages that are installed."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in {*sys.stdlib_module_names, *packages_distributions(), "loky"} - {"headscope"}:
        if name.isidentifier():
            (folder / f"{name}.py").write_text(PLANTED)
    for name in ("netCDF4", "json", "loky", "joblib", "numpy", "torch", "typing"):
        assert (folder / f"{name}.py").exists()
    return folder


@pytest.fixture(scope="module")
def given(tmp_path_factory, tiny_folder):
    """What the commands are about, in a folder of its own."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "texts.txt").write_text("the cat sat on a mat.\na dog saw it.\n")
    (folder / "mine.py").write_text(MEASURE)
    (folder / "sibling.py").write_text(SIBLING)
    made = hs.survey(tiny_folder, ["the cat sat."], measures="entropy", max_length=40)
    cut = made.save(folder / "run.nc").read_bytes()[:-80]
    (folder / "cut.nc").write_bytes(cut)
    return folder


def what_ran(
    hostile: Path, command: list[str], *arguments: str | Path
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a command in the folder; what it said, and the files of the folder that ran."""
    trace = hostile / "trace"
    trace.unlink(missing_ok=True)
    kept = [(hostile / f"{name}.py") for name in PYTHONS_OWN if command is MODULE]
    for file in kept:
        file.unlink()
    env = os.environ | {"TRACE": str(trace)}
    env.pop("PYTHONSAFEPATH", None)
    try:
        done = subprocess.run(
            [*command, *map(str, arguments)],
            cwd=hostile,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for file in kept:
            file.write_text(PLANTED)
    return done, trace.read_text().split() if trace.exists() else []


@pytest.mark.parametrize("command", [SCRIPT, MODULE], ids=["script", "module"])
def test_looking_at_results_runs_nothing_of_the_current_folder(hostile, given, command):
    done, ran = what_ran(hostile, command, "ls", given / "run.nc")
    assert ran == []
    assert done.returncode == 0, done.stderr
    done, ran = what_ran(hostile, command, "ls", given / "cut.nc")
    assert ran == []
    assert "the digest at its end is missing" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "command"),
    [("processes", MODULE), ("ray", SCRIPT)],
    ids=["processes, module", "ray, script"],
)
def test_no_worker_runs_what_is_in_the_current_folder_but_files_beside_a_measure_s_do(
    hostile, given, tiny_folder, tmp_path, command, engine
):
    if engine == "ray" and find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    survey = ["survey", tiny_folder, given / "texts.txt", "--lines", "--max-length", "40"]
    measures = ["--measure", "entropy", "--measure-file", given / "mine.py"]
    how = ["-o", tmp_path / "run.nc", "--engine", engine, "--workers", "1"]
    done, ran = what_ran(hostile, command, *survey, *measures, *how)
    assert ran == []
    assert done.returncode == 0, done.stderr
    assert hs.open(tmp_path / "run.nc").measures == ("entropy", "mine")


def test_the_folder_would_be_noticed(hostile):
    _, ran = what_ran(hostile, [sys.executable, "-m", "json.tool"], "--help")
    assert ran
