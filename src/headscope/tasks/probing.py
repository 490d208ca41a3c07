"""Finding probing tasks: SentEval files, treebanks, GLUE; and making control tasks of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from headscope.corpus import Example, read
from headscope.corpus.grammar import GRAMMAR
from headscope.corpus.treebank import is_brackets
from headscope.errors import CorpusError, UserError, unknown
from headscope.tasks.glue import task_examples
from headscope.tasks.make import grammar_tasks, make_tasks
from headscope.tasks.senteval import is_senteval, read_tasks
from headscope.tasks.task import GLUE, MADE, TITLES, ProbingTask, Task, plain

# --- control tasks ---


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


# --- finding tasks ---

DOWNSTREAM = ("mrpc", "sts-b", "sst-2")
"""The downstream tasks of Jo and Myaeng (2020)."""


def find_tasks(
    sources: Sequence[str | Path | ProbingTask],
    *,
    data: str | None = None,
    only: Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> list[ProbingTask]:
    """Read or make the tasks of some sources.

    Parameters
    ----------
    sources : sequence of str, Path or ProbingTask
        A SentEval file or a folder of them; a treebank, "demo" or "grammar", from which the ten
        tasks are made; the name of a GLUE task, "opinion" or "paraphrase"; or a probing task.
    data : str, optional
        The folder with GLUE's files, or "hub".
    only : sequence of str, optional
        The names of the tasks to keep.
    limit : int, optional
        How many examples of each split to draw at random.
    seed : int, default 0
        For making tasks and drawing examples.

    Raises
    ------
    UserError
        If a source cannot be read, or there is no task of a name in ``only``.

    Examples
    --------
    >>> [task.title for task in find_tasks(["demo"], only=["Tense", "Length"])]
    ['Length', 'Tense']
    """
    wanted = None if only is None else {name.lower() for name in only}
    probing_tasks: list[ProbingTask] = []
    there: list[str] = []
    for source in sources:
        tasks, titles = _tasks_of(source, data, wanted, seed)
        probing_tasks += tasks
        there += titles
    for name in only or ():
        if not any(name.lower() in _names(task.name, task.title) for task in probing_tasks):
            raise unknown("task", name, set(there))
    return probing_tasks if limit is None else [sample(task, limit, seed) for task in probing_tasks]


def _tasks_of(
    origin: str | Path | ProbingTask, data: str | None, wanted: set[str] | None, seed: int
) -> tuple[list[ProbingTask], list[str]]:
    """The wanted tasks of one source, and the titles of all its tasks."""
    if isinstance(origin, ProbingTask):
        return _chosen([origin], wanted), [origin.title]
    source, path = str(origin), Path(origin)
    glue = _glue(source)
    # With data, a name is that of the task, even if there is a folder of the same name.
    if glue is not None and (data is not None or not path.exists()):
        if data is None and glue.name in MADE:
            data = GRAMMAR
        if data is None:
            raise UserError(
                f"{source} is a GLUE task, whose files must be given too",
                hint="give data=FOLDER (FOLDER/MRPC/train.tsv …), or data='hub'",
            )
        return [glue_task(glue, data)], []
    if path.is_dir() or (path.is_file() and is_senteval(path)):
        tasks = read_tasks(source)
        return _chosen(tasks, wanted), [task.title for task in tasks]
    names = [
        name for name, title in TITLES.items() if wanted is None or _names(name, title) & wanted
    ]
    if source == GRAMMAR:
        named = None if wanted is None else names
        return (grammar_tasks(seed=seed, tasks=named) if names else []), list(TITLES.values())
    trees = is_brackets(path)
    corpus = read(source, format="brackets" if trees else None)
    if not names:
        return [], list(TITLES.values())
    tasks = make_tasks(
        corpus,
        seed=seed,
        tasks=None if wanted is None else names,
        brackets=source if trees else None,
    )
    return tasks, list(TITLES.values())


def _glue(name: str) -> Task | None:
    known = (*GLUE.values(), *MADE.values())
    tasks = (task for task in known if plain(name) in {plain(task.name), plain(task.title)})
    return next(tasks, None)


def _chosen(tasks: Sequence[ProbingTask], wanted: set[str] | None) -> list[ProbingTask]:
    return [task for task in tasks if wanted is None or _names(task.name, task.title) & wanted]


def _names(name: str, title: str) -> set[str]:
    """The names that a task may be called by."""
    return {name.lower(), title.lower()}


def glue_task(task: Task, data: str) -> ProbingTask:
    """Make a probing task of a GLUE task.

    It is trained on the train split, where L2 is chosen by folds, and tested on the dev split,
    whose labels are public.
    """
    splits = {}
    for split, name in (("train", "train"), ("test", "dev")):
        examples = task_examples(task, data, name)
        splits[split] = tuple(
            replace(example, label=(example.label or "").strip()) for example in examples
        )
    note = "tested on the dev split; L2 is chosen by folds of the train split"
    return ProbingTask(task.name, task.title, task.labels, splits, "downstream", (note,))


def sample(task: ProbingTask, limit: int, seed: int) -> ProbingTask:
    """Draw at most ``limit`` examples of each split at random; they keep their order."""
    if limit < 1:
        raise UserError(f"the limit must be 1 or more, got {limit} instead")
    splits: dict[str, tuple[Example, ...]] = {}
    for split, examples in task.splits.items():
        rng = Random(f"{seed} {task.name} {split}")
        chosen = sorted(rng.sample(range(len(examples)), min(limit, len(examples))))
        splits[split] = tuple(examples[place] for place in chosen)
    labels = {example.label for example in splits["train"]}
    if task.labels and len(labels) < 2:
        raise UserError(
            f"{limit} examples of {task.title} have only one class", hint="draw a larger sample"
        )
    note = f"at most {limit} examples of each split, drawn at random"
    return replace(task, splits=splits, notes=(*task.notes, note))
