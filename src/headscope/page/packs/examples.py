"""Examples of every head for the page (to be replaced)."""

from __future__ import annotations

from headscope.results import Atlas


def example_packs(atlas: Atlas, *, most: int | None = 10) -> dict[str, bytes]:
    """The packs "texts" and "head/3-9" of every head."""
    return {}
