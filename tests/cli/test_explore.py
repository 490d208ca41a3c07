"""``headscope explore``: the address, Ctrl-C, and what it refuses before the model is loaded."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest

WAIT = 120


LISTENS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from headscope.cli import main
main()
"""
"""Ctrl-C reaches the command even if it is ignored here, as in a job in the background."""


@pytest.mark.slow
def test_the_page_is_served_until_ctrl_c(tiny_folder):
    command = [sys.executable, "-c", LISTENS, "explore", str(tiny_folder), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        address = ""
        for line in started.stderr:
            found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/[\w-]{32,}/)\n", line)
            if found:
                address = found[1]
                break
        page = httpx.get(address, timeout=WAIT)
        started.send_signal(signal.SIGINT)
        rest = started.stderr.read()
        assert started.wait(WAIT) == 0
    assert page.status_code == 200
    assert '"layers": 2, "heads": 4' in page.text
    assert rest.splitlines()[-1] == "stopped"
    assert "Traceback" not in rest


def test_a_port_in_use_is_refused_before_the_model_is_loaded(run, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("explore", "some/hub-model", "--port", port, "--no-browser")
    assert done.code == 2
    assert done.told == [
        f"error: port {port} cannot be used: Address already in use",
        "next:  omit --port to use any free one",
    ]


def test_a_missing_extra_is_said_first(run, monkeypatch):
    monkeypatch.setattr("headscope.page.serving.PACKAGES", ("no_such_package",))
    done = run("explore", "demo", "--no-browser")
    assert done.told == [
        "error: the explorer needs a package that is not installed: no_such_package",
        "next:  pip install 'headscope[explorer]'",
    ]


def test_results_of_another_shape_are_refused(run, tiny_folder, demo_nc):
    done = run("explore", tiny_folder, "--results", demo_nc, "--no-browser")
    assert done.code == 2
    assert done.told[0].startswith(
        "error: the results are those of demo, with 6 layers × 12 heads; "
    )
    assert done.told[1] == "next:  give --results of the same model, or leave it out"


def test_a_results_file_that_is_not_there_is_refused(run, tmp_path):
    done = run("explore", "demo", "--results", tmp_path / "no.nc", "--no-browser")
    assert done.code == 2
    assert "no.nc" in done.told[0]
