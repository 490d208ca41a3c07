"""Progress: bars with an estimate in terminals and notebooks, lines of text in log files.

Every long-running function takes ``progress``: True for a bar, False for silence, a function that
is called with (done, total), or a :class:`Reporter`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from html import escape
from typing import Any

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
        if in_notebook():
            with NotebookBar(what):
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
        if in_notebook():
            with NotebookBar(what) as bar:
                yield bar.update
            return
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_terminal:
            lines = _Lines(what, self.say)
            yield lines.update
            lines.end()
            return
        from rich.progress import BarColumn, Progress, TextColumn

        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}")
        with Progress(*columns, console=console) as shown:
            task, pace = shown.add_task(what, total=None, said=""), _Pace()

            def update(done: int, total: int) -> None:
                pace.due(done, total, 0.0)
                shown.update(task, completed=done, total=total, said=pace.said())

            yield update

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
    """Minutes and seconds, with hours where there are any.

    >>> clock(9.6), clock(3725.4)
    ('0:10', '1:02:05')
    """
    minutes, second = divmod(round(seconds), 60)
    hours = f"{minutes // 60}:{minutes % 60:02d}" if minutes >= 60 else f"{minutes}"
    return f"{hours}:{second:02d}"


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook.

    >>> in_notebook()
    False
    """
    if "IPython" not in sys.modules:  # a kernel has imported it
        return False
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


class _Pace:
    """How much is done, since when, and how long the rest will take."""

    def __init__(self) -> None:
        self.begun = self.last = time.monotonic()
        # How much was done at the first update, and when: a resumed run did not do that part now.
        self.first: tuple[int, float] | None = None
        self.done = self.total = 0

    def due(self, done: int, total: int, every: float) -> bool:
        """Take note of an update; tell whether so many seconds have passed since the last line."""
        now = time.monotonic()
        self.first = self.first or (done, now)
        self.done, self.total = done, total
        if now - self.last < every:
            return False
        self.last = now
        return True

    def said(self) -> str:
        """How much is done, in how much time, and how long the rest will take."""
        of = f"{self.done:,}/{self.total:,}" if self.total else f"{self.done:,}"
        return f"{of} · {self.took()} elapsed{self.left()}"

    def left(self) -> str:
        """An estimate, once there is something to go by."""
        before, since = self.first or (0, self.begun)
        if self.done <= before or self.done >= self.total:
            return ""
        seconds = (self.total - self.done) * (self.last - since) / (self.done - before)
        return f" · about {clock(seconds)} left"

    def took(self) -> str:
        """The time since the beginning."""
        return clock(time.monotonic() - self.begun)


class NotebookBar:
    """A bar below a cell that changes in place, and stays there as one line of text.

    Parameters
    ----------
    what
        What is being done; shown before the bar.
    every
        Seconds between two changes: every change is a message to the browser.
    """

    def __init__(self, what: str, *, every: float = 0.25) -> None:
        self.what, self.every = what, every

    def __enter__(self) -> NotebookBar:
        from IPython.display import display

        self.pace = _Pace()
        first = self._bundle(f"{self.what} …")
        self.handle: Any = display(first, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        pace = self.pace
        end = "stopped after" if kind else "done in"
        if pace.total:
            end = f"{pace.done:,} of {pace.total:,}, {end}"
        self._show(f"{self.what}: {end} {pace.took()}")

    def update(self, done: int, total: int) -> None:
        """Show how far the job is, if enough time has passed since the last change."""
        if self.pace.due(done, total, self.every):
            self._show(f"{self.what}: {self.pace.said()}", bar=True)

    def _show(self, line: str, *, bar: bool = False) -> None:
        self.handle.update(self._bundle(line, bar=bar), raw=True)

    def _bundle(self, line: str, *, bar: bool = False) -> dict[str, str]:
        """The line as text, and as HTML with a bar."""
        drawn = ""
        if bar:
            drawn = f'<progress value="{self.pace.done}" max="{self.pace.total}"></progress> '
        return {"text/plain": line, "text/html": f"<span>{drawn}{escape(line)}</span>"}


def _nothing(done: int, total: int) -> None:
    """Show nothing."""


class _Lines:
    """Progress as lines of text."""

    def __init__(self, what: str, say: Callable[[str], None]) -> None:
        self.what, self.say = what, say
        self.pace = _Pace()

    def update(self, done: int, total: int) -> None:
        """Print how far the job is, if enough time has passed."""
        if self.pace.due(done, total, EVERY):
            self.say(f"{self.what}: {self.pace.said()}")

    def end(self) -> None:
        """Print what was done, and how long it took."""
        if self.pace.total:
            self.say(f"{self.what}: {self.pace.done} of {self.pace.total} in {self.pace.took()}")
