"""``headscope tune``: fine-tuning from the command line."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headscope.cli import options as opt
from headscope.cli import task_options as task_opt
from headscope.cli.console import Console
from headscope.cli.root import TRAIN, app

if TYPE_CHECKING:
    from headscope.models import Pooling
    from headscope.runs.tune import Precision, Start, Tuned
    from headscope.tasks.data import TaskData
    from headscope.tasks.task import Task

ALL = "all"
_CLASSIFIER = "The classifier"
_TRAINING = "Training"


@app.command(rich_help_panel=TRAIN)
def tune(
    model: opt.Model,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="mrpc, sts-b, sst-2, qqp, rte, qnli or mnli. Repeatable.",
            show_default=False,
        ),
    ] = None,
    data: task_opt.GlueData = None,
    train: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Your own table (TSV or JSON lines): text, optional second text, label.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="A table with the same columns to score on.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Models are saved as FOLDER/TASK-START, or FOLDER/TASK-POOLING.",
        ),
    ] = Path("tuned"),
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            help="pretrained, random (weights drawn from a normal distribution), untrained (scored "
            "without training) or all. Repeatable. Default: pretrained.",
            show_default=False,
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            "--pooling",
            metavar="last|layer:4|heads:3-9,4-1",
            help="Train a classifier on the last layer, a layer, or heads, counted from 1. "
            "Default: the model's own classifier.",
            rich_help_panel=_CLASSIFIER,
            show_default=False,
        ),
    ] = None,
    position: Annotated[
        str,
        typer.Option(
            "--position",
            help="With --pooling: cls, last or mean. Default: the last token of a causal model, "
            "else [CLS] if there is one.",
            rich_help_panel=_CLASSIFIER,
            show_default=False,
        ),
    ] = "",
    epochs: Annotated[
        int,
        typer.Option(
            "--epochs", help="Passes over the training examples.", rich_help_panel=_TRAINING
        ),
    ] = 3,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            "--learning-rate",
            help="The highest learning rate, after warm-up. Default: 5e-05; 2e-05 with --pooling.",
            rich_help_panel=_TRAINING,
            show_default=False,
        ),
    ] = None,
    warmup: Annotated[
        float,
        typer.Option(
            "--warmup",
            help="Share of the steps in which the learning rate rises.",
            rich_help_panel=_TRAINING,
        ),
    ] = 0.1,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            "--seed",
            help="Seed of new weights, order and dropout. Repeatable; the table then shows "
            "medians. Default: 0.",
            rich_help_panel=_TRAINING,
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(
            "--precision",
            help="float32, or mixed precision: bf16, fp16 (GPU only).",
            rich_help_panel=_TRAINING,
        ),
    ] = "float32",
    limit: opt.Limit = None,
    batch_size: opt.BatchSize = 32,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    revision: opt.Revision = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    engine: opt.Engine = "local",
    workers: opt.Workers = None,
    address: opt.Address = "",
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Fine-tune a model on GLUE tasks or your own table.

    Start from pretrained or random weights (Kovaleva et al. 2019, Table 1), or train a classifier
    on chosen heads (Jo and Myaeng 2020, Table 4). Other commands read the folders that this one
    makes. Run the same command again to resume an interrupted run; finished folders are not
    trained again.

    Example: headscope tune bert-base-uncased --task rte --task mrpc --data glue --start all
    """
    from headscope.files import check_writable
    from headscope.models.names import check_model_name
    from headscope.runs.engines import check_engine
    from headscope.runs.tune.pooled.names import find_pooling
    from headscope.runs.tune.settings import TuneSettings, check_training

    console = Console(quiet=quiet, as_json=json)
    check_model_name(model)
    check_engine(engine, workers, address)
    chosen = find_pooling(pooling, position)
    settings: dict[str, Any] = {
        "epochs": epochs,
        "warmup": warmup,
        "batch_size": batch_size,
        "max_length": max_length,
        "precision": cast("Precision", precision),
        "limit": limit,
    }
    if learning_rate is not None:
        settings["learning_rate"] = learning_rate
    plan = [(name, number) for number in seed or [0] for name in _starts(start)]
    for name, number in plan:  # every run is checked before the first one begins
        check_training(TuneSettings(start=name, seed=number, **settings), device)
    jobs = _jobs(task, data, train, dev)
    check_writable(output / "headscope-tune.json")
    with console.status("loading libraries"):
        from headscope.runs.tune import tune as run
        from headscope.runs.tune import tune_several
    runs = [
        partial(
            run,
            model,
            task=job.task,
            train=job.train,
            dev=job.dev,
            output=output / _folder_name(job.task.name, name, chosen, number),
            start=name,
            pooling=chosen,
            seed=number,
            device=device,
            revision=revision,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
            overwrite=overwrite,
            **settings,
        )
        for job in jobs
        for name, number in plan
    ]

    def tell(tuned: Tuned) -> None:
        if tuned.again:
            console.say(f"{tuned.folder} is already finished; its scores are read from there")
        for note in tuned.notes:
            console.say(note)

    done = tune_several(
        runs,
        engine=cast("Any", engine),
        workers=workers,
        address=address,
        progress=console,
        finished=tell,
    )
    seeds = len(seed or [0])
    console.table(
        [_record(tuned) for tuned in done] if json else _table(done),
        title="Dev scores in percent" + (f", median of {seeds} seeds" if seeds > 1 else ""),
    )
    for tuned in done:
        console.result(str(tuned.folder))


