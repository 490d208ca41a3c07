"""Figures as files: each can be drawn, in every format, whole, and without a network."""

from __future__ import annotations

import re
import struct
import zlib

import numpy as np
import pytest
import vl_convert

from headscope.errors import UserError
from headscope.figures import FORMATS, find_figure, gallery, save_chart, vega_bundle
from headscope.figures.save import compress_png, save_in_formats
from page.samples import made_results
from refusals import refusal

NAMES = [item.name for item in gallery(made_results())]


def entropy_chart():
    return find_figure("entropy", made_results()).draw(made_results())


def pixels(png: bytes) -> np.ndarray:
    """Return the rows of an 8-bit RGB(A) PNG, still filtered.

    That is enough to see that something is drawn. The checksum of every chunk is verified.
    """
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, header = 8, b"", b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        end = at + 8 + length
        body, (check,) = png[at + 8 : end], struct.unpack(">I", png[end : end + 4])
        assert check == zlib.crc32(kind + body)
        header = body if kind == b"IHDR" else header
        data += body if kind == b"IDAT" else b""
        at = end + 4
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(data), np.uint8)
    return rows.reshape(height, 1 + width * {2: 3, 6: 4}[colour])


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_of_the_embedded_model_is_drawn(name, demo_results, tmp_path):
    path = save_chart(find_figure(name, demo_results).draw(demo_results), tmp_path / f"{name}.png")
    rows = pixels(path.read_bytes())
    assert rows.shape[0] > 300
    assert rows.shape[1] > 3 * 600
    # A blank row is all zeros after filtering (each byte equals its neighbour); a drawn one is not.
    drawn = (np.count_nonzero(rows[:, 1:], axis=1) > 12).mean()
    assert drawn > 0.5


def test_an_empty_chart_does_not_pass_for_drawn(tmp_path):
    import altair as alt
    import pandas as pd

    empty = alt.Chart(pd.DataFrame({"x": []}), width=400, height=400)
    blank = empty.mark_point().configure_view(stroke=None)
    rows = pixels(save_chart(blank, tmp_path / "blank.png").read_bytes())
    assert (np.count_nonzero(rows[:, 1:], axis=1) > 12).mean() < 0.5


def test_a_png_is_twice_as_fine_as_the_screen_by_default(tmp_path):
    chart = entropy_chart()
    one, two = (
        pixels(save_chart(chart, tmp_path / f"{scale}.png", scale=scale).read_bytes()).shape[0]
        for scale in (1.0, 2.0)
    )
    assert two == pytest.approx(2 * one, abs=2)
    assert pixels(save_chart(chart, tmp_path / "default.png").read_bytes()).shape[0] == two


def test_a_png_is_compressed_and_every_pixel_stays_the_same(tmp_path):
    chart = entropy_chart()
    chart.save(str(tmp_path / "fast.png"), scale_factor=2.0)
    fast = (tmp_path / "fast.png").read_bytes()
    small = save_chart(chart, tmp_path / "small.png").read_bytes()
    np.testing.assert_array_equal(pixels(small), pixels(fast))
    assert len(small) < 0.6 * len(fast)
    assert compress_png(small) == small


def test_a_chart_is_drawn_once_for_several_files(tmp_path, monkeypatch):
    chart = entropy_chart()
    alone = [save_chart(chart, tmp_path / f"alone.{kind}").read_bytes() for kind in ("png", "svg")]
    drawn, draw = [], vl_convert.vegalite_to_svg
    monkeypatch.setattr(
        vl_convert, "vegalite_to_svg", lambda spec: drawn.append(spec) or draw(spec)
    )
    files = save_in_formats(chart, [tmp_path / f"all.{kind}" for kind in FORMATS])
    assert [path.read_bytes() for path in files[:2]] == alone
    assert [path.suffix for path in files] == [f".{kind}" for kind in FORMATS]
    assert len(drawn) == 1


def test_a_wrong_ending_among_several_files_writes_none(tmp_path):
    with pytest.raises(UserError, match=r"got '.gif' instead"):
        save_in_formats(None, [tmp_path / "x.png", tmp_path / "x.gif"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_every_svg_has_its_title_and_every_head(name, tmp_path):
    results = made_results(layers=3, heads=4)
    item = find_figure(name, results)
    svg = save_chart(item.draw(results), tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "made on texts.txt, 8 examples" in svg
    marks = len(re.findall(r'aria-roledescription="(?:point|rect mark)"', svg))
    assert marks in (12, 24, 36)  # one, two or three statistics of twelve heads


def test_an_html_figure_contains_its_scripts(tmp_path):
    html = save_chart(entropy_chart(), tmp_path / "x.html").read_text(encoding="utf-8")
    assert len(html) > 300_000  # Vega itself
    assert re.findall(r"<script[^>]*\bsrc\b", html) == []
    assert re.findall(r"<link[^>]*\bhref\b", html) == []
    assert re.findall(r"\bimport\s*\(?\s*[\"']https?:", html) == []


def test_a_pdf_is_whole_and_folders_on_the_way_are_made(tmp_path):
    pdf = save_chart(entropy_chart(), tmp_path / "a" / "b" / "x.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")


def test_an_unknown_ending_is_refused(tmp_path):
    error = refusal(UserError, save_chart, entropy_chart(), tmp_path / "x.gif")
    message = "the figure's format must be one of png, svg, pdf, html; got '.gif' instead"
    assert str(error) == f"{message}\nnext: name the file e.g. x.png"
    assert error.command == "give e.g. --format png"
    assert not (tmp_path / "x.gif").exists()


def test_the_formats_are_those_of_the_help():
    from headscope.cli.app import load_commands

    help = load_commands()["figures"].options["format"].words
    assert set(re.findall(r"\w+", help)) - {"or"} == set(FORMATS)


def test_vega_is_put_together_once_and_then_read_from_the_cache(tmp_path, monkeypatch):
    fresh = vega_bundle.__wrapped__
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    made = vl_convert.javascript_bundle()
    assert fresh().replace("<\\/script", "</script") == made
    assert "</script" not in fresh()
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "another")
    assert fresh().replace("<\\/script", "</script") == made
    (kept,) = (tmp_path / "cache").iterdir()
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    assert fresh() == "another"  # a damaged script is never used


@pytest.mark.parametrize("place", ["off", "a file"])
def test_vega_needs_no_cache_folder(place, tmp_path, monkeypatch):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("HEADSCOPE_CACHE", "off" if place == "off" else str(tmp_path / place))
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "vega </script>")
    assert vega_bundle.__wrapped__() == "vega <\\/script>"
    assert [file.name for file in tmp_path.iterdir()] == ["a file"]
