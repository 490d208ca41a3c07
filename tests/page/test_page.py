"""The report as text: everything is in it, every text escaped, nothing fetched."""

from __future__ import annotations

import json
import math
import re
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest

from headscope.errors import UserError
from headscope.figures import gallery, script_json
from headscope.page import render, statistics, write_report
from headscope.page.document import (
    WIDE,
    Document,
    Plot,
    Section,
    Table,
    cell_text,
    render_document,
    spec,
)
from headscope.page.statistics import head_rows
from headscope.results import Atlas
from page.samples import made_results, made_values

HOSTILE = (
    """<script>alert(1)</script>{{7*7}}{% raw %}"'</script><!-- & <img src=x onerror=alert(2)>"""
)


class Reader(HTMLParser):
    """Elements and texts as a browser would find them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.stack: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "img", "link"):
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.stack:
            self.texts.setdefault(self.stack[-1], []).append(data)


@cache
def page(kind: str) -> str:
    """Return the page of hand-made results without the scripts (Vega and ours) at its end."""
    results = {
        "plain": made_results,
        "hostile": hostile,
        "causal": partial(made_results, causal=True),
    }[kind]()
    return render(results).rpartition('<script type="module">')[0]


def rows(html: str, table: int) -> list[list[str]]:
    """The cells of a table's body, as text."""
    body = html.split("<tbody>")[table + 1].split("</tbody>")[0]
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in body.split("</tr>")[:-1]
    ]


def hostile() -> Atlas:
    plain: dict[str, Any] = made_results().provenance
    poisoned = {
        "settings": plain["settings"] | {"long": HOSTILE, HOSTILE: HOSTILE},
        "versions": {"python": HOSTILE},
        "created": HOSTILE,
        "counts": plain["counts"]
        | {"dropped": [HOSTILE], "nonfinite": 1, "nonfinite_examples": [HOSTILE]},
    }
    results = made_results(model=HOSTILE, corpus=HOSTILE, **poisoned)
    about = results.provenance
    about["model"] |= {"type": HOSTILE, "stack": HOSTILE, "revision": HOSTILE}
    return Atlas.build(results.sums(), about)


def test_no_name_can_add_an_element_to_the_page() -> None:
    harmless, attacked = Reader(page("plain")), Reader(page("hostile"))
    extra = [tag for tag, _ in attacked.elements]
    for tag, _ in harmless.elements:
        extra.remove(tag)
    assert sorted(extra) == [
        "b",
        "li",
        "li",
        "span",
    ]  # the fact and the remark about an example that was not finite
    assert all(
        "onerror" not in attributes and "src" not in attributes
        for _, attributes in attacked.elements
    )


def test_names_are_shown_literally() -> None:
    found = Reader(page("hostile"))
    assert "".join(found.texts["h1"]) == HOSTILE
    assert f"every attention head, on {HOSTILE}" in "".join(found.texts["p"])
    assert HOSTILE in "".join(found.texts["title"])
    assert HOSTILE in "".join(found.texts["li"])
    assert json.loads("".join(found.texts["pre"])) == hostile().provenance


def test_templates_in_names_are_not_run() -> None:
    html = page("hostile")
    assert "{{7*7}}" in html
    assert "49alert" not in html.replace("{{7*7}}", "")
    assert not re.search(r"</script>49", html)


def test_figures_in_the_page_cannot_end_their_script() -> None:
    html = page("hostile")
    specs = re.findall(
        r'<script type="application/json" class="spec"[^>]*>(.*?)</script>', html, flags=re.DOTALL
    )
    assert len(specs) == len(list(gallery(hostile())))
    for text in specs:
        assert not set("<>&") & set(text)
        assert HOSTILE.rsplit("/", 1)[-1] in json.loads(text)["title"]["subtitle"][0]


@pytest.mark.parametrize(
    "text", ["</script>", "<!--<script>", "]]>", "\u2028", 'quote " and \\ backslash', "é漢🙂"]
)
def test_text_in_a_script_is_safe_and_comes_back_whole(text: str) -> None:
    written = str(script_json({"text": text}))
    assert not set("<>&\u2028") & set(written)
    assert json.loads(written) == {"text": text}


def test_the_page_asks_for_nothing_from_outside() -> None:
    elements = Reader(page("plain")).elements
    for tag, attributes in elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not attributes.keys() & {"src", "srcset", "data"}
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"@import|url\(", page("plain"))


def test_links_lead_to_what_is_there() -> None:
    elements = Reader(page("plain")).elements
    there = {attributes["id"] for _, attributes in elements if "id" in attributes}
    links = {
        (attributes["href"] or "").removeprefix("#") for tag, attributes in elements if tag == "a"
    }
    assert links == {"summary", "figures", "heads", "provenance"}
    assert links <= there


