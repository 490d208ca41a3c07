"""Ablations by workers in other processes and on a Ray cluster."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from headscope.errors import Interrupted, UserError
from headscope.runs.ablate import ablate
from runs.ablate.made import RUN, TASK, classifier, labelled, language_model
from runs.engines.workers import same, workers_of
from runs.in_process import stop_after
from tiny import SENTENCES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked")]

GIVEN: dict[str, Any] = {
    **RUN,
    "task": TASK,
    "dev": labelled(),
    "importance": True,
    "prune": True,
    "batch_size": 1,
}


@pytest.fixture(scope="module")
def model():
    return classifier()


@pytest.fixture(scope="module")
def alone(model):
    return ablate(model, **GIVEN)


@pytest.mark.parametrize("engine", ["processes"], indirect=True)
def test_results_are_those_of_a_local_run(model, alone, engine):
    same(ablate(model, engine=engine, workers=2, **GIVEN), alone)


def test_nothing_is_lost_when_a_worker_is_killed_and_the_run_is_stopped(model, alone, tmp_path):
    killed: list[int] = []
    stop = stop_after(4)

    def kill_one_then_stop(done: int, total: int) -> None:
        for process in [] if killed else workers_of("processes")[:1]:
            process.send_signal(signal.SIGKILL)
            killed.append(process.pid)
        stop(done, total)

    given = {**GIVEN, "output": tmp_path / "off.nc"}
    with pytest.raises(Interrupted, match="stopped after 4 examples"):
        ablate(model, engine="processes", workers=1, progress=kill_one_then_stop, **given)
    assert killed
    assert not workers_of("processes")
    same(ablate(model, **given), alone)


def test_an_error_of_the_objective_stops_the_run_at_once(tmp_path):
    calls = tmp_path / "calls"
    calls.mkdir()

    def fail(output: Any, batch: Any) -> Any:
        (calls / batch.items[0].example.id).mkdir()  # a second try would say that it exists
        raise UserError("no such luck", hint="try something else")

    with pytest.raises(UserError, match="no such luck") as caught:
        ablate(
            language_model("bert"),
            corpus=list(SENTENCES),
            objective=fail,
            engine="processes",
            workers=1,
            **RUN,
        )
    assert caught.value.hint == "try something else"
    assert len(list(calls.iterdir())) == 1
