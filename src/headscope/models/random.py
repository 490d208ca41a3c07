"""Random weights, around trained embeddings or not: a baseline for what training brings."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from headscope.errors import ModelError
from headscope.models.loading import wrap
from headscope.models.model import Model

EMBEDDINGS = "embeddings"


def random_init(model: Model, *, seed: int, keep_embeddings: bool = True) -> Model:
    """A copy of a model with all weights drawn anew, except the embeddings.

    Weights are drawn by the model's own rule. Kept bit for bit are all modules called
    ``embeddings`` (that of BERT holds words, positions, types and their LayerNorm) and every
    embedding table outside them (``wte`` and ``wpe`` of GPT-2, the relative positions of T5).

    Parameters
    ----------
    model
        The model to copy. It is not changed.
    seed
        Seed of the new weights. The random state of torch is not changed.
    keep_embeddings
        False draws the embeddings anew, too.

    Returns
    -------
    Model
        The copy, named after the model and the seed.

    Raises
    ------
    ModelError
        If the weights are quantised, or not in memory: no new ones can be drawn by their rule.

    References
    ----------
    Clark, Khandelwal, Levy and Manning (2019). What Does BERT Look at? An Analysis of BERT's
    Attention. Section 5 (with the embeddings kept).
    """
    _check_plain(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = type(model.network)(copy.deepcopy(model.config))
    for name in embedding_modules(model.network) if keep_embeddings else ():
        network.get_submodule(name).load_state_dict(model.network.get_submodule(name).state_dict())
    network.to(device=model.device, dtype=model.network.dtype)
    made = wrap(
        network,
        model.tokenizer,
        name=f"{model.name} (random{'' if keep_embeddings else ' throughout'}, seed {seed})",
        bos=model.bos,
        chat=model.chat,
    )
    made.revision = model.revision
    return made


def _check_plain(model: Model) -> None:
    """Refuse weights that cannot be drawn anew by the model's own rule."""
    if model.quantization or any(weight.is_meta for weight in model.network.parameters()):
        raise ModelError(
            f"the weights of {model.name} are quantised or not in memory, so random ones cannot be "
            "drawn beside them",
            hint="load the model without quantization= and device_map=",
        )


def embedding_modules(network: nn.Module) -> list[str]:
    """The names of the modules that hold embeddings.

    Examples
    --------
    >>> embedding_modules(nn.ModuleDict({"wte": nn.Embedding(2, 2), "h": nn.Linear(2, 2)}))
    ['wte']
    """
    return [
        name
        for name, module in network.named_modules()
        if name.rpartition(".")[2] == EMBEDDINGS or isinstance(module, nn.Embedding)
    ]
