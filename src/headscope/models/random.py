"""The random encoder of Clark et al. (2019, §5): pretrained embeddings, all else untrained."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from headscope.models import Model, wrap

EMBEDDINGS = "embeddings"


def random_init(model: Model, *, seed: int) -> Model:
    """Copy a model, keeping its embeddings and drawing all other weights anew.

    All modules called ``embeddings`` are kept (BERT's contains words, positions, types and their
    LayerNorm), and every embedding table outside them (GPT-2's ``wte`` and ``wpe``, T5's relative
    positions). The model's own rule draws the other weights. The given model is not changed.

    Parameters
    ----------
    model
        The model to copy.
    seed
        Seed of the weights.

    Returns
    -------
    Model
        The copy, named after the model and the seed.

    Examples
    --------
    >>> import headscope as hs
    >>> random_init(hs.load("demo"), seed=1).name  # doctest: +SKIP
    'demo (random, seed 1)'
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
    """Names of the modules that contain embeddings.

    Examples
    --------
    >>> kept_modules(nn.ModuleDict({"wte": nn.Embedding(2, 2), "h": nn.Linear(2, 2)}))
    ['wte']
    """
    return [
        name
        for name, module in network.named_modules()
        if name.rpartition(".")[2] == EMBEDDINGS or isinstance(module, nn.Embedding)
    ]
