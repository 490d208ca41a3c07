"""Documents and figures in a browser without a network: they draw, and can be read."""

from __future__ import annotations

import pandas as pd
import pytest

from figures.made_roles import made as made_scores
from figures.made_roles import random_scores
from headscope.figures import find_figure, gallery, save_chart
from headscope.page import Document, Plot, Section, roles_document, write_document
from headscope.results import Atlas
from headscope.stats import role_shift, role_tests
from page.conftest import until
from page.samples import demo_file, made_results

pytestmark = pytest.mark.page


def test_a_figure_as_html_draws_without_a_network(visit, tmp_path):
    results = made_results()
    opened = visit(
        save_chart(find_figure("heat-cls", results).draw(results), tmp_path / "x.html"),
        charts=False,
    )
    opened.page.wait_for_selector("svg.marks")
    assert (opened.asked, opened.complaints) == ([], [])
    refused(opened)


# What a policy must refuse: code from a string, a new script, a style attribute, a request.
ATTACKS = """async () => {
  const ran = [];
  window.attacked = () => ran.push("inline script");
  try { eval("1"); ran.push("eval"); } catch {}
  try { new Function("return 1")(); ran.push("Function"); } catch {}
  const script = document.createElement("script");
  script.textContent = "window.attacked()";
  document.body.append(script);
  const image = document.createElement("div");
  image.innerHTML = '<img src="x" onerror="window.attacked()">';
  document.body.append(image);
  try { await fetch("https://example.org/"); ran.push("fetch"); } catch {}
  await new Promise(done => setTimeout(done, 300));
  return ran;
}"""


def refused(opened) -> None:
    """Attacks that got into the page do nothing."""
    done = "ran => { window.result = ran; }"
    # By a timer: what Playwright itself evaluates is above the policy.
    opened.page.evaluate(f"() => {{ setTimeout(() => ({ATTACKS})().then({done}), 0); }}")
    until(opened.page, "window.result !== undefined")
    assert opened.page.evaluate("window.result") == []
    policy = opened.page.get_attribute("meta[http-equiv=content-security-policy]", "content")
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


@pytest.mark.slow
def test_every_figure_is_drawn_without_eval_and_the_page_refuses_attacks(
    visit, tmp_path, tmp_path_factory
):
    results = Atlas.open(demo_file(tmp_path_factory.getbasetemp()))
    plots = [
        Plot(entry.name, entry.name, "caption", entry.draw(results)) for entry in gallery(results)
    ]
    assert len(plots) > 10
    hostile = "</script><script>window.attacked = 1</script><img src=x onerror=alert(1)>"
    section = Section("all", hostile, hostile, plots=plots)
    path = write_document(Document(hostile, hostile, sections=[section]), tmp_path / "all.html")
    opened = visit(path)
    assert (opened.asked, opened.complaints) == ([], [])
    assert opened.page.evaluate("window.attacked") is None
    refused(opened)


# The height of the smallest letters of each chart, in pixels of the window.
LETTERS = """Object.fromEntries([...document.querySelectorAll('.hs-picture')].map(chart => {
  const drawn = chart.querySelector('svg');
  const scale = drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width;
  const texts = [...drawn.querySelectorAll('text')].filter(text => text.textContent.trim());
  const sizes = texts.map(text => parseFloat(getComputedStyle(text).fontSize));
  return [chart.getAttribute('aria-label'), scale * Math.min(...sizes)];
}))"""


@pytest.mark.slow
def test_the_figures_of_roles_can_be_read_on_narrow_and_wide_pages(visit, tmp_path):
    results = made_scores(random_scores(12, 12))  # the size of the model of Pande et al. 2021
    shift = role_shift(results, made_scores(random_scores(12, 12) + 0.5))
    several = pd.concat([shift.assign(corpus=name) for name in ("MRPC", "QNLI", "SST-2")])
    document = roles_document(results, role_tests(results), shift=several)
    path = write_document(document, tmp_path / "roles.html")
    for width in (700, 1280):
        letters = visit(path, width=width).page.evaluate(LETTERS)
        titles = {"Correlation of roles", "Roles by layer", "Shift of the four roles"}
        assert titles <= letters.keys()
        assert {name: size for name, size in letters.items() if size < 10.5} == {}, width
