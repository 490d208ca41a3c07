"""A survey with an output file: saved when done, its state beside it until then, and never computed
twice.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.corpus import from_texts, read
from headscope.errors import CorpusError, Interrupted, ResultsError, UserError
from headscope.results import Atlas, merge
from headscope.runs.forward import Pass
from headscope.runs.survey import survey
from planted import planted_bert
from runs.in_process import interrupt_at, stop_after

CORPUS = from_texts(["a dog", "the cat sat.", "it saw", "the mat, a dog", "it barks!"])
HOW: dict[str, Any] = {"batch_size": 1, "max_length": 24, "measures": ["position", "entropy"]}


@pytest.fixture(scope="module")
def model():
    return planted_bert()


@pytest.fixture
def passes(monkeypatch):
    """Which batches go through the model."""
    seen: list[int] = []
    run = Pass.run

    def spy(self: Pass, batch: Any) -> Any:
        seen.append(batch.index)
        return run(self, batch)

    monkeypatch.setattr(Pass, "run", spy)
    return seen


def test_the_results_are_saved_and_no_state_is_left(model, tmp_path):
    results = survey(model, CORPUS, output=tmp_path / "new" / "run.nc", **HOW)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["run.nc"]
    assert Atlas.open(tmp_path / "new" / "run.nc").tree.identical(results.tree)


def test_the_same_call_again_opens_the_file_and_computes_nothing(model, tmp_path, passes):
    first = survey(model, CORPUS, output=tmp_path / "run.nc", **HOW)
    assert passes == [0, 1, 2, 3, 4]
    before = (tmp_path / "run.nc").read_bytes()
    again = survey(model, CORPUS, output=tmp_path / "run.nc", **HOW)
    assert passes == [0, 1, 2, 3, 4]
    assert again.tree.identical(first.tree)
    assert (tmp_path / "run.nc").read_bytes() == before


@pytest.mark.parametrize("change", [{"measures": ["entropy"]}, {"shard": (1, 2)}], ids=str)
def test_another_call_computes_its_own_and_replaces_the_file_if_it_may(
    model, tmp_path, passes, change
):
    survey(model, CORPUS, output=tmp_path / "run.nc", **HOW)
    passes.clear()
    given = {**HOW, **change}
    with pytest.raises(ResultsError, match="holds the results of another run: "):
        survey(model, CORPUS, output=tmp_path / "run.nc", **given)
    assert not passes
    other = survey(model, CORPUS, output=tmp_path / "run.nc", overwrite=True, **given)
    assert passes
    assert Atlas.open(tmp_path / "run.nc").tree.identical(other.tree)


def test_a_stopped_run_keeps_its_state_beside_the_output_and_goes_on_from_it(
    model, tmp_path, passes
):
    with pytest.raises(Interrupted) as caught:
        survey(model, CORPUS, output=tmp_path / "run.nc", progress=interrupt_at(3), **HOW)
    state = tmp_path / "run.nc.partial"
    assert caught.value.message == f"stopped after 3 examples; the state is kept in {state}"
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc.partial"]
    results = survey(model, CORPUS, output=tmp_path / "run.nc", **HOW)
    assert passes == [0, 1, 2, 3, 4]
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]
    undisturbed = survey(model, CORPUS, **HOW)
    assert all(results[name].identical(undisturbed[name]) for name in HOW["measures"])


def test_an_output_that_cannot_be_written_is_told_before_any_work(model, tmp_path, passes):
    with pytest.raises(UserError, match="is a folder; a file is to be written there"):
        survey(model, CORPUS, output=tmp_path, **HOW)
    assert passes == []


def test_a_merged_file_is_not_taken_for_the_run_of_one_of_its_shards(model, tmp_path, passes):
    parts = [survey(model, CORPUS, shard=(number, 2), **HOW) for number in (1, 2)]
    merge(parts).save(tmp_path / "run.nc")
    passes.clear()
    with pytest.raises(ResultsError, match="run: shards: '1/1' there, '1/2' here"):
        survey(model, CORPUS, shard=(1, 2), output=tmp_path / "run.nc", **HOW)
    output = tmp_path / "run.nc"
    part = survey(model, CORPUS, shard=(1, 2), output=output, overwrite=True, **HOW)
    assert passes == [0, 1, 2, 3, 4]  # the corpus is one unit of work
    np.testing.assert_array_equal(part["entropy"]["n"].values, 5)


def test_results_are_on_the_disk_before_the_state_is_removed(model, tmp_path, monkeypatch):
    events: list[str] = []
    sync, unlink, replace = os.fsync, Path.unlink, Path.replace

    def note_sync(handle: int) -> None:
        place = Path(f"/proc/self/fd/{handle}").readlink()
        events.append("sync folder" if place == tmp_path else f"sync {place.name[:8]}")
        sync(handle)

    def note_unlink(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".partial":
            events.append("remove state")
        unlink(path, missing_ok=missing_ok)

    def note_replace(path: Path, target: Path) -> Path:
        events.append(f"rename to {Path(target).name}")
        return replace(path, target)

    monkeypatch.setattr("os.fsync", note_sync)
    monkeypatch.setattr(Path, "unlink", note_unlink)
    monkeypatch.setattr(Path, "replace", note_replace)
    survey(model, CORPUS, output=tmp_path / "run.nc", every=0.0, **HOW)
    last = ["sync .run.nc.", "rename to run.nc", "sync folder", "remove state", "sync folder"]
    assert events[-5:] == last


@pytest.mark.parametrize("state", [None, "kept.state"])
def test_a_run_stays_in_its_folder_when_the_current_one_changes(
    model, tmp_path, monkeypatch, state
):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    (home / "texts.txt").write_text("\n".join(text for one in CORPUS for text in one.texts))
    monkeypatch.chdir(home)
    corpus = read("texts.txt", lines=True)
    stop = stop_after(3)

    def leave(done: int, total: int) -> None:
        monkeypatch.chdir(away)
        stop(done, total)

    given: dict[str, Any] = {"output": "run.nc", "checkpoint": state, "every": 0.0, **HOW}
    with pytest.raises(Interrupted, match="stopped after 3 examples"):
        survey(model, corpus, progress=leave, **given)
    kept = state or "run.nc.partial"
    assert {file.name for file in home.iterdir()} == {"texts.txt", kept, f"{kept}.before"}
    monkeypatch.chdir(home)
    survey(model, corpus, progress=lambda *_: monkeypatch.chdir(away), **given)
    assert {file.name for file in home.iterdir()} == {"texts.txt", "run.nc"}
    assert list(away.iterdir()) == []


def test_errors_name_a_corpus_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_bytes(b"A dog.\n\xff\n")
    with pytest.raises(CorpusError, match=r"^texts\.txt, line 2: not valid UTF-8"):
        list(read("texts.txt"))
