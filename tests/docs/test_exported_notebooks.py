"""A notebook that was run, exported by nbconvert and opened without a network shows everything."""

from __future__ import annotations

import os
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from page.samples import demo_file

nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
pytestmark = [pytest.mark.page, pytest.mark.slow]
SHOWN = """[...document.querySelectorAll('[class^=headscope-still-]')].map((one) => ({
    text: one.innerText, height: one.offsetHeight,
    pictures: [...one.querySelectorAll('svg')].filter((svg) => svg.clientHeight > 100).length,
}))"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Results, a head and a text, each as the last value of a cell; widgets' state is stored."""
    file = demo_file(tmp_path_factory.getbasetemp())
    cells = [
        f"import headscope as hs\natlas = hs.Atlas.open({str(file)!r})\natlas",
        "atlas.head('3-9')",
        "hs.attention('demo', 'The dog that I saw barked.')",
    ]
    book: Any = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    folder = tmp_path_factory.mktemp("exported")
    client = NotebookClient(book, timeout=300, kernel_name="python3")
    client.resources["metadata"] = {"path": str(folder)}
    client.execute(env=os.environ | {"HF_HUB_OFFLINE": "1"})
    assert book.metadata["widgets"]  # otherwise nbconvert would leave them out by itself
    page, _ = nbconvert.HTMLExporter().from_notebook_node(book)
    path = folder / "exported.html"
    path.write_text(page, encoding="utf-8")
    return path


def test_without_a_network_every_output_is_there_as_html(browser, exported):
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(exported.as_uri())
    page.wait_for_timeout(1000)
    results, head, text = page.evaluate(SHOWN)
    context.close()
    assert "Atlas of demo" in results["text"]
    assert "Head 3-9" in head["text"]
    assert "Attention of demo" in text["text"]
    assert results["pictures"] == 1  # the atlas
    assert text["pictures"] == 12  # lines between words, of the strongest heads
    assert all(one["height"] > 200 for one in (results, head, text))
