"""``headscope dependencies``: the best head of each dependency relation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app

if TYPE_CHECKING:
    import pandas as pd

_SHORT = {"dependent to head": "→ head", "head to dependent": "→ dependent"}


@app.command(rich_help_panel=MEASURE)
def dependencies(
    results: opt.ResultsFile,
    relation: Annotated[
        list[str] | None,
        typer.Option(
            "--relation",
            metavar="NAME",
            help="Only this relation (repeatable). Default: all with enough words.",
            show_default=False,
        ),
    ] = None,
    direction: Annotated[
        list[str] | None,
        typer.Option(
            "--direction",
            metavar="NAME",
            help="Only this direction (repeatable). Default: 'dependent to head' and "
            "'head to dependent'.",
            show_default=False,
        ),
    ] = None,
    correction: Annotated[
        str,
        typer.Option(
            "--correction",
            metavar="NAME",
            help="Correct p-values over all heads, directions and relations: holm, bh or none.",
        ),
    ] = "holm",
    least: Annotated[
        int | None,
        typer.Option(
            "--least",
            metavar="N",
            help="Skip relations with fewer than N words. Default: 20, or less in a small corpus.",
            show_default=False,
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Results of the same model on another treebank, to choose heads and offsets on. "
            "Default: choose on each half of the documents, score on the other.",
            show_default=False,
        ),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Find the best head of each relation (Clark et al. 2019, Table 1).

    Each is compared with the best fixed offset. Heads and offsets are also scored on words that
    they were not chosen on ("held out").

    Example: headscope dependencies ewt.nc --relation det --relation obj
    """
    from headscope.errors import unknown
    from headscope.results import Atlas
    from headscope.stats import DEFAULT_DIRECTIONS, best_heads
    from headscope.stats.inference import interval_note
    from headscope.stats.paired import flip_note
    from headscope.stats.tests import CORRECTIONS

    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    atlas = Atlas.open(results)
    known = [str(name) for name in atlas["dependency"]["direction"].values]
    for name in direction or ():
        if name not in known:
            raise unknown("direction", name, known)
    table = best_heads(
        atlas,
        relations=relation,
        directions=direction or DEFAULT_DIRECTIONS,
        correction=correction,
        least=least,
        train=None if train is None else Atlas.open(train),
    )
    console = Console(quiet=quiet, as_json=json)
    console.frame(table if json else _for_people(table))
    chosen = "on the training results" if train else "on one half of the documents, both ways"
    console.say(f"held out: chosen {chosen}, and scored on words that were not used to choose")
    if note := interval_note(atlas["dependency"]):
        console.say(note)
    answers = atlas["dependency"]["count"].sel(words="every")
    answers = answers.sel(direction=direction or list(DEFAULT_DIRECTIONS))
    if correction == "holm" and (note := flip_note(answers)):
        console.say(note)


def _for_people(table: pd.DataFrame) -> pd.DataFrame:
    """The table in fewer columns: intervals in one cell, offsets beside their accuracy."""
    from headscope.numbers import MISSING, interval, share

    def beside(value: float, what: object) -> str:
        return f"{share(value)} ({what})" if what != "" else MISSING

    for name in ("direction", "held_out_head"):
        table = table.assign(**{name: table[name].replace(_SHORT, regex=True)})
    rows = table.to_dict("records")
    shown = table[["relation", "words", "head", "direction", "accuracy"]].copy()
    shown["95 % interval"] = [interval(row["low"], row["high"], form=share) for row in rows]
    shown["held out"] = table["held_out"]
    shown["held-out head"] = [row["held_out_head"] or MISSING for row in rows]
    shown["offset"] = [beside(row["baseline"], row["offset"]) for row in rows]
    shown["offset, held out"] = [
        beside(row["held_out_baseline"], row["held_out_offset"]) for row in rows
    ]
    shown["p corrected"] = table["p_corrected"]
    return shown
