"""Peak memory, each time of a fresh process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def status(field: str) -> float:
    """Read a field of this process's status, in MiB: VmRSS (now) or VmHWM (the peak)."""
    # Not getrusage: its peak is inherited from the process that started this one.
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(rf"{field}:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1]) / 1024


def reset_peak() -> None:
    """Count the peak memory of this process from now on."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def print_peak() -> None:
    """Print the peak memory of this process in MiB."""
    print(status("VmHWM"))


def peak_of(benchmark: str, argument: object) -> float:
    """Call a benchmark's ``child(argument)`` in a process of its own; its peak memory in MiB."""
    code = f"from benchmarks.{benchmark} import child; child({argument!r})"
    line = [sys.executable, "-c", code]
    printed = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return float(printed.split()[-1])
