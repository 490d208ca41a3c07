"""``headscope merge``: the shards of one run, put together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import FILES, app
from headscope.cli.surveying import show_summary


@app.command(rich_help_panel=FILES)
def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="The shards of one run.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The merged results file.", show_default=False)
    ],
    partial: Annotated[
        bool, typer.Option("--partial", help="Merge even if shards are missing.")
    ] = False,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Put the shards of one run together: the numbers of the whole.

    Example: headscope merge part1.nc part2.nc -o whole.nc
    """
    from headscope.identity import check_same_run
    from headscope.results import Atlas
    from headscope.results import merge as merge_parts

    console = Console(quiet=quiet, as_json=json)
    atlas = merge_parts([Atlas.open(part) for part in parts], partial=partial)
    if output.exists() and not overwrite:
        there = Atlas.open(output).provenance
        check_same_run(there, atlas.provenance, f"{output} holds the results of another run")
    atlas.save(output)
    show_summary(console, atlas)
    console.result(str(output))
