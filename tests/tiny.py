"""Tiny models of every architecture, with tokenizers trained on the spot.

They have random weights, the same for the same seed, and two layers of four heads, eight wide.
The kinds in ``RECENT`` are today's architectures; some have four layers, or heads of two widths.
``tiny_model("bert")`` gives a Headscope model, ``tiny_network`` the transformers one,
``tiny_tokenizer("bert")`` the tokenizer of its family, ``tiny_batch`` a padded batch of random
tokens, ``maps_of`` what a listener sees, ``eager_run`` what transformers itself computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import nn
from transformers import AutoModel, PreTrainedTokenizerFast

from headscope.encode import Batch
from headscope.models import LayerView, Model, wrap

# With tensors this small, threads only wait for each other: ten times slower on a busy machine.
torch.set_num_threads(1)

LAYERS, HEADS, WIDTH, HIDDEN, POSITIONS = 2, 4, 8, 32, 64
WINDOW = 3
"""How far a token of ModernBERT's second layer sees to either side."""

SENTENCES = (
    "the cat sat on the mat, and the dog sat by the door.",
    "a small bird sang in the old tree while rain fell on the roof.",
    "She didn't know why the unhappiest players were playing again.",
    "we walked to the river, then we walked home again; it was 10 o'clock.",
    "Every token attends to another token: that is all there is to it!",
)


@dataclass(frozen=True)
class Frame:
    """A tokenizer: how it splits text, its special tokens by id and by role, and its templates.

    ``one`` and ``two`` are the templates of one text and of a pair.
    """

    cut: str  # wordpiece, bytes or unigram
    specials: tuple[str, ...]
    roles: dict[str, str]
    one: str = ""
    two: str = ""
    types: bool = False  # whether the model reads which text a token is of


_CLS = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
_S = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
_MASKED = _S | {"mask_token": "<mask>", "cls_token": "<s>", "sep_token": "</s>"}
_END = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
_BERT = {
    "specials": tuple(_CLS.values()),
    "roles": _CLS,
    "one": "[CLS]:0 $A:0 [SEP]:0",
    "two": "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
}
_ROBERTA = {
    "specials": (*_S.values(), "<mask>"),
    "roles": _MASKED,
    "one": "<s>:0 $A:0 </s>:0",
    "two": "<s>:0 $A:0 </s>:0 </s>:0 $B:0 </s>:0",
}

