"""The report in a browser without a network: every view, by pointer and by keyboard."""

from __future__ import annotations

import http.server
import struct
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.page import write_folder, write_report
from page.samples import made_results, made_values
from page.test_report import HOSTILE, hostile

pytestmark = pytest.mark.page

OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
CELLS = "[role=gridcell]"


def quiet(opened: Any) -> None:
    """Nothing was requested, and the console is empty."""
    assert (opened.asked, opened.complaints) == ([], [])


def test_the_first_look_shows_every_head_and_what_they_do(explore, demo_page):
    opened = explore(demo_page)
    page = opened.page
    assert page.locator(CELLS).count() == 72
    words = page.locator(".hs-summary").inner_text()
    assert "of 72 heads" in words
    assert "previous token" in words
    quiet(opened)


def test_a_click_on_a_head_opens_its_page_with_its_sentence(explore, demo_page, demo_results):
    opened = explore(demo_page)
    opened.page.locator("[data-head='1-3']").click()
    opened.page.wait_for_url("**#/head/1-3*")
    text = opened.page.locator(".hs-main").inner_text()
    assert demo_results.head("1-3").description.lead in text
    assert "L0H2" in text
    quiet(opened)


def test_a_sentence_of_the_summary_selects_its_heads(explore, demo_page):
    page = explore(demo_page).page
    line = page.locator(".hs-families li").filter(has_text="previous token").first
    line.get_by_text("head").first.click()
    page.wait_for_selector(f"{CELLS}[aria-selected=true]")
    chosen = page.locator(f"{CELLS}[aria-selected=true]")
    assert "1-3" in [chosen.nth(at).get_attribute("data-head") for at in range(chosen.count())]
    assert 0 < chosen.count() < 72


def test_examples_are_drawn_with_lines_and_as_a_map(explore, demo_page):
    opened = explore(demo_page, "#/head/1-3")
    page = opened.page
    page.wait_for_selector(".hs-examples svg path")
    assert page.locator(".hs-examples svg path").count() > 10
    page.get_by_role("group", name="Show examples as").get_by_text("Map").click()
    page.wait_for_selector(".hs-examples canvas")
    assert "show=map" in page.url
    quiet(opened)


def test_a_link_to_a_head_opens_it_by_either_name(explore, demo_page):
    for name in ("2-9", "L1H8"):
        page = explore(demo_page, f"#/head/{name}").page
        assert "2-9" in page.locator(".hs-main").inner_text()
    page = explore(demo_page, "#/head/77-1").page
    assert "77-1" in page.locator(".hs-main").inner_text()


def test_a_query_in_the_search_line_selects_the_heads_that_python_finds(
    explore, demo_page, demo_results
):
    opened = explore(demo_page, "#/finder")
    page = opened.page
    query = "position:previous > 0.2 and entropy < 3"
    expected = [str(head) for head in demo_results.find(query)]
    assert expected
    line = page.locator(".hs-search input").first
    line.fill(query)
    line.press("Enter")
    page.wait_for_function("document.querySelector('.hs-main table tbody tr')")
    page.wait_for_timeout(200)
    found = page.locator(".hs-main table tbody tr a").all_inner_texts()
    heads = [text.split()[0] for text in found if text[:1].isdigit()]
    assert sorted(set(heads)) == sorted(expected)
    quiet(opened)


def test_a_mistake_in_a_query_is_explained(explore, demo_page):
    page = explore(demo_page, "#/finder").page
    line = page.locator(".hs-search input").first
    line.fill("entropy >")
    line.press("Enter")
    page.get_by_text("a number is expected there").first.wait_for()


def test_dragging_over_the_points_selects_heads(explore, demo_page):
    page = explore(demo_page, "#/finder").page
    box = page.locator("svg.hs-scatter, .hs-main svg[role=img]").first.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.8, steps=5)
    page.mouse.up()
    page.wait_for_timeout(200)
    rows = page.locator(".hs-main table tbody tr").count()
    assert 0 < rows < 72


def test_arrows_and_enter_open_a_head_without_a_pointer(explore, demo_page):
    page = explore(demo_page).page
    page.locator(".hs-grid [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.head") == "2-2"
    page.keyboard.press("Enter")
    page.wait_for_url("**#/head/2-2*")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.getAttribute('name')") == "q"
    page.keyboard.press("Escape")  # closes the suggestions
    page.keyboard.press("Escape")  # leaves the line
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0


@pytest.mark.parametrize("view", ["atlas", "finder", "head/3-9", "papers"])
def test_no_view_overflows_from_wide_to_narrow(explore, demo_page, view):
    opened = explore(demo_page, f"#/{view}", width=1440)
    for width in (1440, 1024, 400):
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.page.wait_for_timeout(150)
        assert opened.page.evaluate(OVERFLOW) <= 0, (view, width)
    quiet(opened)


def test_dark_is_the_readers_preference_or_choice(explore, demo_page):
    page = explore(demo_page, dark=True).page
    ground = "getComputedStyle(document.querySelector('.headscope')).backgroundColor"
    dark = page.evaluate(ground)
    assert page.evaluate("document.querySelector('.headscope').dataset.theme") == "dark"
    page = explore(demo_page).page
    light = page.evaluate(ground)
    assert light != dark
    page.get_by_role("button", name="Colours").click()
    assert page.evaluate(ground) == dark


