"""Figures of the gallery as SVG, for a page that draws most charts itself."""

from __future__ import annotations

from typing import Any

from headscope.figures.gallery import FIGURES, gallery
from headscope.page.schema import Figure
from headscope.results import Atlas

DRAWN_BY_PAGE = frozenset(
    {
        "activity", "alignment", "change", "coreference", "dependency", "distance", "entropy",
        "feature", "frame", "gradient", "head_off", "importance", "link", "pattern", "peak",
        "position", "probe", "role", "special", "spread", "work",
    }
)  # fmt: skip
"""Measures whose numbers the page shows in charts or tables of its own."""


def drawn_figures(atlas: Atlas, *, everything: bool) -> list[Figure]:
    """The figures that can be drawn from some results.

    Parameters
    ----------
    atlas
        The results.
    everything
        All figures; otherwise only those that the page cannot draw itself: a user's own, and those
        of measures that have no value for every head, such as a pruning curve.
    """
    own = {entry.name for entry in FIGURES.entries() if entry.own}
    chosen = [
        item
        for item in gallery(atlas)
        if everything or item.name in own or not set(item.needs) <= DRAWN_BY_PAGE
    ]
    return [
        {
            "name": item.name,
            "title": item.title,
            "caption": item.caption,
            "svg": _svg(item.draw(atlas)),
        }
        for item in chosen
    ]


def _svg(chart: Any) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(chart.to_dict()))
