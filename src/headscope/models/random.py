"""The random encoder of C10's baseline (Clark et al. 2019, §5): pretrained embeddings, everything else as it was before training."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from headscope.models import Model, wrap

EMBEDDINGS = "embeddings"


def random_init(model: Model, *, seed: int) -> Model:
    """A copy of a model that keeps its word and position embeddings bit for bit and has all other weights drawn anew by the model's own rule.

    Kept are all modules called ``embeddings`` (BERT's holds words, positions, types and their LayerNorm) and every embedding table outside them
    (GPT-2's ``wte`` and ``wpe``, T5's relative positions). The given model is not changed.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = type(model.network)(copy.deepcopy(model.config))
    for name in kept_modules(model.network):
        network.get_submodule(name).load_state_dict(model.network.get_submodule(name).state_dict())
    network.to(device=model.device, dtype=model.network.dtype)
    made = wrap(network, model.tokenizer, name=f"{model.name} (random, seed {seed})")
    made.revision = model.revision
    return made


def kept_modules(network: nn.Module) -> list[str]:
    """The names of the modules that hold embeddings."""
    return [
        name
        for name, module in network.named_modules()
        if name.rpartition(".")[2] == EMBEDDINGS or isinstance(module, nn.Embedding)
    ]
