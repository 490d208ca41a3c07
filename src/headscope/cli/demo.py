"""``headscope demo``: the embedded model on the built-in corpus."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.portraying import run_portrait
from headscope.cli.root import LOOK, app
from headscope.cli.surveying import run_survey, show_summary


@app.command(rich_help_panel=LOOK)
def demo(
    llm: Annotated[
        bool,
        typer.Option(
            "--llm",
            help="The embedded language model instead, and a page about its heads: see 'headscope "
            "portrait'. It takes about ten minutes.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder for results and report. Default: headscope-demo, or "
            "headscope-demo-llm.",
            show_default=False,
        ),
    ] = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    examples: opt.Examples = 32,
    device: opt.Device = "cpu",
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Survey the embedded model with the built-in corpus, and write a report.

    Example: headscope demo && open headscope-demo/demo.html
    """
    console = Console(quiet=quiet, as_json=json)
    if llm:
        run_portrait(
            "demo-llm",
            "demo",
            console,
            output=output or Path("headscope-demo-llm"),
            limit=limit,
            seed=seed,
            batch_size=batch_size,
            max_length=max_length,
            device=device,
            overwrite=overwrite,
        )
        return
    output = output or Path("headscope-demo")
    results = output / "demo.nc"
    run = {"limit": limit, "seed": seed, "batch_size": batch_size, "max_length": max_length}
    load = {"device": device}
    atlas = run_survey(
        console,
        "demo",
        "demo",
        results,
        load=load,
        read={},
        run=run,
        examples=examples,
        overwrite=overwrite,
    )
    show_summary(console, atlas, table=False)
    console.say(
        f"{_activation()}results: {results}\n"
        f"look at a head: headscope head {results} 3-9\n"
        f"its examples: headscope examples {results} 3-9\n"
        "type a text: headscope explore demo\n"
        "report:"
    )
    console.result(str(atlas.report(output / "demo.html")))


def _activation() -> str:
    """How to make ``headscope`` a command of this shell, where it is not one yet."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("headscope") or not script.exists():
        return ""
    here = Path.cwd()
    near = script.relative_to(here) if script.is_relative_to(here) else script
    return f"to use the commands below, type first: source {near}\n"
