"""A run and its output file: what is there already is not computed again, and a stopped run's state goes when the results are saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headscope.errors import ResultsError
from headscope.files import check_writable
from headscope.results import Results


def finished(path: Path, identity: str) -> Results | None:
    """The results of this very run, if they are there already."""
    try:
        found = Results.open(path) if path.exists() else None
    except ResultsError:
        return None
    return found if found is not None and found.provenance.get("identity") == identity else None


def run_to(
    path: Path | None, state: Path | None, identity: Callable[[], str], run: Callable[[], Results]
) -> Results:
    """Run, and save to ``path``; nothing is computed if that file already holds this very run. Without a path the results are only returned."""
    if path is None:
        return run()
    check_writable(path)
    if (found := finished(path, identity())) is not None:
        return found
    results = run()
    results.save(path)
    if state is not None:
        state.unlink(missing_ok=True)
    return results
