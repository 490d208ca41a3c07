"""Workers that do the blocks of a run: processes on this machine (loky), or tasks of a Ray cluster.

Work (a model, and what is done with it) is pickled once; each worker unpacks it with its first task
and keeps it. Tasks are numbered, and what they give comes back in any order, each once. What a dead
worker was doing is done again, once.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Self

import cloudpickle
import psutil
from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor

from headscope.errors import UserError
from headscope.files import show_size
from headscope.options import Engines, cores

AHEAD = 2  # tasks that wait for each worker, so that none is idle
AGAIN = "a worker died; what it was working on is done again by a new one"
SMALLER = "workers may have run out of memory: give fewer workers, or a smaller batch_size"
log = logging.getLogger(__name__)

Work = Callable[..., Any]
"""What a worker does with the arguments of each task. It must bear pickling."""


@dataclass(frozen=True)
class Task:
    """A numbered task for a worker: the arguments of its work."""

    index: int
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


class Engine(ABC):
    """Somewhere to work.

    Attributes
    ----------
    workers
        How many workers there are.
    threads
        How many threads each of them has.
    """

    workers = 1
    threads = 1

    @abstractmethod
    def start(self, work: Work) -> AbstractContextManager[Self]:
        """Get ready for some work; whatever was started is stopped on leaving the context."""

    @abstractmethod
    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks, and yield the number and the result of each as they are finished."""


def make_engine(options: Engines, *, size: int = 0) -> Engine | None:
    """The engine that options ask for; None for work in this process.

    Parameters
    ----------
    options
        Engine, number of workers and address.
    size
        How many bytes a worker's model takes.

    Raises
    ------
    UserError
        If this machine has not enough memory for the models of all workers.
    """
    if options.engine == "local":
        return None
    workers, free = options.workers or cores(), psutil.virtual_memory().available
    if workers * size > free and not options.address:
        raise UserError(
            f"each worker loads the model, {show_size(size)}; {workers} of them need "
            f"{show_size(workers * size)}, but {show_size(free)} are free",
            hint=f"give workers={max(1, free // size)}",
        )
    if options.engine == "processes":
        return Processes(workers)
    return RayCluster(options.workers, options.address)


