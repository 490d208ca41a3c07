"""``headscope draw``: attention as lines between words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import LOOK, app


@app.command(rich_help_panel=LOOK)
def draw(
    model: opt.Model,
    sentence: Annotated[
        str, typer.Argument(metavar="TEXT", help="The sentence.", show_default=False)
    ],
    head: Annotated[
        list[str],
        typer.Option(
            "--head",
            metavar="LAYER-HEAD",
            help="A head, counted from 1, e.g. 3-9 (repeat for more).",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The drawing: .png, .svg, .pdf or .html.")
    ] = Path("attention.png"),
    red: Annotated[
        list[str] | None,
        typer.Option(
            "--red",
            metavar="WORD",
            help="Draw this word and its attention in red (repeat for more).",
            show_default=False,
        ),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            "--hide",
            metavar="TOKEN",
            help="Leave out attention to this token, e.g. [SEP] (repeat for more).",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Lines of at most this weight are not drawn.")
    ] = 0.02,
    max_length: opt.MaxLength = 64,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
) -> None:
    """Draw attention as lines between two columns of words (Clark et al. 2019, Figures 1 and 5).

    Example: headscope draw demo "The dog that I saw barked." --head 1-3 --head 3-9 --red dog -o dog.svg
    """
    from headscope.figures import attention_lines, attention_panel, save_chart
    from headscope.models import load
    from headscope.runs.examples import parse_head, token_attention, which_tokens

    console = Console(quiet=quiet)
    with console.status("loading the model"):
        loaded = load(model, device=device)
    chosen = [parse_head(name, loaded) for name in head]
    tokens, maps = token_attention(loaded, sentence, max_length=max_length)
    marked, hidden = which_tokens(tokens, red or ()), which_tokens(tokens, hide or ())
    charts = [
        attention_lines(
            tokens,
            maps[layer, number],
            title=f"Head {layer + 1}-{number + 1}",
            red=marked,
            hide=hidden,
            threshold=threshold,
        )
        for layer, number in chosen
    ]
    console.result(
        str(
            save_chart(
                charts[0] if len(charts) == 1 else attention_panel(charts, columns=3), output
            )
        )
    )
