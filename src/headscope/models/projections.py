"""The weights of single heads: where each architecture keeps them, and what they make.

Only this chapter and :mod:`~headscope.models.norms` know where an architecture keeps its
projections. :class:`Weights` reads them as matrices for row vectors, with the norm before attention
in them; :class:`ValueNorms` says how long the vectors are that keys send through heads.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.encode import token_batch
from headscope.errors import ModelError, UserError
from headscope.models.forward import FAILURES, probe_layers, run_network
from headscope.models.model import Model, weights_digest
from headscope.models.norms import Gain, find_surroundings, measure_gain
from headscope.models.observe import LayerView, Watch
from headscope.models.shape import text_config

SUPPORTED = (
    "BERT, RoBERTa, XLM-R, ELECTRA, ALBERT, DistilBERT, ModernBERT, EuroBERT, MPNet, GPT, GPT-2, "
    "GPT-J, GPT-NeoX (Pythia), BLOOM, OPT, Llama, Mistral, Qwen, Gemma 1 to 3, GPT-OSS, OLMo, Phi, "
    "Jamba, LFM2, T5, BART and others with separate query, key and value projections"
)
SEPARATE = (
    ("q_proj", "k_proj", "v_proj"),
    ("query", "key", "value"),
    ("q_lin", "k_lin", "v_lin"),
    ("q", "k", "v"),
)
OUTPUTS = ("o_proj", "out_proj", "dense", "out_lin", "o", "Wo", "c_proj")


class Projections(NamedTuple):
    """The projections of one layer, for row vectors: ``x @ query[head]``.

    ``query`` is (head, hidden, width), ``key`` and ``value`` are (key-value head, hidden, width),
    ``output`` is (head, width, hidden). With grouped queries there are fewer key-value heads.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor


class Parts(NamedTuple):
    """The modules that project, and how the first three are stored."""

    stored: str
    modules: tuple[nn.Module, ...]
    output: nn.Module


def find_parts(module: nn.Module, parent: nn.Module | None) -> Parts | None:
    """The projections of an attention module; None if it stores them in an unknown way.

    Parameters
    ----------
    module
        The attention module.
    parent
        The module that holds it. BERT keeps the output projection there.
    """
    output = find_output(module, parent)
    if output is None:
        return None
    for names in SEPARATE:
        if all(isinstance(getattr(module, name, None), nn.Module) for name in names):
            return Parts("separate", tuple(getattr(module, name) for name in names), output)
    for name, stored in (("c_attn", "thirds"), ("Wqkv", "thirds"), ("qkv_proj", "grouped")):
        if isinstance(getattr(module, name, None), nn.Module):
            return Parts(stored, (getattr(module, name),), output)
    family = type(module).__module__.split(".")[-2]
    if family in ("gpt_neox", "bloom") and hasattr(module, "query_key_value"):
        return Parts("interleaved", (module.get_submodule("query_key_value"),), output)
    return None


def find_output(module: nn.Module, parent: nn.Module | None) -> nn.Module | None:
    """The output projection of an attention module; None if it has an unknown name."""
    output = next((getattr(module, name) for name in OUTPUTS if hasattr(module, name)), None)
    if output is None:
        output = getattr(getattr(parent, "output", None), "dense", None)
    return output if isinstance(output, nn.Module) else None


def projections(parts: Parts, module: nn.Module, heads: int) -> Projections:
    """The projections of one layer in float32, one matrix per head.

    Parameters
    ----------
    parts
        See :func:`find_parts`.
    module
        The attention module.
    heads
        The number of query heads.
    """
    output = matrix(parts.output)
    joined = [matrix(part) for part in parts.modules]
    if parts.stored == "interleaved":  # query, key and value of one head side by side
        query, key, value = split_up(joined[0], 1, (heads, 3, -1)).unbind(2)
        return _per_head(query.flatten(1), key.flatten(1), value.flatten(1), output, heads)
    if parts.stored == "thirds":  # all queries, all keys, all values
        query, key, value = joined[0].chunk(3, 1)
    elif parts.stored == "grouped":
        own = output.shape[0]
        rest = (joined[0].shape[1] - own) // 2
        query, key, value = torch.split(joined[0], [own, rest, rest], 1)
    else:
        query, key, value = joined
    if is_gated(parts, module, heads):  # each head's query is followed by its gate
        query = split_up(query, 1, (heads, 2, -1))[:, :, 0].flatten(1)
    return _per_head(query, key, value, output, heads)


