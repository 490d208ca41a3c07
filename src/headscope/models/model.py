"""A loaded model: its network, tokenizer and shape, and forward passes that can be observed.

Below it: who it is (digests), a card for notebooks, and how it travels to other processes.
"""

from __future__ import annotations

import copyreg
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import PreTrainedModel
from transformers.utils import output_capturing

from headscope.encode import Batch, Bos, Encoded, Encoder, batches, check_bos, check_chat
from headscope.encode.cross import CrossEncoder, key_batch
from headscope.errors import ModelError, unknown
from headscope.heads import HeadsLike
from headscope.identity import code_digest, compact, differences, listed
from headscope.models.attach import Observation, check_source, register
from headscope.models.forward import find_shapes, run_network, start_token
from headscope.models.names import model_label
from headscope.models.observe import Listener, Watch
from headscope.models.pooling import Pooling, choose_pooling
from headscope.models.replace import FittedReplacement, Replacement, StackedReplacement
from headscope.models.shape import (
    PADDING_NOTE,
    SINK_NOTE,
    Shape,
    position_limit,
    stack_names,
    text_config,
)
from headscope.models.vectors import sentence_vectors

UNLIMITED = 10**6
"""Tokenizers without a limit name a huge one."""
PLACES = frozenset({"name_or_path", "base_model_name_or_path", "is_local", "local_files_only"})
MADE_BY = frozenset({"transformers_version", "peft_version", "revision", "inference_mode"})
# Where something was found, and what wrote it, changes no number.
KEPT_STATE = frozenset({"version", "truncation", "padding"})
# A tokenizer keeps how it was last called; texts are always cut and padded by Headscope itself.


