"""Vectors of texts by workers: the same files as those of one process."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.errors import Interrupted
from headscope.runs.probe.vectors import make_head_outputs
from headscope.runs.workers import Processes
from runs.engines.workers import same, workers_of
from runs.in_process import OddFirst
from runs.probe.vector_texts import MANY
from tiny import tiny_model

EMPTY = ("\u200b",)
HOW: dict[str, Any] = {"max_length": 64, "batch_size": 1}


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert")


def contents(paths: Iterable[Path]) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in paths]


def test_batches_in_any_order_give_the_same_blocks(model, tmp_path):
    texts = [*MANY[:40], EMPTY, *MANY[40:]]
    one = make_head_outputs(model, texts, tmp_path / "one", **HOW)
    seen: list[int] = []
    how = HOW | {"engine": OddFirst(), "progress": lambda done, _: seen.append(done)}
    other = make_head_outputs(model, texts, tmp_path / "other", **how)
    assert contents(one.blocks) == contents(other.blocks)
    assert one.counts == other.counts
    assert seen == list(range(1, 71))


def test_a_block_of_texts_without_tokens_is_kept(model, tmp_path):
    found = make_head_outputs(model, [EMPTY], tmp_path, engine=OddFirst(), **HOW)
    assert found.counts["empty"] == 1
    assert not np.any(found.heads(0, np.arange(1)))


@pytest.mark.usefixtures("forked")
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes"], indirect=True)
def test_blocks_survive_a_killed_worker_and_a_stopped_run(model, tmp_path, engine):
    killed: list[int] = []

    def kill_then_stop(done: int, _total: int) -> None:
        for process in [] if killed else workers_of(engine)[:1]:
            process.send_signal(signal.SIGKILL)
            killed.append(process.pid)
        if done == 60:
            signal.raise_signal(signal.SIGINT)

    def compute(folder: str, **more: Any) -> Any:
        return make_head_outputs(model, MANY, tmp_path / folder, **HOW, **more)

    with pytest.raises(Interrupted, match=r"the vectors of (32|0) of 70 texts"):
        compute("here", engine=Processes(1), progress=kill_then_stop)
    assert killed
    assert contents(compute("here").blocks) == contents(compute("fresh").blocks)


def test_a_probe_has_the_scores_of_a_local_one(model, tmp_path, monkeypatch):
    def make(options: Any, **_: Any) -> OddFirst | None:
        return OddFirst() if options.engine == "processes" else None

    monkeypatch.setattr("headscope.runs.run.make_engine", make)

    def run(name: str, **more: Any) -> Any:
        how = {"only": "Tense", "sample": 12, "batch_size": 2, "max_length": 64, "n": 2}
        how |= {"counts": [2], "greedy": False, "control": False, "l2": [0.01]}
        return hs.probe(model, "demo", cache=tmp_path / name, **how, **more)

    same(run("workers", engine="processes", workers=2), run("local"))
