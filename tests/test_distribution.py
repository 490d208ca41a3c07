"""Tests are shared among processes file by file."""

from pathlib import Path

import pytest

from distribution import TOGETHER, turn_of, unit_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", [path for paths in TOGETHER for path in paths])
def test_every_listed_path_begins_that_of_a_test(path):
    tests = [found.relative_to(ROOT).as_posix() for found in (ROOT / "tests").rglob("test_*.py")]
    found = [test for test in tests if test.startswith(path)]
    assert found
    expected = {next(paths[0] for paths in TOGETHER if path in paths)}
    assert {unit_of(f"{test}::test_a[tests/b.py::c]") for test in found} == expected


def test_listed_files_come_first_and_in_this_order():
    turns = [turn_of(f"{paths[-1]}::test_a") for paths in TOGETHER]
    assert turns == list(range(len(TOGETHER)))
    assert turn_of("src/headscope/heads.py::headscope.heads.Head") == len(TOGETHER)
