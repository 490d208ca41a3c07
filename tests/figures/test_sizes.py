"""Figures for print: as wide as asked, in a font that is installed, with or without titles."""

from __future__ import annotations

import re

import altair as alt
import pandas as pd
import pytest

from figures.made_roles import made, random_scores
from headscope.errors import UserError
from headscope.figures import all_figures, find_figure, gallery, save_chart
from headscope.figures.sizes import installed_fonts, length
from page.samples import made_results

RESULTS = {item.name: made_results() for item in gallery(made_results())}
RESULTS |= {item.name: made(random_scores()) for item in gallery(made(random_scores()))}
ASKED = 237.6  # 3.3 inches in points


def page_size(pdf: bytes) -> tuple[float, float]:
    """The size of a PDF's page, in points."""
    (box,) = re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    return float(box[0]), float(box[1])


@pytest.mark.parametrize("name", RESULTS)
def test_a_figure_is_as_wide_as_asked_and_has_its_fonts(name, tmp_path):
    chart = find_figure(name).draw(RESULTS[name])
    pdf = save_chart(chart, tmp_path / "x.pdf", width="3.3in").read_bytes()
    assert page_size(pdf)[0] == pytest.approx(ASKED, abs=0.01)
    assert b"/FontFile" in pdf


def test_the_widths_of_all_families_of_figures_are_tried():
    assert len(RESULTS) > len(all_figures()) / 3


@pytest.mark.parametrize(
    ("width", "height", "points"),
    [(150, None, (150, None)), (None, "5cm", (None, 141.732)), ("84mm", "60mm", (238.11, 170.079))],
)
def test_widths_and_heights_are_exact_in_any_unit(width, height, points, tmp_path):
    chart = find_figure("entropy").draw(made_results())
    path = save_chart(chart, tmp_path / "x.pdf", width=width, height=height)
    for size, expected in zip(page_size(path.read_bytes()), points, strict=True):
        assert expected is None or size == pytest.approx(expected, abs=0.01)


def test_labels_keep_the_size_of_print_where_plots_can_shrink(tmp_path):
    chart = find_figure("entropy").draw(made_results(12, 12))
    svg = save_chart(chart, tmp_path / "x.svg", width="3.3in").read_text()
    (box,) = re.findall(r'viewBox="([^"]+)"', svg)
    assert ASKED / float(box.split()[2]) == pytest.approx(0.75, abs=0.05)  # 11 pixels: 8 points


def test_a_title_is_wrapped_or_left_out(tmp_path):
    chart = find_figure("special").draw(made_results())
    title = "Attention to special tokens"
    assert f">{title}<" in save_chart(chart, tmp_path / "x.svg").read_text()
    narrow = save_chart(chart, tmp_path / "y.svg", width=150).read_text()
    assert f">{title}<" not in narrow
    assert ">Attention to" in narrow
    assert ">Attention to" not in save_chart(chart, tmp_path / "z.svg", title=False).read_text()


def test_a_font_that_is_not_installed_is_an_error_that_names_installed_ones(tmp_path):
    chart = find_figure("entropy").draw(made_results())
    with pytest.raises(UserError, match=r"^the font 'Nowhere Sans' is not installed") as caught:
        save_chart(chart, tmp_path / "x.pdf", font="Nowhere Sans")
    assert installed_fonts()[0] in str(caught.value.hint)
    assert not (tmp_path / "x.pdf").exists()


def test_an_installed_font_is_embedded(tmp_path):
    font = installed_fonts()[-1]
    chart = find_figure("entropy").draw(made_results())
    pdf = save_chart(chart, tmp_path / "x.pdf", font=font).read_bytes()
    assert b"/FontFile" in pdf
    assert font.replace(" ", "").encode() in pdf.replace(b" ", b"").replace(b"-", b"")


def test_a_pdf_without_words_is_an_error(tmp_path):
    frame = pd.DataFrame({"x": [1]})
    chart = alt.Chart(frame).mark_point().encode(x="x:Q").configure(font="Nowhere Sans")
    with pytest.raises(UserError, match=r"^the figure's words cannot be drawn"):
        save_chart(chart, tmp_path / "x.pdf")


@pytest.mark.parametrize("text", ["wide", "3 inches", "-2in", "0", "1e9in"])
def test_what_is_no_length_is_an_error(text):
    with pytest.raises(UserError, match=r"must be a length from 0.5in to 100in") as caught:
        length(text, "height")
    assert repr(text) in caught.value.message
