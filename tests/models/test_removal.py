"""Heads removed from weights: what plain transformers loads gives the outputs of masked heads."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM

from headscope.errors import ModelError
from headscope.heads import Head
from headscope.models import Model, Replacement, wrap
from headscope.models.removal import Removal, save_network
from tiny import (
    BOTH,
    DECODERS,
    ENCODERS,
    KINDS,
    ODD,
    RECENT,
    SIZES,
    SPARSE,
    STACKS,
    WIDTH,
    eager_inputs,
    place,
    tiny_batch,
    tiny_config,
    tiny_network,
    tiny_tokenizer,
)

EVERY = [kind for kind in {**KINDS, **RECENT, **SPARSE, **ODD} if kind != "deepseek-v4"]
CASES = [(kind, stack) for kind in EVERY for stack in STACKS.get(kind, ("",))]
PLAIN = """
import json, sys, torch, transformers
from safetensors.torch import load_file, save_file
cases, outputs = json.loads(sys.argv[1]), {}
for name, (auto, folder, inputs) in cases.items():
    # Without norms, MobileBERT makes much of the rounding of another kind of attention.
    how = {"attn_implementation": "eager"} if "mobilebert" in name else {}
    network = getattr(transformers, auto).from_pretrained(folder, **how).eval()
    with torch.inference_mode():
        outputs[name] = network(**load_file(inputs))[0].contiguous()
    if "tokenizer" in name:
        transformers.AutoTokenizer.from_pretrained(folder)("the cat")
