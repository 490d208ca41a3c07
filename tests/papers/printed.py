"""Tables as they are printed in the text of a paper."""

from __future__ import annotations


def printed_table(paper: str, first: str, last: str) -> list[str]:
    """The rows between a table's head and its caption: the lines divided by tabs."""
    lines = paper.splitlines()
    start = lines.index(first)
    end = next(number for number in range(start, len(lines)) if lines[number].startswith(last))
    return [line for line in lines[start + 1 : end] if "\t" in line]
