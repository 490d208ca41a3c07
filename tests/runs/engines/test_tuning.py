"""Fine-tuning runs by workers: the same weights as those of one process."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from headscope.runs.tune import Tuned, tune_several
from runs.engines.workers import workers_of
from runs.tune.animals import ANIMALS, QUICK, same, saved, sentences

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked")]


def test_seeds_have_the_weights_of_local_runs_although_a_worker_is_killed(tmp_path):
    model = saved("bert", tmp_path / "model")
    seeds = (3, 1, 2)

    def run(folder: str, **more: Any) -> list[Tuned]:
        given = {"task": ANIMALS, "train": sentences(24, 1), "dev": sentences(12, 2), "epochs": 1}
        return tune_several(model, output=tmp_path / folder, seed=seeds, **given, **QUICK, **more)

    killed: list[int] = []
    seen: list[tuple[int, int]] = []

    def kill(done: int, total: int) -> None:
        seen.append((done, total))
        for process in workers_of("processes")[:1] if done == 1 else []:
            process.send_signal(signal.SIGKILL)
            killed.append(process.pid)

    found = run("workers", engine="processes", workers=2, progress=kill)
    alone = run("local")
    assert killed
    assert seen == [(done, 3) for done in range(4)]
    assert [tuned.settings.seed for tuned in found] == list(seeds)
    for one, other in zip(found, alone, strict=True):
        assert same(one.folder, other.folder)
        assert one.scores == other.scores
    assert not same(found[0].folder, found[1].folder)