assert not any(name.split(".")[0] == "headscope" for name in sys.modules)
save_file(outputs, sys.argv[2])
"""


def auto_of(kind: str) -> Any:
    """The auto class with a head, where the family has one of words."""
    config = type(tiny_config(kind))
    if (
        kind not in BOTH
        and config in transformers.MODEL_FOR_CAUSAL_LM_MAPPING
        and (kind not in ENCODERS)
    ):
        return AutoModelForCausalLM
    return AutoModelForMaskedLM if config in transformers.MODEL_FOR_MASKED_LM_MAPPING else AutoModel


def model_of(kind: str, auto: Any = AutoModel, **changes: Any) -> Model:
    return wrap(tiny_network(kind, auto=auto, **changes), tiny_tokenizer(kind), name=f"tiny-{kind}")


def some_heads(removal: Removal, *, cut: bool) -> list[Head]:
    """A unit of every layer, another one in each; where nothing is cut, some layers lose none."""
    units = removal.units(cut=cut)
    chosen = units[1::3]
    if cut:
        chosen = [
            units[at * removal.groups + at % removal.groups] for at in range(len(removal.modules))
        ]
        if 1 not in removal.shares.values():  # this one needs two of four gone
            chosen += [
                units[at * removal.groups + (at + 1) % removal.groups]
                for at in range(len(removal.modules))
            ]
    return [head for unit in chosen for head in unit]


@pytest.fixture(scope="module")
def round_trip(tmp_path_factory):
    """Outputs with heads masked, and those of a process that only knows transformers."""
    folder = tmp_path_factory.mktemp("pruned")
    cases, masked = {}, {}
    for kind, stack in CASES:
        auto = auto_of(kind)
        model = model_of(kind, auto)
        removal = Removal(model, stack or model.main_stack())
        batch = tiny_batch(kind, (9, 9))
        inputs = {key: value.clone() for key, value in eager_inputs(kind, batch).items()}
        if kind == "mobilebert":
            inputs["token_type_ids"] = torch.from_numpy(batch.types)
        save_file(inputs, folder / f"{kind}-{stack}.inputs")
        for cut in (False, True) if removal.shares else (False,):
            name = f"{kind}-{stack}-{'cut' if cut else 'zero'}"
            heads = some_heads(removal, cut=cut)
            save_network(removal.without(heads, cut=cut), model.tokenizer, folder / name)
            paths = (str(folder / name), str(folder / f"{kind}-{stack}.inputs"))
            cases[name] = (auto.__name__, *paths)
            off = Replacement(heads, way="zero", stack=removal.stack)
            with torch.inference_mode():
                masked[name] = model.forward(batch, replacement=off)[0]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAIN, json.dumps(cases), str(folder / "outputs")],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = load_file(folder / "outputs")
    return {name: (masked[name], outputs[name]) for name in cases}


CUT = {
    "llama", "qwen3", "gemma", "gemma3", "gpt-oss", "qwen3.5", "qwen3-next", "qwen3-moe", "jamba",
    "lfm2", "phi3", "mistral", "ministral", "eurobert", "deepseek-v3", "deepseek-v3.2",
    "glm-moe-dsa", "hy-v4", "axk2", "mistral-large4", "glm5-next",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "stack"), CASES)
def test_transformers_loads_the_outputs_of_masked_heads(round_trip, kind, stack):
    names = [name for name in round_trip if name.startswith(f"{kind}-{stack}-")]
    assert len(names) == 1 + (kind in CUT)
    for name in names:
        masked, outputs = round_trip[name]
        assert outputs.shape == masked.shape
        assert torch.allclose(outputs, masked, atol=1e-5, rtol=0), name


@pytest.mark.parametrize("kind", ["bert", "gpt2", "opt", "albert", "gpt-oss"])
def test_only_columns_of_the_output_projection_are_zero(kind):
    model = model_of(kind)
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    removal = Removal(model, model.main_stack())
    heads = removal.units(cut=False)[1]
    after = removal.without(heads, cut=False).state_dict()
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    layer = "layers.0.self_attn.o_proj.weight"
    if kind != "gpt-oss":
        _, output, _ = place(model.network, kind, removal.stack, 0)
        [layer] = [
            f"{name}.weight" for name, module in model.network.named_modules() if module is output
        ]
    assert changed == [layer]
    columns = after[layer] if kind == "gpt2" else after[layer].T
    gone = (columns == 0).all(1)
    assert np.flatnonzero(gone.numpy()).tolist() == list(range(WIDTH, 2 * WIDTH))
    assert all(torch.equal(before[name], now) for name, now in model.network.state_dict().items())


@pytest.mark.parametrize(
    ("kind", "changes", "shares"),
    [
        ("qwen3", {"num_key_value_heads": 4}, [0.25, 0.5, 0.75]),
        ("mistral", {"num_key_value_heads": 4}, [0.25, 0.5, 0.75]),
        ("llama", {"num_key_value_heads": 4}, [0.5, 0.75]),  # 32 is no multiple of 3
        ("llama", {"num_key_value_heads": 1}, []),
        ("bert", {}, []),  # fewer heads would be wider ones
        ("olmo2", {}, []),  # a norm over the queries of all heads
        ("t5", {}, []),  # encoder and decoder have one number of heads
        ("gemma4", {}, []),  # layers share keys, and heads have two widths
    ],
)
def test_reachable_shares_are_found_by_trying(kind, changes, shares):
    model = model_of(kind, **changes)
    assert [*Removal(model, model.main_stack()).shares] == shares


def test_a_smaller_network_has_fewer_weights_and_says_so_in_its_configuration(tmp_path):
    model = model_of("qwen3", AutoModelForCausalLM)
    removal = Removal(model, "decoder")
    network = removal.without(some_heads(removal, cut=True), cut=True)
    save_network(network, model.tokenizer, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["num_attention_heads"], config["num_key_value_heads"]) == (2, 1)
    assert config["head_dim"] == WIDTH
    gone = sum(value.numel() for value in model.network.parameters()) - sum(
        value.numel() for value in network.parameters()
    )
    assert gone == 2 * 32 * WIDTH * (2 + 2 + 1 + 1)  # layers · hidden · width · (q, o, k, v)
    assert not list(tmp_path.glob("*.bin"))


def test_weights_of_half_precision_are_stored_as_such(tmp_path):
    network = tiny_network("bert").to(torch.bfloat16).float()
    model = wrap(network, tiny_tokenizer("bert"), name="half")
    removal = Removal(model, "encoder")
    made = removal.without([Head(0, 1)], cut=False)
    wanted = {name: value.clone() for name, value in made.state_dict().items()}
    save_network(made, model.tokenizer, tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert {value.dtype for value in stored.values()} == {torch.bfloat16}
    assert all(torch.equal(value.float(), wanted[name]) for name, value in stored.items())
    assert model.network.dtype == torch.float32


def test_what_cannot_be_removed_is_refused():
    sizes = SIZES | {"num_key_value_heads": 2, "vocab_size": len(tiny_tokenizer("llama"))}
    config = transformers.BitNetConfig(**sizes, pad_token_id=None)
    torch.manual_seed(0)
    model = wrap(transformers.BitNetModel(config), tiny_tokenizer("llama"), name="bitnet")
    with pytest.raises(ModelError, match="something that mixes them before their output"):
        Removal(model, "decoder")
    quantised = model_of("bert")
    quantised.quantization = "8bit"
    with pytest.raises(ModelError, match="quantised, with an adapter or not in memory"):
        Removal(quantised, "encoder")


def test_every_family_is_tried():
    assert {*ENCODERS, *DECODERS, *BOTH} <= {kind for kind, _ in CASES}
