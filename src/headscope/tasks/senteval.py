"""SentEval's files of probing tasks: ``split<TAB>label<TAB>sentence``, split being tr, va or te."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.text import lines
from headscope.errors import CorpusError, shorten
from headscope.files import write_text
from headscope.tasks.task import SPLITS, TITLES, ProbingTask, sorted_labels, task_group

MARKS = dict(zip(("tr", "va", "te"), SPLITS, strict=True))
ENDINGS = (".txt", ".tsv", ".txt.gz", ".tsv.gz")
SHAPE = "each line is a split (tr, va or te), a label and a sentence, separated by tabs"
FOLDS = "no va lines: 5 folds are used"
SHOWN = 5
"""How many classes an error names."""
Splits = Mapping[str, Sequence[Example]]


def is_senteval(path: Path) -> bool:
    """Whether a path is a folder, or a file named like SentEval's.

    >>> is_senteval(Path("past_present.txt")), is_senteval(Path("dev.conllu"))
    (True, False)
    """
    return path.is_dir() or path.name.lower().endswith(ENDINGS)


def read_senteval(path: str | Path) -> ProbingTask:
    """Read one task, named after its file.

    The sentences are already tokenized and are kept as they are. Quotes are ordinary characters.

    Raises
    ------
    CorpusError
        If a line is malformed, a split is missing, or a class is not in the training split.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.txt"
    >>> train = "tr\\tPAST\\tIt barked .\\ntr\\tPRES\\tIt barks .\\n"
    >>> _ = path.write_text(train + "te\\tPRES\\tIt sits .\\n")
    >>> task = read_senteval(path)
    >>> task.name, task.labels, task.notes
    ('mine', ('PAST', 'PRES'), ('no va lines: 5 folds are used',))
    """
    path = Path(path)
    splits: dict[str, list[Example]] = {name: [] for name in SPLITS}
    for number, line in lines(path):
        if line.strip():
            mark, example = _read_line(line, number, f"{path}, line {number}")
            splits[MARKS[mark]].append(example)
    _check(path, splits)
    name = _stem(path)
    title = TITLES.get(name, name)
    return ProbingTask(
        name,
        title,
        sorted_labels({str(example.label) for example in splits["train"]}),
        {split: tuple(examples) for split, examples in splits.items() if examples},
        task_group(title),
        tuple(_notes(splits)),
    )


def read_tasks(path: str | Path) -> list[ProbingTask]:
    """Read the task in a file, or the tasks in all such files of a folder.

    The tasks of the paper come first, in its order, then the others by name.
    """
    path = Path(path)
    if not path.is_dir():
        return [read_senteval(path)]
    files: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        if not file.name.lower().endswith(ENDINGS) or file.name.startswith("."):
            continue
        known = files.setdefault(_stem(file), file)
        if known != file:
            raise CorpusError(
                f"{path} has one task twice: {known.name} and {file.name}", hint="keep one of them"
            )
    if not files:
        raise CorpusError(
            f"{path} has no files of probing tasks",
            hint=f"their names end in {', '.join(ENDINGS)}; {SHAPE}",
        )
    first = [name for name in TITLES if name in files]
    others = sorted(files.keys() - TITLES.keys())
    return [read_senteval(files[name]) for name in [*first, *others]]


def write_senteval(task: ProbingTask, folder: Path) -> Path:
    """Write a task in SentEval's format, to ``NAME.txt`` in a folder."""
    rows = [
        (mark, example.label, example.texts[0])
        for mark, split in MARKS.items()
        for example in task.splits.get(split, ())
    ]
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    return write_text(folder / f"{task.name}.txt", text)


def _read_line(line: str, number: int, where: str) -> tuple[str, Example]:
    """The split and the example of one line."""
    cells = line.split("\t")
    if len(cells) != 3:
        raise CorpusError(f"{where}: {len(cells)} columns, expected 3", hint=SHAPE)
    mark, label, sentence = cells
    if mark not in MARKS:
        raise CorpusError(
            f"{where}: the split must be one of {', '.join(MARKS)}; got {shorten(mark)} instead",
            hint=SHAPE,
        )
    if not label.strip():
        raise CorpusError(f"{where}: the label is empty", hint=SHAPE)
    if not sentence.strip():
        raise CorpusError(
            f"{where}: the sentence is empty", hint="delete the line, or write its sentence"
        )
    return mark, Example(str(number), (sentence,), label=label, source=where)


def _stem(path: Path) -> str:
    name = path.name.lower()
    ending = next((ending for ending in reversed(ENDINGS) if name.endswith(ending)), "")
    return path.name[: len(path.name) - len(ending)]


def _check(path: Path, splits: Splits) -> None:
    """Training and test examples must exist, and every class must be in training."""
    if not any(splits.values()):
        raise CorpusError(f"{path} is empty: no line has a sentence", hint=SHAPE)
    for mark, verb in (("tr", "train"), ("te", "test")):
        if not splits[MARKS[mark]]:
            raise CorpusError(
                f"{path} has no {mark} lines: there is nothing to {verb} on",
                hint=f"mark some lines {mark} in the first column",
            )
    trained = {example.label for example in splits["train"]}
    strange = {
        str(example.label): example
        for split in ("test", "dev")
        for example in reversed(splits[split])
        if example.label not in trained
    }
    if strange:
        raise _untrained(strange)
    if len(trained) == 1:
        example = splits["train"][0]
        raise CorpusError(
            f"{example.source}: the whole file has only one class, {shorten(example.label)}",
            hint="a task needs two classes or more in the second column",
        )


def _untrained(strange: Mapping[str, Example]) -> CorpusError:
    """The error for classes that are not in the training split."""
    labels = sorted_labels(set(strange))
    named = ", ".join(map(shorten, labels[:SHOWN])) + (", …" if len(labels) > SHOWN else "")
    what = "a class" if len(labels) == 1 else f"{len(labels)} classes"
    return CorpusError(
        f"{strange[labels[0]].source}: {what} without training examples: {named}",
        hint="give each class at least one tr line (change the first column of some), "
        "or delete the va and te lines of the class",
    )


def _notes(splits: Splits) -> list[str]:
    notes = [] if splits["dev"] else [FOLDS]
    texts = [{example.texts[0] for example in examples} for examples in splits.values()]
    twice = sum(sum(text in split for split in texts) > 1 for text in set().union(*texts))
    if twice:
        notes.append(f"{twice} sentence{'s are' if twice > 1 else ' is'} in more than one split")
    return notes
