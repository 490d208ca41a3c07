"""What all tests of runs share."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(autouse=True)
def ctrl_c_works():
    """A shell starts background jobs with Ctrl-C ignored; the tests must not depend on how they
    were started.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
