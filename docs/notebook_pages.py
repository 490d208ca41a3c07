"""The notebooks as pages of the documentation, made of what is stored in them when it is built.

Nothing is run, and nothing is loaded from elsewhere: pictures become files beside the page.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

FOLDER = "notebooks"


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """Add a page for every notebook, and its pictures."""
    for notebook in sorted((Path(config.docs_dir) / FOLDER).glob("*.ipynb")):
        page, pictures = markdown(json.loads(notebook.read_text(encoding="utf-8")), notebook.stem)
        files.append(File.generated(config, f"{FOLDER}/{notebook.stem}.md", content=page))
        for name, svg in pictures.items():
            files.append(File.generated(config, f"{FOLDER}/{name}", content=svg))
    return files


def markdown(book: dict[str, Any], name: str) -> tuple[str, dict[str, str]]:
    """A notebook as Markdown, and its pictures by file name."""
    parts: list[str] = []
    pictures: dict[str, str] = {}
    for cell in book["cells"]:
        source = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            parts.append(_output(output, name, pictures))
    title, *rest = parts
    link = f"[Download this notebook]({name}.ipynb)."
    head, _, below = title.partition("\n")
    return "\n\n".join([head, link, below.strip(), *rest]), pictures


def _output(output: dict[str, Any], name: str, pictures: dict[str, str]) -> str:
    if output["output_type"] == "stream":
        return _plain(_text(output["text"]))
    data = {kind: _text(value) for kind, value in output["data"].items()}
    if "image/svg+xml" in data:
        file = f"{name}-{len(pictures) + 1}.svg"
        pictures[file] = data["image/svg+xml"]
        return f"![Figure]({file})"
    if "text/html" in data:
        # A block of HTML ends at a blank line of Markdown; pandas' own style is the notebook's.
        html = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.DOTALL)
        return '<div class="notebook-output">' + re.sub(r"\n\s*", " ", html) + "</div>"
    return _plain(data.get("text/plain", ""))


def _plain(text: str) -> str:
    return f'<pre class="notebook-output"><code>{escape(text.rstrip())}</code></pre>'


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
