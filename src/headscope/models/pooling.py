"""One vector a text: of chosen heads or of a layer, at [CLS], at the last token, or the mean over tokens (J1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch, Encoded, batches
from headscope.encode.template import START, find_template, special_kind
from headscope.errors import ModelError, UserError, unknown
from headscope.models.view import LayerView

if TYPE_CHECKING:
    from headscope.models.model import Model

POSITIONS = ("cls", "last", "mean")
"""The first token of every text, the last real one, or the mean over all real ones."""
POOLING = "headscope-pooling.json"
MODULES = "modules.json"
MODULE = "headscope.sentences.HeadVectors"
LONGEST = 512


@dataclass(frozen=True)
class Pooling:
    """What of a model makes a text's vector: the outputs of some heads, one after the other, or the hidden state after a layer (without either, after the last).

    Layers and heads count from 0. An empty position is the one that fits the model, see :func:`fitting_position`.

    >>> Pooling(heads=((2, 8), (3, 0))).title, Pooling(layer=4).title
    ('heads 3-9, 4-1', 'layer 5')
    """

    heads: tuple[tuple[int, int], ...] = ()
    layer: int | None = None
    position: str = ""

    def __post_init__(self) -> None:
        if self.heads and self.layer is not None:
            raise UserError(
                "a vector is of heads or of a layer, not of both", hint="give one of them"
            )
        if self.position and self.position not in POSITIONS:
            raise unknown("position", self.position, POSITIONS)
        if len(set(self.heads)) < len(self.heads):
            raise UserError(f"every head can be taken once, got {self.title} instead")

    @property
    def title(self) -> str:
        """In words, counted from 1."""
        if self.heads:
            return "heads " + ", ".join(f"{layer + 1}-{head + 1}" for layer, head in self.heads)
        return "last layer" if self.layer is None else f"layer {self.layer + 1}"

    def fit(self, model: Model) -> Pooling:
        """With everything said that was left open; heads and layers that the model does not have are an error."""
        stack = model.main_stack()
        shape = model.shape(stack)
        for layer, head in self.heads:
            if not (0 <= layer < shape.layers and 0 <= head < shape.heads):
                raise ModelError(
                    f"{model.name} has no head {layer + 1}-{head + 1}; its heads go from 1-1 to {shape.layers}-{shape.heads}"
                )
        layer_ = self.layer if self.heads or self.layer is not None else shape.layers - 1
        if layer_ is not None and not 0 <= layer_ < shape.layers:
            raise ModelError(
                f"{model.name} has no layer {layer_ + 1}; its layers go from 1 to {shape.layers}"
            )
        return Pooling(self.heads, layer_, known_position(model, stack, self.position))

    def width(self, model: Model) -> int:
        """How many numbers a vector has. That of a layer is tried out: OPT's last one may be narrower than the others."""
        if self.heads:
            return len(self.heads) * model.shape(model.main_stack()).width
        ids = np.zeros((1, 2), np.int64)
        with torch.inference_mode():
            return int(pooled(model, Batch(0, (), ids, ids, ids == 0), self).shape[1])

    def write(self, folder: Path) -> Path:
        """Keep it beside a model's weights."""
        path = folder / POOLING
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, folder: Path) -> Pooling | None:
        """What :meth:`write` kept in a folder, or None."""
        path = folder / POOLING
        if not path.is_file():
            return None
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes(), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            why = (
                f"{where}: {first['msg']}"
                if where
                else first["msg"].removeprefix("Value error, ").partition("\n")[0]
            )
            raise ModelError(
                f"{path} is not a pooling: {why}",
                hint="put it right (heads are pairs of layer and head from 0), or delete it to take the last layer",
            ) from None
        except OSError as error:
            raise ModelError(
                f"{path} cannot be read: {error}", hint="check who may read it"
            ) from None


def write_modules(folder: Path) -> Path:
    """Tell sentence-transformers that the vectors of this checkpoint are made by :class:`headscope.sentences.HeadVectors`."""
    path = folder / MODULES
    path.write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "", "type": MODULE}], indent=2) + "\n",
        encoding="utf-8",
    )
    return path


