"""A page as data: sections of text, tables and charts, rendered by one template.

Reports of surveys and pages of papers are such documents.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from headscope.errors import ResultsError
from headscope.figures import FIGURES, script_json, vega_bundle
from headscope.figures.save import OPTIONS, STYLE, content_policy
from headscope.files import atomic_write, check_writable
from headscope.numbers import LONG, MISSING, cell, is_words, number

Row = dict[str, Any]
"""The cells of a row by the name of their column."""
WIDE = 600
"""A wider plot gets the whole width of the page; others stand two in a row."""
LEADING = re.compile(r"[-+]?\d+(\.\d+)?(?= |$)")
WHOLE = re.compile(r"(?<![\w-])\w+-\d+(?![\w-])|\d[\d.]* %")
"""Heads (3-9), tasks (SST-2) and percentages."""


@dataclass(frozen=True)
class Table:
    """A table of named cells.

    Parameters
    ----------
    rows : sequence of dict
        The cells of each row by column. Numbers are formatted when the page is rendered, text
        stays as it is.
    title, note : str
        Above and below the table.
    sortable : bool
        Whether readers can sort it by a column. A long one then scrolls in a box.
    id : str
        The identifier of the element on the page.

    Examples
    --------
    >>> table = Table([{"head": "3-9", "mean": 0.5}, {"head": "1-2", "n": 3}])
    >>> table.columns, table.is_text("head"), table.is_text("mean")
    (['head', 'mean', 'n'], False, False)
    """

    rows: Sequence[Row]
    title: str = ""
    note: str = ""
    sortable: bool = False
    id: str = ""

    @property
    def columns(self) -> list[str]:
        """The names of all cells, in the order in which they first appear."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def measured(self) -> set[str]:
        """The columns that hold measured values, not counts: some float in them is not whole."""
        return {
            column
            for row in self.rows
            for column, value in row.items()
            if isinstance(value, float) and math.isfinite(value) and not value.is_integer()
        }

    def is_text(self, column: str) -> bool:
        """Tell whether a column holds words and is left-aligned.

        Written numbers (26.3 (1), +1.2, 3-9) are right-aligned.
        """
        return any(is_words(row.get(column)) for row in self.rows)

    def is_long(self, column: str) -> bool:
        """Tell whether some cell of a column is longer text: then all of them are wrapped."""
        cells = [row.get(column) for row in self.rows]
        return any(isinstance(cell, str) and len(cell) > LONG for cell in cells)


@dataclass(frozen=True)
class Plot:
    """An Altair chart with its caption; ``name`` is used in file names and identifiers.

    ``wide`` charts get the whole width of the page, because they have text beside them.
    """

    name: str
    title: str
    caption: str
    chart: Any
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it: text, tables, plots."""

    id: str
    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()


@dataclass(frozen=True)
class Document:
    """A whole page.

    Parameters
    ----------
    title, subtitle : str
        At the top.
    facts : sequence of pairs of str
        Numbers with their meaning, below the title.
    remarks : sequence of str
        Sentences on what stands out.
    sections : sequence of Section
        The body.
    provenance : str
        The provenance of the results, as JSON.
    runs : Table, optional
        What was run on what, above the provenance.
    notes : sequence of str
        What a recipe could not run, and why. Not shown by the template.
    """

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    sections: Sequence[Section] = ()
    provenance: str = ""
    notes: Sequence[str] = ()
    runs: Table | None = None


def records(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a data frame for a table.

    Examples
    --------
    >>> records(pd.DataFrame({"head": ["3-9"], "mean": [0.5]}))
    [{'head': '3-9', 'mean': 0.5}]
    """
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def render_document(document: Document) -> str:
    """Return the page as HTML: self-contained, with every text escaped."""
    import jinja2  # which the report of a survey does not need

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = cell_text
    environment.filters["order"] = order
    environment.filters["whole_heads"] = whole_heads
    script, style = _script_and_style()
    return environment.get_template("document.html.j2").render(
        document=document,
        spec=spec,
        script=Markup(script),
        style=Markup(style),
        policy=content_policy(scripts=(script,), styles=(style,)),
    )


def _script_and_style() -> tuple[str, str]:
    """The script and the style sheet of every page, as they stand between their tags."""
    folder = resources.files("headscope.page").joinpath("templates")
    code, css = (
        folder.joinpath(name).read_text(encoding="utf-8")
        for name in ("document.js", "document.css")
    )
    return f"{vega_bundle()}\nconst OPTIONS = {OPTIONS};\n{code}", f"{STYLE}{css}"


