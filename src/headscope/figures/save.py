"""Charts as files: PNG, SVG, PDF, or an HTML page that works without a network.

Pages with charts have a content-security policy: only this very script and style, and no eval. Vega
compiles expressions of a chart with ``new Function``, which the policy forbids. With ``ast`` it
hands them to its own interpreter instead, which comes with Vega-Embed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.figures.sizes import (
    PRINT,
    check_font,
    fitted,
    has_letters,
    installed_fonts,
    length,
    resized,
)
from headscope.files import atomic_write, cache_folder, check_writable, digest_of

FORMATS = ("png", "svg", "pdf", "html")
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
# Begins the first line of the script in the cache, which has the digest of the rest.
_SEAL = "// sha256:"


def save_chart(
    chart: Any,
    path: str | Path,
    *,
    scale: float = 2.0,
    width: str | float | None = None,
    height: str | float | None = None,
    font: str = "",
    title: bool = True,
) -> Path:
    """Write a chart in the format of the file's ending; no browser is needed.

    Parameters
    ----------
    chart : altair chart
        Any chart.
    path : path
        The file, ending in ``.png``, ``.svg``, ``.pdf`` or ``.html``. Folders on the way are made.
    scale : float
        Pixels of a PNG per pixel of the chart. With a width or height, a PNG has 300 dots per inch.
    width, height : str or float, optional
        The size of the whole figure, such as ``"3.3in"``, ``"84mm"`` or ``240`` (points). Without
        them, the chart has its own size. In a page (``.html``), only the plots are resized.
    font : str, optional
        The font of all words; it must be installed.
    title : bool
        Whether the title and the lines below it are drawn. A paper has them in its caption.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UserError
        If the ending is another, the size is not a length, the font is not installed, or the file
        cannot be written.

    Examples
    --------
    >>> chart = find_figure("entropy").draw(results)  # doctest: +SKIP
    >>> save_chart(chart, "entropy.pdf", width="3.3in", title=False)  # doctest: +SKIP
    """
    if width is None and height is None and not font and title:
        return save_in_formats(chart, [Path(path)], scale=scale)[0]
    path = Path(path)
    across = None if width is None else length(width)
    down = None if height is None else length(height, "height")
    if font:
        check_font(font)
    _check_formats([path])
    spec = chart.to_dict()
    if not title:
        spec.pop("title", None)
    if font:
        spec["config"] = {**spec.get("config", {}), "font": font}
    if path.suffix == ".html":
        factor = (across or 0) / PRINT / max(1.0, spec.get("width", 0)) or 1.0
        written = _html(resized(spec, factor, 1.0)).encode("utf-8")
    elif across is None and down is None:
        import vl_convert

        written = _converted(vl_convert.vegalite_to_svg(spec), path.suffix, scale)
    else:
        written = _converted(fitted(spec, across, down), path.suffix, 300 / 72)
    with atomic_write(path) as temporary:
        temporary.write_bytes(written)
    return path


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
    _check_formats(paths)
    drawn = "" if all(path.suffix == ".html" for path in paths) else chart_svg(chart)
    for path in paths:
        with atomic_write(path) as temporary:
            if path.suffix == ".html":
                temporary.write_text(_html(chart.to_dict()), encoding="utf-8")
            else:
                temporary.write_bytes(_converted(drawn, path.suffix, scale))
    return list(paths)


def _check_formats(paths: Sequence[Path]) -> None:
    """Refuse endings that cannot be written, and files that cannot be."""
    for path in paths:
        if path.suffix.removeprefix(".") not in FORMATS:
            raise UserError(
                f"the figure's format must be one of {', '.join(FORMATS)}; "
                f"got {path.suffix!r} instead",
                hint=f"name the file e.g. {path.stem}.png",
                command="give e.g. --format png",
            )
        check_writable(path)


def chart_svg(chart: Any) -> str:
    """Draw a chart as SVG, in this process.

    Parameters
    ----------
    chart : altair chart
        Any chart.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    import vl_convert

    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def _converted(svg: str, ending: str, scale: float) -> bytes:
    """A drawn chart as the bytes of a file."""
    import vl_convert

    if ending == ".png":
        return compress_png(vl_convert.svg_to_png(svg, scale=scale))
    if ending == ".pdf":
        pdf = bytes(vl_convert.svg_to_pdf(svg))
        if "<text" in svg and not has_letters(pdf):
            raise UserError(
                "the figure's words cannot be drawn: none of its fonts is installed",
                hint=f"choose an installed font: {', '.join(installed_fonts()[:12]) or 'none is'}",
            )
        return pdf
    return svg.encode("utf-8")


def _html(spec: dict[str, Any]) -> str:
    """A page with a chart, which loads nothing and runs only its own script."""
    script = f"{vega_bundle()}{_DRAW % OPTIONS}"
    policy = content_policy(scripts=(script,), styles=(STYLE,))
    # Altair's own page would let a token that reads </script> end the script.
    return _PAGE.format(policy=policy, style=STYLE, spec=script_json(spec), script=script)


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
    script = _kept_bundle(kept) if kept is not None else None
    if script is not None:
        return Markup(script)
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


