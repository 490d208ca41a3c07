"""``headscope export``: results as tables, or as files for other tools."""

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
            "--output",
            "-o",
            help="The table: .csv, .parquet or .tex (LaTeX); or a folder, or .json for headkv.",
            show_default=False,
        ),
    ],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv, parquet, latex; headvis: a folder that HeadVis' front end reads; "
            "duoattention (a folder) or headkv (.json): one score per head, for cache compression. "
            "Default: as the file's ending says.",
            show_default=False,
        ),
    ] = "",
    measure: Annotated[
        str | None, typer.Option("--measure", help="Only this measure.", show_default=False)
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="VALUE",
            help="For duoattention and headkv: the value to write, such as repetition:induction. "
            "Default: streaming:distant.",
            show_default=False,
        ),
    ] = "",
    quiet: opt.Quiet = False,
) -> None:
    """Write results as one long table, one row per head and statistic, with its interval.

    Example: headscope export demo.nc -o demo.csv
    """
    from headscope.results import Atlas

    console, atlas = Console(quiet=quiet), Atlas.open(results)
    path = atlas.export(output, measure=measure, format=format, by=by)
    if format == "duoattention":
        from headscope.page import scaling_note

        if note := scaling_note(path):
            console.say(note)
    console.result(str(path))
