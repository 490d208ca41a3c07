"""Corpora of Python objects: lists of texts, pairs or examples, DataFrames and datasets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol

from headscope.corpus.columns import ColumnChoice, Layout, find_layout
from headscope.corpus.corpus import Corpus, count_texts
from headscope.corpus.example import Example
from headscope.errors import CorpusError

if TYPE_CHECKING:
    import pandas as pd

MEMORY = "memory"
"""The format of a corpus that was made from Python objects."""


class DatasetLike(Protocol):
    """What a ``datasets.Dataset`` has: the names of its columns, and rows that are dictionaries."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Mapping[str, Any]]: ...


def from_texts(texts: Sequence[str | Sequence[str]], *, name: str | None = None) -> Corpus:
    """Make a corpus of texts and pairs of texts; :func:`headscope.read` calls it for lists.

    Parameters
    ----------
    texts : sequence of str or pairs of str
        Examples are numbered from 1.
    name : str, optional
        The name of the corpus; by default how many texts it has.

    Returns
    -------
    Corpus
        The texts, held in memory.

    Examples
    --------
    >>> from_texts(["A dog barks.", ("Who?", "Me.")])
    Corpus('2 examples', format='memory')
    """
    if isinstance(texts, str | bytes):
        raise CorpusError(
            f"the texts must be a list, got one {type(texts).__name__} instead",
            hint=f"put it into a list: [{texts[:40]!r}{' …' if len(texts) > 40 else ''}]",
        )
    examples = [
        Example(str(number), _one_or_two(item, f"item {number} of the list"))
        for number, item in enumerate(texts, 1)
    ]
    return from_examples(examples, name=name)


def from_examples(examples: Sequence[Example], *, name: str | None = None) -> Corpus:
    """Make a corpus of examples; :func:`headscope.read` calls it for lists of them.

    Parameters
    ----------
    examples : sequence of Example
        The examples, with or without words and annotations.
    name : str, optional
        The name of the corpus; by default how many texts it has.

    Returns
    -------
    Corpus
        The examples, held in memory.

    Examples
    --------
    >>> from_examples([Example("1", ("A dog barks.",))])
    Corpus('1 text', format='memory')
    """
    held = tuple(examples)
    if name is None:
        pairs = sum(len(example.texts) == 2 for example in held)
        name = count_texts(len(held) - pairs, pairs).partition(" (")[0]
    return Corpus(name, MEMORY, lambda: iter(held), lambda: content_digest(held))


def from_frame(frame: pd.DataFrame, choice: ColumnChoice, *, name: str | None = None) -> Corpus:
    """Make a corpus of a pandas DataFrame, one example per row, named by the row's index.

    >>> import pandas as pd
    >>> from_frame(pd.DataFrame({"text": ["A dog barks."]}), ColumnChoice())
    Corpus('DataFrame of 1 row', format='memory')
    """
    names = [str(column) for column in frame.columns]
    layout = find_layout(names, _by_label(choice, list(frame.columns)), "the DataFrame")
    places = [*layout.texts, layout.label, layout.group]
    columns = [None if place is None else frame.iloc[:, place].tolist() for place in places]
    examples = []
    for row, index in enumerate(frame.index):
        cells = [None if column is None else column[row] for column in columns]
        examples.append(_example(str(index), cells, names, layout, f"DataFrame, row {index}"))
    return from_examples(examples, name=name or f"DataFrame of {_rows(len(frame))}")


def from_dataset(data: DatasetLike, choice: ColumnChoice, *, name: str | None = None) -> Corpus:
    """Make a corpus of a ``datasets.Dataset``, one example per row, named by its number from 0.

    Rows are read when they are needed, so that a dataset larger than memory can be used.
    """
    names = list(data.column_names)
    layout = find_layout(names, choice, "the dataset")
    used = [None if place is None else names[place] for place in (layout.label, layout.group)]
    wanted = [*(names[place] for place in layout.texts), *used]
    select = getattr(data, "select_columns", None)
    rows = data if select is None else select(list(dict.fromkeys(filter(None, wanted))))

    def source() -> Iterator[Example]:
        for number, row in enumerate(rows):
            cells = [None if column is None else row[column] for column in wanted]
            yield _example(str(number), cells, names, layout, f"dataset, row {number}")

    return Corpus(
        name or f"dataset of {_rows(len(data))}",
        MEMORY,
        source,
        lambda: content_digest(source()),
    )


def content_digest(examples: Iterable[Example]) -> str:
    """The SHA-256 of the contents of examples; where they were read does not count.

    >>> one = content_digest([Example("1", ("A dog.",), source="a.txt, line 1")])
    >>> one == content_digest([Example("1", ("A dog.",))])
    True
    """
    digest = hashlib.sha256()
    for example in examples:
        *content, _ = _values(example)
        digest.update(json.dumps(content, default=_values).encode("ascii") + b"\n")
    return digest.hexdigest()


def _values(part: Any) -> list[Any]:
    """The values of a dataclass, in order; ``dataclasses.astuple`` would copy each of them."""
    return [getattr(part, field.name) for field in fields(part)]


def _by_label(choice: ColumnChoice, labels: list[Any]) -> ColumnChoice:
    """A DataFrame's columns may be called by numbers: these are names, wherever they exist."""

    def named(column: str | int | None) -> str | int | None:
        return str(column) if column in labels else column

    texts = None if choice.texts is None else tuple(map(named, choice.texts))
    return ColumnChoice(texts, named(choice.label), named(choice.group))  # type: ignore[arg-type]


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


def _example(
    name: str, cells: Sequence[Any], names: Sequence[str], layout: Layout, where: str
) -> Example:
    """One row: its texts, then its label and its group."""
    *texts, label, group = cells
    columns = [names[place] for place in layout.texts]
    return Example(
        name,
        tuple(
            _text(text, f"{where}: {column!r}").strip()
            for text, column in zip(texts, columns, strict=True)
        ),
        label=None if _missing(label) else str(label),
        group="" if _missing(group) else str(group).strip(),
        source=where,
    )


def _missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, or pandas' NA and NaT, which are not equal to themselves.

    >>> _missing(None), _missing(float("nan")), _missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float) and value != value


def _one_or_two(item: object, where: str) -> tuple[str, ...]:
    """The texts of one item of a list."""
    if isinstance(item, str):
        return (_text(item, where),)
    if isinstance(item, tuple | list) and len(item) in {1, 2}:
        return tuple(_text(text, where) for text in item)
    given = type(item).__name__
    if isinstance(item, tuple | list):
        given += f" of {len(item)}"
    raise CorpusError(
        f"{where} must be a text or a pair of texts, got {given} instead",
        hint='give e.g. ["A dog barks.", ("Who barks?", "The dog.")], or a pandas DataFrame',
    )


def _text(value: object, where: str) -> str:
    if _missing(value):
        raise CorpusError(
            f"{where} has no text", hint="drop such rows first, e.g. data.dropna(subset=[…])"
        )
    if not isinstance(value, str):
        raise CorpusError(
            f"{where} must be a string, got {type(value).__name__} instead",
            hint='name the columns of text, e.g. columns=["text"], or convert the values with str',
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CorpusError(
            f"{where} has half of a surrogate pair (\\ud800 to \\udfff), which is not a character",
            hint='clean the text, e.g. text.encode("utf-8", "replace").decode()',
        ) from None
    return value
