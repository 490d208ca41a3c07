"""Figures for print: exactly as wide as a column of text, in a font that is installed.

A chart's axes, legends and titles take room of their own, so a plot of the asked width would be a
wider figure. The plots are made narrower first, down to what their labels allow, and then the whole
picture is scaled the rest of the way.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from headscope.errors import UserError

POINTS = {"in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "pt": 1.0, "": 1.0}
# Labels of 11 pixels become 8 points in print, as in a paper's captions.
PRINT = 0.75
# Plots shrink to this share of their width at most, those with words in them less.
LEAST, LEAST_WITH_WORDS = 0.35, 0.62
PARTS = ("layer", "concat", "hconcat", "vconcat")
# Asked for where fontconfig cannot list what is installed.
COMMON = (
    *("Arial", "Helvetica", "Times New Roman", "Times", "Georgia", "Verdana", "Calibri", "Cambria"),
    *("DejaVu Sans", "DejaVu Serif", "Liberation Sans", "Liberation Serif", "Noto Sans"),
)


def length(text: str | float, name: str = "width") -> float:
    """Read a length; return it in points.

    Parameters
    ----------
    text : str or float
        A number with in, cm, mm or pt; without a unit, points.
    name : str
        What it is the length of, for the error.

    Examples
    --------
    >>> length("3.3in"), length(150)
    (237.6, 150.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(in|cm|mm|pt|)", str(text).strip())
    points = round(float(match[1]) * POINTS[match[2]], 3) if match else 0.0
    if not 36 <= points <= 7200:
        raise UserError(
            f"the {name} must be a length from 0.5in to 100in, got {str(text)!r} instead",
            hint="write a number with in, cm, mm or pt, such as 3.3in",
        )
    return points


def check_font(font: str) -> None:
    """Refuse a font that is not installed: a picture would have no text."""
    if not _drawn(font):
        raise UserError(
            f"the font {font!r} is not installed",
            hint=f"choose an installed one: {', '.join(installed_fonts()[:12])}",
        )


def installed_fonts() -> list[str]:
    """The font families that can be drawn, in alphabetical order."""
    command = shutil.which("fc-list")
    listed = ""
    if command is not None:
        line = [command, ":", "family"]
        listed = subprocess.run(line, capture_output=True, text=True, check=False).stdout
    names = {name.split(",")[0].strip() for name in listed.splitlines()} or set(COMMON)
    return [name for name in sorted(names) if name and _drawn(name)]


@cache
def _drawn(font: str) -> bool:
    """Whether a word in this font appears: a PDF embeds the letters it shows."""
    import vl_convert

    word = f'<text x="5" y="20" font-family="{escape(font)}">Head</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="99" height="30">{word}</svg>'
    return has_letters(vl_convert.svg_to_pdf(svg))


def has_letters(pdf: bytes) -> bool:
    """Whether a PDF file embeds any font."""
    return b"/FontFile" in pdf


def fixed(chart: Any) -> Any:
    """Mark a chart whose parts stand in places worked out beforehand: it is only scaled whole."""
    chart.usermeta = {"layout": "fixed"}
    return chart


def fitted(spec: dict[str, Any], width: float | None, height: float | None) -> str:
    """Draw a chart as SVG with exactly this width or height or both, in points.

    Parameters
    ----------
    spec : dict
        A Vega-Lite specification with pixels as widths and heights.
    width, height : float, optional
        What to fit. With both, what is left over stays white.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    import vl_convert

    def draw(across: float, down: float) -> tuple[str, float, float]:
        svg = str(vl_convert.vegalite_to_svg(resized(spec, across, down)))
        return (svg, *_size(svg))

    svg, wide, high = draw(1.0, 1.0)
    wanted = [None if points is None else points / PRINT for points in (width, height)]
    if spec.get("usermeta", {}).get("layout") != "fixed":
        if wanted[0] is not None:
            spec = _wrapped(spec, wanted[0])
            svg, wide, high = draw(1.0, 1.0)
        least = LEAST_WITH_WORDS if _has_words(spec) else LEAST
        factors, sizes = [1.0, 1.0], [wide, high]
        for _ in range(3):  # sizes are nearly linear in the factors
            before, was = list(factors), list(sizes)
            for axis, want in enumerate(wanted):
                if want is not None:
                    plot = max(sizes[axis] - _overhead(spec, sizes, factors, axis), 1.0)
                    grown = factors[axis] * (1 + (want - sizes[axis]) / plot)
                    factors[axis] = min(4.0, max(least, grown))
            if wanted[1] is None:
                factors[1] = min(1.5, max(0.6, factors[0]))
            elif wanted[0] is None:
                factors[0] = min(1.5, max(least, factors[1]))
            if factors == before and sizes == was:
                break
            svg, *sizes = draw(*factors)
        wide, high = sizes
    scale = min(
        points / size for points, size in ((width, wide), (height, high)) if points is not None
    )
    return _framed(svg, width or wide * scale, height or high * scale, scale)


def _overhead(
    spec: Mapping[str, Any], sizes: list[float], factors: list[float], axis: int
) -> float:
    """What axes, legends and titles take of a drawing's width (axis 0) or height (1)."""
    return max(0.0, sizes[axis] - _plots(spec, axis) * factors[axis])


def _plots(part: Mapping[str, Any], axis: int) -> float:
    """The widths of a chart's plots beside each other, or their heights above each other."""
    key, along = ("width", "hconcat") if axis == 0 else ("height", "vconcat")
    own = part.get(key)
    if isinstance(own, int | float):
        return float(own)
    if "concat" in part:
        sizes = [_plots(inner, axis) for inner in part["concat"]]
        columns = int(part.get("columns", len(sizes)))
        if axis == 0:
            return max(sum(sizes[row : row + columns]) for row in range(0, len(sizes), columns))
        return sum(max(sizes[row : row + columns]) for row in range(0, len(sizes), columns))
    if along in part:
        return sum(_plots(inner, axis) for inner in part[along])
    return max((_plots(inner, axis) for key in PARTS for inner in part.get(key, ())), default=0.0)


def resized(
    part: Mapping[str, Any], across: float, down: float, width: float = 0.0
) -> dict[str, Any]:
    """Make the plots of a specification wider and higher by these factors.

    Marks that stand at a pixel keep their distance from the right edge, or move along.
    """
    part = dict(part)
    width = part.get("width", width) if isinstance(part.get("width", width), int | float) else width
    for key, factor in (("width", across), ("height", down)):
        if isinstance(part.get(key), int | float):
            part[key] = round(max(12.0, part[key] * factor), 2)
    if "encoding" in part:
        part["encoding"] = encoding = dict(part["encoding"])
        for name in ("x", "x2"):
            pixel = encoding.get(name, {}).get("value")
            if isinstance(pixel, int | float):
                moved = pixel + width * (across - 1) if pixel >= width else pixel * across
                encoding[name] = {"value": moved}
        legend = (encoding.get("color") or {}).get("legend") or {}
        if "gradientLength" in legend:
            shorter = max(40.0, legend["gradientLength"] * min(1.0, down))
            legend = {**legend, "gradientLength": shorter}
            encoding["color"] = {**encoding["color"], "legend": legend}
    for key in PARTS:
        if key in part:
            part[key] = [resized(inner, across, down, width) for inner in part[key]]
    return part


def _has_words(part: Mapping[str, Any]) -> bool:
    """Whether words or numbers stand in squares or bars, which must stay wide enough for them."""
    mark = part.get("mark")
    kind = mark.get("type") if isinstance(mark, dict) else mark
    within = kind == "text" and part["encoding"].get("x", {}).get("type") in ("ordinal", "nominal")
    return within or any(_has_words(inner) for key in PARTS for inner in part.get(key, ()))


def _wrapped(spec: Mapping[str, Any], width: float) -> dict[str, Any]:
    """Break title and subtitle into lines that are no wider than the figure."""
    title = spec.get("title")
    if not isinstance(title, dict):
        return dict(spec)
    lines: dict[str, list[str]] = {}
    for key, size in (("text", title.get("fontSize", 14)), ("subtitle", 11)):
        words = title.get(key, [])
        for line in [words] if isinstance(words, str) else words:
            letters = max(12, int(width / (0.55 * size)))
            lines.setdefault(key, []).extend(textwrap.wrap(line, letters))
    return {**spec, "title": {**title, **lines, "limit": width}}


def _size(svg: str) -> tuple[float, float]:
    """The width and height of a drawing."""
    sizes = dict(re.findall(r' (width|height)="([\d.]+)"', svg[: svg.index(">")]))
    return float(sizes["width"]), float(sizes["height"])


def _framed(svg: str, width: float, height: float, scale: float) -> str:
    """Put a drawing into a page of this size, scaled, in the middle."""
    wide, high = width / scale, height / scale
    left, top = (_size(svg)[0] - wide) / 2, (_size(svg)[1] - high) / 2
    opening = re.match(r"<svg[^>]*>", svg)
    tag = opening[0] if opening else ""
    new = re.sub(r' (width|height|viewBox)="[^"]*"', "", tag)[:-1]
    box = f"{left:.4g} {top:.4g} {wide:.6g} {high:.6g}"
    return f'{new} width="{width:.6g}" height="{height:.6g}" viewBox="{box}">{svg[len(tag) :]}'
