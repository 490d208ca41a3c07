"""The notebook widget: its traits, its answers, and what is shown without it."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from headscope.errors import UserError
from headscope.page import notebook
from headscope.page.notebook import AtlasViews, TextViews, widgets_work
from headscope.page.packs import unpack
from headscope.page.widget import HeadscopeWidget, widget_style
from headscope.results import Atlas, TextAttention
from page.samples import made_results

WIDGET = "application/vnd.jupyter.widget-view+json"


class Sent:
    """What a widget sends to the page."""

    def __init__(self) -> None:
        self.messages: list[tuple[dict[str, Any], list[bytes]]] = []

    def add(self, content: dict[str, Any], buffers: Any = None) -> None:
        self.messages.append((content, list(buffers or [])))


@pytest.fixture
def sent(monkeypatch):
    found = Sent()
    monkeypatch.setattr(HeadscopeWidget, "send", lambda self, *message: found.add(*message))
    return found


@pytest.fixture
def in_a_notebook(monkeypatch):
    monkeypatch.setattr(notebook, "in_notebook", lambda: True)


def receive(widget: HeadscopeWidget, content: Any) -> None:
    """What ipywidgets does when the page sends a message."""
    widget._handle_custom_msg(content, [])


def toy_text(tokens: tuple[str, ...] = ("[CLS]", "dogs", "bark"), heads: int = 2) -> TextAttention:
    size = len(tokens)
    weights = np.random.default_rng(0).dirichlet(np.ones(size), (1, heads, size))
    return TextAttention.build(
        weights, tokens=tokens, special=[True, *[False] * (size - 1)], model="toy"
    )


def test_the_widget_carries_the_atlas_and_what_the_page_is_told_first():
    widget = AtlasViews(made_results(2, 3, model="bert")).widget("finder", height=500)
    assert (widget.route, widget.height) == ("finder", 500)
    boot = json.loads(widget.boot)
    assert boot == {"title": "bert", "source": "notebook", "atlases": ["atlas"]}
    document, arrays = unpack(widget.packs["atlas"])
    assert document["model"]["name"] == "bert"
    assert arrays["value"].shape[1:] == (2, 3)


def test_traits_reach_the_page_in_the_form_that_jupyter_sends():
    state = AtlasViews(made_results()).widget("atlas").get_state()
    assert {"boot", "packs", "route", "height", "_esm", "_css"} <= set(state)
    assert isinstance(state["packs"]["atlas"], bytes)  # sent as a buffer, not as text
    assert "export" in state["_esm"]


def test_a_pack_that_is_not_there_is_sent_when_the_page_asks(sent, demo_results):
    widget = AtlasViews(demo_results).widget("atlas")
    assert set(widget.packs) == {"atlas"}
    receive(widget, {"kind": "pack", "name": "head/3-9"})
    ((content, (data,)),) = sent.messages
    assert content == {"kind": "pack", "name": "head/3-9"}
    document, _ = unpack(data)
    assert document["examples"]
    receive(widget, {"kind": "pack", "name": "texts"})
    texts, _ = unpack(sent.messages[1][1][0])
    assert max(one["text"] for one in document["examples"]) < len(texts["texts"])


def test_the_widget_of_a_head_brings_its_examples_along(demo_results):
    widget = AtlasViews(demo_results).widget("head/3-9")
    assert set(widget.packs) == {"atlas", "texts", "head/3-9"}


@pytest.mark.parametrize("name", ["head/99-1", "../secret", "", None, 3])
def test_asking_for_what_does_not_exist_is_answered_with_a_sentence(name, sent, demo_results):
    receive(AtlasViews(demo_results).widget("atlas"), {"kind": "pack", "name": name})
    ((content, buffers),) = sent.messages
    assert buffers == []
    assert "there is nothing called" in content["error"]


def test_an_error_that_a_user_can_cause_is_sent_as_its_message(sent):
    def refuse(name: str) -> bytes:
        raise UserError("these results hold no examples", hint="survey again")

    widget = HeadscopeWidget(boot={"atlases": []}, packs={}, more=refuse)
    receive(widget, {"kind": "pack", "name": "head/1-1"})
    assert sent.messages[0][0]["error"] == "these results hold no examples"


@pytest.mark.parametrize("message", [None, "pack", {}, {"kind": "other"}, [1]])
def test_other_messages_are_ignored(message, sent):
    receive(AtlasViews(made_results()).widget("atlas"), message)
    assert sent.messages == []


def test_a_text_brings_its_maps_along_and_they_keep_the_weights():
    text = toy_text()
    widget = TextViews(text).widget()
    about, _ = unpack(widget.packs["text"])
    assert about["tokens"] == ["[CLS]", "dogs", "bark"]
    assert about["special"] == [0]
    assert sorted(about["heads"]) == ["1-1", "1-2"]
    for head in ("1-1", "1-2"):
        _, arrays = unpack(widget.packs[f"text/{head}"])
        np.testing.assert_allclose(
            arrays["weights"] / 65535, text.head(head).values, atol=0.5 / 65535 + 1e-9
        )


def test_the_strongest_link_between_words_is_named_and_comes_first():
    weights = np.zeros((1, 2, 3, 3))
    weights[0, 0] = [[1, 0, 0], [0.7, 0, 0.3], [1, 0, 0]]  # dogs → bark 0.3
    weights[0, 1] = [[1, 0, 0], [1, 0, 0], [0.2, 0.8, 0]]  # bark → dogs 0.8
    text = TextAttention.build(
        weights, tokens=["[CLS]", "dogs", "bark"], special=[True, False, False], model="toy"
    )
    about, _ = unpack(TextViews(text).widget().packs["text"])
    assert about["heads"] == ["1-2", "1-1"]
    assert about["strongest"] == {"1-2": "bark → dogs 0.80", "1-1": "dogs → bark 0.30"}


def test_maps_of_a_long_text_are_sent_only_when_asked_for(sent, monkeypatch):
    monkeypatch.setattr(notebook, "SENT", 20)
    widget = TextViews(toy_text(heads=5)).widget()  # nine cells each
    inside = [name for name in widget.packs if name.startswith("text/")]
    assert len(inside) == 2
    asked = next(f"text/1-{head}" for head in range(1, 6) if f"text/1-{head}" not in inside)
    receive(widget, {"kind": "pack", "name": asked})
    assert unpack(sent.messages[0][1][0])[1]["weights"].shape == (3, 3)
    receive(widget, {"kind": "pack", "name": "text/9-9"})
    assert "error" in sent.messages[1][0]


@pytest.mark.usefixtures("in_a_notebook")
def test_in_a_notebook_results_heads_and_texts_show_html_and_then_the_widget_that_hides_it(
    demo_results, monkeypatch
):
    displayed: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: displayed.append(data))
    for shown in (demo_results, demo_results.head("3-9"), toy_text()):
        data, _ = shown._repr_mimebundle_()
        assert set(data) == {WIDGET, "text/plain"}
        still = displayed.pop()
        assert still["text/plain"] == repr(shown)
        name = f"headscope-still-{data[WIDGET]['model_id']}"
        assert still["text/html"].startswith(f'<div class="{name}">')


def test_without_a_kernel_no_widget_is_made(demo_results):
    assert not widgets_work()
    for shown in (demo_results, demo_results.head("3-9"), toy_text()):
        data, about = shown._repr_mimebundle_()
        assert set(data) == {"text/html", "text/plain"}
        assert about == {}


@pytest.mark.usefixtures("in_a_notebook")
def test_without_anywidget_html_is_shown(monkeypatch, demo_results):
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    data, _ = demo_results._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain"}
    assert "<svg" in data["text/html"]


def test_marimo_is_given_the_widget_and_html_without_anywidget(monkeypatch, demo_results):
    objects: list[Any] = [demo_results, demo_results.head("3-9"), toy_text()]
    routes = [shown._display_().route for shown in objects]
    assert routes == ["atlas", "head/3-9", "text"]
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    for shown in objects:
        data, _ = shown._repr_mimebundle_()
        assert shown._display_()._repr_html_() == data["text/html"]


def test_the_data_is_packed_once_for_all_views_of_some_results(monkeypatch):
    packed: list[Atlas] = []
    real = notebook.atlas_pack
    monkeypatch.setattr(notebook, "atlas_pack", lambda one: packed.append(one) or real(one))
    atlas = made_results()
    atlas._views.widget("atlas")
    atlas._views.widget("finder")
    assert len(packed) == 1


def test_the_widgets_style_touches_nothing_outside_it():
    style = widget_style("body.hs-page{margin:0}@media (max-width: 900px){.hs-a{top:0}}")
    assert "@media" not in style
    sheet = re.sub(r"/\*.*?\*/", "", HeadscopeWidget._css, flags=re.DOTALL)
    selectors = re.findall(r"(?:^|[{}])\s*([^{}@]+)\{", sheet)
    outside = [
        part
        for selector in selectors
        for part in re.split(r",(?![^(]*\))", selector)
        if not re.search(r"\.headscope|\.hs-|^\s*(from|to|[\d.]+%)\s*$", part)
    ]
    assert outside == []
