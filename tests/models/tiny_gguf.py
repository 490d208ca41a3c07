"""A tiny Llama in a GGUF file, written with the gguf package from weights that the test knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from tiny import HEADS, HIDDEN, LAYERS, POSITIONS, WIDTH, tiny_network, tiny_tokenizer

KEY_HEADS = 2
PARTS = {
    **{f"self_attn.{name}_proj": f"attn_{name}" for name in "qkv"},
    **{f"mlp.{name}_proj": f"ffn_{name}" for name in ("gate", "up", "down")},
    "self_attn.o_proj": "attn_output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def tiny_llama() -> Any:
    """The network that the file holds, with the vocabulary of a byte-level tokenizer."""
    tokenizer = tiny_tokenizer("bytes")
    changes = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0)
    changes |= {"vocab_size": len(tokenizer), "tie_word_embeddings": False}
    return tiny_network("llama", auto=AutoModelForCausalLM, **changes)


def write_gguf(path: Path) -> Path:
    """Write the network as float32 tensors, with the tokenizer of GPT-2's kind."""
    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(48)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_key_length(WIDTH)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    _add_tokenizer(writer)
    for name, weight in tiny_llama().state_dict().items():
        writer.add_tensor(_renamed(name), _permuted(name, weight.numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: GGUFWriter) -> None:
    model = json.loads(tiny_tokenizer("bytes").backend_tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, *[1] * (len(tokens) - 1)])  # the first is a control token
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    for add in (
        writer.add_bos_token_id,
        writer.add_eos_token_id,
        writer.add_unk_token_id,
        writer.add_pad_token_id,
    ):
        add(0)


def _renamed(name: str) -> str:
    outside = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    if name in outside:
        return outside[name]
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{PARTS[part]}.weight"


def _permuted(name: str, weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """llama.cpp interleaves the halves of rotary queries and keys (its convert_hf_to_gguf.py)."""
    heads = {"q_proj": HEADS, "k_proj": KEY_HEADS}.get(name.split(".")[-2])
    if heads is None:
        return weight
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(weight.shape))
