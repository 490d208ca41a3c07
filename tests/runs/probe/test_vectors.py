"""Vectors on disk are those that transformers computes, up to half precision."""

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
from headscope.models import Model, Pooling
from headscope.runs.probe import vectors as module
from headscope.runs.probe.vectors import Texts, make_head_outputs
from models.test_pooling import POSITION
from runs.probe.vector_texts import FEW, HALF, MANY, blocks, check, expected, rows
from tiny import HEADS, LAYERS, tiny_model


@pytest.mark.parametrize("kind", ["bert", "gpt2", "electra", "llama", "t5"])
def test_vectors_agree_with_transformers_at_the_default_position(kind, tmp_path):
    texts = FEW if kind in {"bert", "electra"} else FEW[:3]
    found = make_head_outputs(tiny_model(kind), texts, tmp_path, max_length=64)
    assert found.position == POSITION[kind]
    assert found.counts == {
        "texts": len(texts),
        "empty": 0,
        "truncated": 0,
        "bytes": sum(path.stat().st_size for path in tmp_path.rglob("block-*.safetensors")),
    }
    check(found, kind, texts, POSITION[kind])


@pytest.mark.parametrize(
    ("kind", "position"),
    [("bert", "last"), ("bert", "mean"), ("gpt2", "last"), ("gpt2", "mean"), ("t5", "cls")],
)
def test_vectors_agree_with_transformers_at_any_position(kind, position, tmp_path):
    check(
        make_head_outputs(tiny_model(kind), FEW[:3], tmp_path, max_length=64, position=position),
        kind,
        FEW[:3],
        position,
    )


def test_the_first_token_of_a_causal_model_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^the position must be last or mean for tiny-gpt2"):
        make_head_outputs(tiny_model("gpt2"), FEW[:3], tmp_path, max_length=64, position="cls")


def test_vectors_do_not_depend_on_order_batch_size_and_padding(bert, tmp_path):
    turned = MANY[::-1]
    one = make_head_outputs(bert, MANY, tmp_path / "one", max_length=64, batch_size=1)
    two = make_head_outputs(bert, turned, tmp_path / "two", max_length=64, batch_size=16)
    assert (len(one.blocks), len(two.blocks)) == (3, 1)
    chosen = np.array([69, 0, 31, 32, 5])  # from all blocks, unordered
    for layer in range(LAYERS):
        np.testing.assert_allclose(one.heads(layer, chosen), two.heads(layer, 69 - chosen), **HALF)
        np.testing.assert_allclose(one.layer(layer, chosen), two.layer(layer, 69 - chosen), **HALF)
    assert [one.row[MANY[place]] for place in chosen] == chosen.tolist()


def test_long_texts_are_truncated_and_counted(bert, tmp_path):
    found = make_head_outputs(
        bert, [*MANY, ("the cat " * 30,)], tmp_path, max_length=24, batch_size=1
    )
    assert found.counts["truncated"] == 1
    whole = bert.encode(["the cat " * 30], pooling=Pooling(layer=2), max_length=24)
    np.testing.assert_allclose(found.layer(1, np.array([70])), whole, **HALF)


def test_numbers_beyond_half_precision_are_kept(bert, tmp_path):
    value = bert.network.get_submodule("encoder.layer.0.attention.self.value")
    with torch.no_grad():
        value.weight *= 2.0**24
        value.bias *= 2.0**24
    found = make_head_outputs(bert, FEW, tmp_path, max_length=64).heads(0, rows(4))
    heads, _ = expected("bert", FEW, "cls")
    assert np.abs(found).max() > 65504
    np.testing.assert_allclose(found, heads[0] * 2.0**24, rtol=0, atol=1e-3 * 2.0**24)


def test_numbers_that_are_not_finite_are_an_error(bert, tmp_path):
    with torch.no_grad():
        bert.network.get_submodule("encoder.layer.1.attention.self.value").bias[3] = torch.inf
    with pytest.raises(UserError) as error:
        make_head_outputs(bert, FEW, tmp_path, max_length=64)
    assert error.value.message == (
        "tiny-bert computes numbers that are not finite (head vectors of layer 2) for the text "
        "'the cat sat.'"
    )
    assert error.value.hint == "remove the text, or load the model in float32"
    assert blocks(tmp_path) == []


