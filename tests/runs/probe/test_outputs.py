"""Vectors on disk are those that transformers computes, up to half precision.

Finished blocks are kept, and damaged ones are detected.
"""

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
from headscope.models import Model, Pooling
from headscope.runs.probe import blocks as blocks_module
from headscope.runs.probe.blocks import Texts
from headscope.runs.probe.outputs import HeadOutputs
from headscope.runs.probe.vectors import make_head_outputs
from models.test_pooling import POSITION, alone, at, head_outputs, hidden_states
from tiny import HEADS, LAYERS, tiny_model

FEW: tuple[Texts, ...] = (
    ("the cat sat.",),
    ("a small bird sang in the old tree while rain fell on the roof.",),
    ("we walked",),
    ("the dog sat by the door.", "a small bird sang."),
)
WORDS = ("cat", "dog", "bird", "tree", "roof")
MANY: tuple[Texts, ...] = tuple(
    (
        " ".join(
            [WORDS[place % 5], WORDS[place // 5 % 5], WORDS[place // 25], *["the"] * (place % 7)]
        ),
    )
    for place in range(70)
)
"""Three blocks of 32, 32 and 6 texts, for batches of one text."""
HALF = {"rtol": 0.0, "atol": 2e-3}
"""Distances from the mean, at most 8 here, are rounded to 11 bits: errors of up to 8 · 2⁻¹²."""


def rows(count: int) -> Any:
    return np.arange(count)


@pytest.fixture
def bert() -> Model:
    return tiny_model("bert")


@pytest.fixture
def forwards(bert: Model, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of texts in each forward pass of the model."""
    seen: list[int] = []
    forward = bert.forward

    def count(batch: Any, **options: Any) -> Any:
        seen.append(len(batch))
        return forward(batch, **options)

    monkeypatch.setattr(bert, "forward", count)
    return seen


def blocks(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file() and "block" in path.name)


def expected(kind: str, texts: Sequence[Texts], position: str) -> tuple[Any, Any]:
    """(layer, text, head, width) and (layer, text, hidden), computed by transformers.

    Eager attention and hidden states, one text at a time, without padding.
    """
    heads = [
        [[at(position, head) for head in layer] for layer in head_outputs(kind, alone(kind, *text))]
        for text in texts
    ]
    layers = [
        [at(position, state[0]) for state in hidden_states(kind, alone(kind, *text))]
        for text in texts
    ]
    return np.array(heads).swapaxes(0, 1), np.array(layers).swapaxes(0, 1)


def check(found: HeadOutputs, kind: str, texts: Sequence[Texts], position: str) -> None:
    heads, layers = expected(kind, texts, position)
    for layer in range(LAYERS):
        np.testing.assert_allclose(found.heads(layer, rows(len(texts))), heads[layer], **HALF)
        np.testing.assert_allclose(found.layer(layer, rows(len(texts))), layers[layer], **HALF)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "electra", "llama", "t5"])
def test_vectors_agree_with_transformers_at_the_default_position(kind: str, tmp_path: Path) -> None:
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
def test_vectors_agree_with_transformers_at_any_position(
    kind: str, position: str, tmp_path: Path
) -> None:
    check(
        make_head_outputs(tiny_model(kind), FEW[:3], tmp_path, max_length=64, position=position),
        kind,
        FEW[:3],
        position,
    )


def test_the_first_token_of_a_causal_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^the position must be last or mean for tiny-gpt2"):
        make_head_outputs(tiny_model("gpt2"), FEW[:3], tmp_path, max_length=64, position="cls")


def test_vectors_do_not_depend_on_order_batch_size_and_padding(bert: Model, tmp_path: Path) -> None:
    turned = MANY[::-1]
    one = make_head_outputs(bert, MANY, tmp_path / "one", max_length=64, batch_size=1)
    two = make_head_outputs(bert, turned, tmp_path / "two", max_length=64, batch_size=16)
    assert (len(one.blocks), len(two.blocks)) == (3, 1)
    chosen = np.array([69, 0, 31, 32, 5])  # from all blocks, unordered
    for layer in range(LAYERS):
        np.testing.assert_allclose(one.heads(layer, chosen), two.heads(layer, 69 - chosen), **HALF)
        np.testing.assert_allclose(one.layer(layer, chosen), two.layer(layer, 69 - chosen), **HALF)
    assert [one.row[MANY[place]] for place in chosen] == chosen.tolist()


def test_long_texts_are_truncated_and_counted(bert: Model, tmp_path: Path) -> None:
    found = make_head_outputs(
        bert, [*MANY, ("the cat " * 30,)], tmp_path, max_length=24, batch_size=1
    )
    assert found.counts["truncated"] == 1
    whole = bert.encode(["the cat " * 30], pooling=Pooling(layer=2), max_length=24)
    np.testing.assert_allclose(found.layer(1, np.array([70])), whole, **HALF)


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
    assert (
        computed(bert),
        computed(bert, FEW[::-1]),
        computed(bert, FEW[:3], batch_size=1),
        folders(),
    ) == (0, 0, 0, 1)
    assert (computed(bert, max_length=63), folders()) == (4, 2)
    assert (computed(bert, position="mean"), folders()) == (4, 3)
    computed(tiny_model("electra"))
    assert folders() == 4
    with torch.no_grad():
        next(bert.network.parameters())[7] += 1.0
    assert (computed(bert), folders()) == (4, 5)


def test_texts_of_other_runs_are_found_in_the_cache(
    bert: Model, forwards: list[int], tmp_path: Path
) -> None:
    make_head_outputs(bert, [*FEW[:2], ("the cat " * 60,), ("\u200b",)], tmp_path, max_length=64)
    forwards.clear()
    mixed = [MANY[3], FEW[1], *MANY[40:45], FEW[0], FEW[3]]
    told: list[tuple[int, int]] = []
    found = make_head_outputs(
        bert,
        mixed,
        tmp_path,
        max_length=64,
        progress=lambda done, total: told.append((done, total)),
    )
    assert (sum(forwards), told[-1], len(blocks(tmp_path))) == (7, (9, 9), 2)
    check(found, "bert", mixed, "cls")
    assert {**found.counts, "bytes": 0} == {
        "texts": 9,
        "empty": 0,
        "truncated": 0,
        "bytes": 0,
    }  # the truncated and empty texts belong to another run
    assert found.counts["bytes"] == sum(
        path.stat().st_size for path in tmp_path.rglob("block-*.safetensors")
    )
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
    told: list[int] = []
    found = make_head_outputs(
        bert,
        MANY,
        tmp_path / "here",
        max_length=64,
        batch_size=1,
        progress=lambda done, _total: told.append(done),
    )
    assert sum(forwards) == 38
    assert told == list(range(33, 71))
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
        assert error.value.hint == "choose another cache folder or a lower limit"
        assert error.value.command == (
            "choose another folder with --cache, or fewer texts with --limit"
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
def test_a_damaged_block_is_an_error_until_it_is_deleted(
    bert: Model, damage: Any, tmp_path: Path
) -> None:
    found = make_head_outputs(bert, FEW, tmp_path, max_length=64)
    (block,) = found.blocks
    before = found.heads(1, rows(4))
    block.write_bytes(damage(block.read_bytes()))
    for again in (
        lambda: make_head_outputs(bert, FEW, tmp_path, max_length=64),
        lambda: found.heads(1, rows(4)),
        lambda: found.layer(0, rows(1)),
    ):
        with pytest.raises(UserError, match=r"block-\w+\.safetensors is damaged: ") as error:
            again()
        assert error.value.hint == "delete this file; its vectors are computed again"
    block.unlink()
    assert np.array_equal(
        make_head_outputs(bert, FEW, tmp_path, max_length=64).heads(1, rows(4)), before
    )


def test_a_single_changed_byte_is_detected_where_it_is_read(bert: Model, tmp_path: Path) -> None:
    found = make_head_outputs(bert, FEW, tmp_path, max_length=64)
    (block,) = found.blocks
    with safe_open(block, "np") as file:
        stored = file.get_tensor("heads")[1].tobytes()
    before = found.heads(0, rows(4))
    data = bytearray(block.read_bytes())
    data[data.index(stored) + 5] ^= 1
    block.write_bytes(data)
    assert np.array_equal(found.heads(0, rows(4)), before)
    with pytest.raises(UserError, match=r"is damaged: its contents have changed since it was wri"):
        found.heads(1, rows(4))


def test_numbers_beyond_half_precision_are_kept(bert: Model, tmp_path: Path) -> None:
    value = bert.network.get_submodule("encoder.layer.0.attention.self.value")
    with torch.no_grad():
        value.weight *= 2.0**24
        value.bias *= 2.0**24
    found = make_head_outputs(bert, FEW, tmp_path, max_length=64).heads(0, rows(4))
    heads, _ = expected("bert", FEW, "cls")
    assert np.abs(found).max() > 65504
    np.testing.assert_allclose(found, heads[0] * 2.0**24, rtol=0, atol=1e-3 * 2.0**24)


def test_numbers_that_are_not_finite_are_an_error(bert: Model, tmp_path: Path) -> None:
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


def test_texts_without_tokens_have_no_vectors(bert: Model, tmp_path: Path) -> None:
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


def test_memory_holds_one_block_at_a_time(
    bert: Model, forwards: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[int, int]] = []
    save = blocks_module.save

    def watch(block: Any, **options: Any) -> bytes:
        kept.append((block["heads"].shape[1], sum(forwards)))
        return save(block, **options)

    monkeypatch.setattr(blocks_module, "save", watch)
    make_head_outputs(bert, MANY, tmp_path, max_length=64, batch_size=1)
    assert kept == [(32, 32), (32, 64), (6, 70)]


def test_a_narrower_last_layer_is_padded_with_zeros(tmp_path: Path) -> None:
    model = tiny_model("opt", word_embed_proj_dim=16)  # as OPT 350m
    found = make_head_outputs(model, FEW[:3], tmp_path, max_length=64).layer(1, rows(3))
    np.testing.assert_allclose(
        found[:, :16], model.encode([text for (text,) in FEW[:3]], pooling=Pooling(layer=2)), **HALF
    )
    assert not found[:, 16:].any()


def test_an_unknown_position_and_a_bad_batch_size_are_errors(bert: Model, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"^the position must be one of cls, last, mean; got 'first' instead"
    ):
        make_head_outputs(bert, FEW, tmp_path, position="first")
    with pytest.raises(UserError, match=r"^the batch size must be 1 or more, got 0 instead"):
        make_head_outputs(bert, FEW, tmp_path, max_length=64, batch_size=0)
    assert make_head_outputs(bert, FEW, tmp_path, max_length=64).shape.heads == HEADS


def test_small_differences_between_almost_equal_vectors_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
