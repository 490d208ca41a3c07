"""Compare the tables and the text of two pages by the numbers they show.

Pages may be reworded, rearranged and show more or fewer digits. So each row is reduced to the
numbers it shows, and two numbers agree if some number could be shown as both: ``0.389`` and
``38.9``, ``2.6e-09`` and ``<0.001``, but not ``0.389`` and ``38.8``.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from freeze.reading import DOCUMENT, TIMES, packs_of, walk

NUMBER = re.compile(r"(?<![\w.])([<>]\s?)?((?<!\d)[-+−])?(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?!\w)")
UNITS = re.compile(r"\(share, 0–1\)|\b0–1\b|95 %")
"""Numbers that belong to a unit or a heading."""
DURATION = re.compile(r"[\d.]+ (minutes?|seconds?|hours?)\b")
"""Numbers that differ between any two runs."""
PROSE = re.compile(r"^(title|subtitle|facts|remarks|missing)\b|\.(title|text|note|caption|about)$")
"""Paths of sentences in the data of a page; headings of columns are none."""
SAME = re.compile(r" is (\S+) in every row\.")
"""What a note says of a column that is not shown because its cells are equal."""
VERDICTS = {"yes", "no", "undecided", "not tested"}
"""Cells that say what became of a claim."""


@dataclass(frozen=True)
class Shown:
    """The range of numbers that a text can stand for."""

    low: float
    high: float
    limit: bool = False
    """Whether the text gives a limit, such as ``<0.001``."""

    def agrees(self, other: Shown, *, scale: bool = True) -> bool:
        """Whether one number could be shown as both; with scale, once as a share, once in percent.

        >>> Shown(0.3885, 0.3895).agrees(Shown(38.85, 38.95))
        True
        """
        factors = (1.0, 100.0, 0.01) if scale and not (self.limit or other.limit) else (1.0,)
        return any(
            self.low * factor < other.high and other.low < self.high * factor for factor in factors
        )


def shown(text: str) -> list[Shown]:
    """The numbers in a text, each as wide as its last digit. Whole numbers are exact.

    >>> [round(number.high, 3) for number in shown("3-9, 38.9 (<0.001)")]
    [3.0, 9.0, 38.95, 0.001]
    """
    found = []
    for limit, sign, digits in NUMBER.findall(UNITS.sub(" ", text)):
        digits = digits.replace(",", "")
        value = float(digits) * (-1 if sign in ("-", "−") else 1)
        mantissa, _, exponent = digits.partition("e")
        decimals = len(mantissa.partition(".")[2])
        half = 0.5 * 10.0 ** (int(exponent or 0) - decimals) * (1 - 1e-9)
        if digits.isdecimal():
            half = 1e-9  # a count, or the layer or head of a head's name
        if limit:
            ends = (-1e-300, value) if limit[0] == "<" else (value - half, float("inf"))
            found.append(Shown(*ends, limit=True))
        else:
            found.append(Shown(value - half, value + half))
    return found


@dataclass
class Page:
    """The tables of a page, row by row, and its running text."""

    tables: list[list[list[str]]] = field(default_factory=list)
    prose: str = ""
    times: list[str] = field(default_factory=list)
    """Headings of columns that differ between any two runs and were left out."""

    @property
    def cells(self) -> int:
        """How many cells of tables hold a number."""
        rows = [row for table in self.tables for row in table]
        return sum(bool(shown(cell)) for row in rows for cell in row)


def read_page(path: Path) -> Page:
    """The tables (without their headings) and the text of a page, of its HTML and of its data."""
    text = re.sub(r"<(script|style|pre|svg)\b.*?</\1>", " ", path.read_text(), flags=re.DOTALL)
    page = Page(prose=plain(re.sub(r"<table.*?</table>", " ", text, flags=re.DOTALL)))
    tables = [html_table(table) for table in re.findall(r"<table.*?</table>", text, re.DOTALL)]
    document, _ = packs_of(path).get(DOCUMENT, ({}, {}))
    if document:
        below = [table for section in document["sections"] for table in section["tables"]]
        below += [document["runs"]] if document["runs"] else []
        for table in below:
            titles = [column["title"] for column in table["columns"]]
            same = SAME.findall(table["note"])
            tables.append((titles, [[cell or "" for cell in row + same] for row in table["rows"]]))
        said = [text for at, text in walk(document) if PROSE.search(at) and "columns." not in at]
        page.prose = " ".join(map(str, said))
    for headings, rows in tables:
        times = [number for number, heading in enumerate(headings) if heading in TIMES]
        page.times += [headings[number] for number in times]
        kept = [[cell for number, cell in enumerate(row) if number not in times] for row in rows]
        page.tables.append(kept)
    return page


def html_table(table: str) -> tuple[list[str], list[list[str]]]:
    """The headings, if there are any, and the rows of a table in HTML."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, flags=re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, flags=re.DOTALL) for row in rows]
    texts = [[plain(cell) for cell in row] for row in cells]
    return (texts.pop(0) if "<thead" in table else []), texts


