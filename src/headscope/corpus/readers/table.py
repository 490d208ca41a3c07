"""Tables of texts, one example per row: TSV as public data sets write it, and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from headscope.corpus.columns import (
    ColumnChoice,
    Layout,
    find_layout,
    has_known_names,
    headerless_layout,
    is_number,
    listed,
    looks_like_header,
)
from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.errors import CorpusError, cut, shorten
from headscope.limits import LINE, too_long

PEEK = 20
"""How many rows are looked at to recognise a header."""
FEWEST = 5
"""A column of fewer cells is not taken for labels."""
SEPARATORS = {"tsv": "tabs", "csv": "commas"}
Row = tuple[int, list[str]]


def read_table(
    path: Path,
    format: str,
    choice: ColumnChoice | None = None,
    *,
    header: bool | None = None,
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
    layout = None if names is None else find_layout(names, choice, str(path))
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
    found: list[list[str]] = []
    try:
        for _, cells in islice(rows(path, format), 1 + PEEK):
            found.append(cells)
    except CorpusError:
        if not found:
            raise
    return found


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
            hint=f"name the columns of text, e.g. columns=[{shorten(cells[0])}]; "
            "if the first line is data, give header=False",
        )
    return None


def _check_separator(path: Path, format: str, cells: Sequence[str]) -> None:
    """Refuse a file that is separated by something else than its format says."""
    if len(cells) != 1:
        return
    other = {"tsv": ",", "csv": "\t"}[format]
    if has_known_names(parts := cells[0].split(other)) and len(parts) > 1:
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
