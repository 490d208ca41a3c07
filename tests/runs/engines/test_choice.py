"""Which engine is made, and what is refused."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

import pytest
import torch

from headscope.errors import UserError
from headscope.runs.engines import base, make_engine
from headscope.runs.engines.cluster import RayEngine
from headscope.runs.engines.processes import ProcessEngine


def test_local_work_needs_no_engine() -> None:
    assert make_engine() is None
    assert make_engine("local", 1) is None


def test_there_is_one_worker_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "cores", lambda: 6)
    made = make_engine("processes")
    assert isinstance(made, ProcessEngine)
    assert made.workers == 6
    assert [base.threads_for(count) for count in (1, 2, 4, 6)] == [6, 3, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dask",), "the engine must be one of local, processes, ray; got 'dask' instead"),
        (("processes", 0), "the number of workers must be 1 or more, got 0 instead"),
        (("local", 3), "the engine 'local' works in this process alone, got 3 workers"),
        (("processes", 99), "at most as many workers as cores, 4, got 99 instead"),
        (("processes", 2, "127.0.0.1:6379"), "only the engine 'ray' has an address"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: tuple[Any, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "cores", lambda: 4)
    with pytest.raises(UserError, match=message):
        make_engine(*arguments)


def test_models_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "cores", lambda: 4)
    with pytest.raises(UserError, match=r"each worker loads the model, .* 4 of them need"):
        make_engine("processes", 4, size=2**50)


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="needs Ray, which is not installed") as caught:
        make_engine("ray", 1)
    assert caught.value.hint == "install it: pip install 'headscope[ray]'"


def test_an_address_without_a_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    make_engine("ray", 1)  # imports Ray as a cluster of our own needs it
    engine = make_engine("ray", 1, "127.0.0.1:1")
    assert isinstance(engine, RayEngine)
    monkeypatch.setattr(engine.ray, "is_initialized", lambda: False)  # other tests have a cluster
    with (
        pytest.raises(UserError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"),
        engine.start(abs),
    ):
        pytest.fail("a cluster answers there")


def test_a_worker_has_its_threads_whether_its_work_has_imported_torch_or_will(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "7")  # put back afterwards
    try:
        base.use_threads(2)
        assert (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (2, "2")
        monkeypatch.delitem(sys.modules, "torch")
        base.use_threads(3)
        assert (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (2, "3")
    finally:
        torch.set_num_threads(before)
