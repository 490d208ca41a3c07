"""The random encoder keeps the embeddings bit for bit, and nothing else."""

import pytest
import torch

from headscope.errors import ModelError
from headscope.models.loading import random_init
from tiny import KINDS, maps_of, same, tiny_batch, tiny_model, tiny_network

FAMILY = ("bert", "roberta", "xlmr", "electra", "albert", "distilbert", "modernbert", "mpnet")
BIAS = "block.0.layer.0.SelfAttention.relative_attention_bias."
EMBEDDINGS = {  # where each architecture keeps its tables of words and positions
    **dict.fromkeys(FAMILY, ("embeddings.",)),
    "mpnet": ("embeddings.", "encoder.relative_attention_bias."),
    "gpt": ("tokens_embed.", "positions_embed."),
    "gpt2": ("wte.", "wpe."),
    "opt": ("decoder.embed_tokens.", "decoder.embed_positions."),
    "neox": ("embed_in.",),
    **dict.fromkeys(("llama", "qwen3", "gemma"), ("embed_tokens.",)),
    "t5": ("shared.", f"encoder.{BIAS}", f"decoder.{BIAS}"),
    "bart": ("shared.", "encoder.embed_positions.", "decoder.embed_positions."),
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_embeddings_are_kept_and_bit_for_bit(kind):
    model = tiny_model(kind)
    made = random_init(model, seed=1)
    old, new = dict(model.network.named_parameters()), dict(made.network.named_parameters())
    assert old.keys() == new.keys()
    kept = {name for name in old if torch.equal(old[name], new[name])}
    assert kept == {name for name in old if name.startswith(EMBEDDINGS[kind])}


def test_the_model_and_the_random_state_of_torch_do_not_change():
    model, before = tiny_model("bert"), tiny_network("bert").state_dict()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    random_init(model, seed=1)
    assert torch.equal(torch.rand(3), expected)
    assert same(model.network.state_dict(), before)


def test_weights_are_drawn_by_the_models_own_rule():
    network = random_init(
        tiny_model("bert", hidden_size=64, initializer_range=0.07), seed=1
    ).network
    query = network.encoder.layer[0].attention.self.query
    assert float(query.weight.detach().std()) == pytest.approx(0.07, rel=0.1)
    assert not query.bias.any()
    assert (network.encoder.layer[1].output.LayerNorm.weight == 1).all()


def test_the_weights_depend_on_the_seed_only():
    model = tiny_model("bert")
    first, again, other = (random_init(model, seed=seed) for seed in (1, 1, 2))
    assert first.digest == again.digest
    assert len({model.digest, first.digest, other.digest}) == 3


@pytest.mark.parametrize("kind", ["bert", "gpt", "mpnet", "gpt2"])
def test_the_random_encoder_is_observed_and_attends_differently(kind):
    model, batch = tiny_model(kind), tiny_batch(kind)
    made = random_init(model, seed=1)
    stack = model.main_stack()
    assert made.shapes == model.shapes
    old, new = maps_of(model, batch)[stack], maps_of(made, batch)[stack]
    assert all((one - two).abs().max() > 0.01 for one, two in zip(old, new, strict=True))
    real = torch.from_numpy(batch.mask)
    for layer in new:
        assert torch.allclose(layer.sum(-1).transpose(1, 2)[real], torch.ones(()), atol=1e-5)


def test_texts_are_encoded_as_for_the_model():
    with tiny_model("gpt2") as model:
        model.bos = "add"
        assert random_init(model, seed=0).bos == "add"


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_embeddings_are_drawn_anew_where_they_are_not_kept(kind):
    model = tiny_model(kind)
    made = random_init(model, seed=1, keep_embeddings=False)
    old, new = dict(model.network.named_parameters()), dict(made.network.named_parameters())
    drawn = {name for name in old if old[name].dim() > 1}
    assert not any(torch.equal(old[name], new[name]) for name in drawn)
    assert made.digest == random_init(model, seed=1, keep_embeddings=False).digest
    assert made.digest != random_init(model, seed=1).digest
    assert made.name != random_init(model, seed=1).name


def test_quantised_weights_are_refused():
    model = tiny_model("gpt2")
    model.quantization = "8bit"
    with pytest.raises(ModelError, match="quantised or not in memory"):
        random_init(model, seed=0)
