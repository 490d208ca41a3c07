"""Several processes on this machine, by loky, which needs no guarded main module."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any

import cloudpickle
from loky import ProcessPoolExecutor

from headscope.errors import WorkersLost
from headscope.runs.engines.base import (
    AGAIN,
    TRIES,
    Task,
    Work,
    Workers,
    isolated,
    threads_for,
    use_threads,
)

AHEAD = 2
"""So many tasks wait for each worker, so that none is idle."""
log = logging.getLogger(__name__)


class ProcessEngine:
    """Workers in processes of their own."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @property
    def threads(self) -> int:
        """The workers share the cores of this machine."""
        return threads_for(self.workers)

    @contextmanager
    def start(self, work: Work) -> Iterator[Workers]:
        """Start the processes, and stop them at the end."""
        pool = _Pool(self.workers, cloudpickle.dumps(work))
        with isolated():
            try:
                yield pool
            finally:
                pool.stop()


class _Pool:
    def __init__(self, workers: int, payload: bytes) -> None:
        self.workers, self.payload = workers, payload
        self.executor: Any = None

    def _start(self) -> Any:
        threads = threads_for(self.workers)
        self.executor = ProcessPoolExecutor(
            self.workers,
            initializer=_begin,
            initargs=(self.payload, threads),
            env={"OMP_NUM_THREADS": str(threads)},
        )
        return self.executor

    def stop(self) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=True, kill_workers=True)
            self.executor = None

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks; those of a worker that dies are done again."""
        stream, waiting = iter(tasks), list[Task]()
        running: dict[Future[Any], Task] = {}
        deaths = 0
        while True:
            room = self.workers * AHEAD - len(running) - len(waiting)
            waiting += islice(stream, max(room, 0))
            executor = self.executor or self._start()
            try:
                while waiting:
                    task = waiting[0]
                    running[executor.submit(_do, *task.arguments, **task.options)] = task
                    waiting.pop(0)
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    deaths = 0
                    yield running.pop(future).index, result
            except BrokenProcessPool as error:
                deaths += 1
                waiting, running = [*running.values(), *waiting], {}
                self.stop()
                if deaths == TRIES:
                    raise WorkersLost(
                        f"a worker died {TRIES} times in a row while working on unit "
                        f"{waiting[0].index + 1} and others: {str(error).splitlines()[0]}",
                        hint="workers may have run out of memory: give fewer workers, or a smaller "
                        "batch_size",
                        command="workers may have run out of memory: give fewer --workers, or a "
                        "smaller --batch-size",
                    ) from None
                log.warning(AGAIN)


_payload: bytes = b""
_threads = 1
_work: Work | None = None


def _begin(payload: bytes, threads: int) -> None:
    """Keep the work of this process; it is unpacked by the first task, which may fail properly."""
    global _payload, _threads, _work
    _payload, _threads, _work = payload, threads, None
    threading.Thread(target=_outlive_nobody, args=(os.getppid(),), daemon=True).start()


def _outlive_nobody(parent: int) -> None:
    """End this process when the one that started it is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _do(*arguments: Any, **options: Any) -> Any:
    global _work
    if _work is None:
        work: Work = cloudpickle.loads(_payload)
        use_threads(_threads)
        _work = work
    return _work(*arguments, **options)
