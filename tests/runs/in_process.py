"""An engine in this process, which does tasks out of order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import cloudpickle

from headscope.runs.workers import Engine, Task, Work


class OddFirst(Engine):
    """Does tasks in this process, those with odd numbers first, with work that was sent."""

    workers = 3
    threads = 1

    @contextmanager
    def start(self, work: Work) -> Iterator[Self]:
        self.work: Work = cloudpickle.loads(cloudpickle.dumps(work))
        yield self

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        for task in sorted(tasks, key=lambda task: (task.index % 2 == 0, task.index)):
            yield task.index, self.work(*task.arguments, **task.options)


def stop_after(steps: int) -> Callable[[int, int], None]:
    """Stops a run with Ctrl-C when progress was reported so many times."""
    told: list[int] = []

    def stop(done: int, total: int) -> None:
        told.append(done)
        if len(told) == steps:
            signal.raise_signal(signal.SIGINT)

    return stop


def interrupt_at(step: int) -> Callable[[int, int], None]:
    """Presses Ctrl-C when so many steps have been taken."""

    def interrupt(done: int, total: int) -> None:
        if done >= step:
            raise KeyboardInterrupt

    return interrupt
