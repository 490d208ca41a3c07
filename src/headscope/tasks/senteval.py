"""SentEval's files of probing tasks: ``split<TAB>label<TAB>sentence``, where the split is tr, va or te (J2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.errors import CorpusError
from headscope.tasks.probing import SPLITS, TITLES, ProbingTask, sorted_labels, task_group

MARKS = dict(zip(("tr", "va", "te"), SPLITS, strict=True))
ENDINGS = (".txt", ".tsv", ".txt.gz", ".tsv.gz")
SHAPE = "each line is a split (tr, va or te), a label and a sentence, separated by tabs"
FOLDS = "no va lines: 5 folds are used"
SHOWN = 5
"""How many classes an error names."""


def is_senteval(path: Path) -> bool:
    """Whether a path is named like SentEval's files: a folder, or a file that ends in one of ``ENDINGS``."""
    return path.is_dir() or path.name.lower().endswith(ENDINGS)


def read_senteval(path: str | Path) -> ProbingTask:
    """Read one task, named after its file. The sentences are tokenised already, and kept as they are; quotes are ordinary characters."""
    path = Path(path)
    splits: dict[str, list[Example]] = {name: [] for name in SPLITS}
    for number, line in lines(path):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        cells = line.split("\t")
        if len(cells) != 3:
            raise CorpusError(f"{where}: {len(cells)} columns, expected 3", hint=SHAPE)
        mark, label, sentence = cells
        if mark not in MARKS:
            raise CorpusError(
                f"{where}: the split must be one of {', '.join(MARKS)}; got {mark!r} instead",
                hint=SHAPE,
            )
        if not label.strip():
            raise CorpusError(f"{where}: the label is empty", hint=SHAPE)
        if not sentence.strip():
            raise CorpusError(
                f"{where}: the sentence is empty", hint="delete the line, or write its sentence"
            )
        splits[MARKS[mark]].append(Example(str(number), (sentence,), label=label, source=where))
    _check(path, splits)
    name = _stem(path)
    title = TITLES.get(name, name)
    labels = sorted_labels({str(example.label) for example in splits["train"]})
    return ProbingTask(
        name,
        title,
        labels,
        {split: tuple(found) for split, found in splits.items() if found},
        task_group(title),
        tuple(_notes(splits)),
    )


def read_tasks(path: str | Path) -> list[ProbingTask]:
    """Read a file, or all files of a folder that end in .txt or .tsv (.gz of each too): the paper's tasks in its order, then the others by name."""
    path = Path(path)
    if not path.is_dir():
        return [read_senteval(path)]
    files: dict[str, Path] = {}
    for file in sorted(
        file
        for file in path.iterdir()
        if file.name.lower().endswith(ENDINGS) and not file.name.startswith(".")
    ):
        other = files.setdefault(_stem(file), file)
        if other != file:
            raise CorpusError(
                f"{path} has one task twice: {other.name} and {file.name}", hint="keep one of them"
            )
    if not files:
        raise CorpusError(
            f"{path} has no files of probing tasks",
            hint=f"their names end in {', '.join(ENDINGS)}; {SHAPE}",
        )
    order = list(TITLES)
    return [
        read_senteval(files[name])
        for name in sorted(
            files, key=lambda name: (order.index(name) if name in order else len(order), name)
        )
    ]


def write_senteval(task: ProbingTask, folder: Path) -> Path:
    """Write a task as SentEval does, to ``NAME.txt`` in a folder."""
    path = folder / f"{task.name}.txt"
    rows = [
        (mark, example.label, example.texts[0])
        for mark, split in MARKS.items()
        for example in task.splits.get(split, ())
    ]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    return path


def _stem(path: Path) -> str:
    return next(
        (
            path.name[: -len(ending)]
            for ending in reversed(ENDINGS)
            if path.name.lower().endswith(ending)
        ),
        path.name,
    )


def _check(path: Path, splits: Mapping[str, Sequence[Example]]) -> None:
    """Train and test are there, and every class is in train."""
    if not any(splits.values()):
        raise CorpusError(f"{path} is empty: no line has a sentence", hint=SHAPE)
    for mark in ("tr", "te"):
        if not splits[MARKS[mark]]:
            raise CorpusError(
                f"{path} has no {mark} lines: there is nothing to {'train' if mark == 'tr' else 'test'} on",
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
        named = ", ".join(repr(label) for label in list(sorted_labels(set(strange)))[:SHOWN]) + (
            ", …" if len(strange) > SHOWN else ""
        )
        first = strange[sorted_labels(set(strange))[0]]
        raise CorpusError(
            f"{first.source}: {'a class that train lacks' if len(strange) == 1 else f'{len(strange)} classes that train lacks'}: {named}",
            hint="give each class at least one tr line (change the first column of some), or delete the va and te lines of the class",
        )
    if len(trained) == 1:
        example = splits["train"][0]
        raise CorpusError(
            f"{example.source}: one class only, {example.label!r}, in the whole file",
            hint="a task needs two classes or more in the second column",
        )


def _notes(splits: Mapping[str, Sequence[Example]]) -> list[str]:
    notes = [] if splits["dev"] else [FOLDS]
    texts = [{example.texts[0] for example in found} for found in splits.values()]
    twice = sum(sum(text in split for split in texts) > 1 for text in set().union(*texts))
    return (
        [*notes, f"{twice} sentence{'s are' if twice > 1 else ' is'} in more than one split"]
        if twice
        else notes
    )
