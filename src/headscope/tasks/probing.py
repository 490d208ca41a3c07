"""Probing tasks: labelled sentences or pairs, in splits for training, choosing and testing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headscope.corpus.example import Example

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
