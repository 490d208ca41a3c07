"""Tasks: their classes and labels, and the metrics that score them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Corpus, Example
from headscope.errors import CorpusError, UserError, shorten, unknown

# --- tasks with labels ---

Kind = Literal["classification", "regression"]


@dataclass(frozen=True)
class Task:
    """A task: what a classifier is to say about a text or a pair of texts.

    Parameters
    ----------
    name, title : str
        The name to type, and the one to print.
    kind : {"classification", "regression"}
        What the labels are.
    labels : tuple of str
        The classes, in the order of their indices; none for a regression.
    metrics : tuple of str
        The metrics, the main one first.

    Examples
    --------
    >>> GLUE["rte"].labels
    ('entailment', 'not_entailment')
    """

    name: str
    title: str
    kind: Kind
    labels: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def outputs(self) -> int:
        """How many numbers a classifier gives for an example."""
        return len(self.labels) or 1


_BINARY, _ENTAILMENT = ("0", "1"), ("entailment", "not_entailment")
_MNLI = ("entailment", "neutral", "contradiction")
_ACCURACY = ("accuracy",)
_TASKS = (
    Task("mrpc", "MRPC", "classification", _BINARY, ("f1", "accuracy")),
    Task("sts-b", "STS-B", "regression", (), ("pearson", "spearman")),
    Task("sst-2", "SST-2", "classification", _BINARY, ("accuracy",)),
    Task("qqp", "QQP", "classification", _BINARY, ("f1", "accuracy")),
    Task("rte", "RTE", "classification", _ENTAILMENT, ("accuracy",)),
    Task("qnli", "QNLI", "classification", _ENTAILMENT, ("accuracy",)),
    Task("mnli", "MNLI-m", "classification", _MNLI, ("accuracy",)),
)
GLUE: dict[str, Task] = {task.name: task for task in _TASKS}
"""The seven GLUE tasks of Kovaleva et al. (2019), Table 1, in its order.

Classes are ordered as on the hub; F1 is that of class "1".
"""

MADE: dict[str, Task] = {
    "opinion": Task("opinion", "Opinion", "classification", ("negative", "positive"), _ACCURACY),
    "paraphrase": Task(
        "paraphrase", "Paraphrase", "classification", ("contradiction", "paraphrase"), _ACCURACY
    ),
}
"""Two tasks whose sentences a grammar writes (:mod:`headscope.corpus.grammar`), so that no file is
needed: sentences that praise or find fault, and pairs that repeat or contradict each other."""


def find_task(name: str) -> Task:
    """Find a task of GLUE or of the built-in grammar by its name, however it is spelled.

    Raises
    ------
    UserError
        If there is no such task.

    Examples
    --------
    >>> find_task("SST2").name, find_task("mnli-m").title
    ('sst-2', 'MNLI-m')
    """
    for task in (*_TASKS, *MADE.values()):
        if plain(name) in {plain(task.name), plain(task.title)}:
            return task
    raise unknown("task", name, [*GLUE, *MADE])


def plain(name: str) -> str:
    """A name without case and punctuation: SST-2, sst2 and SST_2 are the same.

    >>> plain("STS-B")
    'stsb'
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


# --- from labels to classes ---


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
    all_labels = [_label(example, corpus.name) for example in corpus]
    counts = Counter(all_labels)
    numbers = [_number(label) for label in counts]
    fractions = any(number is not None and not number.is_integer() for number in numbers)
    title = Path(corpus.name).name
    if fractions and None not in numbers:
        return Task("custom", title, "regression", (), ("pearson", "spearman"))
    _check_classes(corpus, all_labels, counts)
    labels = sorted(counts) if None in numbers else sorted(counts, key=float)
    return Task("custom", title, "classification", tuple(labels), ("accuracy",))


def label_ids(task: Task | ProbingTask, examples: Iterable[Example]) -> NDArray[Any]:
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


