"""Workers on a Ray cluster: one that is running, or one on this machine alone."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import Any

from headscope.errors import UserError
from headscope.runs.engines.base import AGAIN, TRIES, Task, Work, Workers, cores, threads_for

LOCAL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_prestart_worker_first_driver": "0",
}
"""Read by Ray when it is imported: a cluster on this machine then listens on the loopback interface
alone, as it always does on Windows and macOS, reports nothing to its makers, and starts no workers
of its own accord. If one of those dies while the cluster starts, ``ray.init`` never returns (seen
with Ray 2.60).
"""
log = logging.getLogger(__name__)
QUIET = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
WAIT = 10.0
"""How many seconds a cluster has to answer."""


class RayEngine:
    """Workers that are Ray actors.

    Each loads the model once. A worker that dies is replaced and its tasks are done again; an error
    that the work itself raises stops the run.

    Parameters
    ----------
    workers
        How many; None for all CPUs of the cluster but one, which is left to the driver.
    address
        Of a running cluster. Without one, a cluster is started on this machine, on the loopback
        interface and without a dashboard, and stopped at the end.
    """

    def __init__(self, workers: int | None, address: str = "") -> None:
        check_ray()
        if not address:
            for name, value in LOCAL.items():
                os.environ.setdefault(name, value)
        import ray

        self.ray: Any = ray
        self.address = address
        self.asked = workers
        self.workers = workers or cores()

    @property
    def threads(self) -> int:
        """One on a cluster; on this machine, workers share the cores."""
        return 1 if self.address else threads_for(self.workers)

    @contextmanager
    def start(self, work: Work) -> Iterator[Workers]:
        """Connect to the cluster, or start one; start a worker when there is work for it."""
        started = not self.ray.is_initialized()
        if started:
            self._connect()
        pool: _Pool | None = None
        try:
            if self.address:
                self._count()
            pool = _Pool(self.ray, self.workers, self.threads, self.ray.put(_pickled(work)))
            yield pool
        finally:
            if pool is not None:
                pool.stop()
            if started:
                self.ray.shutdown()

    def _connect(self) -> None:
        if not self.address:
            start_cluster(self.ray, cores() + 1)
            return
        try:
            _knock(self.address)
            self.ray.init(address=self.address, **QUIET)
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(
                f"no Ray cluster answers at {self.address!r}: {str(error).splitlines()[0]}",
                hint="start one with 'ray start --head' (and give both sides the same token, if it "
                "asks for one), or leave the address out",
                command="start one with 'ray start --head' (and give both sides the same token, if "
                "it asks for one), or leave --address out",
            ) from None

    def _count(self) -> None:
        there = int(self.ray.cluster_resources().get("CPU", 1))
        most = max(1, there - 1)
        if self.asked is not None and self.asked > there:
            raise UserError(
                f"the cluster has {there} CPUs, got {self.asked} workers",
                hint=f"give workers={most}: one CPU is left to the driver",
                command=f"give --workers {most}: one CPU is left to the driver",
            )
        self.workers = self.asked or most


def start_cluster(ray: Any, cpus: int) -> None:
    """Start a cluster on this machine that only this machine can reach."""
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, **QUIET)
    if ray.util.get_node_ip_address() != "127.0.0.1":
        ray.shutdown()
        raise UserError(
            "Ray was imported before, and would open its ports to other machines",
            hint="run the survey before 'import ray', or set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0; "
            "or start a cluster of your own and give its address",
        )


def check_ray() -> None:
    """Refuse to go on without Ray. It is looked for, not imported."""
    if find_spec("ray") is None:
        raise UserError(
            "the engine 'ray' needs Ray, which is not installed",
            hint="install it: pip install 'headscope[ray]'",
        )


class _Pool:
    def __init__(self, ray: Any, workers: int, threads: int, work: Any) -> None:
        self.ray, self.count, self.work = ray, workers, work
        self.threads = threads
        kind = ray.remote(num_cpus=1, max_restarts=0)(_Worker)
        self.make = lambda: kind.remote(work, threads)
        self.actors: set[Any] = set()
        self.idle: list[Any] = []

    def stop(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)
        self.actors, self.idle = set(), []

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks; that of a worker that dies is done again by another.

        No task waits for a certain worker, so that a slow one holds up nobody.
        """
        stream, waiting = iter(tasks), list[Task]()
        running: dict[Any, tuple[Any, Task]] = {}
        finished: list[tuple[int, Any]] = []
        deaths = 0
        while True:
            waiting += islice(stream, max(self.count - len(running) - len(waiting), 0))
            while waiting:
                actor, task = self._ready(), waiting.pop()
                self.actors.add(actor)
                running[actor.do.remote(*task.arguments, **task.options)] = actor, task
            yield from finished  # the workers are busy again
            finished = []
            if not running:
                return
            (ready, *_), _ = self.ray.wait(list(running), num_returns=1)
            actor, task = running.pop(ready)
            try:
                finished.append((task.index, self.ray.get(ready)))
            except self.ray.exceptions.RayActorError as error:
                deaths += 1
                self.actors.discard(actor)
                waiting.append(task)
                if deaths == TRIES * self.count:
                    raise _died(task, error) from None
                log.warning(AGAIN)
            except self.ray.exceptions.RayTaskError as error:
                raise _cause(error) from None
            else:
                deaths = 0
                self.idle.append(actor)

    def _ready(self) -> Any:
        return self.idle.pop() if self.idle else self.make()  # type: ignore[no-untyped-call]


class _Worker:
    """A Ray actor: it unpacks its work with the first task, which may fail properly."""

    def __init__(self, payload: bytes, threads: int) -> None:
        self.payload, self.threads = payload, threads
        self.work: Any = None

    def do(self, *arguments: Any, **options: Any) -> Any:
        """Do one task."""
        if self.work is None:
            import torch
            from ray import cloudpickle

            torch.set_num_threads(self.threads)
            unpack: Any = cloudpickle.loads
            self.work = unpack(self.payload)
        return self.work(*arguments, **options)


def _knock(address: str) -> None:
    """Raise an error at once if nobody listens there: Ray itself tries for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        with socket.create_connection((host, int(port)), timeout=WAIT):
            pass


def _pickled(work: Work) -> bytes:
    from ray import cloudpickle

    pack: Any = cloudpickle.dumps
    return bytes(pack(work))


def _cause(error: Any) -> BaseException:
    """What the work raised, without Ray's wrapping."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, Exception) else error


def _died(task: Task, error: BaseException) -> UserError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return UserError(
        f"workers died again and again while working on unit {task.index + 1} and others: "
        f"{lines[0] if lines else type(error).__name__}",
        hint="they may have run out of memory: give fewer workers, or a smaller batch_size",
        command="they may have run out of memory: give fewer --workers, or a smaller --batch-size",
    )
