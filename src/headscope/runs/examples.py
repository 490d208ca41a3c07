"""Example sentences for chosen heads, drawn as lines (Clark et al. 2019, Figures 1 and 5)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import ROOT, Example, Word
from headscope.encode import collate
from headscope.errors import UserError, unknown
from headscope.measures import word_map
from headscope.models import LayerView, Model

LOOKED_AT = 400
FRAMES = 60
MOST_WORDS = 13
LEAST_WORDS = 5


@dataclass(frozen=True)
class Drawn:
    """A sentence with one head's word map, and the words that a relation joins."""

    words: tuple[str, ...]
    attention: NDArray[np.float32]
    marked: frozenset[int]
    right: int
    arcs: int


def word_attention(
    model: Model, example: Example, stack: str
) -> tuple[NDArray[np.float32], list[int]]:
    """The word maps of every layer and head of one example, (layer, head, word, word), and which words they are."""
    encoder = model.encoder(max_length=min(128, model.longest or 128), long="truncate", stack=stack)
    batch = collate(encoder.encode([example]), pad=model.pad)
    words = word_map(batch, model.device)
    maps: list[Any] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            maps.append(words.apply(view.attention)[0, :, :, : words.most].cpu().numpy())

    with torch.inference_mode():
        model.forward(batch, listeners=[listen], stack=stack)
    return np.stack(maps), [int(word) for word in words.words[0]]


def relation_example(
    model: Model, corpus: Iterable[Example], *, relation: str, layer: int, head: int, direction: str
) -> Drawn | None:
    """The short sentence on which a head (from 0) is right most often at a relation: among the first ones that have it."""
    best: Drawn | None = None
    stack = model.main_stack()
    for example in islice((one for one in corpus if _has(one, relation)), 30):
        maps, kept = word_attention(model, example, stack)
        one = maps[layer, head]
        place = {word: index for index, word in enumerate(kept)}
        others = np.where(np.eye(len(kept), dtype=bool), -1.0, one)
        arcs = [
            (place[index], place[word.head])
            for index, word in enumerate(example.words)
            if word.relation == relation and word.head in place and index in place
        ]
        if not arcs:
            continue
        choice = others.argmax(1)
        right = sum(
            int(choice[child]) == parent
            if direction == "dependent to head"
            else int(choice[parent]) == child
            for child, parent in arcs
        )
        marked = frozenset(
            child if direction == "dependent to head" else parent for child, parent in arcs
        )
        found = Drawn(
            tuple(example.words[word].text for word in kept), one, marked, right, len(arcs)
        )
        if best is None or (right / len(arcs), right) > (best.right / best.arcs, best.right):
            best = found
    return best


def frame_example(
    model: Model, corpus: Iterable[Example], *, layer: int, head: int
) -> Drawn | None:
    """The short sentence in which a head (from 0) pays the most attention along a frame link, either way (Kovaleva et al. 2019, Figure 3): target and element are marked."""
    best: Drawn | None = None
    most = -1.0
    for example in islice(
        (one for one in corpus if one.links and LEAST_WORDS <= len(one.words) <= MOST_WORDS), FRAMES
    ):
        maps, kept = word_attention(model, example, model.main_stack())
        one = maps[layer, head]
        place = {word: index for index, word in enumerate(kept)}
        for link in example.links:
            ends = [
                [place[word] for word in range(start, end + 1) if word in place]
                for start, end in (link.target, link.filler)
            ]
            if not all(ends):
                continue
            found = max(float(one[np.ix_(*pair)].max()) for pair in (ends, ends[::-1]))
            if found > most:
                best, most = (
                    Drawn(
                        tuple(example.words[word].text for word in kept),
                        one,
                        frozenset(ends[0] + ends[1]),
                        1,
                        1,
                    ),
                    found,
                )
    return best


def _has(example: Example, relation: str) -> bool:
    return LEAST_WORDS <= len(example.words) <= MOST_WORDS and any(
        word.relation == relation and word.head not in (None, ROOT) for word in example.words
    )


def sentences(corpus: Iterable[Example]) -> Iterable[Example]:
    """Passages cut into their sentences, with their trees, so that one can be drawn."""
    for example in islice(corpus, LOOKED_AT):
        numbers = sorted({word.sentence for word in example.words})
        if len(numbers) < 2:
            yield example
            continue
        for number in numbers:
            kept = [index for index, word in enumerate(example.words) if word.sentence == number]
            place = {old: new for new, old in enumerate(kept)}
            words = tuple(_moved(example.words[old], place) for old in kept)
            text = " ".join(word.text for word in words)
            yield Example(f"{example.id}-{number}", (text,), words, group=example.group)


def _moved(word: Word, place: dict[int, int]) -> Word:
    head = word.head if word.head is None or word.head == ROOT else place.get(word.head, ROOT)
    return replace(word, segment=0, sentence=0, head=head)


def token_attention(
    model: Model, text: str, *, max_length: int = 64
) -> tuple[list[str], NDArray[np.float32]]:
    """The tokens of a text as the model sees them, and the maps of every layer and head, (layer, head, query, key)."""
    stack = model.main_stack()
    encoder = model.encoder(
        max_length=min(max_length, model.longest or max_length), long="truncate", stack=stack
    )
    encoded = list(encoder.encode([Example("text", (text,))]))
    if not encoded:
        raise UserError(f"the text {text!r} has no tokens", hint="give at least one word")
    maps: list[Any] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            maps.append(view.attention[0].cpu().numpy())

    with torch.inference_mode():
        model.forward(collate(encoded, pad=model.pad), listeners=[listen], stack=stack)
    names = model.tokenizer.convert_ids_to_tokens(encoded[0].ids.tolist())
    tokens = [piece.strip() or name for piece, name in zip(encoded[0].text, names, strict=True)]
    return tokens, np.stack(maps)


def parse_head(name: str, model: Model) -> tuple[int, int]:
    """A head's name, counted from 1, as indices from 0."""
    shape = model.shape(model.main_stack())
    match = re.fullmatch(r"(\d+)-(\d+)", name)
    layer, head = (int(part) for part in match.groups()) if match else (0, 0)
    if not (1 <= layer <= shape.layers and 1 <= head <= shape.heads):
        raise UserError(
            f"the head must be LAYER-HEAD from 1-1 to {shape.layers}-{shape.heads}, got {name!r} instead",
            hint="give e.g. --head 1-3",
        )
    return layer - 1, head - 1


def which_tokens(tokens: list[str], words: Iterable[str]) -> list[int]:
    """The positions of the tokens that spell given words, whatever their case."""
    found: list[int] = []
    for word in words:
        places = [index for index, token in enumerate(tokens) if token.lower() == word.lower()]
        if not places:
            raise unknown("word", word, dict.fromkeys(tokens))
        found += places
    return found
