"""The notebooks run without errors or a network, and are stored as they were built."""

from __future__ import annotations

import importlib.util
import itertools
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from makers import notebooks

from docs.pages import DOCS, ROOT, read
from docs.test_site import FROM_ELSEWHERE

NAMES = ["clark2019", "jo2020", "kovaleva2019", "pande2021", "tour"]
LARGEST = 300_000
OFFLINE = """
import socket

def refuse(*_, **__):
    raise OSError("the notebook asked for the network")

_connect = socket.socket.connect
def connect(self, address):
    here = not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1", "localhost")
    return _connect(self, address) if here else refuse()

socket.socket.connect = connect
socket.getaddrinfo = refuse
"""


def stored(name: str) -> Any:
    return nbformat.read(notebooks.FOLDER / f"{name}.ipynb", as_version=4)


def test_there_is_a_tour_and_a_notebook_for_every_paper():
    assert [path.stem for path in notebooks.sources()] == NAMES


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name == "tour" else pytest.param(name, marks=pytest.mark.long) for name in NAMES],
)
def test_a_notebook_runs_without_errors_and_without_a_network(name):
    book = notebooks.blank(notebooks.FOLDER / f"{name}.py")
    book.cells.insert(0, nbformat.v4.new_code_cell(OFFLINE))
    notebooks.run(book)  # an error in a cell is raised
    # What is shown with the widget is also there without it, as an output of its own.
    for cell in book.cells:
        outputs = [output.get("data", {}) for output in cell.get("outputs", [])]
        for before, data in itertools.pairwise(outputs):
            if notebooks.WIDGET in data:
                assert "headscope-still-" in before["text/html"]


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_has_the_cells_of_its_source(name):
    source = notebooks.read_cells(read(notebooks.FOLDER / f"{name}.py"))
    cells = [(cell.cell_type, cell.source) for cell in stored(name).cells]
    assert cells == source, f"run: python tools/makers/notebooks.py {name}"


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_is_small_and_its_outputs_load_nothing(name):
    book = stored(name)
    assert (notebooks.FOLDER / f"{name}.ipynb").stat().st_size < LARGEST
    assert "widgets" not in book.metadata
    shown = 0
    for cell in book.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            for kind, value in output.get("data", {}).items():
                assert kind in notebooks.KEPT
                assert not FROM_ELSEWHERE.search(value)
                assert "<script" not in value
                shown += 1
    assert shown > 5


@pytest.mark.parametrize("name", NAMES)
def test_no_stored_notebook_names_the_computer_it_was_built_on(name):
    text = read(notebooks.FOLDER / f"{name}.ipynb")
    assert not re.search(r"/(?:tmp|home|root|work)/", text)


def pages() -> ModuleType:
    """The module that makes pages of the notebooks."""
    spec = importlib.util.spec_from_file_location("notebook_pages", DOCS / "notebook_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_has_the_code_the_outputs_and_the_pictures_as_files():
    output = nbformat.v4.new_output
    html = {"text/html": "<style>p{}</style><table>\n\n<tr></tr></table>"}
    outputs = [
        output("stream", text="a < b\n"),
        output("display_data", data={"image/svg+xml": "<svg/>", "text/plain": "x"}),
        output("execute_result", data=html),
    ]
    text = nbformat.v4.new_markdown_cell("# Title\n\nFirst words.")
    code = nbformat.v4.new_code_cell("draw()", outputs=outputs)
    book = nbformat.v4.new_notebook(cells=[text, code])
    page, pictures = pages().markdown(book, "small")
    assert page.startswith("# Title\n\n[Download this notebook](small.ipynb).\n\nFirst words.")
    assert "```python\ndraw()\n```" in page
    assert "a &lt; b" in page
    assert pictures == {"small-1.svg": "<svg/>"}
    assert "![Figure](small-1.svg)" in page
    assert "<table> <tr></tr></table>" in page
    assert "<style" not in page


@pytest.mark.parametrize("name", NAMES)
def test_the_links_of_a_notebook_lead_to_pages(name):
    texts = [cell.source for cell in stored(name).cells if cell.cell_type == "markdown"]
    targets = re.findall(r"\]\((\.\./[^)#\s]+)", "\n".join(texts))
    assert targets
    missing = [target for target in targets if not (DOCS / "notebooks" / target).exists()]
    assert missing == []


def test_contributing_says_how_notebooks_are_built() -> None:
    assert "tools/makers/notebooks.py" in read(Path(ROOT) / "CONTRIBUTING.md")


def test_a_source_is_read_as_cells_of_text_and_code():
    text = "# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nx = 1\n\nx\n\n# %%\ny\n"
    expected = [("markdown", "# Title\n\nWords."), ("code", "x = 1\n\nx"), ("code", "y")]
    assert notebooks.read_cells(text) == expected


def test_of_an_output_the_best_form_and_a_short_text_are_stored():
    svg = '<svg><path aria-label="x: 1" role="img" d="M1.23456,2"/></svg>'
    view = "application/vnd.jupyter.widget-view+json"
    output = nbformat.v4.new_output
    outputs = [
        output("stream", name="stderr", text="a warning"),
        output("display_data", data={view: {}, "text/html": "<p>x</p>", "text/plain": "x" * 999}),
        output("display_data", data={view: {}, "text/plain": ""}),  # the widget after its HTML
        output("display_data", data={"image/svg+xml": svg, "text/plain": "chart"}),
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=outputs)])
    book.metadata["widgets"] = {"state": {}}
    notebooks.trim(book)
    first, second = book.cells[0].outputs
    assert set(first.data) == {"text/html", "text/plain"}
    assert len(first.data["text/plain"]) == 200
    assert second.data["image/svg+xml"] == '<svg><path d="M1.23,2"/></svg>'
    assert "widgets" not in book.metadata
