"""Print the benchmark table: ``python -m benchmarks [name …] [--record]``.

The table is also written to ``out/benchmarks.json`` with the machine and the versions. A ratio that
is more than 10 % worse than the recorded one (``benchmarks/recorded.json``), or that misses its
bar, makes the command fail. ``--record`` records the ratios of this run.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from headscope.cli.console import Console
from headscope.runs.run import versions

ALL = (
    "survey_speed",
    "keeping_examples",
    "long_inputs",
    "survey_memory",
    "workers",
    "head_distances",
    "ablation",
    "probe_many_classes",
    "probe_speed",
)
RECORDED = Path(__file__).with_name("recorded.json")
OUTPUT = Path("out/benchmarks.json")
SLACK = 1.1
"""A ratio may be so much worse than the recorded one: timings scatter."""


def worse(row: dict[str, Any], recorded: dict[str, float]) -> bool:
    """Whether a ratio is more than 10 % worse than the recorded one; larger is worse for "≤".

    >>> worse({"benchmark": "a", "ratio": 1.3, "bar": "≤ 2"}, {"a": 1.1})
    True
    >>> worse({"benchmark": "a", "ratio": 95, "bar": "≥ 50"}, {"a": 100})
    False
    """
    before, now = recorded.get(row["benchmark"]), float(row["ratio"])
    if before is None or not before > 0:
        return False
    if str(row["bar"]).startswith("≤"):
        return now > before * SLACK
    return str(row["bar"]).startswith("≥") and now < before / SLACK


def machine() -> dict[str, Any]:
    """The machine that ratios were measured on."""
    return {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows with machine and versions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {"machine": machine(), "versions": versions(), "rows": list(rows)}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Run the benchmarks named, or all; 1 if one misses its bar or got worse."""
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    before = json.loads(RECORDED.read_text(encoding="utf-8"))["rows"] if RECORDED.exists() else []
    recorded = {row["benchmark"]: float(row["ratio"]) for row in before}
    rows = [row for name in names or ALL for row in import_module(f"benchmarks.{name}").run()]
    for row in rows:
        row["recorded"] = recorded.get(row["benchmark"], "–")
        row["ok"] = "NO" if not row["ok"] else "WORSE" if worse(row, recorded) else "yes"
    Console().table(rows)
    write(OUTPUT, rows)
    if "--record" in sys.argv:
        new = {row["benchmark"]: row for row in (*before, *rows)}
        write(RECORDED, new.values())
    return 0 if all(row["ok"] == "yes" for row in rows) else 1


sys.exit(main()) if __name__ == "__main__" else None
