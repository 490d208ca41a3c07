"""The tools for whitespace, packages, the built-in corpus and contact sheets."""

import struct
import subprocess
import zlib
from pathlib import Path

import check_package
import end_of_file
import numpy as np
import pytest
from makers import builtin_corpus, contact_sheets

import headscope as hs
from headscope.corpus.builtin import STYLES

ROOT = Path(__file__).resolve().parents[2]


def test_files_get_one_final_newline_and_no_trailing_spaces(tmp_path, capsys):
    untidy, tidy = tmp_path / "untidy.md", tmp_path / "tidy.md"
    untidy.write_text("a \t\n\n b")
    tidy.write_text("a\n")
    assert end_of_file.main([str(tidy)]) == 0
    assert end_of_file.main([str(untidy), str(tidy)]) == 1
    assert untidy.read_text() == "a\n\n b\n"
    assert capsys.readouterr().out == f"rewrote {untidy}\n"


def test_the_package_needs_more_than_its_modules():
    wanted = check_package.contents(ROOT)
    assert {"headscope/py.typed", "headscope/labelling/static/label.html"} <= wanted
    assert any(name.endswith("network.safetensors") for name in wanted)
    assert any(name.endswith(".conllu") for name in wanted)
    assert any(name.endswith("page.css") for name in wanted)


def test_a_wheel_may_lack_nothing_and_hold_nothing_else():
    wanted = {"headscope/__init__.py", "headscope/py.typed"}
    metadata = "headscope-0.1.0.dist-info/RECORD"
    assert check_package.wheel_problems([*wanted, metadata], wanted) == []
    expected = ["missing: headscope/py.typed"]
    assert check_package.wheel_problems(["headscope/__init__.py"], wanted) == expected
    expected = ["does not belong: tests/conftest.py"]
    assert check_package.wheel_problems([*wanted, "tests/conftest.py"], wanted) == expected


@pytest.mark.parametrize("style", STYLES)
def test_the_built_in_corpus_passes_its_checks(style, capsys):
    assert builtin_corpus.check(style) == 0
    assert capsys.readouterr().out.endswith("no errors\n")


def test_a_tree_with_a_cycle_is_reported():
    rows = [
        ["1", "dogs", "dog", "NOUN", "NNS", "_", "2", "nsubj", "_", "_"],
        ["2", "bark", "bark", "VERB", "VBP", "_", "1", "dobj", "_", "_"],
    ]
    problems = builtin_corpus.tree_problems(builtin_corpus.Sentence("s1", "dogs bark", rows))
    assert problems[0] == "s1: 0 roots"
    assert "token 1 dogs is in a cycle" in problems[1]


def test_contact_sheets_hold_24_maps_each(tmp_path):
    maps = [np.full((4, 4), 255, np.uint8)] * 25
    contact_sheets.sheets(tmp_path, "sheet", maps, [0] * 25, range(25))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sheet_00.png", "sheet_01.png"]
    data = (tmp_path / "sheet_00.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    body = data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8]
    assert len(zlib.decompress(body)) == height * (width + 1)


def test_hooks_of_pre_commit_name_existing_programs():
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert {repository["repo"] for repository in config["repos"]} == {"local"}
    for hook in config["repos"][0]["hooks"]:
        words = hook["entry"].split()
        assert hook["language"] == "system"
        assert all((ROOT / word).exists() for word in words if word.startswith("tools/"))


def test_ci_runs_the_targets_of_the_makefile():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    targets = workflow["jobs"]["check"]["strategy"]["matrix"]["target"]
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    expected = [line for line in lines if line.startswith("make ")]
    assert [f"make {target}" for target in targets] == expected
    for target in targets:
        made = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr


def test_the_citation_has_the_version_of_the_package():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == hs.__version__
