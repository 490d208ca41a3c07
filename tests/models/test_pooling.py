"""Sentence vectors are what transformers itself computes for a text.

A head's vector is its attention times its values, a layer's vector its hidden state, each at the
position that suits the family of models.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.encode import Batch
from headscope.errors import CorpusError, ModelError, UserError
from headscope.heads import Head
from headscope.models import Model, Pooling, load, take
from headscope.models.pooling import POOLING, POSITIONS, write_modules
from refusals import refusal
from tiny import (
    BOTH,
    KINDS,
    LAYERS,
    STACKS,
    eager_run,
    place,
    save_tiny,
    split_values,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
)

SENTENCES = (
    "the cat sat.",
    "a small bird sang in the old tree while rain fell on the roof.",
    "we walked",
    "She didn't know why; it was 10 o'clock.",
)
RUN = "its heads run from 1-1 to 2-4 (L0H0 to L1H3)"
PAIR = ("the dog sat by the door.", "a small bird sang.")
POSITION = {kind: "cls" if stacks[0] == "encoder" else "last" for kind, stacks in STACKS.items()}
POSITION["t5"] = "mean"
HEADS = (Head(1, 3), Head(0, 0), Head(1, 1))


def alone(kind: str, *texts: str, **options: Any) -> Batch:
    """One text as the tokenizer itself encodes it, without padding."""
    # Lists, because the tokenizer drops a lone second text that is empty.
    coded = tiny_tokenizer(kind)(*([text] for text in texts), return_token_type_ids=True, **options)
    ids, types = (np.array(coded[name], np.int64) for name in ("input_ids", "token_type_ids"))
    return Batch(0, (), ids, types, np.ones(ids.shape, bool))


def at(position: str, values: Tensor) -> NDArray[np.float32]:
    """The position's row of (token, width), written out."""
    return {
        "cls": values[0],
        "last": values[-1],
        "mean": sum(values, torch.zeros(values.shape[1])) / len(values),
    }[position].numpy()


def head_outputs(kind: str, batch: Batch) -> list[Tensor]:
    """Attention times values in eager attention, (head, token, width) for each layer."""
    stack, network, values = STACKS[kind][0], tiny_network(kind), list[Tensor]()

    def keep(_module: nn.Module, _args: object, output: Tensor) -> None:
        values.append(split_values(kind, output)[0].transpose(0, 1))

    for module in dict.fromkeys(place(network, kind, stack, layer)[2] for layer in range(LAYERS)):
        module.register_forward_hook(keep)
    with torch.no_grad():
        maps = eager_run(kind, batch, network=network)[1][stack]
    assert len(values) == len(maps) == LAYERS
    return [attention[0] @ value for attention, value in zip(maps, values, strict=True)]


def head_vector(kind: str, batch: Batch, position: str) -> NDArray[np.float32]:
    outputs = head_outputs(kind, batch)
    return np.concatenate([at(position, outputs[layer][head]) for layer, head in HEADS])


def hidden_states(kind: str, batch: Batch) -> tuple[Tensor, ...]:
    with torch.no_grad():
        output = eager_run(kind, batch)[0]
    return output["encoder_hidden_states" if kind in BOTH else "hidden_states"][1:]


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    wide=st.sampled_from([(3,), (2, 3)]),
    position=st.sampled_from(POSITIONS),
    seed=st.integers(0, 99),
)
def test_take_equals_a_loop_over_texts_and_real_tokens(lengths, wide, position, seed):
    values = torch.randn(
        (len(lengths), max(lengths), *wide), generator=torch.Generator().manual_seed(seed)
    )
    mask = torch.tensor([[token < length for token in range(max(lengths))] for length in lengths])
    values[~mask] = torch.nan  # padding must not count
    expected = []
    for row, length in zip(values, lengths, strict=True):
        tokens = [row[token] for token in range(length)]
        mean = sum(tokens[1:], tokens[0]) / length
        expected.append({"cls": tokens[0], "last": tokens[-1], "mean": mean}[position])
    assert torch.allclose(take(values, mask, position), torch.stack(expected), atol=1e-6)


