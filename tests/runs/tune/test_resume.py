"""An interrupted run resumes to the same weights, and never from another run's state."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headscope.errors import Interrupted, ModelError, UserError
from headscope.files import locked
from headscope.models import load
from headscope.runs.tune import tune
from runs.tune.animals import ANIMALS, QUICK, same, sentences


@pytest.mark.parametrize("stop", [3, 5, 8])  # in the first epoch, at its end, in the second
def test_an_interrupted_run_resumes_to_the_same_weights(bert, tmp_path, stop):
    given: dict[str, Any] = {"epochs": 2, **QUICK}
    data = {"train": sentences(40, 0), "dev": sentences(12, 1)}
    whole = tune(bert, task=ANIMALS, **data, output=tmp_path / "whole", **given)
    steps: list[int] = []

    def interrupt(done: int, total: int) -> None:
        steps.append(done)
        if done == stop + 1:
            raise KeyboardInterrupt

    output = tmp_path / "parts"
    with pytest.raises(Interrupted) as caught:
        tune(bert, task=ANIMALS, **data, output=output, progress=interrupt, every=0, **given)
    assert (
        caught.value.message
        == f"stopped; the state after step {stop} is kept in {output / 'checkpoints'}"
    )
    assert not (output / "headscope-tune.json").exists()
    steps.clear()
    parts = tune(
        bert,
        task=ANIMALS,
        **data,
        output=output,
        progress=lambda done, _: steps.append(done),
        **given,
    )
    assert steps == list(range(stop + 1, 11))
    assert same(whole.folder, output)
    assert (parts.scores, parts.losses) == (whole.scores, whole.losses)
    assert not (output / "checkpoints").exists()


def test_an_incomplete_checkpoint_is_ignored_and_resume_false_starts_again(bert, tmp_path):
    def interrupt(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"epochs": 1, "every": 0, **QUICK}
    data = {"train": sentences(40, 0), "dev": sentences(12, 1)}
    with pytest.raises(Interrupted):
        tune(bert, task=ANIMALS, **data, output=tmp_path / "a", progress=interrupt, **given)
    shutil.copytree(
        tmp_path / "a" / "checkpoints" / "checkpoint-2",
        tmp_path / "a" / "checkpoints" / "checkpoint-4",
    )
    (tmp_path / "a" / "checkpoints" / "checkpoint-4" / "losses.json").unlink()  # written last
    steps: list[int] = []
    with pytest.raises(UserError, match="holds the state of another run"):
        tune(bert, task=ANIMALS, **data, output=tmp_path / "a", **given | {"epochs": 2})
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    one = tune(
        bert,
        task=ANIMALS,
        **data,
        output=tmp_path / "a",
        progress=lambda done, _: steps.append(done),
        **given,
    )
    assert steps == [3, 4, 5]
    steps.clear()
    two = tune(
        bert,
        task=ANIMALS,
        **data,
        output=tmp_path / "b",
        progress=lambda done, _: steps.append(done),
        resume=False,
        **given,
    )
    assert steps == [1, 2, 3, 4, 5]
    assert same(one.folder, two.folder)


@pytest.mark.parametrize("name", ["optimizer.pt", "model.safetensors", "losses.json"])
def test_without_a_checkpoint_that_cannot_be_read_the_one_before_leads_to_the_same_weights(
    bert, tmp_path, name
):
    def interrupt(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"task": ANIMALS, "epochs": 1, **QUICK}
    given |= {"train": sentences(40, 0), "dev": sentences(12, 1)}
    with pytest.raises(Interrupted, match="after step 3"):
        tune(bert, output=tmp_path / "a", progress=interrupt, every=0, **given)
    last = tmp_path / "a" / "checkpoints" / "checkpoint-3"
    data = (last / name).read_bytes()
    (last / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError) as caught:
        tune(bert, output=tmp_path / "a", **given)
    assert caught.value.message.startswith(f"the checkpoint {last} cannot be read: ")
    assert caught.value.hint == f"delete {last} to resume from the checkpoint before it"
    shutil.rmtree(last)
    steps: list[int] = []
    tune(bert, output=tmp_path / "a", progress=lambda done, _: steps.append(done), **given)
    assert steps[0] == 3
    whole = tune(bert, output=tmp_path / "whole", **given)
    assert same(whole.folder, tmp_path / "a")


def test_a_damaged_model_of_a_finished_run_is_not_loaded_and_is_made_again(bert, tmp_path):
    given: dict[str, Any] = {"task": ANIMALS, "epochs": 1, **QUICK}
    given |= {"train": sentences(16, 0), "dev": sentences(8, 1)}
    made = tune(bert, output=tmp_path / "a", **given)
    path = made.folder / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    with pytest.raises(ModelError, match=r"is damaged: model\.safetensors has changed since it"):
        load(made.folder)
    again = tune(bert, output=tmp_path / "a", **given)
    assert not again.again
    assert path.read_bytes() == whole
    assert tune(bert, output=tmp_path / "a", **given).again


def test_stopping_before_the_first_checkpoint_keeps_nothing(bert, tmp_path):
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="stopped before a checkpoint was written"):
        tune(
            bert,
            task=ANIMALS,
            train=sentences(16, 0),
            dev=sentences(8, 1),
            output=tmp_path / "x",
            progress=interrupt,
            **QUICK,
        )


def test_ctrl_c_waits_for_the_step_and_restores_the_signal_handler(bert, tmp_path):
    steps: list[int] = []

    def press(done: int, total: int) -> None:
        steps.append(done)
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    given: dict[str, Any] = {"epochs": 1, **QUICK}
    data = {"train": sentences(40, 0), "dev": sentences(12, 1)}
    output = tmp_path / "stopped"
    with pytest.raises(Interrupted) as caught:
        tune(bert, task=ANIMALS, **data, output=output, progress=press, **given)
    assert (
        caught.value.message
        == f"stopped; the state after step 3 is kept in {output / 'checkpoints'}"
    )
    assert (steps, signal.getsignal(signal.SIGINT)) == ([1, 2, 3], before)
    tune(bert, task=ANIMALS, **data, output=output, **given)
    assert same(output, tune(bert, task=ANIMALS, **data, output=tmp_path / "whole", **given).folder)


@pytest.fixture
def sigint() -> Iterator[None]:
    """SIGINT as in a terminal: a shell's background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sigint")
def test_a_second_ctrl_c_does_not_wait(bert, tmp_path):
    def press_twice(done: int, total: int) -> None:
        first = signal.getsignal(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        # Two signals that are pending at once count as one.
        while signal.getsignal(signal.SIGINT) is first:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped before a checkpoint was written"):
        tune(
            bert,
            task=ANIMALS,
            train=sentences(16, 0),
            dev=sentences(8, 1),
            output=tmp_path / "x",
            progress=press_twice,
            **QUICK,
        )


def test_a_folder_that_another_process_writes_is_left_to_it(bert, tmp_path):
    given: dict[str, Any] = {"task": ANIMALS, "train": sentences(8, 0), "dev": sentences(8, 1)}
    with locked(tmp_path / "x"), pytest.raises(UserError, match="another process is writing to"):
        tune(bert, output=tmp_path / "x", start="untrained", **given, **QUICK)
    assert not (tmp_path / "x").exists()
    tune(bert, output=tmp_path / "x", start="untrained", **given, **QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
