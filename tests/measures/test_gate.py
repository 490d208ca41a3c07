"""Gates: what transformers' own projections make of them, and what heads put out behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import headscope as hs
from headscope.corpus import from_texts
from headscope.encode import Encoder, collate
from headscope.errors import ModelError
from headscope.labels import label_text
from headscope.models import LayerView, Model, Replacement, wrap
from headscope.runs.ablate.work import head_means
from tiny import HEADS, WIDTH, eager_run, tiny_batch, tiny_network, tiny_tokenizer, views_of

TEXTS = ["the cat sat on the mat, and the dog sat.", "a small bird sang."]
KINDS = ("qwen3.5", "qwen3-next")
GATED = (*KINDS, "hy-v4", "axk2")


def network_of(kind: str) -> Any:
    """A tiny network whose gates are often nearly closed or open; random ones are near one half."""
    network = tiny_network(kind)
    with torch.no_grad():
        for projection in projections_of(network, "q_proj"):
            projection.weight.view(HEADS, 2, WIDTH, -1)[:, 1] *= 60
    return network


def model_of(kind: str) -> Model:
    return wrap(network_of(kind), tiny_tokenizer(kind), name=f"tiny-{kind}")


def projections_of(network: Any, name: str) -> list[nn.Module]:
    """The projections of all layers that have attention."""
    layers = [layer.self_attn for layer in network.layers if hasattr(layer, "self_attn")]
    return [getattr(layer, name) for layer in layers]


def caught(modules: list[nn.Module], run: Callable[[], Any], *, read: bool = False) -> list[Tensor]:
    """What modules return (or read) in a run, of its first text."""
    kept: list[Tensor] = []
    hooks = [
        module.register_forward_hook(
            lambda _module, args, output: kept.append((args[0] if read else output)[0].detach())
        )
        for module in modules
    ]
    run()
    for hook in hooks:
        hook.remove()
    return kept


def eager(kind: str, network: Any, text: str) -> Callable[[], Any]:
    ids = tiny_tokenizer(kind)(text, return_tensors="pt")["input_ids"]
    return lambda: network(input_ids=ids, output_attentions=True)


def gates(kind: str, text: str) -> NDArray[np.float64]:
    """By transformers alone, (layer, token, head, width): sigmoids of what lies beside queries."""
    network = network_of(kind)
    made = caught(projections_of(network, "q_proj"), eager(kind, network, text))
    split = torch.stack(made).unflatten(-1, (HEADS, 2, WIDTH))[..., 1, :]
    return 1 / (1 + np.exp(-split.double().numpy()))


@pytest.mark.parametrize("kind", KINDS)
def test_gates_are_what_the_query_projection_makes_beside_the_queries(kind):
    atlas = hs.survey(model_of(kind), TEXTS, measures="gate", max_length=40, batch_size=2)
    every = [gates(kind, text) for text in TEXTS]
    mean = np.mean([one.mean((1, 3)) for one in every], 0)
    closed = np.mean([(one < 0.1).mean((1, 3)) for one in every], 0)
    np.testing.assert_allclose(atlas.mean("gate").sel(gate="mean"), mean, rtol=1e-5)
    np.testing.assert_allclose(atlas.mean("gate").sel(gate="closed"), closed, atol=1e-6)
    assert 0.02 < closed.min() < closed.max() < 0.98
    words = [label_text("gate", {"gate": name}, atlas["gate"].attrs) for name in ("mean", "closed")]
    assert words == ["mean gate", "share of gate values under 0.1"]


@pytest.mark.parametrize("kind", GATED)
def test_what_heads_put_out_adds_up_to_what_attention_adds_to_the_stream(kind):
    batch, network = tiny_batch(kind), tiny_network(kind)
    outputs = projections_of(network, "o_proj")
    expected = caught(outputs, lambda: eager_run(kind, batch, network=network))
    model = wrap(tiny_network(kind), tiny_tokenizer(kind), name=kind)
    views = views_of(model, batch)
    assert len(views) == len(expected) == len(model.gates)
    for view, added, output in zip(views, expected, outputs, strict=True):
        parts = [
            view.output[0][:, head] @ output.weight[:, head * WIDTH :][:, :WIDTH].T
            for head in range(HEADS)
        ]
        torch.testing.assert_close(torch.stack(parts).sum(0), added, rtol=1e-4, atol=1e-6)
        assert view.gate is not None


@pytest.mark.parametrize("kind", KINDS)
def test_norm_weighted_maps_include_the_gate(kind):
    """Against plain loops over transformers' attention, values and gates."""
    text, network = TEXTS[0], network_of(kind)
    values = caught(projections_of(network, "v_proj"), run := eager(kind, network, text))
    maps = [layer[0].detach() for layer in run().attentions if layer is not None]
    outputs = [output.weight for output in projections_of(network, "o_proj")]
    entropies = np.zeros((len(maps), HEADS))
    for layer, gate in enumerate(gates(kind, text)):
        per_value = HEADS // (values[layer].shape[-1] // WIDTH)
        for head in range(HEADS):
            own = slice(head * WIDTH, (head + 1) * WIDTH)
            first = head // per_value * WIDTH
            for query in range(len(gate)):
                row = []
                for key in range(query + 1):
                    value = values[layer][key, first : first + WIDTH].double().numpy()
                    sent = (gate[query, head] * value) @ outputs[layer].detach()[:, own].numpy().T
                    row.append(float(maps[layer][head, query, key]) * np.linalg.norm(sent))
                shares = np.array(row) / sum(row)
                entropies[layer, head] -= (shares * np.log(shares)).sum() / len(gate)
    found = hs.survey(
        model_of(kind), [*TEXTS], measures="entropy", maps="norm", max_length=40, batch_size=2
    )
    alone = hs.survey(model_of(kind), [TEXTS[0]], measures="entropy", maps="norm", max_length=40)
    np.testing.assert_allclose(alone.mean("norm_entropy").sel(row="all"), entropies, rtol=1e-4)
    one = hs.survey(model_of(kind), [TEXTS[1]], measures="entropy", maps="norm", max_length=40)
    both = (alone.mean("norm_entropy") + one.mean("norm_entropy")) / 2
    np.testing.assert_allclose(found.mean("norm_entropy"), both, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_at_its_mean_puts_out_its_mean_behind_the_gate(kind):
    model, network = model_of(kind), network_of(kind)
    batch = collate(Encoder(model.tokenizer).encode(from_texts(TEXTS[:1])))
    output = projections_of(network, "o_proj")[1]
    with torch.no_grad():
        [read] = caught([output], run := eager(kind, network, TEXTS[0]), read=True)
    mean = read[:, WIDTH : 2 * WIDTH].mean(0)
    means = head_means(model, [batch], "decoder")
    torch.testing.assert_close(means[3][1].float(), mean, rtol=1e-5, atol=1e-6)

    def replace(_module, args):
        changed = args[0].clone()
        changed[..., WIDTH : 2 * WIDTH] = mean
        return (changed,)

    output.register_forward_pre_hook(replace)
    replacement = Replacement("4-2", way="mean", means=means)
    with torch.no_grad():
        found = model.forward(batch, replacement=replacement).last_hidden_state
        torch.testing.assert_close(found, run().last_hidden_state, rtol=1e-4, atol=1e-5)


def test_vectors_of_heads_are_those_behind_the_gate():
    model, network = model_of("qwen3.5"), network_of("qwen3.5")
    output = projections_of(network, "o_proj")[0]
    with torch.no_grad():
        [read] = caught([output], eager("qwen3.5", network, TEXTS[0]), read=True)
    vectors = model.encode(TEXTS[:1], heads="2-3", position="mean")
    np.testing.assert_allclose(vectors[0], read[:, 2 * WIDTH : 3 * WIDTH].mean(0), atol=1e-6)


def test_gradients_reach_the_outputs_behind_the_gate():
    model, batch = model_of("qwen3.5"), tiny_batch("qwen3.5")
    views: list[LayerView] = []
    loss = (model.forward(batch, listeners=[views.append]).last_hidden_state ** 3).sum()
    for gradient in torch.autograd.grad(loss, [view.output for view in views]):
        assert gradient.abs().max() > 0


def test_a_gate_of_zeros_lets_nothing_through():
    model = model_of("qwen3.5")
    batch = tiny_batch("qwen3.5")
    for module, output in model.gates.items():
        assert module.o_proj is output
        output.register_forward_pre_hook(lambda _module, args: (args[0] * 0,), prepend=True)
    for view in views_of(model, batch):
        assert (view.output == 0).all()
        assert view.gate is not None
        assert (view.gate == 0).all()


@pytest.mark.parametrize("kind", ["bert", "llama", "gpt-oss", "deepseek-v3", "t5"])
def test_models_without_gates_have_none_and_are_refused(kind):
    model = wrap(tiny_network(kind), tiny_tokenizer(kind), name="mine")
    assert not model.gates
    match = r"needs a model that multiplies .* such as Qwen3-Next or Qwen3.5; mine \(.*\) has none"
    with pytest.raises(ModelError, match=match):
        hs.survey(model, TEXTS, measures="gate", max_length=40)


def test_a_norm_is_no_gate(monkeypatch):
    """The probe is asked, whatever the source says."""
    monkeypatch.setattr("headscope.models.projections._mentions_gate", lambda module: True)
    network = tiny_network("llama")
    norm = nn.RMSNorm(HEADS * WIDTH, eps=1e-5)
    for output in projections_of(network, "o_proj"):
        output.register_forward_pre_hook(lambda _module, args: (norm(args[0]),))
    assert not wrap(network, tiny_tokenizer("llama"), name="mine").gates
    assert not wrap(tiny_network("llama"), tiny_tokenizer("llama"), name="plain").gates
    assert not wrap(tiny_network("bert"), tiny_tokenizer("bert"), name="plain").gates
