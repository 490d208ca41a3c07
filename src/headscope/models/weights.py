"""The weights of single heads as matrices for row vectors, with the norm before attention in them.

Only this module, :mod:`~headscope.models.projections` and :mod:`~headscope.models.norms` know where
an architecture keeps them.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn

from headscope.errors import ModelError, UserError
from headscope.models.architecture import text_config
from headscope.models.model import Model, weights_digest
from headscope.models.norms import Gain, find_surroundings, measure_gain
from headscope.models.projections import (
    SUPPORTED,
    Parts,
    Projections,
    find_parts,
    has_bias,
    is_gated,
    matrix,
    matrix_size,
    projections,
    split_up,
)

CHUNK = 8192
"""Rows of the vocabulary that are multiplied at a time."""
QUERY_NORMS = re.compile(r"(q|k|qk|query|key)_?(layer)?_?norm")
BIASES = "biases of projections and norms are left out: they are not part of a product of matrices"
AFTER = "the norm between attention and the residual stream is left out"
ON_STREAM = (
    "this model normalises the residual stream itself (post-norm), which no matrix can stand for: "
    "these norms are left out, so numbers across layers are rough"
)
QUERY_NORM = "queries and keys are normalised per token (QK-norm), which is left out"
GATED = "the gate of each head's output depends on the text and is left out"
ROTARY = "rotary positions are left out: queries and keys are taken at distance 0"
RELATIVE = "attention biases by distance are left out"
TIED = (
    "the model was loaded without its language-model head; the unembedding is the transposed "
    "embedding, as its configuration says"
)
HEAD_LAYER = (
    "the layer between the last hidden state and the unembedding of a masked language model is "
    "left out of the copying score"
)
FINAL = "the norm before the unembedding is left out of the copying score"


class Weights:
    """The weights of all heads of one stack.

    Parameters
    ----------
    model
        The model to read.
    stack
        ``"encoder"`` or ``"decoder"``. Default: the main one.

    Attributes
    ----------
    heads, groups, width, hidden : int
        Query heads and key-value heads in each layer, the width of a head, and that of the model.
    notes : list of str
        What the matrices leave out.

    Raises
    ------
    ModelError
        If the architecture stores its projections in an unknown way.

    Examples
    --------
    >>> import headscope as hs
    >>> weights = Weights(hs.load("demo"))
    >>> weights.layer(0).query.shape, weights.layer(0).output.shape
    (torch.Size([12, 384, 32]), torch.Size([12, 32, 384]))
    """

    def __init__(self, model: Model, stack: str = "") -> None:
        self.model, self.stack = model, stack or model.main_stack()
        if self.stack == "cross":
            raise UserError(
                "circuits are not defined for cross attention: its queries and keys come from "
                "different stacks",
                hint="use stack='encoder' or stack='decoder'",
            )
        self.shape = model.shape(self.stack)
        around = find_surroundings(model, self.stack)
        self._modules, self._around = around.modules, around
        self._parts = self._find_parts()
        self._gains: dict[nn.Module, Gain] = {}
        first = self.layer(0)
        self.heads, self.groups = self.shape.heads, len(first.key)
        self.hidden, self.width = first.query.shape[1:]
        self.notes = self._find_notes()

    @property
    def folding(self) -> str:
        """What is done to the matrices that read the stream: the norm before attention is folded
        in, and LayerNorm's subtraction of the mean too (they are centred). Empty without a norm.
        """
        gains = [gain for gain in map(self._gain, self._modules) if gain is not None]
        centred = " and centred" if any(gain.centred for gain in gains) else ""
        return f"norm before attention folded in{centred}" if gains else ""

    @property
    def layers(self) -> int:
        """The number of layers with attention."""
        return self.shape.layers

    def layer(self, place: int) -> Projections:
        """The matrices of a layer in float32, with what :attr:`folding` says.

        Parameters
        ----------
        place
            The layer's place among those with attention, from 0.
        """
        module = self._modules[place]
        found = projections(self._parts[module], module, self.shape.heads)
        gain = self._gain(module)
        if gain is None:
            return found
        query, key, value = (gain.fold(part) for part in found[:3])
        return Projections(query, key, value, found.output)

    def output(self, place: int) -> Tensor:
        """Only what the heads of a layer write with, (head, width, hidden), in float32."""
        module = self._modules[place]
        return split_up(matrix(self._parts[module].output), 0, (self.shape.heads, -1))

    def vocabulary_product(self) -> Tensor | None:
        """``W_U W_E``, (hidden, hidden): from the stream to tokens and back to their embeddings.

        None, with a note, if the model has no unembedding or embeddings of another width.
        """
        embedding, unembedding = self.embedding, self.unembedding
        if embedding is None or unembedding is None:
            return None
        rows = min(len(embedding), len(unembedding))
        total = torch.zeros(self.hidden, self.hidden, device=embedding.device)
        for first in range(0, rows, CHUNK):
            part = slice(first, min(first + CHUNK, rows))
            total += unembedding[part].float().T.to(total.device) @ embedding[part].float()
        return total

    @property
    def embedding(self) -> Tensor | None:
        """The embeddings of tokens, (token, hidden); None if they have another width."""
        network = self.model.network
        weight: Tensor = network.get_input_embeddings().weight.detach()
        return weight if weight.shape[1] == self.hidden else None

    @property
    def unembedding(self) -> Tensor | None:
        """The rows that score tokens, (token, hidden); None if the stack has none."""
        if self.model.encoder_decoder and self.stack == "encoder":
            return None
        output = self.model.network.get_output_embeddings()
        if output is not None:
            weight = matrix(output).T if type(output) is not nn.Linear else output.weight.detach()
            return weight if weight.shape[1] == self.hidden else None
        return self.embedding if self.is_tied else None

    @property
    def is_tied(self) -> bool:
        """Whether the configuration says that embeddings also score tokens."""
        return is_tied(self.model)

    def _gain(self, module: nn.Module) -> Gain | None:
        norm = self._around.before.get(module)
        if norm is None:
            return None
        if norm not in self._gains:
            size = matrix_size(self._parts[module].modules[0])
            self._gains[norm] = measure_gain(norm, size)
        return self._gains[norm]

    def _find_parts(self) -> dict[nn.Module, Parts]:
        names = {module: name for name, module in self.model.network.named_modules()}
        found: dict[nn.Module, Parts] = {}
        for module in self._modules:
            holder = names[module].rpartition(".")[0]
            parent = self.model.network.get_submodule(holder) if holder else None
            parts = find_parts(module, parent)
            if parts is None or not self.shape.even:
                kind = type(self.model.network).__name__
                raise ModelError(
                    f"the matrices of single heads cannot be read from {self.model.name} ({kind}); "
                    f"supported are {SUPPORTED}",
                    hint="choose another model, or open an issue to ask for this architecture",
                )
            found[module] = parts
        return found

    def _find_notes(self) -> list[str]:
        modules = set(self._modules)
        gains = [gain for gain in map(self._gain, modules) if gain is not None]
        inner = [name for one in modules for name, _ in one.named_children()]
        config = text_config(self.model.network)
        parts: list[Any] = [self._parts[module] for module in modules]
        said = {
            ROTARY: _has_rotary(self.model.network, config),
            RELATIVE: _has_relative(self.model.network, config),
            QUERY_NORM: any(QUERY_NORMS.match(name) for name in inner),
            GATED: any(is_gated(self._parts[one], one, self.shape.heads) for one in modules),
            ON_STREAM: self._around.on_stream,
            AFTER: self._around.after,
            BIASES: any(map(has_bias, parts)) or any(gain.biased for gain in gains),
        }
        return [note for note, true in said.items() if true] + self._vocabulary_notes()

    def _vocabulary_notes(self) -> list[str]:
        if self.embedding is None:
            return ["no copying score: the embeddings of tokens are not as wide as the model"]
        if self.unembedding is None:
            return ["no copying score: this stack has no language-model head"]
        notes = [] if self.model.network.get_output_embeddings() is not None else [TIED]
        if not self.model.causal(self.stack):
            return [*notes, HEAD_LAYER]
        return notes if self._around.on_stream else [*notes, FINAL]


def is_tied(model: Model) -> bool:
    """Whether a model's configuration says that its embeddings also score tokens.

    Examples
    --------
    >>> import headscope as hs
    >>> is_tied(hs.load("demo"))
    True
    """
    return bool(getattr(text_config(model.network), "tie_word_embeddings", False))


def base_digests(model: Model) -> list[str]:
    """The digests under which other runs may know the same weights.

    A survey may have loaded the network with its language-model head or without: the names of the
    same weights then differ, and so does :attr:`Model.digest`.
    """
    found = [model.digest]
    network = model.network
    base = getattr(network, network.base_model_prefix, None)
    bare = base if isinstance(base, nn.Module) else network
    if not model.files_digest:
        prefix = "" if bare is not network else f"{network.base_model_prefix}."
        found.append(weights_digest(bare, prefix))
    return list(dict.fromkeys(found))


def _has_rotary(network: nn.Module, config: Any) -> bool:
    named = any("rotary" in type(module).__name__.lower() for module in network.modules())
    return named or bool(getattr(config, "rotary_dim", None))


def _has_relative(network: nn.Module, config: Any) -> bool:
    named = any("relative_attention_bias" in name for name, _ in network.named_modules())
    return named or config.model_type == "bloom"
