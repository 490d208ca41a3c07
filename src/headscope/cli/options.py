"""The options that commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_RUN, _LOAD, _READ = "The run", "The model", "The corpus"

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A hub id, a model folder, or 'demo' for the embedded model.",
        show_default=False,
    ),
]
CorpusFile = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A text, TSV, CSV, JSON-lines or CoNLL file (.gz too), or 'demo' for the built-in "
        "corpus.",
        show_default=False,
    ),
]
ResultsFile = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="A results file (.nc) made by 'headscope survey'.",
        show_default=False,
    ),
]

Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        help="Only the first N examples.",
        rich_help_panel=_RUN,
        show_default=False,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", help="Seed of everything random; kept in the results.", rich_help_panel=_RUN
    ),
]
BatchSize = Annotated[
    int, typer.Option("--batch-size", help="Examples in one forward pass.", rich_help_panel=_RUN)
]
MaxLength = Annotated[
    int,
    typer.Option(
        "--max-length",
        help="Most tokens of an example, special tokens included.",
        rich_help_panel=_RUN,
    ),
]
Long = Annotated[
    str,
    typer.Option(
        "--long",
        metavar="WAY",
        help="What to do with longer examples: truncate, split or drop.",
        rich_help_panel=_RUN,
    ),
]
Shard = Annotated[
    str,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Do only part I of N; put the parts together with 'headscope merge'.",
        rich_help_panel=_RUN,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME",
        help="Only this measure (repeat for more). Default: all that the corpus allows.",
        rich_help_panel=_RUN,
        show_default=False,
    ),
]

Device = Annotated[
    str,
    typer.Option("--device", help="Where to run: cpu, cuda, cuda:1, mps.", rich_help_panel=_LOAD),
]
Dtype = Annotated[
    str,
    typer.Option(
        "--dtype",
        help="Precision of the weights: float32, bfloat16, float16. Maps are float32 and sums float64 in any case.",
        rich_help_panel=_LOAD,
    ),
]
Revision = Annotated[
    str,
    typer.Option(
        "--revision",
        help="A hub model's branch, tag or commit.",
        rich_help_panel=_LOAD,
        show_default=False,
    ),
]
Stack = Annotated[
    str,
    typer.Option(
        "--stack",
        help="encoder or decoder, for models that have both. Default: encoder.",
        rich_help_panel=_LOAD,
        show_default=False,
    ),
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle", help="Open pickled weights, which can run code.", rich_help_panel=_LOAD
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code", help="Run code that comes with a model.", rich_help_panel=_LOAD
    ),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="text, tsv, csv, jsonl, conll, brackets, coref-jsonl, coref-conllu, conll2012 or "
        "frames-jsonl. Default: by the file's ending.",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B",
        help="The text columns of a table, by name or by number (from 1).",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="TSV and CSV: whether the first line names the columns. "
        "Default: if it has known names, or those in --columns.",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Lines = Annotated[
    bool,
    typer.Option(
        "--lines",
        help="Plain text: every line is a text of its own.",
        rich_help_panel=_READ,
    ),
]
Single = Annotated[
    bool,
    typer.Option(
        "--single",
        help="Plain text: every paragraph by itself, not in pairs.",
        rich_help_panel=_READ,
    ),
]
Parse = Annotated[
    bool,
    typer.Option(
        "--parse", help="Parse plain text with spaCy's small English model.", rich_help_panel=_READ
    ),
]
Parser = Annotated[
    str | None,
    typer.Option(
        "--parser",
        metavar="NAME",
        help="Parse with this spaCy pipeline (name or folder).",
        rich_help_panel=_READ,
        show_default=False,
    ),
]
Documents = Annotated[
    bool,
    typer.Option(
        "--documents",
        help="CoNLL-U: one example a document, with its coreference, rather than one a sentence.",
        rich_help_panel=_READ,
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="NAME",
        help="Only this role, or any dependency label (repeat for more). Default: all that the corpus allows.",
        rich_help_panel=_RUN,
        show_default=False,
    ),
]
Sieves = Annotated[
    list[Path] | None,
    typer.Option(
        "--sieve",
        metavar="FILE",
        help="A Python file with sieves of your own (repeat for more); its code is run.",
        rich_help_panel=_RUN,
        show_default=False,
    ),
]
Direction = Annotated[
    str,
    typer.Option(
        "--direction",
        metavar="WAY",
        help="Dependency roles: 'to head', 'from head' or 'both'.",
        rich_help_panel=_RUN,
    ),
]
Keep = Annotated[
    int,
    typer.Option(
        "--keep",
        metavar="N",
        help="Keep the role scores of each of about the first N examples; 0 keeps only the moments.",
        rich_help_panel=_RUN,
    ),
]
Tau = Annotated[
    list[str] | None,
    typer.Option(
        "--tau",
        metavar="N|auto|ROLE=N",
        help="The threshold: a number over 0, 'auto' (from the data), or one for a role (repeat for more). Default: 3, as the paper.",
        show_default=False,
    ),
]
Test = Annotated[
    str, typer.Option("--test", help="z (as the paper), t, bootstrap or permutation (sign flips).")
]
Correction = Annotated[
    str,
    typer.Option("--correction", help="none (as the paper), holm or bh, over all heads and roles."),
]
Alpha = Annotated[float, typer.Option("--alpha", help="The level of the test.")]
Subtypes = Annotated[
    str,
    typer.Option(
        "--subtypes",
        metavar="WAY",
        help="Subtypes of dependency labels (nmod:poss): keep or fold.",
        rich_help_panel=_RUN,
    ),
]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the result.")]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the table as JSON on standard output; everything else goes to standard error.",
    ),
]
