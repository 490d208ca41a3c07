"""``headscope cite``: BibTeX of the tool and of the measures that results hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import FILES, app


@app.command(rich_help_panel=FILES)
def cite(
    results: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RESULTS]",
            help="A results file: cite what its measures come from too.",
            show_default=False,
        ),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Print BibTeX entries for Headscope and for the papers behind the measures.

    Example: headscope cite demo.nc > headscope.bib
    """
    from headscope.results import Atlas
    from headscope.results.citations import citations

    entries = citations(Atlas.open(results) if results else None)
    console = Console(quiet=quiet)
    behind = f"the measures of {results}" if results else "its measures"
    console.say(f"Headscope and {entries.count('@inproceedings')} papers behind {behind}:")
    console.result(entries)
