"""``headscope paper jo2020``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from headscope.cli.console import Console
from headscope.cli.paper import options as opt
from headscope.cli.paper.group import paper, parts_help, run_recipe

if TYPE_CHECKING:
    from headscope.runs.probe.options import Position, Solver

_PROBES = "Probing"


@paper.command(epilog=parts_help("jo2020"))
def jo2020(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="A hub id, a model folder, or 'demo' (repeatable). Default: demo.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            metavar="SOURCE",
            help="SentEval files, a folder of them, or a treebank (repeatable). Default: tasks "
            "made from the built-in corpus.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="Only this probing task (repeatable).",
            show_default=False,
        ),
    ] = None,
    downstream: Annotated[
        list[str] | None,
        typer.Option(
            "--downstream",
            metavar="NAME",
            help="A GLUE task such as mrpc, sts-b or sst-2 (repeatable).",
            show_default=False,
        ),
    ] = None,
    data: opt.Data = "hub",
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            metavar="N",
            help="Models to fine-tune from each of last layer, best layer and top heads; 0: none.",
            rich_help_panel="Fine-tuning",
        ),
    ] = 5,
    tuned: opt.TunedFolder = None,
    epochs: opt.Epochs = 3,
    learning_rate: opt.LearningRate = 2e-5,
    position: Annotated[
        str | None,
        typer.Option(
            "--position",
            metavar="NAME",
            help="Where to read vectors: cls, last or mean. Default: what fits the model.",
            rich_help_panel=_PROBES,
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            "-n",
            metavar="N",
            help="How many of the best heads to combine. Default: as many as a layer has.",
            rich_help_panel=_PROBES,
            show_default=False,
        ),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            "--solver", help="exact, or rmsprop (as in the paper).", rich_help_panel=_PROBES
        ),
    ] = "exact",
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Where to keep vectors. Default: vectors/ in the output folder.",
            rich_help_panel=_PROBES,
            show_default=False,
        ),
    ] = None,
    part: opt.Parts = None,
    output: opt.Output = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            help="Draw at most N examples of each split at random (not for fine-tuning).",
            rich_help_panel="The run",
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 32,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Roles and Utilization of Attention Heads: probing, heat maps, top heads, fine-tuning.

    Without task files, small versions of the ten probing tasks are made from the built-in corpus.

    Example: headscope paper jo2020 --model bert-base-uncased --tasks senteval/probing
    """
    from headscope.papers import find_paper
    from headscope.tasks import find_task

    downstream_tasks = [find_task(name) for name in downstream or ()]
    find_paper("jo2020").choose(part, given={"downstream"} if downstream_tasks else ())
    from headscope.papers import Jo2020

    console = Console(quiet=quiet, as_json=json)
    recipe = Jo2020(
        model or ["demo"],
        tasks=tasks or ["demo"],
        only=task or (),
        downstream=downstream_tasks,
        data=data,
        seeds=seeds,
        tuned=tuned,
        epochs=epochs,
        learning_rate=learning_rate,
        position=cast("Position | None", position),
        top=n,
        solver=cast("Solver", solver),
        cache=cache,
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
