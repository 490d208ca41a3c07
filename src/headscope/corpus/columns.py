"""The columns of a table: which hold the texts, the label and the group, and which are asked for.

Tables are TSV and CSV files, JSON lines, DataFrames and datasets. The names that public data sets
use are known. Other names must be given: a column is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headscope.errors import CorpusError, cut, shorten

Column = str | int
"""A column by its name, or by its number, counted from 1."""

PAIRS = (
    ("a", "b"),
    ("text", "text2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("sentence1", "sentence2"),
    ("#1 string", "#2 string"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("premise", "hypothesis"),
)
"""Names under which public data sets (GLUE, SNLI, …) keep a pair of texts, in lower case."""
SINGLES = tuple(dict.fromkeys(["text", "sentence", *(name for pair in PAIRS for name in pair)]))
"""Names of a column that holds the only text."""
LABELS = ("label", "quality", "score", "gold_label", "is_duplicate")
GROUPS = ("group", "document", "paragraph", "doc_id")

SHOWN = 30
"""How many characters of a column's name an error message shows."""
_TITLE = re.compile(r"(?:#\d* ?)?[^\W\d][\w#.()/ -]{0,39}")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_MOST_WORDS = 4
_DIGITS = 18


@dataclass(frozen=True)
class ColumnChoice:
    """The columns that a user asked for; None where the known names decide.

    Parameters
    ----------
    texts : tuple of str or int, optional
        One column for texts, two for pairs.
    label, group : str or int, optional
        The columns of the label and of the group.

    Examples
    --------
    >>> ColumnChoice(("review", 2)).names
    ['review']
    """

    texts: tuple[Column, ...] | None = None
    label: Column | None = None
    group: Column | None = None

    @property
    def names(self) -> list[str]:
        """The columns that can only be meant by name."""
        asked = [*(self.texts or ()), self.label, self.group]
        return [name for name in asked if isinstance(name, str) and not name.isdecimal()]


@dataclass(frozen=True)
class Layout:
    """The places of texts, label and group in a row, counted from 0."""

    texts: tuple[int, ...]
    label: int | None = None
    group: int | None = None


def choose_columns(
    columns: Column | Sequence[Column] | None, label: Column | None, group: Column | None
) -> ColumnChoice:
    """Check what a user gave as ``columns``, ``label`` and ``group``.

    >>> choose_columns("review", None, "film")
    ColumnChoice(texts=('review',), label=None, group='film')
    """
    texts = None if columns is None else _as_tuple(columns)
    if texts is not None and len(texts) not in {1, 2}:
        shown = f": {', '.join(map(str, texts))}" if texts else ""
        raise CorpusError(
            f"columns must name one or two columns of text, got {len(texts)} instead{shown}",
            hint='give e.g. columns=["sentence1", "sentence2"]',
        )
    others = [column for column in (label, group) if column is not None]
    for column in (*(texts or ()), *others):
        if not isinstance(column, str | int) or isinstance(column, bool):
            raise CorpusError(
                f"a column must be a name or a number from 1, got {column!r} instead",
                hint='give e.g. columns=["review"] or columns=[2]',
            )
    return ColumnChoice(texts, label, group)


def _as_tuple(columns: Any) -> tuple[Any, ...]:
    several = isinstance(columns, Sequence) and not isinstance(columns, str)
    return tuple(columns) if several else (columns,)


def find_layout(names: Sequence[str], choice: ColumnChoice, where: str) -> Layout:
    """Find the columns that hold texts, label and group.

    Parameters
    ----------
    names : sequence of str
        The names of all columns, in order.
    choice : ColumnChoice
        What the user asked for.
    where : str
        The table, as an error message names it.

    Returns
    -------
    Layout
        The places of the columns.

    Raises
    ------
    CorpusError
        If a column that was asked for is missing, or no known name says where the text is.

    Examples
    --------
    >>> find_layout(["index", "question", "sentence", "label"], ColumnChoice(), "dev.tsv")
    Layout(texts=(1, 2), label=3, group=None)
    >>> find_layout(["review", "stars"], ColumnChoice(("review",), label=2), "films.tsv")
    Layout(texts=(0,), label=1, group=None)
    """
    if choice.texts is None:
        texts = _known_texts(names, where)
    else:
        texts = tuple(_place(column, names, where) for column in choice.texts)
    label = _other(choice.label, LABELS, names, texts, where)
    return Layout(texts, label, _other(choice.group, GROUPS, names, texts, where))


def headerless_layout(width: int, choice: ColumnChoice, where: str) -> Layout:
    """The columns of a table without a header: text, second text, label; or those chosen by number.

    >>> headerless_layout(4, ColumnChoice(), "pairs.tsv")
    Layout(texts=(0, 1), label=2, group=None)
    """
    names = [str(number) for number in range(1, width + 1)]
    label = None if choice.label is None else _place(choice.label, names, where)
    group = None if choice.group is None else _place(choice.group, names, where)
    if choice.texts is not None:
        texts = tuple(_place(column, names, where) for column in choice.texts)
        return Layout(texts, label, group)
    free = [place for place in range(width) if place not in {label, group}]
    if label is None and group is None and width > 2:
        label = free[2]
    return Layout(tuple(free[:2]), label, group)


