"""The root of the command line, and the groups that help lists its commands in."""

from __future__ import annotations

from typing import Annotated

import typer

LOOK = "Look at heads"
MEASURE = "Measure"
TRAIN = "Train and disable"
FILES = "Results and files"
GROUPS = (LOOK, MEASURE, TRAIN, FILES)

app = typer.Typer(
    name="headscope",
    help="Measure what every attention head of a transformer does.\n\n"
    "Example: headscope survey demo demo -o demo.nc && headscope head demo.nc 1-3",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        from headscope import __version__

        print(f"headscope {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
