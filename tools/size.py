"""How large each folder of the package is, beside what was planned: ``python tools/size.py``.

Counted are lines of code in files of Python (without docstrings, comments and blank lines), stubs
and TOML that go into the package.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "headscope"
BUDGETS = {
    "cli": 2100, "corpus": 1900, "encode": 550, "figures": 2750, "labelling": 450, "measures": 2600,
    "models": 2600, "page": 2400, "papers": 3800, "results": 1700, "runs": 8600, "stats": 4300,
    "tasks": 1150, "top level": 1160,
}  # fmt: skip


def code_lines(path: Path) -> int:
    """The lines of a file that are code.

    >>> code_lines(PACKAGE / "__main__.py") < 10
    True
    """
    text = path.read_text("utf-8")
    kept = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#")
    }
    if path.suffix != ".toml":
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Expr(value=ast.Constant(value=str())):
                    kept -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(kept)


def main() -> None:
    """Print the table."""
    files, lines = dict.fromkeys(BUDGETS, 0), dict.fromkeys(BUDGETS, 0)
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyi", ".toml"):
            parts = path.relative_to(PACKAGE).parts
            folder = parts[0] if parts[0] in BUDGETS else "top level"
            files[folder] += 1
            lines[folder] += code_lines(path)
    print(f"{'folder':<10} {'files':>6} {'lines':>7} {'budget':>7}")
    for folder in sorted(files):
        print(f"{folder:<10} {files[folder]:>6} {lines[folder]:>7,} {BUDGETS[folder]:>7,}")
    total, planned = sum(lines.values()), sum(BUDGETS.values())
    print(f"{'all':<10} {sum(files.values()):>6} {total:>7,} {planned:>7,}")


if __name__ == "__main__":
    main()
