"""``headscope paper kovaleva2019``."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli.console import Console
from headscope.cli.options import Parser
from headscope.cli.paper import options as opt
from headscope.cli.paper.group import paper, parts_help, run_recipe


@paper.command(epilog=parts_help("kovaleva2019"))
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
    """Revealing the Dark Secrets of BERT: fine-tuning, patterns, frames, change, disabled heads.

    Models are tuned first (batches of 32), unless --tuned has them. --limit applies to the dev
    examples, not to training.

    Example: headscope paper kovaleva2019 --model bert-base-uncased --task mrpc --data glue
    """
    from headscope.corpus import read
    from headscope.papers import find_paper
    from headscope.tasks import find_task

    tasks = [find_task(name) for name in task or ()]
    find_paper("kovaleva2019").choose(part, given={"tasks"} if tasks else ())
    links = read(frames)
    from headscope.papers import Kovaleva2019
    from headscope.runs.tune import STARTS

    console = Console(quiet=quiet, as_json=json)
    recipe = Kovaleva2019(
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
