"""Modelling code that asks for the name of the attention implementation gets eager's answers."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from headscope.errors import ModelError
from headscope.models import wrap
from headscope.models.attach import EAGER, NAME, Implementation, questions
from refusals import refusal
from tiny import (
    SPARSE,
    TOPK,
    eager_run,
    last_state,
    maps_of,
    same,
    tiny_batch,
    tiny_config,
    tiny_model,
    tiny_network,
    tiny_tokenizer,
    views_of,
)

LENGTHS = (40, 29)
"""Beyond TOPK keys, one text padded."""


# ---- sparse attention: only the keys that an index chooses are seen


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_models_equal_eager_bit_for_bit_beyond_what_their_index_chooses(kind):
    batch, model = tiny_batch(kind, LENGTHS), tiny_model(kind)
    expected, maps = eager_run(kind, batch)
    theirs = [one for one in maps["decoder"] if one is not None]
    chosen = [int((one[0, 0, -1] > 0).sum()) for one in theirs]
    assert min(chosen) == TOPK < LENGTHS[0], "the index must leave something out"
    assert same(maps_of(model, batch)["decoder"], theirs)
    assert torch.equal(last_state(model, batch), expected.last_hidden_state)


# ---- the name


def test_the_name_is_eager_for_those_who_ask_and_itself_for_those_who_look_up():
    assert NAME == EAGER
    assert NAME in ("eager", "sdpa")
    assert NAME not in ("sdpa", "flash_attention_2")
    assert NAME != "eager", "this is how code asks whether to call a registered function"
    assert NAME == "headscope"
    assert {"headscope": 1, "eager": 2}[NAME] == 1
    for kept in (copy.deepcopy(NAME), pickle.loads(pickle.dumps(NAME))):
        assert type(kept) is Implementation
        assert str(kept) == "headscope"


def test_an_observed_network_can_be_set_to_eager_and_back():
    model = tiny_model("deepseek-v3.2")
    model.network.set_attn_implementation("eager")
    assert type(model.config._attn_implementation) is str
    with pytest.raises(ModelError, match="no longer observed: its implementation was changed to"):
        views_of(model, tiny_batch("deepseek-v3.2"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gpt2_that_attends_in_float32_equals_eager_bit_for_bit(dtype):
    """It then computes attention in code of its own, if the name is eager."""
    changes = {"reorder_and_upcast_attn": True, "scale_attn_by_inverse_layer_idx": True}
    batch, network = tiny_batch("gpt2"), tiny_network("gpt2", **changes).to(dtype)
    expected, maps = eager_run("gpt2", batch, network=tiny_network("gpt2", **changes).to(dtype))
    model = wrap(network, tiny_tokenizer("gpt2"))
    assert same([view.weights for view in views_of(model, batch)], maps["decoder"])
    assert torch.equal(last_state(model, batch), expected.last_hidden_state)


# ---- the source

MASKS = "self.config._attn_implementation in ('eager', 'sdpa')"
ASKING = {
    ("axk2", MASKS): (True, True),
    ("decision_transformer", "self.config._attn_implementation == 'eager'"): (True, False),
    ("deepseek_v32", MASKS): (True, True),
    (
        "diffusion_gemma",
        "config._attn_implementation not in ALL_MASK_ATTENTION_FUNCTIONS._global_mapping",
    ): (True, True),
    ("falcon", "self.config._attn_implementation == 'sdpa'"): (True, True),
    ("glm5_next", "self.config._attn_implementation == 'sdpa'"): (True, True),
    ("glm_moe_dsa", MASKS): (True, True),
    ("gpt2", "self.config._attn_implementation == 'eager'"): (True, False),
    ("hy_v4", MASKS): (True, True),
    ("minimax_m3_vl", MASKS): (True, True),
    ("mistral_large4", MASKS): (True, True),
    ("qwen2_5_omni", "config._attn_implementation == 'eager'"): (True, False),
    ("timm_backbone", "self.config._attn_implementation == 'eager'"): (True, False),
    ("timm_wrapper", "self.config._attn_implementation == 'eager'"): (True, False),
}
"""Who asks what in transformers; whether our name answers as eager would, and whether a mask
depends on it."""


@pytest.mark.slow
def test_the_code_of_transformers_asks_for_the_name_only_where_we_know_it_does():
    """A new version of transformers that asks elsewhere shows up here: is the answer right?"""
    folder = Path(transformers.__file__).parent / "models"
    found = {
        (file.parent.name, one.code): (one.answered, one.mask)
        for file in sorted(folder.glob("*/modeling_*.py"))
        for one in questions(file.read_text(encoding="utf-8"))
    }
    if transformers.__version__.startswith("5.22."):
        assert found == ASKING
    assert {key: value for key, value in found.items() if not value[0]} == {}


@pytest.mark.parametrize(
    ("asks", "answered"),
    [
        ("config._attn_implementation in ('eager', 'sdpa')", True),
        ("config._attn_implementation not in ['flash_attention_2']", True),
        ("config._attn_implementation == 'flash_attention_2'", True),
        ("'eager' == config._attn_implementation", True),
        ("config._attn_implementation != 'sdpa'", True),
        ("config._attn_implementation is None", True),
        ("config._attn_implementation.startswith('flash')", True),
        ("'flash' in config._attn_implementation", True),
        ("config._attn_implementation != 'eager'", False),
        ("config._attn_implementation.startswith('eag')", False),
        ("'eager' in config._attn_implementation", False),
        ("config._attn_implementation.upper() == 'EAGER'", False),
        ("config._attn_implementation in self.dense", False),
        ("config._attn_implementation == self.plain", False),
        ("is_dense(config._attn_implementation)", False),
        ("DENSE[config._attn_implementation]", False),
    ],
)
def test_a_question_is_answered_if_the_name_gives_the_answer_of_eager(asks, answered):
    for code in (
        f"def forward(self, config, mask):\n    if {asks}:\n        mask = None\n",
        f"def forward(self, config, mask):\n    mask = None if {asks} else mask\n",
    ):
        (found,) = questions(code)
        assert (found.answered, found.mask) == (answered, True)
        assert found.line == 2
        (other,) = questions(code.replace("mask", "heads"))
        assert (other.answered, other.mask) == (answered, False)


def test_a_copy_of_the_name_is_followed():
    code = """