def is_gated(parts: Parts, module: nn.Module, heads: int) -> bool:
    """Whether the query projection also makes a gate of the output (Qwen3-Next, Qwen3.5)."""
    width: Any = getattr(module, "head_dim", None)
    if parts.stored != "separate" or not isinstance(width, int):
        return False
    return int(getattr(parts.modules[0], "out_features", 0)) == 2 * heads * width


def has_bias(parts: Parts) -> bool:
    """Whether a projection adds a bias that is not 0."""
    biases = [getattr(part, "bias", None) for part in (*parts.modules, parts.output)]
    return any(isinstance(bias, Tensor) and bool(bias.any()) for bias in biases)


def matrix(module: nn.Module) -> Tensor:
    """The matrix that a projection multiplies row vectors by, (in, out), in float32.

    Plain modules are read. Any other (quantised, or with an adapter) is given the unit vectors, so
    that what it computes counts, not how it stores its numbers.
    """
    if any(weight.is_meta for weight in module.parameters()):
        raise ModelError(
            "the weights of this model are not all in memory, so they cannot be read",
            hint="leave device_map= out",
        )
    kind, projection = type(module), _untyped(module)
    if kind in (nn.Linear, Conv1D):
        weight: Tensor = projection.weight.detach().float()
        return weight.T if kind is nn.Linear else weight
    size = matrix_size(module)
    known = next((part for part in module.parameters() if part.is_floating_point()), None)
    like = torch.zeros(()) if known is None else known
    unit = torch.eye(size, dtype=like.dtype, device=like.device)
    with torch.inference_mode():
        product: Tensor = projection(unit) - projection(torch.zeros_like(unit[:1]))
    return product.float().clone()


def matrix_size(module: nn.Module) -> int:
    """How wide the vectors are that a projection reads."""
    projection = _untyped(module)
    return int(getattr(projection, "in_features", 0) or projection.weight.shape[0])


def _untyped(module: nn.Module) -> Any:
    return module


