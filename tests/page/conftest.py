"""A browser without any network, and reports to open in it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headscope.page import write_report
from headscope.results import Atlas
from page.samples import demo_file


@dataclass
class Opened:
    """An open page, what it requested beyond its own file, and its errors and warnings."""

    page: Any
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def until(page: Any, condition: str, seconds: float = 120.0) -> None:
    """Wait until a condition holds. Playwright's own way needs eval, which our pages refuse."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"never: {condition}"
        page.wait_for_timeout(50)


@pytest.fixture
def visit(window):
    """Open a file in a window; every request except the file itself is refused and recorded."""

    def visit(
        path: Path, *, width: int = 1280, charts: bool = True, at: str = "", dark: bool = False
    ) -> Opened:
        opened = Opened(window(width, dark=dark))

        def decide(route: Any) -> None:
            if route.request.url.partition("#")[0] == path.as_uri():
                route.continue_()
            else:
                opened.asked.append(route.request.url)
                route.abort()

        opened.page.route("**/*", decide)
        opened.page.on(
            "console",
            lambda message: (
                opened.complaints.append(message.text)
                if message.type in ("error", "warning")
                else None
            ),
        )
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.on(
            "dialog",
            lambda dialog: (
                opened.complaints.append(f"dialog: {dialog.message}"),
                dialog.dismiss(),
            ),
        )
        opened.page.goto(path.as_uri() + at)
        if charts:  # all of them, as before printing: a window draws only those near it
            opened.page.wait_for_selector(".hs-document")
            opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            until(
                opened.page,
                "document.querySelectorAll('.hs-picture > svg').length "
                "=== document.querySelectorAll('.hs-picture').length",
            )
        return opened

    return visit


@pytest.fixture
def explore(visit):
    """Open a report at one of its views, and wait until it is drawn."""

    def explore(path: Path, at: str = "#/atlas", **options: Any) -> Opened:
        opened = visit(path, charts=False, at=at, **options)
        opened.page.wait_for_selector(".hs-main > *")
        return opened

    return explore


@pytest.fixture(scope="session")
def demo_results(tmp_path_factory):
    """Survey six examples of the built-in corpus with the embedded model, once."""
    return Atlas.open(demo_file(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="session")
def demo_page(demo_results, tmp_path_factory):
    """Write the report of the embedded model."""
    return write_report(demo_results, tmp_path_factory.mktemp("report") / "demo.html")
