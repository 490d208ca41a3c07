"""The folder of tools that make committed data and pictures says what each of them makes."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tools" / "makers"


def test_every_maker_has_one_row_in_the_table():
    rows = re.findall(r"^\| `(\w+\.py)` ", (FOLDER / "README.md").read_text(), flags=re.MULTILINE)
    assert sorted(rows) == sorted(path.name for path in FOLDER.glob("*.py"))
