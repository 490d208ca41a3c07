"""Options of commands on tasks: probe, tune, tasks and the recipe that probes."""

from __future__ import annotations

from typing import Annotated

import typer

VECTORS = "The vectors"

Only = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="NAME",
        help="Only this task, e.g. Tense or past_present (repeat for more).",
        show_default=False,
    ),
]
GlueData = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="The files of GLUE tasks, as FOLDER/RTE/train.tsv (.gz too), or 'hub'.",
        show_default=False,
    ),
]
RandomLimit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        help="At most N examples of each split, drawn at random.",
        show_default=False,
    ),
]
TopHeads = Annotated[
    int | None,
    typer.Option(
        "--n",
        "-n",
        metavar="N",
        help="How many of the best heads to combine. Default: as many as a layer has.",
        show_default=False,
    ),
]
Position = Annotated[
    str | None,
    typer.Option(
        "--position",
        metavar="NAME",
        help="Token at which vectors are read: cls, last or mean. Default: last for causal "
        "models, otherwise cls if there is one, else mean.",
        rich_help_panel=VECTORS,
        show_default=False,
    ),
]
Solver = Annotated[
    str,
    typer.Option(
        "--solver",
        help="exact finds the optimum; rmsprop trains as the paper does.",
        rich_help_panel="The classifiers",
    ),
]
