"""The ten probing tasks made from any treebank.

References
----------
Conneau et al. (2018), What you can cram into a single $&!#* vector. The paper makes the tasks from
parsed books.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random

from headscope.corpus.example import Example
from headscope.corpus.grammar import grammar_trees
from headscope.corpus.treebank import BracketTree, bracket_examples
from headscope.errors import CorpusError, UserError, unknown
from headscope.tasks.sentences import Draft, Drafts, Sentence, Treebank, sentences_of, usable
from headscope.tasks.task import SPLITS, TITLES, ProbingTask, sorted_labels, task_group
from headscope.tasks.ten import (
    LEAST,
    bigram_shift,
    coordination_inversion,
    obj_number,
    odd_man_out,
    past_present,
    sentence_length,
    subj_number,
    top_constituents,
    tree_depth,
    word_content,
)

# --- splits ---

SHARES = (0.8, 0.1, 0.1)
SMALLEST = 40
"""The smallest number of examples of a task, all splits together."""


@dataclass(frozen=True)
class Sizes:
    """How large a task may be.

    Parameters
    ----------
    most : int, optional
        The largest number of examples, all splits together.
    shares : tuple of float
        The shares of train, dev and test.

    Examples
    --------
    >>> Sizes(1000).shares
    (0.8, 0.1, 0.1)
    """

    most: int | None = None
    shares: tuple[float, float, float] = SHARES

    def quotas(self, available: int, classes: int) -> dict[str, int]:
        """How many examples of each class each split gets if every class has ``available``.

        >>> Sizes(100).quotas(400, 2)
        {'train': 40, 'dev': 5, 'test': 5}
        """
        size = available if self.most is None else min(available, self.most // classes)
        dev, test = (max(1, int(size * share + 1e-9)) for share in self.shares[1:])
        return dict(zip(SPLITS, (size - dev - test, dev, test), strict=True))


def make_sizes(size: int | Sequence[int] | None) -> Sizes:
    """Check a size that a user gave: one number for all splits, or three for train, dev and test.

    >>> make_sizes((600, 200, 200))
    Sizes(most=1000, shares=(0.6, 0.2, 0.2))
    """
    if size is None:
        return Sizes()
    parts = (size,) if isinstance(size, int) else tuple(size)
    if len(parts) not in {1, 3} or min(parts) < 1:
        raise UserError(
            "the size must be one number, or three for train, dev and test, each over 0; "
            f"got {', '.join(map(str, parts))} instead",
            hint="give e.g. size=1000 or size=(800, 100, 100)",
        )
    total = sum(parts)
    if total < SMALLEST:
        raise UserError(
            f"the size must be {SMALLEST} or more in all, got {total} instead",
            hint="leave it out to use all sentences",
        )
    return Sizes(
        total, SHARES if len(parts) == 1 else (parts[0] / total, parts[1] / total, parts[2] / total)
    )


def divide(drafts: Drafts, sizes: Sizes, rng: Random) -> dict[str, list[Draft]] | str:
    """Split drafts into train, dev and test with balanced classes, or say why it fails."""
    classes: dict[str, list[Draft]] = defaultdict(list)
    for draft in rng.sample(drafts.items, len(drafts.items)):
        classes[draft.label].append(draft)
    small = sorted((len(group), label) for label, group in classes.items() if len(group) < LEAST)
    classes = {label: group for label, group in sorted(classes.items()) if len(group) >= LEAST}
    if small:
        drafts.skipped[f"in classes with fewer than {LEAST}"] += sum(count for count, _ in small)
    if len(classes) < 2:
        why = ""
        if drafts.skipped:
            why = f" (skipped: mostly sentences {drafts.skipped.most_common(1)[0][0]})"
        return (
            f"{len(drafts.items)} sentences fit{why}, in {len(classes)} classes with {LEAST} or "
            "more; two such classes are needed"
        )
    if sizes.most is not None and sizes.most // len(classes) < LEAST:
        return (
            f"a size of {sizes.most} leaves fewer than {LEAST} for each of {len(classes)} classes: "
            f"give at least {LEAST * len(classes)}"
        )
    quotas = sizes.quotas(min(map(len, classes.values())), len(classes))
    apart = any(draft.target for draft in drafts.items)
    splits = _apart(classes, quotas, rng) if apart else _cut(classes, quotas)
    left = sum(map(len, splits.values()))
    if left < SMALLEST or not all(splits.values()):
        words = " and no target word in two splits" if apart else ""
        return f"{left} sentences are left with balanced classes{words}; {SMALLEST} are needed"
    drafts.skipped["to balance the classes and sizes"] += sum(map(len, classes.values())) - left
    return {split: rng.sample(group, len(group)) for split, group in splits.items()}


def _cut(classes: Mapping[str, list[Draft]], quotas: Mapping[str, int]) -> dict[str, list[Draft]]:
    """Put the first of each class into train, the next into dev, the next into test."""
    splits: dict[str, list[Draft]] = {}
    start = 0
    for split in SPLITS:
        end = start + quotas[split]
        splits[split] = [draft for drafts in classes.values() for draft in drafts[start:end]]
        start = end
    return splits


def _apart(
    classes: Mapping[str, list[Draft]], quotas: Mapping[str, int], rng: Random
) -> dict[str, list[Draft]]:
    """Make splits that share no target word.

    Test and dev take words at random until they are full, but no word that would fill most of a
    class alone; where there are only such words, not more than a quarter of a class of each. Train
    gets the others.
    """
    words: dict[str, dict[str, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for label, drafts in classes.items():
        for draft in drafts:
            words[draft.target][label].append(draft)
    waiting = rng.sample(sorted(words), len(words))
    splits: dict[str, list[Draft]] = {}
    for split in ("test", "dev", "train"):
        taken: dict[str, list[Draft]] = {label: [] for label in classes}
        quarter = max(1, quotas[split] // 4)
        for cut in (None, quarter):
            if cut and (split == "train" or all(taken.values())):
                break
            for word in list(waiting):
                wanted = any(len(taken[label]) < quotas[split] for label in words[word])
                large = split != "train" and max(map(len, words[word].values())) > quarter
                if wanted and (cut or not large):
                    waiting.remove(word)
                    for label, drafts in words[word].items():
                        taken[label] += drafts[:cut]
        even = min(quotas[split], *(len(drafts) for drafts in taken.values()))
        splits[split] = [draft for drafts in taken.values() for draft in rng.sample(drafts, even)]
    return {split: splits[split] for split in SPLITS}


# --- tasks ---

MAKERS: dict[str, Callable[[Treebank, Random], Drafts]] = {
    "sentence_length": sentence_length,
    "word_content": word_content,
    "tree_depth": tree_depth,
    "top_constituents": top_constituents,
    "bigram_shift": bigram_shift,
    "past_present": past_present,
    "subj_number": subj_number,
    "obj_number": obj_number,
    "odd_man_out": odd_man_out,
    "coordination_inversion": coordination_inversion,
}
OF_CONSTITUENTS = ("tree_depth", "top_constituents")
"""The tasks that are made from constituents where there are any."""
Trees = str | Path | Iterable[tuple[Example, BracketTree]]
"""Bracketed trees: a file of them, or examples with theirs."""


GRAMMAR_SENTENCES = 20_000
GRAMMAR_SIZES = (2400, 600, 600)
"""Of tasks from the grammar. Classes of equal size round these down, to 2,200 and 550 or more."""
GRAMMAR_WORDS = 96
"""Classes of WordContent from the grammar: 25 training sentences each, and a tenth of the paper's
1,000 classes, which would take most of the time of all ten tasks."""


@dataclass(frozen=True)
class TaskReport:
    """One task that was made, or the reason why it could not be made.

    Parameters
    ----------
    name : str
        SentEval's name of the task.
    task : ProbingTask or None
        The task, if it could be made.
    how : str
        How the labels were found.
    skipped : mapping of str to int
        How many sentences were skipped, by reason.
    reason : str, default ""
        Why the task could not be made.
    """

    name: str
    task: ProbingTask | None
    how: str
    skipped: Mapping[str, int]
    reason: str = ""

    @property
    def title(self) -> str:
        """What the paper calls the task."""
        return TITLES[self.name]

    def row(self) -> dict[str, object]:
        """The task as a row of a table."""
        sizes = {split: len(self.task.splits[split]) if self.task else 0 for split in SPLITS}
        skipped = "; ".join(f"{count} {reason}" for reason, count in self.skipped.items())
        return {
            "task": self.title,
            "classes": len(self.task.labels) if self.task else 0,
            **sizes,
            "label": self.how,
            "skipped": f"THE TASK: {self.reason}" if self.reason else skipped,
        }


def task_name(given: str) -> str:
    """SentEval's name of a task, given by that name or by the paper's, whatever its case.

    >>> task_name("Tense"), task_name("bigram_shift")
    ('past_present', 'bigram_shift')
    """
    known = {name.lower(): name for name in TITLES} | {
        title.lower(): name for name, title in TITLES.items()
    }
    if given.lower() not in known:
        raise unknown("task", given, [*TITLES, *TITLES.values()])
    return known[given.lower()]


def report_tasks(
    corpus: Iterable[Example],
    *,
    seed: int = 0,
    size: int | Sequence[int] | None = None,
    tasks: Sequence[str] | None = None,
    brackets: Trees | None = None,
    most_words: int = 1000,
) -> list[TaskReport]:
    """Make the tasks as :func:`make_tasks` does, and report on each one.

    Returns
    -------
    list of TaskReport
        Each has the task, or the reason why it could not be made.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> [report] = report_tasks(read("demo", limit=3), tasks=["Tense"])
    >>> report.title, report.task is None
    ('Tense', True)
    """
    names = (
        [name for name in TITLES if name in {task_name(task) for task in tasks}]
        if tasks
        else list(TITLES)
    )
    sizes = make_sizes(size)
    sentences, skipped = usable(sentences_of(corpus))
    if not sentences:
        raise CorpusError(
            "the corpus has no sentences of 5 to 28 annotated words to make tasks from",
            hint="give a treebank (.conllu), bracketed trees (.mrg) or 'demo'",
        )
    bank = Treebank(sentences, {}, skipped, sizes.most or 0, most_words)
    constituents = bank if brackets is None else replace(_bracketed(brackets), wanted=bank.wanted)
    reports = []
    for name in names:
        rng = Random(f"{seed} {name}")
        source = constituents if name in OF_CONSTITUENTS else bank
        reports.append(_report(name, MAKERS[name](source, rng), source.skipped, sizes, rng))
    return reports


def make_tasks(
    corpus: Iterable[Example],
    *,
    seed: int = 0,
    size: int | Sequence[int] | None = None,
    tasks: Sequence[str] | None = None,
    brackets: Trees | None = None,
    most_words: int = 1000,
) -> list[ProbingTask]:
    """Make the ten tasks, or some of them, from the sentences of a treebank.

    Parameters
    ----------
    corpus : iterable of Example
        Sentences with words, tags and trees.
    seed : int, default 0
        For everything that is random.
    size : int or sequence of int, optional
        The largest number of examples of a task, or three numbers for train, dev and test.
    tasks : sequence of str, optional
        The tasks to make, by SentEval's names or the paper's. By default all that can be made from
        the treebank; see :func:`report_tasks` for the others.
    brackets : path, or iterable of (Example, BracketTree), optional
        Bracketed trees, for Depth and TopConst as in the paper.
    most_words : int, default 1000
        The most classes of WordContent; each is a word.

    Raises
    ------
    CorpusError
        If a task in ``tasks`` cannot be made, or none at all.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> [task.title for task in make_tasks(read("demo"), tasks=["Tense", "Length"])]
    ['Length', 'Tense']
    """
    reports = report_tasks(
        corpus, seed=seed, size=size, tasks=tasks, brackets=brackets, most_words=most_words
    )
    check_made(reports, named=bool(tasks))
    return [report.task for report in reports if report.task is not None]


def grammar_tasks(
    *, tasks: Sequence[str] | None = None, seed: int = 0, sentences: int = GRAMMAR_SENTENCES
) -> list[ProbingTask]:
    """Make the ten tasks, or some of them, from sentences of the built-in grammar.

    Each has at least 2,000 training and 500 test sentences, if there are enough. Depth and TopConst
    are those of the constituents; no target word of Tense, SubjNum and ObjNum is in two splits.

    Parameters
    ----------
    tasks, seed
        As for :func:`make_tasks`. The sentences are the same for every seed.
    sentences
        How many sentences to make them from.

    Examples
    --------
    >>> [task] = grammar_tasks(tasks=["Tense"], sentences=1000)
    >>> task.title, task.notes[0]
    ('Tense', 'the sentences are written by the built-in grammar')
    """
    pairs = list(islice(grammar_trees(), sentences))
    ten_tasks = make_tasks(
        [example for example, _ in pairs],
        seed=seed,
        size=GRAMMAR_SIZES,
        tasks=tasks,
        brackets=pairs,
        most_words=GRAMMAR_WORDS,
    )
    note = "the sentences are written by the built-in grammar"
    return [replace(task, notes=(note, *task.notes)) for task in ten_tasks]


def check_made(reports: Sequence[TaskReport], *, named: bool) -> None:
    """Raise an error if a task that was asked for could not be made, or none at all."""
    failed = [report for report in reports if report.task is None]
    if failed and (named or len(failed) == len(reports)):
        raise CorpusError(
            f"{failed[0].title} cannot be made from this treebank: {failed[0].reason}",
            hint="give a larger treebank, or one with the annotation; or name other tasks",
        )


def _bracketed(brackets: Trees) -> Treebank:
    """The sentences of bracketed trees, with the trees."""
    pairs = bracket_examples(brackets) if isinstance(brackets, str | Path) else brackets
    trees: dict[str, BracketTree] = {}
    sentences: list[Sentence] = []
    for example, tree in pairs:
        sentence = next(sentences_of([example]))
        trees[sentence.key] = tree
        sentences.append(sentence)
    kept, skipped = usable(sentences)
    return Treebank(kept, trees, skipped)


def _report(
    name: str, drafts: Drafts, before: Mapping[str, int], sizes: Sizes, rng: Random
) -> TaskReport:
    splits = drafts.lacking or divide(drafts, sizes, rng)
    skipped = {**before, **{reason: count for reason, count in drafts.skipped.items() if count}}
    if isinstance(splits, str):
        return TaskReport(name, None, drafts.how, skipped, splits)
    labels = sorted_labels({draft.label for group in splits.values() for draft in group})
    notes = (
        f"labels: {drafts.how}",
        *(f"skipped: {count} sentences {reason}" for reason, count in skipped.items()),
    )
    examples = {split: tuple(_example(draft) for draft in group) for split, group in splits.items()}
    return TaskReport(
        name,
        ProbingTask(name, TITLES[name], labels, examples, task_group(TITLES[name]), notes),
        drafts.how,
        skipped,
    )


def _example(draft: Draft) -> Example:
    return Example(
        draft.sentence.id,
        (draft.text,),
        label=draft.label,
        group=draft.sentence.group,
        source=draft.sentence.source,
    )