# In the order and with the frames of the real families.
FRAMES: dict[str, Frame] = {
    "wordpiece": Frame("wordpiece", **_BERT, types=True),
    "mpnet": Frame("wordpiece", **_ROBERTA),
    # GPT-2: nothing around the text, and no padding token
    "bytes": Frame("bytes", ("<|endoftext|>",), _END),
    "roberta": Frame("bytes", **_ROBERTA),
    "modernbert": Frame("bytes", **_BERT),
    "opt": Frame(
        *("bytes", tuple(_S.values()), _S | {"bos_token": "</s>"}),
        *("</s>:0 $A:0", "</s>:0 $A:0 </s>:0 $B:0"),
    ),
    "qwen": Frame(
        "bytes",
        ("<|endoftext|>", "<|im_end|>"),
        {"pad_token": "<|endoftext|>", "eos_token": "<|im_end|>"},
    ),
    "unigram": Frame(  # T5
        *("unigram", ("<pad>", "</s>", "<unk>")),
        {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
        *("$A:0 </s>:0", "$A:0 </s>:0 $B:0 </s>:0"),
    ),
    "albert": Frame("unigram", **_BERT, types=True),
    "xlmr": Frame("unigram", **_ROBERTA),
    "llama": Frame(
        *("unigram", ("<unk>", "<s>", "</s>")),
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
        *("<s>:0 $A:0", "<s>:0 $A:0 <s>:0 $B:0"),
    ),
    "gemma": Frame(
        *("unigram", ("<pad>", "<eos>", "<bos>", "<unk>")),
        {f"{name}_token": f"<{name}>" for name in ("pad", "bos", "eos", "unk")},
        *("<bos>:0 $A:0", "<bos>:0 $A:0 <bos>:0 $B:0"),
    ),
}

_STREAM = {"hidden_size": HIDDEN, "max_position_embeddings": POSITIONS}
_SHAPE = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
SIZES = _STREAM | _SHAPE | {"intermediate_size": 48}
_GROUPED = SIZES | {"num_key_value_heads": 2, "head_dim": WIDTH}
_GPT = {"n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_positions": POSITIONS}
_BART = {
    f"{side}_{what}": size
    for side in ("encoder", "decoder")
    for what, size in (("layers", LAYERS), ("attention_heads", HEADS), ("ffn_dim", 48))
}

# Kind of model: its configuration class, its sizes, and its tokenizer.
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "bert": ("BertConfig", SIZES, "wordpiece"),
    "roberta": ("RobertaConfig", SIZES, "roberta"),
    "xlmr": ("XLMRobertaConfig", SIZES, "xlmr"),
    "electra": ("ElectraConfig", SIZES | {"embedding_size": 16}, "wordpiece"),
    "albert": ("AlbertConfig", SIZES | {"embedding_size": 16}, "albert"),
    "distilbert": (
        "DistilBertConfig",
        {"dim": HIDDEN, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": 48}
        | {"max_position_embeddings": POSITIONS},
        "wordpiece",
    ),
    "modernbert": ("ModernBertConfig", SIZES | {"local_attention": 2 * WINDOW}, "modernbert"),
    "mpnet": ("MPNetConfig", SIZES, "mpnet"),
    "gpt": ("OpenAIGPTConfig", _GPT, "bytes"),
    "gpt2": ("GPT2Config", _GPT, "bytes"),
    "opt": ("OPTConfig", _STREAM | _SHAPE | {"ffn_dim": 48, "word_embed_proj_dim": HIDDEN}, "opt"),
    "neox": ("GPTNeoXConfig", SIZES, "bytes"),
    "llama": ("LlamaConfig", _GROUPED, "llama"),
    "qwen3": ("Qwen3Config", _GROUPED, "qwen"),
    "gemma": ("GemmaConfig", _GROUPED, "gemma"),
    "t5": (
        "T5Config",
        {"d_model": HIDDEN, "d_kv": WIDTH, "d_ff": 48, "num_layers": LAYERS, "num_heads": HEADS},
        "unigram",
    ),
    "bart": (
        "BartConfig",
        _BART | {"d_model": HIDDEN, "max_position_embeddings": POSITIONS},
        "roberta",
    ),
}
_SEEN = {"sliding_window": WINDOW + 1}  # with the token itself
_SLIDING = _SEEN | {"layer_types": ["sliding_attention", "full_attention"]}
_CHOSEN = {"num_experts_per_tok": 2, "moe_intermediate_size": 16}
EXPERTS = _CHOSEN | {"num_local_experts": 4, "num_experts": 4}
_FOUR = _GROUPED | {"num_hidden_layers": 4}
_LINEAR = _FOUR | {
    **{"layer_types": ["linear_attention", "full_attention"] * 2},
    **{"linear_num_key_heads": 2, "linear_num_value_heads": 4},
    **{"linear_key_head_dim": 8, "linear_value_head_dim": 8},
}
_ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
_LATENT_HEADS = SIZES | {
    **{"num_key_value_heads": HEADS, "q_lora_rank": 16, "kv_lora_rank": 16},
    **{"qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": WIDTH},
    **{"n_routed_experts": 4, "n_shared_experts": 1, "topk_group": 1, "first_k_dense_replace": 1},
    **_CHOSEN,
}
RECENT: dict[str, tuple[str, dict[str, Any], str]] = {
    "gemma3": ("Gemma3TextConfig", _GROUPED | _SLIDING, "gemma"),
    "gemma4": (  # the last two layers use the keys and values of the first two
        "Gemma4TextConfig",
        _FOUR
        | {"layer_types": ["sliding_attention", "full_attention"] * 2, **_SEEN}
        | {"global_head_dim": 2 * WIDTH, "num_kv_shared_layers": 2}
        | {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 110},
        "gemma",
    ),
    "gpt-oss": ("GptOssConfig", _GROUPED | _SLIDING | EXPERTS | _ROPE, "bytes"),
    "qwen3.5": ("Qwen3_5TextConfig", _LINEAR, "qwen"),
    "qwen3-next": (
        "Qwen3NextConfig",
        _LINEAR | EXPERTS | {"shared_expert_intermediate_size": 16},
        "qwen",
    ),
    "qwen3-moe": ("Qwen3MoeConfig", _GROUPED | EXPERTS, "qwen"),
    "jamba": (
        "JambaConfig",
        _FOUR
        | EXPERTS
        | {"attn_layer_period": 2, "attn_layer_offset": 1}
        | {"mamba_d_state": 4, "mamba_d_conv": 4, "mamba_dt_rank": 4},
        "llama",
    ),
    "lfm2": ("Lfm2Config", _FOUR | {"layer_types": ["conv", "full_attention"] * 2}, "llama"),
    # keys are wider than values
    "deepseek-v3": ("DeepseekV3Config", _LATENT_HEADS | {"n_group": 2}, "bytes"),
    "olmo2": ("Olmo2Config", SIZES, "bytes"),
    "olmo3": ("Olmo3Config", SIZES | _SLIDING, "bytes"),
    "phi3": ("Phi3Config", SIZES | {"num_key_value_heads": 2}, "llama"),
    "mistral": ("MistralConfig", _GROUPED | {"sliding_window": WINDOW + 1}, "llama"),
    "ministral": ("MinistralConfig", _GROUPED | _SLIDING, "llama"),
    "modernbert-decoder": (
        "ModernBertDecoderConfig",
        SIZES | {"local_attention": 2 * WINDOW, "layer_types": _SLIDING["layer_types"]},
        "modernbert",
    ),
    "eurobert": ("EuroBertConfig", SIZES, "xlmr"),
}
TOPK = 6
"""How many keys the index of a sparse model chooses for each query."""
_THREE = {"num_hidden_layers": 3, "max_position_embeddings": 512}
_LATENT = _LATENT_HEADS | {
    **_THREE,
    **{"head_dim": 4, "n_group": 1, "index_topk": TOPK, "index_head_dim": 8},
    "index_n_heads": 32,  # of few, many scores are 0; which of these are chosen is arbitrary
}
_COMPRESSED = SIZES | {
    **{"head_dim": WIDTH, "q_lora_rank": 16, "o_groups": 2, "o_lora_rank": 8},
    **{"n_routed_experts": 4, "sliding_window": 8, "max_position_embeddings": 512},
    **{"index_topk": TOPK, "index_head_dim": 8, "index_n_heads": 2},
    **_CHOSEN,
}
# An index chooses the keys of every query, and the modelling code masks the others.
SPARSE: dict[str, tuple[str, dict[str, Any], str]] = {
    "deepseek-v3.2": ("DeepseekV32Config", _LATENT, "bytes"),
    "glm-moe-dsa": (
        "GlmMoeDsaConfig",
        _LATENT | {"indexer_types": ["full", "shared", "full"]},
        "bytes",
    ),
    "hy-v4": ("HYV4Config", _LATENT | {"head_dim": 12, "hc_mult": 2}, "bytes"),
    "axk2": ("AXK2Config", _LATENT | {"gated_norm_rank": 4}, "bytes"),
    "mistral-large4": ("MistralLarge4TextConfig", _LATENT | _ROPE, "bytes"),
    "minimax-m3": (  # the index chooses blocks of keys; the first layer has none
        "MiniMaxM3VLTextConfig",
        _GROUPED
        | _THREE
        | {"rotary_dim": 4, "num_local_experts": 4, "num_experts_per_tok": 2}
        | {"dense_intermediate_size": 48, "shared_intermediate_size": 16}
        | {"index_n_heads": 2, "index_head_dim": 8}
        | {"index_block_size": TOPK // 3, "index_topk_blocks": 3}
        | {"layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"]},
        "bytes",
    ),
    "glm5-next": (
        "Glm5NextTextConfig",
        _LATENT
        | {"qk_rope_head_dim": 0, "head_dim": 0, "index_kpool": 2}
        | {"linear_head_dim": 8, "linear_num_heads": HEADS, "hc_mult": 2}
        | {"layer_types": ["linear_attention", "full_attention", "full_attention"]},
        "bytes",
    ),
}
# Models that cannot be run like others.
ODD: dict[str, tuple[str, dict[str, Any], str]] = {
    "deepseek-v4": ("DeepseekV4Config", _COMPRESSED, "bytes"),  # appends compressed keys
    "mobilebert": (  # embeds a token with its neighbours
        "MobileBertConfig",
        SIZES
        | {"intermediate_size": HIDDEN, "embedding_size": 16, "intra_bottleneck_size": HIDDEN},
        "wordpiece",
    ),
    "sam3-lite-text": (  # convolutions in place of attention in the first and the last layer
        "Sam3LiteTextTextConfig",
        SIZES | {"num_hidden_layers": 4, "projection_dim": 16, "layer_scale_init_value": 1.0},
        "bytes",
    ),
}
_EVERY = KINDS | RECENT | SPARSE | ODD
HYBRIDS = ("qwen3.5", "qwen3-next", "jamba", "lfm2")
"""Only the second and the fourth of their layers have attention."""
ENCODERS = ("bert", "roberta", "xlmr", "electra", "albert", "distilbert", "modernbert", "mpnet")
DECODERS = ("gpt", "gpt2", "opt", "neox", "llama", "qwen3", "gemma")
BOTH = ("t5", "bart")
GROUPED = ("llama", "qwen3", "gemma")
PRIVATE = ("gpt", "mpnet")
"""Their attention is code of their own, not a registered function."""
TYPED = ("bert", "roberta", "xlmr", "electra", "albert")
STACKS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(ENCODERS, ("encoder",)),
    **dict.fromkeys(DECODERS, ("decoder",)),
    **dict.fromkeys(BOTH, ("encoder", "decoder", "cross")),
}
EVERY_STACK = [(kind, stack) for kind, stacks in STACKS.items() for stack in stacks]


