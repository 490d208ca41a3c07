"""``headscope coreference``: the best head at finding antecedents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app

if TYPE_CHECKING:
    import pandas as pd


CANDIDATES = ("mentions", "words")


@app.command(rich_help_panel=MEASURE)
def coreference(
    results: opt.ResultsFile,
    candidates: Annotated[
        str,
        typer.Option(
            "--candidates",
            metavar="NAME",
            help="Choose among 'mentions' (head words of earlier mentions) or all other 'words'.",
        ),
    ] = "mentions",
    train: Annotated[
        Path | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Results of the same model on other documents, to choose the head on. Default: "
            "choose on each half of the documents, score on the other.",
            show_default=False,
        ),
    ] = None,
    kinds: Annotated[
        bool,
        typer.Option(
            "--kinds",
            help="Print one row per system and kind of mention, each with its interval and tests.",
        ),
    ] = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Find the head that finds antecedents best (Clark et al. 2019, Table 2).

    It is compared with three baselines, by kind of mention, and also scored on mentions that it was
    not chosen on ("held out"). Intervals and tests are by documents.

    Example: headscope coreference coref.nc
    """
    from headscope.errors import unknown
    from headscope.results import Atlas
    from headscope.stats import antecedent_scores, antecedent_table
    from headscope.stats.inference import interval_note

    if candidates not in CANDIDATES:
        raise unknown("kind of candidates", candidates, CANDIDATES)
    atlas = Atlas.open(results)
    training = None if train is None else Atlas.open(train)
    make = antecedent_scores if kinds else antecedent_table
    table = make(atlas, candidates=candidates, train=training)
    console = Console(quiet=quiet, as_json=json)
    console.frame(table if json else _for_people(table))
    if note := interval_note(atlas["coreference"]):
        console.say(note)


def _for_people(table: pd.DataFrame) -> pd.DataFrame:
    """The table with both ends of an interval in one column."""
    from headscope.numbers import interval, share

    ends = zip(table["low"], table["high"], strict=True)
    shown = table.drop(columns=["high"]).rename(columns={"low": "95 % interval"})
    shown["95 % interval"] = [interval(low, high, form=share) for low, high in ends]
    return shown
