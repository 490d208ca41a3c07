"""The options that commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

_RARE = "Rarely needed"
_LOADING = "How the model is loaded and texts are encoded"

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A hub id, a model folder, a .gguf file, or an embedded model: demo or demo-llm.",
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
        rich_help_panel=_RARE,
        metavar="WAY",
        help="What to do with longer examples: truncate, split or drop.",
    ),
]
Shard = Annotated[
    str,
    typer.Option(
        "--shard",
        rich_help_panel=_RARE,
        metavar="I/N",
        help="Do only part I of N; combine the parts with 'headscope merge'.",
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

MeasureFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--measure-file",
        metavar="FILE",
        help="A Python file with measures of your own (repeat for more); its code is run.",
        show_default=False,
    ),
]

Device = Annotated[
    str,
    typer.Option("--device", help="Where to run: cpu, cuda, cuda:1, mps."),
]
Dtype = Annotated[
    str,
    typer.Option(
        "--dtype",
        rich_help_panel=_LOADING,
        help="Precision of the weights: float32, bfloat16, float16. Maps are float32 and sums "
        "float64 in any case.",
    ),
]
DeviceMap = Annotated[
    str,
    typer.Option(
        "--device-map",
        rich_help_panel=_LOADING,
        metavar="WAY",
        help="Spread the layers over devices and memory: auto, balanced, sequential, or a device.",
        show_default=False,
    ),
]
Quantization = Annotated[
    str,
    typer.Option(
        "--quantization",
        rich_help_panel=_LOADING,
        metavar="BITS",
        help="Quantise the weights with bitsandbytes: 8bit or 4bit.",
        show_default=False,
    ),
]
Adapter = Annotated[
    str,
    typer.Option(
        "--adapter",
        rich_help_panel=_LOADING,
        metavar="PATH",
        help="Put a PEFT adapter (LoRA) on the model: its folder or hub id.",
        show_default=False,
    ),
]
Bos = Annotated[
    str,
    typer.Option(
        "--bos",
        rich_help_panel=_LOADING,
        metavar="WAY",
        help="The beginning-of-sequence token before each text: add, keep (as the tokenizer has "
        "it) or none.",
    ),
]
Chat = Annotated[
    bool,
    typer.Option(
        "--chat",
        rich_help_panel=_LOADING,
        help="Make each text the user's turn of a chat, with the tokenizer's chat template.",
    ),
]
Revision = Annotated[
    str,
    typer.Option(
        "--revision",
        rich_help_panel=_LOADING,
        help="A hub model's branch, tag or commit.",
        show_default=False,
    ),
]
Stack = Annotated[
    str,
    typer.Option(
        "--stack",
        rich_help_panel=_RARE,
        help="encoder, decoder or (survey only) cross, for models that have both. "
        "Default: encoder.",
        show_default=False,
    ),
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle", rich_help_panel=_LOADING, help="Open pickled weights, which can run code."
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code", rich_help_panel=_LOADING, help="Run code that comes with a model."
    ),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="text, tsv, csv, jsonl, conll, brackets, coref-jsonl, coref-conllu, conll2012 or "
        "frames-jsonl. Default: by the file's ending.",
        rich_help_panel=_RARE,
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        rich_help_panel=_RARE,
        metavar="A,B",
        help="The text columns of a table, by name or by number (from 1).",
        show_default=False,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="TSV and CSV: whether the first line names the columns. "
        "Default: if it has known names, or those in --columns.",
        rich_help_panel=_RARE,
        show_default=False,
    ),
]
Lines = Annotated[
    bool,
    typer.Option(
        "--lines",
        help="Plain text: every line is a text of its own.",
        rich_help_panel=_RARE,
    ),
]
Single = Annotated[
    bool,
    typer.Option(
        "--single",
        rich_help_panel=_RARE,
        help="Plain text: every paragraph is one example, not half of a pair.",
    ),
]
Parse = Annotated[
    bool,
    typer.Option("--parse", help="Parse plain text with spaCy's small English model."),
]
Parser = Annotated[
    str | None,
    typer.Option(
        "--parser",
        rich_help_panel=_RARE,
        metavar="NAME",
        help="Parse with this spaCy pipeline (name or folder).",
        show_default=False,
    ),
]
Documents = Annotated[
    bool,
    typer.Option(
        "--documents",
        rich_help_panel=_RARE,
        help="CoNLL-U: one example per document, with its coreference, instead of one per "
        "sentence.",
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        rich_help_panel=_RARE,
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
        rich_help_panel=_RARE,
        metavar="FILE",
        help="A Python file with sieves of your own (repeat for more); its code is run.",
        show_default=False,
    ),
]
Direction = Annotated[
    str,
    typer.Option(
        "--direction",
        rich_help_panel=_RARE,
        metavar="WAY",
        help="Dependency roles: 'to head', 'from head' or 'both'.",
    ),
]
Keep = Annotated[
    int,
    typer.Option(
        "--keep",
        rich_help_panel=_RARE,
        metavar="N",
        help="Keep the role scores of about the first N examples; 0 keeps only means and "
        "deviations.",
    ),
]
Tau = Annotated[
    list[str] | None,
    typer.Option(
        "--tau",
        metavar="N|auto|ROLE=N",
        help="The threshold: a number over 0, 'auto' (from the data), or one for a role (repeat "
        "for more). Default: 3, as the paper.",
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
        rich_help_panel=_RARE,
        metavar="WAY",
        help="Subtypes of dependency labels (nmod:poss): keep or fold.",
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


def reading(
    *,
    format: str | None = None,
    columns: str | None = None,
    header: bool | None = None,
    lines: bool = False,
    single: bool = False,
    parse: bool = False,
    parser: str | None = None,
    documents: bool = False,
) -> dict[str, Any]:
    """How a corpus is read, as :func:`headscope.read` takes it."""
    return {
        "format": format,
        "columns": columns.split(",") if columns else None,
        "header": header,
        "lines": lines,
        "pairs": not single,
        "parse": parser or parse,
        "documents": documents,
    }
