"""What a recipe returns: the page it wrote, its tables, and the parts it skipped."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.page import Section, Table


@dataclass(frozen=True)
class PaperReport:
    """The outcome of a recipe.

    Parameters
    ----------
    page
        The HTML page.
    sections
        What stands on the page: texts, tables and plots.
    skipped
        Why parts were skipped, one sentence each.
    files
        The results files that the recipe wrote or reused.
    """

    page: Path
    sections: tuple[Section, ...]
    skipped: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of the page by name, such as ``dependencies/table-1``."""
        return {
            name: pd.DataFrame(list(table.rows), columns=table.columns)
            for name, table in _named(self.sections)
        }

    def records(self) -> list[dict[str, Any]]:
        """The tables as plain values, ready for JSON.

        Returns
        -------
        list of dict
            One object per table: ``name``, ``columns``, and ``rows`` as objects that have every
            column. A value that is missing or not a number is None.
        """
        return [
            {
                "name": name,
                "columns": table.columns,
                "rows": [
                    {column: plain_value(row.get(column)) for column in table.columns}
                    for row in table.rows
                ],
            }
            for name, table in _named(self.sections)
        ]

    def __repr__(self) -> str:
        lines = [f"{self.page}: {len(self.sections)} sections, {len(self.tables)} tables"]
        return "\n".join([*lines, *(f"skipped: {reason}" for reason in self.skipped)])


def plain_value(value: Any) -> Any:
    """Turn a cell into a value that JSON knows.

    Parameters
    ----------
    value
        A string, a number (Python's or NumPy's) or None.

    Returns
    -------
    str, int, float, bool or None
        The value; None for a number that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> plain_value(np.float32(0.5)), plain_value(float("nan")), plain_value("det")
    (0.5, None, 'det')
    """
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _named(sections: Sequence[Section]) -> list[tuple[str, Table]]:
    """Every table with a name of its own: its section, then its title or number."""
    named: dict[str, Table] = {}
    for section in sections:
        for number, table in enumerate(section.tables, 1):
            title = re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-")
            name = f"{section.id}/{title or number}"
            named[name if name not in named else f"{name}-{number}"] = table
    return list(named.items())
