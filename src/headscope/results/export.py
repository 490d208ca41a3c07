"""Results as flat tables: CSV, Parquet and LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import ResultsError, unknown
from headscope.files import atomic_write, check_writable
from headscope.results.latex import to_latex

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

ENDINGS = {".csv": "csv", ".parquet": "parquet", ".tex": "latex"}
CACHE = ("duoattention", "headkv")
"""Formats of tools that compress the cache, which get one value of every head."""
FORMATS = (*ENDINGS.values(), "headvis", *CACHE)
"""What :meth:`headscope.Atlas.export` can write: tables, and files for other tools."""


def export(results: Atlas, path: Path, *, measure: str | None = None, format: str = "") -> Path:
    """Write the long table of one measure, or of all.

    Parameters
    ----------
    results
        The results.
    path
        The file to write.
    measure
        Only this measure.
    format
        csv, parquet or latex. Default: as the file's ending says.
    """
    kind = format or ENDINGS.get(path.suffix, "")
    if format and format not in ENDINGS.values():
        raise unknown("format", format, FORMATS, error=ResultsError)
    if kind not in ENDINGS.values():
        raise ResultsError(
            f"a table is written as .csv, .parquet or .tex; got {path.suffix!r} instead",
            hint="choose a file name such as table.csv or table.tex",
            command="give -o table.csv, -o table.parquet or -o table.tex",
        )
    check_writable(path, error=ResultsError)
    table = results.table(measure)
    with atomic_write(path, error=ResultsError) as temporary:
        if kind == "csv":
            table.to_csv(temporary, index=False)
        elif kind == "parquet":
            table.to_parquet(temporary, index=False)
        else:
            temporary.write_text(to_latex(table), encoding="utf-8")
    return path
