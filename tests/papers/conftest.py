"""The recipe of Clark et al. 2019, run once on the embedded model; and the cells of a page."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from cli.conftest import run, small_nc, text, tiny_folder  # noqa: F401 (fixtures)
from headscope.papers import Clark2019

LIMIT = 3
EPOCHS = 1


@pytest.fixture(scope="session")
def clark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ``headscope paper clark2019 --limit 3 --epochs 1``."""
    folder = tmp_path_factory.mktemp("papers") / "clark"
    Clark2019("demo", output=folder, limit=LIMIT, epochs=EPOCHS).run()
    return folder


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def rows_of(page: Path) -> list[list[str]]:
    """The cells of every row of every table of a page."""
    parser = _Cells()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.rows
