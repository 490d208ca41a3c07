"""Write what follows from definitions in the package: the table of measures in the docs, and the
families of roles for the page's TypeScript.

    python tools/derive.py            # write them
    python tools/derive.py --check    # say which are not up to date
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from headscope.measures import MEASURES
from headscope.measures.roles import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- measures: written by tools/derive.py -->\n", "<!-- end of measures -->\n"
MOST = 6
"""Of a dimension with more labels, the first few are shown."""
NEEDS = {"lm": "a language-model head", "tree": "a tree", "frames": "frame links"}


def sentence(measure: Any) -> str:
    """The first sentence of a measure's documentation, without references to papers."""
    text = " ".join((inspect.getdoc(measure) or "").split())
    text = re.sub(r" \([A-Z]\w+ et al\.[^()]*\)", "", text)
    first = re.match(r"(.*?[a-z)\]`])\.(?= [A-Z0-9*`]|$)", text)
    said = first[1] if first else text.rstrip(".")
    said = re.sub(r"(?<!`)(\[(?:CLS|SEP)\])", r"`\1`", said.replace("``", "`"))
    return said.replace("|", r"\|")


def when(measure: Any) -> str:
    """When a survey computes a measure."""
    needs = " and ".join(NEEDS.get(name, name) for name in sorted(measure.needs, reverse=True))
    with_others = [
        f"`{name}`" for name in MEASURES if measure.name in MEASURES[name]().beside()
    ] + (["`--stack cross`"] if measure.cross else [])
    by_name = " or with ".join(["by name", ", ".join(with_others)][: 1 + bool(with_others)])
    parts = (f"needs {needs}" if needs else "", "" if measure.offered else by_name)
    return "; ".join(part for part in parts if part)


def labels(measure: Any) -> str:
    """The dimensions of a measure and their labels."""
    return "; ".join(
        f"{dim}: {', '.join(names[:MOST])}{' …' if len(names) > MOST else ''}" if names else dim
        for dim, names in measure.dims.items()
    )


def source(measure: Any) -> str:
    """The paper that a measure comes from."""
    return "" if measure.source == "Headscope" else str(measure.source)


def table(*columns: Any) -> str:
    """A table with a row per measure, in the order in which a survey lists them."""
    rows = [[f"`{name}`", *(column(MEASURES[name]) for column in columns)] for name in MEASURES]
    return "".join("| " + " | ".join(cells).replace("|  |", "| |") + " |\n" for cells in rows)


def pages() -> dict[Path, str]:
    """Each file as it should be."""
    survey = "| measure | what it says about each head | when | labels | source |\n"
    survey += "|---|---|---|---|---|\n" + table(sentence, when, labels, source)
    tables = {ROOT / "docs/howto/survey.md": survey}
    written = {}
    for path, text in tables.items():
        before, rest = path.read_text("utf-8").split(BEGIN)
        written[path] = before + BEGIN + text + END + rest.split(END)[1]
    families = [
        {
            "id": one.name,
            "title": one.title,
            "short": one.short,
            "symbol": one.glyph,
            "colour": list(one.colours),
        }
        for one in FAMILIES.values()
    ]
    lines = ",\n".join("  " + json.dumps(one, ensure_ascii=False) for one in families)
    return {**written, ROOT / "web/src/families.json": f"[\n{lines}\n]\n"}


def main() -> int:
    """Write the files, or say which are not up to date."""
    check = "--check" in sys.argv
    old = {path: text for path, text in pages().items() if path.read_text("utf-8") != text}
    for path, text in old.items():
        if check:
            print(f"{path.relative_to(ROOT)} is not up to date: run tools/derive.py")
        else:
            path.write_text(text, "utf-8")
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
