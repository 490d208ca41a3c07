"""Documents of sections, tables and charts: numbers as people read them, every text escaped."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headscope.figures import heat_grid, heat_map, layer_scatter, ranked_bars, script_json
from headscope.page import render_document, schema, write_document, write_report
from headscope.page.document import Document, Plot, Section, Table, cell_text
from headscope.page.packs import pack, unpack
from headscope.page.packs import papers as statistics
from headscope.page.packs.sections import document_content, page_table
from page.samples import document_of, made_results
from page.test_report import Reader
from page.test_schema import problems


def rows(table: Table) -> list[list[str | None]]:
    """The cells of a table's body on a page."""
    document = Document("T", "t", sections=[Section("s", "S", tables=[table])])
    return document_of(render_document(document))["sections"][0]["tables"][0]["rows"]


@pytest.mark.parametrize(
    "text", ["</script>", "<!--<script>", "]]>", "\u2028", 'quote " and \\ backslash', "é漢🙂"]
)
def test_text_in_a_script_is_safe_and_comes_back_whole(text):
    written = str(script_json({"text": text}))
    assert not set("<>&\u2028") & set(written)
    assert json.loads(written) == {"text": text}


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.12345, "mean", "0.123"),
        (1.0, "share", "1.000"),
        (0.0, "share", "0.000"),
        (12, "heads", "12"),
        (1204, "words", "1,204"),
        (None, "mean", "–"),
        (math.nan, "mean", "–"),
        (0.0, "p", "<0.001"),
        (4.8e-66, "p corrected", "<0.001"),
        (1.0, "p", "1.000"),
        ("3-9", "head", "3-9"),
    ],
)
def test_cells_are_written_for_reading(value, column, text):
    assert cell_text(value, column) == text


def test_whole_numbers_among_measured_ones_keep_their_decimals():
    table = Table(
        [
            {"accuracy": 85.0, "distance": 2.0, "heads": 12.0, "mentions": 55, "p": 0.0},
            {"accuracy": 87.9, "distance": 2.5, "heads": 30.0, "mentions": 81.25, "p": 0.5},
            {"accuracy": math.nan, "distance": None, "heads": 31.0, "mentions": None, "p": 1.0},
        ]
    )
    assert rows(table) == [
        ["85.0", "2.000", "12", "55", "<0.001"],
        ["87.9", "2.500", "30", "81.2", "0.500"],
        ["–", "–", "31", "–", "1.000"],
    ]


def test_mentions_are_counted_without_decimals(monkeypatch):
    table = pd.DataFrame(
        [
            {"system": "nearest", "all": 0.487, "low": math.nan, "high": math.nan},
            {"system": "mentions", "all": 150.0, "low": math.nan, "high": math.nan},
        ]
    )
    monkeypatch.setattr(statistics, "antecedent_table", lambda results: table)
    table = Table(statistics.antecedent_rows(made_results()))
    assert rows(table) == [["nearest", "0.487", "–"], ["mentions", "150", "–"]]


def test_a_column_of_equal_numbers_is_a_sentence_below_the_table():
    several = [{"head": f"1-{n}", "rate": 1.0, "n": 5, "mean": n / 7} for n in (1, 2, 3)]
    table = page_table(Table(several, note="By texts."))
    assert [column["title"] for column in table["columns"]] == ["head", "n", "mean"]
    assert table["note"] == "By texts. rate is 1.000 in every row."
    assert [column["title"] for column in page_table(Table(several[:2]))["columns"]] == [
        *("head", "rate", "n", "mean")
    ]


def by_head(values: list[list[float]]) -> xr.DataArray:
    layers, heads = np.shape(values)
    where = {"layer": np.arange(layers) + 1, "head": np.arange(heads) + 1}
    return xr.DataArray(values, where, ("layer", "head"))


GRID = by_head([[0.5, 0.25, 0.125], [0.1, 0.2, np.nan]])


def content(*charts: Any, shape: tuple[int, int] = (2, 3)) -> tuple[list[Any], dict[str, Any]]:
    """The plots of a document and its arrays, as a page is given them."""
    plots = [Plot(f"p{number}", "P", "said", chart) for number, chart in enumerate(charts)]
    document = Document("T", "t", sections=[Section("s", "S", plots=plots)])
    made, arrays = unpack(pack(*document_content(document, shape)))
    assert problems(made, schema.PageDocument, "document") == []
    return made["sections"][0]["plots"], arrays


