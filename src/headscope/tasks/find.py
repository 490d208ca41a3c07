"""Where probing tasks come from: SentEval files, treebanks that the ten tasks are made from, and GLUE tasks (J2, J6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from headscope.corpus import Example, read
from headscope.corpus.readers.brackets import is_brackets
from headscope.errors import UserError, unknown
from headscope.tasks import Task, task_examples
from headscope.tasks.make.treebank import make_tasks
from headscope.tasks.probing import TITLES, ProbingTask
from headscope.tasks.senteval import is_senteval, read_tasks
from headscope.tasks.task import GLUE, plain

DOWNSTREAM = ("mrpc", "sts-b", "sst-2")
"""The downstream tasks of the paper."""


def find_tasks(
    sources: Sequence[str | Path | ProbingTask],
    *,
    data: str | None = None,
    only: Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> list[ProbingTask]:
    """The tasks of some sources: a SentEval file or a folder of them, a treebank or "demo" (the ten tasks are made from it), or a GLUE task's name (its files in ``data``).
    A probing task stands for itself.

    ``only`` names those that are wanted; ``limit`` is how many examples of each split are drawn at random.
    """
    found: list[ProbingTask] = []
    there: list[str] = []
    wanted = None if only is None else {name.lower() for name in only}
    for given in sources:
        if isinstance(given, ProbingTask):
            there.append(given.title)
            if wanted is None or _names(given.name, given.title) & wanted:
                found.append(given)
            continue
        source = str(given)
        glue = next(
            (
                task
                for task in GLUE.values()
                if plain(source) in {plain(task.name), plain(task.title)}
            ),
            None,
        )
        if glue is not None and (
            data is not None or not Path(source).exists()
        ):  # with --data a name is the task's, even if a folder has it too
            if data is None:
                raise UserError(
                    f"{source} is a GLUE task, whose files must be given too",
                    hint="give --data FOLDER (FOLDER/MRPC/train.tsv …), or --data hub",
                )
            found.append(glue_task(glue, data))
        elif Path(source).is_dir() or (Path(source).is_file() and is_senteval(Path(source))):
            read_ones = read_tasks(source)
            there += [task.title for task in read_ones]
            found += [
                task
                for task in read_ones
                if wanted is None or _names(task.name, task.title) & wanted
            ]
        else:
            there += TITLES.values()
            chosen = [
                name
                for name, title in TITLES.items()
                if wanted is None or _names(name, title) & wanted
            ]
            trees = is_brackets(Path(source))
            corpus = read(source, format="brackets" if trees else None)
            found += (
                make_tasks(
                    corpus,
                    seed=seed,
                    tasks=None if wanted is None else chosen,
                    brackets=source if trees else None,
                )
                if chosen
                else []
            )
    for name in only or ():
        if not any(name.lower() in _names(task.name, task.title) for task in found):
            raise unknown("task", name, set(there))
    return found if limit is None else [sample(task, limit, seed) for task in found]


def _names(name: str, title: str) -> set[str]:
    """What a task may be called."""
    return {name.lower(), title.lower()}


def glue_task(task: Task, data: str) -> ProbingTask:
    """A GLUE task as a probing task: trained on its train part (L2 by folds), tested on its dev part, whose labels are known."""
    splits = {
        "train": tuple(task_examples(task, data, "train")),
        "test": tuple(task_examples(task, data, "dev")),
    }
    splits = {
        split: tuple(replace(example, label=(example.label or "").strip()) for example in examples)
        for split, examples in splits.items()
    }
    return ProbingTask(
        task.name,
        task.title,
        task.labels,
        splits,
        "downstream",
        ("tested on the dev part; L2 is chosen by folds of the train part",),
    )


def sample(task: ProbingTask, limit: int, seed: int) -> ProbingTask:
    """At most so many examples of each split, drawn at random, in their order."""
    if limit < 1:
        raise UserError(f"the limit must be 1 or more, got {limit} instead")
    splits: dict[str, tuple[Example, ...]] = {}
    for split, examples in task.splits.items():
        chosen = sorted(
            Random(f"{seed} {task.name} {split}").sample(
                range(len(examples)), min(limit, len(examples))
            )
        )
        splits[split] = tuple(examples[place] for place in chosen)
    labels = {example.label for example in splits["train"]}
    if task.labels and len(labels) < 2:
        raise UserError(
            f"{limit} examples of {task.title} have only one class", hint="give a larger --limit"
        )
    return replace(
        task,
        splits=splits,
        notes=(*task.notes, f"at most {limit} examples of each split, drawn at random"),
    )
