"""``headscope heads``: list, filter and sort the heads of a results file."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import LOOK, app
from headscope.errors import UserError


@app.command(rich_help_panel=LOOK)
def heads(
    results: opt.ResultsFile,
    where: Annotated[
        str,
        typer.Option(
            "--where",
            metavar="QUERY",
            help="Only heads for which this holds: 'entropy < 1.5 and is:nsubj', 'layer 3-5'.",
            show_default=False,
        ),
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="VALUE",
            help="Sort by this value: position:previous, role:nsubj, entropy.",
            show_default=False,
        ),
    ] = "",
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", help="Only the first N.", min=1, show_default=False),
    ] = None,
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    kv: Annotated[
        bool,
        typer.Option(
            "--kv",
            help="One row per KV head: the mean and maximum of --by over the query heads that "
            "share its keys and values, sorted by the mean.",
        ),
    ] = False,
    nulls: Annotated[
        bool,
        typer.Option(
            "--nulls",
            help="One row per statistic: the model's heads beside the bands of its null models "
            "(headscope survey --null).",
        ),
    ] = False,
    thresholds: Annotated[
        bool,
        typer.Option(
            "--thresholds",
            help="One row per threshold behind roles and sentences: its source, and how many heads "
            "change at 20 % less and more.",
        ),
    ] = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """List the heads of a results file: filtered, sorted and cut.

    Example: headscope heads demo.nc --by position:previous --top 10 --where "entropy < 2"
    """
    from headscope.results import Atlas
    from headscope.results.query import parse_query

    if where.strip():
        parse_query(where)
    if kv and where.strip():
        raise UserError(
            "--where selects query heads, --kv shows KV heads; they cannot be combined",
            hint="leave one of them out",
        )
    if thresholds and (nulls or kv or by or where.strip()):
        raise UserError(
            "--thresholds shows one row per threshold; it cannot be combined with --where, --by, "
            "--kv or --nulls",
            hint="leave one of them out",
        )
    if nulls and (kv or by or where.strip()):
        raise UserError(
            "--nulls shows one row per statistic; it cannot be combined with --where, --by or --kv",
            hint="leave --nulls out: with --by, the bands of null models are shown beside heads",
        )
    console = Console(quiet=quiet, as_json=json)
    atlas = Atlas.open(results)
    if thresholds:
        from headscope.stats import threshold_table

        console.frame(threshold_table(atlas))
        return
    if nulls:
        from headscope.cli.surveying import show_nulls
        from headscope.stats.nulls import check_has_nulls

        check_has_nulls(atlas)
        show_nulls(console, atlas, results, top=None)
        return
    if kv:
        table = atlas.kv_heads(by).sort_values("mean", ascending=ascending, kind="stable")
        console.frame(table.head(top) if top else table)
        return
    table = atlas.heads(where=where, by=by, top=top, ascending=ascending)
    console.frame(table)
    if not len(table):
        console.say("no head fulfils this condition")
