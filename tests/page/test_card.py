"""Head cards: a picture of what one head does, made of what the results hold and nothing else."""

from __future__ import annotations

import re
import struct
from xml.etree import ElementTree

import numpy as np
import pytest

from headscope.errors import ResultsError
from headscope.page.card import BASELINE, HEIGHT, LEAST, WIDTH, Cards, between_words, excerpt
from headscope.page.packs.examples import example_packs
from headscope.page.packs.pack import unpack
from headscope.results import Atlas
from headscope.results.kept import KeptMap, KeptText

SVG = "{http://www.w3.org/2000/svg}"


def drawing(atlas: Atlas, head: str) -> ElementTree.Element:
    return ElementTree.fromstring(Cards(atlas).svg(head))


def texts(svg: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in svg.iter(f"{SVG}text")]


def kept(words: list[str], weights: list[list[float]], pieces: list[int] | None = None) -> KeptMap:
    """An example whose map is known: [CLS], then the pieces of the words."""
    unit = (-1, *(pieces or range(len(words))))
    size = len(unit)
    text = KeptText(
        1, "1", "", ("[CLS]", *("x" for _ in unit[1:])), unit, tuple(words),
        (True, *[False] * (size - 1)), (True, *[False] * (size - 1)),
        tuple([-2] * len(words)), tuple([""] * len(words)), tuple([0] * len(words)), size,
    )  # fmt: skip
    full = np.array(weights, np.float32)
    keys = np.tile(np.arange(size, dtype=np.uint16), size)
    return KeptMap(text, 0.5, np.full(size, size, np.uint8), keys, full.ravel())


def test_a_card_has_the_name_the_sentence_and_the_model(demo_results):
    said = texts(drawing(demo_results, "3-9"))
    assert said[:2] == ["3-9", "L2H8"]
    assert " ".join(said).count(demo_results.head("3-9").description.lead.split(",")[0]) == 1
    assert "demo, 6 layers of 12 heads, on demo" in said


def test_its_grid_has_every_head_with_this_one_in_a_frame(demo_results):
    rects = list(drawing(demo_results, "3-9").iter(f"{SVG}rect"))
    cells = [one for one in rects if one.get("stroke") and one.get("rx") is None]
    assert len(cells) == 72
    (frame,) = [one for one in rects if one.get("stroke-width") == "4"]
    # Layers upward, heads from the left: the 9th of the 3rd row from below.
    by_row = sorted({float(one.get("y", 0)) for one in cells}, reverse=True)
    by_column = sorted({float(one.get("x", 0)) for one in cells})
    assert float(frame.get("y", 0)) == pytest.approx(by_row[2] - 2)
    assert float(frame.get("x", 0)) == pytest.approx(by_column[8] - 2)


def test_its_example_is_a_stretch_of_the_strongest_one(demo_results):
    svg = drawing(demo_results, "3-9")
    words = [one.text for one in svg.iter(f"{SVG}text") if one.get("y") == str(BASELINE)]
    source = list(demo_results.kept.strongest("3-9")[0].text.words)
    assert words
    assert any(source[at : at + len(words)] == words for at in range(len(source)))
    for one in svg.iter(f"{SVG}text"):
        assert 0 < float(one.get("x", -1)) < WIDTH
        assert 0 < float(one.get("y", -1)) < HEIGHT


def test_attention_between_words_is_that_of_a_plain_loop():
    rng = np.random.default_rng(0)
    pieces = [0, 1, 1, 2, 2, 2, 3]
    weights = rng.dirichlet(np.ones(8), 8).tolist()
    example = kept(["a", "b", "c", "d"], weights, pieces)
    expected = np.zeros((4, 4))
    for query, row in enumerate(weights[1:]):
        for key, weight in enumerate(row[1:]):
            expected[pieces[query], pieces[key]] += weight / pieces.count(pieces[query])
    np.testing.assert_allclose(between_words(example), expected, rtol=1e-6)


def test_links_are_those_of_a_visible_weight_without_the_word_itself():
    weights = [[1, 0, 0, 0], [0, 0.9, 0.1, 0], [0.2, 0.8, 0, 0], [0.1, 0.3, 0.6, 0]]
    words, links = excerpt(kept(["The", "dog", "barks"], weights))
    assert words == ["The", "dog", "barks"]
    assert LEAST > 0.1
    assert [link[:2] for link in links] == [(1, 0), (2, 1), (2, 0)]
    assert [link[2] for link in links] == pytest.approx([0.8, 0.6, 0.3])


def test_only_words_that_fit_are_drawn_those_with_the_most_attention():
    names = [f"word{number}" for number in range(60)]
    weights = np.zeros((61, 61))
    weights[41, 40] = weights[43, 42] = 0.9
    weights[5, 4] = 0.8
    words, links = excerpt(kept(names, weights.tolist()))
    assert {"word39", "word40", "word41", "word42"} <= set(words)
    assert len(words) < 20
    assert [words[query] for query, _, _ in links] == ["word40", "word42"]


def test_hostile_words_are_text(demo_results, monkeypatch):
    words = ["<script>alert(1)</script>", "a\u202eb\x00c", "&amp;"]
    weights = [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    monkeypatch.setattr(type(demo_results.kept), "strongest", lambda *_: [kept(words, weights)])
    svg = drawing(demo_results, "3-9")
    assert {one.tag for one in svg.iter()} == {
        f"{SVG}{name}" for name in ("svg", "rect", "text", "path", "circle")
    }
    said = texts(svg)
    assert "<script>alert(1)</scrip…" in said
    assert "a·b·c" in said


def test_a_png_has_the_size_that_sites_ask_for(demo_results, tmp_path):
    data = demo_results.card("3-9", tmp_path / "card.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (1200, 630)


@pytest.mark.parametrize("name", ["card.jpg", "card", "card.html"])
def test_other_files_are_refused_before_anything_is_drawn(demo_results, tmp_path, name):
    with pytest.raises(ResultsError, match=r"must be a \.png or an \.svg file; got 'card"):
        demo_results.card("3-9", tmp_path / name)


def test_packs_hold_the_same_card(demo_results):
    packs = example_packs(demo_results)
    grid = unpack(packs["texts"])[0]["grid"]
    part = unpack(packs["head/3-9"])[0]["card"]
    assert part.replace(Cards.mark, grid) == Cards(demo_results).svg("3-9")


def test_a_folder_has_a_preview(demo_results, tmp_path):
    page = demo_results.report(tmp_path / "site", folder=True).read_text(encoding="utf-8")
    named = dict(re.findall(r'<meta property="([^"]+)" content="([^"]*)">', page))
    assert named["og:title"] == "demo on demo – Headscope"
    assert named["og:image"] == "card.png"
    assert (tmp_path / "site" / "card.png").stat().st_size > 5000
    assert "heads have a clear role" in named["og:description"]
