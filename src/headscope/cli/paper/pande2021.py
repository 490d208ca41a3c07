"""``headscope paper pande2021``."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli.console import Console
from headscope.cli.options import Alpha, Correction, Direction, Parser, Roles, Sieves, Tau, Test
from headscope.cli.paper import options as opt
from headscope.cli.paper.group import paper, parts_help, run_recipe


@paper.command(epilog=parts_help("pande2021"))
def pande2021(
    model: opt.Model = "demo",
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            metavar="FILE",
            help="A corpus (repeatable). Default: the built-in one.",
            show_default=False,
        ),
    ] = None,
    tuned: Annotated[
        list[str] | None,
        typer.Option(
            "--tuned",
            metavar="MODEL",
            help="The model after fine-tuning: one for all corpora, or one for each (repeatable).",
            show_default=False,
        ),
    ] = None,
    tau: Tau = None,
    test: Test = "z",
    correction: Correction = "none",
    alpha: Alpha = 0.05,
    role: Roles = None,
    sieve: Sieves = None,
    direction: Direction = "to head",
    parser: Parser = None,
    part: opt.Parts = None,
    output: opt.Output = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """The heads hypothesis: which heads have which role, tested; overlaps, layers, fine-tuning.

    Text without trees is parsed with spaCy, as in the paper. At most 1000 sequences of each corpus
    are used.

    Example: headscope paper pande2021 --model bert-base-uncased --corpus MRPC/dev.tsv
    """
    from headscope.papers import find_paper
    from headscope.stats import parse_tau

    find_paper("pande2021").choose(part, given={"tuned"} if tuned else ())
    thresholds = parse_tau(tau or ())
    from headscope.measures import load_sieves
    from headscope.papers import Pande2021

    console = Console(quiet=quiet, as_json=json)
    for file in sieve or ():
        console.say(f"sieves of {file}: {', '.join(load_sieves(file))}")
    recipe = Pande2021(
        model,
        corpora=corpus or ["demo"],
        tuned=tuned or (),
        tau=thresholds,
        test=test,
        correction=correction,
        alpha=alpha,
        roles=role or (),
        direction=direction,
        parser=parser or "",
        output=output,
        parts=part or (),
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        max_length=max_length,
        device=device,
        progress=console,
    )
    run_recipe(recipe, console)
