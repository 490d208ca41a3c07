"""Documents as one pack: sections whose charts the page draws itself wherever it can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.figures import numbers_of
from headscope.figures.builders import BESIDE, Panels, Rows
from headscope.figures.later import alt
from headscope.figures.save import chart_svg
from headscope.figures.style import is_share
from headscope.page.document import Document, Plot, Section, Table, cell_text
from headscope.page.schema import ChartRow, Figure, HeadsChart, PageDocument, RowsChart
from headscope.page.schema import Section as PageSection
from headscope.page.schema import Table as PageTable

Arrays = dict[str, NDArray[Any]]
Shape = tuple[int, ...]
SAME = 3
"""A column of so many equal measured numbers says nothing: its number goes into the note."""


def document_content(document: Document, shape: Shape) -> tuple[PageDocument, Arrays]:
    """What the page shows of a document.

    Parameters
    ----------
    document
        The document.
    shape
        Layers and heads of the page's first atlas: charts of other models are drawn beforehand.
    """
    arrays: Arrays = {}
    sections = [_section(section, shape, arrays) for section in document.sections]
    return {
        "label": document.label,
        "title": document.title,
        "subtitle": document.subtitle,
        "facts": [{"value": value, "about": about} for value, about in document.facts],
        "remarks": list(document.remarks),
        "verdicts": list(document.verdicts),
        "sections": sections,
        "missing": list(document.notes),
        "runs": page_table(document.runs) if document.runs else None,
        "linked": document.linked,
        "provenance": document.provenance,
    }, arrays


def _section(section: Section, shape: Shape, arrays: Arrays) -> PageSection:
    return {
        "id": section.id,
        "title": section.title,
        "text": section.text,
        "plots": [_plot(plot, shape, arrays) for plot in section.plots],
        "tables": [page_table(table) for table in section.tables],
    }


# --- Tables ---


def page_table(table: Table) -> PageTable:
    """A table as the page shows it."""
    measured = table.measured
    cells = {
        name: [cell_text(row.get(name), name, name in measured) for row in table.rows]
        for name in table.columns
    }
    same = {name: texts[0] for name, texts in cells.items() if _says_nothing(table, name, texts)}
    shown = [name for name in cells if name not in same]
    said = [f"{name} is {text} in every row." for name, text in same.items()]
    return {
        "id": table.id,
        "title": table.title,
        "note": " ".join([table.note, *said]).strip(),
        "columns": [{"title": name, "number": not table.is_text(name)} for name in shown],
        "rows": [[cells[name][row] for name in shown] for row in range(len(table.rows))],
        "sortable": table.sortable,
    }


def _says_nothing(table: Table, name: str, cells: list[str]) -> bool:
    """Whether a column holds one and the same measured number in all of several rows."""
    floats = all(isinstance(row.get(name), float) for row in table.rows)
    return floats and len(cells) >= SAME and len(set(cells)) == 1


# --- Charts ---


def _plot(plot: Plot, shape: Shape, arrays: Arrays) -> HeadsChart | RowsChart | Figure:
    """A chart as numbers where its builder says what it shows, and as SVG otherwise."""
    match numbers_of(plot.chart):
        case Rows() as rows:
            return {
                "id": plot.name,
                "kind": "rows",
                "title": plot.title,
                "about": _subtitle(plot.chart),
                "caption": plot.caption,
                "unit": rows.unit,
                "rows": list(_rows(rows)),
            }
        case Panels() as panels if _fits(panels, shape):
            return _heads(plot, panels, arrays)
    return picture(plot)


def picture(plot: Plot) -> Figure:
    """A chart drawn beforehand, without its title, which the page writes."""
    chart = plot.chart
    about = _subtitle(chart)
    if about or getattr(chart.title, "text", chart.title) == plot.title:
        chart = chart.copy(deep=False)
        chart.title = alt.Undefined
    return {
        "id": plot.name,
        "kind": "picture",
        "title": plot.title,
        "about": about,
        "caption": plot.caption,
        "svg": chart_svg(chart),
    }


def _subtitle(chart: Any) -> str:
    """What stands below a chart's title."""
    lines = getattr(chart.title, "subtitle", "")
    lines = [lines] if isinstance(lines, str) else lines
    return "; ".join(lines) if isinstance(lines, list) else ""


def _fits(panels: Panels, shape: Shape) -> bool:
    return all(_by_head(values).shape == shape for values in panels.parts.values())


def _by_head(values: xr.DataArray) -> NDArray[Any]:
    return np.asarray(values.transpose("layer", "head").values)


def _heads(plot: Plot, panels: Panels, arrays: Arrays) -> HeadsChart:
    parts = [_by_head(values) for values in panels.parts.values()]
    name = f"chart/{plot.name}"
    arrays[name] = np.stack(parts)
    for end, values in panels.ends.items():
        arrays[f"{name}/{end}"] = _by_head(values)[None]
    if panels.framed:
        framed = [_by_head(panels.framed[title]) for title in panels.parts]
        arrays[f"{name}/framed"] = np.stack(framed).astype(np.uint8)
    share = is_share(panels.unit) and not panels.diverging
    value: Literal["share", "number"] = "share" if share else "number"
    return {
        "id": plot.name,
        "kind": panels.kind,
        "title": plot.title,
        "about": _subtitle(plot.chart),
        "caption": plot.caption,
        "unit": panels.unit,
        "parts": list(panels.parts),
        "value": value,
        "diverging": panels.diverging,
        "shared": panels.shared,
        "lines": [
            {"name": name, "values": [_known(value) for value in values]}
            for name, values in panels.lines.items()
        ],
    }


def _rows(rows: Rows) -> Iterator[ChartRow]:
    for row in rows.table.to_dict("records"):
        yield {
            "name": str(row[rows.label]),
            "beside": str(row.get(BESIDE, row["head"])),
            "value": _known(row["accuracy"]),
            "low": _known(row["low"]),
            "high": _known(row["high"]),
            "baseline": _known(row["baseline"]),
        }


def _known(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