def tiny_tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """A fast tokenizer trained on a few sentences: one of FRAMES, or that of a kind of model."""
    frame = FRAMES[kind if kind in FRAMES else _EVERY[kind][2]]
    inputs = ["input_ids", *(["token_type_ids"] if frame.types else []), "attention_mask"]
    made = Tokenizer.from_str(_trained(frame.cut, frame.specials, frame.one, frame.two))
    return PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=inputs, **frame.roles)


@cache
def _trained(cut: str, specials: tuple[str, ...], one: str, two: str) -> str:
    common: dict[str, Any] = {
        "special_tokens": [AddedToken(token, special=True, normalized=False) for token in specials],
        "show_progress": False,
    }
    unknown = next((token for token in specials if token.lower() in {"[unk]", "<unk>"}), None)
    if cut == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
        tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = (
            normalizers.BertNormalizer(lowercase=True),
            pre_tokenizers.BertPreTokenizer(),
            decoders.WordPiece(),
        )
        trainer: Any = trainers.WordPieceTrainer(vocab_size=110, **common)
    elif cut == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer, tokenizer.decoder = (
            pre_tokenizers.ByteLevel(add_prefix_space=False),
            decoders.ByteLevel(),
        )
        trainer = trainers.BpeTrainer(
            vocab_size=320, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), **common
        )
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = (
            normalizers.NFKC(),
            pre_tokenizers.Metaspace(),
            decoders.Metaspace(),
        )
        trainer = trainers.UnigramTrainer(vocab_size=110, unk_token=unknown, **common)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    if one:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=one,
            pair=two,
            special_tokens=[(token, tokenizer.token_to_id(token)) for token in specials],
        )
    elif cut == "bytes":
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return str(tokenizer.to_str())


