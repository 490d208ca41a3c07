"""Python in a process of its own, where the process is the point."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def python(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run ``python WORDS`` to its end; what it wrote is kept, and it may fail."""
    line = [sys.executable, *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False, **how)
