"""``headscope coreference``: the best head at finding antecedents."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app

CANDIDATES = ("mentions", "words")


@app.command(rich_help_panel=MEASURE)
def coreference(
    results: opt.ResultsFile,
    candidates: Annotated[
        str,
        typer.Option(
            "--candidates",
            metavar="NAME",
            help="Choose among 'mentions' (head words of earlier mentions) or all other 'words'.",
        ),
    ] = "mentions",
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Find the head that finds antecedents best (Clark et al. 2019, Table 2).

    It is compared with three baselines, by type of mention.

    Example: headscope coreference coref.nc
    """
    from headscope.errors import unknown
    from headscope.results import Atlas
    from headscope.stats import antecedent_table

    if candidates not in CANDIDATES:
        raise unknown("kind of candidates", candidates, CANDIDATES)
    table = antecedent_table(Atlas.open(results), candidates=candidates)
    Console(quiet=quiet, as_json=json).frame(table)
