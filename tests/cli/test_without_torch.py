"""What needs no torch works where there is none, and mistakes are found before it is imported.

One process for many commands: most of its time goes into starting.
"""

from __future__ import annotations

import pytest

from cli.test_engines import COMMANDS
from cli.test_engines import MISTAKES as WORKERS
from headscope import papers
from page.samples import made_results
from processes import python

SCRIPT = """
import io, sys
from contextlib import redirect_stderr, redirect_stdout
from headscope.cli import main

for words, code, named in {lines!r}:
    sys.argv, ended, told = ["headscope", *words], 0, io.StringIO()
    try:
        with redirect_stderr(told), redirect_stdout(io.StringIO()):
            main()
    except SystemExit as stop:
        ended = stop.code or 0
    assert ended == code, (words, ended, told.getvalue())
    assert "Traceback" not in told.getvalue(), words
    errors = [line for line in told.getvalue().splitlines() if line.startswith("error: ")]
    assert len(errors) == (code == 2) and (not errors or named in errors[0]), (words, errors)
    loaded = {{"torch", "transformers", "ray", "joblib"}} & set(sys.modules)
    assert not loaded, (words, loaded)
"""
ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers"):
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Absent())
"""
TUNE = "tune demo --task rte --data nowhere"
MISTAKES = {
    "survey demo nothere.txt": "nothere.txt",
    "survey ./nothere demo": "./nothere",
    "survey demo demo --measure entrpy": "entrpy",
    "heads nothere.nc": "nothere.nc",
    "head made.nc 3to9": "3to9",
    "head made.nc 3-1": "3-1",
    "attention demo cat --head x": "a head must be given as LAYER-HEAD counted from 1",
    "attention demo cat -o cat.jpg": "the ending of the drawing must be one of .html, .pdf, ",
    "ablate demo --corpus demo --set 3to9": "3to9",
    "ablate demo --way none": "the way to disable a head must be one of",
    "ablate demo --dev nowhere.tsv": "nowhere.tsv",
    "ablate demo --corpus nowhere.txt": "nowhere.txt",
    "ablate ./nowhere": "./nowhere",
    TUNE: "nowhere",
    f"{TUNE} --pooling layer4": "a pooling must be last",
    f"{TUNE} --epochs 0": "the number of epochs must be 1 or more",
    "tune ./nowhere --task rte --data nowhere": "nowhere",
    "probe demo demo --solver adam": "the solver must be one of",
    "probe demo demo --position frist": "the position must be one of",
    "probe demo demo --task Tens": "Did you mean 'Tense'?",
    "probe demo nothing.txt": "nothing.txt",
    "probe ./no-model demo": "./no-model",
    **{
        f"paper {name} --part nothing": f"the part of {name} must be one of "
        + ", ".join(sorted(part.name for part in getattr(papers, paper.recipe).all_parts))
        for name, paper in papers.PAPERS.items()
    },
}


def start(folder, script, lines):
    code = script + SCRIPT.format(lines=lines)
    done = python("-c", code, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_mistakes_are_found_before_torch_is_imported(tmp_path):
    made_results().save(tmp_path / "made.nc")
    lines = [(words.split(), 2, named) for words, named in MISTAKES.items()]
    lines.append((["heads", "made.nc", "--where", "entropy <"], 2, "a number is expected"))
    for command, given in COMMANDS.items():
        for options, (error, _) in WORKERS.items():
            lines.append(([command, *given, *options], 2, error))
    start(tmp_path, "", lines)
    assert [path.name for path in tmp_path.iterdir()] == ["made.nc"]


def test_everything_but_a_survey_works_without_torch(tmp_path, demo_nc, small_nc):
    commands = (
        f"ls {small_nc}",
        f"report {small_nc}",
        f"export {small_nc} -o x.csv",
        f"merge {small_nc} -o merged.nc",
        f"figures {small_nc} -o f --figure entropy",
        f"examples {demo_nc} 1-1 --relation det",
    )
    start(tmp_path, ABSENT, [(line.split(), 0, "") for line in commands])
    assert (tmp_path / "f" / "entropy.png").is_file()
