"""The one place that prints: tables go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from headscope.numbers import cell, is_words
from headscope.progress import Reporter

if TYPE_CHECKING:
    import pandas as pd


WIDEST = 100
"""Longer lines are hard to read."""


_TIED = re.compile(r" (?=[%<=])|(?<= [<=]) ")


def wrapped(text: str, *, mark: str = "") -> str:
    """A text in lines that fit the screen, broken between words: never in 3-9, 81 % or p < 0.05."""
    lines = wrap(
        _TIED.sub("\xa0", text),
        max(40, min(get_terminal_size().columns, WIDEST)),
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join(lines).replace("\xa0", " ")


class PrintedTable(NamedTuple):
    """A table to be shown.

    Parameters
    ----------
    title
        What it shows.
    frame
        With plain names and all digits, as JSON has it.
    columns
        The columns of :mod:`headscope.results.columns` that people read; by default all.
    """

    title: str
    frame: pd.DataFrame
    columns: str = ""

    def for_people(self, *, screen: bool = False, paper: bool = False) -> pd.DataFrame:
        """What people read of it."""
        from headscope.results import columns

        chosen = getattr(columns, self.columns) if self.columns else ()
        if paper:
            return columns.for_paper(self.frame, chosen)
        return columns.for_people(self.frame, chosen, screen=screen)


class Console(Reporter):
    """Prints for a person, unless asked to be quiet. Errors are always printed."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        super().__init__(visible=not quiet)
        self.quiet = quiet
        self.as_json = as_json

    def say(self, text: str) -> None:
        """Print to standard error; on a screen, one long line is broken between words."""
        super().say(text if "\n" in text or not sys.stderr.isatty() else wrapped(text))

    def result(self, text: str) -> None:
        """Print the result of a command (a path); beside a JSON table, to standard error."""
        if self.as_json:
            self.say(text)
        else:
            print(text)

    def paragraph(self, text: str, *, mark: str = "") -> None:
        """Say a text in lines that fit the screen, broken at words."""
        self.say(wrapped(text, mark=mark))

    def json(self, value: Any) -> None:
        """Print a value as JSON."""
        print(json.dumps(value, indent=2, ensure_ascii=False))

    def table(self, rows: Sequence[dict[str, Any]], *, title: str = "") -> None:
        """A table: drawn for people, or JSON for machines."""
        if self.as_json:
            self.json(plain_rows(rows))
            return
        from rich.console import Console as Rich
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", header_style="bold")
        for key in rows[0] if rows else ():
            words = any(is_words(row[key]) or isinstance(row[key], bool) for row in rows)
            table.add_column(key, justify="left" if words else "right", overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell(value, key)) for key, value in row.items()))
        Rich(file=sys.stdout, width=None if sys.stdout.isatty() else 140).print(table)

    def frame(self, frame: pd.DataFrame, *, title: str = "") -> None:
        """A data frame as a table."""
        rows = frame.to_dict("records")
        self.table([{str(key): value for key, value in row.items()} for row in rows], title=title)

    def tables(self, shown: Iterable[PrintedTable]) -> None:
        """Tables as people read them; empty ones are not drawn."""
        for table in shown:
            if len(table.frame):
                self.frame(table.for_people(screen=True), title=table.title)

    def records(self, *frames: pd.DataFrame) -> None:
        """The rows of tables, one after the other, as JSON."""
        self.json(plain_rows([row for frame in frames for row in frame.to_dict("records")]))

    def named(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Several tables as one JSON object, by name."""
        self.json({name: plain_rows(frame.to_dict("records")) for name, frame in tables.items()})


def plain_rows(rows: Sequence[Mapping[Any, Any]]) -> list[dict[str, Any]]:
    """The rows of a table as JSON has them: no NumPy, and None for what is not defined."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