def test_texts_without_tokens_have_no_vectors(bert, tmp_path):
    texts = [
        FEW[0],
        ("\u200b",),
        *(("the " * place + "cat",) for place in range(1, 40)),
        ("\u200b\u200b",),
        FEW[2],
    ]
    found = make_head_outputs(bert, texts, tmp_path, max_length=64, batch_size=1)
    assert found.empty == {1, 41}
    assert (found.counts["texts"], found.counts["empty"]) == (43, 2)
    check(found, "bert", FEW[:1], "cls")
    np.testing.assert_allclose(
        found.layer(1, np.array([42])), expected("bert", FEW[2:3], "cls")[1][1], **HALF
    )


def test_a_narrower_last_layer_is_padded_with_zeros(tmp_path):
    model = tiny_model("opt", word_embed_proj_dim=16)  # as OPT 350m
    found = make_head_outputs(model, FEW[:3], tmp_path, max_length=64).layer(1, rows(3))
    np.testing.assert_allclose(
        found[:, :16], model.encode([text for (text,) in FEW[:3]], pooling=Pooling(layer=2)), **HALF
    )
    assert not found[:, 16:].any()


def test_an_unknown_position_and_a_bad_batch_size_are_errors(bert, tmp_path):
    message = r"^the position must be one of cls, last, mean; got 'first' instead"
    with pytest.raises(UserError, match=message):
        make_head_outputs(bert, FEW, tmp_path, position="first")
    with pytest.raises(UserError, match=r"^the batch size must be 1 or more, got 0 instead"):
        make_head_outputs(bert, FEW, tmp_path, max_length=64, batch_size=0)
    assert make_head_outputs(bert, FEW, tmp_path, max_length=64).shape.heads == HEADS


def test_small_differences_between_almost_equal_vectors_are_kept(tmp_path, monkeypatch):
    """Vectors that differ in the fifth digit: half precision alone would make them equal."""
    model = tiny_model("bert")
    forward = model.forward

    def collapsed(*arguments: Any, **options: Any) -> Any:
        output = forward(*arguments, **options)
        output.hidden_states = tuple(1.26 + 3e-5 * state for state in output.hidden_states)
        return output

    known = np.stack(
        [
            model.encode([text for (text,) in FEW[:3]], pooling=Pooling(layer=layer + 1))
            for layer in range(LAYERS)
        ]
    )
    monkeypatch.setattr(model, "forward", collapsed)
    found = make_head_outputs(model, FEW[:3], tmp_path, max_length=64)
    for layer in range(LAYERS):
        back = (found.layer(layer, rows(3)).astype(np.float64) - 1.26) / 3e-5
        np.testing.assert_allclose(back, known[layer], atol=0.02)


# --- the cache ---


def test_vectors_are_computed_once_for_each_model_position_and_length(bert, forwards, tmp_path):
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


def test_whole_blocks_of_other_runs_are_found_in_the_cache(bert, forwards, tmp_path):
    """The first 64 texts of 70 are two blocks, for batches of one text; the last is another."""
    given: dict[str, Any] = {"max_length": 64, "batch_size": 1}
    make_head_outputs(bert, MANY[:66], tmp_path, **given)
    forwards.clear()
    make_head_outputs(bert, MANY, tmp_path, **given)
    assert (sum(forwards), len(blocks(tmp_path))) == (6, 4)


def test_vectors_do_not_depend_on_what_the_cache_held_before(bert, tmp_path):
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


def test_only_the_texts_of_a_run_are_counted(bert, forwards, tmp_path):
    make_head_outputs(bert, [*FEW[:2], ("the cat " * 60,), ("\u200b",)], tmp_path, max_length=64)
    forwards.clear()
    mixed = [MANY[3], FEW[1], *MANY[40:45], FEW[0], FEW[3]]
    reported: list[tuple[int, int]] = []
    how = {"max_length": 64, "progress": lambda done, total: reported.append((done, total))}
    found = make_head_outputs(bert, mixed, tmp_path, **how)
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


