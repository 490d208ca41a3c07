"""How a corpus is named and read."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headscope.cli.options.panels import RARE

CorpusFile = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A text, TSV, CSV, JSON-lines or CoNLL file (.gz too), or 'demo' for the built-in "
        "corpus.",
        show_default=False,
    ),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="text, tsv, csv, jsonl, conll, brackets, coref-jsonl, coref-conllu, conll2012 or "
        "frames-jsonl. Default: by the file's ending.",
        rich_help_panel=RARE,
        show_default=False,
    ),
]

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        rich_help_panel=RARE,
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
        rich_help_panel=RARE,
        show_default=False,
    ),
]

Lines = Annotated[
    bool | None,
    typer.Option(
        "--lines/--paragraphs",
        help="Plain text: every line is a text of its own, or lines are joined to the paragraphs "
        "between blank lines. Default: without blank lines, lines are texts unless they look "
        "wrapped.",
        rich_help_panel=RARE,
        show_default=False,
    ),
]

Single = Annotated[
    bool,
    typer.Option(
        "--single",
        rich_help_panel=RARE,
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
        rich_help_panel=RARE,
        metavar="NAME",
        help="Parse with this spaCy pipeline (name or folder).",
        show_default=False,
    ),
]

Documents = Annotated[
    bool,
    typer.Option(
        "--documents",
        rich_help_panel=RARE,
        help="CoNLL-U: one example per document, with its coreference, instead of one per "
        "sentence.",
    ),
]


def reading(
    *,
    format: str | None = None,
    columns: str | None = None,
    header: bool | None = None,
    lines: bool | None = None,
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
