"""``headscope attention``: the attention of one text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import LOOK, app

_DRAWING = "The drawing"


@app.command(rich_help_panel=LOOK)
def attention(
    model: opt.Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text.", show_default=False)],
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", metavar="TEXT", help="The second text of a pair.", show_default=False
        ),
    ] = None,
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head",
            metavar="HEAD",
            help="Only these heads: 3-9 or 4-* (from 1), L2H8 (from 0) (repeatable). Default: "
            "the strongest link of each head.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="Show attention between words instead of tokens.")
    ] = False,
    top: Annotated[
        int, typer.Option("--top", metavar="N", help="Links of each head, or heads, in the table.")
    ] = 20,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Draw attention as lines between words: .png, .svg, .pdf or .html.",
            show_default=False,
        ),
    ] = None,
    red: Annotated[
        list[str] | None,
        typer.Option(
            "--red",
            metavar="WORD",
            help="Draw this word and its attention in red (repeatable).",
            rich_help_panel=_DRAWING,
            show_default=False,
        ),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            "--hide",
            metavar="WORD",
            help="Do not draw attention to this word, e.g. [SEP] (repeatable).",
            rich_help_panel=_DRAWING,
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            metavar="WEIGHT",
            help="Do not draw lines of at most this weight.",
            rich_help_panel=_DRAWING,
        ),
    ] = 0.02,
    stack: opt.Stack = "",
    max_length: Annotated[
        int | None,
        typer.Option(
            "--max-length",
            metavar="N",
            help="Cut the text to N tokens. Default: the whole text.",
            show_default=False,
        ),
    ] = None,
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show which words a model's heads attend to in one text.

    Prints the strongest links between words, and draws them with -o (Clark et al. 2019, Figure 5).

    Example: headscope attention demo "The dog that I saw barked." --head 1-3 -o dog.svg
    """
    from headscope.figures.save import save_chart
    from headscope.models.names import check_model_name

    _check(head or (), output)
    check_model_name(model)
    options = opt.loading(
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        adapter=adapter,
        bos=bos,
        chat=chat,
    )
    from headscope.models import load
    from headscope.runs.attention import attention as run

    console = Console(quiet=quiet, as_json=json)
    with console.status("loading the model"):
        loaded = load(model, **options)
        found = run(
            loaded,
            text,
            pair,
            heads=head or None,
            words=words,
            stack=stack,
            max_length=max_length,
        )
    for note in loaded.notes:
        console.say(f"note: {note}")
    if output is not None:
        chart = found.lines(head or None, red=red or (), hide=hide or (), threshold=threshold)
        save_chart(chart, output)
    table = found.table(top=top) if head else found.overview(top)
    console.frame(table if json else table.drop(columns=["query", "key"]))
    if output is not None:
        console.result(str(output))


def _check(heads: Sequence[str], output: Path | None) -> None:
    """Refuse what is known to be wrong before the model is loaded."""
    from headscope.errors import unknown
    from headscope.figures.save import FORMATS
    from headscope.files import check_writable
    from headscope.heads import parse_heads

    named = [name for name in heads if "*" not in name]
    if named:
        parse_heads(named)
    if output is not None:
        if output.suffix.removeprefix(".") not in FORMATS:
            raise unknown("ending of the drawing", output.suffix, [f".{name}" for name in FORMATS])
        check_writable(output)
