"""The widget's script in a bare page with a stand-in for anywidget, as a notebook would load it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.page.notebook import AtlasViews, TextViews
from headscope.page.widget import HeadscopeWidget
from headscope.results import TextAttention

pytestmark = pytest.mark.page

PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>notebook</title>
<style>body { font-family: serif; margin: 8px; background: BACKGROUND } h1 { font-size: 31px }</style>
<style>CSS</style></head>
<body BODY><h1>A heading of the notebook</h1><p id="bare">Some text with a <a href="#x">link</a>.</p>
<div id="first"></div><div id="second"></div>
<script type="application/json" id="data">DATA</script>
<script type="module">
const { esm, widgets, answers } = JSON.parse(document.getElementById("data").textContent);
const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
class Model {
  constructor(state) { this.state = state; this.heard = []; this.sent = []; this.saved = 0; }
  get(name) { return this.state[name]; }
  set(name, value) { this.state[name] = value; this.tell(`change:${name}`); }
  save_changes() { this.saved += 1; }
  on(event, callback) { this.heard.push([event, callback]); }
  off(event, callback) { this.heard = this.heard.filter((one) => one[0] !== event || one[1] !== callback); }
  tell(event, ...values) { for (const [name, callback] of [...this.heard]) if (name === event) callback(...values); }
  send(content) {
    this.sent.push(content);
    const found = answers[content.name];
    setTimeout(() => found
      ? this.tell("msg:custom", { kind: "pack", name: content.name }, [bytes(found)])
      : this.tell("msg:custom", { kind: "pack", name: content.name, error: "there is nothing of that name" }, []), 5);
  }
}
const module = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
window.models = widgets.map((one) => new Model({
  ...one, packs: Object.fromEntries(Object.entries(one.packs).map(([name, text]) => [name, bytes(text)])),
}));
window.ends = [];
for (const [at, id] of ["first", "second"].entries()) {
  if (models[at]) ends.push(await module.default.render({ model: models[at], el: document.getElementById(id) }));
}
window.ready = true;
</script></body></html>
"""  # noqa: E501
BARE = """() => ['h1', '#bare', '#bare a'].map((name) => {
  const style = getComputedStyle(document.querySelector(name));
  return [style.fontSize, style.fontFamily, style.color, style.margin, style.textDecoration];
})"""


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def state_of(widget: HeadscopeWidget) -> dict[str, Any]:
    packs = {name: text_of(data) for name, data in widget.packs.items()}
    own = {name: getattr(widget, name) for name in ("boot", "route", "height", "still")}
    return own | {"packs": packs}


def notebook(
    path: Path,
    widgets: list[HeadscopeWidget],
    *,
    answers: Mapping[str, bytes] | None = None,
    body: str = "",
    style: str = HeadscopeWidget._css,
) -> Path:
    data = {
        "esm": HeadscopeWidget._esm,
        "widgets": [state_of(widget) for widget in widgets],
        "answers": {name: text_of(one) for name, one in (answers or {}).items()},
    }
    page = PAGE.replace("CSS", style).replace("BODY", body).replace("BACKGROUND", "white")
    page = page.replace("DATA", json.dumps(data).replace("<", "\\u003c"))
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture
def two(demo_results, tmp_path):
    views = AtlasViews(demo_results)
    widgets = [views.widget("atlas"), views.widget("head/2-1", height=400)]
    return notebook(tmp_path / "notebook.html", widgets, answers=views._examples)


def open_page(visit: Any, path: Path) -> Any:
    opened = visit(path, charts=False)
    opened.page.wait_for_function("window.ready === true")
    return opened


def test_two_widgets_show_their_views_without_errors_or_requests(visit, two):
    opened = open_page(visit, two)
    page = opened.page
    page.wait_for_selector("#first .hs-main :text('heads')")
    page.wait_for_selector("#second :text('2-1')")
    boxes = page.evaluate(
        "['first', 'second'].map(id => document.querySelector(`#${id} > div`).offsetHeight)"
    )
    assert boxes == [640, 400]
    page.wait_for_timeout(300)
    assert opened.complaints == []
    assert [url for url in opened.asked if not url.startswith("blob:")] == []


def test_a_widget_hides_the_html_that_stands_for_it_and_no_other(visit, demo_results, tmp_path):
    widget = AtlasViews(demo_results).widget("atlas")
    path = notebook(tmp_path / "notebook.html", [widget])
    still = f'<div id="mine" class="{widget.still}">a</div><div id="other" class="x">b</div>'
    path.write_text(path.read_text("utf-8").replace('<div id="first">', f'{still}<div id="first">'))
    page = open_page(visit, path).page
    heights = "['mine', 'other'].map(id => document.getElementById(id).offsetHeight > 0)"
    assert page.evaluate(heights) == [False, True]


