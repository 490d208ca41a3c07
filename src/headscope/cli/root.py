"""The root of the command line, which the commands hang themselves on."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="headscope",
    help="What every attention head of a transformer does.\n\nExample: headscope survey demo demo -o demo.nc && headscope report demo.nc",
    no_args_is_help=True,
    add_completion=False,
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
