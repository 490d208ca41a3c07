"""Write what follows from definitions in the package: the families of roles for the page's
TypeScript, and the types of measures that are functions of plain attention maps.

    python tools/derive.py            # write them
    python tools/derive.py --check    # say which are not up to date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headscope.measures import MEASURES
from headscope.measures.plain import is_plain
from headscope.measures.roles import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src/headscope/measures/__init__.pyi"
FUNCTIONS = "\n# By tools/derive.py: measures as functions of plain maps.\n"


def pages() -> dict[Path, str]:
    """Each file as it should be."""
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
    functions = "".join(
        f'{name} = functools.partial(measured, "{name}")\n'
        for name in MEASURES
        if is_plain(MEASURES[name])
    )
    return {
        ROOT / "web/src/families.json": f"[\n{lines}\n]\n",
        STUB: STUB.read_text("utf-8").partition(FUNCTIONS)[0] + FUNCTIONS + functions,
    }


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