def test_a_click_on_a_head_opens_it_in_that_widget_only_and_the_address_stays(visit, two):
    opened = open_page(visit, two)
    page = opened.page
    page.locator("#first nav a", has_text="Heads").click()
    page.wait_for_function("models[0].state.route.startsWith('head/')")
    link = page.locator("#first a[href^='#/head/']").first
    target = link.get_attribute("href").removeprefix("#/").partition("?")[0]
    link.click()
    page.wait_for_function("name => models[0].state.route.split('?')[0] === name", arg=target)
    assert page.evaluate("location.hash") == ""
    assert page.evaluate("models[1].state.route") == "head/2-1"
    assert page.evaluate("models[0].sent.map(one => one.kind)")  # examples came from the kernel
    assert opened.complaints == []


def test_the_kernel_can_change_the_view_and_the_height(visit, two):
    page = open_page(visit, two).page
    page.evaluate("models[0].set('route', 'head/3-9')")
    page.wait_for_selector("#first .hs-main :text('3-9')")
    page.evaluate("models[0].set('height', 300)")
    assert page.evaluate("document.querySelector('#first > div').offsetHeight") == 300


def test_the_notebook_keeps_its_own_look(visit, two, tmp_path):
    page = open_page(visit, two).page
    bare = open_page(visit, notebook(tmp_path / "bare.html", [], style="")).page
    assert page.evaluate(BARE) == bare.evaluate(BARE)
    assert page.evaluate(BARE)[0][0] == "31px"


@pytest.mark.parametrize(
    ("body", "theme"),
    [
        ('data-jp-theme-light="false"', "dark"),
        ('data-jp-theme-light="true"', "light"),
        ('class="vscode-dark"', "dark"),
        ('class="vscode-light"', "light"),
        ("", "light"),
    ],
)
def test_the_colours_follow_the_notebooks_theme(visit, demo_results, tmp_path, body, theme):
    widget = AtlasViews(demo_results).widget("atlas")
    page = open_page(visit, notebook(tmp_path / "theme.html", [widget], body=body)).page
    assert page.get_attribute("#first > div", "data-theme") == theme
    if "jp-theme" in body:
        other = "light" if theme == "dark" else "dark"
        light = "true" if other == "light" else "false"
        page.evaluate("value => { document.body.dataset.jpThemeLight = value }", light)
        page.wait_for_selector(f"#first > div[data-theme='{other}']")


def test_a_closed_widget_leaves_nothing_behind(visit, two):
    page = open_page(visit, two).page
    page.evaluate("ends.forEach(end => end())")
    assert page.evaluate("document.querySelectorAll('.headscope').length") == 0
    assert page.evaluate("models.map(model => model.heard.length)") == [0, 0]


def test_without_a_kernel_a_sentence_says_so(visit, demo_results, tmp_path):
    views = AtlasViews(demo_results)
    opened = open_page(visit, notebook(tmp_path / "saved.html", [views.widget("atlas")]))
    page = opened.page
    page.evaluate("void (models[0].send = () => { throw new Error('no comm') })")
    page.evaluate("models[0].set('route', 'head/3-9')")
    page.wait_for_selector("#first :text('kernel does not answer')")
    assert opened.complaints == []


def test_one_text_is_drawn_as_lines_and_as_a_map_and_its_words_are_inert(visit, tmp_path):
    tokens = ["[CLS]", "<img src=x onerror=alert(1)>", "barks", "[SEP]"]
    weights = np.zeros((1, 2, 4, 4))
    weights[0, :, :, 0] = 0.4
    weights[0, 0, :, 1] = 0.6
    weights[0, 1, :, 2] = 0.6
    text = TextAttention.build(
        weights, tokens=tokens, special=[True, False, False, True], model="toy"
    )
    opened = open_page(visit, notebook(tmp_path / "text.html", [TextViews(text).widget()]))
    page = opened.page
    page.wait_for_selector("#first .hs-arcs svg")
    assert page.locator("#first .hs-text-head").count() == 1
    page.locator("#first .hs-text-chips button", has_text="1-2").click()
    page.wait_for_function("document.querySelectorAll('#first .hs-text-head').length === 2")
    page.locator("#first button", has_text="Map").click()
    page.wait_for_selector("#first canvas")
    assert page.evaluate("location.hash") == ""
    assert page.evaluate("document.querySelectorAll('#first img').length") == 0
    assert opened.complaints == []
