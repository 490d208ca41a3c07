"""Vectors on disk are those that transformers computes, up to half precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headscope.errors import UserError
from headscope.models import Model, Pooling
from headscope.runs.probe.vectors import make_head_outputs
from models.test_pooling import POSITION
from runs.probe.vector_texts import FEW, HALF, MANY, blocks, check, expected, rows
from tiny import HEADS, LAYERS, tiny_model


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
