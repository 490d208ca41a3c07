"""The cache of vectors: finished blocks are kept and found again, and damage is detected."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from headscope.errors import Interrupted, UserError
from headscope.files import show_size
from headscope.models import Model
from headscope.runs.probe import vectors as module
from headscope.runs.probe.vectors import Texts, make_head_outputs
from runs.probe.vector_texts import FEW, MANY, blocks, check, rows
from tiny import tiny_model


def test_vectors_are_computed_once_for_each_model_position_and_length(
    bert: Model, forwards: list[int], tmp_path: Path
) -> None:
    def computed(model: Model, texts: Sequence[Texts] = FEW, **options: Any) -> int:
        forwards.clear()
        make_head_outputs(model, texts, tmp_path, **{"max_length": 64, **options})
        return sum(forwards)

    def folders() -> int:
        return len(list(tmp_path.iterdir()))

    assert (computed(bert), folders()) == (4, 1)
    assert (computed(bert), computed(bert, FEW[::-1]), computed(bert), folders()) == (0, 4, 0, 1)
    assert (computed(bert, batch_size=1), folders()) == (4, 2)
    assert (computed(bert, max_length=63), folders()) == (4, 3)
    assert (computed(bert, position="mean"), folders()) == (4, 4)
    computed(tiny_model("electra"))
    assert folders() == 5
    with torch.no_grad():
        next(bert.network.parameters())[7] += 1.0
    assert (computed(bert), folders()) == (4, 6)


def test_whole_blocks_of_other_runs_are_found_in_the_cache(
    bert: Model, forwards: list[int], tmp_path: Path
) -> None:
    """The first 64 texts of 70 are two blocks, for batches of one text; the last is another."""
    given: dict[str, Any] = {"max_length": 64, "batch_size": 1}
    make_head_outputs(bert, MANY[:66], tmp_path, **given)
    forwards.clear()
    make_head_outputs(bert, MANY, tmp_path, **given)
    assert (sum(forwards), len(blocks(tmp_path))) == (6, 4)


def test_vectors_do_not_depend_on_what_the_cache_held_before(bert: Model, tmp_path: Path) -> None:
    """The same texts in other company have other last digits: they are not taken from there."""
    fresh = make_head_outputs(bert, MANY, tmp_path / "fresh", max_length=64)
    used = tmp_path / "used"
    for others in (MANY[:30], MANY[20:], MANY[::-1], [*MANY[5:20], *FEW], FEW):
        make_head_outputs(bert, others, used, max_length=64)
    again = make_head_outputs(bert, MANY, used, max_length=64)
    for layer in range(bert.config.num_hidden_layers):
        for name in ("heads", "layer"):
            found = (getattr(one, name)(layer, rows(len(MANY))) for one in (fresh, again))
            np.testing.assert_array_equal(*found)
    few = make_head_outputs(bert, MANY[:30], used, max_length=64).heads(1, rows(30))
    assert not np.array_equal(few, fresh.heads(1, rows(30)))  # or the test would show nothing


def test_only_the_texts_of_a_run_are_counted(
    bert: Model, forwards: list[int], tmp_path: Path
) -> None:
    make_head_outputs(bert, [*FEW[:2], ("the cat " * 60,), ("\u200b",)], tmp_path, max_length=64)
    forwards.clear()
    mixed = [MANY[3], FEW[1], *MANY[40:45], FEW[0], FEW[3]]
    reported: list[tuple[int, int]] = []
    found = make_head_outputs(
        bert,
        mixed,
        tmp_path,
        max_length=64,
        progress=lambda done, total: reported.append((done, total)),
    )
    assert (sum(forwards), reported[-1], len(blocks(tmp_path))) == (9, (9, 9), 2)
    check(found, "bert", mixed, "cls")
    assert {**found.counts, "bytes": 0} == {
        "texts": 9,
        "empty": 0,
        "truncated": 0,
        "bytes": 0,
    }  # the truncated and empty texts belong to another run
    assert found.counts["bytes"] == sum(path.stat().st_size for path in found.blocks)
    only = make_head_outputs(bert, mixed[:1], tmp_path, max_length=64)
    assert 0 < only.counts["bytes"] < found.counts["bytes"]


def test_an_interrupted_run_keeps_its_blocks_and_resumes(
    bert: Model, forwards: list[int], tmp_path: Path
) -> None:
    def stop(done: int, total: int) -> None:
        assert total == 70
        if done == 40:
            raise KeyboardInterrupt

    with pytest.raises(
        Interrupted,
        match=r"^stopped after computing the vectors of 32 of 70 texts, which are kept in .*/outp",
    ) as error:
        make_head_outputs(bert, MANY, tmp_path / "here", max_length=64, batch_size=1, progress=stop)
    assert error.value.hint == "call it again with the same arguments to resume"
    assert len(blocks(tmp_path / "here")) == 1
    forwards.clear()
    reported: list[int] = []
    found = make_head_outputs(
        bert,
        MANY,
        tmp_path / "here",
        max_length=64,
        batch_size=1,
        progress=lambda done, _total: reported.append(done),
    )
    assert sum(forwards) == 38
    assert reported == list(range(33, 71))
    fresh = make_head_outputs(bert, MANY, tmp_path / "fresh", max_length=64, batch_size=1)
    assert [(path.name, path.read_bytes()) for path in found.blocks] == [
        (path.name, path.read_bytes()) for path in fresh.blocks
    ]


def test_a_full_disk_leaves_the_finished_blocks(
    bert: Model, forwards: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def full(self: Path, data: Any) -> int:
        if "block" in self.name and list(tmp_path.rglob("block-*")):
            write(self, bytes(data)[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(
            UserError, match=r"block-\w+\.safetensors cannot be written: No space left on device"
        ) as error:
            make_head_outputs(bert, MANY, tmp_path, max_length=64, batch_size=1)
    assert error.value.hint == ("free some disk space, then run it again: finished blocks are kept")
    assert len(blocks(tmp_path)) == 1  # no partial file beside it
    forwards.clear()
    make_head_outputs(bert, MANY, tmp_path, max_length=64, batch_size=1)
    assert sum(forwards) == 38


def test_disk_space_and_memory_are_stated_before_anything_is_computed(
    bert: Model, forwards: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[str, int]] = []
    config = bert.config
    numbers = config.num_hidden_layers * 2 * config.hidden_size  # heads side by side, and states
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=7_200_000_000))

    def say(text: str) -> None:
        said.append((text, sum(forwards)))

    make_head_outputs(bert, FEW[:3], tmp_path, max_length=64, say=say)
    make_head_outputs(bert, FEW, tmp_path, max_length=64, say=say)
    make_head_outputs(bert, FEW, tmp_path, max_length=64, say=say)  # everything is known
    assert [computed for _, computed in said] == [0, 3]
    assert said[1][0] == (
        f"vectors of 4 texts take {show_size(4 * 2 * numbers)} on disk (7.2 GB free in {tmp_path}) "
        f"and {show_size(4 * 4 * numbers)} of memory while they are computed; one layer of all 4 "
        f"texts takes {show_size(4 * 4 * config.hidden_size)} of memory"
    )


def test_too_little_disk_space_is_an_error_before_anything_is_computed(
    bert: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1))
        with pytest.raises(
            UserError,
            match=r"^the vectors of 4 texts take .*, but .* has only 1 bytes of free space",
        ) as error:
            make_head_outputs(bert, FEW, tmp_path, max_length=64)
        assert error.value.hint == (
            "choose another folder with cache=, or fewer texts with sample="
        )

    def full(self: Path, *_args: Any, **_options: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(
            UserError, match=r"about\.json cannot be written: No space left on device"
        ):
            make_head_outputs(bert, FEW, tmp_path, max_length=64)
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UserError, match=r"^the cache folder .*file cannot be used: Not a directory"
    ):
        make_head_outputs(bert, FEW, tmp_path / "file", max_length=64)


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[: len(data) // 2], lambda _data: b"", lambda data: b"\xff" * 8 + data[8:]],
    ids=["cut", "empty", "header"],
)
def test_a_damaged_block_is_named_and_computed_again_and_the_others_are_kept(
    bert: Model, damage: Any, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"max_length": 64, "batch_size": 1}
    found = make_head_outputs(bert, MANY, tmp_path, **given)
    before = found.heads(1, rows(70))
    kept, block = (found.blocks[row // found.size] for row in (0, 69))
    times, whole = kept.stat().st_mtime_ns, block.read_bytes()
    block.write_bytes(damage(whole))
    for again in (lambda: found.heads(1, rows(70)), lambda: found.layer(0, rows(70))):
        with pytest.raises(UserError, match=r"block-\w+\.safetensors is damaged: ") as error:
            again()
        assert error.value.hint == "run it again: its vectors are then computed again"
    said: list[str] = []
    repaired = make_head_outputs(bert, MANY, tmp_path, say=said.append, **given)
    assert said[0].startswith(f"{block} is damaged: ")
    assert said[0].endswith("; its vectors are computed again")
    assert np.array_equal(repaired.heads(1, rows(70)), before)
    assert block.read_bytes() == whole
    assert kept.stat().st_mtime_ns == times


def test_a_single_changed_byte_is_detected_where_it_is_read(bert: Model, tmp_path: Path) -> None:
    found = make_head_outputs(bert, FEW, tmp_path, max_length=64)
    (block,) = found.blocks
    with safe_open(block, "np") as file:
        stored = file.get_tensor("heads/1").tobytes()
    before = found.heads(0, rows(4))
    data = bytearray(block.read_bytes())
    data[data.index(stored) + 5] ^= 1
    block.write_bytes(data)
    assert np.array_equal(found.heads(0, rows(4)), before)
    with pytest.raises(UserError, match=r"is damaged: its contents have changed since it was wri"):
        found.heads(1, rows(4))


def test_memory_holds_one_block_at_a_time(
    bert: Model, forwards: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[int, int]] = []
    save = module.save

    def watch(block: Any, **options: Any) -> bytes:
        kept.append((len(block["heads/0"]), sum(forwards)))
        return save(block, **options)

    monkeypatch.setattr(module, "save", watch)
    make_head_outputs(bert, MANY, tmp_path, max_length=64, batch_size=1)
    assert kept == [(32, 32), (32, 64), (6, 70)]
