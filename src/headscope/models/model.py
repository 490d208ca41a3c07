"""A loaded model: its network, tokenizer and shape, and forward passes that can be watched."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from headscope.encode import Batch, Encoder
from headscope.errors import ModelError, unknown
from headscope.models.attention import Watch, watching
from headscope.models.pooling import Pooling, sentence_vectors
from headscope.models.replacement import Replacement
from headscope.models.view import LayerView, Listener

CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)


@dataclass(frozen=True)
class Shape:
    """How many layers a stack has, how many heads in each, and how wide a head's output is."""

    layers: int
    heads: int
    width: int


@dataclass
class Model:
    """A transformer ready to be observed. Made by :func:`headscope.load`."""

    name: str
    network: Any
    tokenizer: Any
    revision: str = ""
    notes: list[str] = field(default_factory=list)
    pooling: Pooling = field(default_factory=Pooling)

    def __post_init__(self) -> None:
        self.network.eval()
        self._stacks = stack_names(self.network)
        self.shapes = self._look()

    @property
    def config(self) -> Any:
        """The model's configuration."""
        return self.network.config

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return torch.device(next(self.network.parameters()).device)

    @cached_property
    def stacks(self) -> tuple[str, ...]:
        """The names of its stacks: encoder, decoder, cross."""
        return tuple(self.shapes)

    @property
    def encoder_decoder(self) -> bool:
        """Whether it has an encoder and a decoder."""
        return bool(getattr(self.config, "is_encoder_decoder", False))

    def shape(self, stack: str) -> Shape:
        """The shape of one stack."""
        if stack not in self.shapes:
            raise unknown(f"stack of {self.name}", stack, self.shapes, error=ModelError)
        return self.shapes[stack]

    def main_stack(self) -> str:
        """The stack that is surveyed unless another is asked for: the encoder if there is one."""
        return "encoder" if "encoder" in self.shapes else "decoder"

    def causal(self, stack: str) -> bool:
        """Whether a token of this stack sees only itself and what is before it."""
        return stack == "decoder"

    @property
    def capabilities(self) -> frozenset[str]:
        """What the model offers to measures besides attention: "lm" if it has a language-model head."""
        return (
            frozenset({"lm"})
            if re.search(r"For(Masked|Causal)LM$|LMHead", type(self.network).__name__)
            else frozenset()
        )

    @property
    def pad(self) -> int:
        """The id that fills up a batch (it is masked: any will do)."""
        return int(self.tokenizer.pad_token_id or 0)

    @property
    def digest(self) -> str:
        """A short digest of the bytes of all weights, so that results say exactly which model they are of, whatever the device or number of threads."""
        digest = hashlib.sha256()
        for name, value in self.network.named_parameters():
            digest.update(f"{name}:{tuple(value.shape)}:{value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()[:16]

    def identity(self, stack: str) -> dict[str, Any]:
        """Everything of the model that the numbers of a stack depend on: what is kept on disk is named after it."""
        config = {
            key: value
            for key, value in self.config.to_dict().items()
            if key not in {"_name_or_path", "transformers_version"}
        }
        return {
            "weights": self.digest,
            "dtype": str(self.network.dtype),
            "config": config,
            "tokenizer": self.tokenizer.backend_tokenizer.to_str(),
            "stack": stack,
        }

    @cached_property
    def longest(self) -> int | None:
        """The most tokens the model takes, or None if nothing limits it."""
        limits = [
            value
            for value in (_positions(self.network), self.tokenizer.model_max_length)
            if value and value < 10**6
        ]
        return min(limits, default=None)

    def encoder(
        self, *, max_length: int, long: str, stack: str, token_types: bool = True
    ) -> Encoder:
        """An encoder of examples for one stack; a decoder beside an encoder sees its start token first."""
        if self.longest is not None and max_length > self.longest:
            raise ModelError(
                f"the maximum length must be at most {self.longest} for {self.name}, got {max_length} instead",
                hint=f"give --max-length {self.longest}",
            )
        start = self._start() if self.encoder_decoder and stack == "decoder" else None
        return Encoder(
            self.tokenizer, max_length=max_length, long=long, start=start, token_types=token_types
        )

    def forward(
        self,
        batch: Batch,
        *,
        listeners: Sequence[Listener] = (),
        replacement: Replacement | None = None,
        stack: str = "",
        first: Mapping[str, int] | None = None,
        **extra: Any,
    ) -> Any:
        """Run the network on a batch, telling listeners of each layer. ``stack`` says whose tokens the batch holds (a decoder's, or the default).

        ``first`` is the number that each stack's first layer gets, where a :class:`LayerCache` leaves out those below it.
        """
        if replacement is not None:
            self._check_heads(replacement)
        inputs = self._inputs(batch, stack)
        network = self.network
        if (
            self.encoder_decoder and stack == "encoder"
        ):  # nothing is asked of the decoder: leave it out
            network = self.network.get_encoder()
            inputs = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        mask = torch.from_numpy(batch.mask).to(self.device)
        with watching(Watch(self._stacks, listeners, replacement, mask, first)):
            return network(**inputs, **extra)

    def encode(
        self,
        sentences: Sequence[str | tuple[str, str]],
        *,
        pooling: Pooling | None = None,
        batch_size: int = 32,
        max_length: int | None = None,
    ) -> NDArray[np.float32]:
        """One vector a sentence (or pair of sentences), in their order: of the heads or the layer that the model was tuned with, or of its last layer."""
        return sentence_vectors(
            self, sentences, pooling or self.pooling, batch_size=batch_size, max_length=max_length
        )

    def _check_heads(self, replacement: Replacement) -> None:
        """A head that does not exist would silently stay as it is."""
        shapes = (
            [self.shape(replacement.stack)] if replacement.stack else list(self.shapes.values())
        )
        for layer, heads in replacement.heads.items():
            for head in sorted(heads):
                if not any(
                    0 <= layer < shape.layers and 0 <= head < shape.heads for shape in shapes
                ):
                    raise ModelError(
                        f"{self.name} has no head {layer + 1}-{head + 1}; its heads go from 1-1 to {shapes[0].layers}-{shapes[0].heads}",
                        hint="count layers and heads from 0 in a Replacement",
                    )

    def _inputs(self, batch: Batch, stack: str) -> dict[str, Any]:
        ids = torch.from_numpy(batch.ids).to(self.device)
        mask = torch.from_numpy(batch.mask).long().to(self.device)
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        accepted = inspect.signature(self.network.forward).parameters
        if "token_type_ids" in accepted and getattr(self.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = torch.from_numpy(batch.types).to(self.device)
        if "use_cache" in accepted:
            inputs["use_cache"] = False
        if self.encoder_decoder:
            if (
                stack == "decoder"
            ):  # the batch already begins with the start token; the encoder reads the text without it
                inputs.update(
                    decoder_input_ids=ids,
                    decoder_attention_mask=mask,
                    input_ids=ids[:, 1:],
                    attention_mask=mask[:, 1:],
                )
            else:
                start = torch.full_like(ids[:, :1], self._start())
                inputs.update(
                    decoder_input_ids=torch.cat([start, ids[:, :-1]], 1),
                    decoder_attention_mask=mask,
                )
        return inputs

    def _start(self) -> int:
        start = getattr(self.config, "decoder_start_token_id", None)
        return int(start if start is not None else self.tokenizer.pad_token_id or 0)

    def _look(self) -> dict[str, Shape]:
        """One forward pass over three tokens shows which layers and heads there are, and that we see them at all."""
        seen: dict[str, list[tuple[int, int]]] = {}

        def listen(view: LayerView) -> None:
            seen.setdefault(view.stack, []).append((view.heads, view.output.shape[-1]))

        ids = torch.zeros((1, 3), dtype=torch.long).numpy()
        probe = Batch(0, (), ids, ids, ids == 0)
        try:
            with torch.inference_mode():
                self.forward(probe, listeners=[listen])
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise ModelError(
                f"{self.name} cannot be run on text: {type(error).__name__}: {error}",
                hint="Headscope reads text transformers; see the docs, 'Supported models'",
            ) from error
        if not seen:
            raise no_attention(self.name, self.network)
        for stack, layers in seen.items():
            if len(set(layers)) > 1:
                raise ModelError(
                    f"the layers of {self.name}'s {stack} have different numbers of heads, {sorted({heads for heads, _ in layers})}, which is not supported"
                )
        return {stack: Shape(len(layers), *layers[0]) for stack, layers in seen.items()}


SUPPORTED = "BERT, RoBERTa, XLM-R, ELECTRA, ALBERT, DistilBERT, ModernBERT, MPNet, GPT, GPT-2, OPT, GPT-NeoX, Llama, Qwen, Gemma, T5, BART and others that use transformers' attention interface"


def no_attention(name: str, network: nn.Module) -> ModelError:
    """The error for a model whose attention cannot be seen."""
    kind = type(network).__name__
    has = any("attention" in type(module).__name__.lower() for module in network.modules())
    why = "computes attention privately, and has no adapter" if has else "has no attention layers"
    return ModelError(
        f"{name} ({kind}) {why}; supported are {SUPPORTED}",
        hint="choose another model, or ask for an adapter in an issue",
    )


def stack_names(network: nn.Module) -> dict[nn.Module, str]:
    """The stack that each module belongs to, by its name: cross, decoder or encoder. Keyed by module, not id, so that a copy of a model finds its own."""
    config: Any = network.config
    both = bool(getattr(config, "is_encoder_decoder", False))
    alone = "decoder" if is_causal(network) else "encoder"
    names: dict[nn.Module, str] = {}
    for name, module in network.named_modules():
        if CROSS.search(
            name.rsplit(".", 2)[-1] if "." not in name else ".".join(name.split(".")[-2:])
        ):
            names[module] = "cross"
        elif both:
            names[module] = "decoder" if re.search(r"(^|\.)decoder(\.|$)", name) else "encoder"
        else:
            names[module] = alone
    return names


def is_causal(network: nn.Module) -> bool:
    """Whether a model of one stack is a decoder: its attention says so, or its family is one."""
    config: Any = network.config
    if getattr(config, "is_decoder", False) or config.model_type == "openai-gpt":
        return True
    flags = [
        module.is_causal
        for module in network.modules()
        if isinstance(getattr(module, "is_causal", None), bool)
        and "ttention" in type(module).__name__
    ]
    return bool(flags) and all(flags)


def _positions(network: nn.Module) -> int | None:
    """How many positions the model knows; RoBERTa's first ones are taken by padding."""
    config: Any = network.config
    limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if limit is None or config.model_type in {"t5", "mt5", "umt5"}:
        return None
    if config.model_type in {
        "roberta",
        "xlm-roberta",
        "camembert",
        "mpnet",
        "xlm-roberta-xl",
        "xmod",
    }:
        limit -= (config.pad_token_id or 0) + 1
    return int(limit)
