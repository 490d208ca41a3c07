"""``headscope paper kovaleva2019``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from headscope.cli.options import Parser
from headscope.cli.paper import options as opt
from headscope.cli.paper.group import Common, recipe_command

if TYPE_CHECKING:
    from headscope.figures.grids import Scale
    from headscope.papers import Recipe

_TUNE = "Fine-tuning"


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
    tuned: Annotated[
        list[str] | None,
        typer.Option(
            "--tuned",
            metavar="FOLDER|TASK=MODEL",
            help="Where tuned models are, or will be (default: tuned/ in the output folder); or "
            "a checkpoint of your own, a folder or hub id, with its task (repeatable).",
            rich_help_panel=_TUNE,
            show_default=False,
        ),
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="NAME",
            help="A column of Table 1: pretrained, random or untrained (repeatable). Default: all.",
            rich_help_panel=_TUNE,
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            metavar="N",
            help="Models to tune for each task and start, with the seeds --seed, --seed + 1 ….",
            rich_help_panel=_TUNE,
        ),
    ] = 1,
    train_limit: Annotated[
        int | None,
        typer.Option(
            "--train-limit",
            metavar="N",
            help="Train on at most N examples of each task, drawn at random.",
            rich_help_panel=_TUNE,
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(
            "--precision",
            help="Of training: float32, or mixed precision: bf16, fp16 (GPU only).",
            rich_help_panel=_TUNE,
        ),
    ] = "float32",
    epochs: opt.Epochs = 3,
    learning_rate: opt.LearningRate = 5e-5,
    way: Annotated[
        str, typer.Option("--way", help="How to disable a head: uniform, zero or mean.")
    ] = "uniform",
    parser: Parser = None,
    sample: opt.Sample = "random",
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            help="The colours of maps of changes: 'one' scale for all maps of a figure, or one "
            "for 'each'.",
        ),
    ] = "one",
    *,
    common: Common,
) -> Recipe:
    """Revealing the Dark Secrets of BERT: fine-tuning, patterns, frames, change, disabled heads.

    Models are tuned first (batches of 32), unless --tuned has them. --limit applies to the dev
    examples, not to training (--train-limit) and not to the sentences with frame links.

    Example: headscope paper kovaleva2019 --model bert-base-uncased --task mrpc --data glue
    """
    from headscope.corpus import read
    from headscope.errors import unknown
    from headscope.papers import find_paper
    from headscope.papers.kovaleva2019.places import tuned_places
    from headscope.tasks import find_task

    tasks = [find_task(name) for name in task or ()]
    find_paper("kovaleva2019").choose(common.part, given={"tasks"} if tasks else ())
    if sample not in ("random", "first"):
        raise unknown("sample", sample, ("random", "first"))
    tuned_places(tuned, tasks)
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
        seeds=seeds,
        train_limit=train_limit,
        precision=precision,
        way=way,
        parser=parser or "",
        epochs=epochs,
        learning_rate=learning_rate,
        sample="first" if sample == "first" else "random",
        scale=cast("Scale", scale),
        **common.options,
    )
