"""Take the pictures of the page that README and docs show.

    python tools/makers/screenshots.py RESULTS.nc [docs/images/page]

Needs Chromium (/usr/bin/chromium) and Playwright. Look at every picture before committing it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from headscope.figures.save import compress_png
from headscope.results import Atlas

CHROMIUM = "/usr/bin/chromium"
PICTURES = {
    "atlas": ("#/atlas", 1440, 900, "light"),
    "atlas-dark": ("#/atlas", 1440, 900, "dark"),
    "head": ("#/head/3-9", 1440, 1100, "light"),
    "finder": ("#/finder", 1440, 900, "light"),
    "papers": ("#/papers", 1440, 900, "light"),
    "narrow": ("#/atlas", 400, 900, "light"),
}
"""By name: the address within the page, width, height, and colours."""


def take(results: Path, folder: Path) -> None:
    """Take all pictures of one results file."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        atlas = Atlas.open(results)
        atlas.card("3-9", folder / "card.png")
        page = atlas.report(Path(place) / "page.html")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, picture in PICTURES.items():
            shot = _shot(browser, page, *picture)
            (folder / f"{name}.png").write_bytes(compress_png(shot))
            print(folder / f"{name}.png", len(shot))
        browser.close()


def _shot(browser: Any, page: Path, at: str, width: int, height: int, colours: str) -> bytes:
    view = {"width": width, "height": height}
    opened = browser.new_page(viewport=view, color_scheme=colours, device_scale_factor=1.5)
    opened.goto(page.as_uri() + at)
    opened.wait_for_selector(".hs-main > *")
    opened.wait_for_timeout(1000)
    shot: bytes = opened.screenshot()
    opened.close()
    return shot


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "docs/images/page"))
