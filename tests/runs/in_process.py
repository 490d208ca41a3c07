"""An engine in this process, which does tasks out of order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import cloudpickle

from headscope.runs.engines import Task, Work


class OddFirst:
    """Does tasks in this process, those with odd numbers first, with work that was sent."""

    workers = 3
    threads = 1

    @contextmanager
    def start(self, work: Work) -> Iterator[Any]:
        sent: Work = cloudpickle.loads(cloudpickle.dumps(work))

        class Pool:
            def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
                for task in sorted(tasks, key=lambda task: (task.index % 2 == 0, task.index)):
                    yield task.index, sent(*task.arguments, **task.options)

        yield Pool()


def stop_after(steps: int) -> Callable[[int, int], None]:
    """Stops a run with Ctrl-C when progress was reported so many times."""
    told: list[int] = []

    def stop(done: int, total: int) -> None:
        told.append(done)
        if len(told) == steps:
            signal.raise_signal(signal.SIGINT)

    return stop
