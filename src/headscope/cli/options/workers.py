"""Where a run is done."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli.options.panels import WORKERS

Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        rich_help_panel=WORKERS,
        metavar="NAME",
        help="Where the work is done: local (in this process), processes (in several processes on "
        "this machine) or ray (on a Ray cluster). The results are the same.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        rich_help_panel=WORKERS,
        metavar="N",
        help="The number of workers; each loads the model. Default: one per core, or one per CPU "
        "of a Ray cluster but one.",
        show_default=False,
    ),
]
Address = Annotated[
    str,
    typer.Option(
        "--address",
        rich_help_panel=WORKERS,
        metavar="ADDRESS",
        help="The address of a running Ray cluster (HOST:PORT, or auto). Default: start one on "
        "this machine.",
        show_default=False,
    ),
]
