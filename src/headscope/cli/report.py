"""``headscope report``: write the report of results."""

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
    others: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RESULTS...]", help="Further results to compare with.", show_default=False
        ),
    ] = None,
    circuits: Annotated[
        Path | None,
        typer.Option(
            "--circuits",
            metavar="FILE",
            help="Circuits of the same model (headscope circuits), to show beside its heads.",
            show_default=False,
        ),
    ] = None,
    retrieval: Annotated[
        Path | None,
        typer.Option(
            "--retrieval",
            metavar="FILE",
            help="Retrieval scores of the same model (headscope retrieval), likewise.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The page, or the folder. Default: RESULTS with .html.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        bool,
        typer.Option(
            "--folder",
            help="Write a folder for a web server, with one file per head: for large models.",
        ),
    ] = False,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Also draw all figures of the gallery into the page."),
    ] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write a page to explore results: every head, its roles, statistics and examples.

    Example: headscope report demo.nc -o demo.html
    """
    from headscope.results import Atlas

    console = Console(quiet=quiet)
    atlas, more = Atlas.open(results), [Atlas.open(path) for path in others or ()]
    if circuits is not None:
        atlas = atlas.with_circuits(Atlas.open(circuits))
    if retrieval is not None:
        atlas = atlas.with_retrieval(Atlas.open(retrieval))
    place = output or results.with_suffix("" if folder else ".html")
    page = atlas.report(place, others=more, folder=folder, figures=figures)
    if folder:
        console.say(f"serve it: python -m http.server --directory {place}\npage:")
    console.result(str(page))