def plain(markup: str) -> str:
    """A piece of HTML as text."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?(a|span)\b[^>]*>", "", markup)))
    return re.sub(r"\s+", " ", text).strip()


def rows_agree(old: list[str], new: list[str]) -> bool:
    """Whether two rows show the same numbers, however they are spread over cells."""
    return numbers_agree(shown(" ; ".join(old)), shown(" ; ".join(new)))


def numbers_agree(old: list[Shown], new: list[Shown]) -> bool:
    """Whether each number of one row agrees with one of the other, in this or another order."""
    if len(old) != len(new):
        return False
    if all(one.agrees(other) for one, other in zip(old, new, strict=True)):
        return True
    rest = list(new)
    for number in old:
        partner = next((other for other in rest if number.agrees(other)), None)
        if partner is None:
            return False
        rest.remove(partner)
    return True


def align(old: list[list[str]], new: list[list[str]]) -> list[tuple[int, int]]:
    """The longest common subsequence of two tables: pairs of rows that show the same numbers.

    >>> align([["a", "1"], ["b", "2"], ["c", "3"]], [["b", "2"], ["x", "9"], ["c", "3.0"]])
    [(1, 0), (2, 2)]
    """
    before, after = ([shown(" ; ".join(row)) for row in table] for table in (old, new))
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    agree = [[numbers_agree(row, other) for other in after] for row in before]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            below = max(lengths[i + 1][j], lengths[i][j + 1])
            lengths[i][j] = max(below, lengths[i + 1][j + 1] + 1) if agree[i][j] else below
    pairs, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        if agree[i][j] and lengths[i][j] == lengths[i + 1][j + 1] + 1:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


@dataclass
class PageDifference:
    """What became of the rows and words of a page."""

    rows: int = 0
    moved: list[str] = field(default_factory=list)
    """Rows that no row of the new page shows."""
    added: list[str] = field(default_factory=list)
    """Rows that no row of the old page shows."""
    reworded: Counter[str] = field(default_factory=Counter)
    """Cells whose text changed, as ``old → new``."""
    prose: list[str] = field(default_factory=list)
    """Numbers of the running text that are gone."""


def compare_pages(old: Page, new: Page) -> PageDifference:
    """Compare each table with the new table whose rows agree best, row by row."""
    found = PageDifference()
    rest = list(new.tables)
    for table in old.tables:
        best = max(rest, key=lambda other: score(table, other), default=[])
        if any(best is other for other in rest):
            rest = [other for other in rest if other is not best]
        compare_rows(table, best, found)
    found.added += [" | ".join(row) for table in rest for row in table]
    found.prose = compare_prose(old.prose, new.prose)
    return found


def compare_prose(old: str, new: str) -> list[str]:
    """Numbers of the old text that the new text does not show, each with the words around it."""
    old, new = (DURATION.sub(r"\1", text) for text in (old, new))
    matches = [list(NUMBER.finditer(text)) for text in (old, new)]
    before, after = (Counter(match[0] for match in side) for side in matches)
    gone, come = before - after, after - before
    for number in list(gone.elements()):
        value = shown(number)[0]
        partner = next((other for other in come if value.agrees(shown(other)[0], scale=False)), "")
        if partner:
            gone[number] -= 1
            come[partner] -= 1
            come += Counter()
    places = {match[0]: match.start() for match in matches[0]}
    return [f"… {old[max(places[number] - 40, 0) : places[number] + 20]} …" for number in +gone]


def score(old: list[list[str]], new: list[list[str]]) -> tuple[int, int, int]:
    """How well two tables fit: rows that show the same numbers, equal rows, equal lengths."""
    pairs = align(old, new)
    return len(pairs), sum(old[i] == new[j] for i, j in pairs), -abs(len(old) - len(new))


def compare_rows(old: list[list[str]], new: list[list[str]], found: PageDifference) -> None:
    """Compare two tables row by row and note what changed."""
    pairs = align(old, new)
    found.rows += len(old)
    for i, j in pairs:
        row, other = old[i], new[j]
        verdicts = [[cell for cell in cells if cell in VERDICTS] for cells in (row, other)]
        if verdicts[0] != verdicts[1]:
            found.moved.append(f"{' | '.join(row)} (now {', '.join(verdicts[1])})")
        if len(row) == len(other):
            changed = [(a, b) for a, b in zip(row, other, strict=True) if a != b]
            found.reworded.update(f"{a} → {b}" for a, b in changed)
        else:
            found.reworded[f"{' | '.join(row)} → {' | '.join(other)}"] += 1
    matched, taken = {i for i, _ in pairs}, {j for _, j in pairs}
    found.moved += [" | ".join(row) for i, row in enumerate(old) if i not in matched]
    found.added += [" | ".join(row) for j, row in enumerate(new) if j not in taken]
