"""PEFT adapters on a base model: known weights change attention as they should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM

import headscope as hs
from headscope.errors import ModelError
from headscope.models import Model, load, wrap
from refusals import refusal
from tiny import maps_of, same, save_tiny, tiny_batch, tiny_tokenizer

peft = pytest.importorskip("peft", reason="peft is not installed")

RANK, ALPHA = 2, 6
QUERY = [f"model.layers.{layer}.self_attn.q_proj" for layer in range(2)]
TARGETS = {"llama": ["q_proj"], "bert": ["query"]}
HEADS: dict[str, Any] = {"llama": AutoModelForCausalLM, "bert": AutoModelForMaskedLM}


def saved(kind: str, place: Path, **changes: Any) -> Path:
    return save_tiny(kind, place, auto=HEADS[kind], **changes)


def make_adapter(
    kind: str, model: Path, place: Path, *, scale: float = 0.3, auto: Any = None
) -> Path:
    """A LoRA adapter with random weights, saved by PEFT itself."""
    network = (auto or HEADS[kind]).from_pretrained(model)
    config = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=TARGETS[kind])
    adapted = peft.get_peft_model(network, config)
    generator = torch.Generator().manual_seed(3)
    for name, weight in adapted.named_parameters():
        if "lora_" in name:
            weight.data = torch.randn(weight.shape, generator=generator) * scale
    adapted.save_pretrained(place)
    return place


@pytest.fixture(scope="module", params=["llama", "bert"])
def kind(request):
    """The kind of model."""
    return str(request.param)


@pytest.fixture(scope="module")
def model(kind, tmp_path_factory):
    """A tiny model with its head."""
    return saved(kind, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def adapter(kind, model, tmp_path_factory):
    """An adapter that was trained with the head."""
    return make_adapter(kind, model, tmp_path_factory.mktemp("adapters") / "lora")


def layers_of(kind: str, model: Model) -> list[torch.Tensor]:
    return next(iter(maps_of(model, tiny_batch(kind)).values()))


def by_hand(kind: str, model: Path, adapter: Path) -> Model:
    """W + (alpha / rank) B A, written into the weights (Hu et al. 2021, Section 4.1)."""
    plain = load(model, head="lm")
    weights = load_file(adapter / "adapter_model.safetensors")
    changed = 0
    with torch.no_grad():
        for name, module in plain.network.named_modules():
            key = f"base_model.model.{name}.lora_{{}}.weight"
            if key.format("A") in weights:
                product = weights[key.format("B")] @ weights[key.format("A")]
                module.weight += ALPHA / RANK * product
                changed += 1
    assert changed == 2
    return plain


@pytest.mark.parametrize("head", [None, "lm"])
def test_an_adapter_changes_attention_as_its_weights_say(kind, model, adapter, head):
    """Also where it was trained with a head, and the base model is loaded without one."""
    adapted = load(model, adapter=adapter, head=head)
    expected = layers_of(kind, by_hand(kind, model, adapter))
    plain = layers_of(kind, load(model))
    for ours, theirs, before in zip(layers_of(kind, adapted), expected, plain, strict=True):
        assert torch.allclose(ours, theirs, atol=2e-6)
        assert (ours - before).abs().max() > 0.1


def test_an_adapter_that_was_trained_without_a_head_fits_a_model_with_one(
    kind, model, adapter, tmp_path
):
    headless = make_adapter(kind, model, tmp_path / "headless", auto=AutoModel)
    with_head = load(model, adapter=headless, head="lm")
    without = load(model, adapter=headless)
    assert same(layers_of(kind, with_head), layers_of(kind, without))


@pytest.mark.parametrize(
    "options",
    [
        {"target_modules": "all-linear", "task_type": "CAUSAL_LM"},
        {"target_modules": ["q_proj"], "modules_to_save": ["norm", "lm_head"]},
        {"target_modules": ["q_proj", "embed_tokens"]},
        {"target_modules": ["q_proj"], "use_dora": True},
        {
            "target_modules": ["q_proj"],
            "alpha_pattern": {QUERY[1]: 40},
            "rank_pattern": {QUERY[0]: 3},
        },
    ],
    ids=["all-linear", "saved", "embeddings", "dora", "patterns"],
)
@pytest.mark.filterwarnings("ignore:Setting `save_embedding_layers`")
def test_adapters_of_other_kinds_act_as_in_peft(options, tmp_path):
    """PEFT's own model with merged weights is the reference."""
    model = saved("llama", tmp_path / "model")
    config = peft.LoraConfig(r=RANK, **options)
    torch.manual_seed(0)  # PEFT draws the first weights
    adapted = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(model), config)
    generator = torch.Generator().manual_seed(0)
    for weight in adapted.parameters():
        if weight.requires_grad:  # small: large activations would round by more than 5e-6
            weight.data += torch.randn(weight.shape, generator=generator) * 0.1
    adapted.save_pretrained(tmp_path / "adapter")
    whole = peft.PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(model), tmp_path / "adapter"
    ).merge_and_unload()
    expected = layers_of("llama", wrap(whole, tiny_tokenizer("llama")))
    for head in (None, "lm"):
        found = layers_of("llama", load(model, adapter=tmp_path / "adapter", head=head))
        pairs = zip(found, expected, strict=True)
        assert all(torch.allclose(ours, theirs, atol=5e-6) for ours, theirs in pairs)


