"""Sentence vectors: running texts through a model and pooling what it computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example
from headscope.encode import Batch, Encoded, token_batch
from headscope.errors import ModelError, UserError
from headscope.heads import Head
from headscope.models.observe import LayerView, OutputListener
from headscope.models.pooling import Pooling

if TYPE_CHECKING:
    from headscope.models.model import Model

LONGEST = 512
"""Sentences are truncated to this many tokens unless asked otherwise."""


def take(values: Tensor, mask: Tensor, position: str) -> Tensor:
    """The values at one position of every text.

    Parameters
    ----------
    values
        (batch, token, …).
    mask
        (batch, token), true on real tokens. Padding is on the right.
    position
        ``"cls"``, ``"last"`` or ``"mean"``.

    Returns
    -------
    Tensor
        (batch, …).

    Examples
    --------
    >>> values = torch.tensor([[[1.0], [3.0], [8.0]]])
    >>> mask = torch.tensor([[True, True, False]])
    >>> [take(values, mask, position).item() for position in ("cls", "last", "mean")]
    [1.0, 3.0, 2.0]
    """
    if position == "cls":
        return values[:, 0]
    mask = mask.to(values.device)  # a large model may be spread over several
    if position == "last":
        return values[torch.arange(len(values), device=values.device), mask.sum(1) - 1]
    real = mask.reshape(*mask.shape, *[1] * (values.dim() - 2))
    # A sum in half precision would overflow on long texts.
    wide = torch.promote_types(values.dtype, torch.float32)
    total = values.masked_fill(~real, 0.0).sum(1, dtype=wide)
    return (total / real.sum(1)).to(values.dtype)


def layer_states(output: Any) -> tuple[Tensor, ...]:
    """The hidden states after each layer of the stack that was run.

    Parameters
    ----------
    output
        What a network returned for ``output_hidden_states=True``.
    """
    return _states(output)[1:]


def embedding_state(output: Any) -> Tensor:
    """What the first layer of the stack that was run has read, (batch, token, width).

    Parameters
    ----------
    output
        What a network returned for ``output_hidden_states=True``.
    """
    return _states(output)[0]


def _states(output: Any) -> tuple[Tensor, ...]:
    states = getattr(output, "hidden_states", None)
    states = states or getattr(output, "decoder_hidden_states", None)
    if not states:
        raise ModelError(
            f"{type(output).__name__} has no hidden states", hint="choose heads instead of a layer"
        )
    return tuple(states)


def pooled(model: Model, batch: Batch, pooling: Pooling) -> Tensor:
    """The vectors of a batch, (text, width). Gradients flow where they are enabled.

    Parameters
    ----------
    model
        The model to run.
    batch
        The tokens of the texts.
    pooling
        Fitted to the model.
    """
    stack = model.main_stack()
    mask = torch.from_numpy(batch.mask).to(model.device)
    if not pooling.heads:
        states = layer_states(model.forward(batch, stack=stack, output_hidden_states=True))
        return take(states[(pooling.layer or len(states)) - 1], mask, pooling.position)
    vectors: dict[Head, Tensor] = {}

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            for head in pooling.heads:
                if head.layer == view.layer:
                    vectors[head] = take(view.output[:, :, head.head], mask, pooling.position)

    model.forward(batch, stack=stack, listeners=[OutputListener(listen)])
    return torch.cat([vectors[head].to(model.device) for head in pooling.heads], 1)


def vector_width(model: Model, pooling: Pooling) -> int:
    """The length of the vectors of a fitted pooling."""
    if pooling.heads:
        shape = model.shape(model.main_stack())
        return sum(shape.width_of(head) for head in pooling.heads)
    with torch.inference_mode():
        return int(pooled(model, token_batch(np.zeros((1, 2))), pooling).shape[1])


def sentence_vectors(
    model: Model,
    sentences: Sequence[str | tuple[str, str]],
    pooling: Pooling,
    *,
    batch_size: int = 32,
    max_length: int | None = None,
) -> NDArray[np.float32]:
    """The vectors of sentences (or pairs), (sentence, width), in the order given.

    See :meth:`headscope.models.Model.encode` for the parameters.
    """
    pooling = pooling.fit(model)
    length = longest(model) if max_length is None else max_length
    encoded = encode_sentences(model, sentences, length)
    vectors = np.zeros((len(sentences), pooling.width(model)), np.float32)
    for batch in model.batches(encoded, size=batch_size):
        rows = [int(item.example.id) for item in batch.items]
        with torch.inference_mode():
            vectors[rows] = pooled(model, batch, pooling).float().cpu().numpy()
    return vectors


def longest(model: Model) -> int:
    """How many tokens of a sentence are read unless asked otherwise."""
    return min(model.longest or LONGEST, LONGEST)


def encode_sentences(
    model: Model, sentences: Sequence[str | tuple[str, str]], max_length: int
) -> Iterator[Encoded]:
    """The tokens of each sentence (or pair) in turn, truncated to ``max_length``.

    Raises
    ------
    UserError
        If one text is given instead of a list, or if a sentence has no tokens: it would have no
        vector.
    """
    if isinstance(sentences, str):
        raise UserError(
            "sentences must be a list of texts, got one text instead",
            hint="put it into a list: [text]",
        )
    encoder = model.encoder(max_length=max_length, long="truncate", stack=model.main_stack())
    for place, sentence in enumerate(sentences):
        texts = (sentence,) if isinstance(sentence, str) else tuple(sentence)
        encoded = []
        if "".join(texts).strip():
            encoded = list(encoder.encode([Example(str(place), texts)]))
        if not encoded:
            raise UserError(
                f"sentence {place + 1} has no text that {model.name} can read, so it has no "
                f"vector; got {sentence!r}",
                hint="remove such sentences",
            )
        yield encoded[0]
