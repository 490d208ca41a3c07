"""What tests of engines compare, and the processes they look for."""

from __future__ import annotations

import os

import psutil

from headscope.results import Atlas

FORKED = "joblib.externals.loky.process_executor"
"""A module that workers import. The command line of those that are forked has its name, and so has
that of the process that they are forked from.
"""


def same(one: Atlas, other: Atlas) -> None:
    """Identical to the last bit, provenance too, but for when they were made."""
    assert one.measures == other.measures
    assert set(one.tree.children) == set(other.tree.children)
    for name in one.tree.children:  # the examples, too
        assert one.tree[name].to_dataset().identical(other.tree[name].to_dataset()), name
    known = [
        {key: value for key, value in atlas.provenance.items() if key != "created"}
        for atlas in (one, other)
    ]
    assert known[0] == known[1]


def workers_of(engine: str) -> list[psutil.Process]:
    """The processes that work for us."""
    children = psutil.Process().children(recursive=True)
    found = []
    for child in children:
        try:
            line = " ".join(child.cmdline())
            if "forkserver" in line and child.ppid() == os.getpid():
                continue
        except psutil.Error:
            continue
        if ("ray::_do" in line) if engine == "ray" else ("loky" in line and "resource" not in line):
            found.append(child)
    return found
