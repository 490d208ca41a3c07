"""How a corpus is run through a model, and what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options.panels import RARE

Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        help="Use only the first N examples.",
        show_default=False,
    ),
]

Seed = Annotated[
    int,
    typer.Option("--seed", help="The seed of everything random; stored in the results."),
]

BatchSize = Annotated[int, typer.Option("--batch-size", help="Examples per forward pass.")]

MaxLength = Annotated[
    int,
    typer.Option(
        "--max-length",
        help="The largest number of tokens of an example, special tokens included.",
    ),
]

Long = Annotated[
    str,
    typer.Option(
        "--long",
        rich_help_panel=RARE,
        metavar="WAY",
        help="What to do with longer examples: truncate, split or drop.",
    ),
]

Shard = Annotated[
    str,
    typer.Option(
        "--shard",
        rich_help_panel=RARE,
        metavar="I/N",
        help="Do only part I of N; combine the parts with 'headscope merge'.",
    ),
]

Synthetic = Annotated[
    bool | None,
    typer.Option(
        "--synthetic/--no-synthetic",
        rich_help_panel=RARE,
        help="Also run random tokens written twice, to find induction heads. Default: with the "
        "default measures, if the model is a decoder.",
        show_default=False,
    ),
]

Nulls = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        metavar="NAME",
        help="Also survey a null model, to compare with: random-weights, "
        "random-weights-keep-embeddings or shuffled-words (repeat for more). Each costs another "
        "pass.",
        show_default=False,
    ),
]

Examples = Annotated[
    int,
    typer.Option(
        "--examples",
        metavar="N",
        help="Keep N example texts that all heads share, and N/4 for each head, to look at with "
        "'headscope examples'. 0 keeps no text, for private corpora.",
    ),
]

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME",
        help="Only this measure (repeat for more). Default: all that the corpus allows.",
        show_default=False,
    ),
]

Maps = Annotated[
    str,
    typer.Option(
        "--maps",
        metavar="KIND",
        help="Measure 'attention', attention weighted by the length of what it carries ('norm'), "
        "or 'both'.",
    ),
]

MeasureFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--measure-file",
        metavar="FILE",
        help="A Python file with measures of your own (repeat for more); its code is run.",
        show_default=False,
    ),
]
