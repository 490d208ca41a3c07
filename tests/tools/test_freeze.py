"""The tool that freezes numbers drives the command line of any source tree."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from freeze import running as freeze

FAKE = """
import pathlib, sys
print(sys.argv[1:])
pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_text("new" if "--fresh" in sys.argv else "")
sys.exit("electra" in " ".join(sys.argv))
"""


@pytest.fixture
def tree(tmp_path):
    """A source tree under git with a command line that only writes its output file."""
    package = tmp_path / "tree" / "src" / "headscope"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(FAKE)
    (tmp_path / "tree" / ".gitignore").write_text("__pycache__/\n")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "A tree"]):
        subprocess.run(["git", *words], cwd=tmp_path / "tree", check=True)
    return tmp_path / "tree"


@pytest.fixture
def data(tmp_path):
    """The part of the shared folder that is cut to size before the jobs run."""
    folder = tmp_path / "shared" / "data" / "glue" / "RTE"
    folder.mkdir(parents=True)
    for split in ("train", "dev"):
        with gzip.open(folder / f"{split}.tsv.gz", "wt") as file:
            file.writelines(f"{number}\n" for number in range(200))
    return tmp_path / "shared"


def test_jobs_run_once_with_the_sources_of_the_tree(tree, data, tmp_path, capsys):
    out = tmp_path / "out"
    for _ in range(2):
        assert freeze.run(tree, out, only="demo-tree*k", shared=data)
    assert (out / "demo-treebank.nc").exists()
    assert capsys.readouterr().out.count("demo-treebank ") == 1, "the second call has nothing to do"
    assert len((out / "glue" / "RTE" / "train.tsv").read_text().splitlines()) == 97
    record = json.loads((out / "run.json").read_text())
    assert record["commit"] == freeze.revision(tree, "HEAD")
    assert record["jobs"]["demo-treebank"]["words"][0] == "survey"


def test_a_failed_job_is_reported_and_run_again(tree, data, tmp_path, capsys):
    for _ in range(2):
        assert not freeze.run(tree, tmp_path / "out", only="electra-mini-frames", shared=data)
    assert capsys.readouterr().out.count("FAILED") == 2


def commit(tree: Path, message: str) -> str:
    """Commit everything in a tree."""
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["add", "."], [*who, "commit", "--allow-empty", "-qm", message]):
        subprocess.run(["git", *words], cwd=tree, check=True)
    return freeze.revision(tree, "HEAD")


def test_present_words_are_used_for_all_commits_but_one(tree, data, tmp_path, monkeypatch):
    monkeypatch.setattr(freeze, "COMMANDS", {"survey -q": "--fresh"})
    monkeypatch.setattr(freeze, "WORDS", freeze.revision(tree, "HEAD")[:7])
    freeze.run(tree, tmp_path / "old", only="demo-frames", shared=data)
    commit(tree, "Later")
    freeze.run(tree, tmp_path / "new", only="demo-frames", shared=data)
    assert (tmp_path / "old" / "demo-frames.nc").read_text() == ""
    assert (tmp_path / "new" / "demo-frames.nc").read_text() == "new"


def test_jobs_run_again_with_another_commit_or_changed_sources(tree, data, tmp_path, capsys):
    def runs(**options):
        freeze.run(tree, tmp_path / "out", only="demo-frames", shared=data, **options)
        return capsys.readouterr().out.count("demo-frames ")

    assert [runs(), runs(), runs(again=True)] == [1, 0, 1]
    (tree / "src" / "headscope" / "more.py").touch()
    assert [runs(), runs()] == [1, 1], "what is not committed may change between two runs"
    commit(tree, "Later")
    assert [runs(), runs()] == [1, 0]


def test_a_job_starts_without_what_it_wrote_before(tree, data, tmp_path):
    left = tmp_path / "out" / "clark2019" / "surface.nc"
    left.parent.mkdir(parents=True)
    left.write_text("of an earlier run")
    other = tmp_path / "out" / "demo-frames.nc"
    other.write_text("of another job")
    freeze.run(tree, tmp_path / "out", only="clark2019", shared=data)
    assert not left.exists()
    assert other.exists()


def test_a_table_is_run_with_the_survey_that_it_reads(tmp_path):
    names = [job.name for job in freeze.chosen("demo-coref-coreference", tmp_path, tmp_path)]
    assert names == ["demo-coref", "demo-coref-coreference"]


def test_command_and_option_names_are_translated():
    renamed = {"paper x": "repeat x", "paper --way": "--by", "survey --way": "--how", "ls": "list"}
    words = ("paper", "x", "--way", "zero", "survey")
    assert freeze.translate(words, renamed) == ["repeat", "x", "--by", "zero", "survey"]
    assert freeze.translate(("ls", "ls"), renamed) == ["list", "ls"]
    assert freeze.translate(("export", "--way"), renamed) == ["export", "--way"]


def test_every_job_has_its_own_name_and_output(tmp_path):
    names = [job.name for job in freeze.jobs(tmp_path, tmp_path)]
    assert len(names) == len(set(names))
    papers = {job.words[1] for job in freeze.jobs(tmp_path, tmp_path) if job.words[0] == "paper"}
    assert papers == {"clark2019", "kovaleva2019", "pande2021", "jo2020"}
