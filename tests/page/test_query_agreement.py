"""The page finds the same heads as Python for the same query."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from headscope.page.html import page_html
from headscope.page.packs import atlas_pack

pytestmark = pytest.mark.page

QUERIES = (
    "entropy < 2.5",
    "position:previous > 0.3 or position:next >= 0.3",
    "special:cls:sep > 0.2 and not layer 1-2",
    'role:"rare word" > 1',
    "induction > 1",
    "is:nsubj",
    "is:local and is:sep",
    "is:previous or is:near",
    'is:"no clear role"',
    "heads 3-9,4-*,L0H2",
    "layer >= 5",
    "top 7 by entropy",
    "top 20 by special:sep and layer 2-4",
    "dependency:det > 0.5",
    'dependency:det:"head to dependent" > 0.3',
    "coreference:pronoun > 0.2",
)
SELECTED = """[...document.querySelectorAll('[role=gridcell][aria-selected=true]')]
  .map(cell => cell.dataset.head)"""
ASKED = "query => new URLSearchParams(location.hash.split('?')[1]).get('q') === query"
SHOWN = "query => document.querySelector('.hs-selection')?.dataset.query === query"


@pytest.fixture(scope="module")
def page(context, demo_results, tmp_path_factory):
    """The atlas of the embedded model in a window."""
    boot = {"title": "demo", "source": "embedded", "atlases": ["atlas"]}
    path: Path = tmp_path_factory.mktemp("query") / "page.html"
    path.write_text(page_html(boot, {"atlas": atlas_pack(demo_results)}), encoding="utf-8")
    opened = context.new_page()
    opened.set_viewport_size({"width": 1440, "height": 900})
    opened.goto(path.as_uri() + "#/atlas")
    opened.wait_for_selector("[role=grid]")
    yield opened
    opened.close()


def asked(page: Any, query: str) -> list[str]:
    """Open an address with a query; the heads that the grid then shows as selected."""
    page.evaluate("hash => { location.hash = hash }", "#/atlas?" + urlencode({"q": query}))
    page.wait_for_function(SHOWN, arg=query)
    found: list[str] = page.evaluate(SELECTED)
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_the_page_selects_the_heads_that_python_finds(page, demo_results, query):
    expected = {str(head) for head in demo_results.find(query)}
    assert set(asked(page, query)) == expected


def test_these_queries_tell_heads_apart(demo_results):
    counts = [len(demo_results.find(query)) for query in QUERIES]
    assert sum(0 < count < 72 for count in counts) >= len(QUERIES) - 3


def test_a_query_with_a_mistake_is_answered_in_words_and_selects_nothing(page):
    line = page.locator(".hs-search input")
    line.fill("entrpy < 1")
    line.press("Enter")
    answer = page.locator(".hs-search [role=status]")
    answer.get_by_text("did you mean entropy?").wait_for()


def test_the_name_of_a_head_opens_its_page(page):
    line = page.locator(".hs-search input")
    line.fill("L2H8")
    line.press("Enter")
    page.wait_for_function("location.hash.startsWith('#/head/3-9')")


def test_the_selection_stays_when_another_view_opens(page):
    asked(page, "top 5 by entropy")
    page.locator(".hs-nav a", has_text="Finder").click()
    page.wait_for_function(ASKED, arg="top 5 by entropy")
    page.locator(".hs-head-table h2", has_text="5 selected heads").wait_for()
    page.locator(".hs-clear").click()
    page.wait_for_function("!location.hash.includes('q=')")