def threads_for(workers: int) -> int:
    """How many threads each of some workers on this machine has: they share its cores."""
    return max(1, cores() // workers)


class Here(Engine):
    """This process, which does one task after the other."""

    def __init__(self, work: Work | None = None) -> None:
        self.work = work

    @contextmanager
    def start(self, work: Work) -> Iterator[Self]:
        """Keep the work at hand."""
        self.work = work
        yield self

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks in their order."""
        assert self.work is not None
        for task in tasks:
            yield task.index, self.work(*task.arguments, **task.options)


# --- in a worker ---

Refs = tuple[Any, ...]  # of the work on a Ray cluster; in a tuple, or Ray would fetch it each time
_payload = b""  # the work of a process of loky, before it is unpacked


@lru_cache(1)
def _unpacked(refs: Refs, threads: int) -> Work:
    """The work of this worker: unpacked by its first task, which may fail properly."""
    payload = import_module("ray").get(refs[0]) if refs else _payload
    work: Work = cloudpickle.loads(payload)
    use_threads(threads)
    return work


def use_threads(threads: int) -> None:
    """Let this process compute with so many threads, whether torch is imported already or later.

    Work that does not need torch then does without it: importing it takes seconds.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def _do(refs: Refs, threads: int, task: Task) -> Any:
    return _unpacked(refs, threads)(*task.arguments, **task.options)


def _begin(payload: bytes) -> None:
    """Start a process of loky, which ends when the one that started it is gone, however it went."""
    global _payload
    _payload = payload
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# --- processes on this machine ---


class Processes(Engine):
    """Workers in processes of their own, by loky, which needs no guarded main module."""

    def __init__(self, workers: int) -> None:
        self.workers, self.threads = workers, threads_for(workers)
        self._executor: Any = None

    @contextmanager
    def start(self, work: Work) -> Iterator[Self]:
        """Pack the work; processes start when there is a task for them."""
        self._packed = cloudpickle.dumps(work)
        with isolated():
            try:
                yield self
            finally:
                self._stop()

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks; a death breaks the executor, and a fresh one does again what was left."""
        stream, lost = iter(tasks), list[Task]()
        running: dict[Future[Any], Task] = {}
        repeated: set[int] = set()
        while True:
            room = self.workers * AHEAD - len(running) - len(lost)
            for task in [*lost, *islice(stream, max(room, 0))]:
                running[self._submit(task)] = task
            if not running:
                return
            wait(running, return_when=FIRST_COMPLETED)
            done = [future for future in running if future.done()]
            broken = [end for end in done if isinstance(end.exception(), BrokenProcessPool)]
            for future in done:
                if future not in broken:
                    yield running.pop(future).index, future.result()
            lost = list(running.values()) if broken else []
            if broken:
                self._stop()
                running.clear()
                twice = next((task for task in lost if task.index in repeated), None)
                if twice is not None:
                    raise _died(twice, broken[0].exception())
                repeated |= {task.index for task in lost}
                log.warning(AGAIN)

    def _submit(self, task: Task) -> Future[Any]:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self.workers,
                initializer=_begin,
                initargs=(self._packed,),
                env={"OMP_NUM_THREADS": str(self.threads)},
            )
        try:
            future: Future[Any] = self._executor.submit(_do, (), self.threads, task)
        except BrokenProcessPool as error:  # a worker died a moment ago
            future = Future()
            future.set_exception(error)
        return future

    def _stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


def _died(task: Task, error: BaseException | None) -> UserError:
    why = str(error).strip().partition("\n")[0] or type(error).__name__
    unit = f"unit {task.index + 1}"
    return UserError(f"workers died twice working on {unit} and others: {why}", hint=SMALLER)


@contextmanager
def isolated() -> Iterator[None]:
    """Keep Python processes that are started meanwhile from importing from the current folder.

    They are started with ``-m`` or ``-c``, which puts that folder first in the search path: a file
    there with the name of a library would run in every one of them.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONSAFEPATH"]
        if before is not None:
            os.environ["PYTHONSAFEPATH"] = before


# --- a Ray cluster ---

# Read by Ray when it is imported: a cluster on this machine then listens on the loopback interface
# alone, as it always does on Windows and macOS, reports nothing to its makers, gives up a task that
# fills the memory twice, and starts no workers of its own accord. If one of those dies while the
# cluster starts, ``ray.init`` never returns (seen with Ray 2.60).
LOCAL = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_task_oom_retries": "1",
}
WAIT = 10.0  # seconds that a cluster has to answer
PATIENCE = 60.0  # seconds without any worker after which a user is warned
TOKEN = "if it uses a token, type first: export RAY_AUTH_MODE=token"  # an address alone is no sign
NO_ROOM = "no worker could start for a minute: the cluster has no free CPU; still waiting"


