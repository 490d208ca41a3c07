"""``headscope paper jo2020``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from headscope.cli import task_options as task_opt
from headscope.cli.paper import options as opt
from headscope.cli.paper.group import Common, recipe_command

if TYPE_CHECKING:
    from headscope.figures.probing.panels import Colours
    from headscope.papers import Recipe
    from headscope.runs.probe.options import Position, Solver


@recipe_command(batch_size=32, limit=task_opt.RandomLimit)
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
    task: task_opt.Only = None,
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
    position: task_opt.Position = None,
    n: task_opt.TopHeads = None,
    solver: task_opt.Solver = "exact",
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Where to keep vectors. Default: vectors/ in the output folder.",
            rich_help_panel=task_opt.VECTORS,
            show_default=False,
        ),
    ] = None,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls",
            help="Control tasks, description lengths, random weights and random heads (slow).",
        ),
    ] = False,
    published: Annotated[
        Path | None,
        typer.Option(
            "--published",
            metavar="PATH",
            help="The authors' released numbers: their repository or a tar archive of it.",
            show_default=False,
        ),
    ] = None,
    colours: Annotated[
        str,
        typer.Option(
            "--colours",
            metavar="RANGE",
            help="Colour ranges of maps: own, shared (by task), or majority (by task, from the "
            "majority class up).",
        ),
    ] = "own",
    *,
    common: Common,
) -> Recipe:
    """Roles and Utilization of Attention Heads: probing, heat maps, top heads, fine-tuning.

    Without task files, small versions of the ten probing tasks are made from the built-in corpus.
    --limit applies to probing, not to fine-tuning.

    Example: headscope paper jo2020 --model bert-base-uncased --tasks senteval/probing
    """
    from headscope.papers import find_paper
    from headscope.tasks import find_task

    downstream_tasks = [find_task(name) for name in downstream or ()]
    there = {
        "downstream": bool(downstream_tasks),
        "controls": controls,
        "published": published is not None,
    }
    given = {name for name, is_given in there.items() if is_given}
    find_paper("jo2020").choose(common.part, given=given)
    from headscope.papers import Jo2020

    return Jo2020(
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
        controls=controls,
        published=published,
        colours=cast("Colours", colours),
        **common.options,
    )
