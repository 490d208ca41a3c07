"""Interrupted probing runs resume, and damaged or foreign checkpoints are errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from headscope.errors import Interrupted, UserError
from headscope.progress import Update
from headscope.results import Atlas
from headscope.runs.probe import probe
from planted import planted_bert
from runs.probe.planted_tasks import QUICK, UNIFORM, dogs, reading


def same(one: Atlas, two: Atlas) -> None:
    assert one.measures == two.measures
    for name in one:
        xr.testing.assert_equal(one[name], two[name])


TASKS = [dogs(name, seed, (30, 10, 10)) for seed, name in enumerate(("one", "second", "three"))]
OPTIONS: dict[str, Any] = {"counts": (1, 5), "max_length": 24} | QUICK
OPTIONS |= {"embeddings": True, "repeats": 2}
STEPS = 2 * (2 + 2)
"""Steps of a task: heads and states of two layers, and two points of the curve, two ways."""
REDRAWN = 2 * (2 * 2 + 1)
"""Classifiers of new splits: heads and states of two layers, and top heads, twice."""


def stop_at(step: int) -> Update:
    """Presses Ctrl-C after so many steps of training."""

    def update(done: int, total: int) -> None:
        if total == len(TASKS) * STEPS and done == step:
            raise KeyboardInterrupt

    return update


def test_an_interrupted_run_resumes_and_gives_the_same_results(given, tmp_path):
    model, path = reading((UNIFORM, ("dog",))), tmp_path / "probe.nc"
    partial = tmp_path / "probe.nc.partial"

    def run(output: Path, progress: Update | bool = False) -> Atlas:
        return probe(model, TASKS, cache=tmp_path, output=output, progress=progress, **OPTIONS)

    with pytest.raises(Interrupted) as error:
        run(path, stop_at(STEPS + 2))
    assert error.value.message == f"stopped after 1 of 3 tasks; the state is kept in {partial}"
    assert not path.exists()
    assert partial.exists()
    given.clear()
    resumed = run(path)
    assert len(given) == 2 * (STEPS + REDRAWN + 1)  # two tasks, each with embeddings
    assert not partial.exists()
    fresh = run(tmp_path / "fresh.nc")
    same(Atlas.open(path), Atlas.open(tmp_path / "fresh.nc"))
    same(resumed, fresh)
    for name in ("probe", "probe_splits", "probe_embeddings"):
        assert fresh[name]["task"].values.tolist() == ["one", "second", "three"]
    given.clear()
    same(run(path), fresh)
    assert given == []  # opened, not computed again


def test_a_run_stopped_in_its_first_task_keeps_its_vectors_alone(tmp_path):
    model, path = planted_bert(), tmp_path / "probe.nc"
    kept = (
        rf"^stopped before anything was finished; the vectors of \d+ texts are kept in {tmp_path}"
    )
    with pytest.raises(Interrupted, match=kept):
        probe(model, TASKS, cache=tmp_path, output=path, progress=stop_at(1), **OPTIONS)
    assert not (tmp_path / "probe.nc.partial").exists()


def test_without_an_output_an_interrupted_run_keeps_its_vectors_alone(tmp_path):
    kept = rf"^stopped; the vectors of \d+ texts are kept in {tmp_path}"
    with pytest.raises(Interrupted, match=kept):
        probe(planted_bert(), TASKS, cache=tmp_path, progress=stop_at(STEPS + 1), **OPTIONS)


def test_a_checkpoint_of_another_run_or_a_damaged_one_is_an_error(tmp_path):
    path, partial = tmp_path / "probe.nc", tmp_path / "probe.nc.partial"

    def run(progress: Update | bool = False, **options: Any) -> Atlas:
        how = {"cache": tmp_path, "output": path, "progress": progress, **OPTIONS}
        return probe(planted_bert(), TASKS, **how | options)

    with pytest.raises(Interrupted):
        run(stop_at(STEPS + 1))
    with pytest.raises(UserError, match=r"partial is the checkpoint of another run"):
        run(l2=(1e-3,))
    partial.with_name("probe.nc.partial.before").unlink(missing_ok=True)
    data = bytearray(partial.read_bytes())
    data[-1] ^= 1
    partial.write_bytes(data)
    with pytest.raises(UserError, match=r"partial is damaged"):
        run()


def test_requested_points_of_the_curve_make_another_run(tmp_path):
    """Costly points are skipped unless they are requested, so the two results may differ."""
    path, one = tmp_path / "probe.nc", dogs(sizes=(20, 10, 10))
    options = {"max_length": 24, "greedy": False} | QUICK
    default = probe(planted_bert(), one, cache=tmp_path, output=path, **options)
    counts = default["probe_top"]["n"].values.tolist()
    with pytest.raises(UserError, match="another run: skip_costly: true there, false here"):
        probe(planted_bert(), one, cache=tmp_path, output=path, counts=counts, **options)
    options |= {"cache": tmp_path, "output": path, "overwrite": True}
    requested = probe(planted_bert(), one, counts=counts, **options)
    assert requested.provenance["identity"] != default.provenance["identity"]
    same(requested, default)