@dataclass
class Model:
    """A transformer that can be observed. Made by :func:`headscope.load` or :func:`headscope.wrap`.

    The network is under observation until :meth:`close`, or until the end of a ``with`` block; see
    :func:`headscope.wrap` for what that changes.

    Parameters
    ----------
    name
        What the user typed, for display: a hub id, a folder, or a name for a wrapped network. For
        provenance use :attr:`label`, which has no home folder or user name in it.
    network
        The transformers model.
    tokenizer
        Its fast tokenizer.
    revision
        The commit of a hub model.
    notes
        Remarks on loading that a user should read.
    pooling
        What :meth:`encode` makes vectors of unless told otherwise: what the model was tuned with,
        or else its last layer.
    adapter, quantization
        What was loaded with the weights; see :func:`headscope.load`.
    bos, chat
        How texts are encoded; see :func:`headscope.load`.
    files_digest
        The digest of the files that hold the weights, where some weights are not in memory.
    reload
        Loads the same model again, if it was loaded by its name.

    Attributes
    ----------
    shapes : dict of str to Shape
        The shape of each stack: ``encoder``, ``decoder``, ``cross``.
    neutral_padding : bool
        Whether texts may be padded: what padding holds is seen nowhere in their attention. If it is
        (MobileBERT mixes the embeddings of neighbours), :meth:`batches` are of equal length.
    gates : dict of nn.Module to nn.Module
        The attention modules that multiply the outputs of their heads by a gate, each with its
        output projection.

    Examples
    --------
    >>> import headscope as hs
    >>> with hs.load("demo") as model:
    ...     model.encode(["A dog barked."], heads="3-9,4-1").shape
    (1, 64)
    """

    name: str
    network: Any
    tokenizer: Any
    revision: str = ""
    notes: list[str] = field(default_factory=list)
    pooling: Pooling = field(default_factory=Pooling)
    adapter: str = ""
    quantization: str = ""
    bos: Bos = "keep"
    chat: bool = False
    files_digest: str = ""
    reload: Callable[[], Model] | None = None

    def __post_init__(self) -> None:
        from headscope.models.projections import find_gates

        check_bos(self.bos, self.bos_token, chat=self.chat)
        if self.chat:
            check_chat(self.tokenizer)
        self._observation = Observation(self.name, self.network)
        try:
            self._stacks = stack_names(self.network)
            remarks = check_source(self.name, self.network)
            self.shapes, self.neutral_padding = find_shapes(self, self._stacks)
            self._numbers = {stack: shape.numbers for stack, shape in self.shapes.items()}
            self.gates = find_gates(self, self._stacks)
            if any(shape.sink for shape in self.shapes.values()):
                remarks.append(SINK_NOTE)
            if not self.neutral_padding:
                remarks.append(PADDING_NOTE)
            # A copy has them already.
            self.notes = list(dict.fromkeys([*self.notes, *remarks]))
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return model_text(self)

    def _repr_html_(self) -> str:
        return model_html(self)

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop observing: put the network back as it was before.

        Its training mode and attention implementation are restored and our hooks are removed. If
        another model observes the same network, that happens when the last one is closed. Closing
        twice has no effect; a closed model cannot be run.
        """
        self._observation.close()

    @property
    def closed(self) -> bool:
        """Whether the model has been closed."""
        return self._observation.closed

    @property
    def label(self) -> str:
        """The name for provenance: a hub id, or the last part of a folder's path.

        :attr:`name` stays what the user typed, and may hold a home folder.
        """
        return model_label(self.name)

    @property
    def config(self) -> Any:
        """The network's configuration."""
        return self.network.config

    @property
    def device(self) -> torch.device:
        """Where the weights of the first layer are. Those on disk are computed on the processor."""
        weights = self.network.parameters()
        return next(
            (weight.device for weight in weights if not weight.is_meta), torch.device("cpu")
        )

    @cached_property
    def stacks(self) -> tuple[str, ...]:
        """The names of the stacks: ``encoder``, ``decoder``, ``cross``."""
        return tuple(self.shapes)

    @property
    def encoder_decoder(self) -> bool:
        """Whether the model has an encoder and a decoder."""
        return bool(getattr(self.config, "is_encoder_decoder", False))

    def shape(self, stack: str) -> Shape:
        """The shape of one stack.

        Raises
        ------
        ModelError
            If the model has no such stack.
        """
        if stack not in self.shapes:
            raise unknown(f"stack of {self.name}", stack, self.shapes, error=ModelError)
        return self.shapes[stack]

    def depth(self, stack: str) -> int:
        """The number of all layers of a stack, with or without attention."""
        shape = self.shape(stack)
        if shape.counted:
            return shape.layers
        return int(text_config(self.network).num_hidden_layers)

    @property
    def hidden_size(self) -> int:
        """The width of the hidden states."""
        return int(text_config(self.network).hidden_size)

    def main_stack(self) -> str:
        """The stack that is surveyed by default: the encoder if there is one."""
        return "encoder" if "encoder" in self.shapes else "decoder"

    def causal(self, stack: str) -> bool:
        """Whether a token of this stack sees only itself and earlier tokens."""
        return stack == "decoder"

    @property
    def capabilities(self) -> frozenset[str]:
        """What measures can use besides attention: ``lm`` if there is a language-model head."""
        name = type(self.network).__name__
        named = re.search(r"For(Masked|Causal)LM$|LMHead", name)
        # Models that see or hear, too, have one name for both.
        writes = name.endswith("ForConditionalGeneration") and not self.encoder_decoder
        return frozenset({"lm"}) if named or writes else frozenset()

    @property
    def pad(self) -> int:
        """The token id that fills up a batch. It is masked, so any id will do."""
        return int(self.tokenizer.pad_token_id or 0)

    @property
    def bos_token(self) -> int | None:
        """The beginning-of-sequence token: the tokenizer's, or else that of the configuration."""
        token = self.tokenizer.bos_token_id
        token = getattr(self.config, "bos_token_id", None) if token is None else token
        return token if isinstance(token, int) else None

    @property
    def size(self) -> int:
        """How many bytes the weights take."""
        return sum(value.numel() * value.element_size() for value in self.network.parameters())

    @property
    def digest(self) -> str:
        """A short digest of the bytes of all weights, the same on any device.

        Where some weights are not in memory, it is that of the files which hold them.
        """
        if self.files_digest:
            return self.files_digest
        return weights_digest(self.network)

    def identity(self, stack: str) -> dict[str, Any]:
        """Everything about the model that the numbers of a stack depend on.

        It is part of the provenance of every run and of the key of every cache, so it is small:
        what is long is given as a digest. Nothing in it says where the model was found.
        """
        kind = type(self.network)
        adapters = getattr(self.network, "peft_config", None) or {}
        generation = getattr(self.network, "generation_config", None)
        own = not kind.__module__.startswith("transformers.")
        return {
            "class": kind.__name__,
            **({"code": code_digest(kind)} if own else {}),
            "weights": self.digest,
            "dtype": str(self.network.dtype).removeprefix("torch."),
            "device": self.device.type,
            "config": compact(_public(self.config.to_dict())),
            "ends": compact(getattr(generation, "eos_token_id", None)),
            "adapters": {name: compact(_public(peft.to_dict())) for name, peft in adapters.items()},
            "tokenizer": tokenizer_identity(self.tokenizer),
            "bos": self.bos,
            "chat": self.chat,
            "stack": stack,
        }

    @cached_property
    def longest(self) -> int | None:
        """The largest number of tokens that the model takes, or None if there is no limit."""
        limits = (position_limit(self.network), self.tokenizer.model_max_length)
        return min((value for value in limits if value and value < UNLIMITED), default=None)

    def encoder(
        self, *, max_length: int, long: str, stack: str, token_types: bool = True
    ) -> Encoder:
        """An encoder that turns examples into tokens for one stack.

        Parameters
        ----------
        max_length
            Most tokens of an example, special tokens included.
        long
            What to do with longer examples: ``truncate``, ``split`` or ``drop``.
        stack
            The stack that reads the tokens. A decoder beside an encoder reads its start token
            first; for cross attention see :meth:`cross_encoder`.
        token_types
            Whether the two texts of a pair have different token types.

        Raises
        ------
        ModelError
            If the model does not take as many tokens.
        """
        if self.longest is not None and max_length > self.longest:
            raise ModelError(
                f"the maximum length must be at most {self.longest} for {self.name}, "
                f"got {max_length} instead",
                hint=f"give max_length={self.longest}",
            )
        start = start_token(self) if self.encoder_decoder and stack == "decoder" else None
        return Encoder(
            self.tokenizer,
            max_length=max_length,
            long=long,
            start=start,
            token_types=token_types,
            bos=self.bos,
            bos_token=self.bos_token,
            chat=self.chat,
        )

    def batches(self, encoded: Iterable[Encoded], *, size: int) -> Iterator[Batch]:
        """Cut a stream of examples into batches that the model may run.

        Parameters
        ----------
        encoded
            The examples.
        size
            How many examples a batch has. Where padding is not neutral, a batch may have fewer, all
            of one length.
        """
        return batches(encoded, size=size, pad=self.pad, equal=not self.neutral_padding)

    def cross_encoder(self, *, max_length: int, long: str) -> CrossEncoder:
        """An encoder that turns examples into tokens for cross attention.

        The encoder of the model reads the first text of a pair and the decoder the second, each of
        at most ``max_length`` tokens. A single text goes to both.

        Parameters
        ----------
        max_length, long
            See :meth:`encoder`; texts cannot be split.
        """
        keys, rows = (
            self.encoder(max_length=max_length, long=long, stack=stack)
            for stack in ("encoder", "decoder")
        )
        return CrossEncoder(keys, rows)

    def forward(
        self,
        batch: Batch,
        *,
        listeners: Sequence[Listener] = (),
        replacement: Replacement | FittedReplacement | StackedReplacement | None = None,
        stack: str = "",
        first: Mapping[str, int] | None = None,
        **inputs: Any,
    ) -> Any:
        """Run the network on a batch, and show each layer to the listeners.

        Parameters
        ----------
        batch
            Token ids with their types and mask.
        listeners
            Functions, called in order with a :class:`LayerView` and its whole maps as soon as a
            layer's attention is computed; or objects that take in a block of rows at a time (see
            :class:`~headscope.models.RowListener`), so that no map is held whole.
        replacement
            Heads to disable in this pass.
        stack
            The stack whose tokens the batch holds. ``"encoder"`` runs only the encoder of an
            encoder-decoder; the default runs everything.
        first
            How many layers of each stack a
            :class:`~headscope.models.cache.LayerCache` skips.
        **inputs
            Further arguments of the network's ``forward``, such as ``labels`` or
            ``output_hidden_states=True``.

        Returns
        -------
        The output of the network.

        Raises
        ------
        ModelError
            If the model is closed, or lacks a head that is to be replaced; or if the batch is
            padded and the numbers of the model change with padding.
        """
        self._check_open()
        self._check_padding(batch)
        fitted = None if replacement is None else replacement.fit(self)
        mask = torch.from_numpy(batch.mask).to(self.device)
        returned = inputs.get("output_attentions", getattr(self.config, "output_attentions", False))
        watch = Watch(
            self._stacks,
            listeners,
            fitted,
            mask,
            first,
            whole_maps=bool(returned),
            cached=inputs.get("past_key_values") is not None,
            numbers=self._numbers,
            gates=self.gates,
        )
        output = run_network(self, watch, batch, stack, inputs)
        if (listeners or replacement) and not watch.counts:
            raise ModelError(
                f"the attention of {self.name} is no longer observed: its implementation was "
                f"changed to {self.config._attn_implementation!r} after the model was made",
                hint="wrap the network again: headscope.wrap(model.network, model.tokenizer)",
            )
        return output

    def encode(
        self,
        sentences: Sequence[str | tuple[str, str]],
        *,
        heads: HeadsLike | None = None,
        layer: int | None = None,
        position: str = "",
        pooling: Pooling | None = None,
        batch_size: int = 32,
        max_length: int | None = None,
    ) -> NDArray[np.float32]:
        """Sentence vectors, one row per sentence, in the order given.

        Parameters
        ----------
        sentences
            Texts, or pairs of texts, which are encoded together.
        heads
            Make the vectors of these heads' outputs, one after the other: ``"4-6,5-1"``,
            ``"4-*"``, a :class:`~headscope.heads.Head`, or a list of these.
        layer
            Make the vectors of the hidden states after this layer, counted from 1.
        position
            ``"cls"`` (the first token), ``"last"`` (the last token) or ``"mean"`` (the mean over
            all tokens). The default depends on the model; see
            :func:`~headscope.models.pooling.default_position`.
        pooling
            All of this in one object, instead of ``heads``, ``layer`` and ``position``.
        batch_size
            Sentences per forward pass.
        max_length
            Longer sentences are truncated to this many tokens. The default is 512, or less if the
            model takes less.

        Returns
        -------
        ndarray of float32, (sentence, width)
            Without ``heads``, ``layer`` or ``pooling``, of what the model was tuned with, or else
            of its last layer.

        Examples
        --------
        >>> import headscope as hs
        >>> model = hs.load("demo")
        >>> model.encode(["A dog barked.", "A cat slept."], layer=4, position="mean").shape
        (2, 384)
        """
        chosen = choose_pooling(self.pooling, heads, layer, position, pooling)
        return sentence_vectors(
            self, sentences, chosen, batch_size=batch_size, max_length=max_length
        )

    def _check_padding(self, batch: Batch) -> None:
        if self.neutral_padding or (batch.mask.all() and key_batch(batch).mask.all()):
            return
        raise ModelError(
            f"the batch has texts of different lengths, and the numbers of {self.name} change "
            "with padding",
            hint="make batches of texts of equal length: model.batches(encoded, size=...)",
        )

    def _check_open(self) -> None:
        if self.closed:
            raise ModelError(
                f"{self.name} is closed: its network is as it was before and is not observed",
                hint="load it again, or wrap the network again: "
                "headscope.wrap(model.network, model.tokenizer)",
            )


