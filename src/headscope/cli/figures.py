"""``headscope figures``: draw the figures of a results file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import FILES, app


@app.command(rich_help_panel=FILES)
def figures(
    results: opt.ResultsFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the figures.")
    ] = Path("figures"),
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="Only this figure (repeat for more). Default: all.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="png, svg, pdf or html.")] = "png",
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Draw the figures of a results file, one file each.

    Example: headscope figures demo.nc -o figures --format pdf
    """
    from headscope.figures import find_figure, gallery

    for one in name or ():
        find_figure(one)  # before anything heavy is imported

    from headscope.figures import save_chart
    from headscope.results import Atlas

    console = Console(quiet=quiet, as_json=json)
    atlas = Atlas.open(results)
    chosen = [find_figure(one, atlas) for one in name] if name else list(gallery(atlas))
    rows = [
        {
            "figure": item.name,
            "title": item.title,
            "file": str(save_chart(item.draw(atlas), output / f"{item.name}.{format}")),
        }
        for item in chosen
    ]
    console.table(rows)