class Attention:
    def __init__(self, config):
        self.kind = config._attn_implementation
    def forward(self, mask):
        if self.kind.upper() == "EAGER":
            mask = sparse(mask)
"""
    (found,) = questions(code)
    assert (found.line, found.answered, found.mask) == (6, False, True)


@pytest.mark.parametrize(
    "code",
    [
        "f = ALL_ATTENTION_FUNCTIONS[config._attn_implementation]",
        "f = ALL_ATTENTION_FUNCTIONS.get_interface(config._attn_implementation, eager)",
        "config.vision._attn_implementation = config._attn_implementation",
        "raise ValueError(f'{config._attn_implementation} masks nothing')",
        "Vision._from_config(config, attn_implementation=config._attn_implementation)",
        "class A:\n    def __init__(self, config):\n        TABLE[config._attn_implementation]",
    ],
)
def test_looking_up_handing_on_and_writing_the_name_are_no_questions(code):
    assert list(questions(code)) == []


def test_choosing_between_eager_and_what_is_registered_is_answered():
    code = """
if self.config._attn_implementation != "eager":
    function = ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]
"""
    (found,) = questions(code)
    assert found.answered


OWN = """
from transformers import LlamaForCausalLM
class OwnForCausalLM(LlamaForCausalLM):
    def forward(self, *args, attention_mask=None, **options):
        if self.config._attn_implementation.upper() == "EAGER":
            {change}
        return super().forward(*args, attention_mask=attention_mask, **options)
"""


def own_network(folder: Path, name: str, change: str) -> Any:
    """A network whose code, in a file of its own, asks what our name cannot answer."""
    file = folder / f"modeling_{name}.py"
    file.write_text(OWN.format(change=change))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.OwnForCausalLM(tiny_config("llama"))


def test_a_network_whose_mask_depends_on_what_we_cannot_answer_is_refused(tmp_path):
    network = own_network(tmp_path, "masking", "attention_mask = attention_mask.tril()")
    assert refusal(ModelError, wrap, network, tiny_tokenizer("llama"), name="mine").message == (
        "the code of mine makes a mask depend on the name of the attention implementation in a way "
        "that Headscope cannot answer (modeling_masking.py, line 5: "
        "self.config._attn_implementation.upper()), so attention maps could be wrong"
    )
    assert network.config._attn_implementation != "headscope"


def test_other_questions_that_we_cannot_answer_are_noted(tmp_path):
    network = own_network(tmp_path, "counting", "self.count = 1")
    with wrap(network, tiny_tokenizer("llama"), name="mine") as model:
        (note,) = [one for one in model.notes if "the name of the attention" in one]
    assert note == (
        "the code of mine asks for the name of the attention implementation (modeling_counting.py, "
        "line 5: self.config._attn_implementation.upper()); 'headscope check' compares its maps "
        "with eager attention"
    )
