"""The report in a browser without a network.

It draws, sorts, fits the window, and does not run what a name contains.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from figures.made_roles import made as made_scores
from figures.made_roles import random_scores
from headscope.figures import find_figure, save_chart
from headscope.page import roles_document, write_document, write_report
from headscope.stats import role_shift, role_tests
from page.samples import made_results, made_values
from page.test_page import HOSTILE, hostile

pytestmark = pytest.mark.page

ENTROPY = "entropy of attention from all tokens (nats)"
FROM_CLS = "entropy of attention from [CLS] (nats)"
PREVIOUS = "attention to the previous token (0–1)"
NEXT = "attention to the next token (0–1)"

MARKS = "[aria-roledescription='point'], [aria-roledescription='rect mark']"
COUNT = """[...document.querySelectorAll('.chart')].map(
  chart => [chart.id, chart.querySelectorAll("svg.marks SELECTOR").length]
)"""
CHARTS = COUNT.replace("SELECTOR", f":is({MARKS})")
ANY = COUNT.replace("SELECTOR", "[role='graphics-symbol'][aria-roledescription]")
OVERFLOW = "[document.documentElement.scrollWidth, document.body.scrollWidth]"
COLUMN = """column => [...document.querySelectorAll('#head-table tbody tr')].map(
  row => [row.cells[0].textContent, row.cells[column].textContent]
)"""
# How far a drawing reaches beyond what is shown of its figure.
CUT = """[...document.querySelectorAll('figure')].map(figure => {
  const drawn = figure.querySelector('svg.marks').getBoundingClientRect();
  const shown = figure.getBoundingClientRect();
  return Math.max(drawn.right - shown.right, shown.left - drawn.left);
})"""


def column(page: Any, name: str) -> list[tuple[str, str]]:
    """Return head and shown value of each row of the head table, in the order of the page."""
    index = page.locator("#head-table th button").all_text_contents().index(name)
    return [tuple(pair) for pair in page.evaluate(COLUMN, index)]


def press(page: Any, name: str) -> None:
    page.locator("#head-table th button", has_text=name).first.click()


def test_the_report_of_the_embedded_model_draws_every_head(visit, demo_page: Path) -> None:
    opened = visit(demo_page)
    marks = dict(opened.page.evaluate(CHARTS))
    heads = 6 * 12
    assert {
        name: marks[f"chart-{name}"] for name in ("position", "special", "from-sep", "entropy")
    } == {
        "position": 3 * heads,
        "special": 3 * heads,
        "from-sep": 2 * heads,
        "entropy": 2 * heads,
    }
    assert {
        marks[f"chart-heat-{name}"] for name in ("previous", "next", "cls", "sep", "entropy")
    } == {heads}
    drawn = dict(opened.page.evaluate(ANY))
    assert drawn.keys() == marks.keys()
    assert all(count > 0 for count in drawn.values()), drawn
    assert opened.page.title() == "Headscope: demo, every attention head, on demo"
    assert (
        "Head 1-3 puts more than half of the attention on the previous token."
        in opened.page.locator(".remarks").inner_text()
    )


def test_charts_are_drawn_when_they_come_near_the_window(visit, demo_page: Path) -> None:
    page = visit(demo_page, charts=False).page
    page.locator(".chart").first.scroll_into_view_if_needed()
    page.wait_for_selector("svg.marks")
    last = page.locator(".chart").last
    assert last.locator("svg.marks").count() == 0
    last.scroll_into_view_if_needed()
    last.locator("svg.marks").wait_for()


def test_a_report_fetches_nothing_and_has_no_errors_or_warnings(visit, demo_page: Path) -> None:
    opened = visit(demo_page)
    opened.page.locator("figure").last.scroll_into_view_if_needed()
    opened.page.wait_for_load_state("networkidle")
    assert (opened.asked, opened.complaints) == ([], [])


def test_hovering_over_a_number_shows_head_and_interval(visit, demo_page: Path) -> None:
    page = visit(demo_page).page
    page.locator("#chart-heat-previous svg.marks text[aria-label*='head: 3; layer: 1;']").hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    shown = page.locator("#vg-tooltip-element").inner_text()
    assert "1-3" in shown
    assert "95 % from" in shown


def test_a_name_that_is_a_script_is_shown_and_not_run(visit, tmp_path: Path) -> None:
    opened = visit(write_report(hostile(), tmp_path / "hostile.html"))
    assert (opened.asked, opened.complaints) == ([], [])
    assert opened.page.locator("h1").text_content() == HOSTILE
    assert opened.page.title() == f"Headscope: {HOSTILE}, every attention head, on {HOSTILE}"
    assert opened.page.locator("img").count() == 0
    assert (
        opened.page.evaluate("JSON.parse(document.querySelector('pre').textContent).model.name")
        == HOSTILE
    )


@pytest.fixture(scope="module")
def gap() -> dict[str, np.ndarray]:
    """Return values of two layers of twelve heads; head 1-2 has none for the previous token."""
    values = made_values(2, 12)
    values["position"][0, 1, 0] = np.nan
    return values


@pytest.fixture(scope="module")
def gap_page(gap: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(made_results(2, 12, values=gap), tmp_path_factory.mktemp("gap") / "x.html")


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model as large as BERT large."""
    return write_report(made_results(24, 16), tmp_path_factory.mktemp("large") / "x.html")


