"""The gallery page of the docs: every figure is on it, with a picture and how to draw it."""

import re
from pathlib import Path

import pytest
from makers import gallery

from headscope.figures import FIGURES, find_figure

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
NAMES = [entry.name for entry in FIGURES.entries() if not entry.own]


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_on_the_page_with_its_picture_and_commands(name):
    text = PAGE.read_text(encoding="utf-8")
    (entry,) = re.findall(rf"^### `{name}`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert f"(../images/gallery/{name}.png)" in entry
    assert f"--figure {name}`" in entry
    assert f'atlas.figure("{name}")' in entry
    assert find_figure(name).caption in entry
    assert (PICTURES / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_is_what_the_tool_writes():
    assert PAGE.read_text(encoding="utf-8") == gallery.page()


def test_no_picture_is_left_over_and_all_are_small():
    pictures = list(PICTURES.glob("*.png"))
    assert {picture.stem for picture in pictures} == set(NAMES)
    assert sum(picture.stat().st_size for picture in pictures) < 2_000_000
