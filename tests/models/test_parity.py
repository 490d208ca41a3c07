"""Listeners see, and models return, what transformers' eager attention computes, bit for bit.

This holds for every architecture.
"""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM

from headscope.encode import Batch
from tiny import (
    BOTH,
    EVERY_STACK,
    KINDS,
    LAYERS,
    RECENT,
    STACKS,
    eager_inputs,
    eager_run,
    maps_of,
    same,
    tiny_batch,
    tiny_model,
    tiny_network,
    views_of,
)


@pytest.mark.parametrize("lengths", [(9, 5, 12), (7, 7)], ids=["padded", "not padded"])
@pytest.mark.parametrize("kind", [*KINDS, *RECENT])
def test_maps_and_hidden_states_equal_eager_bit_for_bit(kind, lengths):
    batch = tiny_batch(kind, lengths)
    model = tiny_model(kind)
    with torch.no_grad():
        expected, maps = eager_run(kind, batch)
        output = model.forward(batch, output_hidden_states=True)
    assert same(maps_of(model, batch), maps)
    assert torch.equal(output.last_hidden_state, expected.last_hidden_state)
    if kind in RECENT:
        return
    for name in (
        ("decoder_hidden_states", "encoder_hidden_states") if kind in BOTH else ("hidden_states",)
    ):
        assert len(expected[name]) == LAYERS + 1
        assert same(output[name], expected[name])


@pytest.mark.parametrize("kind", KINDS)
def test_layers_are_numbered_from_0_within_each_stack(kind):
    views = [(view.stack, view.layer) for view in views_of(tiny_model(kind), tiny_batch(kind))]
    stacks = STACKS[kind] if kind not in BOTH else ("decoder", "cross")
    expected = [(stack, layer) for layer in range(LAYERS) for stack in stacks]
    assert views == [("encoder", layer) for layer in range(LAYERS) if kind in BOTH] + expected


@pytest.mark.parametrize("kind", BOTH)
def test_the_decoder_reads_a_batch_with_its_start_token_and_the_encoder_without(kind):
    plain = tiny_batch(kind)
    start = {"t5": 0, "bart": 2}[kind]

    def before(array, value):
        return np.concatenate([np.full((len(array), 1), value, array.dtype), array], 1)

    batch = Batch(0, (), before(plain.ids, start), before(plain.types, 0), before(plain.mask, 1))
    with torch.no_grad():
        inputs = eager_inputs(kind, plain) | {
            "decoder_input_ids": torch.from_numpy(batch.ids),
            "decoder_attention_mask": torch.from_numpy(batch.mask).long(),
        }
        expected = tiny_network(kind)(**inputs, output_attentions=True)
    theirs = {
        "encoder": expected.encoder_attentions,
        "decoder": expected.decoder_attentions,
        "cross": expected.cross_attentions,
    }
    assert same(maps_of(tiny_model(kind), batch, stack="decoder"), theirs)
    assert expected.cross_attentions[0].shape[-2:] == (13, 12)


def test_the_decoder_of_t5_begins_with_padding_unless_its_config_says_otherwise():
    batch = tiny_batch("t5")
    usual, zero, other = (
        maps_of(tiny_model("t5", **start), batch)["decoder"]
        for start in ({}, {"decoder_start_token_id": 0}, {"decoder_start_token_id": 7})
    )
    assert same(zero, usual)
    assert not torch.equal(other[0], usual[0])


@pytest.mark.parametrize(
    ("kind", "auto"),
    [
        *((kind, AutoModelForMaskedLM) for kind in ("bert", "modernbert", "mpnet")),
        *((kind, AutoModelForCausalLM) for kind in ("gpt", "llama")),
        *((kind, AutoModelForSeq2SeqLM) for kind in BOTH),
    ],
)
def test_models_with_a_language_model_head_equal_eager_too(kind, auto):
    batch = tiny_batch(kind)
    model = tiny_model(kind, auto=auto)
    with torch.no_grad():
        expected, maps = eager_run(kind, batch, network=tiny_network(kind, auto=auto))
        assert torch.equal(model.forward(batch).logits, expected.logits)
    assert same(maps_of(model, batch), maps)


def test_a_bert_configured_as_a_decoder_is_a_decoder():
    batch = tiny_batch("bert")
    model = tiny_model("bert", is_decoder=True)
    with torch.no_grad():
        output = tiny_network("bert", is_decoder=True)(
            **eager_inputs("bert", batch), output_attentions=True
        )
    maps = maps_of(model, batch)
    assert same(maps, {"decoder": output.attentions})
    assert not maps["decoder"][0].triu(1).any()


@pytest.mark.parametrize(("kind", "stack"), EVERY_STACK)
def test_only_decoders_do_not_attend_to_later_tokens(kind, stack):
    model = tiny_model(kind)
    later = [bool(attention.triu(1).any()) for attention in maps_of(model, tiny_batch(kind))[stack]]
    assert later == [stack != "decoder"] * LAYERS
    assert model.causal(stack) == (stack == "decoder")


@pytest.mark.parametrize(("kind", "changes"), [("bert", {}), ("roberta", {"type_vocab_size": 1})])
def test_token_types_are_passed_to_models_that_have_them(kind, changes):
    model, batch = tiny_model(kind, **changes), tiny_batch(kind)
    assert batch.types.any()
    plain = Batch(0, (), batch.ids, np.zeros_like(batch.types), batch.mask)
    one, other = (views_of(model, texts)[0].weights for texts in (batch, plain))
    assert torch.equal(one, other) == (kind == "roberta")
