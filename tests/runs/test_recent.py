"""Results of today's architectures: hybrids, heads of several widths, and learned sinks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.special import entr
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.corpus import Example, Word, from_texts
from headscope.encode import batches
from headscope.errors import ModelError, UserError
from headscope.figures import pattern_grid
from headscope.figures.distances import behaviours
from headscope.heads import Head
from headscope.models import LayerView, Replacement
from headscope.runs.ablate.work import head_means
from headscope.runs.examples import example_attention
from headscope.runs.probe.vectors import make_head_outputs
from runs.probe.planted_tasks import dogs
from tiny import HYBRIDS, SENTENCES, WIDTH, eager_run, tiny_model, tiny_network

TEXTS = list(SENTENCES)


def eager_entropies(kind: str) -> np.ndarray:
    """-Σ α ln α of transformers' eager maps, averaged over tokens, then texts: (layer, head)."""
    model = tiny_model(kind)
    encoder = model.encoder(max_length=64, long="truncate", stack="decoder")
    found = []
    network = tiny_network(kind)
    for batch in batches(encoder.encode(from_texts(TEXTS)), size=1, pad=model.pad):
        with torch.no_grad():
            (maps,) = eager_run(kind, batch, network=network)[1].values()
        found.append(entr(torch.stack(maps)[:, 0].double().numpy()).sum(-1).mean(-1))
    return np.mean(found, 0)


@pytest.mark.parametrize("kind", HYBRIDS)
def test_layers_of_a_hybrid_are_shown_under_the_models_own_numbers(kind, tmp_path):
    path = tmp_path / "hybrid.nc"
    hs.survey(tiny_model(kind), TEXTS, measures=["entropy", "position"], max_length=64, output=path)
    atlas = hs.open(path)
    assert atlas.layers == (2, 4)
    means = atlas.mean("entropy").sel(row="all")
    assert means["layer"].values.tolist() == [2, 4]
    np.testing.assert_allclose(means.values, eager_entropies(kind), atol=1e-5)


@pytest.fixture(scope="module")
def hybrid():
    return hs.survey(tiny_model("qwen3.5"), TEXTS, measures=["entropy", "position"], max_length=64)


def test_heads_of_a_hybrid_are_found_by_the_models_own_numbers(hybrid):
    means = hybrid.mean("entropy").sel(row="all")
    passport = hybrid.head("4-3")
    assert str(passport.head) == "4-3"
    assert [str(head) for head in hybrid.find("layer 3-4")] == ["4-1", "4-2", "4-3", "4-4"]
    assert [str(head) for head in hybrid.find("layer < 3")] == ["2-1", "2-2", "2-3", "2-4"]
    assert hybrid.find("head 4-2") == (Head(3, 1),)
    largest = means.stack(place=("layer", "head")).idxmax().item()
    strongest = hybrid.summary().query("label == 'all'")["strongest"].item()
    assert strongest == f"{largest[0]}-{largest[1]}"
    table = hybrid.heads(by="entropy:all")
    assert set(table["head"]) == {f"{layer}-{head}" for layer in (2, 4) for head in range(1, 5)}
    assert table["head"].iloc[0] == strongest
    assert behaviours(hybrid)["layer"].tolist() == [2] * 4 + [4] * 4


@pytest.mark.parametrize("name", ["3-1", "L2H0"])
def test_a_head_of_a_layer_without_attention_is_an_error(hybrid, name):
    expected = (
        r"layer 3 of the model has no attention heads, so there is no head 3-1 \(L2H0\); the "
        "layers that have some are 2, 4"
    )
    model = tiny_model("qwen3.5")
    for ask in (
        lambda: hybrid.head(name),
        lambda: model.encode(["A dog."], heads=name),
        lambda: hs.attention(model, "A dog.", heads=name),
        lambda: Replacement(name, "zero").fit(model),
    ):
        with pytest.raises(UserError, match=expected):
            ask()
    with pytest.raises(UserError, match=r"heads run from 2-1 to 4-4 \(L1H0 to L3H3\)"):
        hybrid.head("5-1")


def test_maps_of_a_text_have_the_models_own_layer_numbers():
    model = tiny_model("qwen3.5")
    found = hs.attention(model, SENTENCES[0])
    some = hs.attention(model, SENTENCES[0], heads="4-2")
    assert found.maps["layer"].values.tolist() == [2, 4]
    np.testing.assert_array_equal(found.head("4-2").values, some.head("4-2").values)
    with pytest.raises(UserError, match="layer 3 of the model has no attention heads"):
        found.head("3-1")


