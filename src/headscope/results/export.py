"""Results as flat tables: CSV and Parquet."""

from __future__ import annotations

from pathlib import Path

from headscope.errors import ResultsError
from headscope.files import atomic_write, check_writable
from headscope.results.tree import Results

FORMATS = (".csv", ".parquet")


def export(results: Results, path: Path, *, measure: str | None = None) -> Path:
    """Write the long table of one measure, or of all, in the format of the file's ending."""
    if path.suffix not in FORMATS:
        raise ResultsError(
            f"the export's ending must be one of {', '.join(FORMATS)}; got {path.suffix!r} instead",
            hint="give -o table.csv or -o table.parquet",
        )
    check_writable(path, error=ResultsError)
    table = results.table(measure)
    with atomic_write(path, error=ResultsError) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
    return path
