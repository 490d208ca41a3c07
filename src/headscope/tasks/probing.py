"""Probing tasks: sentences (or pairs) with a label, in splits for training, choosing and testing (J2)."""

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
"""SentEval's names of the ten tasks and what the paper calls them, in the paper's order."""
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
    """A task. ``labels`` are the classes in the order of their indices (none: the labels are numbers, a regression); ``splits`` has train and test, and dev or not.

    ``group`` is surface, syntactic, semantic or downstream, or empty if it is none of these.
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
    """What is to be known of tasks, each thing once, with the tasks that it is true of."""
    notes: dict[str, list[str]] = {}
    for task in tasks:
        for note in task.notes:
            notes.setdefault(note, []).append(task.title)
    return [
        f"{'all tasks' if len(titles) == len(tasks) > 1 else ', '.join(titles)}: {note}"
        for note, titles in notes.items()
    ]


def sorted_labels(labels: set[str]) -> tuple[str, ...]:
    """Classes in order: by value where all are numbers, else by name.

    >>> sorted_labels({"10", "9"}), sorted_labels({"10", "9", "a"})
    (('9', '10'), ('10', '9', 'a'))
    """
    try:
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    except ValueError:
        return tuple(sorted(labels))
