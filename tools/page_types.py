"""Write the page's TypeScript types, ``web/src/data/types.ts``, from ``headscope/page/schema.py``.

The file is read as text, for its comments; nothing is imported. ``--check`` only says whether the
types are those of the schema.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "src" / "headscope" / "page" / "schema.py"
TYPES = ROOT / "web" / "src" / "data" / "types.ts"
PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "Any": "unknown"}
HEAD = "/* Written by tools/page_types.py from src/headscope/page/schema.py: change that file. */\n"


def typescript(kind: ast.expr) -> str:
    """Write a Python type as TypeScript.

    >>> typescript(ast.parse("dict[str, list[int | None]]", mode="eval").body)
    'Record<string, (number | null)[]>'
    """
    match kind:
        case ast.Name(id=name):
            return PLAIN.get(name, name)
        case ast.Constant(value=None):
            return "null"
        case ast.BinOp(left=left, right=right):
            return f"{typescript(left)} | {typescript(right)}"
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            written = typescript(inner)
            return f"({written})[]" if isinstance(inner, ast.BinOp) else f"{written}[]"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, inner])):
            return f"Record<string, {typescript(inner)}>"
        case ast.Subscript(value=ast.Name(id="NotRequired"), slice=inner):
            return typescript(inner)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            values = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return " | ".join(
                f'"{one.value}"' if isinstance(one.value, str) else str(one.value)
                for one in values
                if isinstance(one, ast.Constant)
            )
    raise TypeError(f"{ast.unparse(kind)} has no equivalent in TypeScript")


def interface(node: ast.ClassDef, lines: list[str]) -> str:
    """Write a TypedDict as an interface, with its comments."""
    body = ["".join(comment(ast.get_docstring(node) or "")) + f"export interface {node.name} {{"]
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            above = lines[field.lineno - 2].strip()
            said = comment(above[2:], "  ") if above.startswith("# ") else ""
            optional = "?" if "NotRequired" in ast.unparse(field.annotation) else ""
            body.append(f"{said}  {field.target.id}{optional}: {typescript(field.annotation)};")
    return "\n".join([*body, "}"])


def comment(text: str, indent: str = "") -> str:
    """Write a docstring or comment as TypeScript has it."""
    if "\n" not in text:
        return f"{indent}/** {text} */\n" if text else ""
    return f"{indent}/**\n{textwrap.indent(text, f'{indent} * ', lambda _: True)}\n{indent} */\n"


def types() -> str:
    """The whole file."""
    source = SCHEMA.read_text(encoding="utf-8")
    parts = [HEAD]
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            parts.append(interface(node, source.splitlines()) + "\n")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            parts.append(f"export type {node.targets[0].id} = {typescript(node.value)};\n")
    return "\n".join(parts).replace(" \n", "\n").replace(" * \n", " *\n")


def main() -> int:
    """Write the file, or say whether it is up to date."""
    if "--check" in sys.argv[1:]:
        if TYPES.read_text(encoding="utf-8") == types():
            return 0
        print(f"{TYPES.relative_to(ROOT)} is out of date: run python tools/page_types.py")
        return 1
    TYPES.write_text(types(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
