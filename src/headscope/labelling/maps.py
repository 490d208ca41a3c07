"""Maps of a model, one example at a time: all of one, or those of a corpus in random order, each computed when it is asked for."""

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
from headscope.models import LayerView, Model

HELD = 8
"""How many examples' maps are held at a time."""


@dataclass(frozen=True)
class Seen:
    """The tokens of an example, its maps (layer, head, query, key), and where the second text of a pair begins (0: there is none)."""

    tokens: tuple[str, ...]
    maps: NDArray[np.float32]
    second: int


@dataclass(frozen=True)
class Corner:
    """Which map: of which example, layer and head (from 1)."""

    model: str
    corpus: str
    example: str
    layer: int
    head: int


def look(model: Model, example: Example, *, max_length: int = 64) -> Seen:
    """One example through the model."""
    return _seen(model, _encoded(model, [example], max_length)[0])


class Maps:
    """All maps of the examples of a corpus, in an order that the seed decides."""

    def __init__(
        self, model: Model, corpus: Corpus, *, limit: int, seed: int, max_length: int = 64
    ) -> None:
        self.model = model
        self.corpus = corpus.name
        self.items = _encoded(model, islice(corpus, limit), max_length)
        shape = model.shape(model.main_stack())
        self.shape = (len(self.items), shape.layers, shape.heads)
        self.order = np.random.default_rng(seed).permutation(int(np.prod(self.shape)))
        self.example = lru_cache(HELD)(lambda index: _seen(model, self.items[index]))

    def __len__(self) -> int:
        return len(self.order)

    def corner(self, number: int) -> Corner:
        """Which map is the one of this number in the order."""
        example, layer, head = self._place(number)
        return Corner(
            self.model.name, self.corpus, self.items[example].example.id, layer + 1, head + 1
        )

    def map(self, number: int) -> tuple[Seen, NDArray[np.float32]]:
        """The example of a number, and its map."""
        example, layer, head = self._place(number)
        seen = self.example(example)
        return seen, seen.maps[layer, head]

    def _place(self, number: int) -> tuple[int, int, int]:
        example, layer, head = np.unravel_index(self.order[number], self.shape)
        return int(example), int(layer), int(head)


def _encoded(model: Model, examples: Iterable[Example], max_length: int) -> list[Encoded]:
    stack = model.main_stack()
    encoder = model.encoder(
        max_length=min(max_length, model.longest or max_length), long="truncate", stack=stack
    )
    found = list(encoder.encode(examples))
    if not found:
        raise CorpusError("there is no text with a token in it", hint="give at least one word")
    return found


def _seen(model: Model, item: Encoded) -> Seen:
    stack = model.main_stack()
    maps: list[NDArray[np.float32]] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            maps.append(view.attention[0].float().cpu().numpy())

    with torch.inference_mode():
        model.forward(collate([item], pad=model.pad), listeners=[listen], stack=stack)
    whole = np.stack(maps)
    if not np.isfinite(whole).all():
        layer = int(np.argmin(np.isfinite(whole).all((1, 2, 3)))) + 1
        raise UserError(
            f"the attention of {model.name} is not finite in layer {layer} on the example {item.example.id}",
            hint="load the model with --dtype float32",
        )
    names = model.tokenizer.convert_ids_to_tokens(item.ids.tolist())
    tokens = tuple(piece.strip() or name for piece, name in zip(item.text, names, strict=True))
    return Seen(
        tokens, whole, int(np.argmax(item.segment == 1)) if (item.segment == 1).any() else 0
    )
