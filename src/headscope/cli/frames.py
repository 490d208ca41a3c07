"""``headscope frames``: the heads that stand out at frame links."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app


@app.command(rich_help_panel=MEASURE)
def frames(
    results: opt.ResultsFile,
    direction: Annotated[
        str, typer.Option("--direction", help="both, target to element, or element to target.")
    ] = "both",
    percentile: Annotated[
        float,
        typer.Option("--percentile", help="Heads over this percentile of all heads stand out."),
    ] = 99.0,
    count: Annotated[
        int, typer.Option("--count", metavar="N", help="How many heads to show.", min=1)
    ] = 10,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """List the heads that attend most along frame links (Kovaleva et al. 2019, Figure 3).

    Example: headscope frames framenet.nc
    """
    from headscope.results import Atlas
    from headscope.stats import frame_table

    Console(quiet=quiet, as_json=json).frame(
        frame_table(Atlas.open(results), direction=direction, percentile=percentile, count=count)
    )