def test_tables_of_the_papers_have_heads_as_links(explore, demo_page):
    opened = explore(demo_page, "#/papers")
    page = opened.page
    page.get_by_role("heading", name="Dependencies").wait_for()
    page.locator("table a[href^='#/head/']").first.click()
    page.wait_for_url("**#/head/*")
    quiet(opened)


def test_two_results_are_compared_head_by_head(explore, tmp_path):
    values = made_values(2, 3)
    changed = {name: array.copy() for name, array in values.items()}
    changed["position"][1, 2, 0] += 5  # far more than the interval of two examples
    results = [
        made_results(values=one, model=name) for name, one in (("a", values), ("b", changed))
    ]
    path = write_report(results[0], tmp_path / "x.html", others=results[1:])
    opened = explore(path, "#/compare")
    text = opened.page.locator(".hs-main").inner_text()
    assert (
        "Attention to the previous token: the 95 % intervals of A and B do not overlap for "
        "1 head of 6"
    ) in text
    first = opened.page.locator(".hs-compare table tbody tr").first.inner_text().split()
    assert first[0] == "2-3"
    quiet(opened)


def test_a_name_that_is_a_script_is_shown_and_not_run(explore, tmp_path):
    opened = explore(write_report(hostile(), tmp_path / "x.html"))
    assert HOSTILE in opened.page.locator(".hs-header").text_content()
    assert opened.page.locator("img").count() == 0
    quiet(opened)


def test_a_text_that_is_a_script_is_shown_and_not_run(explore, tmp_path):
    texts = [
        "<script>alert(1)</script> </script><img src=x onerror=alert(2)>",
        "\u202eright to left\u202c zero\u200bwidth",
        "x" * 3000,
    ]
    atlas = hs.survey("demo", texts, measures=["position", "activity", "work", "spread"])
    opened = explore(write_report(atlas, tmp_path / "x.html"), "#/head/1-3", width=400)
    opened.page.wait_for_selector(".hs-examples svg")
    assert opened.page.evaluate(OVERFLOW) <= 0
    assert opened.page.locator("img").count() == 0
    quiet(opened)


def test_results_without_examples_or_main_roles_say_how_to_get_them(explore, tmp_path):
    path = write_report(made_results(), tmp_path / "x.html")
    opened = explore(path, "#/head/1-1")
    assert "--examples" in opened.page.locator(".hs-main").inner_text()
    opened.page.evaluate("location.hash = '#/atlas'")
    opened.page.wait_for_selector(CELLS)
    assert opened.page.locator(CELLS).count() == 6
    assert "no main roles" in opened.page.locator(".hs-main").inner_text()
    quiet(opened)


def test_results_without_a_single_number_still_make_a_page(explore, tmp_path):
    values = {name: np.full_like(array, np.nan) for name, array in made_values(2, 3).items()}
    path = write_report(made_results(values=values), tmp_path / "x.html")
    for view in ("atlas", "finder", "head/1-1", "papers"):
        quiet(explore(path, f"#/{view}"))


def test_a_model_of_384_heads_is_one_page_of_bounded_size(explore, tmp_path):
    path = write_report(made_results(24, 16), tmp_path / "x.html")
    assert path.stat().st_size < 6e6
    opened = explore(path, "#/atlas", width=1440)
    opened.page.wait_for_selector(".hs-grid")
    nodes = opened.page.evaluate("document.querySelectorAll('.headscope *').length")
    assert nodes < 30 * 384
    assert opened.page.evaluate(OVERFLOW) <= 0
    quiet(opened)


def test_very_many_heads_are_drawn_on_a_canvas(explore, tmp_path):
    values = {"entropy": made_values(48, 64)["entropy"]}
    opened = explore(write_report(made_results(48, 64, values=values), tmp_path / "x.html"))
    opened.page.wait_for_selector("canvas")
    assert opened.page.evaluate("document.querySelectorAll('.headscope *').length") < 5000
    quiet(opened)


@pytest.fixture
def served(demo_results, tmp_path):
    """The folder form of a report behind a static web server."""
    write_folder(demo_results, tmp_path / "site")
    quiet_handler = type(
        "Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None}
    )
    handler = partial(quiet_handler, directory=str(tmp_path / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_folder_loads_a_heads_examples_when_they_are_asked_for(window, served):
    page = window()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(served)))
    page.goto(f"{served}#/atlas")
    page.wait_for_selector(CELLS)
    assert not [name for name in asked if name.startswith("data/head/")]
    page.locator("[data-head='1-3']").click()
    page.wait_for_selector(".hs-examples svg path")
    assert "data/head/1-3.pack" in asked
    assert not [name for name in asked if name.startswith("data/head/") and "1-3" not in name]


def test_the_card_of_a_head_is_saved_from_its_page(explore, demo_page, tmp_path):
    opened = explore(demo_page, "#/head/3-9")
    opened.page.wait_for_selector("button:has-text('Save card')")
    with opened.page.expect_download() as download:
        opened.page.locator("button", has_text="Save card").click()
    assert download.value.suggested_filename == "demo-3-9.png"
    download.value.save_as(tmp_path / "card.png")
    data = (tmp_path / "card.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1200, 630)
    quiet(opened)
