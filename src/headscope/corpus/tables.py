"""Tables of texts: TSV and CSV files, JSON lines, DataFrames and datasets, one example per row.

The column names that public data sets use are known. Others must be given: a column is never
guessed. Python's csv module reads the cells, not pandas, which says neither on which line a row
begins nor that one has too few cells.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headscope.corpus.corpus import (
    MEMORY,
    Corpus,
    checked_text,
    content_digest,
    from_examples,
    is_missing,
)
from headscope.corpus.example import Example
from headscope.corpus.text import json_values, lines
from headscope.errors import CorpusError, cut, shorten
from headscope.limits import LINE, too_long

if TYPE_CHECKING:
    import pandas as pd

# --- columns: which hold the texts, the label and the group ---

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
        columns = [*(self.texts or ()), self.label, self.group]
        return [name for name in columns if isinstance(name, str) and not name.isdecimal()]


@dataclass(frozen=True)
class Layout:
    """The places of texts, label and group in a row, counted from 0."""

    texts: tuple[int, ...]
    label: int | None = None
    group: int | None = None

    @property
    def places(self) -> list[int]:
        """All of them, in this order."""
        others = [place for place in (self.label, self.group) if place is not None]
        return [*self.texts, *others]


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


def find_layout(
    names: Sequence[str], choice: ColumnChoice, where: str, rows: Sequence[Sequence[object]] = ()
) -> Layout:
    """Find the columns that hold texts, label and group.

    Parameters
    ----------
    names : sequence of str
        The names of all columns, in order.
    choice : ColumnChoice
        What the user asked for.
    where : str
        The table, as an error message names it.
    rows : sequence of sequences, optional
        The first rows below the names: advice names the column with most words.

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
        texts = _known_texts(names, where, rows)
    else:
        texts = tuple(_place(column, names, where, rows) for column in choice.texts)
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


def _known_texts(
    names: Sequence[str], where: str, rows: Sequence[Sequence[object]] = ()
) -> tuple[int, ...]:
    places = {normal(name): place for place, name in reversed(list(enumerate(names)))}
    for first, second in PAIRS:
        if first in places and second in places:
            return places[first], places[second]
    single = [places[name] for name in SINGLES if name in places]
    if len(single) == 1:
        return (single[0],)
    example = _wordiest(names, rows, single)
    if single:
        shown = listed([names[place] for place in single])
        problem = f"several columns may hold the text ({shown})"
    else:
        problem = f"none of the columns is known to hold text; the columns are {listed(names)}"
    raise CorpusError(
        f"{where}: {problem}", hint=f"name one or two of them, e.g. columns=[{shorten(example)}]"
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
    columns = (places[name] for name in known if name in places)
    return next((column for column in columns if column not in texts), None)


def _wordiest(
    names: Sequence[str], rows: Sequence[Sequence[object]], among: Sequence[int] = ()
) -> str:
    """The column whose cells have most words: that is where the text is."""
    below = [row for row in rows if len(row) == len(names)]
    words = {
        place: sum(len(str(row[place]).split()) for row in below)
        for place in among or range(len(names))
    }
    return names[max(words, key=lambda place: words[place])] if words else "text"


def _place(
    column: Column, names: Sequence[str], where: str, rows: Sequence[Sequence[object]] = ()
) -> int:
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
        hint=f"name one or two of them, e.g. columns=[{shorten(_wordiest(names, rows))}]",
    )


# --- TSV and CSV files ---

PEEKED = 20
"""How many rows are looked at to recognise a header."""
FEWEST = 5
"""A column of fewer cells is not taken for labels."""
SEPARATORS = {"tsv": "tabs", "csv": "commas"}
Row = tuple[int, list[str]]


def read_table(
    path: Path, format: str, choice: ColumnChoice | None = None, *, header: bool | None = None
) -> Iterator[Example]:
    """Yield one example per row of a TSV or CSV file.

    Parameters
    ----------
    path : Path
        The file, gzipped or not.
    format : {"tsv", "csv"}
        In TSV, quotes are ordinary characters, because public files contain bare ones. In CSV, they
        enclose cells.
    choice : ColumnChoice, optional
        The columns of text, label and group; by default, known names decide.
    header : bool, optional
        Whether the first row names the columns. By default it does if it has known names or names
        in ``choice``; a row that only looks like a header is an error. Without a header, the first
        two columns are the texts and the third is the label.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text('text,label\\n"Fine, really.",1\\n')
    >>> [(example.texts, example.label) for example in read_table(path, "csv")]
    [(('Fine, really.',), '1')]
    """
    choice = choice or ColumnChoice()
    names = find_header(path, format, choice, header=header)
    layout = (
        None if names is None else find_layout(names, choice, str(path), peek(path, format)[1:])
    )
    table = rows(path, format)
    if names is not None:
        next(table)
    for number, cells in table:
        if layout is None:
            layout = headerless_layout(len(cells), choice, str(path))
            if choice.texts is None:
                _check_texts(peek(path, format), layout, str(path))
        _check_width(cells, names, layout, f"{path}, line {number}", format)
        yield Example(
            str(number),
            tuple(cells[place].strip() for place in layout.texts),
            label=None if layout.label is None else cells[layout.label],
            group="" if layout.group is None else cells[layout.group].strip(),
            source=f"{path}, line {number}",
        )


