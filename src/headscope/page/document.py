"""A page as data: sections of text, tables and charts. Survey reports and papers are both such documents, drawn by one template."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from headscope.errors import ResultsError
from headscope.figures import script_json, vega_bundle
from headscope.files import atomic_write, check_writable

WIDE = 600
"""A wider plot gets the whole width of the page; others stand two in a row, shrunk a little if need be."""


Row = dict[str, Any]
LONG = 40
"""A longer cell is a list, set from the left and broken into lines."""
LEADING = re.compile(r"[-+]?\d+(\.\d+)?(?= |$)")
NUMBERS = re.compile(r"[-+−–\d.,…()\[\]%e\s]*")


@dataclass(frozen=True)
class Table:
    """Rows of named cells. ``sortable`` lets readers sort by a column, in a box of its own height."""

    rows: Sequence[dict[str, Any]]
    title: str = ""
    note: str = ""
    sortable: bool = False
    id: str = ""

    @property
    def columns(self) -> list[str]:
        """The names of all cells, in the order in which they first appear."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    def is_text(self, column: str) -> bool:
        """Whether a column holds words, and is set from the left; numbers written out (26.3 (1), +1.2, 3-9) are set from the right."""
        return any(
            isinstance(cell := row.get(column), str)
            and (NUMBERS.fullmatch(cell) is None or len(cell) > LONG)
            for row in self.rows
        )


@dataclass(frozen=True)
class Plot:
    """An Altair chart with its caption."""

    name: str
    title: str
    caption: str
    chart: Any


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it: text, tables, plots."""

    id: str
    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()


@dataclass(frozen=True)
class Document:
    """A whole page."""

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    sections: Sequence[Section] = ()
    provenance: str = ""
    notes: Sequence[str] = field(default=())


def records(frame: pd.DataFrame) -> list[Row]:
    """A data frame's rows for a table."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def render_document(document: Document) -> str:
    """The page as a string: self-contained, every text escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = number
    environment.filters["order"] = order
    return environment.get_template("document.html.j2").render(
        document=document, spec=spec, bundle=vega_bundle()
    )


def write_document(document: Document, path: Path) -> Path:
    """Write the page, whole or not at all."""
    check_writable(path, error=ResultsError)
    with atomic_write(path, error=ResultsError) as temporary:
        temporary.write_text(render_document(document), encoding="utf-8")
    return path


def spec(plot: Plot) -> dict[str, Any]:
    """A chart's specification, safe inside a script element, and whether it needs the whole width."""
    found = plot.chart.to_dict()
    wide = max(_widths(found), default=0) > WIDE or _abreast(found)
    return {"json": script_json(found), "wide": wide}


def _abreast(part: Any) -> bool:
    """Whether a chart has others beside each other."""
    return isinstance(part, dict) and (
        "hconcat" in part
        or "concat" in part
        or any(_abreast(item) for item in part.get("vconcat", ()))
    )


def _widths(part: Any) -> list[float]:
    if not isinstance(part, dict):
        return []
    nested = [
        width
        for key in ("layer", "concat", "hconcat", "vconcat")
        for item in part.get(key, ())
        for width in _widths(item)
    ]
    return [*nested, part["width"]] if isinstance(part.get("width"), int | float) else nested


def missing(value: object) -> bool:
    """Whether a cell has nothing in it: None, or not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def number(value: object) -> str:
    """A number for reading: three decimals (one from 10 on: percent), a dash for none.

    >>> number(0.12345), number(34.52), number(float("nan")), number(3), number(2.0e-9)
    ('0.123', '34.5', '–', '3', '2.0e-09')
    """
    if missing(value):
        return "–"
    if isinstance(value, float):
        return (
            f"{value:.1e}"
            if 0 < abs(value) < 0.0005
            else f"{value:.1f}"
            if abs(value) >= 10
            else f"{value:.3f}"
        )
    return str(value)


def order(value: object) -> str:
    """What a cell is sorted by: a head's name by layer, then head; a number by itself, also where something follows it.

    >>> order("3-12"), order(0.5), order("det"), order("26.3 (24 … 28)"), order("-1.5")
    ('3012', '0.5', 'det', '26.3', '-1.5')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        parts = value.split("-")
        if len(parts) == 2 and all(part.isdecimal() for part in parts):
            return str(int(parts[0]) * 1000 + int(parts[1]))
        number = LEADING.match(value)
        return number[0] if number else value
    return str(value)
