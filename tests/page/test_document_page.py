"""Documents and figures in a browser without a network: they draw, and can be read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from figures.made_roles import made as made_scores
from figures.made_roles import random_scores
from headscope.figures import find_figure, save_chart
from headscope.page import roles_document, write_document
from headscope.stats import role_shift, role_tests
from page.samples import made_results

pytestmark = pytest.mark.page


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