def test_an_adapter_that_adds_tokens_is_refused(tmp_path):
    model = saved("llama", tmp_path / "model")
    config = peft.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(model), config)
    adapted.save_pretrained(tmp_path / "adapter")
    assert (
        "is of the kind PROMPT_TUNING, which adds tokens to the text"
        in refused(model, tmp_path / "adapter").message
    )


def test_results_name_the_adapter(model, adapter):
    adapted = load(model, adapter=adapter)
    assert (adapted.adapter, adapted.name) == ("lora", f"{model} + lora")
    atlas = hs.survey(adapted, ["the cat sat."], measures="position", max_length=64)
    about = atlas.provenance["model"]
    assert (about["name"], about["adapter"]) == (f"{model.name} + lora", "lora")
    assert about["weights"] != load(model).digest


def refused(model: Any, adapter: Any, **options: Any) -> ModelError:
    return refusal(ModelError, load, model, adapter=adapter, **options)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """A Llama and its adapter."""
    place = tmp_path_factory.mktemp("llama")
    model = saved("llama", place / "model")
    return model, make_adapter("llama", model, place / "lora")


FIRST = "in the model, e.g. layers.1.self_attn.q_proj.lora_A.weight"
OTHER = "e.g. layers.2.self_attn.q_proj.lora_A.default.weight"


@pytest.mark.parametrize(
    ("kind", "changes", "why"),
    [
        ("bert", {}, "Target modules"),
        ("llama", {"num_hidden_layers": 1}, f"2 of its weights have no place {FIRST}"),
        ("llama", {"num_hidden_layers": 3}, f"2 weights are missing, {OTHER}"),
        ("llama", {"hidden_size": 64}, ""),
    ],
    ids=["another", "shallower", "deeper", "wider"],
)
def test_an_adapter_of_another_model_is_refused(llama, tmp_path, kind, changes, why):
    other = saved(kind, tmp_path, **changes)
    error = refused(other, llama[1])
    assert error.message.startswith(f"the adapter {llama[1]} does not fit {other}: {why}")
    assert why or "size mismatch" in error.message
    assert error.hint == "give an adapter that was trained on this model" or kind == "llama"


def test_a_folder_that_is_not_an_adapter_is_refused(llama):
    error = refused(llama[0], llama[0])
    message = f"{llama[0]} is not the folder of an adapter: it has no adapter_config.json"
    assert error.message == message


@pytest.mark.parametrize("pickled", [True, False])
def test_an_adapter_without_safetensors_is_refused(llama, tmp_path, pickled):
    (tmp_path / "adapter_config.json").write_bytes((llama[1] / "adapter_config.json").read_bytes())
    if pickled:
        torch.save({}, tmp_path / "adapter_model.bin")
    expected = (
        f"{tmp_path} has only pickled weights (adapter_model.bin), which can run code when opened"
        if pickled
        else f"{tmp_path} has no weights: there is no adapter_model.safetensors"
    )
    assert refused(llama[0], tmp_path).message == expected


def test_a_damaged_adapter_is_refused(llama, tmp_path):
    for file in llama[1].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "adapter_model.safetensors").write_bytes(b"short")
    assert refused(llama[0], tmp_path).message.startswith(
        f"the adapter {tmp_path} cannot be read: "
    )
    save_file({"other.weight": torch.zeros(2)}, tmp_path / "adapter_model.safetensors")
    assert "does not fit" in refused(llama[0], tmp_path).message
    (tmp_path / "adapter_config.json").write_text("{")
    assert "cannot be read" in refused(llama[0], tmp_path).message


def test_an_adapter_on_weights_on_disk_is_refused(llama):
    error = refused(*llama, device_map={"": "disk"})
    message = f"the adapter {llama[1]} cannot be put on {llama[0]}: some of its weights are on disk"
    assert error.message == message


def merged(kind: str, model: Path, adapter: Path) -> Model:
    """PEFT's own model with the adapter's weights in those of the network."""
    network = HEADS[kind].from_pretrained(model)
    whole = peft.PeftModel.from_pretrained(network, adapter).merge_and_unload()
    return wrap(whole.requires_grad_(), tiny_tokenizer(kind))


def test_gradients_with_an_adapter_are_those_of_merged_weights(kind, model, adapter):
    texts = ["the cat sat on the mat, and the dog sat.", "a small bird sang."]
    adapted, reference = load(model, adapter=adapter, head="lm"), merged(kind, model, adapter)
    assert not any(weight.requires_grad for weight in adapted.network.parameters())
    options: dict[str, Any] = {"measures": ["gradient"], "max_length": 48}
    ours, theirs, before = (
        hs.survey(one, texts, **options)["gradient"]["mean"].values
        for one in (adapted, reference, load(model, head="lm"))
    )
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-8)
    assert not np.allclose(ours, before, rtol=0.05)


def test_the_importance_of_heads_with_an_adapter_is_that_of_merged_weights(kind, model, adapter):
    """By autograd: the derivative of the loss by a gate on each head's output."""
    texts = ["the cat sat on the mat, and the dog sat.", "a small bird sang."]
    adapted, reference = load(model, adapter=adapter, head="lm"), merged(kind, model, adapter)
    options: dict[str, Any] = {"importance": True, "max_length": 48, "stack": ""}
    ours, theirs = (
        hs.ablate(one, corpus=texts, **options)["importance"]["mean"].values
        for one in (adapted, reference)
    )
    assert np.isfinite(ours).all()
    assert ours.max() > 1e-4
    np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-7)
