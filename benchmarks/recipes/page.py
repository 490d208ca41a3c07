"""Write the tables of docs/howto/long-runs.md from what was measured: ``-m …recipes.page``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.recipes.scale import SCALED, WORKERS, by_name, need, weights_memory

RECORDED = Path(__file__).with_name("recorded.json")
PAGE = Path(__file__).parents[2] / "docs/howto/long-runs.md"


def read_rows(path: Path = RECORDED) -> list[dict[str, Any]]:
    """Read what was measured."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def measured_table(rows: list[dict[str, Any]]) -> str:
    """Write the table of what was measured, in Markdown."""
    lines = [
        "| job | sequences at once | processor time per sequence | ÷ bare pass | memory |",
        "|---|---|---|---|---|",
    ]
    bare = by_name(rows)["bare"]
    for row in rows:
        if row["name"] == "wide":
            continue
        lines.append(
            f"| {row['job']} | {row['batch']} | {row['seconds']:.2f} s "
            f"| {row['seconds'] / bare:.2f} | {row['beyond_model']} MiB |"
        )
    return "\n".join(lines)


def scaled_table(rows: list[dict[str, Any]]) -> str:
    """Write the table of what the large run needs, in Markdown."""
    heads = " | ".join(f"{count} worker{'s' if count > 1 else ''}" for count in WORKERS)
    lines = [
        f"| job | processor time per sequence | {heads} |",
        "|---|---|" + "---|" * len(WORKERS),
    ]
    measured, jobs = by_name(rows), {row["name"]: row["job"] for row in rows}
    for name in SCALED:
        if name in measured:
            found = need(name, measured)
            hours = " | ".join(duration(one) for one in found.hours)
            job = jobs[name].replace("144", "1024")
            lines.append(f"| {job} | {found.seconds:.1f} s | {hours} |")
    return "\n".join(lines)


def duration(hours: float) -> str:
    """Write a number of hours as people do.

    >>> duration(0.4), duration(3.5), duration(480)
    ('24 minutes', '3.5 hours', '20 days')
    """
    if hours < 1:
        return f"{60 * hours:.0f} minutes"
    return f"{hours:.1f} hours" if hours < 72 else f"{hours / 24:.0f} days"


def filled(page: str, rows: list[dict[str, Any]]) -> str:
    """Put the tables between their marks on a page."""
    tables = {
        "measured": measured_table(rows),
        "scaled": scaled_table(rows),
        "weights": f"{weights_memory():.1f} GB",
    }
    for name, text in tables.items():
        around = "\n\n" if "\n" in text else ""  # a table stands apart
        page, count = re.subn(
            rf"(<!-- {name} -->).*?(<!-- /{name} -->)",
            lambda found, text=text, around=around: found[1] + around + text + around + found[2],
            page,
            flags=re.DOTALL,
        )
        assert count == 1, f"{name}: the page must have its marks once"
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), read_rows()), encoding="utf-8")
    print(PAGE)
