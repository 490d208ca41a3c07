"""Shares of pattern classes in results files: tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headscope.cli.console import Console

if TYPE_CHECKING:
    from headscope.results import Atlas

RELIABLE = 64
"""The most tokens up to which the built-in network does well, as in its own ``RELIABLE``."""


def open_shares(paths: list[Path]) -> dict[str, Atlas]:
    """Open results files by short name; one without pattern classes is an error that names it."""
    from headscope.errors import ResultsError
    from headscope.results import Atlas
    from headscope.stats.patterns import pattern_data

    opened: dict[str, Atlas] = {}
    for path in paths:
        opened[path.stem if path.stem not in opened else str(path)] = results = Atlas.open(path)
        try:
            pattern_data(results)
        except ResultsError as error:
            raise ResultsError(
                f"{path}: {error.message}", hint=error.hint, command=error.command
            ) from None
    return opened


def show_shares(console: Console, opened: dict[str, Atlas]) -> None:
    """Print the shares of all maps by file; unless JSON is asked for, by layer and by head too."""
    from headscope.stats.patterns import (
        HETEROGENEOUS,
        leading_patterns,
        pattern_layers,
        shares_by_file,
    )

    shares = shares_by_file(opened)
    console.frame(shares, title="Share of all maps")
    if not (console.as_json or console.quiet):
        for name, results in opened.items():
            layers = pattern_layers(results)
            console.frame(
                layers.pivot(index="layer", columns="pattern", values="share")[
                    list(dict.fromkeys(layers["pattern"]))
                ].reset_index(),
                title=f"{name}: share of each layer's maps",
            )
            heads = leading_patterns(results)
            by_class = heads.sort_values(
                ["share", "layer", "head"], ascending=[False, True, True]
            ).groupby("pattern", sort=False)
            rows = [
                {
                    "leading class": str(pattern),
                    "heads": len(group),
                    "which, the surest first": ", ".join(group["name"].head(10))
                    + (" …" if len(group) > 10 else ""),
                }
                for pattern, group in by_class
            ]
            console.table(rows, title=f"{name}: heads by their leading class")
    console.say(
        "95 % intervals by jackknife (groups of documents left out in turn)"
        + (": needs at least two documents" if shares["low"].isna().any() else "")
    )
    if any(results.provenance["settings"]["max_length"] > RELIABLE for results in opened.values()):
        console.say(
            f"warning: the built-in network is often wrong on maps of more than {RELIABLE} tokens "
            f"(see headscope patterns --check): survey with --max-length {RELIABLE}, or label "
            "longer maps and retrain"
        )
    console.say(
        "published: heterogeneous from "
        + " to ".join(f"{share:.0%} ({task})" for task, share in HETEROGENEOUS.items())
        + ", BERT base fine-tuned (Kovaleva et al. 2019, Figure 2)"
    )


def draw_shares(console: Console, opened: dict[str, Atlas], folder: Path, format: str) -> None:
    """Draw the shares by file, by layer and by head."""
    from headscope.figures import find_figure, save_chart, task_patterns

    with console.status("drawing"):
        drawn = [save_chart(task_patterns(opened), folder / f"patterns.{format}")]
        for name, results in opened.items():
            before = "" if len(opened) == 1 else f"{Path(name).stem}-"
            drawn += [
                save_chart(
                    find_figure(kind, results).draw(results), folder / f"{before}{kind}.{format}"
                )
                for kind in ("pattern-layers", "pattern-heads")
            ]
    for path in drawn:
        console.result(str(path))
