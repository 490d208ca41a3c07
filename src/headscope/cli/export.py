"""``headscope export``: results as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import FILES, app


@app.command(rich_help_panel=FILES)
def export(
    results: opt.ResultsFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The table: .csv, .parquet or .tex (LaTeX).", show_default=False
        ),
    ],
    measure: Annotated[
        str | None, typer.Option("--measure", help="Only this measure.", show_default=False)
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write results as one long table, one row per head and statistic, with its interval.

    Example: headscope export demo.nc -o demo.csv
    """
    from headscope.results import Atlas

    Console(quiet=quiet).result(str(Atlas.open(results).export(output, measure=measure)))
