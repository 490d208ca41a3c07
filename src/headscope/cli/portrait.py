"""``headscope portrait``: one page about the heads of a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.paper import options as paper
from headscope.cli.portraying import run_portrait
from headscope.cli.root import MEASURE, app

_PARTS = "The parts"


@app.command(
    rich_help_panel=MEASURE,
    epilog="Parts: roles, sinks, local, induction, duplicate, copying, syntax, attribution, "
    "retrieval, disabling.",
)
def portrait(
    model: opt.Model,
    corpus: Annotated[
        str,
        typer.Argument(help="Texts in any format that survey reads; 'demo' is the built-in one."),
    ] = "demo",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where to write the page, figures and results. Default: portrait-MODEL.",
            show_default=False,
        ),
    ] = None,
    part: paper.Parts = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            metavar="N",
            help="Heads that stand for a role where heads are disabled.",
            rich_help_panel=_PARTS,
        ),
    ] = 5,
    draws: Annotated[
        int,
        typer.Option(
            "--draws",
            metavar="N",
            help="How often other heads are drawn to compare with.",
            rich_help_panel=_PARTS,
        ),
    ] = 10,
    length: Annotated[
        list[int] | None,
        typer.Option(
            "--length",
            metavar="N",
            help="Tokens of the long texts for retrieval (repeatable). Default: 512.",
            rich_help_panel=_PARTS,
            show_default=False,
        ),
    ] = None,
    needles: Annotated[
        int,
        typer.Option(
            "--needles",
            metavar="N",
            help="Facts that are hidden in long texts.",
            rich_help_panel=_PARTS,
        ),
    ] = 12,
    limit: paper.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: paper.Json = False,
) -> None:
    """Write a page about the heads of a language model: what they do, and what they are needed for.

    Sinks, previous tokens, induction and what feeds it, duplicates, copying, syntax, logit
    attribution, retrieval, and the loss with the top heads of each disabled; ends with what the
    field says of such heads, tested here. An interrupted run resumes when the same command is run
    again.

    Example: headscope portrait demo-llm
    """
    run_portrait(
        model,
        corpus,
        Console(quiet=quiet, as_json=json),
        output=output,
        parts=part or (),
        top=top,
        draws=draws,
        lengths=tuple(length or (512,)),
        needles=needles,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        max_length=max_length,
        device=device,
        overwrite=overwrite,
    )
