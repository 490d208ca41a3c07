"""Print the benchmark table: ``python -m benchmarks [name …]``."""

from __future__ import annotations

import sys
from importlib import import_module

from headscope.cli.console import Console

ALL = ("survey_speed", "long_inputs", "survey_memory", "head_distances", "ablation", "probe_speed")


def main() -> int:
    """Run the benchmarks named on the command line, or all; 1 if a bar is missed."""
    rows = [
        row for name in (sys.argv[1:] or ALL) for row in import_module(f"benchmarks.{name}").run()
    ]
    Console().table([{**row, "ok": "yes" if row["ok"] else "NO"} for row in rows])
    return 0 if all(row["ok"] for row in rows) else 1


sys.exit(main())
