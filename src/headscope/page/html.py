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

from headscope.page.packs.pack import to_text


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
    said = f'\n<meta name="{ABOUT}" content="{escape(json.dumps(about))}">' if about else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">{said}
<meta http-equiv="content-security-policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(str(boot.get("title", "Headscope")))}</title>
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


def about_page(path: Path) -> dict[str, str]:
    """What a file says that it is about, if it is a page of Headscope; nothing for other files."""
    try:
        with path.open("rb") as file:
            top = file.read(TOP).decode("utf-8", "replace")
    except OSError:
        return {}
    found = re.search(rf'<meta name="{ABOUT}" content="([^"]*)">', top)
    try:
        said = json.loads(unescape(found[1])) if found else {}
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in said.items()} if isinstance(said, dict) else {}


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
    return _inert(bundle("page.js")), bundle("page.css").replace("</", "<\\/")


def _inert(script: str) -> str:
    """A script in which no text can end its element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