def _check_classes(corpus: Corpus, labels: list[str], counts: Counter[str]) -> None:
    """Labels are classes if there are at least two, and they keep coming back."""
    if len(counts) < 2:
        raise UserError(
            f"a task needs two classes or more; {corpus.name} has only {shorten(labels[0])}",
            hint="give a file with at least two different labels",
        )
    if counts[labels[0]] == 1 and len(counts) > 2:
        raise CorpusError(
            f"{_place(next(iter(corpus)), corpus.name)}: the label {shorten(labels[0])} occurs "
            "nowhere else: the line looks like a header with unknown names",
            hint="call the columns text (and text2) and label, or remove the header",
        )
    if 2 * len(counts) > len(labels):
        raise CorpusError(
            f"{corpus.name}: {len(counts)} different labels in {len(labels)} examples: "
            "they are not classes",
            hint="the last column must be the label; call the columns text, text2 and label "
            "in the first line",
        )


def _value(task: Task | ProbingTask, example: Example, where: str) -> float:
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


# --- probing tasks ---

SPLITS = ("train", "dev", "test")
TITLES = {
    "sentence_length": "Length",
    "word_content": "WordContent",
    "tree_depth": "Depth",
    "top_constituents": "TopConst",
    "bigram_shift": "BigramShift",
    "past_present": "Tense",
    "subj_number": "SubjNum",
    "obj_number": "ObjNum",
    "odd_man_out": "OddManOut",
    "coordination_inversion": "CoordInv",
}
"""SentEval's names of the ten tasks of Conneau et al. (2018), and the paper's, in its order."""
SURFACE, SYNTACTIC = ("Length", "WordContent"), ("Depth", "TopConst", "BigramShift")


def task_group(title: str) -> str:
    """The group of one of the ten tasks; empty for any other.

    >>> task_group("Depth"), task_group("Tense"), task_group("mine")
    ('syntactic', 'semantic', '')
    """
    if title in SURFACE:
        return "surface"
    return "syntactic" if title in SYNTACTIC else "semantic" if title in TITLES.values() else ""


@dataclass(frozen=True)
class ProbingTask:
    """A task that a classifier is trained on, to see what a vector knows.

    Parameters
    ----------
    name, title : str
        The name to type, and the one to print.
    labels : tuple of str
        The classes, in the order of their indices; none if the labels are numbers (a regression).
    splits : mapping of str to tuple of Example
        train and test; dev is optional.
    group : str, default ""
        surface, syntactic, semantic or downstream; empty for other tasks.
    notes : tuple of str, optional
        What a reader of the results should know.

    Examples
    --------
    >>> train = [Example("1", ("Dogs bark .",), label="PRES")]
    >>> ProbingTask("mine", "Mine", ("PAST", "PRES"), {"train": tuple(train)}).counts("train")
    Counter({'PRES': 1})
    """

    name: str
    title: str
    labels: tuple[str, ...]
    splits: Mapping[str, tuple[Example, ...]]
    group: str = ""
    notes: tuple[str, ...] = field(default=())

    def counts(self, split: str) -> Counter[str]:
        """How many examples of each label a split has."""
        return Counter(str(example.label) for example in self.splits.get(split, ()))


def all_notes(tasks: Sequence[ProbingTask]) -> list[str]:
    """The notes of several tasks, each one once, with the tasks that it applies to.

    >>> one, two = (ProbingTask(n, n.title(), (), {}, notes=("small",)) for n in ("a", "b"))
    >>> all_notes([one, two])
    ['all tasks: small']
    """
    notes: dict[str, list[str]] = {}
    for task in tasks:
        for note in task.notes:
            notes.setdefault(note, []).append(task.title)
    return [
        f"{'all tasks' if len(titles) == len(tasks) > 1 else ', '.join(titles)}: {note}"
        for note, titles in notes.items()
    ]


def sorted_labels(labels: set[str]) -> tuple[str, ...]:
    """Sort classes by value if all are numbers, else by name.

    >>> sorted_labels({"10", "9"}), sorted_labels({"10", "9", "a"})
    (('9', '10'), ('10', '9', 'a'))
    """
    try:
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    except ValueError:
        return tuple(sorted(labels))
