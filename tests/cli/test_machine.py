"""The command line on a failing machine: two lines, never a traceback; SIGTERM is Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.runs.forward import Pass
from processes import python

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_standard_output_is_two_lines(small_nc):
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "headscope", "ls", str(small_nc)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "error: the output cannot be written or read: No space left on device",
        "next:  check the disk, then type the same command again",
    ]


def test_sigterm_keeps_what_was_finished(run, tmp_path, tiny_folder, text, monkeypatch):
    seen, forward = [], Pass.run

    def stop(self, batch):
        seen.append(1)
        if len(seen) == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return forward(self, batch)

    monkeypatch.setattr(Pass, "run", stop)
    how = ("--single", "--batch-size", "1", "--max-length", "32", "--quiet", "-o")
    done = run("survey", tiny_folder, text, *how, tmp_path / "run.nc")
    assert done.code == 130, done.err
    assert f"the state is kept in {tmp_path / 'run.nc'}.partial" in done.err
    assert "next:  type the same command again to resume" in done.err
    assert "Traceback" not in done.err
    assert (tmp_path / "run.nc.partial").is_file()


LOADING = """
import atexit, os, signal, sys

class Press:
    def find_spec(self, name, *_):
        if name == "torch":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
sys.argv = ["headscope", "survey", "demo", "demo"]
if os.environ.get("TWICE"):
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
from headscope.cli import main
main()
"""


def test_ctrl_c_while_libraries_load_says_that_nothing_was_started(tmp_path):
    done = python("-c", LOADING, cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "error: stopped while libraries were loaded, before anything was started",
        "next:  type the same command again",
    ]
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_at_the_very_end_is_no_error_of_python_s(tmp_path):
    done = python("-c", LOADING, cwd=tmp_path, env=os.environ | {"TWICE": "1"})
    assert done.returncode == -signal.SIGINT  # which a shell calls 130
    assert "before anything was started" in done.stderr
    assert "KeyboardInterrupt" not in done.stderr
