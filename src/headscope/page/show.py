"""Showing results at once: in a notebook, or in the browser."""

from __future__ import annotations

import tempfile
import webbrowser
from html import escape
from pathlib import Path

from headscope.errors import UserError, wrong_type
from headscope.page.inline import atlas_html
from headscope.page.notebook import HEIGHT, widgets_work
from headscope.page.report import write_report
from headscope.progress import in_notebook
from headscope.results import Atlas


def show(
    atlas: Atlas | str | Path,
    *,
    view: str = "atlas",
    height: int = HEIGHT,
    path: str | Path | None = None,
    browser: bool = True,
) -> Path | None:
    """Show results: below the cell of a notebook, elsewhere in the browser.

    In a notebook this is the widget, with the same views as the report. Without the extra
    ``notebook`` (anywidget) the report appears in a frame.

    Parameters
    ----------
    atlas
        Results, or the path of a results file.
    view
        The view to begin with: "atlas", "finder", "head/3-9", "papers".
    height
        Pixels in a notebook; the rest scrolls.
    path
        Also write the report to this file.
    browser
        False only writes the report.

    Returns
    -------
    Path or None
        The report; None in a notebook, unless ``path`` was given.

    See Also
    --------
    headscope.Atlas.report : only writes the report.

    Examples
    --------
    >>> import tempfile
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="position")
    >>> hs.show(atlas, path=tempfile.mkdtemp() + "/demo.html", browser=False).name
    'demo.html'
    """
    if not isinstance(atlas, Atlas | str | Path):
        raise wrong_type("atlas", atlas, "an Atlas or the path of a results file")
    if height < 1:
        raise UserError(f"height must be 1 or more, got {height} instead")
    results = atlas if isinstance(atlas, Atlas) else Atlas.open(atlas)
    written = None if path is None else write_report(results, Path(path))
    if browser and in_notebook():
        _display(results, view, height)
        return written
    page = written or write_report(results, _temporary())
    if browser:
        webbrowser.open(f"{page.resolve().as_uri()}#/{view}")
    return page


def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="headscope-")) / "report.html"


def _display(results: Atlas, view: str, height: int) -> None:
    """Show the widget; without anywidget, the report in a frame of its own."""
    from IPython.display import display

    if widgets_work():
        kind, _, name = view.partition("?")[0].partition("/")
        still = results.head(name)._repr_html_() if kind == "head" else atlas_html(results)
        data, _ = results._views.bundle(view, html=still, text=repr(results), height=height)
        display(data, raw=True)  # type: ignore[no-untyped-call]
        return
    source = escape(write_report(results, _temporary()).read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe srcdoc="{source}" width="100%" height="{height}" frameborder="0"></iframe>'
    display({"text/html": frame}, raw=True)  # type: ignore[no-untyped-call]
