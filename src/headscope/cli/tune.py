"""Fine-tuning from the command line (Kovaleva et al. 2019, Table 1; Jo and Myaeng 2020, Table 4)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import app

if TYPE_CHECKING:
    from headscope.corpus import Corpus
    from headscope.models import Pooling
    from headscope.runs.tune import Tuned
    from headscope.tasks import Task

ALL = "all"


@app.command()
def tune(
    model: opt.Model,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="mrpc, sts-b, sst-2, qqp, rte, qnli or mnli (repeat for more).",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="GLUE files, FOLDER/RTE/train.tsv and so on (.gz too), or 'hub'.",
            show_default=False,
        ),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="A table of your own (TSV or JSON lines): text, second text if any, label.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="A table with the same columns, to score on.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Models go to FOLDER/TASK-START, or FOLDER/TASK-POOLING.",
        ),
    ] = Path("tuned"),
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            help="pretrained, random (weights from a normal distribution), untrained (only scored) or all; repeat for more. Default: pretrained.",
            show_default=False,
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            "--pooling",
            metavar="last|layer:4|heads:3-9,4-1",
            help="Put the classifier on the last layer, a layer, or heads (LAYER-HEAD), counted from 1 (Jo and Myaeng 2020). Default: the model's own classifier.",
            show_default=False,
        ),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(
            "--position",
            help="With --pooling: cls, last or mean. Default: the last token of a causal model, else [CLS] if there is one.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", help="Passes over the training examples.")] = 3,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            "--learning-rate",
            help="The highest one, after warm-up. Default: 5e-05, with --pooling 2e-05.",
            show_default=False,
        ),
    ] = None,
    warmup: Annotated[
        float, typer.Option("--warmup", help="The share of steps in which the learning rate rises.")
    ] = 0.1,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            "--seed",
            help="Seed of classifier, order and dropout; repeat for more, and medians are shown. Default: 0.",
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        str, typer.Option("--precision", help="float32, or mixed precision: bf16, fp16 (GPU).")
    ] = "float32",
    limit: opt.Limit = None,
    batch_size: opt.BatchSize = 32,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    revision: opt.Revision = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Fine-tune a model on GLUE tasks or a table of your own, from pretrained or random weights (Kovaleva et al. 2019, Table 1), or from chosen heads (Jo and Myaeng 2020, Table 4).

    Each folder it makes is a model that the other commands read. A stopped run goes on where it was when the same command is typed again; a finished one is not repeated.

    Example: headscope tune bert-base-uncased --task rte --task mrpc --data glue --start all -o tuned
    """
    from headscope.files import check_writable
    from headscope.runs.tune import Settings
    from headscope.runs.tune import tune as run

    console = Console(quiet=quiet, as_json=json)
    settings: dict[str, Any] = {
        "epochs": epochs,
        "warmup": warmup,
        "batch_size": batch_size,
        "max_length": max_length,
        "precision": precision,
        "limit": limit,
    } | ({} if learning_rate is None else {"learning_rate": learning_rate})
    chosen = _pooling(pooling, position)
    plan = [(name, number) for number in seed or [0] for name in _starts(start)]
    for name, number in plan:
        Settings(start=name, seed=number, **settings)
    check_writable(output / "headscope-tune.json")
    load_options = {
        "revision": revision,
        "allow_pickle": allow_pickle,
        "trust_remote_code": trust_remote_code,
    }
    done: list[Tuned] = []
    for which, train_set, dev_set in _jobs(task, data, train, dev):
        for name, number in plan:
            folder = (
                output / f"{which.name}-{_about(name, chosen)}{f'-seed{number}' if number else ''}"
            )
            with console.progress(folder.name) as progress:
                tuned = run(
                    model,
                    which,
                    train_set,
                    dev_set,
                    output=folder,
                    pooling=chosen,
                    device=device,
                    progress=progress,
                    load_options=load_options,
                    start=name,
                    seed=number,
                    **settings,
                )
            for note in (
                [f"{folder} is finished: its scores are read from there"] if tuned.again else []
            ) + tuned.notes:
                console.say(note)
            done.append(tuned)
    seeds = len(seed or [0])
    console.table(
        [_record(tuned) for tuned in done] if json else _table(done),
        title="Dev scores in percent" + (f", median of {seeds} seeds" if seeds > 1 else ""),
    )
    for tuned in done:
        console.result(str(tuned.folder))


def _pooling(given: str | None, position: str | None) -> Pooling | None:
    from headscope.errors import UserError
    from headscope.runs.tune import parse_pooling

    if given is None and position is not None:
        raise UserError(
            f"--position goes with --pooling, got --position {position} alone",
            hint=f"give e.g. --pooling last --position {position}",
        )
    return None if given is None else parse_pooling(given, position or "")


def _about(start: str, pooling: Pooling | None) -> str:
    """What a folder is named after."""
    from headscope.runs.tune import pooling_slug

    if pooling is None:
        return start
    return pooling_slug(pooling) + ("" if start == "pretrained" else f"-{start}")


def _table(done: list[Tuned]) -> list[dict[str, Any]]:
    """Table 1 of Kovaleva et al.; with a pooling, whose scores are no match for the paper's, only ours."""
    from headscope.papers.kovaleva2019.glue_table import table_rows

    rows, pooling = table_rows(done), done[0].pooling
    if pooling is None:
        return rows
    ours = [
        {
            key.removesuffix(": here"): value
            for key, value in row.items()
            if not key.endswith(": paper")
        }
        for row in rows
    ]
    return [
        {"task": row.pop("task"), "pooling": pooling.title, "position": pooling.position, **row}
        for row in ours
    ]


def _starts(given: list[str] | None) -> list[str]:
    from headscope.errors import unknown
    from headscope.runs.tune import STARTS

    names = given or ["pretrained"]
    for name in names:
        if name not in (*STARTS, ALL):
            raise unknown("start", name, (*STARTS, ALL))
    return [name for name in STARTS if name in names or ALL in names]


def _jobs(
    names: list[str] | None, data: str | None, train: str | None, dev: str | None
) -> list[tuple[Task, Corpus, Corpus]]:
    """The tasks and their examples, all read and checked before anything is trained."""
    from headscope.errors import UserError
    from headscope.tasks import custom_task, find_task, task_examples
    from headscope.tasks.files import labelled

    if names and data and not (train or dev):
        tasks = {task.name: task for task in map(find_task, names)}.values()
        return [
            (task, task_examples(task, data, "train"), task_examples(task, data, "dev"))
            for task in tasks
        ]
    if train and dev and not data and len(names or ()) <= 1:
        task = find_task(names[0]) if names else custom_task(labelled(train))
        return [(task, task_examples(task, train, "train"), task_examples(task, dev, "dev"))]
    given = [
        f"--{name}"
        for name, value in (("task", names), ("data", data), ("train", train), ("dev", dev))
        if value
    ]
    raise UserError(
        f"what to train on must be --task with --data, or --train with --dev; got {' and '.join(given) or 'neither'} instead",
        hint="give e.g. --task rte --data glue, or --train train.tsv --dev dev.tsv",
    )


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
