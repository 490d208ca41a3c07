"""One thread that does what pages ask of the model, in order, and drops what is out of date."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

MOST = 64
"""Requests that may wait."""


class Superseded(Exception):
    """Nobody waits for the answer any more: the page has asked anew, or is gone."""


class Busy(Exception):
    """Too many requests are waiting."""


@dataclass(eq=False)
class Job:
    """Something to do for a page.

    Parameters
    ----------
    page
        The page that asks.
    slot
        What the answer is for. A page's newer request for a slot replaces the older one; one
        without a slot is never replaced.
    work
        Called in the worker's thread with a function that raises :class:`Superseded` once the
        answer is not needed any more.
    """

    page: str
    slot: str
    work: Callable[[Callable[[], None]], Any]
    future: Future[Any] = field(default_factory=Future)
    dropped: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise if nobody waits any more."""
        if self.dropped.is_set():
            raise Superseded


class Worker:
    """Does jobs one after the other in a thread of its own.

    Examples
    --------
    >>> worker = Worker()
    >>> worker.submit(Job("page", "sum", lambda check: 1 + 1)).result()
    2
    >>> worker.close()
    """

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._running: Job | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="headscope-live", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> Future[Any]:
        """Put a job into the queue, and drop what it replaces.

        Raises
        ------
        Busy
            If too many jobs wait.
        """
        with self._changed:
            if job.slot:
                self._drop(lambda other: (other.page, other.slot) == (job.page, job.slot))
            if self._closed or len(self._waiting) >= MOST:
                raise Busy
            self._waiting.append(job)
            self._changed.notify()
        return job.future

    def drop(self, job: Job) -> None:
        """Give a job up: nobody waits for it."""
        with self._changed:
            self._drop(lambda other: other is job)

    def ahead(self, page: str) -> int:
        """How many requests are before the first waiting one of a page; 0 if none waits."""
        with self._changed:
            for place, job in enumerate(self._waiting):
                if job.page == page:
                    return place + (self._running is not None)
            return 0

    def close(self) -> None:
        """Give everything up, and end the thread after the present job."""
        with self._changed:
            self._closed = True
            self._drop(lambda _: True)
            self._changed.notify()
        self._thread.join(10)

    def _drop(self, chosen: Callable[[Job], bool]) -> None:
        """Drop jobs that wait, and tell the running one to stop."""
        kept: deque[Job] = deque()
        for job in self._waiting:
            if chosen(job):
                job.dropped.set()
                job.future.set_exception(Superseded())
            else:
                kept.append(job)
        self._waiting = kept
        if self._running is not None and chosen(self._running):
            self._running.dropped.set()

    def _do(self, job: Job) -> None:
        """Do a job. The server lives on, whatever the model does and whoever waits."""
        error: BaseException | None = None
        try:
            job.check()
            answer = job.work(job.check)
        except Exception as problem:
            error = problem
        except BaseException as problem:  # SystemExit, raised again elsewhere, would end the server
            error = RuntimeError(f"{type(problem).__name__}: {problem}")
        with suppress(InvalidStateError):  # nobody waits any more
            if error is None:
                job.future.set_result(answer)
            else:
                job.future.set_exception(error)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                job = self._running = self._waiting.popleft()
            self._do(job)
            with self._changed:
                self._running = None
