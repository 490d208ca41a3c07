"""The versions that ``make versions`` tries are those that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path

import pytest
from versions import TESTS, VERSIONS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", VERSIONS)
def test_the_lowest_version_that_is_tried_is_the_lowest_that_is_allowed(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (allowed,) = (one for one in project["dependencies"] if one.startswith(f"{name}>="))
    lowest = re.split(r">=|,", allowed)[1]
    assert VERSIONS[name][0] in {lowest, f"{lowest}.0"}


def test_the_tests_that_are_run_exist():
    assert all((ROOT / test).is_file() for tests in TESTS.values() for test in tests)
