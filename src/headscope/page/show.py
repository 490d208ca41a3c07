"""Showing results at once: in a notebook, or in the browser."""

from __future__ import annotations

import tempfile
import webbrowser
from html import escape
from pathlib import Path

from headscope.errors import wrong_type
from headscope.page.report import write_report
from headscope.results import Atlas

HEIGHT = 700
"""Pixels of the frame in a notebook."""


def show(
    atlas: Atlas | str | Path, *, path: str | Path | None = None, browser: bool = True
) -> Path:
    """Write the report of some results, and show it.

    In a notebook the report appears below the cell; elsewhere it opens in the browser.

    Parameters
    ----------
    atlas
        Results, or the path of a results file.
    path
        Where the page is written. Default: a temporary file.
    browser
        False only writes the page.

    Returns
    -------
    Path
        The page.

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
    results = atlas if isinstance(atlas, Atlas) else Atlas.open(atlas)
    folder = Path(tempfile.mkdtemp(prefix="headscope-")) if path is None else Path(path).parent
    page = write_report(results, folder / "report.html" if path is None else Path(path))
    if _in_notebook():
        _display(page)
    elif browser:
        webbrowser.open(page.resolve().as_uri())
    return page


def _in_notebook() -> bool:
    """Whether this runs in a notebook's kernel."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _display(page: Path) -> None:
    """Show a page in a frame of its own, whose styles and scripts stay there."""
    from IPython.display import display

    source = escape(page.read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe srcdoc="{source}" width="100%" height="{HEIGHT}" frameborder="0"></iframe>'
    display({"text/html": frame}, raw=True)  # type: ignore[no-untyped-call]
