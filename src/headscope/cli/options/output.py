"""Results files, and what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ResultsFile = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="A results file (.nc) made by 'headscope survey'.",
        show_default=False,
    ),
]

Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace the results of another run in the output, or compute the same run again.",
    ),
]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result.")]

Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the table as JSON on standard output; everything else goes to standard error.",
    ),
]
