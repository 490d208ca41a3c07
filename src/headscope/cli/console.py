"""The one place that prints: tables go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


EVERY = 30.0
"""Seconds between two lines on progress."""


class Console:
    """Says things to a person, unless asked to be quiet. Errors are always said."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json

    def say(self, text: str) -> None:
        """A line for the person at the terminal."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def result(self, text: str) -> None:
        """The last word of a command (a path), on standard output unless a JSON table stands there."""
        if self.as_json:
            self.say(text)
        else:
            print(text)

    def table(self, rows: Sequence[dict[str, Any]], *, title: str = "") -> None:
        """A table: drawn for people, or JSON for machines."""
        if self.as_json:
            print(
                json.dumps(
                    [{key: _plain(value) for key, value in row.items()} for row in rows],
                    indent=2,
                    ensure_ascii=False,
                )
            )
            return
        from rich.console import Console as Rich
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", header_style="bold")
        for key in rows[0] if rows else ():
            numeric = all(isinstance(row[key], (int, float)) or row[key] is None for row in rows)
            table.add_column(key, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(_shown(value)) for value in row.values()))
        Rich(file=sys.stdout, width=None if sys.stdout.isatty() else 140).print(table)

    def frame(self, frame: pd.DataFrame, *, title: str = "") -> None:
        """A data frame as a table."""
        self.table(
            [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")],
            title=title,
        )

    @contextmanager
    def status(self, what: str) -> Iterator[None]:
        """Something without a known length is going on."""
        if self.quiet:
            yield
            return
        from rich.console import Console as Rich

        with Rich(stderr=True).status(what):
            yield

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """A progress bar with an estimate of what is left, on standard error; where that is a file (a batch job's log), a line now and then."""
        if self.quiet:
            yield None
            return
        from rich.console import Console as Rich

        if not Rich(stderr=True).is_terminal:
            lines = _Lines(what, self.say)
            yield lines.tell
            lines.end()
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Rich(stderr=True)) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _shown(value: Any) -> str:
    value = _plain(value)
    if value is None:
        return "–"
    return (
        f"{value:.3f}"
        if isinstance(value, float) and not value.is_integer()
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


class _Lines:
    """Progress as lines of text."""

    def __init__(self, what: str, say: Callable[[str], None]) -> None:
        self.what, self.say = what, say
        self.begun = self.last = time.monotonic()
        self.first: tuple[int, float] | None = None
        """How much was done when it was told first, and when: a run that goes on has not done all of that now."""
        self.done = self.total = 0

    def tell(self, done: int, total: int) -> None:
        """Say how far it is, if enough time has gone by."""
        now = time.monotonic()
        before, since = self.first = self.first or (done, now)
        self.done, self.total = done, total
        if now - self.last >= EVERY:
            self.last = now
            left = (
                f", about {_clock((total - done) * (now - since) / (done - before))} left"
                if done > before
                else ""
            )
            self.say(f"{self.what}: {done} of {total}, {_clock(now - self.begun)} gone{left}")

    def end(self) -> None:
        """Say what was done, and how long it took."""
        if self.total:
            self.say(
                f"{self.what}: {self.done} of {self.total} in {_clock(time.monotonic() - self.begun)}"
            )


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> _clock(3725.4)
    '1:02:05'
    """
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{second:02d}"
