"""Control tasks: labels that say nothing about language, only which word a sentence begins with."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from headscope.corpus.example import Example
from headscope.errors import CorpusError
from headscope.tasks.probing import ProbingTask


def first_word(example: Example) -> str:
    """The type of an example's first word.

    >>> first_word(Example("1", ("The dog barks .",)))
    'the'
    """
    return example.texts[0].split(maxsplit=1)[0].casefold()


def control_task(task: ProbingTask, seed: int) -> ProbingTask:
    """Make the control task of a task, after Hewitt and Liang (2019).

    They give every word type a random label. Here a sentence gets the random label of its first
    word's type, so that only remembering words helps. Labels are drawn from those of the training
    examples. Examples of the other splits whose first word does not begin a training example are
    left out: nothing could be known about them.

    Parameters
    ----------
    task
        A task with classes.
    seed
        Seed of the labels.

    Returns
    -------
    ProbingTask
        The same sentences with other labels.

    Raises
    ------
    CorpusError
        The labels are numbers, all types have drawn the same label, or no test example is left.

    Notes
    -----
    A vector that has lost the first word scores low on the control task, too: a high selectivity
    does not show that a classifier is selective in general.

    References
    ----------
    Hewitt and Liang (2019), Designing and Interpreting Probes with Control Tasks, EMNLP.

    Examples
    --------
    >>> train = [Example(str(n), (f"{w} runs",), label=l) for n, (w, l) in
    ...          enumerate([("A", "X"), ("B", "Y"), ("C", "X"), ("A", "Y")])]
    >>> test = [Example("5", ("a sits",), label="X"), Example("6", ("Z sits",), label="X")]
    >>> task = ProbingTask("t", "T", ("X", "Y"), {"train": tuple(train), "test": tuple(test)})
    >>> made = control_task(task, seed=0)
    >>> labels = [example.label for example in made.splits["train"]]
    >>> labels[0] == labels[3] == made.splits["test"][0].label, len(made.splits["test"])
    (True, 1)
    """
    if not task.labels:
        raise CorpusError(f"{task.title} has numbers instead of classes, so it has no control task")
    train = task.splits["train"]
    drawn = [str(example.label) for example in train]
    random = Random(f"{seed} {task.name}")
    types = sorted({first_word(example) for example in train})
    labels = {kind: random.choice(drawn) for kind in types}
    splits = {
        split: tuple(
            replace(example, label=labels[first_word(example)])
            for example in examples
            if first_word(example) in labels
        )
        for split, examples in task.splits.items()
    }
    used = Counter(str(example.label) for example in splits["train"])
    if len(used) < 2 or not splits["test"]:
        raise CorpusError(
            f"{task.title}: too few sentences begin with the same words for a control task",
            hint="use more sentences",
        )
    note = f"control task, seed {seed}: the label of a sentence is drawn for its first word"
    return replace(task, splits=splits, notes=(note,))
