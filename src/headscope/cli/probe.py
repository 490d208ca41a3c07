"""Probing from the command line (Jo and Myaeng 2020)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import app

if TYPE_CHECKING:
    from headscope.results import Results

SHOWN = 3


@app.command()
def probe(
    model: opt.Model,
    tasks: Annotated[
        list[str],
        typer.Argument(
            metavar="TASKS...",
            help="SentEval files or folders of them; a treebank or 'demo', from which the ten tasks are made; GLUE tasks (mrpc, sts-b, sst-2 …) with --data.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file (.nc). Default: MODEL-probe.nc.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="Only this task of the sources (repeat for more).",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="GLUE files, FOLDER/MRPC/train.tsv and so on (.gz too), or 'hub'.",
            show_default=False,
        ),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(
            "--position",
            help="Where the vectors are read: cls, last or mean. Default: last for causal models, else cls if there is one.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        str,
        typer.Option(
            "--pairs", help="Pairs of texts: together (one input), or apart (u, v, |u-v|, u·v)."
        ),
    ] = "together",
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            "-n",
            metavar="N",
            help="How many of the best heads are put together. Default: as many as a layer has.",
            show_default=False,
        ),
    ] = None,
    curve: Annotated[
        list[int] | None,
        typer.Option(
            "--curve",
            metavar="N",
            help="A point of the curve over n (repeat for more). Default: some up to all heads.",
            show_default=False,
        ),
    ] = None,
    greedy: Annotated[
        bool,
        typer.Option(
            "--greedy/--no-greedy", help="Also choose heads by what they add to each other."
        ),
    ] = True,
    solver: Annotated[
        str, typer.Option("--solver", help="exact (the optimum), or rmsprop (as in the paper).")
    ] = "exact",
    l2: Annotated[
        list[float] | None,
        typer.Option(
            "--l2",
            help="An L2 value to choose from (repeat for more). Default: 1e-5 to 1e-1, as in the paper.",
            show_default=False,
        ),
    ] = None,
    control: Annotated[
        bool, typer.Option("--control/--no-control", help="Also train on shuffled labels.")
    ] = True,
    cache: Annotated[
        Path,
        typer.Option(
            "--cache", metavar="FOLDER", help="Where vectors are kept, to be found again."
        ),
    ] = Path("headscope-vectors"),
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            help="At most N examples of each split, drawn at random.",
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 32,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    revision: opt.Revision = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """What every head's output knows: a classifier on each head and layer, for every task, and on the best heads together (Jo and Myaeng 2020).

    A stopped run goes on where it was when the same command is typed again. Draw the results with 'headscope figures'.

    Example: headscope probe demo senteval/probing --task Length --task Depth -o probe.nc
    """
    from headscope.files import check_writable, slug
    from headscope.models import load
    from headscope.papers.recipe import phases
    from headscope.runs.probe.classify import Settings
    from headscope.runs.probe.linear import L2
    from headscope.runs.probe.probe import Choice
    from headscope.runs.probe.probe import probe as run
    from headscope.stats.probing import probing_remarks, top_table
    from headscope.tasks.find import find_tasks
    from headscope.tasks.probing import all_notes

    console = Console(quiet=quiet, as_json=json)
    path = output or Path(f"{slug(model)}-probe.nc")
    check_writable(path)
    choice = Choice(
        position or "", pairs, n, tuple(curve) if curve else None, greedy, max_length, batch_size
    )
    settings = Settings(solver, tuple(l2 or L2), control=control, seed=seed, device=device)
    with console.status("reading the tasks"):
        found = find_tasks(tasks, data=data, only=task, limit=limit, seed=seed)
    for note in all_notes(found):
        console.say(note)
    with console.status("loading the model"):
        loaded = load(
            model,
            device=device,
            dtype=dtype,
            revision=revision,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
        )
    with phases(console) as tell:
        results = run(
            loaded, found, cache=cache, output=path, choice=choice, settings=settings, progress=tell
        )
    table = top_table(results, n=n)
    if json:
        console.frame(table)
    elif not quiet:
        console.table(
            _rows(results, n),
            title=f"Test scores in percent, {loaded.name}; layer and heads chosen on validation",
        )
    for remark in probing_remarks(results):
        console.say(f"* {remark}")
    console.result(str(path))


def _rows(results: Results, n: int | None) -> list[dict[str, object]]:
    """The table for people: scores with their intervals, and the best heads by name."""
    from headscope.stats.probing import head_table, top_table

    rows: list[dict[str, object]] = []
    for name, row in zip(
        results["probe"]["task"].values, top_table(results, n=n).to_dict("records"), strict=True
    ):
        best = head_table(results, str(name), count=SHOWN)
        heads = ", ".join(
            f"{one['head']} {100 * one['test']:.1f}" for one in best.to_dict("records")
        )
        shown: dict[str, object] = {
            "task": row["task"],
            "majority": _number(row["majority"]),
            "last layer": _number(row["last"]),
        }
        shown |= {
            "best layer": f"{_number(row['best'])} ({row['best layer']})",
            f"top-{row['n']} heads": _number(row["top"]),
            f"greedy {row['n']}": _number(row["greedy"]),
            "best heads": heads,
        }
        rows.append(shown)
    return rows


def _number(value: object) -> str:
    return "–" if not isinstance(value, float) or value != value else f"{value:.1f}"
