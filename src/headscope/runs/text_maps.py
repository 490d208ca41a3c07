"""One text: its maps, of tokens or of words, with the classes of their patterns; and its logits,
taken apart into embeddings, heads, biases, MLPs, norms and unembedding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Corpus, Example, surface_words
from headscope.encode import Batch, Encoded, collate
from headscope.encode.template import TEXT
from headscope.errors import UserError, unknown
from headscope.heads import Head
from headscope.measures.gradients import head_parts
from headscope.measures.patterns.network import CLASSES, SHIPPED, load_network, pictures
from headscope.models import LayerView, Model, OutputListener
from headscope.models.stream import Call, Stream, StreamLayer, find_stream, recording
from headscope.results import TextAttention

if TYPE_CHECKING:
    from headscope.runs.looking import AttentionOptions, StreamOptions


Maps = NDArray[np.float32]
UNLIMITED = 10**6
"""The largest number of tokens for a model without a limit."""


def text_attention(
    model: Model, texts: tuple[str, ...], options: AttentionOptions
) -> TextAttention:
    """What :func:`headscope.attention` returns."""
    stack = options.stack or model.main_stack()
    shape = model.shape(stack)
    chosen = shape.every_head if options.heads is None else shape.parse(options.heads)
    encoded = encode_text(model, texts, stack, options.max_length)
    tokens = token_names(model, encoded)
    special = encoded.kind != TEXT
    groups: Maps | None = None
    if options.words:
        groups, tokens, special = word_groups(encoded, tokens)
    weights, layers, numbers = head_maps(model, encoded, stack, chosen, groups)
    return TextAttention.build(
        weights,
        tokens=tokens,
        special=special.tolist(),
        model=model.name,
        layers=[layer + 1 for layer in layers],
        heads=[number + 1 for number in numbers],
        shape=(shape.layers, shape.heads),
        numbers=shape.labels,
        units="words" if options.words else "tokens",
        classes=classify_maps(weights, options.network) if options.patterns else None,
    )


def classify_maps(
    maps: Maps, network: str | Path | None = None
) -> tuple[NDArray[np.object_], NDArray[np.float32]]:
    """The pattern class of every map, and the probability that the network gives to it.

    Both are (layer, head); see Kovaleva et al. 2019, Section 4.1.
    """
    classifier = load_network(Path(network) if network else SHIPPED)
    with torch.inference_mode():
        scores = [
            torch.softmax(classifier(pictures(torch.from_numpy(np.ascontiguousarray(layer)))), 1)
            for layer in maps
        ]
    shares = torch.stack(scores).numpy()
    return np.array(CLASSES, dtype=object)[shares.argmax(-1)], shares.max(-1)


def token_names(model: Model, encoded: Encoded) -> list[str]:
    """The characters of each token; special tokens by their names."""
    names = model.tokenizer.convert_ids_to_tokens(encoded.ids.tolist())
    return [piece.strip() or name for piece, name in zip(encoded.text, names, strict=True)]


def encode_text(
    model: Model, texts: tuple[str, ...], stack: str, max_length: int | None
) -> Encoded:
    """The tokens; a text that the model cannot take whole is an error unless it may be cut."""
    room = max_length or model.longest or UNLIMITED
    encoder = model.encoder(max_length=room, long="truncate", stack=stack)
    encoded = list(encoder.encode([Example("text", texts)]))
    if not encoded:
        raise UserError(f"the text {texts[0]!r} has no tokens", hint="give at least one word")
    if encoder.counts.truncated and max_length is None:
        raise UserError(
            f"the text has more than {room} tokens, the most that {model.name} takes",
            hint=f"shorten the text, or cut it with max_length={room}",
            command=f"shorten the text, or cut it with --max-length {room}",
        )
    return encoded[0]


def head_maps(
    model: Model, encoded: Encoded, stack: str, chosen: tuple[Head, ...], groups: Maps | None
) -> tuple[Maps, list[int], list[int]]:
    """The maps of the chosen heads, (layer, head, query, key), NaN for others of their layers; and
    which layers and numbers of heads these are.
    """
    layers, numbers = (sorted(set(axis)) for axis in zip(*chosen, strict=True))
    size = len(encoded) if groups is None else len(groups)
    weights = np.full((len(layers), len(numbers), size, size), np.nan, np.float32)

    def listen(view: LayerView) -> None:
        if view.stack != stack:
            return
        for head in chosen:
            if head.layer == view.layer:
                map_ = view.attention[0, head.head].cpu().numpy()
                cell = layers.index(head.layer), numbers.index(head.head)
                weights[cell] = map_ if groups is None else word_weights(map_, groups)

    with torch.inference_mode():
        model.forward(collate([encoded], pad=model.pad), listeners=[listen], stack=stack)
    return weights, layers, numbers


@dataclass(frozen=True)
class TextHeads:
    """One text of a corpus, with what heads make of it.

    Attributes
    ----------
    example
        The text, with its annotation.
    attention
        The maps.
    outputs
        What heads give to the output projection, (layer, head, token, width); None unless asked
        for.
    """

    example: Example
    attention: TextAttention
    outputs: xr.DataArray | None = None


def each_text(model: Model, corpus: Corpus, options: StreamOptions) -> Iterator[TextHeads]:
    """What :func:`headscope.stream` yields."""
    stack = options.stack or model.main_stack()
    shape = model.shape(stack)
    layers = shape.labels if options.layers is None else tuple(dict.fromkeys(options.layers))
    for layer in layers:
        if layer not in shape.labels:
            raise unknown("layer", str(layer), map(str, shape.labels))
    encoder = model.encoder(
        max_length=options.max_length,
        long=options.long,
        stack=stack,
        token_types=options.token_types,
    )
    encoded = iter(encoder.encode(corpus))
    while items := list(islice(encoded, options.batch_size)):
        number_of = {id(item): number for number, item in enumerate(items)}
        texts = {
            number_of[id(item)]: text
            for batch in model.batches(items, size=len(items))
            for item, text in zip(
                batch.items, _batch_heads(model, batch, stack, layers, options.outputs), strict=True
            )
        }
        for number in range(len(items)):
            yield texts.pop(number)


def _batch_heads(
    model: Model, batch: Batch, stack: str, layers: Sequence[int], outputs: bool
) -> Iterator[TextHeads]:
    """The texts of a batch, without padding."""
    shape = model.shape(stack)
    maps: dict[int, Tensor] = {}
    sent: dict[int, Tensor] = {}

    def listen(view: LayerView) -> None:
        if view.stack == stack and view.layer + 1 in layers:
            maps[view.layer + 1] = view.attention.cpu()
            if outputs:
                sent[view.layer + 1] = view.output.float().cpu()

    with torch.inference_mode():
        model.forward(batch, listeners=[listen], stack=stack)
    heads = np.arange(1, shape.heads + 1)
    for row, item in enumerate(batch.items):
        size = len(item)
        attention = TextAttention.build(
            np.stack([maps[layer][row, :, :size, :size].numpy() for layer in layers]),
            tokens=token_names(model, item),
            special=(item.kind != TEXT).tolist(),
            model=model.name,
            layers=layers,
            shape=(shape.layers, shape.heads),
            numbers=shape.labels,
        )
        written = None
        if outputs:
            # (token, head, width) of each layer
            stacked = np.stack([sent[layer][row, :size].numpy() for layer in layers])
            written = xr.DataArray(
                stacked.transpose(0, 2, 1, 3),
                {"layer": list(layers), "head": heads, "token": np.arange(size)},
                ("layer", "head", "token", "width"),
                "outputs",
            )
        yield TextHeads(item.example, attention, written)


def word_groups(encoded: Encoded, tokens: list[str]) -> tuple[Maps, list[str], NDArray[np.bool_]]:
    """Which tokens make up each word; a token outside all words stands for itself.

    Returns the grouping, (word, token), the words, and which of them are special tokens.
    """
    names = surface_words(encoded.example)
    owners: list[tuple[str, int]] = []
    for place, unit in enumerate(encoded.unit.tolist()):
        owners.append(("word", unit) if unit >= 0 else ("token", place))
    units = list(dict.fromkeys(owners))
    groups = np.array([[owner == unit for owner in owners] for unit in units], np.float32)
    shown = [names[place] if kind == "word" else tokens[place] for kind, place in units]
    special = np.array(
        [kind == "token" and encoded.kind[place] != TEXT for kind, place in units], np.bool_
    )
    return groups, shown, special


def word_weights(weights: Maps, groups: Maps) -> Maps:
    """Turn a map between tokens into one between words (Clark et al. 2019, Section 4.1).

    Parameters
    ----------
    weights
        (token, token).
    groups
        (word, token): 1 where the token is a piece of the word.

    Returns
    -------
    numpy.ndarray
        (word, word): summed over the pieces of the attended word, averaged over the pieces of the
        attending one. Rows still sum to 1.

    Examples
    --------
    >>> pieces = np.array([[1, 1, 0], [0, 0, 1]], np.float32)
    >>> weights = np.array([[0.5, 0.3, 0.2], [0, 0, 1], [0.25, 0.25, 0.5]], np.float32)
    >>> print(word_weights(weights, pieces))
    [[0.4 0.6]
     [0.5 0.5]]
    """
    means = groups / groups.sum(1, keepdims=True)
    result: Maps = means @ weights @ groups.T
    return result


HEADS, BIAS, MLP, LAYER = "head", "attention bias", "MLP", "layer"
EMBEDDINGS, NORM_BIAS, UNEMBEDDING = "embeddings", "norm bias", "unembedding bias"


def parts_of_logits(model: Model, texts: tuple[str, ...], max_length: int | None) -> xr.DataArray:
    """What :func:`headscope.logit_parts` returns."""
    stack = model.main_stack()
    stream = find_stream(model, stack)
    encoded = encode_text(model, texts, stack, max_length)
    if len(encoded) < 2:
        raise UserError(
            f"the text {texts[0]!r} has one token, and no next one", hint="give a longer text"
        )
    return _labelled(model, encoded, _Parts(model, stream, stack, encoded))


class _Parts:
    """Computes the parts, (token,) each, of the tokens that have a next one."""

    def __init__(self, model: Model, stream: Stream, stack: str, encoded: Encoded) -> None:
        self.stream = stream
        self.calls, self.heads = _pass(model, stream, stack, encoded)
        targets = torch.from_numpy(encoded.ids[1:])
        self.targets = targets.to(stream.weight.device)
        self.after = stream.directions(targets)  # after the last norm
        self.before = stream.norm.direction(self.after)
        self.inverse = self._inverse(stream.norm.module)

    def _inverse(self, module: torch.nn.Module) -> Tensor:
        """``1 / σ`` of the last norm."""
        call = self.calls[module]
        return self.stream.norm.inverse(call.read, call.wrote)[0, :-1]

    def written(self, vectors: Tensor) -> Tensor:
        """The part of what is added to the stream, (token, hidden) or (hidden,)."""
        return (vectors.float() * self.before).sum(-1) * self.inverse

    def all(self) -> dict[str, tuple[str, Tensor]]:
        """Every part with its kind, by name."""
        calls, layers = self.calls, self.stream.layers
        start = calls[layers[0].block].read[0, :-1]
        parts = {EMBEDDINGS: (EMBEDDINGS, self.written(start))}
        for number, layer in enumerate(layers):
            parts |= self._layer(number, layer)
        parts[NORM_BIAS] = (NORM_BIAS, (self.after * self.stream.norm.shift).sum(-1))
        if self.stream.bias is not None:
            parts[UNEMBEDDING] = (UNEMBEDDING, self.stream.bias[self.targets])
        return parts

    def _layer(self, number: int, layer: StreamLayer) -> dict[str, tuple[str, Tensor]]:
        """The parts of one layer."""
        calls, name = self.calls, number + 1
        if layer.attention is None or layer.mlp is None or layer.output is None:
            call = calls[layer.block]
            whole = call.wrote[0, :-1].float() - call.read[0, :-1].float()
            return {f"{LAYER} {name}": (LAYER, self.written(whole))}
        heads = head_parts(self.heads[layer.attention][:, :-1], layer, self.before[None])[0]
        bias = getattr(layer.output, "bias", None)
        added = torch.zeros_like(self.before[0]) if bias is None else bias.detach().float()
        if layer.after is not None:
            call = calls[layer.after.module]
            inverse = layer.after.inverse(call.read, call.wrote)[0, :-1]
            heads = heads * inverse[:, None]
            added = layer.after.apply(added.expand_as(self.before), inverse) + layer.after.shift
        parts = {
            str(Head(number, head)): (HEADS, heads[:, head] * self.inverse)
            for head in range(heads.shape[1])
        }
        mlp = calls[layer.mlp].wrote.reshape(calls[layer.block].wrote.shape)[0, :-1]
        parts[f"{BIAS} {name}"] = (BIAS, self.written(added))
        parts[f"{MLP} {name}"] = (MLP, self.written(mlp))
        return parts


def _pass(
    model: Model, stream: Stream, stack: str, encoded: Encoded
) -> tuple[dict[torch.nn.Module, Call], dict[torch.nn.Module, Tensor]]:
    """What one pass gives: calls of modules, and outputs of heads by attention module."""
    modules: list[torch.nn.Module] = [stream.norm.module, stream.unembedding]
    for layer in stream.layers:
        after = None if layer.after is None else layer.after.module
        modules += [module for module in (layer.block, after, layer.mlp) if module is not None]
    heads: dict[torch.nn.Module, Tensor] = {}

    def note(view: LayerView) -> None:
        if view.stack == stack:
            heads[view.module] = view.output.float()

    batch = collate([encoded], pad=model.pad)
    with recording(dict.fromkeys(modules)) as calls, torch.inference_mode():
        model.forward(batch, listeners=[OutputListener(note)], stack=stack)
    return calls, heads


def _labelled(model: Model, encoded: Encoded, parts: _Parts) -> xr.DataArray:
    """The parts with their names, and the logits as the model computed them."""
    by_name = parts.all()
    logits = parts.calls[parts.stream.unembedding].wrote[0, :-1].float()
    centred = logits.gather(-1, parts.targets[:, None])[:, 0] - logits.mean(-1)
    tokens = token_names(model, encoded)
    return xr.DataArray(
        np.stack([part.cpu().numpy() for _, part in by_name.values()], 1),
        dims=("token", "part"),
        coords={
            "token": np.arange(1, len(tokens)),
            "part": np.array(list(by_name), dtype=object),
            "text": ("token", np.array(tokens[:-1], dtype=object)),
            "next": ("token", np.array(tokens[1:], dtype=object)),
            "logit": ("token", centred.cpu().numpy()),
            "kind": ("part", np.array([kind for kind, _ in by_name.values()], dtype=object)),
        },
        name="logit_parts",
        attrs={"unit": "logits", "model": model.label},
    )
