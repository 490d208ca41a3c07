"""Engines that the tests share."""

from __future__ import annotations

import multiprocessing
from functools import partial
from importlib.util import find_spec

import pytest

from headscope import options
from headscope.runs import workers
from headscope.runs.workers import RayCluster, start_cluster
from runs.engines.workers import FORKED

ENGINES = ["processes", "ray"]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """Two cores and one thread per worker on every machine: the last bits depend on threads."""
    for module in (options, workers):
        monkeypatch.setattr(module, "cores", lambda: 2)
    monkeypatch.setattr(workers, "threads_for", lambda workers: 1)


@pytest.fixture
def forked(monkeypatch):
    """Workers of the engine ``processes`` are forked from a process that has imported torch and
    transformers but nothing of ours: that saves four seconds per worker. Tests without this fixture
    start them as users do.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([FORKED, "torch", "transformers.modeling_utils"])
    pool = partial(workers.ProcessPoolExecutor, context=context)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", pool)


@pytest.fixture(scope="session")
def cluster():
    """One Ray cluster on this machine for all tests."""
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    ray = RayCluster(2).ray  # imported as the engine does it
    with pytest.MonkeyPatch.context() as patch:
        # Workers have the priority of other processes, or they would wait for other tests; and
        # none is killed because something else fills the memory.
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_memory_monitor_refresh_ms", "0")
        start_cluster(ray, 2)
        yield
        ray.shutdown()


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param == "ray":
        request.getfixturevalue("cluster")
    return str(request.param)
