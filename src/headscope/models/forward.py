"""Running a network on a batch of tokens while a watch observes it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.encode import Batch
from headscope.encode.cross import key_batch
from headscope.errors import ModelError
from headscope.models.architecture import layer_numbers, queries_per_key, unobservable
from headscope.models.attention import Watch, watching
from headscope.models.shape import Shape
from headscope.models.view import LayerView

if TYPE_CHECKING:
    from headscope.models.model import Model

ROW_SUM = 0.98
"""Rows that sum to less have lost attention to a sink; half precision rounds by less than this."""


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
    The output of the network.
    """
    network, arguments = model.network, network_inputs(model, batch, stack)
    if model.encoder_decoder and stack == "encoder":  # the decoder is not needed
        network = model.network.get_encoder()
        arguments = {key: arguments[key] for key in ("input_ids", "attention_mask")}
    with watching(watch):
        return network(**{**arguments, **inputs})


def find_shapes(model: Model, stacks: Mapping[nn.Module, str]) -> dict[str, Shape]:
    """The shape of each stack, found by running three tokens.

    That also makes sure that attention can be observed at all.

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
    seen = _Layers()
    ids = np.zeros((1, 3), np.int64)
    probe = Batch(0, (), ids, ids, ids == 0)
    mask = torch.from_numpy(probe.mask).to(model.device)
    try:
        with torch.inference_mode():
            run_network(model, Watch(stacks, [seen], None, mask), probe, "", {})
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise ModelError(
            f"{model.name} cannot be run on text: {type(error).__name__}: {error}",
            hint="choose a text model; the docs list what is supported under 'Supported models'",
        ) from error
    if not seen.found:
        raise unobservable(model.name, model.network)
    shapes: dict[str, Shape] = {}
    for stack, layers in seen.found.items():
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
    return shapes


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
    """Notes the layers of each stack: module, number of heads, and their width."""

    whole_maps = False

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[nn.Module, int, int]]] = {}
        self.least: dict[str, float] = {}
        """The smallest sum of a row of attention in each stack."""

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Add up the rows. All three tokens are real."""
        least = float(block.float().sum(-1).min())
        self.least[view.stack] = min(least, self.least.get(view.stack, 1.0))

    def end(self, view: LayerView) -> None:
        """Note the layer."""
        layer = (view.module, view.heads, view.output.shape[-1])
        self.found.setdefault(view.stack, []).append(layer)


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
