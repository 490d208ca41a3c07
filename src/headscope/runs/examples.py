"""Example sentences for chosen heads (Kovaleva et al. 2019, Figure 3), and sentences of passages.

Each is a short sentence of a corpus on which a head does what it is known for.

See Also
--------
headscope.runs.drawn : The examples of Clark et al. 2019, with special tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import ROOT, Example, FrameLink, Word
from headscope.encode import collate
from headscope.heads import Head
from headscope.measures import word_map
from headscope.models import LayerView, Model

LONGEST_INPUT = 128
"""Tokens of a sentence; the rest is cut."""
PASSAGES = 400
"""Examples of a corpus that are cut into sentences."""
FRAMES = 60
"""Sentences with a frame that are tried."""
FEWEST_WORDS, MOST_WORDS = 5, 13
"""Shorter and longer sentences are not drawn."""

Map = NDArray[np.float32]


@dataclass(frozen=True)
class HeadExample:
    """A sentence on which a head does something, with the head's word map.

    Parameters
    ----------
    words
        The words of the sentence, and special tokens where they are drawn.
    attention
        (word, word): the head's attention, with a row and a column for each of ``words``.
    marked
        The positions of the words that are joined by the relation.
    right, total
        How many of the relation's arcs the head finds, and how many there are.
    weight
        The attention along those that it finds, summed.
    target
        The positions of the words of a frame's target.
    """

    words: tuple[str, ...]
    attention: Map
    marked: frozenset[int]
    right: int = 1
    total: int = 1
    weight: float = 0.0
    target: frozenset[int] = frozenset()


def word_attention(model: Model, example: Example, stack: str) -> tuple[Map, list[int]]:
    """Compute the word maps of all heads on one annotated example.

    Parameters
    ----------
    model
        The model.
    example
        An example with words.
    stack
        Whose heads: "encoder" or "decoder".

    Returns
    -------
    maps : numpy.ndarray
        (layer, head, word, word). A layer's place is :meth:`headscope.models.Shape.place`.
    words : list of int
        Which words of the example these are; words without a token of their own are missing.
    """
    longest = min(LONGEST_INPUT, model.longest or LONGEST_INPUT)
    encoder = model.encoder(max_length=longest, long="truncate", stack=stack)
    batch = collate(encoder.encode([example]), pad=model.pad)
    words = word_map(batch, model.device)
    maps: list[Any] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            maps.append(words.apply(view.attention)[0, :, :, : words.most].cpu().numpy())

    with torch.inference_mode():
        model.forward(batch, listeners=[listen], stack=stack)
    return np.stack(maps), [int(word) for word in words.words[0]]


def frame_example(model: Model, corpus: Iterable[Example], *, head: Head) -> HeadExample | None:
    """Find the short sentence in which a head attends most along a frame link, either way.

    Parameters
    ----------
    model
        The model.
    corpus
        Sentences with frame links; the first 60 of fitting length are tried.
    head
        The head.

    Returns
    -------
    HeadExample or None
        The sentence with target and element marked; None if no sentence has a frame link.
    """
    shape = model.shape(model.main_stack())
    best: HeadExample | None = None
    most = -1.0
    for example in islice((one for one in corpus if one.links and fits(one)), FRAMES):
        maps, kept = word_attention(model, example, model.main_stack())
        weights = maps[shape.place(head.layer), head.head]
        for link in example.links:
            target, element = _ends(link, kept)
            if not (target and element):
                continue
            both = weights[np.ix_(target, element)], weights[np.ix_(element, target)]
            strongest = max(float(part.max()) for part in both)
            if strongest > most:
                words = tuple(example.words[word].text for word in kept)
                marked = frozenset(target + element)
                best = HeadExample(words, weights, marked, target=frozenset(target))
                most = strongest
    return best


def _ends(link: FrameLink, kept: list[int]) -> tuple[list[int], list[int]]:
    """The rows of a link's target and of its element in the word map."""
    place = {word: index for index, word in enumerate(kept)}
    target, element = (
        [place[word] for word in range(start, end + 1) if word in place]
        for start, end in (link.target, link.filler)
    )
    return target, element


def fits(example: Example) -> bool:
    """Whether a sentence is short enough to draw, and not too short."""
    return FEWEST_WORDS <= len(example.words) <= MOST_WORDS


def sentences(corpus: Iterable[Example]) -> Iterator[Example]:
    """Cut passages into sentences that keep their trees.

    Parameters
    ----------
    corpus
        Examples with words; the first 400 are cut.

    Yields
    ------
    Example
        One sentence.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> first = next(sentences(read("demo", limit=1)))
    >>> sum(word.head == ROOT for word in first.words)
    1
    """
    for example in islice(corpus, PASSAGES):
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
    """A word in a sentence of its own: its head word has another index."""
    head = word.head if word.head is None or word.head == ROOT else place.get(word.head, ROOT)
    return replace(word, segment=0, sentence=0, head=head)
