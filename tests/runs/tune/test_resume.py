"""An interrupted run resumes to the same weights, and never from another run's state."""

from __future__ import annotations

import os
import shutil
import signal
import time

import pytest

from headscope.errors import Interrupted, ModelError, UserError
from headscope.files import locked
from headscope.models import load
from runs.in_process import interrupt_at
from runs.tune.animals import same, sentences, tune_animals

# Five steps per epoch.
DATA = {"train": sentences(40, 0), "dev": sentences(12, 1)}


@pytest.mark.parametrize("stop", [3, 5, 8])  # in the first epoch, at its end, in the second
def test_an_interrupted_run_resumes_to_the_same_weights(bert, tmp_path, stop):
    given = DATA | {"epochs": 2}
    whole = tune_animals(bert, tmp_path / "whole", **given)
    output = tmp_path / "parts"
    with pytest.raises(Interrupted) as caught:
        tune_animals(bert, output, progress=interrupt_at(stop + 1), every=0, **given)
    kept = f"the state after step {stop} is kept in {output / 'checkpoints'}"
    assert caught.value.message == f"stopped; {kept}"
    assert not (output / "headscope-tune.json").exists()
    steps: list[int] = []
    parts = tune_animals(bert, output, progress=lambda done, _: steps.append(done), **given)
    assert steps == list(range(stop + 1, 11))
    assert same(whole.folder, output)
    assert (parts.scores, parts.losses) == (whole.scores, whole.losses)
    assert not (output / "checkpoints").exists()


def test_an_incomplete_checkpoint_is_ignored_and_resume_false_starts_again(bert, tmp_path):
    given = DATA | {"every": 0}
    with pytest.raises(Interrupted):
        tune_animals(bert, tmp_path / "a", progress=interrupt_at(3), **given)
    places = [tmp_path / "a" / "checkpoints" / f"checkpoint-{step}" for step in (2, 4)]
    shutil.copytree(*places)
    (places[1] / "losses.json").unlink()  # written last
    with pytest.raises(UserError, match="holds the state of another run"):
        tune_animals(bert, tmp_path / "a", **given | {"epochs": 2})
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    steps: list[int] = []
    given["progress"] = lambda done, _: steps.append(done)
    tune_animals(bert, tmp_path / "a", **given)
    tune_animals(bert, tmp_path / "b", resume=False, **given)
    assert steps == [3, 4, 5, 1, 2, 3, 4, 5]
    assert same(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("name", ["optimizer.pt", "model.safetensors", "losses.json"])
def test_without_a_checkpoint_that_cannot_be_read_the_one_before_leads_to_the_same_weights(
    bert, tmp_path, name
):
    with pytest.raises(Interrupted, match="after step 3"):
        tune_animals(bert, tmp_path / "a", progress=interrupt_at(4), every=0, **DATA)
    last = tmp_path / "a" / "checkpoints" / "checkpoint-3"
    data = (last / name).read_bytes()
    (last / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError) as caught:
        tune_animals(bert, tmp_path / "a", **DATA)
    assert caught.value.message.startswith(f"the checkpoint {last} cannot be read: ")
    assert caught.value.hint == f"delete {last} to resume from the checkpoint before it"
    shutil.rmtree(last)
    steps: list[int] = []
    tune_animals(bert, tmp_path / "a", progress=lambda done, _: steps.append(done), **DATA)
    assert steps[0] == 3
    assert same(tune_animals(bert, tmp_path / "whole", **DATA).folder, tmp_path / "a")


def test_a_damaged_model_of_a_finished_run_is_not_loaded_and_is_made_again(bert, tmp_path):
    path = tune_animals(bert, tmp_path / "a").folder / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    with pytest.raises(ModelError, match=r"is damaged: model\.safetensors has changed since it"):
        load(tmp_path / "a")
    assert not tune_animals(bert, tmp_path / "a").again
    assert path.read_bytes() == whole
    assert tune_animals(bert, tmp_path / "a").again


def test_stopping_before_the_first_checkpoint_keeps_nothing(bert, tmp_path):
    with pytest.raises(Interrupted, match="stopped before a checkpoint was written"):
        tune_animals(bert, tmp_path / "x", progress=interrupt_at(1))


def test_ctrl_c_waits_for_the_step_and_restores_the_signal_handler(bert, tmp_path):
    steps: list[int] = []

    def press(done: int, total: int) -> None:
        steps.append(done)
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    output = tmp_path / "stopped"
    with pytest.raises(Interrupted, match="stopped; the state after step 3 is kept in"):
        tune_animals(bert, output, progress=press, **DATA)
    assert (steps, signal.getsignal(signal.SIGINT)) == ([1, 2, 3], before)
    tune_animals(bert, output, **DATA)
    assert same(output, tune_animals(bert, tmp_path / "whole", **DATA).folder)


def test_a_second_ctrl_c_does_not_wait(bert, tmp_path):
    def press_twice(done: int, total: int) -> None:
        first = signal.getsignal(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        # Two signals that are pending at once count as one.
        while signal.getsignal(signal.SIGINT) is first:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped before a checkpoint was written"):
        tune_animals(bert, tmp_path / "x", progress=press_twice)


def test_a_folder_that_another_process_writes_is_left_to_it(bert, tmp_path):
    with locked(tmp_path / "x"), pytest.raises(UserError, match="another process is writing to"):
        tune_animals(bert, tmp_path / "x", start="untrained")
    assert not (tmp_path / "x").exists()
    tune_animals(bert, tmp_path / "x", start="untrained")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
