"""What the page shows by paper: tables and charts, from the results alone."""

from __future__ import annotations

from typing import Any

from headscope.results import Atlas


def paper_sections(atlas: Atlas, statistics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The papers whose measures these results have, each with its tables and charts."""
    return []
