"""Running a network on a batch of tokens while a watch observes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.encode import Batch, token_batch
from headscope.encode.cross import key_batch
from headscope.errors import ModelError
from headscope.models.observe import LayerView, OutputListener, Watch, watching
from headscope.models.shape import Shape, layer_numbers, queries_per_key, text_config, unobservable

if TYPE_CHECKING:
    from headscope.models.model import Model

ROW_SUM = 0.98
"""Rows that sum to less have lost attention to a sink; half precision rounds by less than this."""
PROBE = 3
"""How many tokens tell the shape of a model."""
LONGEST_PROBE = 512
NEUTRAL = {torch.float32: 1e-3, torch.float64: 1e-3}
"""By how much maps and outputs may differ with what padding holds, relative to the largest: rows of
a batch are rounded a little differently."""
ROUGH = 0.05
"""The same in half precision."""


def run_network(
    model: Model, watch: Watch, batch: Batch, stack: str, inputs: Mapping[str, Any]
) -> Any:
    """Run a model's network on a batch.

    Parameters
    ----------
    model
        The model to run.
    watch
        Observes the pass.
    batch
        Token ids with their types and mask.
    stack
        The stack whose tokens the batch holds. ``"encoder"`` runs only the encoder of an
        encoder-decoder.
    inputs
        Further arguments of the network, which take the place of ours: ``use_cache=True``.

    Returns
    -------
    The output of the network. It is in evaluation mode for the time of the pass: dropout would
    change attention.
    """
    network, arguments = model.network, network_inputs(model, batch, stack)
    if model.encoder_decoder and stack == "encoder":  # the decoder is not needed
        network = model.network.get_encoder()
        arguments = {key: arguments[key] for key in ("input_ids", "attention_mask")}
    with watching(watch), evaluating(model.network):
        return network(**{**arguments, **inputs})


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Put a network into evaluation mode, and the modules that were not back into training mode."""
    training = [module for module in network.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def find_shapes(model: Model, stacks: Mapping[nn.Module, str]) -> tuple[dict[str, Shape], bool]:
    """The shape of each stack, and whether padding is neutral, found by running a few tokens.

    The same text is run with two kinds of padding. Where what padding holds can be seen in the
    text's attention (MobileBERT mixes the embeddings of neighbours), padding is not neutral.

    That also makes sure that attention can be observed at all, and that it is between tokens.

    Parameters
    ----------
    model
        The model to run.
    stacks
        The stack that each module belongs to.

    Raises
    ------
    ModelError
        If the network does not run on text, if no attention is seen, or if the layers of a stack
        have different numbers of heads.
    """
    try:
        try:
            seen = _probe(model, stacks, padded=True)
        except FAILURES:  # classifiers without a padding token take no two texts at once
            seen = _probe(model, stacks, padded=False)
    except ModelError as error:
        raise ModelError(f"{model.name}: {error.message}", hint=error.hint) from None
    except FAILURES as error:
        raise ModelError(
            f"{model.name} cannot be run on text: {type(error).__name__}: {error}",
            hint="choose a text model; the docs list what is supported under 'Supported models'",
        ) from error
    if not seen.layers:
        raise unobservable(model.name, model.network)
    shapes: dict[str, Shape] = {}
    for stack, layers in seen.layers.items():
        modules, heads, widths = zip(*layers, strict=True)
        if len(set(heads)) > 1:
            raise ModelError(
                f"the layers of {model.name}'s {stack} have different numbers of heads, "
                f"{sorted(set(heads))}, which is not supported",
                hint="choose another model",
            )
        _check_calls(model, stack, modules)
        numbers = layer_numbers(model.network, modules)
        sink = seen.least[stack] < ROW_SUM
        kv_heads = tuple(heads[0] // queries_per_key(module) for module in modules)
        shapes[stack] = Shape(len(layers), heads[0], max(widths), numbers, widths, sink, kv_heads)
    return shapes, seen.neutral


FAILURES = (RuntimeError, ValueError, TypeError, IndexError, AttributeError)


def _probe(model: Model, stacks: Mapping[nn.Module, str], *, padded: bool) -> _Layers:
    """Run a text of the same token: alone, or twice with another token of padding each time."""
    length = probe_length(model)
    seen = _Layers(length)
    ids = np.zeros((1 + padded, length + padded), np.int64)
    if padded:
        ids[:, -1] = model.pad, other_token(model)
    mask = np.arange(length + padded) < length
    probe = Batch(0, (), ids, np.zeros_like(ids), np.broadcast_to(mask, ids.shape).copy())
    real = torch.from_numpy(probe.mask).to(model.device)
    with torch.inference_mode():
        run_network(model, Watch(stacks, [seen], None, real), probe, "", {})
    return seen


def probe_layers(model: Model, stack: str) -> list[tuple[nn.Module, int, Tensor]]:
    """The module, the number and the outputs of each layer of a stack, from three tokens."""
    layers: list[tuple[nn.Module, int, Tensor]] = []

    def note(view: LayerView) -> None:
        if view.stack == stack:
            layers.append((view.module, view.layer, view.output.clone()))

    with torch.inference_mode():
        model.forward(token_batch(np.zeros((1, PROBE))), listeners=[OutputListener(note)])
    return layers


def probe_length(model: Model) -> int:
    """How many tokens show whether keys are tokens: more than are compressed into one key."""
    config = vars(text_config(model.network))
    compressing = (value for key, value in config.items() if "compress" in key)
    rates = (rate for value in compressing for rate in _whole_numbers(value))
    return max([PROBE, *(rate + 1 for rate in rates if rate < LONGEST_PROBE)])


def _whole_numbers(value: Any) -> list[int]:
    if isinstance(value, Mapping):
        value = list(value.values())
    return [item for item in (value if isinstance(value, list) else [value]) if type(item) is int]


def other_token(model: Model) -> int:
    """A token that is neither padding nor special."""
    special = {model.pad, *model.tokenizer.all_special_ids}
    return next((token for token in range(len(special) + 1) if token not in special), 0)


def _check_calls(model: Model, stack: str, modules: Sequence[nn.Module]) -> None:
    """Refuse networks that compute several maps in one layer, such as DiffLlama.

    ALBERT's layers share a module, but there are as many as its configuration says.
    """
    layers = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    if layers and len(modules) > max(layers, len(set(modules))):
        raise ModelError(
            f"{model.name} computes attention {len(modules)} times in the {layers} layers of its "
            f"{stack} (differential attention, for example), so that a head has no one map",
            hint="choose another model; the docs list what is supported under 'Supported models'",
        )


class _Layers:
    """Notes the layers of each stack: module, number of heads, and their width.

    Parameters
    ----------
    length
        How many tokens of each text are real.
    """

    whole_maps = False

    def __init__(self, length: int) -> None:
        self.length = length
        self.layers: dict[str, list[tuple[nn.Module, int, int]]] = {}
        self.least: dict[str, float] = {}
        """The smallest sum of a row of attention in each stack."""
        self.neutral = True
        """Whether the texts of the batch, which differ only in their padding, are the same."""

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Add up the rows of real tokens."""
        real = block[:, :, : max(self.length - first_row, 0), : self.length]
        if real.shape[2]:
            least = float(real.float().sum(-1).min())
            self.least[view.stack] = min(least, self.least.get(view.stack, 1.0))
            self._compare(real)

    def _compare(self, values: Tensor) -> None:
        close = NEUTRAL.get(values.dtype, ROUGH) * float(values.abs().max())
        self.neutral &= not bool((values - values[:1]).abs().max() > close)

    def end(self, view: LayerView) -> None:
        """Note the layer."""
        self._compare(view.output[:, : self.length])
        layer = (view.module, view.heads, view.output.shape[-1])
        self.layers.setdefault(view.stack, []).append(layer)


def network_inputs(model: Model, batch: Batch, stack: str) -> dict[str, Any]:
    """The arguments for a batch, each only if the network takes it.

    Parameters
    ----------
    model
        The model to run.
    batch
        Token ids with their types and mask.
    stack
        The stack whose tokens the batch holds. For ``"decoder"`` of an encoder-decoder, the batch
        begins with the start token, and the encoder reads the text without it. Otherwise the
        decoder reads the same text, moved on by its start token. If the items of the batch are
        :class:`~headscope.encode.cross.CrossEncoded`, the encoder reads their keys.
    """
    ids = torch.from_numpy(batch.ids).to(model.device)
    mask = torch.from_numpy(batch.mask).long().to(model.device)
    inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
    accepted = inspect.signature(model.network.forward).parameters
    if "token_type_ids" in accepted and getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = torch.from_numpy(batch.types).to(model.device)
    if "use_cache" in accepted:
        inputs["use_cache"] = False
    if not model.encoder_decoder:
        return inputs
    keys = key_batch(batch, pad=model.pad)
    if keys is not batch:
        return inputs | {
            "decoder_input_ids": ids,
            "decoder_attention_mask": mask,
            "input_ids": torch.from_numpy(keys.ids).to(model.device),
            "attention_mask": torch.from_numpy(keys.mask).long().to(model.device),
        }
    if stack == "decoder":
        return inputs | {
            "decoder_input_ids": ids,
            "decoder_attention_mask": mask,
            "input_ids": ids[:, 1:],
            "attention_mask": mask[:, 1:],
        }
    start = torch.full_like(ids[:, :1], start_token(model))
    return inputs | {
        "decoder_input_ids": torch.cat([start, ids[:, :-1]], 1),
        "decoder_attention_mask": mask,
    }


def start_token(model: Model) -> int:
    """The token with which the decoder of an encoder-decoder begins; padding if none is named."""
    start = getattr(model.config, "decoder_start_token_id", None)
    return int(start if start is not None else model.tokenizer.pad_token_id or 0)
