"""The options that all recipes share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import BatchSize, Device, MaxLength, Overwrite, Quiet, Seed

__all__ = [
    "BatchSize",
    "Data",
    "Device",
    "Epochs",
    "Json",
    "LearningRate",
    "Limit",
    "MaxLength",
    "Model",
    "Output",
    "Overwrite",
    "Parts",
    "Quiet",
    "Seed",
    "TunedFolder",
]

_RUN, _TUNE = "The run", "Fine-tuning"

Model = Annotated[
    str, typer.Option("--model", help="A hub id, a model folder, or 'demo' for the embedded model.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Where to write the page, figures and results. Default: PAPER-MODEL.",
        show_default=False,
    ),
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--part",
        metavar="NAME",
        help="Run only this part (repeatable). Default: all parts.",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        help="Use at most N examples of each corpus.",
        rich_help_panel=_RUN,
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the tables as JSON: a list of objects with name, columns and rows.",
    ),
]
Sample = Annotated[
    str,
    typer.Option(
        "--sample",
        metavar="NAME",
        help="Which segments and examples to use where there are more than wanted: 'random' ones, "
        "drawn with --seed, or the 'first' ones.",
    ),
]
Data = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="GLUE files such as FOLDER/RTE/train.tsv (also .gz), or 'hub'.",
    ),
]
TunedFolder = Annotated[
    Path | None,
    typer.Option(
        "--tuned",
        metavar="FOLDER",
        help="Where tuned models are, or will be. Default: tuned/ in the output folder.",
        rich_help_panel=_TUNE,
        show_default=False,
    ),
]
Epochs = Annotated[
    int,
    typer.Option("--epochs", help="Passes over the training examples.", rich_help_panel=_TUNE),
]
LearningRate = Annotated[
    float,
    typer.Option(
        "--learning-rate",
        help="The highest learning rate, reached after warm-up.",
        rich_help_panel=_TUNE,
    ),
]
