"""Fixtures that every part uses: where the research data is, and tiny models with tokenizers made
on the spot.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from distribution import make_scheduler, turn_of

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# The same examples in every run, and no limit on seconds, which a busy machine would exceed.
# Other examples: pytest --hypothesis-profile default
settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")
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


def pytest_collection_finish() -> None:
    """Exempt what is there before the first test from garbage collection: it stays."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, pytestconfig: Any) -> Iterator[Path]:
    """What is kept between runs goes to a temporary folder, not to the one of whoever runs the
    tests. Only models converted from GGUF stay, in pytest's own cache: that takes ten seconds.
    """
    folder = tmp_path_factory.mktemp("cache")
    if hasattr(pytestconfig, "cache"):
        (folder / "models").symlink_to(pytestconfig.cache.mkdir("headscope-models").resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSCOPE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def no_sync() -> Iterator[None]:
    """Waiting until files are on the disk would take half a minute in all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Forget the measures, sieves, figures and metrics that a test adds: the next must not meet
    them. What Headscope itself adds when a module is imported stays.
    """
    from headscope.figures import FIGURES
    from headscope.measures import MEASURES, SIEVES
    from headscope.tasks.metrics import METRICS

    known = [(one, dict(one._entries)) for one in (FIGURES, MEASURES, METRICS, SIEVES)]
    yield
    for registry, before in known:
        registry._entries = {
            name: before.get(name, entry)
            for name, entry in (registry._entries | before).items()
            if name in before or not entry.own
        }


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of research data and models beside the project."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the research data beside the project (../shared) is not here")
    return SHARED


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share the tests among processes file by file."""
    return make_scheduler(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the processes of pytest-xdist begin with what takes longest."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: turn_of(item.nodeid))


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


@pytest.fixture(scope="session")
def context(browser: Any) -> Iterator[Any]:
    """What all windows share, so that one process draws their pages: each would need a second."""
    shared = browser.new_context()
    shared.set_default_timeout(120_000)  # a busy machine may need more than half a minute
    yield shared
    shared.close()


@pytest.fixture
def window(context: Any) -> Iterator[Any]:
    """Open an empty window; what its pages stored is forgotten after the test."""
    opened = []

    def window(width: int = 1280, height: int = 900, *, dark: bool = False) -> Any:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        opened.append(page)
        return page

    yield window
    for page in (page for page in opened if not page.is_closed()):
        page.evaluate("try { localStorage.clear() } catch { /* an empty page has none */ }")
        page.close()
