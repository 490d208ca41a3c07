"""The page as one HTML file: script, style and data inside, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape, unescape
from importlib import resources
from pathlib import Path
from typing import Any

from headscope.measures.roles import FAMILIES
from headscope.page.packs.pack import to_text, unpack


@cache
def bundle(name: str) -> str:
    """A file of the built front end: page.js, page.css or widget.js."""
    return resources.files("headscope.page").joinpath("static", name).read_text(encoding="utf-8")


ABOUT = "headscope"
"""The name of the element that says, at the top of a page, what it is about."""
TOP = 2048
"""Bytes of a file in which it stands."""


def page_html(
    boot: Mapping[str, Any],
    packs: Mapping[str, bytes],
    *,
    connect: str = "'none'",
    about: Mapping[str, str] | None = None,
    says: str = "",
    picture: str = "",
) -> str:
    """The whole page.

    Parameters
    ----------
    boot
        What the page reads first; ``Boot`` in ``web/src/data/types.ts``.
    packs
        Data inside the page, by name.
    connect
        Where the page may load more data from, as a content-security policy says it.
    about
        What :func:`about_page` reads of the file: its title, and the digest of the weights.
    says
        What the page says, in a sentence or two, for whoever previews a link to it.
    picture
        The address of a picture of 1200 × 630 for the same.

    Returns
    -------
    str
        HTML. Its policy allows only this very script and style.
    """
    script, style = _script_and_style()
    policy = page_policy(connect=connect)
    data = "\n".join(
        f'<script type="text/plain" data-pack="{escape(name)}">{to_text(one)}</script>'
        for name, one in packs.items()
    )
    start = json.dumps(dict(boot), ensure_ascii=False).replace("<", "\\u003c")
    title = str(boot.get("title", "Headscope"))
    said = f'\n<meta name="{ABOUT}" content="{escape(json.dumps(about))}">' if about else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">{said}
<meta http-equiv="content-security-policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<link rel="icon" href="{ICON}">
{_preview(title, says, picture)}
<style>{style}</style>
</head>
<body class="hs-page">
<div class="headscope" id="headscope">
<noscript>This page needs JavaScript, which is inside the page; nothing is loaded.</noscript>
</div>
<script type="application/json" id="headscope-boot">{start}</script>
{data}
<script>{script}</script>
</body>
</html>
"""


def _preview(title: str, says: str, picture: str) -> str:
    """What sites and chats show of a link to the page (the Open Graph protocol)."""
    named = {
        "og:type": "website",
        "og:site_name": "Headscope",
        "og:title": title,
        "og:description": says,
        "og:image": picture,
        "twitter:card": "summary_large_image" if picture else "summary",
    }
    lines = [
        f'<meta property="{name}" content="{escape(value)}">'
        for name, value in named.items()
        if value
    ]
    if says:
        lines.insert(0, f'<meta name="description" content="{escape(says)}">')
    return "\n".join(lines)


def _icon() -> str:
    """A grid of nine heads, as an address that holds the whole picture."""
    colours = [family.colours[0] for family in FAMILIES.values() if family.glyph][:9]
    cells = "".join(
        f'<rect x="{at % 3 * 11}" y="{at // 3 * 11}" width="10" height="10" fill="{colour}"/>'
        for at, colour in enumerate(colours)
    )
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">{cells}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode('ascii')}"


ICON = _icon()


def about_page(path: Path) -> dict[str, str]:
    """What a file says that it is about, if it is a page of Headscope; nothing for other files."""
    try:
        with path.open("rb") as file:
            top = file.read(TOP).decode("utf-8", "replace")
    except OSError:
        return {}
    match = re.search(rf'<meta name="{ABOUT}" content="([^"]*)">', top)
    try:
        said = json.loads(unescape(match[1])) if match else {}
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in said.items()} if isinstance(said, dict) else {}


def pack_of(path: Path, name: str) -> dict[str, Any]:
    """The document of a pack inside a page.

    Raises
    ------
    OSError, ValueError, KeyError
        If the file cannot be read, or is not a page that has it.
    """
    text = path.read_text(encoding="utf-8")
    match = re.search(rf'data-pack="{re.escape(name)}">([A-Za-z0-9+/=]*)<', text)
    if match is None:
        raise KeyError(name)
    document, _ = unpack(base64.b64decode(match[1]))
    return document


def page_policy(*, connect: str = "'none'") -> str:
    """The content-security policy of the page: only its own script and style.

    Parameters
    ----------
    connect
        Where the page may load more data from.
    """
    script, style = _script_and_style()
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def _script_and_style() -> tuple[str, str]:
    """The script and the style sheet as they stand in the page."""
    # No text in the script can end its element.
    script = bundle("page.js").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return script, bundle("page.css").replace("</", "<\\/")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
