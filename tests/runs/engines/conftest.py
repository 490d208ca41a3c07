"""Engines that the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from headscope.runs.engines import base
from headscope.runs.engines.cluster import RayEngine, start_cluster

ENGINES = ["processes", "ray"]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers, also where a machine has one core."""
    found = base.cores()
    monkeypatch.setattr(base, "cores", lambda: max(2, found))


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """One Ray cluster on this machine for all tests."""
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    ray = RayEngine(2).ray  # imported as the engine does it
    with pytest.MonkeyPatch.context() as patch:
        # Workers have the priority of other processes, or they would wait for other tests.
        patch.setenv("RAY_worker_niceness", "0")
        start_cluster(ray, 2)
        yield
        ray.shutdown()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "ray":
        request.getfixturevalue("cluster")
    return str(request.param)
