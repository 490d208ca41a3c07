"""Roles of heads, and how they are tested."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options.panels import RARE

Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        rich_help_panel=RARE,
        metavar="NAME",
        help="Only this role, or any dependency label (repeat for more). Default: all that the "
        "corpus allows.",
        show_default=False,
    ),
]

Sieves = Annotated[
    list[Path] | None,
    typer.Option(
        "--sieve",
        rich_help_panel=RARE,
        metavar="FILE",
        help="A Python file with sieves of your own (repeat for more); its code is run.",
        show_default=False,
    ),
]

Direction = Annotated[
    str,
    typer.Option(
        "--direction",
        rich_help_panel=RARE,
        metavar="WAY",
        help="Dependency roles: 'to head', 'from head', 'both', or 'auto' ('to head', but 'both' "
        "for a causal model that would see too few).",
    ),
]

Keep = Annotated[
    int,
    typer.Option(
        "--keep",
        rich_help_panel=RARE,
        metavar="N",
        help="Keep the role scores of about the first N examples; 0 keeps only means and "
        "deviations.",
    ),
]

Subtypes = Annotated[
    str,
    typer.Option(
        "--subtypes",
        rich_help_panel=RARE,
        metavar="WAY",
        help="Subtypes of dependency labels (nmod:poss): keep or fold.",
    ),
]

Tau = Annotated[
    list[str] | None,
    typer.Option(
        "--tau",
        metavar="N|auto|ROLE=N",
        help="The threshold: a number over 0, 'auto' (from the same scores: exploratory), or one "
        "for a role (repeat for more). Default: 3, as in the paper.",
        show_default=False,
    ),
]

Test = Annotated[
    str, typer.Option("--test", help="t, z (the paper's), bootstrap or permutation (sign flips).")
]

Correction = Annotated[
    str,
    typer.Option(
        "--correction",
        help="holm or bh, over all heads and roles; maxt for a test by resampling; none, as in "
        "the paper.",
    ),
]

Resamples = Annotated[
    int | None,
    typer.Option(
        "--resamples",
        metavar="N",
        help="Resamples of the bootstrap or permutation test. Default: as many as the correction "
        "needs, 5000 or more.",
        show_default=False,
    ),
]

Clusters = Annotated[
    bool,
    typer.Option(
        "--clusters/--independent",
        help="Whether sequences of one document count as one cluster, where the corpus says so.",
    ),
]

Least = Annotated[
    float,
    typer.Option(
        "--least",
        metavar="X",
        help="The smallest shift that is of interest, in times uniform attention.",
    ),
]

Alpha = Annotated[float, typer.Option("--alpha", help="The level of the test.")]
