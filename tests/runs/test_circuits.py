"""Circuits, against plain products of whole matrices and planted heads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForCausalLM

import headscope as hs
from headscope.corpus import read
from headscope.encode import Batch, collate
from headscope.errors import UserError
from headscope.measures import MEASURES, Context
from headscope.models import Model, observe, wrap
from headscope.runs.forward import Pass
from planted_induction import INDUCTION, PREVIOUS, WORDS, induction_model
from tiny import HEADS, HIDDEN, WIDTH, tiny_model, tiny_network, tiny_tokenizer

Matrix = Any


def language_model(kind: str, **changes: Any) -> Model:
    network = tiny_network(kind, auto=AutoModelForCausalLM, **changes)
    return wrap(network, tiny_tokenizer(kind), name=f"tiny-{kind}")


def small_survey(model: Any) -> hs.Atlas:
    return hs.survey(model, ["the cat sat", "a dog"], measures="position", max_length=16)


def llama_heads(network: Any) -> list[list[tuple[Matrix, ...]]]:
    """W_Q, W_K, W_V and W_O of each head, read from the state by hand, RMSNorm folded in."""
    state = {name: value.double().numpy() for name, value in network.state_dict().items()}
    layers = []
    for number in range(2):
        prefix = f"model.layers.{number}."
        gain = np.diag(state[f"{prefix}input_layernorm.weight"])
        parts = {n: state[f"{prefix}self_attn.{n}_proj.weight"] for n in ("q", "k", "v", "o")}
        heads = []
        for head in range(HEADS):
            own, shared = (slice(at * WIDTH, (at + 1) * WIDTH) for at in (head, head // 2))
            slices = (("q", own), ("k", shared), ("v", shared))
            inputs = (gain @ parts[name][part].T for name, part in slices)
            heads.append((*inputs, parts["o"][:, own].T))
        layers.append(heads)
    return layers


def gpt2_heads(network: Any) -> list[list[tuple[Matrix, ...]]]:
    """The same for GPT-2: LayerNorm folded in, and no transposed weights."""
    state = {name: value.double().numpy() for name, value in network.state_dict().items()}
    layers = []
    for number in range(2):
        prefix = f"transformer.h.{number}."
        centre = np.eye(HIDDEN) - np.ones((HIDDEN, HIDDEN)) / HIDDEN
        gain = centre @ np.diag(state[f"{prefix}ln_1.weight"])
        joined, output = (state[f"{prefix}attn.c_{n}.weight"] for n in ("attn", "proj"))
        heads = []
        for head in range(HEADS):
            own = slice(head * WIDTH, (head + 1) * WIDTH)
            parts = [gain @ joined[:, at * HIDDEN : (at + 1) * HIDDEN][:, own] for at in range(3)]
            heads.append((*parts, output[own]))
        layers.append(heads)
    return layers


READ = {"llama": llama_heads, "gpt2": gpt2_heads}


@pytest.mark.parametrize("kind", READ)
def test_composition_is_that_of_whole_matrices(kind):
    model = language_model(kind)
    data = hs.circuits(model)["composition"]
    first, second = READ[kind](model.network)
    for number, (query, key, value, output) in enumerate(second, 1):
        later = {"Q": query @ key.T, "K": key @ query.T, "V": value @ output}
        for other, (_, _, from_value, from_output) in enumerate(first, 1):
            earlier = from_value @ from_output
            for name, circuit in later.items():
                product = np.linalg.norm(earlier @ circuit)
                ratio = product / np.linalg.norm(earlier) / np.linalg.norm(circuit)
                excess = data["excess"].sel(
                    kind=name, layer=2, head=number, from_layer=1, from_head=other
                )
                found = float(excess) + float(data["baseline"].sel(kind=name))
                assert found == pytest.approx(ratio, rel=1e-5)


@pytest.mark.parametrize("kind", READ)
def test_norms_are_those_of_whole_matrices(kind):
    model = language_model(kind)
    atlas = hs.circuits(model)
    for layer, heads in enumerate(READ[kind](model.network)):
        for head, (query, key, value, output) in enumerate(heads):
            place = {"layer": layer, "head": head}
            ov, qk = (float(atlas[name]["mean"][place]) for name in ("ov_norm", "qk_norm"))
            assert ov == pytest.approx(np.linalg.norm(value @ output), rel=1e-5)
            assert qk == pytest.approx(np.linalg.norm(query @ key.T), rel=1e-5)


@pytest.mark.parametrize("kind", READ)
def test_copying_scores_are_those_of_all_eigenvalues_over_the_vocabulary(kind):
    model = language_model(kind)
    copying = hs.circuits(model)["copying"]["mean"]
    embedding = model.network.get_input_embeddings().weight.detach().double().numpy()
    unembedding = model.network.get_output_embeddings().weight.detach().double().numpy().T
    for layer, heads in enumerate(READ[kind](model.network)):
        for head, (_, _, value, output) in enumerate(heads):
            values = np.linalg.eigvals(embedding @ value @ output @ unembedding)
            # those beyond the width are 0, up to rounding
            values = values[np.argsort(-np.abs(values))[:WIDTH]]
            expected = values.real.sum() / np.abs(values).sum()
            assert float(copying[layer, head]) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "folding"),
    [
        ("gpt2", "; norm before attention folded in and centred"),  # LayerNorm
        ("llama", "; norm before attention folded in"),  # RMSNorm
        ("bert", ""),  # no norm before attention
    ],
)
def test_units_say_what_was_done_to_the_matrices(kind, folding):
    atlas = hs.circuits(tiny_model(kind))
    assert atlas["ov_norm"].attrs["unit"] == f"Frobenius norm of W_V W_O{folding}"
    assert atlas["qk_norm"].attrs["unit"] == f"Frobenius norm of W_Q W_Kᵀ{folding}"
    unit = atlas["composition"].attrs["unit"]
    assert unit == f"ratio of norms over that of random heads{folding}"


def test_only_earlier_layers_feed_later_ones():
    excess = hs.circuits(tiny_model("gpt2"))["composition"]["excess"]
    for layer in (1, 2):
        for earlier in (1, 2):
            known = excess.sel(layer=layer, from_layer=earlier).notnull()
            assert bool(known.all()) == bool(known.any()) == (earlier < layer)


def test_heads_with_random_weights_compose_like_the_baseline():
    network = tiny_network("gpt2", n_embd=96, n_head=6, n_layer=4)
    with wrap(network, tiny_tokenizer("gpt2")) as model:
        data = hs.circuits(model)["composition"]
    for kind in "QKV":
        one = data.sel(kind=kind)
        values = one["excess"].values[~np.isnan(one["excess"].values)]
        baseline = float(one["baseline"])
        assert len(values) == 6 * 36
        assert baseline == pytest.approx(1 / np.sqrt(96), rel=0.1)
        assert abs(values.mean()) < 0.05 * baseline
        assert abs(values).max() < 0.5 * baseline


def test_the_baseline_depends_on_the_seed_and_on_nothing_else():
    model = tiny_model("gpt2")
    one, again, other = (hs.circuits(model, seed=seed)["composition"] for seed in (1, 1, 2))
    assert one.identical(again)
    assert not one["baseline"].equals(other["baseline"])
    assert (one["baseline_deviation"] > 0).all()


def test_the_planted_model_does_induction():
    """Otherwise the next test would prove nothing."""
    model = induction_model()
    words = ["<s>", "ab", "cd", "ef", "ab"]
    ids = np.array([[WORDS.index(word) for word in words]])
    maps: list[torch.Tensor] = []
    with torch.no_grad():
        output = model.forward(
            Batch(0, (), ids, np.zeros_like(ids), np.ones_like(ids, bool)),
            listeners=[lambda view: maps.append(view.attention)],
        )
    assert maps[0][0, 0, 3].tolist() == pytest.approx([0, 0, 1, 0, 0], abs=1e-3)
    assert maps[1][0, 2, 4].tolist() == pytest.approx([0, 0, 1, 0, 0], abs=1e-3)
    assert WORDS[int(output.logits[0, -1].argmax())] == "cd"


def test_a_planted_previous_token_head_feeds_the_keys_of_the_induction_head():
    atlas = hs.circuits(induction_model())
    pairs = atlas["composition"]["excess"]
    best = pairs.where(pairs == pairs.max(), drop=True)
    assert [str(kind) for kind in best["kind"].values] == ["K"]
    earlier, later = (
        (int(best[a][0]), int(best[b][0]))
        for a, b in (("from_layer", "from_head"), ("layer", "head"))
    )
    assert ("{}-{}".format(*earlier), "{}-{}".format(*later)) == (PREVIOUS, INDUCTION)
    # by far: the next one is not even half as much above random heads
    second = np.sort(pairs.values[~np.isnan(pairs.values)])[-2]
    assert float(pairs.max()) > 2 * second
    table = atlas.composition(INDUCTION, kind="K", top=1)
    assert table.loc[0, ["direction", "head"]].tolist() == ["earlier", PREVIOUS]
    copying = atlas["copying"]["mean"].sel(layer=2, head=3)
    assert float(copying) == pytest.approx(1.0, abs=1e-5)


def test_a_model_without_unembedding_has_no_copying_scores_and_says_so():
    atlas = hs.circuits(tiny_model("llama"))
    assert atlas.measures == ("ov_norm", "qk_norm", "composition")
    assert "no copying score: this stack has no language-model head" in atlas.provenance["notes"]


def test_a_model_that_is_loaded_by_name_gets_the_head_that_copying_needs(tmp_path):
    tiny_network("llama", auto=AutoModelForCausalLM).save_pretrained(tmp_path)
    tiny_tokenizer("llama").save_pretrained(tmp_path)
    circuits = hs.circuits(str(tmp_path))
    assert "copying" in circuits
    survey = small_survey(str(tmp_path))
    assert "copying" in survey.with_circuits(circuits)


def test_circuits_are_saved_opened_and_not_computed_twice(tmp_path):
    path = tmp_path / "circuits.nc"
    made = hs.circuits(tiny_model("gpt2"), output=path)
    written = path.stat().st_mtime_ns
    again = hs.circuits(tiny_model("gpt2"), output=path)
    assert path.stat().st_mtime_ns == written
    assert again.provenance == made.provenance
    assert again["composition"].identical(hs.open(path)["composition"])
    with pytest.raises(UserError, match="holds the results of another run: weights: "):
        hs.circuits(tiny_model("gpt2", seed=1), output=path)
    assert path.stat().st_mtime_ns == written
    hs.circuits(tiny_model("gpt2", seed=1), output=path, overwrite=True)
    assert path.stat().st_mtime_ns != written


def test_heads_are_found_and_tables_written_by_circuits(tmp_path):
    atlas = hs.circuits(induction_model())
    assert [str(head) for head in atlas.find("copying > 0.99")] == [INDUCTION]
    table = atlas.heads(by="copying", top=1)
    assert table.columns.tolist() == ["head", "zero-based", "copying score"]
    assert atlas.listed == ("copying", "ov_norm", "qk_norm")
    assert set(atlas.table()["measure"]) == {"copying", "ov_norm", "qk_norm"}
    assert atlas.table("copying").columns.tolist() == ["measure", "label", "layer", "head", "mean"]
    assert atlas.export(tmp_path / "circuits.csv").stat().st_size > 0
    assert atlas.head(INDUCTION).title == "Head 2-3 (L1H2) of planted-induction"
    assert "95 % interval" not in " ".join(atlas.head(INDUCTION).sentences)
    assert repr(atlas).startswith("Atlas of planted-induction: 2 layers of 4 heads, measures:")


def test_circuits_are_not_merged():
    atlas = hs.circuits(tiny_model("gpt2"))
    with pytest.raises(UserError):
        hs.merge([atlas, atlas])


def test_circuits_of_other_weights_are_not_joined_to_a_survey():
    survey = small_survey(tiny_model("gpt2"))
    with pytest.raises(UserError, match="not of the weights that were surveyed"):
        survey.with_circuits(hs.circuits(tiny_model("gpt2", seed=1)))
    with pytest.raises(UserError, match="are not circuits"):
        survey.with_circuits(survey)


def test_composition_is_asked_for_with_a_known_kind_of_results_that_have_it():
    atlas = hs.circuits(tiny_model("gpt2"))
    with pytest.raises(UserError, match="kind of composition"):
        atlas.composition("1-1", kind="k")
    with pytest.raises(UserError, match="must be 1 or more, got 0"):
        atlas.composition("1-1", top=0)
    survey = small_survey(tiny_model("gpt2"))
    with pytest.raises(UserError, match="no composition of heads"):
        survey.composition("1-1")


# --- transfers ---

COPIES = {
    Tensor.cpu,
    Tensor.numpy,
    Tensor.item,
    Tensor.tolist,
    Tensor.nonzero,
    Tensor.__bool__,
    Tensor.__int__,
    Tensor.__float__,
    Tensor.__index__,
    torch.nonzero,
    torch.tensor,
    torch.from_numpy,
    torch.unique,
}


class Counting(TorchFunctionMode):
    """Counts the calls that copy from or to a device, or wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in COPIES:
            self.counts[func.__name__] += 1
        return func(*args, **(kwargs or {}))


