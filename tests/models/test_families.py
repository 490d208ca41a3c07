"""More families of decoders and encoders: shapes, and maps equal to eager attention.

Only the essentials are checked here; see ``test_recent.py`` for those that are tested thoroughly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModel

from headscope.encode import Batch
from headscope.models import LayerView, wrap
from tiny import EXPERTS, HEADS, SIZES, same, tiny_tokenizer

_SIZES: dict[str, Any] = SIZES | {
    **{"num_hidden_layers": 4, "num_key_value_heads": 2},
    **{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None},
}
_NARROW = _SIZES | {"head_dim": 8}
_STATE = {"mamba_d_state": 4, "num_key_value_heads": HEADS}
_MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 4, "mamba_n_groups": 1}
_LINEAR = {"layer_types": ["linear_attention", "full_attention"] * 2}
ENCODERS = ("GteConfig", "JinaEmbeddingsV3Config")
ALL, SECOND = (0, 1, 2, 3), (1, 3)
# Configuration, its sizes, and the layers that have attention, from 0.
FAMILIES: dict[str, tuple[str, dict[str, Any], tuple[int, ...]]] = {
    "zamba": (
        "ZambaConfig",
        _SIZES
        | {"num_hidden_layers": 9, "attn_layer_period": 3, "attn_layer_offset": 2}
        | {"n_mamba_heads": 2, **_STATE},
        (2, 5, 8),
    ),
    "zamba2": (
        "Zamba2Config",
        _SIZES
        | {"num_hidden_layers": 6, "layers_block_type": ["mamba", "mamba", "hybrid"] * 2, **_STATE}
        | {"mamba_headdim": 8, "mamba_ngroups": 1, "n_mamba_heads": 8}
        | {"num_mem_blocks": 1, "adapter_rank": 4},
        (2, 5),
    ),
    "bamba": ("BambaConfig", _NARROW | _MAMBA | {"attn_layer_indices": [1, 3]}, SECOND),
    "granite hybrid": (
        "GraniteMoeHybridConfig",
        _NARROW
        | EXPERTS
        | _MAMBA
        | {"layer_types": ["mamba", "attention"] * 2, "shared_intermediate_size": 16},
        SECOND,
    ),
    "nemotron-h": (
        "NemotronHConfig",
        _NARROW
        | {"hybrid_override_pattern": "M*M*", "mamba_num_heads": 8, "mamba_head_dim": 8}
        | {"ssm_state_size": 4, "n_groups": 1},
        SECOND,
    ),
    "falcon-h1": ("FalconH1Config", _NARROW | _MAMBA | {"mamba_d_ssm": 64}, ALL),
    "olmo hybrid": ("OlmoHybridConfig", _NARROW | _LINEAR, SECOND),
    "recurrentgemma": (
        "RecurrentGemmaConfig",
        _NARROW
        | {"num_key_value_heads": 1, "lru_width": 32, "attention_window_size": 8}
        | {"block_types": ["recurrent", "attention"]},
        SECOND,
    ),
    "phi-moe": ("PhimoeConfig", _NARROW | EXPERTS, ALL),
    "llama4": ("Llama4TextConfig", _NARROW | EXPERTS | {"intermediate_size_mlp": 32}, ALL),
    "cohere2": ("Cohere2Config", _NARROW | {"sliding_window": 4}, ALL),
    "smollm3": ("SmolLM3Config", _NARROW, ALL),
    "glm4-moe": (
        "Glm4MoeConfig",
        _NARROW
        | EXPERTS
        | {"n_routed_experts": 4, "n_shared_experts": 1, "n_group": 1, "topk_group": 1},
        ALL,
    ),
    "minimax": (  # its linear layers return their state as if it were a map
        "MiniMaxConfig",
        _NARROW | EXPERTS | _LINEAR | {"block_size": 16},
        SECOND,
    ),
    "mixtral": ("MixtralConfig", _NARROW | EXPERTS, ALL),
    "exaone4": ("Exaone4Config", _NARROW | {"sliding_window": 4}, ALL),
    "stablelm": ("StableLmConfig", _NARROW, ALL),
    "starcoder2": ("Starcoder2Config", _SIZES, ALL),
    "granite": ("GraniteConfig", _SIZES, ALL),
    "gte": ("GteConfig", _SIZES, ALL),
    "jina v3": ("JinaEmbeddingsV3Config", _SIZES, ALL),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_maps_equal_eager_and_layers_have_the_models_own_numbers(family):
    name, sizes, numbers = FAMILIES[family]
    tokenizer = tiny_tokenizer("llama")
    config = getattr(transformers, name)(**sizes, vocab_size=len(tokenizer))
    network = AutoModel.from_config(config, attn_implementation="eager").eval()
    ids = np.random.default_rng(0).integers(3, len(tokenizer), (2, 10))
    views: list[LayerView] = []
    with torch.no_grad():
        options = {} if name in ENCODERS else {"use_cache": False}
        inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.ones(2, 10).long()}
        expected = network(**inputs, output_attentions=True, **options)
        with wrap(network, tokenizer, name=family) as model:
            batch = Batch(0, (), ids, np.zeros_like(ids), np.ones_like(ids, np.bool_))
            output = model.forward(batch, listeners=[views.append])
            (shape,) = model.shapes.values()
    assert (shape.heads, shape.numbers, shape.sink) == (HEADS, numbers, False)
    eager = [one for one in expected.attentions if one is not None and one.shape[-1] == 10]
    assert same([view.weights for view in views], eager)
    assert torch.equal(output.last_hidden_state, expected.last_hidden_state)
