"""Build the notebooks of docs/notebooks from the Python files beside them.

    python tools/makers/notebooks.py            # all
    python tools/makers/notebooks.py tour       # one

A source is a Python file of cells: ``# %% [markdown]`` begins a text, ``# %%`` begins code. The
notebook is run in a fresh kernel and stored with its outputs, without the state of widgets: those
who open it see HTML and SVG until they run it.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
KEPT = ("text/html", "image/svg+xml", "image/png", "text/plain")
"""Types of output that are stored, the best first; of these only the best, and text."""
# A widget is shown after its HTML, which is what is stored.
WIDGET = "application/vnd.jupyter.widget-view+json"
STILL = re.compile(r'<div class="headscope-still-\w+">')
TIMEOUT = 600
MARK = re.compile(r"^# %%(?P<kind>[^\n]*)\n", re.MULTILINE)


def sources() -> list[Path]:
    """The Python files that notebooks are made of."""
    return sorted(FOLDER.glob("*.py"))


def read_cells(text: str) -> list[tuple[str, str]]:
    r"""The cells of a source: "markdown" or "code", and what stands in them.

    >>> read_cells("# %% [markdown]\n# # Title\n# Text.\n\n# %%\n1 + 1\n")
    [('markdown', '# Title\nText.'), ('code', '1 + 1')]
    """
    _, *parts = MARK.split(text)
    cells = []
    for kind, body in zip(parts[::2], parts[1::2], strict=True):
        if "markdown" in kind:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().split("\n")]
            cells.append(("markdown", "\n".join(lines)))
        else:
            cells.append(("code", body.strip()))
    return cells


def blank(path: Path) -> Any:
    """The notebook of a source, not run yet."""
    book: Any = nbformat.v4.new_notebook()
    for number, (kind, body) in enumerate(read_cells(path.read_text(encoding="utf-8")), 1):
        make = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
        book.cells.append(make(body, id=f"cell-{number}"))
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return book


def run(book: Any) -> None:
    """Run a notebook in a new folder, without the hub; an error in a cell is raised."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(book, timeout=TIMEOUT, kernel_name="python3")
        client.resources["metadata"] = {"path": folder}
        client.execute(env=environment)


def trim(book: Any) -> None:
    """Keep of each output its best form and its text; drop times and the state of widgets."""
    book.metadata.pop("widgets", None)
    for cell in book.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [
                _trimmed(one)
                for one in cell.outputs
                if one.get("name") != "stderr"
                and set(one.get("data", "?")) != {WIDGET, "text/plain"}
            ]


def _trimmed(output: Any) -> Any:
    if "data" not in output:
        return output
    best = next((kind for kind in KEPT if kind in output.data), None)
    kept = {kind: output.data[kind] for kind in dict.fromkeys((best, "text/plain")) if kind}
    if "text/html" in kept:  # the same in every build
        kept["text/html"] = STILL.sub("<div>", kept["text/html"])
    if "image/svg+xml" in kept:
        kept["image/svg+xml"] = slim(kept["image/svg+xml"])
    if best != "text/plain":  # the text is for those who see neither HTML nor pictures
        kept["text/plain"] = str(kept.get("text/plain", ""))[:200]
    output.data = kept
    output.metadata = {}
    return output


def slim(svg: str) -> str:
    """An SVG without the labels of its marks, in whole hundredths of a pixel: half the size.

    >>> slim('<path aria-label="x: 1" role="img" d="M1.23456,2"/>')
    '<path d="M1.23,2"/>'
    """
    svg = re.sub(r' (aria-[a-z]+|role)="[^"]*"', "", svg)
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", svg)


def build(path: Path) -> Path:
    """Run a source and write its notebook."""
    book = blank(path)
    run(book)
    trim(book)
    target = path.with_suffix(".ipynb")
    nbformat.validate(book)
    nbformat.write(book, target)
    return target


def main(names: list[str]) -> None:
    """Build all notebooks, or those that are named."""
    for path in sources():
        if not names or path.stem in names:
            begun, used = time.monotonic(), os.times()
            target = build(path)
            took, now = time.monotonic() - begun, os.times()
            busy = now.children_user - used.children_user
            size = target.stat().st_size / 1000
            print(f"{target.name}: {took:.0f} s ({busy:.0f} s of work), {size:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