def copies(kind: str, layers: int) -> Counter[str]:
    """What a pass with all measures that are offered copies for one batch."""
    depth = {"bert": "num_hidden_layers", "gpt2": "n_layer"}[kind]
    model = tiny_model(kind, **{depth: layers})
    stack = model.main_stack()
    encoder = model.encoder(max_length=60, long="truncate", stack=stack)
    items = list(encoder.encode(read("demo", limit=6)))
    batch = collate(items, pad=model.pad)
    context = Context(model.shape(stack), causal=model.causal(stack))
    examples = [item.example for item in items]
    offered = [MEASURES[name] for name in MEASURES if MEASURES[name].offered]
    measures = [measure().bind(context, examples) for measure in offered]
    survey = Pass(model, measures, stack, context)
    survey.run(batch)  # functions are tried once
    with Counting() as counting:
        survey.run(batch)
    return counting.counts


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_copies_grow_neither_with_layers_nor_with_blocks(kind, monkeypatch):
    few = copies(kind, 2)
    assert sum(few.values()) > 0
    assert copies(kind, 5) == few
    monkeypatch.setattr(observe, "WEIGHTS", 1)  # blocks of 16 rows
    cut = copies(kind, 2)
    assert copies(kind, 5) == cut
    # What depends on a block is copied once for all layers.
    assert sum(cut.values()) <= sum(few.values()) + 4 * 10
