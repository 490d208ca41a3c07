"""``headscope head``: everything known of one head."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import LOOK, app

WIDEST = 100
"""Longer lines are hard to read."""


@app.command(rich_help_panel=LOOK)
def head(
    results: opt.ResultsFile,
    name: Annotated[
        str,
        typer.Argument(
            metavar="HEAD", help="LAYER-HEAD from 1 (3-9), or L2H8 from 0.", show_default=False
        ),
    ],
    top: Annotated[int, typer.Option("--top", metavar="N", help="Rows of each table.", min=1)] = 12,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Say what one head does, with the evidence, and show all of its statistics.

    Example: headscope head demo.nc 3-9
    """
    from headscope.heads import Head
    from headscope.results import Atlas

    Head.parse(name)
    console = Console(quiet=quiet, as_json=json)
    found = Atlas.open(results).head(name)
    if json:
        console.tables(
            {
                "description": [asdict(found.description)],
                "sentences": [{"sentence": sentence} for sentence in found.sentences],
                "roles": found.roles.to_dict("records"),
                "relations": found.relations.to_dict("records"),
                "statistics": found.statistics.to_dict("records"),
            }
        )
        return
    print(f"{found.title}\n")
    width = min(shutil.get_terminal_size().columns, WIDEST)
    for text in (found.description.lead, found.description.evidence):
        if text:
            print(textwrap.fill(text, width) + "\n")
    for sentence in found.sentences:
        print(textwrap.fill(sentence, width, initial_indent="* ", subsequent_indent="  "))
    for title, frame in found.tables().items():
        more = f" (first {top} of {len(frame)})" if len(frame) > top else ""
        console.frame(frame.head(top), title=title + more)