def test_a_click_sorts_by_a_column_and_another_reverses_the_order(
    visit, gap: dict[str, np.ndarray], gap_page: Path
) -> None:
    page = visit(gap_page).page
    best_first = [
        f"{place // 12 + 1}-{place % 12 + 1}"
        for place in np.argsort(-gap["entropy"][..., 0].ravel())
    ]
    press(page, ENTROPY)
    assert [head for head, _ in column(page, ENTROPY)] == best_first
    press(page, ENTROPY)
    assert [head for head, _ in column(page, ENTROPY)] == best_first[::-1]


def test_heads_are_sorted_by_number_not_by_letters(visit, gap_page: Path) -> None:
    page = visit(gap_page).page
    press(page, ENTROPY)
    press(page, "head")
    press(page, "head")
    assert [head for head, _ in column(page, "head")] == [
        f"{layer}-{head}" for layer in (1, 2) for head in range(1, 13)
    ]


def test_the_keyboard_sorts_too(visit, gap: dict[str, np.ndarray], gap_page: Path) -> None:
    page = visit(gap_page).page
    page.locator("#head-table th button", has_text=FROM_CLS).focus()
    page.keyboard.press("Enter")
    assert [value for _, value in column(page, FROM_CLS)] == [
        f"{value:.3f}" for value in sorted(gap["entropy"][..., 1].ravel(), reverse=True)
    ]


def test_heads_without_a_value_come_last_either_way(visit, gap_page: Path) -> None:
    page = visit(gap_page).page
    for _ in range(2):
        press(page, PREVIOUS)
        assert column(page, PREVIOUS)[-1] == ("1-2", "–")


def test_a_causal_model_has_dashes_and_grey_squares(visit, tmp_path: Path) -> None:
    opened = visit(write_report(made_results(causal=True), tmp_path / "x.html"))
    assert {value for _, value in column(opened.page, NEXT)} == {"–"}
    fills = opened.page.evaluate(
        "[...document.querySelectorAll(\"#chart-heat-next [aria-roledescription='rect mark']\")]"
        ".map(mark => mark.getAttribute('fill'))"
    )
    assert fills == ["#dddddd"] * 6
    assert "not defined" in opened.page.locator("#chart-from-sep").text_content()
    assert opened.complaints == []


def test_results_without_a_single_number_still_make_a_page(visit, tmp_path: Path) -> None:
    values = {name: np.full_like(array, np.nan) for name, array in made_values(2, 3).items()}
    opened = visit(write_report(made_results(values=values), tmp_path / "x.html"))
    assert opened.complaints == []
    assert {value for _, value in column(opened.page, ENTROPY)} == {"–"}


@pytest.mark.parametrize("kind", ["demo", "large", "long names"])
def test_the_page_never_scrolls_sideways(
    visit, demo_page: Path, large_page: Path, tmp_path: Path, kind: str
) -> None:
    long = "a-very-long-name-without-a-space-" * 8
    path = {"demo": demo_page, "large": large_page}.get(kind) or write_report(
        made_results(model=long, corpus=f"{long}.txt"), tmp_path / "x.html"
    )
    page = visit(path, width=400).page
    for width in (400, 700, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOW) == [width, width]


def test_no_figure_is_cut_on_a_desktop(visit, demo_page: Path, large_page: Path) -> None:
    assert max(visit(demo_page).page.evaluate(CUT)) <= 0
    page = visit(large_page).page
    assert max(page.evaluate(CUT)) <= 0
    marks = dict(page.evaluate(CHARTS))
    assert (marks["chart-heat-cls"], marks["chart-position"]) == (24 * 16, 3 * 24 * 16)


def test_a_figure_as_html_draws_without_a_network(visit, tmp_path: Path) -> None:
    results = made_results()
    opened = visit(
        save_chart(find_figure("heat-cls", results).draw(results), tmp_path / "x.html"),
        charts=False,
    )
    opened.page.wait_for_selector("canvas, svg.marks")
    assert (opened.asked, opened.complaints) == ([], [])


# The height of the smallest letters of each chart, in pixels of the window.
LETTERS = """Object.fromEntries([...document.querySelectorAll('.chart')].map(chart => {
  const drawn = chart.querySelector('svg.marks');
  const scale = drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width;
  const texts = [...drawn.querySelectorAll('text')].filter(text => text.textContent.trim());
  const sizes = texts.map(text => parseFloat(getComputedStyle(text).fontSize));
  return [chart.id, scale * Math.min(...sizes)];
}))"""


@pytest.mark.parametrize("width", [700, 1280])
def test_the_figures_of_roles_can_be_read_on_narrow_and_wide_pages(
    visit, tmp_path: Path, width: int
) -> None:
    results = made_scores(random_scores(12, 12))  # the size of the model of Pande et al. 2021
    shift = role_shift(results, made_scores(random_scores(12, 12) + 0.5))
    several = pd.concat([shift.assign(corpus=name) for name in ("MRPC", "QNLI", "SST-2")])
    document = roles_document(results, role_tests(results), shift=several)
    page = visit(write_document(document, tmp_path / "roles.html"), width=width).page
    page.wait_for_timeout(500)  # until charts that are too wide have got the whole width
    letters = page.evaluate(LETTERS)
    assert {"chart-role-correlations", "chart-role-layers", "chart-role-shift"} <= letters.keys()
    assert {name: size for name, size in letters.items() if size < 10.5} == {}
