"""A page as data: sections of text, tables and charts around the atlas of a model.

Pages of papers, portraits and pages of tables are such documents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from headscope.numbers import cell, is_words, number

if TYPE_CHECKING:
    from headscope.results import Atlas

Row = dict[str, Any]
"""The cells of a row by the name of their column."""


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


@dataclass(frozen=True)
class Plot:
    """An Altair chart with its caption; ``name`` is used in file names and identifiers."""

    name: str
    title: str
    caption: str
    chart: Any


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
        At the top: the model, and what the page says of it.
    atlases : sequence of Atlas
        The results of the heads that the page speaks of. The grid of the first one stands on top.
    label : str
        What the page's navigation calls it: "Clark et al. 2019".
    facts : sequence of pairs of str
        Numbers with their meaning, below the title.
    remarks : sequence of str
        Sentences on what stands out.
    verdicts : sequence of str
        For each row of the section ``claims``: yes, no, undecided or not tested.
    sections : sequence of Section
        The body.
    provenance : str
        The provenance of the results, as JSON.
    runs : Table, optional
        What was run on what, above the provenance.
    notes : sequence of str
        What could not be run, and why.
    linked : bool
        Whether heads that are named are those of the first atlas: then they are links to its pages.
    """

    title: str
    subtitle: str
    atlases: Sequence[Atlas] = ()
    label: str = "Tables"
    facts: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    verdicts: Sequence[str] = ()
    sections: Sequence[Section] = ()
    provenance: str = ""
    notes: Sequence[str] = ()
    runs: Table | None = None
    linked: bool = True


def records(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a data frame for a table.

    Examples
    --------
    >>> records(pd.DataFrame({"head": ["3-9"], "mean": [0.5]}))
    [{'head': '3-9', 'mean': 0.5}]
    """
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


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
        if 10 <= abs(value) < 1000 and (measured or not value.is_integer()):
            return f"{value:.1f}"
        if value in (0.0, 1.0) or (measured and abs(value) < 10):
            return number(value)
    return cell(value, column)