def _folder_name(task: str, start: str, pooling: Pooling | None, seed: int) -> str:
    from headscope.runs.tune import pooling_slug

    if pooling is None:
        name = f"{task}-{start}"
    else:
        name = f"{task}-{pooling_slug(pooling)}" + ("" if start == "pretrained" else f"-{start}")
    return name + (f"-seed{seed}" if seed else "")


def _table(done: list[Tuned]) -> list[dict[str, Any]]:
    """Table 1 of Kovaleva et al.; with a pooling, without the published scores."""
    from headscope.papers.kovaleva2019.glue_table import table_rows

    rows, pooling = table_rows(done), done[0].pooling
    if pooling is None:
        return rows
    table = []
    for row in rows:
        ours = {
            key.removesuffix(": here"): value
            for key, value in row.items()
            if not key.endswith(": paper")
        }
        seen = {"pooling": pooling.title, "position": pooling.position}
        table.append({"task": ours.pop("task"), **seen, **ours})
    return table


def _starts(given: list[str] | None) -> list[Start]:
    from headscope.errors import unknown
    from headscope.runs.tune import STARTS

    names = given or ["pretrained"]
    for name in names:
        if name not in (*STARTS, ALL):
            raise unknown("start", name, (*STARTS, ALL))
    return [name for name in STARTS if name in names or ALL in names]


def _jobs(
    names: list[str] | None, data: str | None, train: str | None, dev: str | None
) -> list[TaskData]:
    """The tasks and their examples, all read and checked before anything is trained."""
    from headscope.errors import UserError
    from headscope.tasks.data import training_data
    from headscope.tasks.task import find_task

    tasks: list[Task | None] = [*{task.name: task for task in map(find_task, names or ())}.values()]
    if len(tasks) > 1 and (train or dev):
        raise UserError(
            f"--train and --dev are one task's tables, got {len(tasks)} tasks",
            hint="give one --task, or --data with the files of all tasks",
        )
    return [training_data(task, data=data, train=train, dev=dev) for task in tasks or [None]]


def _record(tuned: Tuned) -> dict[str, Any]:
    """One run as a flat record, scores from 0 to 1."""
    settings = tuned.settings
    record = {
        "task": tuned.task.name,
        "start": settings.start,
        "seed": settings.seed,
        "epochs": settings.epochs,
        **tuned.examples,
        **tuned.scores,
    }
    record |= {f"majority {name}": value for name, value in tuned.majority.items()}
    if tuned.pooling:
        record |= {"pooling": tuned.pooling.title, "position": tuned.pooling.position}
    return record | {"minutes": round(tuned.minutes, 2), "folder": str(tuned.folder)}