def normal(name: str) -> str:
    """A column's name as it is compared with the known ones; a capital A or B is not a name.

    >>> normal(" Sentence1 "), normal("A"), normal("a")
    ('sentence1', 'A', 'a')
    """
    name = name.strip()
    return name if len(name) == 1 else name.lower()


def has_known_names(cells: Sequence[str]) -> bool:
    """Whether a row is a header with at least one known name.

    >>> has_known_names(["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"])
    True
    >>> has_known_names(["text", "A dog barks at the man in the street."])
    False
    """
    names = {normal(cell) for cell in cells}
    known = {name for name in (*SINGLES, *LABELS, *GROUPS) if len(name) > 1}
    titles = all(not cell.strip() or _is_title(cell) for cell in cells)
    return titles and (bool(known & names) or {"a", "b"} <= names)


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row seems to name the columns, though none of its names is known.

    It does if its cells are short titles, and either a column below one of them holds numbers, or
    all of them are single words above cells of several words.

    >>> looks_like_header([["review", "stars"], ["A fine film.", "5"]])
    True
    >>> looks_like_header([["Who?", "Me."], ["A fine film.", "It is."]])
    False
    """
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    titles = [cell.strip() for cell in first]
    if not rest or len(set(titles)) < len(titles) or not all(map(_is_title, titles)):
        return False
    if any(all(map(is_number, column)) for column in zip(*rest, strict=True)):
        return True
    words = all(map(_IDENTIFIER.fullmatch, titles))
    several = any(len(cell.split()) > 1 for row in rest for cell in row)
    return words and several and (len(titles) > 1 or titles[0].islower())


def is_number(cell: str) -> bool:
    """Whether a cell is a number.

    >>> is_number(" 4.5"), is_number("4 stars"), is_number("")
    (True, False, False)
    """
    try:
        float(cell)
    except ValueError:
        return False
    return True


def listed(names: Sequence[str]) -> str:
    """Column names as an error message lists them: long ones are shortened.

    >>> listed(["review", "A very long first line of a file without a header"])
    'review, A very long first line of a fi…'
    """
    short = [name if len(name) <= SHOWN else name[:SHOWN].rstrip() + "…" for name in names]
    return ", ".join(short)


def _is_title(cell: str) -> bool:
    cell = cell.strip()
    return (
        bool(_TITLE.fullmatch(cell))
        and len(cell.split()) <= _MOST_WORDS
        and not cell.endswith((".", "-", "/"))
    )


def _known_texts(names: Sequence[str], where: str) -> tuple[int, ...]:
    places = {normal(name): place for place, name in reversed(list(enumerate(names)))}
    for first, second in PAIRS:
        if first in places and second in places:
            return places[first], places[second]
    single = [places[name] for name in SINGLES if name in places]
    if len(single) == 1:
        return (single[0],)
    example = names[single[0]] if single else next(iter(names), "text")
    if single:
        shown = listed([names[place] for place in single])
        problem = f"several columns may hold the text ({shown})"
    else:
        problem = f"none of the columns is known to hold text; the columns are {listed(names)}"
    raise CorpusError(
        f"{where}: {problem}",
        hint=f"name one or two of them, e.g. columns=[{shorten(example)}]",
    )


def _other(
    chosen: Column | None,
    known: Sequence[str],
    names: Sequence[str],
    texts: tuple[int, ...],
    where: str,
) -> int | None:
    """The place of the label or group: the column asked for, else one with a known name."""
    if chosen is not None:
        return _place(chosen, names, where)
    places = {normal(name): place for place, name in reversed(list(enumerate(names)))}
    found = [places[name] for name in known if name in places and places[name] not in texts]
    return found[0] if found else None


def _place(column: Column, names: Sequence[str], where: str) -> int:
    """The place of one column, by name or by number."""
    if isinstance(column, str) and column in names:
        if names.count(column) > 1:
            raise CorpusError(
                f"{where}: {names.count(column)} columns are called {shorten(column)}",
                hint=f"give the column's number, e.g. columns=[{names.index(column) + 1}]",
            )
        return names.index(column)
    if isinstance(column, int) or column.isdecimal():
        # No table has a column whose number has more digits, which Python may refuse to read.
        number = column if isinstance(column, int) else int(column[:_DIGITS])
        if 1 <= number <= len(names):
            return number - 1
        raise CorpusError(
            f"{where}: there is no column {shorten(number)}; the table has {len(names)}",
            hint="columns are counted from 1",
        )
    raise CorpusError(
        f"{where}: no column {shorten(column)}; the columns are {listed(names)}",
        hint=f"name one or two of them, e.g. columns=[{shorten(names[0])}]" if names else "",
    )


def _quoted(name: str) -> str:
    name = cut(name)
    return f"'{name}'" if re.search(r"[^\w.-]", name) else name
