"""A survey on Ray whose worker is killed, as its user sees it: ``python -m faults.recording``.

Prints a shell session: the survey on one process, the same on two Ray workers of which one is
killed with SIGKILL, and the comparison of all numbers. The exit status is 1 if any number differs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from threading import Thread

import psutil

from headscope.corpus import read
from headscope.results import Atlas

PACKAGES = ("headscope", "ray", "torch", "transformers", "numpy")
TABLE = tuple("┌┏┡│┃├└╭╰")
"""How lines of the table of statistics begin, which are left out."""
OUTPUTS = {"local": "local.nc", "ray": "ray.nc"}


def main() -> None:
    """Make the recording."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=1200, help="texts of the built-in corpus")
    parser.add_argument("--after", type=float, default=5.0, help="seconds of work before the kill")
    given = parser.parse_args()
    names = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"# {datetime.now(UTC):%Y-%m-%d}, Python {python}, {names}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        base = ["survey", "demo", texts(place, given.limit), "--lines"]
        local = [*base, "-o", OUTPUTS["local"]]
        remote = [*base, "--engine", "ray", "--workers", "2", "-o", OUTPUTS["ray"]]
        run(local, place, threads=1)
        run(remote, place, threads=1, after=given.after)
        sys.exit(compare(place))


def texts(place: Path, count: int) -> str:
    """Write texts of the built-in corpus, over and over, each with its number."""
    whole = [text for example in read("demo") for text in example.texts]
    lines = [f"{whole[at % len(whole)]} {at}" for at in range(count)]
    (place / "texts.txt").write_text("\n".join(lines) + "\n")
    return "texts.txt"


def run(arguments: list[str], place: Path, *, threads: int, after: float = 0.0) -> None:
    """Run a command and print it with its output; kill a worker after some seconds of work."""
    print(f"$ headscope {shlex.join(arguments)}", flush=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "headscope", *arguments],
        cwd=place,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
    )
    if after:
        Thread(target=kill_worker, args=(process.pid, after), daemon=True).start()
    assert process.stdout is not None
    for line in process.stdout:
        if line[:1] not in TABLE:
            print(line, end="", flush=True)
    if process.wait():
        sys.exit(f"exit status {process.returncode}")


def kill_worker(driver: int, after: float) -> None:
    """Kill one worker, some seconds after it began its first task."""
    busy = wait_for_worker(driver)
    time.sleep(after)
    line = " ".join(busy.cmdline())
    busy.kill()
    print(f"[another terminal] $ kill -KILL {busy.pid}   # {line.strip()}", flush=True)


def wait_for_worker(driver: int) -> psutil.Process:
    """The first worker with a task."""
    while psutil.pid_exists(driver):
        for one in psutil.Process(driver).children(recursive=True):
            try:
                if "ray::_do" in " ".join(one.cmdline()):
                    return one
            except psutil.Error:
                continue
        time.sleep(0.05)
    raise RuntimeError("the run ended before it had a worker")


def compare(place: Path) -> bool:
    """Compare all numbers of both results bit for bit; whether any differs."""
    local, remote = (Atlas.open(place / name).tree for name in OUTPUTS.values())
    count = differ = 0
    for node in local.subtree:
        for name, one in node.variables.items():
            count += one.size
            other = remote[node.path].variables[name]
            differ += one.dtype != other.dtype or one.values.tobytes() != other.values.tobytes()
    same = {node.path for node in local.subtree} == {node.path for node in remote.subtree}
    print(f"# {count} values of {len(local.children)} groups; variables that differ: {differ}")
    return bool(differ) or not same


if __name__ == "__main__":
    main()
