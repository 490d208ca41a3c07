"""Fixtures that every part uses: where the research data is, and tiny models with tokenizers made
on the spot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, pytestconfig: Any) -> Iterator[Path]:
    """What is kept between runs goes to a temporary folder, not to the one of whoever runs the
    tests. Only models converted from GGUF stay, in pytest's own cache: that takes half a minute.
    """
    folder = tmp_path_factory.mktemp("cache")
    if hasattr(pytestconfig, "cache"):
        (folder / "models").symlink_to(pytestconfig.cache.mkdir("headscope-models").resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSCOPE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of research data and models beside the project."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the research data beside the project (../shared) is not here")
    return SHARED


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give all tests of the embedded decoder to one process, so that it is loaded once."""
    for item in items:
        if "demo_llm" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("demo-llm"))


@pytest.fixture(scope="session")
def demo_llm() -> Any:
    """The embedded decoder with its language-model head, loaded once per run of the tests."""
    from headscope.errors import ModelError
    from headscope.models import check_model_name, load

    try:
        check_model_name("demo-llm")
    except ModelError as error:
        pytest.skip(f"demo-llm is not here: {error.message}")
    return load("demo-llm", head="lm")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium; tests that need it skip where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no browser at {CHROMIUM}: apt install chromium")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=OPTIONS)
        yield started
        started.close()
