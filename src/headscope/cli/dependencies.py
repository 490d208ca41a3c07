"""``headscope dependencies``: the best head of each dependency relation."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app


@app.command(rich_help_panel=MEASURE)
def dependencies(
    results: opt.ResultsFile,
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation",
            metavar="NAME",
            help="Only this relation (repeatable). Default: all with enough words.",
            show_default=False,
        ),
    ] = None,
    direction: Annotated[
        list[str] | None,
        typer.Option(
            "--direction",
            metavar="NAME",
            help="Only this direction (repeatable). Default: 'dependent to head' and "
            "'head to dependent'.",
            show_default=False,
        ),
    ] = None,
    correction: Annotated[
        str,
        typer.Option(
            "--correction",
            metavar="NAME",
            help="Correct p-values over all heads, directions and relations: none, holm or bh.",
        ),
    ] = "holm",
    least: Annotated[
        int | None,
        typer.Option(
            "--least",
            metavar="N",
            help="Skip relations with fewer than N words. Default: 20, or less in a small corpus.",
            show_default=False,
        ),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Find the best head of each relation (Clark et al. 2019, Table 1).

    Each is compared with the best fixed offset.

    Example: headscope dependencies ewt.nc --relation det --relation obj
    """
    from headscope.errors import unknown
    from headscope.results import Atlas
    from headscope.stats import DEFAULT_DIRECTIONS, best_heads
    from headscope.stats.tests import CORRECTIONS

    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    atlas = Atlas.open(results)
    known = [str(name) for name in atlas["dependency"]["direction"].values]
    for name in direction or ():
        if name not in known:
            raise unknown("direction", name, known)
    table = best_heads(
        atlas,
        relations=relation,
        directions=direction or DEFAULT_DIRECTIONS,
        correction=correction,
        least=least,
    )
    Console(quiet=quiet, as_json=json).frame(table)
