"""What objects show in a notebook: HTML that is inert, whatever names and texts hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.page.inline import atlas_html, roles_svg
from headscope.results import Atlas, TextAttention
from page.samples import demo_file, made_results
from tiny import tiny_model

HOSTILE = "</b><script>alert(1)</script><img src=x onerror=alert(2)>"


class Elements(HTMLParser):
    """The elements that a browser would make, and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def check_inert(html: str) -> None:
    """Nothing in it runs or is loaded, and the hostile name is there as text."""
    elements = Elements(html)
    assert not {"script", "img", "iframe", "link", "style"} & set(elements.found)
    assert not [name for name in elements.attributes if name.startswith("on") or name == "src"]
    assert "alert(1)" in elements.text


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return Atlas.open(demo_file(tmp_path_factory.getbasetemp()))


def test_results_show_their_summary_and_a_grid_with_one_cell_per_head(demo):
    html = atlas_html(demo)
    text = Elements(html).text
    for line in demo.remarks():
        assert line in text
    assert roles_svg(demo).count("<title>") == 72
    assert "1-3: previous" in roles_svg(demo)


def test_the_grid_has_layers_upward_and_heads_across(demo):
    cells = re.findall(
        r"<title>(\d+)-(\d+):[^<]*</title><rect x=\"(\d+)\" y=\"(\d+)\"", roles_svg(demo)
    )
    places = {(int(layer), int(head)): (int(x), int(y)) for layer, head, x, y in cells}
    assert places[1, 1][1] > places[6, 1][1]
    assert places[1, 1][0] < places[1, 12][0]
    assert len(set(places.values())) == 72


def test_results_without_main_roles_show_their_summary_alone():
    html = atlas_html(made_results())
    assert "<svg" not in html
    assert "Atlas of made" in html


def test_hostile_names_of_model_and_corpus_are_text():
    name = HOSTILE.replace("/", "")  # of a path, only the last part is shown
    atlas = made_results(model=name, corpus=name)
    for shown in (atlas, atlas.head("1-1")):
        data, _ = shown._repr_mimebundle_()
        check_inert(data["text/html"])


def test_a_hostile_text_is_text():
    tokens = ["[CLS]", HOSTILE, "bark"]
    weights = np.full((1, 1, 3, 3), 1 / 3)
    found = TextAttention.build(weights, tokens=tokens, special=[True, False, False], model=HOSTILE)
    check_inert(found._repr_mimebundle_()[0]["text/html"])


def test_a_corpus_shows_its_size_annotations_and_first_examples_as_text():
    corpus = hs.read([HOSTILE, "A dog barks.", "A cat sleeps.", "The fourth is not shown."])
    html = corpus._repr_html_()
    check_inert(html)
    text = Elements(html).text
    assert "4 examples" in text
    assert "A cat sleeps." in text
    assert "fourth" not in text


def test_a_corpus_of_one_text_is_one_example_without_an_ellipsis():
    text = Elements(hs.read(["A dog barks."])._repr_html_()).text
    assert "1 example," in text
    assert "…" not in text


def test_a_large_corpus_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr("headscope.corpus.corpus.COUNTED", 5)
    read = 0

    def source():
        nonlocal read
        for example in hs.read([f"Text {number}." for number in range(1000)]):
            read += 1
            yield example

    corpus = hs.Corpus("large", "made", source, lambda: "0")
    assert "more than 5 examples" in Elements(corpus._repr_html_()).text
    assert read < 300


def test_the_annotations_of_the_built_in_corpus_are_named():
    text = Elements(hs.read("demo")._repr_html_()).text
    assert "dependency trees" in text
    assert "coreference" in text


@pytest.mark.parametrize(
    ("kind", "shape"), [("bert", "2 layers × 4 heads"), ("t5", "2 layers × 4 heads (encoder)")]
)
def test_a_model_shows_its_shape_and_its_weights(kind, shape):
    model = tiny_model(kind)
    count = sum(value.numel() for value in model.network.parameters())
    text = Elements(model._repr_html_()).text
    assert shape in text
    assert f"{count:,}" in text
    assert "float32 on cpu" in text
    assert repr(model).startswith(f"Model tiny-{kind}: {kind}, ")
    assert "\n" not in repr(model)


def test_a_models_hostile_name_is_text():
    model = tiny_model("bert")
    model.name = HOSTILE
    check_inert(model._repr_html_())
