"""``headscope paper pande2021``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.options import (
    Alpha,
    Clusters,
    Correction,
    Direction,
    Least,
    Parser,
    Resamples,
    Roles,
    Sieves,
    Tau,
    Test,
)
from headscope.cli.paper import options as opt
from headscope.cli.paper.group import Common, recipe_command

if TYPE_CHECKING:
    from headscope.papers import Recipe


@recipe_command()
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
    resamples: Resamples = None,
    clusters: Clusters = True,
    least: Least = 0.1,
    role: Roles = None,
    sieve: Sieves = None,
    direction: Direction = "auto",
    parser: Parser = None,
    sample: opt.Sample = "random",
    *,
    common: Common,
) -> Recipe:
    """The heads hypothesis: which heads have which role, tested; overlaps, layers, fine-tuning.

    Text without trees is parsed with spaCy, as in the paper. At most 1000 sequences of each corpus
    are used.

    Example: headscope paper pande2021 --model bert-base-uncased --corpus MRPC/dev.tsv
    """
    from headscope.errors import unknown
    from headscope.papers import find_paper
    from headscope.stats import parse_tau

    find_paper("pande2021").choose(common.part, given={"tuned"} if tuned else ())
    thresholds = parse_tau(tau or ())
    if sample not in ("random", "first"):
        raise unknown("sample", sample, ("random", "first"))
    from headscope.measures import load_sieves
    from headscope.papers import Pande2021

    for file in sieve or ():
        common.console.say(f"sieves of {file}: {', '.join(load_sieves(file))}")
    return Pande2021(
        model,
        corpora=corpus or ["demo"],
        tuned=tuned or (),
        tau=thresholds,
        test=test,
        correction=correction,
        alpha=alpha,
        resamples=resamples,
        clusters=clusters,
        least=least,
        roles=role or (),
        direction=direction,
        parser=parser or "",
        sample="first" if sample == "first" else "random",
        **common.options,
    )
