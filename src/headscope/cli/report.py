"""``headscope report``: write the report of a results file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import FILES, app


@app.command(rich_help_panel=FILES)
def report(
    results: opt.ResultsFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The page. Default: RESULTS with .html.", show_default=False
        ),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write one self-contained HTML page about a results file.

    Example: headscope report demo.nc -o demo.html
    """
    from headscope.results import Atlas

    console = Console(quiet=quiet)
    console.result(str(Atlas.open(results).report(output or results.with_suffix(".html"))))