def rows(path: Path, format: str) -> Iterator[Row]:
    """Yield (number of its first line, cells) of each row that is not blank."""
    if format == "tsv":
        for number, line in lines(path):
            if line.strip():
                yield number, line.split("\t")
        return
    size, most = 0, LINE.value

    def counted() -> Iterator[str]:
        nonlocal size
        for _, line in lines(path):
            size += len(line)
            if size > most:
                raise too_long(f"{path}, line {number}", "the row", error=CorpusError)
            yield line + "\n"

    reader = csv.reader(counted(), strict=True)
    while True:
        number, size = reader.line_num + 1, 0
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if "field limit" in str(error):
                raise CorpusError(
                    f"{path}, line {number}: a cell has more than {csv.field_size_limit():,} "
                    "characters",
                    hint="close every quote; if the text is so long, write it as .tsv or .jsonl",
                ) from None
            raise CorpusError(
                f"{path}, line {number}: not valid CSV ({error})",
                hint="close every quote, and double quotes inside a quoted cell; if quotes are "
                "ordinary characters in the file, write it with tabs as .tsv",
            ) from None
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield number, cells


def peek(path: Path, format: str) -> list[list[str]]:
    """The first rows of a table, as far as they can be read."""
    first_rows: list[list[str]] = []
    try:
        for _, cells in islice(rows(path, format), 1 + PEEKED):
            first_rows.append(cells)
    except CorpusError:
        if not first_rows:
            raise
    return first_rows


def find_header(
    path: Path, format: str, choice: ColumnChoice, *, header: bool | None = None
) -> list[str] | None:
    """The names in the first row of a table; None if the table has no header."""
    first = peek(path, format)
    if not first or header is False:
        return None
    cells = [cell.strip() for cell in first[0]]
    _check_separator(path, format, cells)
    if header or has_known_names(cells) or any(name in cells for name in choice.names):
        return cells
    if choice.names:
        return cells  # asked for by name: finding the columns says which names there are
    if looks_like_header(first):
        raise CorpusError(
            f"{path}: the first line looks like a header, but none of its columns is known to "
            f"hold text; the columns are {listed(cells)}",
            hint="name the columns of text, e.g. "
            f"columns=[{shorten(_wordiest(cells, first[1:]))}]; "
            "if the first line is data, give header=False",
        )
    return None


def _check_separator(path: Path, format: str, cells: Sequence[str]) -> None:
    """Refuse a file that is separated by something else than its format says."""
    if len(cells) != 1:
        return
    separator = {"tsv": ",", "csv": "\t"}[format]
    if has_known_names(parts := cells[0].split(separator)) and len(parts) > 1:
        right = "csv" if format == "tsv" else "tsv"
        raise CorpusError(
            f"{path} is separated by {SEPARATORS[right]}, not by {SEPARATORS[format]}",
            hint=f"give format={right!r}",
        )
    if format == "csv" and has_known_names(parts := cells[0].split(";")) and len(parts) > 1:
        raise CorpusError(
            f"{path} is separated by semicolons, not by commas",
            hint=f"read it with pandas: headscope.read(pandas.read_csv({str(path)!r}, sep=';'))",
            command="write it with commas or tabs",
        )


def _check_width(
    cells: Sequence[str], names: Sequence[str] | None, layout: Layout, where: str, format: str
) -> None:
    """All rows of a table with a header are as wide as it; others must reach the last column."""
    used = [*layout.texts, layout.label or 0, layout.group or 0]
    width = max(used) + 1 if names is None else len(names)
    if len(cells) < width or (names is not None and len(cells) > width):
        raise CorpusError(
            f"{where}: {len(cells)} columns, expected {width}",
            hint=f"each line needs the same columns, separated by {SEPARATORS[format]}",
        )


def _check_texts(first: Sequence[Sequence[str]], layout: Layout, where: str) -> None:
    """In a table without a header, refuse columns that evidently hold no text."""
    for place in layout.texts:
        cells = [row[place].strip() for row in first if len(row) > place]
        if all(map(is_number, cells)):
            what = "numbers"
        elif place and _are_labels(cells):
            what = "labels"
        else:
            continue
        shown = ", ".join(cut(cell, 20) for cell in list(dict.fromkeys(cells))[:3])
        text = 2 if place == 0 else 1
        raise CorpusError(
            f"{where}: column {place + 1} seems to hold {what} ({shown}), not texts, "
            "and no header says what the columns are",
            hint=f"give the columns by number, e.g. columns=[{text}], label={place + 1}",
            command=f"give the columns of text by number, e.g. --columns {text}",
        )


def _are_labels(cells: Sequence[str]) -> bool:
    """Whether cells are single words that keep coming back."""
    words = all(len(cell.split()) == 1 for cell in cells)
    return words and len(cells) >= FEWEST and len(set(cells)) <= len(cells) // 2


