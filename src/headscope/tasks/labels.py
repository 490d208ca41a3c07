"""From labels to classes: those of a known task, or those found in a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Corpus, Example
from headscope.errors import CorpusError, UserError, shorten, unknown
from headscope.tasks.task import Task


def custom_task(corpus: Corpus) -> Task:
    """Make a task of a labelled corpus: its labels are the classes.

    If all labels are numbers, and not all of them whole, it is a regression.

    Raises
    ------
    UserError
        If an example has no label, or the labels are not classes.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> rows = [Example(str(n), ("x",), label="yes" if n % 2 else "no") for n in range(4)]
    >>> custom_task(read(rows)).labels
    ('no', 'yes')
    """
    found = [_label(example, corpus.name) for example in corpus]
    counts = Counter(found)
    numbers = [_number(label) for label in counts]
    fractions = any(number is not None and not number.is_integer() for number in numbers)
    title = Path(corpus.name).name
    if fractions and None not in numbers:
        return Task("custom", title, "regression", (), ("pearson", "spearman"))
    _check_classes(corpus, found, counts)
    labels = sorted(counts) if None in numbers else sorted(counts, key=float)
    return Task("custom", title, "classification", tuple(labels), ("accuracy",))


def label_ids(task: Task, examples: Iterable[Example]) -> NDArray[Any]:
    """The class indices of examples (int64), or their scores (float64) for a regression.

    Raises
    ------
    CorpusError
        If an example has no label, or one that the task does not have.

    Examples
    --------
    >>> from headscope.tasks.task import GLUE
    >>> label_ids(GLUE["rte"], [Example("1", ("a", "b"), label="not_entailment")]).tolist()
    [1]
    """
    where = getattr(examples, "name", "")
    values = [_value(task, example, where) for example in examples]
    return np.array(values, np.int64 if task.labels else np.float64)


def _check_classes(corpus: Corpus, found: list[str], counts: Counter[str]) -> None:
    """Labels are classes if there are at least two, and they keep coming back."""
    if len(counts) < 2:
        raise UserError(
            f"a task needs two classes or more; {corpus.name} has only {shorten(found[0])}",
            hint="give a file with at least two different labels",
        )
    if counts[found[0]] == 1 and len(counts) > 2:
        raise CorpusError(
            f"{_place(next(iter(corpus)), corpus.name)}: the label {shorten(found[0])} occurs "
            "nowhere else: the line looks like a header with unknown names",
            hint="call the columns text (and text2) and label, or remove the header",
        )
    if 2 * len(counts) > len(found):
        raise CorpusError(
            f"{corpus.name}: {len(counts)} different labels in {len(found)} examples: "
            "they are not classes",
            hint="the last column must be the label; call the columns text, text2 and label "
            "in the first line",
        )


def _value(task: Task, example: Example, where: str) -> float:
    label = _label(example, where)
    if task.labels:
        if label not in task.labels:
            wrong = unknown(f"label of {task.title}", label, task.labels)
            raise CorpusError(
                f"{_place(example, where)}: {wrong.message}",
                hint="correct the file, or give train= and dev= for a task of your own",
            )
        return task.labels.index(label)
    number = _number(label)
    if number is None:
        raise CorpusError(
            f"{_place(example, where)}: the label of {task.title} must be a number, "
            f"got {shorten(label)} instead",
            hint="check the column of the score",
        )
    return number


def _label(example: Example, where: str) -> str:
    if example.label is None or not example.label.strip():
        raise CorpusError(
            f"{_place(example, where)}: no label, which a task needs",
            hint="call the column of the labels 'label' in the first line, "
            "or write text, text and label in each line",
        )
    return example.label.strip()


def _place(example: Example, where: str) -> str:
    return example.source or f"{where}, example {example.id}".lstrip(", ")


def _number(label: str) -> float | None:
    try:
        number = float(label)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