# --- Charts in pages ------------------------------------------------------------------------------

# What pages hand to vegaEmbed.
OPTIONS = (
    '{ renderer: "svg", ast: true, defaultStyle: false, forceActionsMenu: true, '
    "tooltip: { disableDefaultStyle: true }, "
    "actions: { export: true, source: false, compiled: false, editor: false } }"
)
# The menu and the tooltips of charts: the styles that vegaEmbed adds by itself would be refused.
STYLE = """
  .vega-embed { position: relative; display: inline-block; }
  .vega-embed details:not([open]) > :not(summary) { display: none !important; }
  .vega-embed summary { list-style: none; position: absolute; top: 0; right: 0; z-index: 3; padding: 6px; line-height: 0; color: #1b1e23; background: #fff; border: 1px solid #aaa; border-radius: 999px; opacity: 0.2; cursor: pointer; }
  .vega-embed summary::-webkit-details-marker { display: none; }
  .vega-embed summary svg { width: 14px; height: 14px; }
  .vega-embed:hover summary, .vega-embed:focus-within summary { opacity: 1; }
  .vega-embed .vega-actions { position: absolute; z-index: 4; top: 34px; right: 0; display: flex; flex-direction: column; padding: 8px 0; background: #fff; border: 1px solid #d9d9d9; border-radius: 4px; text-align: left; }
  .vega-embed .vega-actions a { padding: 8px 16px; font-size: 13px; white-space: nowrap; color: #434a56; text-decoration: none; }
  .vega-embed .vega-actions a:hover, .vega-embed .vega-actions a:focus { background: #f7f7f9; color: #000; }
  #vg-tooltip-element { visibility: hidden; position: fixed; z-index: 5; padding: 8px; font: 11px sans-serif; color: #000; background: rgba(255, 255, 255, 0.95); border: 1px solid #d9d9d9; border-radius: 3px; }
  #vg-tooltip-element.visible { visibility: visible; }
  #vg-tooltip-element table { border-spacing: 0; width: auto; }
  #vg-tooltip-element td { border: none; padding: 2px 0; overflow: hidden; text-overflow: ellipsis; }
  #vg-tooltip-element td.key { color: #707070; max-width: 150px; text-align: right; padding-right: 4px; }
  #vg-tooltip-element td.value { display: block; max-width: 300px; max-height: 7em; text-align: left; }
"""  # noqa: E501


def content_policy(*, scripts: tuple[str, ...], styles: tuple[str, ...]) -> str:
    """A content-security policy that allows only these scripts and styles, and loads nothing.

    Parameters
    ----------
    scripts, styles
        What stands between the tags, to the letter.

    Examples
    --------
    >>> policy = content_policy(scripts=("alert(1)",), styles=())
    >>> policy.split("; ")[:2]
    ["default-src 'none'", "script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"]
    """
    return (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: tuple[str, ...]) -> str:
    digests = (hashlib.sha256(text.encode("utf-8")).digest() for text in texts)
    hashes = [f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests]
    return " ".join(hashes) or "'none'"


# --- PNG files: smaller ones of the same pixels, and pictures in shades of grey -------------------

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LEVEL = 7  # how hard zlib tries: 9 takes six times as long, for files that are 1 % smaller


def grey_png(grey: NDArray[np.uint8]) -> bytes:
    """Encode a picture in shades of grey, (height, width), as a PNG file.

    Examples
    --------
    >>> grey_png(np.zeros((2, 3), np.uint8))[:8] == SIGNATURE
    True
    """
    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return _file([(b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")])


def compress_png(file: bytes) -> bytes:
    """Compress a PNG file well; every pixel stays the same.

    Parameters
    ----------
    file : bytes
        A PNG file. Charts are written with fast compression: theirs become about a third as large.

    Returns
    -------
    bytes
        A PNG file, never larger than the given one.

    Examples
    --------
    >>> loose = grey_png(np.zeros((9, 9), np.uint8))
    >>> len(compress_png(loose)) <= len(loose)
    True
    """
    chunks = list(_chunks(file))
    pixels = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    *others, end = [chunk for chunk in chunks if chunk[0] != b"IDAT"]
    smaller = _file([*others, (b"IDAT", zlib.compress(pixels, LEVEL)), end])
    return min(file, smaller, key=len)


def _chunks(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Read the chunks of a file: kind and body."""
    at = len(SIGNATURE)
    while at < len(file):
        (length,) = struct.unpack(">I", file[at : at + 4])
        yield file[at + 4 : at + 8], file[at + 8 : at + 8 + length]
        at += 12 + length


def _file(chunks: list[tuple[bytes, bytes]]) -> bytes:
    """Write chunks with their lengths and checksums."""
    parts = [SIGNATURE]
    for kind, body in chunks:
        check = struct.pack(">I", zlib.crc32(kind + body))
        parts += [struct.pack(">I", len(body)), kind, body, check]
    return b"".join(parts)
