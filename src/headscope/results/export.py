"""Results as flat tables: CSV and Parquet."""

from __future__ import annotations

from pathlib import Path

from headscope.errors import ResultsError
from headscope.results.files import check_writable
from headscope.results.tree import Results

FORMATS = (".csv", ".parquet")


def export(results: Results, path: Path, *, measure: str | None = None) -> Path:
    """Write the long table of one measure, or of all, in the format of the file's ending."""
    if path.suffix not in FORMATS:
        raise ResultsError(
            f"the export's ending must be one of {', '.join(FORMATS)}; got {path.suffix!r} instead",
            hint="give -o table.csv or -o table.parquet",
        )
    check_writable(path)
    table = results.table(measure)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
        temporary.replace(path)
    except OSError as error:
        raise ResultsError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="is the disk full? Give another place with -o",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
    return path
