"""Charts to files: PNG, SVG, PDF, or an HTML page that works without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headscope.errors import UserError
from headscope.results import check_writable

FORMATS = ("png", "svg", "pdf", "html")


def save_chart(chart: Any, path: Path, *, scale: float = 2.0) -> Path:
    """Write a chart in the format of the file's ending; no browser is needed."""
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise UserError(f"the figure's ending must be one of {', '.join(FORMATS)}; got {path.suffix!r} instead", hint="give e.g. --format png")
    check_writable(path)
    options: dict[str, Any] = {"scale_factor": scale} if kind == "png" else {"inline": True} if kind == "html" else {}
    chart.save(str(path), format=kind, **options)
    return path
