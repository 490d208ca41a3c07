"""Pages that hold their tables as packs of data are compared as those that hold them as HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from freeze.comparing import compare
from freeze.reading import packs_of

from headscope.page.document import Document, Section, Table
from headscope.page.html import page_html
from headscope.page.packs.pack import pack
from headscope.page.report import write_document

PAPER: dict[str, Any] = {"head": "3-9", "accuracy": 0.853, "holds": "yes", "seconds": 4.2}
PAPER |= {"fact": "24", "remark": "The mean is 3.13."}
HTML = """
<p>24 sentences. The mean is 3.13.</p>
<table><thead><tr><th>relation</th><th>head</th><th>accuracy</th><th>gain</th></tr></thead>
<tr><td>det</td><td>3-9</td><td>{accuracy}</td><td>0.500</td></tr>
<tr><td>dobj</td><td>2-1</td><td>70.1</td><td>0.500</td></tr>
<tr><td>amod</td><td>1-4</td><td>33.0</td><td>0.500</td></tr></table>
<table><thead><tr><th>claim</th><th>holds</th></tr></thead>
<tr><td>Some head has 0.5</td><td>{holds}</td></tr></table>
<table><thead><tr><th>run</th><th>texts</th><th>seconds</th></tr></thead>
<tr><td>survey</td><td>12</td><td>9</td></tr></table>
<script type="application/json" data-for="chart-x">{{"datasets": {{"a": [{{"x": 1}}]}}}}</script>
"""


def write_paper(folder: Path, **changes: Any) -> Path:
    """Write a folder with a paper's page."""
    values = PAPER | changes
    rows = [
        # A column of equal numbers is not drawn on the page of data; its note says what it holds.
        {"relation": "det", "head": values["head"], "accuracy": values["accuracy"], "gain": 0.5},
        {"relation": "dobj", "head": "2-1", "accuracy": 0.701, "gain": 0.5},
        {"relation": "amod", "head": "1-4", "accuracy": 0.33, "gain": 0.5},
    ]
    claims = [{"claim": "Some head has 0.5", "holds": values["holds"]}]
    runs = [{"run": "survey", "texts": 12, "seconds": values["seconds"]}]
    document = Document(
        "demo",
        "A model",
        facts=[(values["fact"], "sentences")],
        remarks=[values["remark"]],
        verdicts=[values["holds"]],
        sections=[
            Section("syntax", "Syntax", tables=[Table(rows)]),
            Section("claims", "Claims", tables=[Table(claims)]),
        ],
        runs=Table(runs),
    )
    folder.mkdir()
    write_document(document, folder / "paper.html")
    return folder


def test_a_page_of_a_paper_agrees_with_itself_run_at_another_time(tmp_path):
    assert compare(write_paper(tmp_path / "a"), write_paper(tmp_path / "b", seconds=77.0))


@pytest.mark.parametrize(
    "change",
    [
        {"accuracy": 0.854},
        {"head": "3-8"},
        {"holds": "undecided"},
        {"fact": "25"},
        {"remark": "The mean is 3.14."},
    ],
)
def test_what_changed_in_the_page_of_a_paper_is_found(tmp_path, change):
    assert not compare(write_paper(tmp_path / "a"), write_paper(tmp_path / "b", **change))


def test_a_page_in_html_is_compared_with_one_of_data(tmp_path, capsys):
    new = write_paper(tmp_path / "new")
    for number, (accuracy, holds) in enumerate([("85.3", "yes"), ("85.2", "yes"), ("85.3", "no")]):
        (tmp_path / str(number)).mkdir()
        text = HTML.format(accuracy=accuracy, holds=holds)
        (tmp_path / str(number) / "paper.html").write_text(text)
    assert compare(tmp_path / "0", new)
    assert "1 × html file: its charts" in capsys.readouterr().out, "what is skipped is listed"
    assert not compare(tmp_path / "1", new)
    assert not compare(tmp_path / "2", new)


def test_numbers_in_the_atlas_of_a_page_are_compared_by_their_labels(tmp_path):
    def write(folder, ids, values):
        document = {"statistics": [{"id": name, "n": 7} for name in ids]}
        content = pack(document, {"value": np.array(values, np.float32)[:, None, None]})
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "r.html").write_text(page_html({"title": "x"}, {"atlas": content}))
        return tmp_path / folder

    old = write("old", ["a", "b"], [0.5, 0.25])
    assert packs_of(old / "r.html")["atlas"][1]["value"].ravel().tolist() == [0.5, 0.25]
    assert compare(old, write("other order", ["b", "new", "a"], [0.25, 9.0, 0.5]))
    assert compare(old, write("rounded", ["a", "b"], [np.nextafter(np.float32(0.5), 1), 0.25]))
    assert not compare(old, write("moved", ["a", "b"], [0.5001, 0.25]))
    assert not compare(old, write("missing", ["a"], [0.5]))
