"""A run that is killed, interrupted or refused: the same call goes on from the checkpoint, to the
same numbers.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import headscope
from headscope.corpus import Corpus, from_texts, read
from headscope.encode import Batch
from headscope.errors import Interrupted, UserError
from headscope.measures import Sums
from headscope.models import Model
from headscope.runs import run
from headscope.runs.forward import BatchValues, Pass
from headscope.runs.run import Checkpoint, write_checkpoint
from headscope.runs.survey import survey
from runs.engines.workers import same
from runs.in_process import stop_after
from tiny import tiny_model, tiny_network, tiny_tokenizer

TEXTS = [" ".join(["the cat sat on a mat, a dog saw it."] * (1 + index % 4)) for index in range(20)]
NAMES = ["position", "special", "entropy", "role"]
AGAIN = "call it again with the same arguments to resume"
HOW: dict[str, Any] = {"batch_size": 1, "max_length": 40, "measures": NAMES}

# A run in a process of its own that waits half way to be killed.
DRIVER = f"""
import sys
import headscope as hs

def wait(done, total):
    print(done, flush=True)
    if done >= 8:
        sys.stdin.read()

hs.survey(hs.load(sys.argv[1]), hs.corpus.read(sys.argv[2], pairs=False), checkpoint=sys.argv[3],
every=0.0, progress=wait, **{HOW!r})
"""


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert")


@pytest.fixture(scope="module")
def corpus():
    return from_texts(TEXTS)


@pytest.fixture(scope="module")
def undisturbed(model, corpus):
    return survey(model, corpus, **HOW)


@pytest.fixture
def batches_run(monkeypatch):
    """Which examples go through the model, one in a batch."""
    seen: list[int] = []
    run = Pass.run

    def spy(self: Pass, batch: Batch) -> BatchValues:
        seen.append(int(batch.items[0].example.id))
        return run(self, batch)

    monkeypatch.setattr(Pass, "run", spy)
    return seen


def stopped(
    model: Model, corpus: Corpus, checkpoint: Path, batches: int = 8, **options: Any
) -> Interrupted:
    """Interrupt a run after some batches."""
    with pytest.raises(Interrupted) as caught:
        survey(
            model, corpus, checkpoint=checkpoint, progress=stop_after(batches), **{**HOW, **options}
        )
    return caught.value


@pytest.mark.slow
def test_a_run_killed_half_way_goes_on_to_the_same_results(tmp_path, batches_run):
    folder, text, checkpoint = tmp_path / "model", tmp_path / "corpus.txt", tmp_path / "run.partial"
    tiny_network("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    text.write_text("\n\n".join(TEXTS))
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, folder, text, checkpoint],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 8:
                process.kill()
                break
    assert process.returncode == -signal.SIGKILL
    assert checkpoint.is_file()
    loaded, corpus = headscope.load(folder), read(text, pairs=False)
    resumed = survey(loaded, corpus, checkpoint=checkpoint, **HOW)
    assert 0 < len(batches_run) <= 13  # seven batches at least were in the checkpoint
    assert batches_run[-1] > 16  # of the last unit
    same(resumed, survey(loaded, corpus, **HOW))


def test_ctrl_c_leaves_a_checkpoint_says_so_and_the_same_call_goes_on(
    model, corpus, undisturbed, tmp_path, batches_run
):
    checkpoint = tmp_path / "run.partial"
    error = stopped(model, corpus, checkpoint)
    assert error.message == f"stopped after 8 examples; the state is kept in {checkpoint}"
    assert error.hint == AGAIN
    assert [file.name for file in tmp_path.iterdir()] == ["run.partial"]
    same(survey(model, corpus, checkpoint=checkpoint, **HOW), undisturbed)
    assert sorted(batches_run) == list(range(1, 21))  # each batch once


def test_ctrl_c_pressed_again_while_the_state_is_saved_does_not_lose_it(
    model, corpus, tmp_path, monkeypatch
):
    write = run.write_checkpoint

    def press(path: Path, state: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return write(path, state)

    monkeypatch.setattr(run, "write_checkpoint", press)
    checkpoint = tmp_path / "run.partial"
    error = stopped(model, corpus, checkpoint)
    assert error.message == f"stopped after 8 examples; the state is kept in {checkpoint}"
    assert checkpoint.exists()


def test_a_run_may_be_stopped_many_times(model, corpus, undisturbed, tmp_path):
    checkpoint = tmp_path / "run.partial"
    for batches, seen in ((3, 3), (4, 7), (8, 15), (3, 17)):
        assert (
            f"stopped after {seen} examples" in stopped(model, corpus, checkpoint, batches).message
        )
    same(survey(model, corpus, checkpoint=checkpoint, **HOW), undisturbed)


def test_ctrl_c_without_a_checkpoint_says_that_nothing_was_kept(model, corpus):
    with pytest.raises(Interrupted) as caught:
        survey(model, corpus, progress=stop_after(3), **HOW)
    assert caught.value.message == "stopped; nothing was kept"
    assert caught.value.hint == "with output=PATH a stopped run can be resumed"


@pytest.mark.parametrize("place", ["forward", "first sums", "last sums"])
@pytest.mark.parametrize("every", [0.0, 1000.0])
def test_ctrl_c_in_the_middle_of_a_batch_counts_nothing_twice(
    model, corpus, undisturbed, tmp_path, monkeypatch, place, every
):
    checkpoint = tmp_path / "run.partial"
    kind, name, when = (
        (Pass, "run", 6)
        if place == "forward"
        else (Sums, "add", 5 * len(NAMES) + (1 if place == "first sums" else len(NAMES)))
    )
    original, calls = getattr(kind, name), []

    def interrupt(*args: Any) -> Any:
        calls.append(1)
        found = original(*args)
        if len(calls) == when:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(kind, name, interrupt)
        with pytest.raises(Interrupted) as caught:
            survey(model, corpus, checkpoint=checkpoint, every=every, **HOW)
    if place == "forward":
        assert (
            caught.value.message == f"stopped after 5 examples; the state is kept in {checkpoint}"
        )
    else:
        assert caught.value.message == (
            "stopped before anything was finished; nothing was kept"
            if every
            else f"stopped; the state is kept in {checkpoint} as of the last checkpoint"
        )
    assert caught.value.hint == AGAIN
    same(survey(model, corpus, checkpoint=checkpoint, **HOW), undisturbed)


def test_a_shard_resumes_as_a_shard(model, corpus, tmp_path):
    checkpoint = tmp_path / "part.partial"
    stopped(model, corpus, checkpoint, 5, shard=(2, 3))
    same(
        survey(model, corpus, checkpoint=checkpoint, shard=(2, 3), **HOW),
        survey(model, corpus, shard=(2, 3), **HOW),
    )


def test_what_was_not_finite_before_the_stop_is_still_told_after_it(corpus, tmp_path):
    broken = tiny_model("bert")
    with torch.no_grad():
        broken.network.embeddings.word_embeddings.weight[
            broken.tokenizer("bird", add_special_tokens=False)["input_ids"][0]
        ] = float("nan")
    texts = from_texts(["bird", *TEXTS[:6]])
    checkpoint = tmp_path / "run.partial"
    stopped(broken, texts, checkpoint, 4)
    counts = survey(broken, texts, checkpoint=checkpoint, **HOW).provenance["counts"]
    expected = (1, 6, ["1: attention is not finite in layer 1"])
    assert (counts["nonfinite"], counts["seen"], counts["nonfinite_examples"]) == expected


@pytest.mark.parametrize("change", ["model", "corpus", "settings", "measures", "shard"])
def test_the_checkpoint_of_another_run_is_refused_and_left_alone(model, corpus, tmp_path, change):
    checkpoint = tmp_path / "run.partial"
    stopped(model, corpus, checkpoint)
    before = checkpoint.read_bytes()
    changes = {"settings": {"seed": 1}, "measures": {"measures": ["entropy"]}}
    options = HOW | (changes | {"shard": {"shard": (1, 2)}}).get(change, {})
    other = tiny_model("bert", seed=1) if change == "model" else model
    texts = from_texts([*TEXTS, "a dog"]) if change == "corpus" else corpus
    with pytest.raises(UserError) as caught:
        survey(other, texts, checkpoint=checkpoint, **options)
    what = {
        "model": "weights: ",
        "corpus": "corpus.sha256: ",
        "settings": "seed: 0 there, 1 here",
        "measures": "measures: 'position', 'special', 'entropy', 'role' there, 'entropy' here",
        "shard": "shards: '1/1' there, '1/2' here",
    }
    assert caught.value.message.startswith(
        f"{checkpoint} is the checkpoint of another run: {what[change]}"
    )
    assert caught.value.hint == (
        f"give another output, or overwrite=True to replace it; or delete {checkpoint}"
    )
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "text", "foreign"])
def test_a_damaged_checkpoint_is_refused_and_left_alone(model, corpus, tmp_path, damage):
    checkpoint = tmp_path / "run.partial"
    stopped(model, corpus, checkpoint)
    whole = checkpoint.read_bytes()
    if damage == "foreign":
        tiny_network("bert").save_pretrained(tmp_path)
        (tmp_path / "model.safetensors").replace(checkpoint)
    else:
        flipped = bytearray(whole)
        flipped[-1000] ^= 16
        ways = {"empty": b"", "cut": whole[:-100], "text": b"my notes\n" * 9, "bit": flipped}
        checkpoint.write_bytes(ways[damage])
    before = checkpoint.read_bytes()
    with pytest.raises(UserError) as caught:
        survey(model, corpus, checkpoint=checkpoint, **HOW)
    assert caught.value.message.startswith(str(checkpoint))
    assert "is damaged: " in caught.value.message
    assert caught.value.hint == (
        f"delete {checkpoint} to start again, or choose another output path"
    )
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize("damage", ["bit", "lost"])
def test_if_the_last_checkpoint_is_damaged_the_one_before_it_is_used(
    model, corpus, undisturbed, tmp_path, batches_run, damage, capsys
):
    checkpoint = tmp_path / "run.partial"
    stopped(model, corpus, checkpoint, 5)
    stopped(model, corpus, checkpoint, 4)
    if damage == "lost":
        checkpoint.unlink()  # killed between the two renamings
    else:
        data = bytearray(checkpoint.read_bytes())
        data[-1000] ^= 16
        checkpoint.write_bytes(data)
    batches_run.clear()
    same(survey(model, corpus, checkpoint=checkpoint, progress=True, **HOW), undisturbed)
    assert len(batches_run) == 15  # five batches were in the checkpoint before the last
    named = f"{checkpoint} is damaged: " in capsys.readouterr().err
    assert named == (damage == "bit")


def test_a_checkpoint_that_cannot_be_written_is_told_before_any_work(
    model, corpus, tmp_path, batches_run
):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match="is a folder; a file is to be written there"):
        survey(model, corpus, checkpoint=tmp_path, **HOW)
    with pytest.raises(UserError, match="taken is a file, not a folder"):
        survey(model, corpus, checkpoint=tmp_path / "taken" / "run.partial", **HOW)
    assert batches_run == []


def test_a_checkpoint_that_fails_half_way_leaves_the_last_one(
    model, corpus, undisturbed, tmp_path, monkeypatch
):
    checkpoint = tmp_path / "run.partial"
    stopped(model, corpus, checkpoint)
    before = checkpoint.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(UserError) as caught:
            survey(model, corpus, checkpoint=checkpoint, every=0.0, **HOW)
    expected = f"the checkpoint {checkpoint} cannot be written: No space left on device"
    assert caught.value.message == expected
    expected = "free some disk space and run it again: it resumes from the last checkpoint"
    assert caught.value.hint == expected
    assert checkpoint.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.partial"]
    same(survey(model, corpus, checkpoint=checkpoint, **HOW), undisturbed)


def test_a_checkpoint_is_flushed_to_disk_before_it_takes_the_place_of_the_last(
    tmp_path, monkeypatch
):
    path = tmp_path / "run.partial"
    path.write_text("the last one")
    held: list[bytes] = []
    monkeypatch.setattr("os.fsync", lambda _: held.append(path.read_bytes()[:12]))
    write_checkpoint(path, Checkpoint({"model": "a"}, 3, {}, {}))
    assert held[0] == b"the last one"
    assert path.read_bytes() != b"the last one"
