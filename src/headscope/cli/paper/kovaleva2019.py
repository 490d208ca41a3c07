"""``headscope paper kovaleva2019``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.options import Parser
from headscope.cli.paper import options as opt
from headscope.cli.paper.group import Common, recipe_command

if TYPE_CHECKING:
    from headscope.papers import Recipe


@recipe_command()
def kovaleva2019(
    model: opt.Model = "demo",
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="A GLUE task: mrpc, sts-b, sst-2, qqp, rte, qnli or mnli (repeatable).",
            show_default=False,
        ),
    ] = None,
    data: opt.Data = "hub",
    frames: Annotated[
        str,
        typer.Option(
            "--frames",
            metavar="FILE",
            help="Frame links: JSON lines, 'framenet' for nltk's, or 'demo'.",
        ),
    ] = "demo",
    tuned: opt.TunedFolder = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="NAME",
            help="A column of Table 1: pretrained, random or untrained (repeatable). Default: all.",
            rich_help_panel="Fine-tuning",
            show_default=False,
        ),
    ] = None,
    epochs: opt.Epochs = 3,
    learning_rate: opt.LearningRate = 5e-5,
    way: Annotated[
        str, typer.Option("--way", help="How to disable a head: uniform, zero or mean.")
    ] = "uniform",
    parser: Parser = None,
    *,
    common: Common,
) -> Recipe:
    """Revealing the Dark Secrets of BERT: fine-tuning, patterns, frames, change, disabled heads.

    Models are tuned first (batches of 32), unless --tuned has them. --limit applies to the dev
    examples, not to training.

    Example: headscope paper kovaleva2019 --model bert-base-uncased --task mrpc --data glue
    """
    from headscope.corpus import read
    from headscope.papers import find_paper
    from headscope.tasks import find_task

    tasks = [find_task(name) for name in task or ()]
    find_paper("kovaleva2019").choose(common.part, given={"tasks"} if tasks else ())
    links = read(frames)
    from headscope.papers import Kovaleva2019
    from headscope.runs.tune import STARTS

    return Kovaleva2019(
        model,
        tasks=tasks,
        data=data,
        frames=links,
        tuned=tuned,
        starts=start or STARTS,
        way=way,
        parser=parser or "",
        epochs=epochs,
        learning_rate=learning_rate,
        **common.options,
    )