def weights_digest(network: Any, prefix: str = "") -> str:
    """A short digest of all weights, and of the buffers that are saved with them.

    Parameters
    ----------
    network
        The network.
    prefix
        Put before each name: what a part is called in a larger network.
    """
    digest = hashlib.sha256()
    saved = (
        (f"{place}.{name}" if place else name, value)
        for place, module in network.named_modules()
        for name, value in module._buffers.items()
        if value is not None and name not in module._non_persistent_buffers_set
    )
    for name, value in (*network.named_parameters(), *saved):
        digest.update(f"{prefix}{name}:{tuple(value.shape)}:{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def tokenizer_identity(tokenizer: Any) -> dict[str, Any]:
    """Everything about a tokenizer that tokens depend on: each part of its file, and its options.

    Parameters
    ----------
    tokenizer
        A fast tokenizer of transformers.
    """
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    options = {
        **_public(tokenizer.init_kwargs),
        **tokenizer.special_tokens_map,
        "model_max_length": tokenizer.model_max_length,
        "chat_template": getattr(tokenizer, "chat_template", None),
    }
    return {
        "class": type(tokenizer).__name__,
        **{name: compact(part) for name, part in parts.items() if name not in KEPT_STATE},
        "options": compact({name: value for name, value in options.items() if value is not None}),
    }


def _public(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without those that name a place or a version, in all parts."""
    return {
        str(name): _public(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if name not in PLACES | MADE_BY and not str(name).startswith("_")
        if not str(name).endswith("_file")
    }


HEADS = {
    "ForSequenceClassification": "a class of the text",
    "ForTokenClassification": "a class of each token",
    "ForQuestionAnswering": "where an answer begins and ends",
}
"""What models predict besides tokens, by how the name of their class ends."""


def model_facts(model: Model) -> dict[str, str]:
    """What a reader wants to know of a model first.

    Parameters
    ----------
    model
        Any model.

    Returns
    -------
    dict of str
        Facts in words, by what they are about.

    Examples
    --------
    >>> import headscope as hs
    >>> facts = model_facts(hs.load("demo"))
    >>> facts["heads"], facts["predicts"]
    ('6 layers × 12 heads', 'nothing: loaded without a head')
    """
    weights = list(model.network.parameters())
    dtype = str(model.network.dtype).removeprefix("torch.")
    shapes = [
        f"{shape.layers} layers × {shape.heads} heads"
        + (f" ({stack})" if len(model.shapes) > 1 else "")
        for stack, shape in model.shapes.items()
    ]
    return {
        "architecture": str(getattr(model.config, "model_type", "")),
        "heads": ", ".join(shapes),
        "parameters": f"{sum(value.numel() for value in weights):,}",
        "weights": f"{model.quantization or dtype} on {model.device}",
        "longest text": "no limit" if model.longest is None else f"{model.longest:,} tokens",
        "predicts": predicted(model),
        **({"adapter": model.adapter} if model.adapter else {}),
        **({"notes": " ".join(model.notes)} if model.notes else {}),
    }


def predicted(model: Model) -> str:
    """What a model predicts, in words."""
    if "lm" in model.capabilities:
        return "the next token" if model.causal(model.main_stack()) else "masked tokens"
    name = type(model.network).__name__
    known = [words for ending, words in HEADS.items() if name.endswith(ending)]
    return known[0] if known else "nothing: loaded without a head"


def model_text(model: Model) -> str:
    """A model in one line.

    Examples
    --------
    >>> import headscope as hs
    >>> model_text(hs.load("demo"))
    'Model demo: bert, 6 layers × 12 heads, 22,713,216 parameters, float32 on cpu'
    """
    facts = model_facts(model)
    return (
        f"Model {model.name}: {facts['architecture']}, {facts['heads']}, "
        f"{facts['parameters']} parameters, {facts['weights']}"
    )


def model_html(model: Model) -> str:
    """A model as a small table, with every text escaped."""
    rows = "".join(
        f'<tr><th style="text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in model_facts(model).items()
    )
    return (
        f'<div style="font:13px/20px sans-serif"><b>{escape(model.name)}</b>'
        f'<table style="margin-top:4px">{rows}</table></div>'
    )


@dataclass(frozen=True)
class SentModel:
    """A model as it travels: how to load it again, or itself.

    Parameters
    ----------
    load
        Loads the model where it arrives.
    about
        Everything about it that numbers depend on.
    model
        The model itself, if it was not loaded by its name.
    """

    load: Callable[[], Model] | None
    about: dict[str, Any]
    model: Model | None

    @classmethod
    def of(cls, model: Model) -> SentModel:
        """A model, ready to be sent."""
        if model.reload is None:
            _send_hooks()
            return cls(None, {}, model)
        return cls(model.reload, {"model": model.identity(model.main_stack())}, None)

    def arrived(self) -> Model:
        """The model, where it was sent to.

        Raises
        ------
        ModelError
            If the model cannot be loaded there, or is another one.
        """
        if self.model is not None:
            register()
            _let_record(self.model.network)
            return self.model
        assert self.load is not None
        model = self.load()
        here = {"model": model.identity(model.main_stack())}
        changes = differences(self.about, here, words="{} here, {} there")
        if any(change.startswith("weights: ") for change in changes):
            raise ModelError(
                f"{model.name} has other weights where a worker loads it: they were changed in "
                "memory, or the worker finds another model under this name",
                hint="for changed weights: headscope.wrap(model.network, model.tokenizer)",
            )
        if changes:
            raise ModelError(
                f"{model.name} is another model where a worker loads it: {listed(changes)}",
                hint="leave its files as they are during a run, and start again",
            )
        return model


def _send_hooks() -> None:
    """Let a network travel that was asked for its hidden states.

    transformers then leaves hooks on it, which use a global context variable of its own. Such a
    variable cannot be sent, but that of the other process is the same.
    """
    collector = _collector()
    if collector is not None:
        copyreg.pickle(type(collector), _as_the_collector)


def _let_record(network: nn.Module) -> None:
    """Let a network that was sent return its hidden states.

    transformers notes what a class can record when it makes a network, but none was made here.
    """
    known = getattr(output_capturing, "_CAN_RECORD_REGISTRY", None)
    if known is not None:
        for module in network.modules():
            if isinstance(module, PreTrainedModel):
                known.setdefault(str(type(module)), module._can_record_outputs)


def _as_the_collector(_: Any) -> tuple[Callable[[], Any], tuple[()]]:
    return _collector, ()


def _collector() -> Any:
    return getattr(output_capturing, "_active_collector", None)


class ModelWork:
    """Work with models that is sent to workers: each model travels as a :class:`SentModel`.

    Attributes
    ----------
    made_there : tuple of str
        Attributes that are not sent, because each worker makes its own.
    """

    made_there: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: SentModel.of(value) if isinstance(value, Model) else value
            for name, value in self.__dict__.items()
            if name not in self.made_there
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value.arrived() if isinstance(value, SentModel) else value)
