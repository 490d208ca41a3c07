"""The recipe of Clark et al. run once on the embedded model, and the command line in this process."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from cli.conftest import run, small_nc, text, tiny_folder  # noqa: F401 (fixtures)
from headscope.cli.console import Console
from headscope.corpus import read
from headscope.papers import Clark2019, Options, Workshop

LIMIT = 3
EPOCHS = 1


@pytest.fixture(scope="session")
def clark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ``headscope paper clark2019 --limit 3``: the embedded model and the built-in corpus."""
    folder = tmp_path_factory.mktemp("papers") / "clark"
    shop = Workshop(folder, Console(quiet=True), Options(limit=LIMIT))
    Clark2019(
        "demo", shop, text=read("demo"), treebank=read("demo"), coref=read("demo"), epochs=EPOCHS
    ).run()
    return folder


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in ("td", "th")
        if self.inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def rows_of(page: Path) -> list[list[str]]:
    """The cells of every row of every table of a page."""
    parser = _Cells()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.rows
