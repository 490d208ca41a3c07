"""Progress: bars with an estimate in terminals and notebooks, lines of text in log files.

Every long-running function takes ``progress``: True for a bar, False for silence, a function that
is called with (done, total), or a :class:`Reporter`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

EVERY = 30.0
"""Seconds between two lines of progress in a log file."""

Update = Callable[[int, int], None]
"""Called with how much is done, and how much there is in all."""
PhaseUpdate = Callable[[str, int, int], None]
"""The same for jobs of several phases; called first with the name of the phase."""


class Reporter:
    """Shows a person how far a job is.

    Parameters
    ----------
    visible
        False shows nothing.

    See Also
    --------
    as_reporter : makes one from what a user gave as ``progress``.
    """

    def __init__(self, visible: bool = True) -> None:
        self.visible = visible

    def say(self, text: str) -> None:
        """Print a line to standard error."""
        if self.visible:
            print(text, file=sys.stderr)

    @contextmanager
    def status(self, what: str) -> Iterator[None]:
        """Show that something of unknown length is under way."""
        if not self.visible:
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield

    @contextmanager
    def progress(self, what: str) -> Iterator[Update]:
        """Show a bar; in a log file, a line from time to time."""
        if not self.visible:
            yield _nothing
            return
        from rich.console import Console

        console = Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            lines = _Lines(what, self.say)
            yield lines.update
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
        with Progress(*columns, console=console) as shown:
            task = shown.add_task(what, total=None)
            yield lambda done, total: shown.update(task, completed=done, total=total)

    @contextmanager
    def phases(self) -> Iterator[PhaseUpdate]:
        """Show one bar after the other, for a job of several phases."""
        with ExitStack() as stack:
            current: dict[str, Update] = {}

            def update(phase: str, done: int, total: int) -> None:
                if phase not in current:
                    stack.close()
                    current.clear()
                    current[phase] = stack.enter_context(self.progress(phase))
                current[phase](done, total)

            yield update


class Calls(Reporter):
    """A reporter that calls a user's function with (done, total) and prints nothing."""

    def __init__(self, function: Update) -> None:
        super().__init__(visible=False)
        self.function = function

    @contextmanager
    def progress(self, what: str) -> Iterator[Update]:
        """Hand progress on to the user's function."""
        yield self.function


ProgressLike = bool | Update | Reporter
"""What may be given as ``progress``."""


def as_reporter(progress: ProgressLike | None) -> Reporter:
    """The reporter that ``progress`` stands for.

    >>> as_reporter(True).visible, as_reporter(False).visible, as_reporter(None).visible
    (True, False, False)
    """
    if isinstance(progress, Reporter):
        return progress
    if callable(progress):
        return Calls(progress)
    return Reporter(visible=bool(progress))


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(3725.4)
    '1:02:05'
    """
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{second:02d}"


def _nothing(done: int, total: int) -> None:
    """Show nothing."""


class _Lines:
    """Progress as lines of text."""

    def __init__(self, what: str, say: Callable[[str], None]) -> None:
        self.what, self.say = what, say
        self.begun = self.last = time.monotonic()
        # How much was done at the first update, and when: a resumed run did not do that part now.
        self.first: tuple[int, float] | None = None
        self.done = self.total = 0

    def update(self, done: int, total: int) -> None:
        """Print how far the job is, if enough time has passed."""
        now = time.monotonic()
        before, since = self.first = self.first or (done, now)
        self.done, self.total = done, total
        if now - self.last < EVERY:
            return
        self.last = now
        line = f"{self.what}: {done} of {total}, {clock(now - self.begun)} elapsed"
        if done > before:
            left = (total - done) * (now - since) / (done - before)
            line += f", about {clock(left)} left"
        self.say(line)

    def end(self) -> None:
        """Print what was done, and how long it took."""
        if self.total:
            took = clock(time.monotonic() - self.begun)
            self.say(f"{self.what}: {self.done} of {self.total} in {took}")