class RayCluster(Engine):
    """Workers of Ray: tasks that it does anywhere on a cluster, and again if a machine is lost.

    Parameters
    ----------
    workers
        How many; None for all CPUs of the cluster but one, which is left to the driver.
    address
        Of a running cluster. Without one, a cluster is started on this machine, on the loopback
        interface and without a dashboard, and stopped at the end.
    """

    def __init__(self, workers: int | None, address: str = "") -> None:
        if not address:
            for name, value in LOCAL.items():
                os.environ.setdefault(name, value)
        self.ray: Any = import_module("ray")
        self.address, self.wanted = address, workers
        self.workers = workers or cores()
        self.threads = 1 if address else threads_for(self.workers)

    @contextmanager
    def start(self, work: Work) -> Iterator[Self]:
        """Connect to the cluster, or start one."""
        ours = not self.ray.is_initialized()
        with isolated(), ExitStack() as stack:
            if ours:
                stack.enter_context(hushed())
                stack.callback(self.ray.shutdown)
                self._connect()
            if self.address:
                self._count()
            # Ray queues tasks without end, but on the cluster of others only as many are sent as
            # there are workers: Ray would use all of its CPUs.
            self._room = self.workers * (AHEAD if ours and not self.address else 1)
            self._running: dict[Any, Task] = {}
            here = self.ray.get_runtime_context().get_node_id()
            raylets = {node["NodeID"]: node["RayletSocketName"] for node in self.ray.nodes()}
            self._raylet: str = raylets[here]
            self._refs = (self.ray.put(cloudpickle.dumps(work)),)
            stack.callback(self._cancel)
            yield self

    def _cancel(self) -> None:
        if _listens(self._raylet):
            for ref in self._running:
                self.ray.cancel(ref, force=True)

    def map(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Do all tasks; those of a worker that dies are sent to another one by Ray."""
        stream = iter(tasks)
        do = self.ray.remote(num_cpus=1, max_retries=1)(_do_for_ray)
        self._first = self.ray.remote(num_cpus=1, max_retries=1)(_answer).remote()
        while True:
            for task in islice(stream, max(self._room - len(self._running), 0)):
                ref = do.remote(self._refs, self.threads, own_folders(), task)
                self._running[ref] = task
            if not self._running:
                return
            ref = self._next()
            task = self._running.pop(ref)
            try:
                attempts, result = self.ray.get(ref)
            except self.ray.exceptions.RayTaskError as error:  # the work itself raised it
                cause = getattr(error, "cause", None)
                raise cause if isinstance(cause, Exception) else error from None
            except self.ray.exceptions.RayError as error:
                self._check_raylet()
                raise _died(task, error) from None
            if attempts:
                log.warning(AGAIN)
            yield task.index, result

    def _next(self) -> Any:
        """The next task that ends."""
        warn_at = time.monotonic() + PATIENCE
        while True:
            self._check_raylet()
            ready, _ = self.ray.wait(list(self._running), num_returns=1, timeout=1.0)
            if ready:
                return ready[0]
            if time.monotonic() > warn_at:
                warn_at = time.monotonic() + PATIENCE
                some = self.ray.cluster_resources().get("CPU", 0)
                if not some or not self.ray.wait([self._first], timeout=0)[0]:
                    log.warning(NO_ROOM)

    def _connect(self) -> None:
        if not self.address:
            start_cluster(self.ray, self.workers)
            return
        try:
            _knock(self.address)
            _init(self.ray, address=self.address)
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(
                f"no Ray cluster answers at {self.address!r}: {str(error).splitlines()[0]}",
                hint=f"start one with 'ray start --head', or leave address= out; {TOKEN}",
            ) from None

    def _count(self) -> None:
        cpus = int(self.ray.cluster_resources().get("CPU", 1))
        most = max(1, cpus - 1)
        if self.wanted is not None and self.wanted > cpus:
            raise UserError(
                f"the cluster has {cpus} CPUs, got {self.wanted} workers",
                hint=f"give workers={most}: one CPU is left to the driver",
            )
        self.workers = self.wanted or most

    def _check_raylet(self) -> None:
        """Raise an error if Ray's own process on this machine is gone.

        Ray would end this process, without a word, with whatever is asked of it next.
        """
        if not _listens(self._raylet):
            raise UserError(
                "Ray's own process on this machine (the raylet) died, and the workers with it",
                hint="see that the machine has enough memory, then run it again",
            )


def _do_for_ray(refs: Refs, threads: int, folders: list[str], task: Task) -> tuple[int, Any]:
    """How often the task had failed before with a worker or its machine, and what it gave."""
    sys.path += [folder for folder in folders if folder not in sys.path]
    core = import_module("ray._private.worker").global_worker.core_worker
    attempts: int = getattr(core, "get_current_task_attempt_number", int)()
    return attempts, _do(refs, threads, task)


def _answer() -> None:
    """Do nothing, as soon as there is a worker for it."""


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
    module.print_to_stdstream = lambda data, *_, **__: log.info("%s", data.get("lines"))
    try:
        yield
    finally:
        tokens.setLevel(level)
        module.print_to_stdstream = printed


def start_cluster(ray: Any, cpus: int) -> None:
    """Start a cluster on this machine that only this machine can reach."""
    _init(ray, address="local", num_cpus=cpus, include_dashboard=False)
    if ray.util.get_node_ip_address() != "127.0.0.1":
        ray.shutdown()
        raise UserError(
            "Ray was imported before, and would open its ports to other machines",
            hint="run the survey before 'import ray', or set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0; "
            "or start a cluster of your own and give its address",
        )


def _init(ray: Any, **how: Any) -> None:
    # Ray puts the driver's current folder first in the search path of every worker, where a file
    # with the name of a library would run; unless the job is that of a client.
    how["job_config"] = ray.job_config.JobConfig(_client_job=True)
    ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **how)


def own_folders() -> list[str]:
    """Where this process finds modules, beside Python's own folders and those of its packages."""
    python = (sys.prefix, sys.base_prefix)
    return [str(Path(folder).absolute()) for folder in sys.path if not folder.startswith(python)]


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
        return knock.connect_ex(path) == 0
