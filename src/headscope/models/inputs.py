"""The arguments of a network's forward pass for a batch of tokens."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from headscope.encode import Batch

if TYPE_CHECKING:
    from headscope.models.model import Model


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
        decoder reads the same text, moved on by its start token.
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
