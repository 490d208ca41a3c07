"""Vega charts in pages with a content-security policy: no eval, only this very script and style.

Vega compiles expressions of a chart with ``new Function``, which a strict policy forbids. With
``ast`` it hands them to its own interpreter instead, which comes with Vega-Embed.
"""

from __future__ import annotations

import base64
import hashlib

OPTIONS = (
    '{ renderer: "svg", ast: true, defaultStyle: false, forceActionsMenu: true, '
    "tooltip: { disableDefaultStyle: true }, "
    "actions: { export: true, source: false, compiled: false, editor: false } }"
)
"""What pages hand to vegaEmbed. Its styles are :data:`STYLE`: those that it adds by itself would be
refused."""
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
"""The menu and the tooltips of charts."""


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
    found = [f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests]
    return " ".join(found) or "'none'"