def test_charts_of_heads_reach_the_page_as_numbers():
    looks = {"title": "P", "subtitle": "demo on texts", "unit": "share of attention, 0–1"}
    points = layer_scatter({"a": GRID, "b": 2 * GRID}, line=3 * GRID, line_name="even", **looks)
    squares = heat_map(GRID, low=GRID - 0.1, high=GRID + 0.1, **looks)
    (layers, grid), arrays = content(points, squares)
    assert (layers["kind"], layers["parts"], layers["about"]) == (
        *("layers", ["a", "b"], "demo on texts"),
    )
    assert layers["lines"][0]["name"] == "even"
    assert layers["lines"][0]["values"] == pytest.approx([0.875, 0.45])
    assert (grid["kind"], grid["value"], grid["diverging"]) == ("grids", "share", False)
    np.testing.assert_allclose(arrays["chart/p0"], np.stack([GRID, 2 * GRID]), rtol=1e-6)
    np.testing.assert_allclose(arrays["chart/p1/low"][0], GRID - 0.1, rtol=1e-6)


def test_grids_keep_their_frames_and_their_scales():
    change = xr.concat([GRID, -GRID], "task").assign_coords(task=["one", "cls"])
    grids = heat_grid(change, "task", title="P", diverging=True, framed=change > 0.2)
    (plot,), arrays = content(grids)
    assert (plot["parts"], plot["diverging"], plot["shared"]) == (["one", "[CLS]"], True, False)
    assert arrays["chart/p0/framed"].tolist() == (change > 0.2).values.astype(int).tolist()


def test_rows_of_relations_reach_the_page_as_numbers():
    row = {"relation": "det", "head": "3-9", "accuracy": 0.9, "low": 0.8, "high": 0.95}
    table = pd.DataFrame([row | {"baseline": np.nan}])
    (plot,), _ = content(ranked_bars(table, label="relation", title="P"))
    assert plot["rows"] == [
        {"name": "det", "beside": "3-9", "value": 0.9, "low": 0.8, "high": 0.95, "baseline": None}
    ]


def test_other_charts_and_those_of_other_models_are_drawn_beforehand():
    own = alt.Chart(alt.InlineData(values=[{"x": 1}]), title="P").mark_point().encode(x="x:Q")
    heat = heat_map(GRID, title="P", subtitle="another model")
    plots, arrays = content(own, heat, heat.properties(width=90), shape=(6, 12))
    assert [plot["kind"] for plot in plots] == ["picture"] * 3
    assert [plot["about"] for plot in plots] == ["", "another model", "another model"]
    assert not any(">P<" in plot["svg"] or "another model" in plot["svg"] for plot in plots)
    assert not arrays


def test_a_document_holds_its_atlas_and_one_without_results_none(tmp_path):
    results = made_results()
    page = render_document(Document("T", "t", atlases=[results], label="Mine"))
    assert sorted(Reader(page).packs()) == ["atlas", "document"]
    assert sorted(Reader(render_document(Document("T", "t"))).packs()) == ["document"]


def test_pages_about_the_same_weights_link_to_each_other(tmp_path):
    weights = made_results().provenance["model"] | {"weights": "abc"}
    results = made_results(**{"model": "made"}).described(
        made_results().provenance | {"model": weights}
    )
    paper = write_document(
        Document("T", "t", atlases=[results], label="Clark et al. 2019"),
        tmp_path / "clark 2019" / "page.html",
    )
    write_report(made_results(), tmp_path / "other.html")  # of other weights
    (tmp_path / "plain.html").write_text("<meta name=headscope content='x'>")
    report = write_report(results, tmp_path / "report.html")
    assert beside(report) == [{"title": "Clark et al. 2019", "href": "clark%202019/page.html"}]
    write_document(Document("T", "t", atlases=[results], label="Clark et al. 2019"), paper)
    assert beside(paper) == [{"title": "Report", "href": "../report.html"}]


def beside(page: Path) -> Any:
    reader = Reader(page.read_text(encoding="utf-8"))
    names = [attributes.get("id") for _, attributes in reader.elements]
    return json.loads(reader.texts[names.index("headscope-boot")])["beside"]
