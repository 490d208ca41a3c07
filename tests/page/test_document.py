"""Documents of sections, tables and charts: numbers as people read them, every text escaped."""

from __future__ import annotations

import json
import math
import re

import altair as alt
import pandas as pd
import pytest

from headscope.figures import script_json
from headscope.page.document import (
    Document,
    Plot,
    Section,
    Table,
    cell_text,
    render_document,
    spec,
)
from headscope.page.packs import papers as statistics
from page.samples import made_results


def rows(html: str, table: int) -> list[list[str]]:
    """The cells of a table's body, as text."""
    body = html.split("<tbody>")[table + 1].split("</tbody>")[0]
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in body.split("</tr>")[:-1]
    ]


@pytest.mark.parametrize(
    "text", ["</script>", "<!--<script>", "]]>", "\u2028", 'quote " and \\ backslash', "é漢🙂"]
)
def test_text_in_a_script_is_safe_and_comes_back_whole(text: str) -> None:
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
def test_cells_are_written_for_reading(value: object, column: str, text: str) -> None:
    assert cell_text(value, column) == text


def test_whole_numbers_among_measured_ones_keep_their_decimals() -> None:
    table = Table(
        [
            {"accuracy": 85.0, "distance": 2.0, "heads": 12.0, "mentions": 55, "p": 0.0},
            {"accuracy": 87.9, "distance": 2.5, "heads": 30.0, "mentions": 81.25, "p": 0.5},
            {"accuracy": math.nan, "distance": None, "heads": 31.0, "mentions": None, "p": 1.0},
        ]
    )
    html = render_document(Document("T", "t", sections=[Section("s", "S", tables=[table])]))
    assert rows(html, 0) == [
        ["85.0", "2.000", "12", "55", "&lt;0.001"],
        ["87.9", "2.500", "30", "81.2", "0.500"],
        ["–", "–", "31", "–", "1.000"],
    ]


def test_mentions_are_counted_without_decimals(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame(
        [
            {"system": "nearest", "all": 0.487, "low": math.nan, "high": math.nan},
            {"system": "mentions", "all": 150.0, "low": math.nan, "high": math.nan},
        ]
    )
    monkeypatch.setattr(statistics, "antecedent_table", lambda results: table)
    tables = [Table(statistics.antecedent_rows(made_results()))]
    html = render_document(Document("T", "t", sections=[Section("s", "S", tables=tables)]))
    assert rows(html, 0) == [["nearest", "0.487", "–"], ["mentions", "150", "–"]]


def test_a_chart_with_parts_side_by_side_gets_the_whole_width() -> None:
    one = alt.Chart(pd.DataFrame({"x": [1]}), width=80).mark_point().encode(x="x")
    plots = [
        Plot("one", "", "", one),
        Plot("above", "", "", alt.vconcat(one, one)),
        Plot("rows", "", "", alt.vconcat(alt.hconcat(one, one), alt.hconcat(one, one))),
    ]
    page = render_document(
        Document("t", "s", sections=[Section("figures", "Figures", plots=plots)], provenance="{}")
    )
    assert re.findall(r'<figure( class="wide")?><div class="chart" id="chart-([\w-]+)"', page) == [
        ("", "one"),
        ("", "above"),
        (' class="wide"', "rows"),
    ]


def test_a_plot_that_asks_for_the_whole_width_gets_it() -> None:
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}]), width=300).mark_point().encode(x="x:Q")
    assert not spec(Plot("mine", "Mine", "", chart))["wide"]
    assert spec(Plot("mine", "Mine", "", chart, wide=True))["wide"]
