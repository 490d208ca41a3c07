"""What an engine is, and the choice of one.

An engine is given work and numbered tasks, and gives back what each task gave, in any order. A task
may be done twice (a worker that dies takes its task with it), but is given back once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from headscope.errors import UserError, unknown

EngineName = Literal["local", "processes", "ray"]
ENGINES = ("local", "processes", "ray")
TRIES = 3
"""After so many deaths of workers without one finished task, a run stops."""
SAFE = "PYTHONSAFEPATH"
AGAIN = "a worker died; what it was working on is done again by a new one"
"""What a user is warned of then."""


@dataclass(frozen=True)
class Task:
    """A numbered task for a worker: the arguments of its work."""

    index: int
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


class Work(Protocol):
    """What a worker does. It is sent to each worker once, and must bear pickling."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Do one task."""


class Workers(Protocol):
    """Workers that are ready for tasks."""

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks, and yield the number and the result of each, as they are finished."""


class LocalWorkers:
    """No workers: tasks are done here, one after the other."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks in their order."""
        for task in tasks:
            yield task.index, self.work(*task.arguments, **task.options)


class Engine(Protocol):
    """Somewhere to work.

    Attributes
    ----------
    workers
        How many workers there are.
    threads
        How many threads each worker has.
    """

    workers: int

    @property
    def threads(self) -> int:
        """How many threads each worker has."""

    def start(self, work: Work) -> AbstractContextManager[Workers]:
        """Start workers for some work; they are stopped on leaving the context."""


def make_engine(
    engine: str = "local", workers: int | None = None, address: str = "", *, size: int = 0
) -> Engine | None:
    """The engine of a name; None for work in this process.

    Parameters
    ----------
    engine
        ``"local"``, ``"processes"`` or ``"ray"``.
    workers
        How many workers. Default: one for every core, or for every CPU of a Ray cluster but one.
    address
        Of a Ray cluster; the default starts one on this machine.
    size
        How many bytes a worker's model takes.

    Raises
    ------
    UserError
        If the engine does not exist or is not installed, or if there are not as many cores or not
        as much memory on this machine.
    """
    check_engine(engine, workers, address)
    if engine == "local":
        return None
    if not address:
        check_machine(workers, size)
    if engine == "processes":
        from headscope.runs.engines.processes import ProcessEngine

        return ProcessEngine(workers or cores())
    from headscope.runs.engines.cluster import RayEngine

    return RayEngine(workers, address)


def check_engine(engine: str = "local", workers: int | None = None, address: str = "") -> None:
    """Check the choice of an engine before anything is loaded.

    Parameters
    ----------
    engine, workers, address
        As in :func:`make_engine`.

    Raises
    ------
    UserError
        If the engine does not exist or is not installed, or if there are not as many cores on this
        machine.

    Examples
    --------
    >>> check_engine("processes", 1)
    >>> check_engine("processes", address="10.0.0.1:6379")
    Traceback (most recent call last):
    headscope.errors.UserError: only the engine 'ray' has an address; got the engine 'processes' ...
    """
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if address and engine != "ray":
        raise UserError(
            f"only the engine 'ray' has an address; got the engine {engine!r} and {address!r}",
            hint="give engine='ray'",
            command="give --engine ray",
        )
    if workers is not None and workers < 1:
        raise UserError(f"the number of workers must be 1 or more, got {workers} instead")
    if engine == "local" and workers is not None and workers > 1:
        raise UserError(
            f"the engine 'local' works in this process alone, got {workers} workers",
            hint="give engine='processes'",
            command="give --engine processes",
        )
    if engine == "ray":
        from headscope.runs.engines.cluster import check_ray

        check_ray()
    if engine != "local" and not address:
        check_machine(workers)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_for(workers: int) -> int:
    """How many threads each of some workers on this machine has."""
    return max(1, cores() // workers)


def use_threads(threads: int) -> None:
    """Let this process compute with so many threads, whether torch is imported already or later.

    Work that does not need torch then does without it: importing it takes seconds.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


@contextmanager
def isolated() -> Iterator[None]:
    """Keep Python processes that are started meanwhile from importing from the current folder.

    They are started with ``-m`` or ``-c``, which puts that folder first in the search path: a file
    there with the name of a library would run in every one of them.
    """
    before = os.environ.get(SAFE)
    os.environ[SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE]
        else:
            os.environ[SAFE] = before


def check_machine(workers: int | None, size: int = 0) -> None:
    """Refuse more workers than this machine has cores, or memory for their models."""
    import psutil

    from headscope.files import show_size

    if workers is not None and workers > cores():
        raise UserError(
            f"there must be at most as many workers as cores, {cores()}, got {workers} instead",
            hint=f"give workers={cores()}",
            command=f"give --workers {cores()}",
        )
    free = psutil.virtual_memory().available
    needed = size * (workers or cores())
    if needed > free:
        fitting = max(1, free // size)
        raise UserError(
            f"each worker loads the model, {show_size(size)}; {workers or cores()} of them need "
            f"{show_size(needed)}, but {show_size(free)} are free",
            hint=f"give workers={fitting}",
            command=f"give --workers {fitting}",
        )
