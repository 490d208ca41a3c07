"""Charts as files: PNG, SVG, PDF, or an HTML page that works without a network."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headscope.errors import UserError
from headscope.figures.embed import OPTIONS, STYLE, content_policy
from headscope.figures.png import compress_png
from headscope.files import atomic_write, cache_folder, check_writable, digest_of

FORMATS = ("png", "svg", "pdf", "html")
"""The formats in which figures are saved."""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="content-security-policy" content="{policy}">
<title>Headscope figure</title><style>{style}</style></head>
<body><div id="chart"></div>
<script type="application/json" id="spec">{spec}</script>
<script type="module">{script}</script></body></html>
"""
_DRAW = """
const spec = JSON.parse(document.getElementById("spec").textContent);
vegaEmbed("#chart", spec, %s);
"""
_SEAL = "// sha256:"
"""Begins the first line of the script in the cache, which has the digest of the rest."""


def save_chart(chart: Any, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart in the format of the file's ending; no browser is needed.

    Parameters
    ----------
    chart : altair chart
        Any chart.
    path : path
        The file, ending in ``.png``, ``.svg``, ``.pdf`` or ``.html``. Folders on the way are made.
    scale : float
        Pixels of a PNG per pixel of the chart.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UserError
        If the ending is another, or the file cannot be written.
    """
    return save_in_formats(chart, [Path(path)], scale=scale)[0]


def save_in_formats(chart: Any, paths: Sequence[Path], *, scale: float = 2.0) -> list[Path]:
    """Write a chart to several files, each in the format of its ending, and draw it only once.

    Parameters
    ----------
    chart : altair chart
        Any chart.
    paths : sequence of paths
        The files, as in :func:`save_chart`.
    scale : float
        Pixels of a PNG per pixel of the chart.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    UserError
        If an ending is another, or a file cannot be written. Nothing is drawn then.
    """
    for path in paths:
        if path.suffix.removeprefix(".") not in FORMATS:
            raise UserError(
                f"the figure's format must be one of {', '.join(FORMATS)}; "
                f"got {path.suffix!r} instead",
                hint=f"name the file e.g. {path.stem}.png",
                command="give e.g. --format png",
            )
        check_writable(path)
    drawn = "" if all(path.suffix == ".html" for path in paths) else _svg(chart)
    for path in paths:
        with atomic_write(path) as temporary:
            if path.suffix == ".html":
                temporary.write_text(_html(chart), encoding="utf-8")
            else:
                temporary.write_bytes(_converted(drawn, path.suffix, scale))
    return list(paths)


def _svg(chart: Any) -> str:
    """A chart as SVG, which vl-convert makes first for every picture."""
    text = io.StringIO()
    chart.save(text, format="svg")
    return text.getvalue()


def _converted(svg: str, ending: str, scale: float) -> bytes:
    """A drawn chart as the bytes of a file."""
    import vl_convert

    if ending == ".png":
        return compress_png(vl_convert.svg_to_png(svg, scale=scale))
    if ending == ".pdf":
        return bytes(vl_convert.svg_to_pdf(svg))
    return svg.encode("utf-8")


def _html(chart: Any) -> str:
    """A page with a chart, which loads nothing and runs only its own script."""
    script = f"{vega_bundle()}{_DRAW % OPTIONS}"
    policy = content_policy(scripts=(script,), styles=(STYLE,))
    # Altair's own page would let a token that reads </script> end the script.
    return _PAGE.format(
        policy=policy, style=STYLE, spec=script_json(chart.to_dict()), script=script
    )


def script_json(value: Any) -> Markup:
    """Write JSON that is safe inside a script element, whatever text it holds.

    Parameters
    ----------
    value
        Anything that JSON can hold.

    Returns
    -------
    Markup
        The JSON, with ``<``, ``>`` and ``&`` escaped.

    Examples
    --------
    >>> print(script_json("</script><!--"))
    "\\u003c/script\\u003e\\u003c!--"
    """
    text = json.dumps(value, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@cache
def vega_bundle() -> Markup:
    """Return Vega, Vega-Lite and Vega-Embed as one script, for pages that work offline.

    Putting them together takes seconds, so the script is kept in the cache folder, one file per
    version of vl-convert.
    """
    folder = cache_folder()
    kept = folder / f"vega-{version('vl-convert-python')}.js" if folder else None
    found = _kept_bundle(kept) if kept is not None else None
    if found is not None:
        return Markup(found)
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    safe = bundle.replace("</script", "<\\/script").replace("\r\n", "\n")
    if kept is not None:
        with suppress(UserError, OSError), atomic_write(kept) as temporary:
            temporary.write_text(f"{_SEAL}{digest_of(safe)}\n{safe}", encoding="utf-8")
    return Markup(safe)


def _kept_bundle(path: Path) -> str | None:
    """The script in the cache, unless it is damaged."""
    with suppress(OSError, UnicodeDecodeError):
        first, _, script = path.read_text(encoding="utf-8").partition("\n")
        if first == _SEAL + digest_of(script):
            return script
    return None