def test_an_interrupted_run_keeps_its_blocks_and_resumes(bert, forwards, tmp_path):
    def stop(done: int, total: int) -> None:
        assert total == 70
        if done == 40:
            raise KeyboardInterrupt

    message = r"^stopped after computing the vectors of 32 of 70 texts, which are kept in .*/outp"
    with pytest.raises(Interrupted, match=message) as error:
        make_head_outputs(bert, MANY, tmp_path / "here", max_length=64, batch_size=1, progress=stop)
    assert error.value.hint == "call it again with the same arguments to resume"
    assert len(blocks(tmp_path / "here")) == 1
    forwards.clear()
    reported: list[int] = []
    how = {"max_length": 64, "batch_size": 1, "progress": lambda done, _: reported.append(done)}
    found = make_head_outputs(bert, MANY, tmp_path / "here", **how)
    assert sum(forwards) == 38
    assert reported == list(range(33, 71))
    fresh = make_head_outputs(bert, MANY, tmp_path / "fresh", max_length=64, batch_size=1)
    assert [(path.name, path.read_bytes()) for path in found.blocks] == [
        (path.name, path.read_bytes()) for path in fresh.blocks
    ]


def test_a_full_disk_leaves_the_finished_blocks(bert, forwards, tmp_path, monkeypatch):
    write = Path.write_bytes

    def full(self: Path, data: Any) -> int:
        if "block" in self.name and list(tmp_path.rglob("block-*")):
            write(self, bytes(data)[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        message = r"block-\w+\.safetensors cannot be written: No space left on device"
        with pytest.raises(UserError, match=message) as error:
            make_head_outputs(bert, MANY, tmp_path, max_length=64, batch_size=1)
    assert error.value.hint == ("free some disk space, then run it again: finished blocks are kept")
    assert len(blocks(tmp_path)) == 1  # no partial file beside it
    forwards.clear()
    make_head_outputs(bert, MANY, tmp_path, max_length=64, batch_size=1)
    assert sum(forwards) == 38


def test_disk_space_and_memory_are_stated_before_anything_is_computed(
    bert, forwards, tmp_path, monkeypatch
):
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


def test_too_little_disk_space_is_an_error_before_anything_is_computed(bert, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1))
        message = r"^the vectors of 4 texts take .*, but .* has only 1 bytes of free space"
        with pytest.raises(UserError, match=message) as error:
            make_head_outputs(bert, FEW, tmp_path, max_length=64)
        assert error.value.hint == (
            "choose another folder with cache=, or fewer texts with sample="
        )

    def full(self: Path, *_args: Any, **_options: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        message = r"about\.json cannot be written: No space left on device"
        with pytest.raises(UserError, match=message):
            make_head_outputs(bert, FEW, tmp_path, max_length=64)
    (tmp_path / "file").write_text("")
    message = r"^the cache folder .*file cannot be used: Not a directory"
    with pytest.raises(UserError, match=message):
        make_head_outputs(bert, FEW, tmp_path / "file", max_length=64)


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[: len(data) // 2], lambda _data: b"", lambda data: b"\xff" * 8 + data[8:]],
    ids=["cut", "empty", "header"],
)
def test_a_damaged_block_is_named_and_computed_again_and_the_others_are_kept(
    bert, damage, tmp_path
):
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


def test_a_single_changed_byte_is_detected_where_it_is_read(bert, tmp_path):
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


def test_memory_holds_one_block_at_a_time(bert, forwards, tmp_path, monkeypatch):
    kept: list[tuple[int, int]] = []
    save = module.save

    def watch(block: Any, **options: Any) -> bytes:
        kept.append((len(block["heads/0"]), sum(forwards)))
        return save(block, **options)

    monkeypatch.setattr(module, "save", watch)
    make_head_outputs(bert, MANY, tmp_path, max_length=64, batch_size=1)
    assert kept == [(32, 32), (32, 64), (6, 70)]
