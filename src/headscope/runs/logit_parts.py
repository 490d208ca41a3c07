"""All parts of the logits of one text: embeddings, heads, biases, MLPs, norms, unembedding."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.encode import Encoded, collate
from headscope.errors import UserError
from headscope.heads import Head
from headscope.measures.gradients import head_parts
from headscope.models import LayerView, Model, OutputListener
from headscope.models.stream import Call, Stream, StreamLayer, find_stream, recording
from headscope.runs.text_maps import encode_text, token_names

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


@dataclass
class _Run:
    """What one pass gave: calls of modules, and outputs of heads by attention module."""

    calls: dict[torch.nn.Module, Call]
    heads: dict[torch.nn.Module, Tensor] = field(default_factory=dict)


class _Parts:
    """Computes the parts, (token,) each, of the tokens that have a next one."""

    def __init__(self, model: Model, stream: Stream, stack: str, encoded: Encoded) -> None:
        self.stream = stream
        self.run = _pass(model, stream, stack, encoded)
        targets = torch.from_numpy(encoded.ids[1:])
        self.targets = targets.to(stream.weight.device)
        self.after = stream.directions(targets)  # after the last norm
        self.before = stream.norm.direction(self.after)
        self.inverse = self._inverse(stream.norm.module)

    def _inverse(self, module: torch.nn.Module) -> Tensor:
        """``1 / σ`` of the last norm."""
        call = self.run.calls[module]
        return self.stream.norm.inverse(call.given, call.made)[0, :-1]

    def written(self, vectors: Tensor) -> Tensor:
        """The part of what is added to the stream, (token, hidden) or (hidden,)."""
        return (vectors.float() * self.before).sum(-1) * self.inverse

    def all(self) -> dict[str, tuple[str, Tensor]]:
        """Every part with its kind, by name."""
        calls, layers = self.run.calls, self.stream.layers
        start = calls[layers[0].block].given[0, :-1]
        found = {EMBEDDINGS: (EMBEDDINGS, self.written(start))}
        for number, layer in enumerate(layers):
            found |= self._layer(number, layer)
        shift = self.stream.norm.shift
        found[NORM_BIAS] = (NORM_BIAS, (self.after * shift).sum(-1))
        if self.stream.bias is not None:
            found[UNEMBEDDING] = (UNEMBEDDING, self.stream.bias[self.targets])
        return found

    def _layer(self, number: int, layer: StreamLayer) -> dict[str, tuple[str, Tensor]]:
        """The parts of one layer."""
        calls, name = self.run.calls, number + 1
        if layer.attention is None or layer.mlp is None or layer.output is None:
            call = calls[layer.block]
            whole = call.made[0, :-1].float() - call.given[0, :-1].float()
            return {f"{LAYER} {name}": (LAYER, self.written(whole))}
        heads = head_parts(self.run.heads[layer.attention][:, :-1], layer, self.before[None])[0]
        bias = getattr(layer.output, "bias", None)
        added = torch.zeros_like(self.before[0]) if bias is None else bias.detach().float()
        if layer.after is not None:
            call = calls[layer.after.module]
            inverse = layer.after.inverse(call.given, call.made)[0, :-1]
            heads = heads * inverse[:, None]
            added = layer.after.apply(added.expand_as(self.before), inverse) + layer.after.shift
        parts = {
            str(Head(number, head)): (HEADS, heads[:, head] * self.inverse)
            for head in range(heads.shape[1])
        }
        mlp = calls[layer.mlp].made.reshape(calls[layer.block].made.shape)[0, :-1]
        parts[f"{BIAS} {name}"] = (BIAS, self.written(added))
        parts[f"{MLP} {name}"] = (MLP, self.written(mlp))
        return parts


def _pass(model: Model, stream: Stream, stack: str, encoded: Encoded) -> _Run:
    modules: list[torch.nn.Module] = [stream.norm.module, stream.unembedding]
    for layer in stream.layers:
        after = None if layer.after is None else layer.after.module
        modules += [one for one in (layer.block, after, layer.mlp) if one is not None]
    heads: dict[torch.nn.Module, Tensor] = {}

    def note(view: LayerView) -> None:
        if view.stack == stack:
            heads[view.module] = view.output.float()

    batch = collate([encoded], pad=model.pad)
    with recording(dict.fromkeys(modules)) as calls, torch.inference_mode():
        model.forward(batch, listeners=[OutputListener(note)], stack=stack)
    return _Run(calls, heads)


def _labelled(model: Model, encoded: Encoded, parts: _Parts) -> xr.DataArray:
    """The parts with their names, and the logits as the model computed them."""
    found = parts.all()
    logits = parts.run.calls[parts.stream.unembedding].made[0, :-1].float()
    centred = logits.gather(-1, parts.targets[:, None])[:, 0] - logits.mean(-1)
    tokens = token_names(model, encoded)
    values = [part.cpu().numpy() for _, part in found.values()]
    return xr.DataArray(
        np.stack(values, 1),
        dims=("token", "part"),
        coords={
            "token": np.arange(1, len(tokens)),
            "part": np.array(list(found), dtype=object),
            "text": ("token", np.array(tokens[:-1], dtype=object)),
            "next": ("token", np.array(tokens[1:], dtype=object)),
            "logit": ("token", centred.cpu().numpy()),
            "kind": ("part", np.array([kind for kind, _ in found.values()], dtype=object)),
        },
        name="logit_parts",
        attrs={"unit": "logits", "model": model.label},
    )
