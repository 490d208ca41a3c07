"""The page of a recipe: figures of the gallery, names and numbers; and what a recipe returns."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.figures import find_figure
from headscope.page import Plot, Section, Table
from headscope.results import Atlas


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


# --- Parts of a page ---


def with_suffix(section: Section, suffix: str, *, title: str = "") -> Section:
    """Tell one of several sections of a kind from the others.

    The suffix ends the section's anchor and the names of its plots and tables.

    Examples
    --------
    >>> with_suffix(Section("change", "Change"), "rte", title="RTE: change").id
    'change-rte'
    """
    return replace(
        section,
        id=f"{section.id}-{suffix}",
        title=title or section.title,
        plots=[replace(plot, name=f"{plot.name}-{suffix}") for plot in section.plots],
        tables=[
            replace(table, id=f"{table.id}-{suffix}" if table.id else "")
            for table in section.tables
        ],
    )


def gallery(results: Atlas, *names: str) -> list[Plot]:
    """Draw figures of the gallery, by their names in ``headscope figures``."""
    figures = [find_figure(name, results) for name in names]
    return [Plot(one.name, one.title, one.caption, one.draw(results)) for one in figures]


def run_rows(about: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """List what was run on what: one row per run, from its provenance, with digests.

    Examples
    --------
    >>> run = {"corpus": {"name": "data/ewt.conllu", "sha256": "0123456789abcdef"}}
    >>> run_rows({"dependency": run | {"counts": {"seen": 12}}})[0]["corpus"]
    'ewt.conllu (0123456789)'
    """
    rows = []
    for name, run in about.items():
        model, corpus, counts = (run.get(key, {}) for key in ("model", "corpus", "counts"))
        rows.append(
            {
                "run": name,
                "model": _digested(model.get("name"), model.get("weights")),
                "corpus": _digested(corpus.get("name"), corpus.get("sha256")),
                "examples": counts.get("seen"),
                "cut": counts.get("truncated"),
                "seed": run.get("settings", {}).get("seed"),
                "made": run.get("created"),
            }
        )
    return rows


def _digested(name: str | None, digest: str | None) -> str | None:
    """A name with the beginning of a digest; paths without their folders."""
    if name is None:
        return None
    short = Path(name).name if len(Path(name).parts) > 2 or Path(name).suffix else name
    return f"{short} ({digest[:10]})" if digest else short


def short_name(name: str) -> str:
    """Shorten a path to its last part; a hub id stays whole.

    Examples
    --------
    >>> short_name("google/electra-small-discriminator")
    'google/electra-small-discriminator'
    """
    return Path(name).resolve().name if Path(name).exists() else name


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural unless there is one.

    Examples
    --------
    >>> counted(1, "epoch"), counted(0, "loss"), counted(1204, "seed")
    ('1 epoch', '0 losses', '1,204 seeds')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def as_sentence(note: str) -> str:
    """Write a note as a sentence: a capital letter at the start, a full stop at the end.

    Examples
    --------
    >>> as_sentence("all tasks: at most 60 examples")
    'All tasks: at most 60 examples.'
    """
    return f"{note[:1].upper()}{note[1:].removesuffix('.')}."