def known_position(model: Model, stack: str, asked: str) -> str:
    """The position that was asked for, if the model has it, or else the one that fits it."""
    if asked and asked not in POSITIONS:
        raise unknown("position", asked, POSITIONS)
    if asked == "cls" and model.causal(stack):
        raise UserError(
            f"the first token of {model.name} sees nothing of the text, for it is a causal model; its position must be last or mean",
            hint="leave --position out",
        )
    return asked or fitting_position(model, stack)


def fitting_position(model: Model, stack: str) -> str:
    """Where a model's sentence vector is: the last token of a causal model; the first, if every text begins with a token made for it; else the mean."""
    if model.causal(stack):
        return "last"
    first = find_template(model.tokenizer).one[0].token
    return "cls" if first is not None and special_kind(model.tokenizer, first) == START else "mean"


def take(values: Tensor, mask: Tensor, position: str) -> Tensor:
    """The position's value of every text: (batch, token, …) to (batch, …). ``mask`` is true on real tokens; padding is on the right."""
    if position == "cls":
        return values[:, 0]
    if position == "last":
        return values[torch.arange(len(values), device=values.device), mask.sum(1) - 1]
    real = mask.reshape(*mask.shape, *[1] * (values.dim() - 2))
    total = values.masked_fill(~real, 0.0).sum(
        1, dtype=torch.promote_types(values.dtype, torch.float32)
    )  # half precision would overflow on long texts
    return (total / real.sum(1)).to(values.dtype)


def layer_states(output: Any) -> tuple[Tensor, ...]:
    """The hidden states after each layer of the stack that was run, from a network's output with ``output_hidden_states=True``."""
    found = getattr(output, "hidden_states", None) or getattr(output, "decoder_hidden_states", None)
    if not found:
        raise ModelError(
            f"{type(output).__name__} has no hidden states", hint="choose heads instead of a layer"
        )
    return tuple(found[1:])


def pooled(model: Model, batch: Batch, pooling: Pooling) -> Tensor:
    """The vectors of a batch, (text, width). Gradients flow where they are enabled; ``pooling`` has been fitted to the model."""
    stack = model.main_stack()
    mask = torch.from_numpy(batch.mask).to(model.device)
    if not pooling.heads:
        output = model.forward(batch, stack=stack, output_hidden_states=True)
        return take(
            layer_states(output)[pooling.layer if pooling.layer is not None else -1],
            mask,
            pooling.position,
        )
    found: dict[tuple[int, int], Tensor] = {}

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            for layer, head in pooling.heads:
                if layer == view.layer:
                    found[layer, head] = take(view.output[:, :, head], mask, pooling.position)

    model.forward(batch, stack=stack, listeners=[listen])
    return torch.cat([found[head] for head in pooling.heads], 1)


def sentence_vectors(
    model: Model,
    sentences: Sequence[str | tuple[str, str]],
    pooling: Pooling,
    *,
    batch_size: int = 32,
    max_length: int | None = None,
) -> NDArray[np.float32]:
    """One vector a sentence (or pair), in their order."""
    pooling = pooling.fit(model)
    encoded = encode_sentences(
        model, sentences, longest(model) if max_length is None else max_length
    )
    vectors = np.zeros((len(sentences), pooling.width(model)), np.float32)
    for batch in batches(encoded, size=batch_size, pad=model.pad):
        with torch.inference_mode():
            vectors[[int(item.example.id) for item in batch.items]] = (
                pooled(model, batch, pooling).float().cpu().numpy()
            )
    return vectors


def longest(model: Model) -> int:
    """How many tokens of a sentence are read unless something else is asked for."""
    return min(model.longest or LONGEST, LONGEST)


def encode_sentences(
    model: Model, sentences: Sequence[str | tuple[str, str]], max_length: int
) -> Iterator[Encoded]:
    """The tokens of every sentence (or pair), in their order, cut at ``max_length``. One without any token has no vector: an error."""
    if isinstance(sentences, str):
        raise UserError(
            "sentences must be a list, got one text instead", hint="put it into a list: [text]"
        )
    encoder = model.encoder(max_length=max_length, long="truncate", stack=model.main_stack())
    for place, sentence in enumerate(sentences):
        example = Example(str(place), (sentence,) if isinstance(sentence, str) else tuple(sentence))
        found = list(encoder.encode([example])) if "".join(example.texts).strip() else []
        if not found:
            raise UserError(
                f"sentence {place + 1} has no text that {model.name} can read, and so no vector; got {sentence!r}",
                hint="leave such sentences out",
            )
        yield found[0]