# --- JSON lines ---


def read_json_lines(path: Path, choice: ColumnChoice | None = None) -> Iterator[Example]:
    """Yield one example per JSON object, with the texts under known keys or those in ``choice``.

    Keys are named like the columns of a table. The id is the value of ``id``, or the line number.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> _ = path.write_text('{"a": "Who?", "b": "Me.", "group": "d1"}')
    >>> [(example.texts, example.group) for example in read_json_lines(path)]
    [(('Who?', 'Me.'), 'd1')]
    """
    choice = choice or ColumnChoice()
    for number, record in json_values(path):
        where = f"{path}, line {number}"
        if not isinstance(record, dict):
            raise CorpusError(
                f"{where}: expected a JSON object, got {type(record).__name__}",
                hint='write e.g. {"text": "A dog barks."} or {"a": "Who?", "b": "The dog."}',
            )
        names = list(record)
        layout = find_layout(names, choice, where, [list(record.values())])
        texts = [names[place] for place in layout.texts]
        label = None if layout.label is None else record[names[layout.label]]
        group = None if layout.group is None else record[names[layout.group]]
        yield Example(
            str(record.get("id", number)),
            tuple(_json_text(record, name, where) for name in texts),
            label=None if label is None else str(label),
            group="" if group is None else str(group).strip(),
            source=where,
        )


def record_group(record: Mapping[str, Any]) -> str:
    """The document or paragraph that a JSON object says it belongs to; empty if it does not say.

    >>> record_group({"sentence": "A dog barks.", "document": 7})
    '7'
    """
    groups = (record[key] for key in GROUPS if record.get(key) is not None)
    return str(next(groups, "")).strip()


def _json_text(record: Mapping[str, Any], name: str, where: str) -> str:
    value = record[name]
    if not isinstance(value, str):
        raise CorpusError(
            f"{where}: {shorten(name)} must be a string, got {type(value).__name__}",
            hint='write the text in quotes, or name other keys, e.g. columns=["text"]',
        )
    return value.strip()


# --- DataFrames and datasets ---


class DatasetLike(Protocol):
    """What a ``datasets.Dataset`` has: the names of its columns, and rows that are dictionaries."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Mapping[str, Any]]: ...


def from_frame(frame: pd.DataFrame, choice: ColumnChoice, *, name: str | None = None) -> Corpus:
    """Make a corpus of a pandas DataFrame, one example per row, named by the row's index.

    >>> import pandas as pd
    >>> from_frame(pd.DataFrame({"text": ["A dog barks."]}), ColumnChoice())
    Corpus('DataFrame of 1 row', format='memory')
    """
    names = [str(column) for column in frame.columns]
    rows = frame.head(PEEKED).to_numpy().tolist()
    layout = find_layout(names, _by_label(choice, list(frame.columns)), "the DataFrame", rows)
    columns = [frame.iloc[:, place].tolist() for place in layout.places]
    examples = [
        _example(str(index), [column[row] for column in columns], names, layout, "DataFrame, row")
        for row, index in enumerate(frame.index)
    ]
    return from_examples(examples, name=name or f"DataFrame of {_rows(len(frame))}")


def from_dataset(data: DatasetLike, choice: ColumnChoice, *, name: str | None = None) -> Corpus:
    """Make a corpus of a ``datasets.Dataset``, one example per row, named by its number from 0.

    Rows are read when they are needed, so that a dataset larger than memory can be used.
    """
    names = list(data.column_names)
    first = [[row[name] for name in names] for row in islice(data, 1)]
    layout = find_layout(names, choice, "the dataset", first)
    wanted = [names[place] for place in layout.places]
    select = getattr(data, "select_columns", None)
    rows = data if select is None else select(list(dict.fromkeys(wanted)))

    def source() -> Iterator[Example]:
        for number, row in enumerate(rows):
            cells = [row[column] for column in wanted]
            yield _example(str(number), cells, names, layout, "dataset, row")

    title = name or f"dataset of {_rows(len(data))}"
    return Corpus(title, MEMORY, source, lambda: content_digest(source()))


def _by_label(choice: ColumnChoice, labels: list[Any]) -> ColumnChoice:
    """A DataFrame's columns may be called by numbers: these are names, wherever they exist."""

    def named(column: str | int | None) -> str | int | None:
        return str(column) if column in labels else column

    texts = None if choice.texts is None else tuple(map(named, choice.texts))
    return ColumnChoice(texts, named(choice.label), named(choice.group))  # type: ignore[arg-type]


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


def _example(
    name: str, cells: Sequence[Any], names: Sequence[str], layout: Layout, what: str
) -> Example:
    """One row, from its cells in the order of the layout's places."""
    where = f"{what} {name}"
    values = dict(zip(layout.places, cells, strict=True))
    label, group = (
        None if place is None or is_missing(values[place]) else str(values[place])
        for place in (layout.label, layout.group)
    )
    texts = (checked_text(values[at], f"{where}: {names[at]!r}").strip() for at in layout.texts)
    return Example(name, tuple(texts), label=label, group=(group or "").strip(), source=where)
