"""The matrices of single heads, against what the network itself computes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from headscope.errors import ModelError, UserError
from headscope.models import projections as module
from headscope.models import wrap
from headscope.models.norms import measure_gain
from headscope.models.projections import Weights, base_digests, matrix
from tiny import HEADS, PLACES, WIDTH, place, tiny_model, tiny_network, tiny_tokenizer

ONE_STACK = [kind for kind in PLACES if kind != "albert" and len(PLACES[kind]) == 1]
MEAN = {"gpt2", "opt", "neox", "modernbert"}
"""Their norm before attention subtracts the mean; that of the others with one divides only."""
POST = {"bert", "roberta", "xlmr", "electra", "distilbert", "mpnet", "gpt"}


def unbiased(kind: str, **options: Any) -> Any:
    """A tiny network whose biases are 0: they cannot be part of a product of matrices."""
    network = tiny_network(kind, **options)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("bias") and "relative" not in name:
                parameter.zero_()
    return network


def passed(network: nn.Module, reading: nn.Module, writing: nn.Module) -> tuple[Any, Any]:
    """What one module read and another returned when the network ran on one token."""
    found: dict[str, Any] = {}

    def read(_module: Any, args: Any, kwargs: Any) -> None:
        found["read"] = (args[0] if args else kwargs["hidden_states"])[0, -1]

    def wrote(_module: Any, _args: Any, output: Any) -> None:
        found["wrote"] = output[0, -1]

    handles = [
        reading.register_forward_pre_hook(read, with_kwargs=True),
        writing.register_forward_hook(wrote),
    ]
    with torch.no_grad():
        network(input_ids=torch.tensor([[9]]))
    for handle in handles:
        handle.remove()
    return found["read"], found["wrote"]


def normalised(kind: str, network: Any, vector: torch.Tensor) -> torch.Tensor:
    """The vector over its length, as the norm before attention divides it."""
    if kind in POST:
        return vector
    names = ("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_eps")
    epsilon = next((getattr(network.config, n) for n in names if hasattr(network.config, n)), 1e-5)
    centred = vector - vector.mean() if kind in MEAN else vector
    return vector / (centred.square().mean() + epsilon).sqrt()


@pytest.mark.parametrize("kind", ONE_STACK)
def test_a_token_that_sees_only_itself_gets_the_sum_of_the_heads_ov_circuits(kind):
    network = unbiased(kind)
    (stack,) = PLACES[kind]
    block, output, _ = place(network, kind, stack, 1)
    name = next(name for name, one in network.named_modules() if one is block)
    layer = network.get_submodule(name.rpartition(".")[0])
    read, wrote = passed(network, layer, output)
    with wrap(network, tiny_tokenizer(kind)) as model:
        found = Weights(model).layer(1)
    shared = found.value.repeat_interleave(HEADS // len(found.value), 0)
    row = normalised(kind, network, read)
    written = torch.einsum("d,hdk,hke->e", row, shared, found.output)
    torch.testing.assert_close(written, wrote, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "opt", "gpt", "distilbert", "bert"])
def test_qk_circuits_give_the_scores_of_a_model_without_rotary_positions(kind):
    network = unbiased(kind)
    (stack,) = PLACES[kind]
    block, _, _ = place(network, kind, stack, 1)
    name = next(name for name, one in network.named_modules() if one is block)
    layer = network.get_submodule(name.rpartition(".")[0])
    states: list[torch.Tensor] = []
    handle = layer.register_forward_pre_hook(
        lambda _m, args, kwargs: states.append(args[0] if args else kwargs["hidden_states"]),
        with_kwargs=True,
    )
    with torch.no_grad():
        maps = network(input_ids=torch.tensor([[9, 8, 7]]), output_attentions=True).attentions[1]
    handle.remove()
    rows = torch.stack([normalised(kind, network, row) for row in states[0][0]])
    with wrap(network, tiny_tokenizer(kind)) as model:
        found = Weights(model).layer(1)
    scores = (rows @ found.query) @ (rows @ found.key).transpose(1, 2) / WIDTH**0.5
    # the last row sees all three tokens in any of these models
    torch.testing.assert_close(maps[0, :, -1], scores.softmax(-1)[:, -1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gemma", "neox", "mistral", "phi3", "jamba"])
def test_queries_and_keys_of_one_token_score_as_in_the_network_whatever_its_rotation(kind):
    """A rotation by the same angle leaves the product of a query and a key unchanged."""
    number = 3 if kind == "jamba" else 1
    network = unbiased(kind)
    inside = "attention" if kind == "neox" else "self_attn"
    layer = network.get_submodule(f"layers.{number}")
    attention = layer.get_submodule(inside)
    norm = layer.input_layernorm
    caught: dict[str, torch.Tensor] = {}
    handles = [norm.register_forward_pre_hook(lambda _m, a: caught.update(read=a[0][0, -1]))]
    for name, part in attention.named_children():
        if isinstance(part, nn.Linear):

            def keep(_module, _args, output, name=name):
                caught[name] = output[0, -1]

            handles.append(part.register_forward_hook(keep))
    with torch.no_grad():
        network(input_ids=torch.tensor([[9]]))
    for handle in handles:
        handle.remove()
    if kind == "neox":
        query, key, _ = caught["query_key_value"].view(HEADS, 3, WIDTH).unbind(1)
    elif kind == "phi3":
        query, key, _ = caught["qkv_proj"].split((HEADS * WIDTH, 2 * WIDTH, 2 * WIDTH))
    else:
        query, key = caught["q_proj"], caught["k_proj"]
    query, key = query.reshape(HEADS, WIDTH), key.reshape(-1, WIDTH)
    expected = (query * key.repeat_interleave(HEADS // len(key), 0)).sum(1)
    with wrap(network, tiny_tokenizer(kind)) as model:
        found = Weights(model).layer(1)
    row = normalised(kind, network, caught["read"])
    keys = found.key.repeat_interleave(HEADS // len(found.key), 0)
    scores = ((row @ found.query) * (row @ keys)).sum(1)
    torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["qwen3-next", "qwen3.5"])
def test_the_gate_beside_a_query_is_not_part_of_it(kind):
    network = unbiased(kind)
    with wrap(network, tiny_tokenizer(kind)) as model:
        found = Weights(model)
        query = found.layer(1).query
    layer = network.layers[3]
    gain = 1 + layer.input_layernorm.weight
    plain = layer.self_attn.q_proj.weight.view(HEADS, 2, WIDTH, -1)[:, 0].transpose(1, 2)
    torch.testing.assert_close(query, plain * gain[:, None], rtol=1e-5, atol=1e-6)
    assert module.GATED in found.notes
    assert module.QUERY_NORM in found.notes


@pytest.mark.parametrize("size", [6, 7])
def test_the_gain_of_a_norm_is_measured_whatever_way_it_is_written(size):
    class OneMore(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(-0.5, 0.5, size))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1 + self.weight)

    rms = measure_gain(OneMore(), size)
    assert (rms.centred, rms.biased) == (False, False)
    torch.testing.assert_close(rms.scale, 1 + torch.linspace(-0.5, 0.5, size))
    norm = nn.LayerNorm(size)
    nn.init.uniform_(norm.weight)
    nn.init.uniform_(norm.bias, 0.5, 1.0)
    layer = measure_gain(norm, size)
    assert (layer.centred, layer.biased) == (True, True)
    torch.testing.assert_close(layer.scale, norm.weight.detach())


def test_a_projection_with_an_adapter_counts_as_what_it_computes():
    class Adapted(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) + 2 * x[..., :3]

    layer = Adapted(4, 3)
    extra = torch.zeros(4, 3)
    extra[:3] = 2 * torch.eye(3)
    torch.testing.assert_close(matrix(layer), layer.weight.detach().T + extra)


def test_weights_in_half_precision_are_read_in_float32():
    network = tiny_network("llama").to(torch.bfloat16)
    with wrap(network, tiny_tokenizer("llama")) as model:
        assert {part.dtype for part in Weights(model).layer(0)} == {torch.float32}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bert", {"ON_STREAM", "BIASES", "TIED", "HEAD_LAYER"}),
        ("gpt2", {"BIASES", "TIED", "FINAL"}),
        ("gemma3", {"ROTARY", "QUERY_NORM", "AFTER", "TIED", "FINAL"}),
        ("mpnet", {"RELATIVE", "ON_STREAM", "BIASES", "TIED", "HEAD_LAYER"}),
    ],
)
def test_what_the_matrices_leave_out_is_said(kind, said):
    assert set(Weights(tiny_model(kind)).notes) == {getattr(module, name) for name in said}


def test_an_albert_has_no_norm_before_attention():
    notes = Weights(tiny_model("albert")).notes
    assert module.ON_STREAM in notes
    assert module.QUERY_NORM not in notes


def test_an_architecture_that_stores_weights_in_another_way_is_refused_with_a_list():
    with pytest.raises(ModelError, match=r"tiny-deepseek-v3 \(DeepseekV3Model\); supported are"):
        Weights(tiny_model("deepseek-v3"))


def test_cross_attention_is_refused():
    with pytest.raises(UserError, match="not defined for cross attention"):
        Weights(tiny_model("t5"), "cross")


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_weights_are_known_under_the_digests_of_the_model_with_and_without_its_head(kind):
    network = tiny_network(kind, auto=AutoModelForCausalLM, tie_word_embeddings=True)
    tokenizer = tiny_tokenizer(kind)
    whole, bare = wrap(network, tokenizer), wrap(network.base_model, tokenizer)
    assert whole.digest != bare.digest
    assert set(base_digests(whole)) == set(base_digests(bare)) == {whole.digest, bare.digest}
