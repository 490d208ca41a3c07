"""Commands for what Clark et al. 2019 look at: dependencies, coreference, drawings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import app


@app.command()
def dependencies(
    results: opt.ResultsFile,
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation",
            metavar="NAME",
            help="Only this relation (repeat for more). Default: all with enough words.",
            show_default=False,
        ),
    ] = None,
    direction: Annotated[
        list[str] | None,
        typer.Option(
            "--direction",
            metavar="NAME",
            help="Only this direction (repeat for more). Default: dependent to head, head to dependent.",
            show_default=False,
        ),
    ] = None,
    correction: Annotated[
        str,
        typer.Option(
            "--correction", help="none, holm or bh, over all heads, directions and relations."
        ),
    ] = "holm",
    least: Annotated[
        int | None,
        typer.Option(
            "--least",
            metavar="N",
            help="Leave out relations with fewer words. Default: 20, or fewer if none has 20.",
            show_default=False,
        ),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """The best head of each dependency relation, against the best fixed offset (Clark et al. 2019, Table 1).

    Example: headscope dependencies ewt.nc --relation det --relation obj
    """
    from headscope.atlas import open as open_atlas
    from headscope.errors import unknown
    from headscope.stats import DEFAULT_DIRECTIONS, best_heads
    from headscope.stats.tests import CORRECTIONS

    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    atlas = open_atlas(results)
    known = [str(name) for name in atlas["dependency"]["direction"].values]
    for name in direction or ():
        if name not in known:
            raise unknown("direction", name, known)
    Console(quiet=quiet, as_json=json).frame(
        best_heads(
            atlas,
            relations=relation,
            directions=direction or DEFAULT_DIRECTIONS,
            correction=correction,
            least=least,
        )
    )


@app.command()
def coreference(
    results: opt.ResultsFile,
    candidates: Annotated[
        str,
        typer.Option(
            "--candidates",
            help="mentions (head words of earlier mentions) or words (all other words).",
        ),
    ] = "mentions",
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """The best head at finding antecedents, against three baselines, by mention type (Clark et al. 2019, Table 2).

    Example: headscope coreference coref.nc
    """
    from headscope.atlas import open as open_atlas
    from headscope.errors import unknown
    from headscope.stats import antecedent_table

    if candidates not in ("mentions", "words"):
        raise unknown("kind of candidates", candidates, ("mentions", "words"))
    Console(quiet=quiet, as_json=json).frame(
        antecedent_table(open_atlas(results), candidates=candidates)
    )


@app.command()
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