def write_document(document: Document, path: Path) -> Path:
    """Write the page, whole or not at all.

    Parameters
    ----------
    document : Document
        The page.
    path : Path
        The file. Folders on the way are made.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ResultsError
        If it cannot be written.
    """
    check_writable(path, error=ResultsError)
    with atomic_write(path, error=ResultsError) as temporary:
        temporary.write_text(render_document(document), encoding="utf-8")
    return path


def spec(plot: Plot) -> Row:
    """Return a chart's specification as safe JSON, and whether it needs the whole width."""
    # Our own figures are held against Vega-Lite's schema by the tests, which takes long; others
    # are checked here.
    ours = plot.name in FIGURES and not FIGURES.entry(plot.name).own
    chart = plot.chart.to_dict(validate=not ours)
    wide = plot.wide or max(_widths(chart), default=0) > WIDE or _abreast(chart)
    return {"json": script_json(chart), "wide": wide}


def _abreast(part: Any) -> bool:
    """Tell whether a chart has parts beside each other."""
    if not isinstance(part, dict):
        return False
    below = part.get("vconcat", ())
    return "hconcat" in part or "concat" in part or any(_abreast(item) for item in below)


def _widths(part: Any) -> list[float]:
    """Return the widths of a chart and of its parts."""
    if not isinstance(part, dict):
        return []
    widths = [part["width"]] if isinstance(part.get("width"), int | float) else []
    for key in ("layer", "concat", "hconcat", "vconcat"):
        for item in part.get(key, ()):
            widths += _widths(item)
    return widths


def missing(value: object) -> bool:
    """Tell whether a cell is empty: None or not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def cell_text(value: object, column: str = "", measured: bool = False) -> str:
    """Write a cell for reading.

    Parameters
    ----------
    value
        What the table holds.
    column : str
        The name of its column: one of p-values is never shown as zero.
    measured : bool
        Whether the column holds measured values: then a float that happens to be whole keeps its
        decimals.

    Returns
    -------
    str
        As :func:`headscope.numbers.cell` says, with two exceptions. A float of 0 or 1, which may be
        a share, keeps its decimals; one from 10 to 1000, mostly a percentage, has one, as papers
        print it.

    Examples
    --------
    >>> cell_text(0.12345), cell_text(1.0), cell_text(12), cell_text(float("nan"))
    ('0.123', '1.000', '12', '–')
    >>> cell_text(86.8), cell_text(86.0), cell_text(86.0, measured=True)
    ('86.8', '86', '86.0')
    >>> cell_text(2e-9, "p corrected"), cell_text("3-9")
    ('<0.001', '3-9')
    """
    if isinstance(value, float) and cell(0.0, column) == "0":  # not a p-value
        whole = value.is_integer() and not measured
        if 10 <= abs(value) < 1000 and not whole:
            return f"{value:.1f}"
        if value in (0.0, 1.0) or (measured and abs(value) < 10):
            return number(value)
    return cell(value, column)


def whole_heads(text: str) -> Markup:
    """Keep heads, tasks and percentages in a longer text from being broken into two lines.

    Examples
    --------
    >>> whole_heads("1-9, 2-1")
    Markup('<span class="head">1-9</span>, <span class="head">2-1</span>')
    >>> whole_heads("SST-2: 0.5 %")
    Markup('<span class="head">SST-2</span>: <span class="head">0.5 %</span>')
    >>> whole_heads("3-9"), whole_heads("2026-11-16")
    (Markup('3-9'), Markup('2026-11-16'))
    """
    if WHOLE.fullmatch(text):
        return escape(text)
    return Markup(WHOLE.sub(r'<span class="head">\g<0></span>', str(escape(text))))


def order(value: object) -> str:
    """Return what a cell is sorted by.

    A head's name is sorted by layer, then head; a number by itself, even if something follows it.

    Examples
    --------
    >>> order("3-12"), order(0.5), order("det"), order("26.3 [24, 28]"), order("-1.5")
    ('3012', '0.5', 'det', '26.3', '-1.5')
    """
    if missing(value) or value == MISSING:
        return ""
    if isinstance(value, str):
        parts = value.split("-")
        if len(parts) == 2 and all(part.isdecimal() for part in parts):
            return str(int(parts[0]) * 1000 + int(parts[1]))
        leading = LEADING.match(value)
        return leading[0] if leading else value
    return str(value)