def test_the_mean_of_half_precision_does_not_overflow():
    # The sum, 100000, is more than float16 holds.
    values = torch.full((1, 100, 2), 1000.0, dtype=torch.float16)
    mean = take(values, torch.ones(1, 100, dtype=torch.bool), "mean")
    assert (mean.dtype, mean.tolist()) == (torch.float16, [[1000.0, 1000.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_position_suits_the_family(kind):
    assert Pooling().fit(tiny_model(kind)) == Pooling(layer=LAYERS, position=POSITION[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_head_vectors_are_attention_times_values_in_eager(kind):
    found = tiny_model(kind).encode(SENTENCES, pooling=Pooling(HEADS))
    expected = [head_vector(kind, alone(kind, text), POSITION[kind]) for text in SENTENCES]
    assert np.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_layer_vectors_are_hidden_states_of_transformers(kind):
    model = tiny_model(kind)
    expected = [
        [at(POSITION[kind], state[0]) for state in hidden_states(kind, alone(kind, text))]
        for text in SENTENCES
    ]
    for layer in range(1, LAYERS + 1):
        vectors = model.encode(SENTENCES, pooling=Pooling(layer=layer))
        assert np.allclose(vectors, [states[layer - 1] for states in expected], atol=1e-5)
    last = [states[-1] for states in expected]
    assert np.allclose(model.encode(SENTENCES), last, atol=1e-5)  # the default


@pytest.mark.parametrize(
    ("kind", "position"),
    [*(("bert", position) for position in POSITIONS), ("gpt2", "last"), ("gpt2", "mean")],
)
def test_every_position_can_be_chosen(kind, position):
    found = tiny_model(kind).encode(SENTENCES, pooling=Pooling(HEADS, position=position))
    expected = [head_vector(kind, alone(kind, text), position) for text in SENTENCES]
    assert np.allclose(found, expected, atol=1e-5)


def test_the_first_token_of_a_causal_model_is_refused():
    error = refusal(
        UserError, tiny_model("gpt2").encode, SENTENCES, pooling=Pooling(position="cls")
    )
    assert str(error) == (
        "the position must be last or mean for tiny-gpt2, which is a causal model: its first token "
        "sees nothing of the text; got 'cls' instead\nnext: leave out position="
    )
    assert error.hint == "leave out position="


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5"])
def test_a_pair_is_encoded_as_the_tokenizer_encodes_it(kind):
    found = tiny_model(kind).encode([SENTENCES[0], PAIR], pooling=Pooling(HEADS))
    expected = head_vector(kind, alone(kind, *PAIR), POSITION[kind])
    assert np.allclose(found[1], expected, atol=1e-5)


def test_a_long_text_is_truncated_as_the_tokenizer_truncates_it():
    model, long = tiny_model("bert"), " ".join(SENTENCES * 9)
    for length, options in ((64, {}), (10, {"max_length": 10})):
        batch = alone("bert", long, truncation=True, max_length=length)
        expected = at("mean", hidden_states("bert", batch)[-1][0])
        found = model.encode([long], pooling=Pooling(position="mean"), **options)
        assert np.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama", "mpnet", "t5"])
@pytest.mark.parametrize(
    "pooling", [Pooling(HEADS), Pooling(layer=1, position="mean")], ids=["heads", "layer"]
)
def test_vectors_do_not_depend_on_padding_order_or_batch_size(kind, pooling):
    model, order = tiny_model(kind), [2, 0, 3, 1]
    whole = model.encode(SENTENCES, pooling=pooling)
    assert np.allclose(model.encode(SENTENCES, pooling=pooling, batch_size=1), whole, atol=1e-5)
    mixed = model.encode([SENTENCES[at] for at in order], pooling=pooling, batch_size=3)
    assert np.allclose(mixed, whole[order], atol=1e-5)


def test_an_empty_list_gives_an_empty_array_of_the_right_width():
    model = tiny_model("bert")
    assert model.encode([]).shape == (0, 32)
    assert model.encode([], pooling=Pooling(HEADS)).shape == (0, 24)


def test_a_projected_last_layer_has_its_own_width():
    model = tiny_model("opt", word_embed_proj_dim=16)  # as OPT 350m
    layers = range(1, LAYERS + 1)
    assert [Pooling(layer=layer).width(model) for layer in layers] == [32, 16]
    assert [model.encode(SENTENCES[:1], layer=layer).shape[1] for layer in layers] == [32, 16]


@pytest.mark.parametrize(
    ("kind", "blank"),
    [("bert", ""), ("bert", "  "), ("bert", "\u200b"), ("gpt2", ""), ("t5", "\n")],
)
def test_a_sentence_without_text_is_an_error_that_names_it(kind, blank):
    assert str(refusal(UserError, tiny_model(kind).encode, [*SENTENCES, blank])) == (
        f"sentence 5 has no text that tiny-{kind} can read, so it has no vector; got {blank!r}\n"
        "next: remove such sentences"
    )


def test_one_text_of_a_pair_may_be_empty_but_three_texts_are_refused():
    model = tiny_model("bert")
    expected = at("cls", hidden_states("bert", alone("bert", "the cat", ""))[-1][0])
    assert np.allclose(model.encode([("the cat", "")])[0], expected, atol=1e-5)
    with pytest.raises(CorpusError, match="one text or two are allowed, got 3 instead"):
        model.encode([("a", "b", "c")])  # type: ignore[list-item]


def test_one_text_instead_of_a_list_is_an_error():
    assert str(refusal(UserError, tiny_model("bert").encode, "the cat")) == (
        "sentences must be a list of texts, got one text instead\nnext: put it into a list: [text]"
    )


@pytest.mark.parametrize(
    ("pooling", "message"),
    [
        (Pooling("3-1"), f"the model has no head 3-1 (L2H0); {RUN}"),
        (Pooling("3-*"), f"the model has no head 3-1 (L2H0); {RUN}"),
        (Pooling("L0H4"), f"the model has no head 1-5 (L0H4); {RUN}"),
        (Pooling(Head(-1, 0)), f"the model has no head 0-1 (L-1H0); {RUN}"),
        (Pooling(layer=3), "the model has no layer 3; its layers run from 1 to 2"),
        (Pooling(layer=0), "the model has no layer 0; its layers run from 1 to 2"),
    ],
)
def test_a_head_or_layer_that_the_model_does_not_have_is_an_error(pooling, message):
    found = refusal(UserError, tiny_model("bert").encode, SENTENCES, pooling=pooling).message
    assert found == message


def test_a_contradictory_pooling_is_an_error():
    with pytest.raises(UserError, match=r"^a vector is made of heads or of a layer, not of both"):
        Pooling("1-1", layer=1)
    with pytest.raises(UserError, match=r"^the set of heads is empty"):
        Pooling([])
    message = "the position must be one of cls, last, mean; got 'men' instead. Did you mean 'mean'?"
    assert refusal(UserError, Pooling, position="men").message == message


def test_heads_are_read_in_every_form_and_each_is_taken_once():
    assert Pooling("2-4, 1-1,L1H3") == Pooling(["L1H3", Head(0, 0)]) == Pooling((Head(1, 3), "1-1"))
    assert Pooling("2-4,1-1").heads == (Head(1, 3), Head(0, 0))
    names = Pooling(["1-2", "2-*"]).fit(tiny_model("bert")).names
    assert names == ["1-2", *(f"2-{head}" for head in range(1, 5))]


def test_encode_takes_heads_a_layer_or_a_position_instead_of_a_pooling():
    model = tiny_model("bert")
    heads = model.encode(SENTENCES, pooling=Pooling(HEADS, position="mean"))
    assert np.array_equal(model.encode(SENTENCES, heads="2-4,1-1,2-2", position="mean"), heads)
    assert np.array_equal(model.encode(SENTENCES, heads=HEADS, position="mean"), heads)
    layer = model.encode(SENTENCES, pooling=Pooling(layer=1, position="last"))
    assert np.array_equal(model.encode(SENTENCES, layer=1, position="last"), layer)
    model.pooling = Pooling("2-4")
    own = model.encode(SENTENCES, pooling=Pooling("2-4", position="mean"))
    assert np.array_equal(model.encode(SENTENCES, position="mean"), own)


@pytest.mark.parametrize("options", [{"heads": "1-1"}, {"layer": 1}, {"position": "mean"}])
def test_encode_refuses_a_pooling_together_with_what_it_is_made_of(options):
    with pytest.raises(UserError, match=r"heads, layer and position cannot be given beside it"):
        tiny_model("bert").encode(SENTENCES, pooling=Pooling(), **options)


@pytest.mark.parametrize(
    "pooling",
    [
        Pooling(),
        Pooling(HEADS, position="last"),
        Pooling("1-1,2-*"),
        Pooling(layer=1, position="mean"),
    ],
)
def test_a_pooling_is_read_as_it_was_written(pooling, tmp_path):
    assert Pooling.read(tmp_path) is None
    assert pooling.write(tmp_path) == tmp_path / "headscope-pooling.json"
    assert Pooling.read(tmp_path) == pooling


def test_the_file_of_a_pooling_counts_heads_and_layers_from_1(tmp_path):
    text = Pooling(HEADS, position="cls").write(tmp_path).read_text()
    assert json.loads(text) == {"heads": ["2-4", "1-1", "2-2"], "layer": None, "position": "cls"}
    text = Pooling(layer=2).write(tmp_path).read_text()
    assert json.loads(text) == {"heads": [], "layer": 2, "position": ""}


NOT = "not a pooling: "
BAD = [
    ('{"heads": ["2-4"], "lay', "not JSON (Unterminated string"),
    ("\xff", "not JSON ("),
    ('{"layer": NaN}', "not JSON (NaN is not a JSON value)"),
    ("[" * 100_000, "nested more deeply than 400 levels, which is the limit"),
    ("[]", f"{NOT}Input should be a valid dictionary"),
    ('{"heads": ["24"]}', "a head must be given as LAYER-HEAD counted from 1"),
    ('{"heads": "2-4"}', f"{NOT}heads: Input should be a valid list"),
    ('{"heads": [[1, 3]]}', f"{NOT}heads.0: Input should be a valid string"),
    ('{"layer": "1"}', f"{NOT}layer: Input should be a valid integer"),
    ('{"layer": 1.5}', f"{NOT}layer: Input should be a valid integer"),
    ('{"head": ["2-4"]}', f"{NOT}head: Extra inputs are not permitted"),
    ('{"position": "frist"}', "the position must be one of cls, last, mean; got 'frist' instead."),
    ('{"heads": ["2-4"], "layer": 1}', "a vector is made of heads or of a layer, not of both"),
]


def test_a_loaded_model_uses_the_pooling_in_its_folder(tmp_path):
    save_tiny("bert", tmp_path)
    assert np.array_equal(load(tmp_path).encode(SENTENCES), tiny_model("bert").encode(SENTENCES))
    Pooling(HEADS, position="mean").write(tmp_path)
    model: Model = load(tmp_path)
    assert model.pooling == Pooling(HEADS, position="mean")
    expected = tiny_model("bert").encode(SENTENCES, pooling=Pooling(HEADS, position="mean"))
    assert np.array_equal(model.encode(SENTENCES), expected)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((text, f" cannot be used: {why}") for text, why in BAD),
        ('{"heads": ["2-5"], "layer": null}', f": the model has no head 2-5 (L1H4); {RUN}"),
    ],
)
def test_a_bad_pooling_file_is_an_error_that_says_why(text, why, tmp_path):
    path = save_tiny("bert", tmp_path) / POOLING
    path.write_text(text)
    error = refusal(ModelError, load, tmp_path)
    assert error.message.startswith(f"{path}{why}")
    if "nested" not in why and "2-5" not in why:
        assert error.hint == (
            'write it like {"heads": ["3-9", "4-1"], "layer": null, "position": "cls"}, counted '
            "from 1, or delete it to use the last layer"
        )


def test_modules_json_names_the_class_for_sentence_transformers(tmp_path):
    path = write_modules(tmp_path)
    assert path == tmp_path / "modules.json"
    expected = [{"idx": 0, "name": "0", "path": "", "type": "headscope.sentences.HeadVectors"}]
    assert json.loads(path.read_text()) == expected
