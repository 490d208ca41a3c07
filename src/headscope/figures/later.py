"""Altair, loaded when the first chart is drawn: figures can be listed without it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair as alt
else:
    import lazy_loader

    alt = lazy_loader.load("altair")

__all__ = ["alt"]
