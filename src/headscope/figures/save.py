"""Charts as files: PNG, SVG, PDF, or an HTML page that works without a network."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headscope.errors import UserError
from headscope.figures.png import compress_png
from headscope.files import atomic_write, cache_folder, check_writable

FORMATS = ("png", "svg", "pdf", "html")
"""The formats in which figures are saved."""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Headscope figure</title></head>
<body><div id="chart"></div>
<script type="application/json" id="spec">{spec}</script>
<script type="module">{bundle}
const spec = JSON.parse(document.getElementById("spec").textContent);
vegaEmbed("#chart", spec, {{ renderer: "svg" }});
</script></body></html>
"""


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
    path = Path(path)
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise UserError(
            f"the figure's format must be one of {', '.join(FORMATS)}; got {path.suffix!r} instead",
            hint=f"name the file e.g. {path.stem}.png",
            command="give e.g. --format png",
        )
    check_writable(path)
    with atomic_write(path) as temporary:
        if kind == "html":
            # Altair's own page would let a token that reads </script> end the script.
            text = _PAGE.format(spec=script_json(chart.to_dict()), bundle=vega_bundle())
            temporary.write_text(text, encoding="utf-8")
        else:
            options = {"scale_factor": scale} if kind == "png" else {}
            chart.save(str(temporary), format=kind, **options)
            if kind == "png":
                temporary.write_bytes(compress_png(temporary.read_bytes()))
    return path


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
    if kept is not None:
        with suppress(OSError, UnicodeDecodeError):
            return Markup(kept.read_text(encoding="utf-8"))
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    safe = bundle.replace("</script", "<\\/script")
    if kept is not None:
        with suppress(UserError, OSError), atomic_write(kept) as temporary:
            temporary.write_text(safe, encoding="utf-8")
    return Markup(safe)