def test_word_maps_of_a_hybrid_are_those_of_the_models_own_layer_numbers():
    model = tiny_model("qwen3.5")
    text = "the cat sat on the mat"
    example = Example("1", (text,), tuple(map(Word, text.split())))
    seen = example_attention(model, example, Head(3, 1))
    words = hs.attention(model, text, words=True, heads="4-2").head("4-2")
    np.testing.assert_allclose(seen.weights, words.values, atol=1e-6)


def test_models_with_attention_in_different_layers_are_not_compared():
    other = tiny_model("qwen3.5", layer_types=["full_attention", "linear_attention"] * 2)
    with pytest.raises(ModelError, match=r"different layers: .* in 2, 4, .* in 1, 3"):
        hs.compare(tiny_model("qwen3.5"), other, TEXTS)


def outputs_of(kind: str, text: str) -> dict[int, torch.Tensor]:
    """Head outputs at the last token by label of the layer, (head, width)."""
    model = tiny_model(kind)
    encoder = model.encoder(max_length=64, long="truncate", stack="decoder")
    (batch,) = batches(encoder.encode(from_texts([text])), size=1, pad=model.pad)
    views: list[LayerView] = []
    with torch.no_grad():
        model.forward(batch, listeners=[views.append])
    return {view.layer + 1: view.output[0, -1] for view in views}


@pytest.mark.parametrize("kind", ["gemma4", "qwen3.5"])
def test_sentence_vectors_of_heads_and_layers(kind):
    model, text = tiny_model(kind), SENTENCES[0]
    outputs = outputs_of(kind, text)
    found = model.encode([text], heads="4-1,2-3")
    expected = torch.cat([outputs[4][0], outputs[2][2]])
    np.testing.assert_allclose(found[0], expected.numpy(), atol=1e-5)
    ids = torch.tensor([model.tokenizer(text)["input_ids"]])
    with torch.no_grad():
        states = tiny_network(kind)(input_ids=ids, output_hidden_states=True).hidden_states
    for layer in (3, 4):  # the third layer of Qwen3.5 has no attention, but hidden states
        np.testing.assert_allclose(
            model.encode([text], layer=layer)[0], states[layer][0, -1].numpy(), atol=1e-5
        )
    np.testing.assert_allclose(model.encode([text])[0], states[4][0, -1].numpy(), atol=1e-5)
    with pytest.raises(UserError, match="its layers run from 1 to 4"):
        model.encode([text], layer=5)


@pytest.mark.parametrize("kind", ["gemma4", "qwen3.5"])
def test_vectors_for_probes_hold_every_head_and_fill_narrow_ones_with_zeros(kind, tmp_path):
    model, text = tiny_model(kind), SENTENCES[0]
    made = make_head_outputs(model, [(text,)], tmp_path, max_length=64)
    for label, expected in outputs_of(kind, text).items():
        found = made.heads(label - 1, np.array([0]))[0]
        width = expected.shape[-1]
        np.testing.assert_allclose(found[:, :width], expected.numpy(), atol=2e-2)
        assert not found[:, width:].any()
    if kind == "gemma4":
        assert made.heads(0, np.array([0])).shape[-1] == 2 * WIDTH


@pytest.mark.parametrize("kind", ["gemma4", "qwen3.5"])
def test_heads_are_replaced_by_their_mean_output(kind):
    model = tiny_model(kind)
    encoder = model.encoder(max_length=64, long="truncate", stack="decoder")
    (batch,) = batches(encoder.encode(from_texts(TEXTS)), size=16, pad=model.pad)
    means = head_means(model, [batch], "decoder")
    assert sorted(means) == list(model.shape("decoder").numbers)
    views: list[LayerView] = []
    with torch.no_grad():
        model.forward(
            batch, listeners=[views.append], replacement=Replacement("4-2", "mean", means=means)
        )
    output = views[-1].output[:, :, 1]
    torch.testing.assert_close(output, means[3][1].float().expand_as(output))


def test_ablations_of_a_hybrid_carry_its_layer_numbers():
    model = tiny_model("qwen3.5", auto=AutoModelForCausalLM)
    atlas = hs.ablate(model, corpus=TEXTS, max_length=64, resamples=50, importance=True, prune=True)
    for name in ("head_off", "layer_off", "importance"):
        assert atlas[name]["layer"].values.tolist() == [2, 4]
    runs = atlas["ablation"]["run"].values.tolist()
    assert runs[1:] == [
        *(f"{layer}-{head}" for layer in (2, 4) for head in range(1, 5)),
        "layer 2",
        "layer 4",
    ]
    removed = atlas["pruning"].attrs["order_importance"].split(",")
    importance = atlas.mean("importance").stack(place=("layer", "head"))
    assert set(removed) == {f"{layer}-{head}" for layer, head in importance["place"].values}


