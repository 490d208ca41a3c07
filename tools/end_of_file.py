"""Strip trailing spaces and end each file with one newline. Exit with 1 if a file changed.

python tools/end_of_file.py README.md src/headscope/heads.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def tidy(text: str) -> str:
    r"""Return a text without trailing spaces and with one newline at its end.

    >>> tidy("a  \nb\n\n")
    'a\nb\n'
    """
    stripped = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).rstrip("\n")
    return stripped + "\n" if stripped else ""


def main(paths: list[str]) -> int:
    """Rewrite the files that need it and name them."""
    changed = False
    for path in map(Path, paths):
        text = path.read_bytes().decode("utf-8")
        if tidy(text) != text:
            path.write_bytes(tidy(text).encode("utf-8"))
            print(f"rewrote {path}")
            changed = True
    return int(changed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
