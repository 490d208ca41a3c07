"""Results as plain HTML for notebooks: no script, nothing loaded, every text escaped."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from headscope.measures.roles import FAMILIES
from headscope.stats.words.summary import model_summary

if TYPE_CHECKING:
    from headscope.results import Atlas

CELL, GAP, EDGE = 24, 2, 28
"""Pixels of a cell, between cells, and of the margin with the numbers."""
INK = "#17181A"
MOST = 1600
"""Heads of the largest grid that is drawn as SVG."""
TINTS = ((0.5, 1.0), (0.25, 0.7), (0.0, 0.42))
"""How strong the colour is, by how far the share is above chance."""


def atlas_html(atlas: Atlas) -> str:
    """The summary of some results, with a small grid of main roles.

    Parameters
    ----------
    atlas
        Any results.

    Returns
    -------
    str
        HTML. The grid is missing where the results have no main roles.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks."], measures="position")
    >>> "<li>Head 1-3" in atlas_html(atlas), "<svg" in atlas_html(atlas)
    (True, False)
    """
    lines = "".join(
        f"<li>{_swatch(line.family)}{escape(line.text)}</li>" for line in model_summary(atlas)
    )
    drawn = atlas.analysis.main is not None and math.prod(atlas.shape) <= MOST
    return (
        '<div style="font:13px/20px sans-serif"><p style="margin:0 0 8px">'
        f"<b>{escape(repr(atlas))}</b></p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:24px">{roles_svg(atlas) if drawn else ""}'
        '<ul style="margin:0;padding:0;list-style:none;flex:1 1 360px">'
        f"{lines}</ul></div></div>"
    )


def _swatch(family: str) -> str:
    """A small square in the colour of a family."""
    if family not in FAMILIES:
        return ""
    colour, symbol = FAMILIES[family].colours[0], FAMILIES[family].glyph
    return (
        '<span style="display:inline-block;width:14px;height:14px;line-height:14px;'
        "margin-right:6px;text-align:center;font-size:10px;border:1px solid #ddd;"
        f'background:{colour};color:{_ink(family)}">{symbol or "&nbsp;"}</span>'
    )


def roles_svg(atlas: Atlas) -> str:
    """A grid of heads in the colours of their main roles, layers upward.

    Parameters
    ----------
    atlas
        Results with main roles.

    Returns
    -------
    str
        An ``<svg>`` element; the name and the role of a head appear under the pointer.
    """
    roles = atlas.analysis.roles
    layers, heads = atlas.shape
    step = CELL + GAP
    width, height = EDGE + heads * step, layers * step + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" role="img" '
        'aria-label="Main role of every head, layers upward">'
    ]
    rows = zip(roles.index, roles["family"], roles["excess"], strict=True)
    for place, (name, family, excess) in enumerate(rows):
        x, y = EDGE + place % heads * step, (layers - 1 - place // heads) * step
        parts.append(_cell(x, y, str(name), str(family), float(excess)))
    quiet = 'fill="currentColor" fill-opacity="0.65" text-anchor="middle"'
    for row, number in enumerate(atlas.layers):
        y = (layers - 1 - row) * step + CELL // 2 + 4
        parts.append(f'<text x="{EDGE // 2}" y="{y}" {quiet}>{number}</text>')
    for head in range(heads):
        x = EDGE + head * step + CELL // 2
        parts.append(f'<text x="{x}" y="{layers * step + 14}" {quiet}>{head + 1}</text>')
    return "".join([*parts, "</svg>"])


def _cell(x: int, y: int, name: str, family: str, excess: float) -> str:
    known = FAMILIES.get(family, FAMILIES["no clear role"])
    colour, symbol = known.colours[0], known.glyph
    strength = next((share for least, share in TINTS if excess >= least), TINTS[-1][1])
    opacity = strength if symbol else 1.0
    ink = _ink(family) if strength == 1.0 else INK
    return (
        f"<g><title>{escape(name)}: {escape(family)}</title>"
        f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#fff" stroke="#ddd"/>'
        f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{colour}" '
        f'fill-opacity="{opacity}"/>'
        f'<text x="{x + CELL // 2}" y="{y + CELL // 2 + 4}" text-anchor="middle" '
        f'fill="{ink}">{symbol}</text></g>'
    )


def _ink(family: str) -> str:
    """A colour that reads well on the full colour of a family."""
    return "#fff" if family in FAMILIES and FAMILIES[family].dark else INK
