"""Attention maps of a model, computed one example at a time when they are needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Corpus, Example
from headscope.encode import Encoded, collate
from headscope.errors import CorpusError, UserError
from headscope.heads import Head
from headscope.models import LayerView, Model

CACHED_EXAMPLES = 8
"""Number of examples whose maps are kept in memory."""


@dataclass(frozen=True)
class ExampleMaps:
    """All maps of one example.

    Parameters
    ----------
    tokens
        The tokens, special tokens included.
    maps
        Attention weights, (layer, head, query, key).
    second
        The index of the first token of a pair's second text; 0 if there is only one text.
    """

    tokens: tuple[str, ...]
    maps: NDArray[np.float32]
    second: int


@dataclass(frozen=True)
class MapId:
    """Which map: the model, the corpus, the id of the example, and the head.

    >>> MapId("demo", "dev.tsv", "17", Head.parse("3-9")).as_row()
    {'model': 'demo', 'corpus': 'dev.tsv', 'example': '17', 'layer': '3', 'head': '9'}
    """

    model: str
    corpus: str
    example: str
    head: Head

    def as_row(self) -> dict[str, str]:
        """Return the columns of a label file. Layer and head count from 1 there."""
        return {
            "model": self.model,
            "corpus": self.corpus,
            "example": self.example,
            "layer": str(self.head.layer + 1),
            "head": str(self.head.head + 1),
        }


def example_maps(model: Model, example: Example, *, max_length: int = 64) -> ExampleMaps:
    """Compute all maps of one example.

    Parameters
    ----------
    model
        A loaded model.
    example
        A text or a pair of texts.
    max_length
        Longer examples are truncated to this many tokens.

    Raises
    ------
    CorpusError
        If the example has no token.
    UserError
        If the model's attention is not finite.
    """
    return _compute(model, _encode(model, [example], max_length)[0])


class CorpusMaps:
    """The maps of the first examples of a corpus, in random order.

    Parameters
    ----------
    model
        A loaded model.
    corpus
        The texts.
    limit
        Use this many examples.
    seed
        Decides the order.
    max_length
        Longer examples are truncated to this many tokens.

    Raises
    ------
    CorpusError
        If no example has a token.
    """

    def __init__(
        self, model: Model, corpus: Corpus, *, limit: int, seed: int, max_length: int = 64
    ) -> None:
        self.model = model
        self.corpus = corpus.name
        self.examples = _encode(model, islice(corpus, limit), max_length)
        self.heads = model.shape(model.main_stack()).every_head
        self.shape = (len(self.examples), len(self.heads))
        self.order = np.random.default_rng(seed).permutation(int(np.prod(self.shape)))
        self._cached = lru_cache(CACHED_EXAMPLES)(
            lambda index: _compute(model, self.examples[index])
        )

    def __len__(self) -> int:
        return len(self.order)

    def map_id(self, number: int) -> MapId:
        """Identify the map at a place in the order."""
        example, place = self._place(number)
        name = self.examples[example].example.id
        return MapId(self.model.name, self.corpus, name, self.heads[place])

    def map(self, number: int) -> tuple[ExampleMaps, NDArray[np.float32]]:
        """Return the map (query, key) at a place in the order, and all maps of its example."""
        example, place = self._place(number)
        example_maps = self._cached(example)
        return example_maps, example_maps.maps.reshape(-1, *example_maps.maps.shape[2:])[place]

    def _place(self, number: int) -> tuple[int, int]:
        """The place of an example, and that of a head among all."""
        example, place = np.unravel_index(self.order[number], self.shape)
        return int(example), int(place)


def _encode(model: Model, examples: Iterable[Example], max_length: int) -> list[Encoded]:
    stack = model.main_stack()
    longest = min(max_length, model.longest or max_length)
    encoder = model.encoder(max_length=longest, long="truncate", stack=stack)
    encoded = list(encoder.encode(examples))
    if not encoded:
        raise CorpusError("none of the texts has a token", hint="give at least one word")
    return encoded


def _compute(model: Model, item: Encoded) -> ExampleMaps:
    stack = model.main_stack()
    layers: list[NDArray[np.float32]] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            layers.append(view.attention[0].float().cpu().numpy())

    with torch.inference_mode():
        model.forward(collate([item], pad=model.pad), listeners=[listen], stack=stack)
    maps = np.stack(layers)
    _check_finite(maps, model, item)
    names = model.tokenizer.convert_ids_to_tokens(item.ids.tolist())
    tokens = tuple(piece.strip() or name for piece, name in zip(item.text, names, strict=True))
    in_second = item.segment == 1
    return ExampleMaps(tokens, maps, int(np.argmax(in_second)) if in_second.any() else 0)


def _check_finite(maps: NDArray[np.float32], model: Model, item: Encoded) -> None:
    finite = np.isfinite(maps).all((1, 2, 3))
    if not finite.all():
        raise UserError(
            f"the attention of {model.name} is not finite in layer {int(np.argmin(finite)) + 1} "
            f"on the example {item.example.id}",
            hint='load the model with dtype="float32"',
            command="load the model with --dtype float32",
        )
