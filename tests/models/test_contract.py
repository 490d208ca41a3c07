"""What Headscope relies on in transformers' attention interface.

If one of these tests fails after an update of transformers, the interface has changed: every
message says what was expected and which file of Headscope depends on it. Fix that file, or lower
the bound in pyproject.toml.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from headscope.models.attach import NAME, register
from headscope.models.observe import SLICED, UNUSED, observed_attention
from tiny import tiny_batch, tiny_config, tiny_network

VERSION = f"transformers {transformers.__version__}"
ATTENTION = BLOCKS = "src/headscope/models/observe.py"
REGISTER = "src/headscope/models/attach.py (register)"
MODULES = (
    *("bert", "distilbert", "gpt2", "llama", "qwen3", "gemma3", "modernbert", "t5", "bart", "opt"),
)
POSITIONAL = ("module", "query", "key", "value", "attention_mask")
KNOWN = {
    *("scaling", "dropout", "is_causal", "sliding_window", "softcap", "s_aux", "deterministic"),
    *("output_attentions", "use_cache", "encoder_hidden_states"),
}
"""Further arguments of attention functions: the same for all queries, or not used by eager ones."""


def eager_of(name: str) -> Any:
    file = f"transformers.models.{name}.modeling_{name}"
    module = importlib.import_module(file)
    assert hasattr(module, "eager_attention_forward"), (
        f"{VERSION}: {file} has no eager_attention_forward any more; {ATTENTION} (eager_function) "
        "looks for it by this name"
    )
    return module.eager_attention_forward


@pytest.mark.parametrize("name", MODULES)
def test_eager_attention_takes_module_query_key_value_and_mask_in_this_order(name):
    parameters = list(inspect.signature(eager_of(name)).parameters.values())
    names = tuple(one.name for one in parameters[:5])
    assert names == POSITIONAL, (
        f"{VERSION}: eager_attention_forward of {name} begins with {names}, expected {POSITIONAL}; "
        f"{ATTENTION} and {BLOCKS} call it so"
    )
    assert parameters[-1].kind is inspect.Parameter.VAR_KEYWORD, (
        f"{VERSION}: eager_attention_forward of {name} does not take further arguments any more; "
        f"{BLOCKS} passes on whatever a model gives"
    )


@pytest.mark.parametrize("name", MODULES)
def test_eager_attention_returns_outputs_by_query_and_maps_by_head(name):
    batch, heads, queries, keys, width = 2, 4, 5, 5, 8
    shapes = [(batch, heads, length, width) for length in (queries, keys, keys)]
    given = [torch.randn(shape) for shape in shapes]
    module = torch.nn.Module().eval()
    module.num_key_value_groups = 1  # type: ignore[assignment]
    module.scaling, module.config = 1.0, tiny_config("bert")  # type: ignore[assignment]
    output, maps = eager_of(name)(module, *given, None, scaling=1.0, dropout=0.0)
    shape = tuple(output.shape), tuple(maps.shape)
    expected = (batch, queries, heads, width), (batch, heads, queries, keys)
    assert shape == expected, (
        f"{VERSION}: eager_attention_forward of {name} returns shapes {shape}, expected "
        f"{expected}; {ATTENTION} shows them to listeners so"
    )


def test_an_attention_function_and_a_mask_function_can_be_registered():
    for kind in ("AttentionInterface", "AttentionMaskInterface"):
        interface = getattr(transformers, kind, None)
        assert hasattr(interface, "register"), (
            f"{VERSION}: there is no {kind}.register any more; {REGISTER} needs it"
        )
    register()
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    for functions in (ALL_ATTENTION_FUNCTIONS, ALL_MASK_ATTENTION_FUNCTIONS):
        assert NAME in functions.valid_keys(), (
            f"{VERSION}: a function registered as {NAME!r} is not among the known ones; {REGISTER}"
        )


class Seen:
    """What models hand to the registered attention function."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.masks: list[Tensor | None] = []

    def __call__(self, module: Any, *given: Any, **others: Any) -> Any:
        self.names |= set(others)
        self.masks.append(given[3])
        return observed_attention(module, *given, **others)


@pytest.mark.parametrize("kind", ["bert", "distilbert", "gpt2", "llama", "qwen3", "t5", "bart"])
def test_models_call_the_registered_function_with_arguments_that_we_know(kind):
    seen, network = Seen(), tiny_network(kind)
    register()
    transformers.AttentionInterface.register(NAME, seen)
    try:
        network.set_attn_implementation(NAME)
        batch = tiny_batch(kind)
        ids, mask = torch.as_tensor(batch.ids), torch.as_tensor(batch.mask)
        more = {"decoder_input_ids": ids} if network.config.is_encoder_decoder else {}
        with torch.no_grad():
            network(input_ids=ids, attention_mask=mask, **more)
    finally:
        register()
    assert seen.masks, (
        f"{VERSION}: {kind} does not call the attention function that is registered; {ATTENTION}"
    )
    strange = seen.names - KNOWN - SLICED - UNUSED
    assert not strange, (
        f"{VERSION}: {kind} hands the new argument {sorted(strange)} to attention functions. Does "
        f"it depend on the query? Then it must be in SLICED of {BLOCKS}, else in KNOWN of this file"
    )
    padded = [one for one in seen.masks if one is not None]
    assert padded, f"{VERSION}: {kind} hands no mask for padded texts; {REGISTER}"
    for one in padded:
        good = one.ndim == 4 and one.is_floating_point() and float(one.min()) < -1e4
        assert good, (
            f"{VERSION}: {kind} hands a mask of shape {tuple(one.shape)} and {one.dtype}; expected "
            f"(batch, 1, query, key) that is added to scores ({BLOCKS}, HIDDEN)"
        )