def tiny_config(kind: str, **changes: Any) -> Any:
    """The configuration of a tiny model, with its tokenizer's vocabulary and special tokens."""
    name, sizes, _ = _EVERY[kind]
    tokenizer = tiny_tokenizer(kind)
    pad = tokenizer.pad_token_id
    tokens = {
        "pad_token_id": pad,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    if kind.startswith("modernbert"):
        tokens |= {"cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
    if kind == "modernbert-decoder":
        tokens |= {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
    if kind == "eurobert":
        tokens |= {"mask_token_id": tokenizer.mask_token_id}
    return getattr(transformers, name)(
        **{"vocab_size": len(tokenizer), **sizes, **tokens, **changes}
    )


def tiny_network(
    kind: str, *, seed: int = 0, attention: str = "eager", auto: Any = AutoModel, **changes: Any
) -> Any:
    """A transformers model with random weights.

    They are large enough that the maps are far from uniform; no bias is zero.
    """
    with torch.random.fork_rng():  # sinks of GPT-OSS and the like are drawn by transformers
        torch.manual_seed(seed)
        network = auto.from_config(tiny_config(kind, **changes), attn_implementation=attention)
    network.eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            noise = torch.randn(parameter.shape, generator=generator) * 0.2
            parameter.copy_(noise if parameter.dim() > 1 else parameter + noise)
    return network


def tiny_model(kind: str, *, seed: int = 0, **changes: Any) -> Model:
    """A tiny model under observation, with its tokenizer."""
    return wrap(tiny_network(kind, seed=seed, **changes), tiny_tokenizer(kind), name=f"tiny-{kind}")


def save_tiny(kind: str, folder: Path, **options: Any) -> Path:
    """The folder, with a tiny network and its tokenizer saved in it."""
    tiny_network(kind, **options).save_pretrained(folder)
    tiny_tokenizer(kind).save_pretrained(folder)
    return folder


def tiny_batch(kind: str, lengths: tuple[int, ...] = (9, 5, 12), *, seed: int = 0) -> Batch:
    """Random tokens, none of them special, padded to one length.

    The second half of each text is of the second token type.
    """
    tokenizer = tiny_tokenizer(kind)
    random = np.random.default_rng(seed)
    shape = (len(lengths), max(lengths))
    mask = np.arange(shape[1])[None] < np.array(lengths)[:, None]
    ids = np.where(
        mask,
        random.integers(len(tokenizer.all_special_ids), len(tokenizer), shape),
        tokenizer.pad_token_id or 0,
    )
    types = np.where(mask, np.arange(shape[1])[None] >= np.array(lengths)[:, None] // 2, 0)
    return Batch(0, (), ids.astype(np.int64), types.astype(np.int64), mask)


def views_of(model: Model, batch: Batch, **options: Any) -> list[LayerView]:
    """What a listener gets, in order."""
    views: list[LayerView] = []
    with torch.no_grad():
        model.forward(batch, listeners=[views.append], **options)
    return views


def maps_of(model: Model, batch: Batch, **options: Any) -> dict[str, list[torch.Tensor]]:
    """The maps of each stack, layer by layer."""
    found: dict[str, list[torch.Tensor]] = {}
    for view in views_of(model, batch, **options):
        maps = found.setdefault(view.stack, [])
        assert view.layer == model.shape(view.stack).numbers[len(maps)]
        maps.append(view.attention)
    return found


def last_state(model: Model, batch: Batch, **options: Any) -> torch.Tensor:
    """The last hidden states of one pass."""
    with torch.no_grad():
        return model.forward(batch, **options).last_hidden_state


def same(one: Any, other: Any) -> bool:
    """Whether two tensors, or lists or dictionaries of them, are equal bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return len(one) == len(other) and all(map(same, one, other))


def eager_inputs(kind: str, batch: Batch) -> dict[str, torch.Tensor]:
    """The inputs of transformers for a batch, written out by hand.

    The decoder of T5 begins with ``<pad>``, that of BART with ``</s>``.
    """
    ids, mask = torch.from_numpy(batch.ids), torch.from_numpy(batch.mask).long()
    inputs = {"input_ids": ids, "attention_mask": mask}
    if kind in TYPED:
        inputs["token_type_ids"] = torch.from_numpy(batch.types)
    if kind in BOTH:
        start = torch.full((len(ids), 1), {"t5": 0, "bart": 2}[kind])
        inputs |= {
            "decoder_input_ids": torch.cat([start, ids[:, :-1]], 1),
            "decoder_attention_mask": mask,
        }
    return inputs


def eager_run(
    kind: str, batch: Batch, *, network: Any = None, **options: Any
) -> tuple[Any, dict[str, tuple[torch.Tensor, ...]]]:
    """The reference: outputs and maps of transformers' eager attention with the same weights."""
    network = tiny_network(kind) if network is None else network
    output = network(
        **eager_inputs(kind, batch), output_attentions=True, output_hidden_states=True, **options
    )
    if kind in BOTH:
        return output, {
            "encoder": output.encoder_attentions,
            "decoder": output.decoder_attentions,
            "cross": output.cross_attentions,
        }
    stack = "encoder" if kind in ENCODERS or kind == "eurobert" else "decoder"
    return output, {stack: output.attentions}


# Where each architecture keeps its attention block ({} is the layer) and, within it, the output
# projection and the value projection. The families of BERT and ALBERT add the residual and
# normalise
# inside the block; the others return the output of the projection.
_LIKE_BERT = {"encoder": ("encoder.layer.{}.attention", "output.dense", "self.value")}
_LIKE_LLAMA = {"decoder": ("layers.{}.self_attn", "o_proj", "v_proj")}
_LIKE_GPT = {"decoder": ("h.{}.attn", "c_proj", "c_attn")}
PLACES: dict[str, dict[str, tuple[str, str, str]]] = {
    **dict.fromkeys(("bert", "roberta", "xlmr", "electra"), _LIKE_BERT),
    "albert": {
        "encoder": ("encoder.albert_layer_groups.0.albert_layers.0.attention", "dense", "value")
    },  # one block for every layer
    "distilbert": {"encoder": ("transformer.layer.{}.attention", "out_lin", "v_lin")},
    "modernbert": {"encoder": ("layers.{}.attn", "Wo", "Wqkv")},
    "mpnet": {"encoder": ("encoder.layer.{}.attention.attn", "o", "v")},
    **dict.fromkeys(("gpt", "gpt2"), _LIKE_GPT),
    "opt": {"decoder": ("decoder.layers.{}.self_attn", "out_proj", "v_proj")},
    "neox": {"decoder": ("layers.{}.attention", "dense", "query_key_value")},
    **dict.fromkeys(GROUPED, _LIKE_LLAMA),
    "t5": {
        "encoder": ("encoder.block.{}.layer.0.SelfAttention", "o", "v"),
        "decoder": ("decoder.block.{}.layer.0.SelfAttention", "o", "v"),
        "cross": ("decoder.block.{}.layer.1.EncDecAttention", "o", "v"),
    },
    "bart": {
        "encoder": ("encoder.layers.{}.self_attn", "out_proj", "v_proj"),
        "decoder": ("decoder.layers.{}.self_attn", "out_proj", "v_proj"),
        "cross": ("decoder.layers.{}.encoder_attn", "out_proj", "v_proj"),
    },
}


def place(
    network: Any, kind: str, stack: str, layer: int
) -> tuple[nn.Module, nn.Module, nn.Module]:
    """The attention block of a layer, its output projection and its value projection."""
    block, output, value = PLACES[kind][stack]
    found = network.get_submodule(block.format(layer))
    return found, found.get_submodule(output), found.get_submodule(value)


def split_values(kind: str, projected: torch.Tensor) -> torch.Tensor:
    """The values of each query head, (batch, key, head, width), from the value projection."""
    if kind == "neox":  # query, key and value side by side for each head
        return projected.unflatten(-1, (HEADS, 3, WIDTH))[..., 2, :]
    if kind in {"gpt", "gpt2", "modernbert"}:  # all queries, all keys, all values
        return projected.unflatten(-1, (3, HEADS, WIDTH))[..., 2, :, :]
    values = projected.unflatten(-1, (-1, WIDTH))
    return values.repeat_interleave(HEADS // values.shape[2], 2)
