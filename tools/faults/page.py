"""The counts behind docs/explanation/checks.md, from what ``-m faults --json FILE`` wrote."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

COLUMNS = {
    "refused": ("refused", "refused, repeated", "finished, then refused"),
    "repaired or unharmed": ("same", "finished", "stopped, saved", "killed, saved"),
    "resumed": ("stopped, resumed", "killed, resumed"),
}
HEAD = ("what", "fault", "times", *COLUMNS, "wrong, lost or without a message")


def table(rows: list[dict[str, object]]) -> str:
    """The counts as Markdown.

    Examples
    --------
    >>> print(table([{"where": "survey", "fault": "SIGKILL", "outcomes": {"killed, resumed": 4}}]))
    | what | fault | times | refused | repaired or unharmed | resumed | wrong, lost or without a message |
    |---|---|---|---|---|---|---|
    | survey | SIGKILL | 4 | 0 | 0 | 4 | 0 |
    | **all** | | **4** | **0** | **0** | **4** | **0** |
    """  # noqa: E501
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    total: Counter[str] = Counter()
    for row in rows:
        outcomes = Counter(row["outcomes"])  # type: ignore[call-overload]
        total.update(outcomes)
        lines.append(f"| {row['where']} | {row['fault']} | {_cells(outcomes)} |")
    bold = " | ".join(f"**{cell}**" for cell in _cells(total).split(" | "))
    return "\n".join([*lines, f"| **all** | | {bold} |"])


def _cells(outcomes: Counter[str]) -> str:
    counts = [sum(outcomes[name] for name in names) for names in COLUMNS.values()]
    every = sum(outcomes.values())
    return " | ".join(str(count) for count in (every, *counts, every - sum(counts)))


if __name__ == "__main__":
    found = [row for path in sys.argv[1:] for row in json.loads(Path(path).read_text())["rows"]]
    print(table(found))