def test_the_head_table_has_one_row_per_head_and_one_column_per_statistic() -> None:
    values = made_values(2, 3)
    table = head_rows(made_results())
    assert len(table[0]) == 1 + 3 + 9 + 3
    assert [row["head"] for row in table] == ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"]
    assert [
        row["attention to [SEP] from tokens other than [SEP] (0–1)"] for row in table
    ] == pytest.approx(values["special"][:, :, 1, 2].ravel().tolist(), rel=1e-9)


def test_the_summary_names_the_strongest_head_with_its_interval() -> None:
    values = made_values(2, 3)["position"][..., 0]
    layer, head = divmod(int(values.argmax()), 3)
    statistic, mean, strongest, best, interval, _, examples = rows(page("plain"), 0)[0]
    assert (statistic, strongest, examples) == (
        "attention to the previous token (0–1)",
        f"{layer + 1}-{head + 1}",
        "2",
    )
    assert (mean, best) == (f"{values.mean():.3f}", f"{values.max():.3f}")
    # Student's t of one degree of freedom, times the standard error of two examples 0.02 apart.
    error = 12.706204736 * 0.01
    assert interval == f"[{values.max() - error:.3f}, {values.max() + error:.3f}]"


def test_what_a_causal_model_does_not_have_is_a_dash() -> None:
    html = page("causal")
    summary = {row[0]: row[1:] for row in rows(html, 0)}
    assert "attention to the next token (0–1)" not in summary  # defined for no head
    assert "attention to [SEP] (0–1)" not in summary
    assert summary["attention to the previous token (0–1)"][0] != "–"
    columns = list(head_rows(made_results(causal=True))[0])
    column = columns.index("attention to the next token (0–1)")
    assert {row[column] for row in rows(html, 1)} == {"–"}
    assert not re.search(r"\bnan\b", html, flags=re.IGNORECASE)


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


def test_the_interval_of_a_share_lies_between_0_and_1() -> None:
    shares = [row[4] for row in rows(page("plain"), 0) if "(0–1)" in row[0]]
    ends = [float(end) for text in shares for end in re.findall(r"-?[\d.]+", text)]
    assert len(ends) == 2 * len(shares) > 0
    assert all(0 <= end <= 1 for end in ends)
    assert max(ends) == 1  # one that Student's interval puts above 1


def test_skipped_examples_are_counted_even_if_others_were_split() -> None:
    counts = made_results().provenance["counts"] | {
        "read": 10,
        "empty": 1,
        "too_long": 2,
        "split": 3,
        "truncated": 4,
        "used": 14,
        "seen": 14,
    }
    html = render(made_results(values={"entropy": made_values(2, 3)["entropy"]}, counts=counts))
    facts = re.findall(r"<li><b>(.*?)</b><span>(.*?)</span></li>", html)
    assert {text: value for value, text in facts} == {
        "layers × heads (bert, encoder)": "2 × 3",
        "examples used": "14",
        "skipped: empty or too long": "3",
        "truncated to 128 tokens": "4",
        "split into parts of at most 128 tokens": "3",
    }


def test_a_plot_of_many_layers_gets_the_whole_width() -> None:
    def wide(layers: int) -> set[str]:
        values = {
            name: array for name, array in made_values(layers, 16).items() if name == "entropy"
        }
        found = re.findall(
            r'<figure( class="wide")?><div class="chart" id="chart-([\w-]+)"',
            render(made_results(layers, 16, values=values)),
        )
        return {name for flag, name in found if flag}

    assert wide(12) == set()
    assert wide(24) == {"entropy"}
    assert 43 * 12 < WIDE < 43 * 24


def test_a_report_replaces_the_old_one_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("old")
    results = made_results(values={"entropy": made_values(2, 3)["entropy"]})
    assert write_report(results, path) == path
    assert path.read_text(encoding="utf-8") == render(results)
    assert [file.name for file in tmp_path.iterdir()] == ["x.html"]


def test_a_report_that_fails_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.html"
    path.write_text("old")

    def fail(_: object) -> str:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("headscope.page.document.render_document", fail)
    with pytest.raises(RuntimeError):
        write_report(made_results(), path)
    assert path.read_text() == "old"


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        write_report(made_results(), tmp_path / "file" / "x.html")


def test_a_report_of_one_measure_has_its_figures_only() -> None:
    html = render(made_results(values={"entropy": made_values(2, 3)["entropy"]}))
    assert set(re.findall(r'id="chart-([\w-]+)"', html)) == {"entropy", "heat-entropy"}


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
