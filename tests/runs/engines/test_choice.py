"""Which engine is made, and what is refused."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import pytest
import torch

from headscope import options
from headscope.errors import UserError
from headscope.options import Workers
from headscope.runs import workers
from headscope.runs.workers import Processes, RayCluster, make_engine


@pytest.fixture
def four_cores(monkeypatch):
    for module in (options, workers):
        monkeypatch.setattr(module, "cores", lambda: 4)


def test_local_work_needs_no_engine():
    assert make_engine(Workers()) is None
    assert make_engine(Workers(engine="local", workers=1)) is None


@pytest.mark.usefixtures("four_cores")
def test_there_is_one_worker_for_each_core():
    made = make_engine(Workers(engine="processes"))
    assert isinstance(made, Processes)
    assert made.workers == 4


@pytest.mark.parametrize(("count", "threads"), [(1, 4), (2, 2), (3, 1), (4, 1)])
def test_workers_share_the_cores(count, threads, monkeypatch):
    monkeypatch.undo()  # of the threads that tests have
    monkeypatch.setattr(workers, "cores", lambda: 4)
    assert workers.threads_for(count) == threads


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"engine": "dask"}, "the engine must be one of local, processes, ray; got 'dask' instead"),
        (
            {"engine": "processes", "workers": 0},
            "the number of workers must be 1 or more, got 0 instead",
        ),
        ({"workers": 3}, "the engine 'local' works in this process alone, got 3 workers"),
        (
            {"engine": "processes", "workers": 99},
            "at most as many workers as cores, 4, got 99 instead",
        ),
        (
            {"engine": "processes", "address": "127.0.0.1:6379"},
            "only the engine 'ray' has an address",
        ),
    ],
)
def test_what_cannot_be_is_refused(given, message):
    with pytest.raises(UserError, match=message):
        Workers(**given)


@pytest.mark.usefixtures("four_cores")
def test_models_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(UserError, match=r"each worker loads the model, .* 4 of them need"):
        make_engine(Workers(engine="processes", workers=4), size=2**50)


def test_ray_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="needs Ray, which is not installed") as caught:
        Workers(engine="ray", workers=1)
    assert caught.value.hint == "install it: pip install 'headscope[ray]'"


def test_an_address_without_a_cluster_is_refused(monkeypatch):
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    RayCluster(1)  # imports Ray as a cluster of our own needs it
    engine = RayCluster(1, "127.0.0.1:1")
    monkeypatch.setattr(engine.ray, "is_initialized", lambda: False)  # other tests have a cluster
    with (
        pytest.raises(UserError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"),
        engine.start(abs),
    ):
        pytest.fail("a cluster answers there")


def test_a_worker_has_its_threads_whether_its_work_has_imported_torch_or_will(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "7")  # put back afterwards
    try:
        workers.use_threads(2)
        assert (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (2, "2")
        monkeypatch.delitem(sys.modules, "torch")
        workers.use_threads(3)
        assert (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (2, "3")
    finally:
        torch.set_num_threads(before)