def test_results_of_a_model_with_a_learned_sink_say_so():
    atlas = hs.survey(tiny_model("gpt-oss"), TEXTS, measures="entropy", max_length=64)
    np.testing.assert_allclose(
        atlas.mean("entropy").sel(row="all").values, eager_entropies("gpt-oss"), atol=1e-5
    )
    sentence = (
        "The rows of this model's attention sum to less than 1: the rest goes to a learned sink, "
        "which is not a token."
    )
    assert sentence in atlas.remarks()
    plain = hs.survey(tiny_model("llama"), TEXTS, measures="entropy", max_length=64)
    assert sentence not in plain.remarks()


def test_distances_count_a_learned_sink_as_one_more_key():
    model = tiny_model("gpt-oss")
    text = [SENTENCES[0]]
    found = hs.survey(model, text, measures=[hs.Distance(exact=True)], max_length=64)
    ids = torch.tensor([model.tokenizer(text[0])["input_ids"]])
    with torch.no_grad():
        maps = tiny_network("gpt-oss")(input_ids=ids, output_attentions=True).attentions
    rows = torch.cat([weights[0] for weights in maps]).double().numpy()  # (head, query, key)
    whole = np.concatenate([rows, 1 - rows.sum(-1, keepdims=True)], -1)
    expected = [[(jensenshannon(a, b, axis=1) ** 2).mean() for b in whole] for a in whole]
    distances = found.mean("distance").values.reshape(len(rows), len(rows))
    np.testing.assert_allclose(distances, expected, atol=1e-6)


def test_results_of_models_with_different_layers_are_compared_on_those_that_both_have(hybrid):
    plain = hs.survey(tiny_model("llama"), TEXTS, measures="entropy", max_length=64)
    found = hs.compare(hybrid, plain)
    assert (found.layers, found.shape) == ((2,), (1, 4))
    expected = plain.mean("entropy").sel(layer=2) - hybrid.mean("entropy").sel(layer=2)
    np.testing.assert_allclose(found.mean("entropy-change").sel(layer=2).values, expected.values)
    assert [str(head) for head in found.find("layer 2")] == ["2-1", "2-2", "2-3", "2-4"]
    deep = hs.survey(
        tiny_model("llama", num_hidden_layers=3), TEXTS, measures="entropy", max_length=64
    )
    assert hs.compare(plain, deep).shape == (2, 4)


def test_the_grid_of_maps_names_the_layers_of_a_hybrid():
    maps = np.full((2, 3, 4, 4), 0.25)
    patterns = [["block"] * 3] * 2
    chart = pattern_grid(maps, patterns, title="maps", numbers=(2, 4)).to_dict()
    (rows,) = (rows for rows in chart["datasets"].values() if "layer" in rows[0])
    assert [row["name"] for row in rows] == ["2-1", "2-2", "2-3", "4-1", "4-2", "4-3"]
    text = json.dumps(chart)
    assert "datum.layer == 2" in text
    assert "rows: layers, 2 at the bottom" in text


@pytest.mark.parametrize("kind", ["gemma4", "qwen3.5"])
def test_probes_name_heads_by_the_models_own_layer_numbers(kind, tmp_path):
    model = tiny_model(kind)
    options: dict[str, Any] = {"counts": (2,), "greedy": True, "l2": (1e-2,), "control": False}
    found = hs.probe(model, dogs(), cache=tmp_path, max_length=64, **options)
    layers = model.shape("decoder").labels
    names = [f"{layer}-{head}" for layer in layers for head in range(1, 5)]
    assert found["probe"]["layer"].values.tolist() == list(layers)
    assert found["probe_layer"]["layer"].values.tolist() == list(layers)
    assert list(found["probe"].coords) == ["task", "layer", "head"]  # the order of charts' rows
    table = found.table("probe")
    assert [f"{row.layer}-{row.head}" for row in table.itertuples()] == names
    ranks = found["probe_top"]["rank"].sel(way="top").values.ravel().tolist()
    assert sorted(ranks) == sorted(names)
    assert np.isfinite(found["probe_top"]["test"].values).all()
