"""Workers on a Ray cluster: one that is running, or one on this machine alone."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from headscope.errors import UserError, WorkersLost
from headscope.runs.engines.base import (
    AGAIN,
    TRIES,
    Task,
    Work,
    Workers,
    cores,
    isolated,
    threads_for,
    use_threads,
)

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
TOKEN = "if it uses a token, type first: export RAY_AUTH_MODE=token"
"""With an address, Ray uses a token only where this variable says so."""
PATIENCE = 60.0
"""After how many seconds without any worker a user is warned."""
NO_ROOM = "no worker could start for a minute: the cluster has no free CPU; still waiting"


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
        with isolated(), hushed() if started else nullcontext():
            yield from self._started(work, started)

    def _started(self, work: Work, started: bool) -> Iterator[Workers]:
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
            self.ray.init(address=self.address, job_config=own_paths(self.ray), **QUIET)
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(
                f"no Ray cluster answers at {self.address!r}: {str(error).splitlines()[0]}",
                hint=f"start one with 'ray start --head', or leave the address out; {TOKEN}",
                command=f"start one with 'ray start --head', or leave --address out; {TOKEN}",
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


@contextmanager
def hushed() -> Iterator[None]:
    """Keep Ray's own reports from the user: we say in one line that a worker died.

    Ray prints a paragraph about it to standard output, where results go, whatever ``log_to_driver``
    says, and warns of the token that protects every new cluster.
    """
    module: Any = import_module("ray._private.worker")
    printed = getattr(module, "print_to_stdstream", None)
    tokens = logging.getLogger("ray._private.authentication")
    level = tokens.level
    tokens.setLevel(logging.ERROR)
    if printed is not None:
        module.print_to_stdstream = lambda data, *_, **__: log.info("%s", data.get("lines"))
    try:
        yield
    finally:
        tokens.setLevel(level)
        if printed is not None:
            module.print_to_stdstream = printed


def start_cluster(ray: Any, cpus: int) -> None:
    """Start a cluster on this machine that only this machine can reach."""
    ray.init(
        address="local",
        num_cpus=cpus,
        include_dashboard=False,
        job_config=own_paths(ray),
        **QUIET,
    )
    if ray.util.get_node_ip_address() != "127.0.0.1":
        ray.shutdown()
        raise UserError(
            "Ray was imported before, and would open its ports to other machines",
            hint="run the survey before 'import ray', or set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0; "
            "or start a cluster of your own and give its address",
        )


def own_paths(ray: Any) -> Any:
    """Settings of a job whose workers do not import from the driver's current folder.

    Ray puts it first in the search path of every worker, unless the job is that of a client.
    """
    return ray.job_config.JobConfig(_client_job=True)


def own_folders() -> list[str]:
    """Where this process finds modules, beside Python's own folders and those of its packages."""
    python = (sys.prefix, sys.base_prefix)
    return [str(Path(folder).absolute()) for folder in sys.path if not folder.startswith(python)]


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
        self.kind = ray.remote(num_cpus=1, max_restarts=0)(_Worker)
        self.actors: dict[Any, Any] = {}
        """All workers, each with a call that it answers as soon as it has started."""
        self.idle: list[Any] = []
        self.running: dict[Any, tuple[Any, Task]] = {}
        """Calls, the worker that each was sent to, and the task."""
        self.deaths = 0

    def stop(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)
        self.actors, self.idle = {}, []

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks; that of a worker that dies is done again by another.

        No task waits for a certain worker, so that a slow one holds up nobody.
        """
        stream, waiting = iter(tasks), list[Task]()
        finished: list[tuple[int, Any]] = []
        self.running, self.deaths = {}, 0
        while True:
            waiting += islice(stream, max(self.count - len(self.running) - len(waiting), 0))
            if self.idle and not waiting:
                waiting += self._withdrawn()
            while waiting:
                self._send(waiting.pop())
            yield from finished  # the workers are busy again
            finished = []
            if not self.running:
                return
            actor, task, result = self._next()
            if isinstance(result, BaseException):
                self._bury(actor, task, result)
                waiting.append(task)
            else:
                self.deaths = 0
                self.idle.append(actor)
                finished.append((task.index, result))

    def _send(self, task: Task) -> None:
        """Give a task to a worker that has none, or to a new one."""
        if self.idle:
            actor = self.idle.pop()
        else:
            actor = self.kind.remote(self.work, self.threads, own_folders())
            self.actors[actor] = actor.started.remote()
        self.running[actor.do.remote(*task.arguments, **task.options)] = actor, task

    def _next(self) -> tuple[Any, Task, Any]:
        """The next task that ends, with its worker and its result, or how the worker died."""
        errors = self.ray.exceptions
        ready: list[Any] = []
        while not ready:
            ready, _ = self.ray.wait(list(self.running), num_returns=1, timeout=PATIENCE)
            if not ready and not any(self._started(actor) for actor in self.actors):
                log.warning(NO_ROOM)
        actor, task = self.running.pop(ready[0])
        try:
            return actor, task, self.ray.get(ready[0])
        except errors.RayTaskError as error:
            raise _cause(error) from None
        except errors.RayError as error:  # the worker died, or its machine with the result
            self._check_cluster()
            return actor, task, error

    def _check_cluster(self) -> None:
        """Raise an error if Ray's own process on this machine is gone.

        Ray would end this process, without a word, with whatever is asked of it next.
        """
        here = self.ray.get_runtime_context().get_node_id()
        own = [node for node in self.ray.nodes() if node["NodeID"] == here]
        if not any(node["Alive"] and _listens(node["RayletSocketName"]) for node in own):
            self.actors, self.idle = {}, []  # to stop them would be such a thing
            raise WorkersLost(
                "Ray's own process on this machine (the raylet) died, and the workers with it",
                hint="see that the machine has enough memory, then run it again",
            )

    def _bury(self, actor: Any, task: Task, error: BaseException) -> None:
        self.deaths += 1
        self.actors.pop(actor, None)
        self.ray.kill(actor)  # if only its result is lost
        if self.deaths == TRIES * self.count:
            raise _died(task, error) from None
        log.warning(AGAIN)

    def _withdrawn(self) -> list[Task]:
        """The tasks of workers that have not started, and may never: their cluster has shrunk."""
        late = [ref for ref, (actor, _) in self.running.items() if not self._started(actor)]
        tasks = []
        for ref in late[: len(self.idle)]:
            actor, task = self.running.pop(ref)
            self.ray.kill(actor)
            del self.actors[actor]
            tasks.append(task)
        return tasks

    def _started(self, actor: Any) -> bool:
        return bool(self.ray.wait([self.actors[actor]], timeout=0)[0])


class _Worker:
    """A Ray actor: it unpacks its work with the first task, which may fail properly."""

    def __init__(self, payload: bytes, threads: int, folders: Sequence[str]) -> None:
        self.payload, self.threads = payload, threads
        sys.path += [folder for folder in folders if folder not in sys.path]
        self.work: Any = None

    def started(self) -> None:
        """Answer as soon as there is a process for this worker."""

    def do(self, *arguments: Any, **options: Any) -> Any:
        """Do one task."""
        if self.work is None:
            from ray import cloudpickle

            unpack: Any = cloudpickle.loads
            self.work = unpack(self.payload)
            use_threads(self.threads)
        return self.work(*arguments, **options)


def _knock(address: str) -> None:
    """Raise an error at once if nobody listens there: Ray itself tries for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        with socket.create_connection((host, int(port)), timeout=WAIT):
            pass


def _listens(path: str) -> bool:
    """Whether a process listens at a socket of this machine: its file stays when it dies."""
    if not hasattr(socket, "AF_UNIX"):
        return True
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(WAIT)
        try:
            knock.connect(path)
        except OSError:
            return False
    return True


def _pickled(work: Work) -> bytes:
    from ray import cloudpickle

    pack: Any = cloudpickle.dumps
    return bytes(pack(work))


def _cause(error: Any) -> BaseException:
    """What the work raised, without Ray's wrapping."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, Exception) else error


def _died(task: Task, error: BaseException) -> WorkersLost:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return WorkersLost(
        f"workers died again and again while working on unit {task.index + 1} and others: "
        f"{lines[0] if lines else type(error).__name__}",
        hint="they may have run out of memory: give fewer workers, or a smaller batch_size",
        command="they may have run out of memory: give fewer --workers, or a smaller --batch-size",
    )
