"""The properties of a model: its shape, its stacks, and how many tokens it takes."""

import pytest
import torch

from headscope.errors import ModelError
from headscope.models import Shape, wrap
from refusals import refusal
from tiny import (
    BOTH,
    HEADS,
    KINDS,
    LAYERS,
    POSITIONS,
    STACKS,
    WIDTH,
    tiny_batch,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
)

RELATIVE = ("modernbert", "neox", "llama", "qwen3", "gemma", "t5")
TABLE = [kind for kind in KINDS if kind not in RELATIVE]


@pytest.mark.parametrize("kind", KINDS)
def test_the_shape_agrees_with_the_configuration(kind):
    model = tiny_model(kind)
    assert model.stacks == STACKS[kind]
    kv_heads = (getattr(model.config, "num_key_value_heads", HEADS),) * LAYERS
    expected = Shape(LAYERS, HEADS, WIDTH, kv_heads=kv_heads)
    assert all(model.shape(stack) == expected for stack in model.stacks)
    assert model.main_stack() == STACKS[kind][0]
    assert model.encoder_decoder == (kind in BOTH)


def test_a_stack_that_the_model_lacks_is_refused_with_a_list_of_its_stacks():
    assert str(refusal(ModelError, tiny_model("t5").shape, "decodr")) == (
        "the stack of tiny-t5 must be one of cross, decoder, encoder; got 'decodr' instead. "
        "Did you mean 'decoder' or 'encoder'?"
    )


def test_encoder_and_decoder_may_differ_in_depth_and_heads():
    model = tiny_model("bart", encoder_layers=3, encoder_attention_heads=2)
    expected = {"encoder": Shape(3, 2, 16), "decoder": Shape(2, 4, 8), "cross": Shape(2, 4, 8)}
    assert model.shapes == expected


def test_heads_are_query_heads_where_queries_are_grouped():
    model = tiny_model("llama", num_key_value_heads=1)
    assert model.shape("decoder").heads == HEADS
    assert model.shape("decoder").kv_heads == (1, 1)


@pytest.mark.parametrize("kind", TABLE)
def test_the_longest_text_is_the_longest_that_the_network_runs_on(kind):
    model = tiny_model(kind)
    assert model.longest is not None
    with torch.no_grad():
        model.forward(tiny_batch(kind, (model.longest,)))
        with pytest.raises((IndexError, RuntimeError)):
            model.forward(tiny_batch(kind, (model.longest + 1,)))


def test_t5_has_no_longest_text():
    assert tiny_model("t5").longest is None


def test_a_smaller_limit_of_the_tokenizer_counts():
    tokenizer = tiny_tokenizer("bert")
    tokenizer.model_max_length = 20
    assert wrap(tiny_network("bert"), tokenizer).longest == 20
    tokenizer.model_max_length = 500
    assert wrap(tiny_network("bert"), tokenizer).longest == POSITIONS


def test_a_maximum_length_beyond_the_model_is_refused_with_its_limit():
    model = tiny_model("roberta")
    error = refusal(ModelError, model.encoder, max_length=63, long="truncate", stack="encoder")
    assert str(error) == (
        "the maximum length must be at most 62 for tiny-roberta, got 63 instead\n"
        "next: give max_length=62"
    )
    assert error.hint == "give max_length=62"
    assert model.encoder(max_length=62, long="truncate", stack="encoder").max_length == 62


def test_only_a_decoder_beside_an_encoder_reads_a_start_token():
    starts = {
        **{("t5", "decoder"): 0, ("bart", "decoder"): 2, ("gpt2", "decoder"): None},
        **{("t5", "encoder"): None, ("bart", "cross"): None},
    }
    for (kind, stack), start in starts.items():
        assert tiny_model(kind).encoder(max_length=32, long="truncate", stack=stack).start == start
