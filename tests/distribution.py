"""How tests are shared among processes: whole files, those that take longest first.

A file stays in one process, so that what its tests share is made once and they run in the order in
which they are written. Some files also share a fixture that is expensive to make: those go to one
process together. The marks of ``--dist loadgroup`` cannot do that: pytest-xdist 3.8 adds them to an
attribute that pytest 9.2 no longer reads.
"""

from __future__ import annotations

from typing import Any

TOGETHER: tuple[tuple[str, ...], ...] = (
    ("tests/runs/engines/", "tests/cli/test_engines.py", "tests/runs/keeping/test_splitting.py"),
    ("tests/docs/test_site.py",),
    ("tests/cli/test_hostile_folder.py",),
    ("tests/papers/test_clark2019",),
    ("tests/papers/test_jo2020",),
    (
        "tests/measures/test_induction.py",
        "tests/models/test_load_demo_llm.py",
        "tests/models/test_load_options.py",
    ),
    ("tests/cli/test_commands.py", "tests/cli/test_console.py", "tests/cli/test_heads.py"),
    ("tests/page/",),
    ("tests/docs/test_notebooks.py",),
    ("tests/docs/test_exported_notebooks.py",),
    ("tests/cli/test_tables.py",),
    ("tests/docs/test_examples.py",),
    ("tests/papers/test_pande2021",),
    ("tests/papers/test_kovaleva2019",),
    ("tests/runs/probe/",),
    ("tests/measures/test_battery.py",),
    ("tests/stats/words/",),
)
"""Beginnings of paths: the tests of one line are run by one process, the first line first."""


def unit_of(test: str) -> str:
    """The tests that must run in one process with this one, by name: a line, or a file.

    Examples
    --------
    >>> unit_of("tests/runs/engines/test_tuning.py::test_seeds[1]")
    'tests/runs/engines/'
    >>> unit_of("tests/test_files.py::test_the_checksum_is_sha256")
    'tests/test_files.py'
    """
    for paths in TOGETHER:
        if test.startswith(paths):
            return paths[0]
    return test.split("::", 1)[0]


def turn_of(test: str) -> int:
    """When a test has its turn: a long one before all others.

    Examples
    --------
    >>> turn_of("tests/runs/engines/test_tuning.py::test_seeds[1]")
    0
    """
    unit = unit_of(test)
    for turn, paths in enumerate(TOGETHER):
        if paths[0] == unit:
            return turn
    return len(TOGETHER)


def make_scheduler(config: Any, log: Any) -> Any:
    """What shares the tests among the processes of pytest-xdist."""
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False  # else the units with most tests would be first
    return Units(config, log)
