"""Roles of heads (Pande et al. 2021)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app


@app.command(rich_help_panel=MEASURE)
def roles(
    results: opt.ResultsFile,
    tau: opt.Tau = None,
    test: opt.Test = "t",
    correction: opt.Correction = "holm",
    alpha: opt.Alpha = 0.05,
    resamples: opt.Resamples = None,
    clusters: opt.Clusters = True,
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            metavar="NAME",
            help="Only this role in the tables (repeat for more).",
            show_default=False,
        ),
    ] = None,
    before: Annotated[
        Path | None,
        typer.Option(
            "--before",
            metavar="RESULTS",
            help="The same corpus before fine-tuning: how the roles shift, by thirds of the "
            "layers.",
            show_default=False,
        ),
    ] = None,
    least: opt.Least = 0.1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE",
            help="Write a page with every table and figure (.html).",
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Test which heads have which role: local, syntactic, delimiter … (Pande et al. 2021).

    A head has a role if its mean sieve bias is over tau (1 is uniform attention), by a one-tailed
    test over documents, corrected over all heads and roles.

    Example: headscope roles mrpc.nc --tau 3 --before pretrained.nc -o roles.html
    """
    from headscope.errors import unknown
    from headscope.page import roles_document, write_document
    from headscope.results import Atlas
    from headscope.stats import (
        COARSE,
        cautions,
        layer_shares,
        overlap_shares,
        parse_tau,
        role_shift,
        role_table,
        role_tests,
        tau_table,
    )

    console = Console(quiet=quiet, as_json=json)
    atlas = Atlas.open(results)
    how: dict[str, Any] = {
        "test": test,
        "correction": correction,
        "alpha": alpha,
        "resamples": resamples,
        "clusters": clusters,
        "seed": seed,
    }
    tests = role_tests(atlas, tau=parse_tau(tau or ()), **how)
    known = [str(name) for name in tests["role"].values]
    for name in role or ():
        if name not in known:
            raise unknown("role", name, known)
    chosen = role or known
    table = role_table(atlas, tests)
    shift = None
    if before:
        shift = role_shift(
            Atlas.open(before), atlas, roles=chosen, alpha=alpha, least=least, clusters=clusters
        )
    console.frame(table[table["role"].isin(chosen)], title="Heads by role")
    if not (json or quiet):
        counts = tau_table(atlas, **how)
        console.frame(
            counts[counts["role"].isin(chosen)], title="How many heads get each role, by tau"
        )
        console.frame(
            layer_shares(tests, role or COARSE),
            title="Share of each layer's heads that have a role",
        )
        console.table(
            [
                {"of the paper's four roles": name, "share": value}
                for name, value in overlap_shares(tests).items()
            ]
        )
        if shift is not None:
            console.frame(shift, title="Shift: after minus before")
    for caution in cautions(atlas, tests):
        console.say(f"* {caution}")
    if output:
        console.result(str(write_document(roles_document(atlas, tests, shift=shift), output)))
