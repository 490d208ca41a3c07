"""Probing tasks on the command line: made from a treebank, or shown as they are in files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli import task_options as task_opt
from headscope.cli.console import Console
from headscope.cli.root import TRAIN, app


@app.command(rich_help_panel=TRAIN)
def tasks(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A treebank (.conllu, .conllx, bracketed .mrg, .psd, .ptb; .gz too) or 'demo', "
            "to make tasks from; or SentEval's files (.txt, .tsv, a folder), to show.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where to write the tasks, one NAME.txt each. Default: only the table.",
            show_default=False,
        ),
    ] = None,
    task: task_opt.Only = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="N",
            help="The most examples of a task, or three numbers: TRAIN,DEV,TEST. Default: all "
            "there are, 80, 10 and 10 %.",
            show_default=False,
        ),
    ] = None,
    brackets: Annotated[
        Path | None,
        typer.Option(
            "--brackets",
            metavar="FILE",
            help="Bracketed trees for Depth and TopConst, as in the paper.",
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make the ten probing tasks of Conneau et al. 2018 from a treebank, or show task files.

    Tasks are written in SentEval's format.

    Example: headscope tasks en_ewt-ud-train.conllu -o tasks && headscope tasks tasks
    """
    from headscope.corpus.readers.brackets import is_brackets
    from headscope.errors import UserError
    from headscope.tasks.senteval import is_senteval

    console = Console(quiet=quiet, as_json=json)
    trees = is_brackets(Path(source))
    if trees or not is_senteval(Path(source)):
        _make(
            console,
            source,
            output,
            brackets=Path(source) if trees and brackets is None else brackets,
            tasks=task,
            size=_size(size),
            seed=seed,
            trees=trees,
        )
        return
    if output or brackets or size:
        raise UserError(
            f"{source} has tasks already: there is nothing to make",
            hint="leave out --output, --size and --brackets to see what is in it, or give a "
            "treebank (.conllu)",
        )
    _show(console, source, task)


def _size(given: str | None) -> list[int] | None:
    from headscope.errors import UserError

    parts = given.split(",") if given else []
    if not all(part.strip().isdecimal() for part in parts):
        raise UserError(
            f"the size must be a number, or three separated by commas; got {given!r} instead",
            hint="e.g. --size 1000 or --size 800,100,100",
        )
    return [int(part) for part in parts] or None


def _show(console: Console, source: str, names: list[str] | None) -> None:
    """What is in SentEval's files."""
    from headscope.errors import unknown
    from headscope.tasks.probing import SPLITS
    from headscope.tasks.senteval import read_tasks

    found = read_tasks(source)
    known = {key.lower(): task for task in found for key in (task.name, task.title)}
    for name in names or ():
        if name.lower() not in known:
            raise unknown("task", name, [task.name for task in found])
    chosen = [
        task for task in found if not names or task in [known[name.lower()] for name in names]
    ]
    rows: list[dict[str, Any]] = []
    for task in chosen:
        test = task.counts("test")
        sizes = {split: len(task.splits.get(split, ())) for split in SPLITS}
        share = max(test.values()) / test.total()
        rows.append(
            {
                "task": task.title,
                "name": task.name,
                "group": task.group,
                "classes": len(task.labels),
                **sizes,
                "largest class": share,
                "notes": "; ".join(task.notes),
            }
        )
    console.table(rows)


def _make(
    console: Console,
    source: str,
    output: Path | None,
    *,
    brackets: Path | None,
    tasks: list[str] | None,
    size: list[int] | None,
    seed: int,
    trees: bool,
) -> None:
    """Make tasks and write them."""
    from headscope.corpus import read
    from headscope.files import check_writable
    from headscope.tasks.make.treebank import check_made, report_tasks
    from headscope.tasks.senteval import write_senteval

    corpus = read(source, format="brackets" if trees else None)
    with console.status("making tasks"):
        reports = report_tasks(corpus, seed=seed, size=size, tasks=tasks, brackets=brackets)
    check_made(reports, named=bool(tasks))
    made = [report.task for report in reports if report.task]
    if output:
        for task in made:
            check_writable(output / f"{task.name}.txt")
        for task in made:
            write_senteval(task, output)
    if console.as_json or not console.quiet:
        console.table([report.row() for report in reports])
    if output:
        console.say(f"next: headscope tasks {output}")
        console.result(str(output))
    else:
        console.say("nothing was written: give -o FOLDER to keep the tasks")