def split_up(tensor: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    """The same numbers with one dimension made into several; -1 stands for what is left."""
    shape = tensor.shape
    split: Tensor = tensor.reshape(*shape[:dim], *sizes, *shape[dim + 1 :])
    return split


def _per_head(query: Tensor, key: Tensor, value: Tensor, output: Tensor, heads: int) -> Projections:
    width = query.shape[1] // heads
    shared = key.shape[1] // width
    return Projections(
        split_up(query, 1, (heads, width)).transpose(0, 1),
        split_up(key, 1, (shared, width)).transpose(0, 1),
        split_up(value, 1, (shared, -1)).transpose(0, 1),
        split_up(output, 0, (heads, -1)),
    )


CHUNK = 8192
"""Rows of the vocabulary that are multiplied at a time."""
QUERY_NORMS = re.compile(r"(q|k|qk|query|key)_?(layer)?_?norm")
BIASES = "biases of projections and norms are ignored: they are not part of a product of matrices"
AFTER = "the norm between attention and the residual stream is ignored"
ON_STREAM = (
    "this model normalises the residual stream itself (post-norm), which no matrix can stand for: "
    "these norms are ignored, so numbers across layers are rough"
)
QUERY_NORM = "queries and keys are normalised per token (QK-norm), which is ignored"
GATED = "the gate of each head's output depends on the text and is ignored"
ROTARY = "rotary positions are ignored: queries and keys are taken at distance 0"
RELATIVE = "attention biases by distance are ignored"
TIED = (
    "the model was loaded without its language-model head; the unembedding is the transposed "
    "embedding, as its configuration says"
)
HEAD_LAYER = (
    "the layer between the last hidden state and the unembedding of a masked language model is "
    "left out of the copying score"
)
FINAL = "the norm before the unembedding is not part of the copying score"


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
        matrices = projections(self._parts[module], module, self.shape.heads)
        gain = self._gain(module)
        if gain is None:
            return matrices
        query, key, value = (gain.fold(part) for part in matrices[:3])
        return Projections(query, key, value, matrices.output)

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
        weight: Tensor = self.model.network.get_input_embeddings().weight.detach()
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
        parts_of: dict[nn.Module, Parts] = {}
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
            parts_of[module] = parts
        return parts_of

    def _find_notes(self) -> list[str]:
        modules = set(self._modules)
        gains = [gain for gain in map(self._gain, modules) if gain is not None]
        inner = [name for module in modules for name, _ in module.named_children()]
        config = text_config(self.model.network)
        parts: list[Any] = [self._parts[module] for module in modules]
        said = {
            ROTARY: _has_rotary(self.model.network, config),
            RELATIVE: _has_relative(self.model.network, config),
            QUERY_NORM: any(QUERY_NORMS.match(name) for name in inner),
            GATED: any(is_gated(self._parts[part], part, self.shape.heads) for part in modules),
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
    digests = [model.digest]
    network = model.network
    base = getattr(network, network.base_model_prefix, None)
    bare = base if isinstance(base, nn.Module) else network
    if not model.files_digest:
        prefix = "" if bare is not network else f"{network.base_model_prefix}."
        digests.append(weights_digest(bare, prefix))
    return list(dict.fromkeys(digests))


def _has_rotary(network: nn.Module, config: Any) -> bool:
    named = any("rotary" in type(module).__name__.lower() for module in network.modules())
    return named or bool(getattr(config, "rotary_dim", None))


def _has_relative(network: nn.Module, config: Any) -> bool:
    named = any("relative_attention_bias" in name for name, _ in network.named_modules())
    return named or config.model_type == "bloom"


TINY = torch.finfo(torch.float32).tiny
CLOSE = {torch.float32: 1e-4, torch.float64: 1e-4}
"""How far what a projection reads may be from the outputs of the heads, relative to the largest."""
ROUGH = 0.02
"""The same in half precision."""


class ValueNorms:
    """The length of what each key sends through each head, ``‖v W_O‖``.

    ``W_O`` of a head is (width, hidden). The length depends on its triangular factor alone, which
    is (width, width): it is computed once per layer. Behind a gate, which depends on the query, it
    is ``‖(g ∘ v) W_O‖``, one length for each query and key.

    Parameters
    ----------
    model
        The model.
    stack
        The stack that is observed.

    Raises
    ------
    ModelError
        If the output projections cannot be found, or if something other than a gate stands between
        them and the heads, such as a norm.

    References
    ----------
    Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3.

    Examples
    --------
    >>> import headscope as hs
    >>> model, lengths = hs.load("demo"), []
    >>> norms = ValueNorms(model, "encoder")
    >>> batch = token_batch(np.ones((1, 5)))
    >>> _ = model.forward(batch, listeners=[lambda view: lengths.append(norms.of(view))])
    >>> lengths[0].shape
    torch.Size([1, 12, 5])
    """

    def __init__(self, model: Model, stack: str) -> None:
        self.model = model
        self.heads = model.shape(stack).heads
        self.outputs = output_projections(model, stack)
        self.whole_maps = not self.outputs.keys().isdisjoint(model.gates)
        """Whether maps must be whole: a gate is known when all rows of a layer are computed."""
        self._factors: dict[nn.Module, Tensor] = {}

    def of(self, view: LayerView) -> Tensor:
        """The lengths of one layer, (batch, head, key), in float32; with a gate (batch, head,
        query, key).

        Parameters
        ----------
        view
            The layer, with its value vectors and its gate.
        """
        if view.values is None:
            raise ModelError(
                f"the value vectors of {self.model.name} cannot be observed",
                hint="survey attention maps: maps='attention'",
            )
        factor, values = self._factor(view.module), view.values.to(torch.float32)
        shared = values.shape[1]  # neighbouring heads share a value, but not their projection
        grouped = split_up(factor, 0, (shared, self.heads // shared))
        sent = values[:, :, None] @ grouped.to(values.device)
        lengths: Tensor = torch.linalg.vector_norm(sent, dim=-1).flatten(1, 2)
        if view.gate is None:
            return lengths
        values, factor = values.repeat_interleave(self.heads // shared, 1), factor.to(values.device)
        # Where a gate is not known, the values are 0. One query at a time: (head, key, width) each.
        gates = view.gate.nan_to_num(0.0).unbind(1)
        rows = [((values * gate[:, :, None]) @ factor).norm(dim=-1) for gate in gates]
        return torch.stack(rows, 2)

    def _factor(self, module: nn.Module) -> Tensor:
        """``L`` with ``‖v W_O‖ = ‖v L‖``, (head, width, width)."""
        if module not in self._factors:
            output = split_up(matrix(self.outputs[module]), 0, (self.heads, -1))
            triangle: Tensor = torch.linalg.qr(output.mT, mode="r").R
            self._factors[module] = triangle.mT.contiguous()
        return self._factors[module]


def norm_weighted(block: Tensor, lengths: Tensor) -> Tensor:
    """Weigh attention by the length of what it carries; each row then sums to 1.

    Parameters
    ----------
    block
        Rows of attention, (batch, head, row, key).
    lengths
        Of what each key sends, (batch, head, key), or also for each row, (batch, head, row, key).
        A learned sink sends nothing.

    Examples
    --------
    >>> block = torch.tensor([[[[0.5, 0.25, 0.25]]]])
    >>> norm_weighted(block, torch.tensor([[[0.0, 1.0, 3.0]]]))
    tensor([[[[0.0000, 0.2500, 0.7500]]]])
    """
    weighted = block * (lengths if lengths.dim() == 4 else lengths[:, :, None])
    return weighted.div_(weighted.sum(-1, keepdim=True).clamp_min_(TINY))


def output_projections(model: Model, stack: str) -> dict[nn.Module, nn.Module]:
    """The output projection of every attention module of a stack, checked on three tokens.

    What a projection reads must be the outputs of the heads side by side.
    """
    names = {module: name for name, module in model.network.named_modules()}
    modules = dict.fromkeys(module for module, *_ in probe_layers(model, stack))
    outputs = {module: output_of(model, module, names[module]) for module in modules}
    read: dict[nn.Module, list[Tensor]] = {output: [] for output in outputs.values()}

    def keep(output: nn.Module, args: tuple[Tensor, ...]) -> None:
        read[output].append(args[0].clone())

    with ExitStack() as hooks:
        for output in read:
            hooks.enter_context(output.register_forward_pre_hook(keep))
        layers = probe_layers(model, stack)
    for module, output in outputs.items():
        written = [values for writer, _, values in layers if writer is module]
        if not _same(written, read[output]):
            raise _between(model)
    return outputs


def output_of(model: Model, module: nn.Module, name: str) -> nn.Module:
    """The output projection of an attention module that has some name in its network."""
    output = find_output(module, parent_of(model, name))
    if output is None:
        raise ModelError(
            f"the output projections of single heads cannot be read from {model.name} "
            f"({type(model.network).__name__}); supported are {SUPPORTED}",
            hint="choose another model, or open an issue to ask for this architecture",
        )
    return output


def parent_of(model: Model, name: str) -> nn.Module | None:
    """The module that holds the one with some name."""
    holder = name.rpartition(".")[0]
    parent: Any = model.network.get_submodule(holder) if holder else None
    return parent if isinstance(parent, nn.Module) else None


def _same(written: list[Tensor], read: list[Tensor]) -> bool:
    """Whether the outputs of heads are what their projection reads, at every call."""
    if len(written) != len(read):
        return False
    for sent, received in zip(written, read, strict=True):
        if sent.numel() != received.numel():
            return False
        first, second = (part.float().reshape(-1, received.shape[-1]) for part in (sent, received))
        close = CLOSE.get(received.dtype, ROUGH) * float(first.abs().max())
        if not torch.allclose(first, second, atol=close, rtol=0):
            return False
    return True


def find_gates(model: Model, stacks: Mapping[nn.Module, str]) -> dict[nn.Module, nn.Module]:
    """The attention modules with a gate on the outputs of their heads, and their output
    projections: Qwen3-Next, Qwen3.5, AFMoE and others.

    Found by what it does, in one pass of a text that is there twice.

    Parameters
    ----------
    model
        The model to run.
    stacks
        The stack that each module belongs to.

    References
    ----------
    Qiu et al. 2025, "Gated Attention for Large Language Models", arXiv 2505.06708, section 2.2.
    """
    candidates = {}
    named = model.network.named_modules()
    kinds = {kind: _mentions_gate(kind) for kind in {type(module) for _, module in named}}
    for name, module in model.network.named_modules():
        gated = kinds[type(module)]
        output = find_output(module, parent_of(model, name)) if gated else None
        if output is not None:
            candidates[module] = output
    if not candidates:  # nearly all models: no pass is needed
        return {}
    probe = _GateProbe(stacks, [], None, None, gates=candidates)
    # Classifiers without a padding token refuse two texts, but only after their layers.
    with torch.inference_mode(), suppress(*FAILURES):
        run_network(model, probe, token_batch(np.zeros((2, 3))), "", {})
    return {module: candidates[module] for module, gated in probe.gated.items() if gated}


def _mentions_gate(kind: type[nn.Module]) -> bool:
    """Whether what a module computes has a name with "gate" in it. Reading its source would take
    longer than loading most models.
    """
    forwards = (
        inspect.unwrap(vars(base)["forward"]) for base in kind.__mro__ if "forward" in vars(base)
    )
    codes = [forward.__code__ for forward in forwards if hasattr(forward, "__code__")]
    return any("gate" in name for code in codes for name in (*code.co_names, *code.co_varnames))


class _GateProbe(Watch):
    """Of two copies of a text, the heads of the second put out ones: a gate then leaves itself.

    What the first copy's projection reads must be its heads' outputs times that. The projection
    reads the same of both copies, so that later layers see the same text.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.gated: dict[nn.Module, bool] = {}

    def end(self, module: nn.Module, maps: Tensor | None, output: Tensor) -> Tensor:
        """Put ones in the place of the second copy's outputs."""
        if module not in self.gates:
            return output
        self.ungated = module, None, output
        return torch.stack([output[0], torch.ones_like(output[0])])

    def project(self, _projection: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Compare what the projection reads of the two."""
        if self.ungated is None or not args or args[0].numel() != self.ungated[2].numel():
            return None
        (module, _, output), self.ungated = self.ungated, None
        read, gate = args[0].reshape(output.shape).float()
        close = CLOSE.get(output.dtype, ROUGH)
        product = torch.allclose(read, gate * output[0].float(), rtol=close, atol=close**2)
        passes = product and bool((gate >= 0).all() and (gate <= 1).all() and (gate < 1).any())
        self.gated[module] = passes and self.gated.get(module, True)
        return (args[0][:1].expand_as(args[0]), *args[1:])


def _between(model: Model) -> ModelError:
    return ModelError(
        f"the heads of {model.name} pass through something else (such as a norm) before their "
        "output projection, so what a head adds for each key is not a product of its weights and "
        "values",
        hint="choose another model, or measures of attention maps alone",
    )
