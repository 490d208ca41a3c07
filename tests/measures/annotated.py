"""Random annotated sentences for the measures of frames, features and links: words with tags, tree
and frame links, each in some pieces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from hypothesis import strategies as st
from numpy.typing import NDArray

from headscope.corpus import ROOT, Example, FrameLink, Word
from headscope.encode import Batch, Encoded, collate
from headscope.measures import Context, Measure
from headscope.models import Shape
from measures.test_dependency import encode
from measures.test_twins import HEADS, maps_of, view_of

TEXTS = ("dog", "do", "n't", "don't", "Not", "wo", "does", "nothing", "n’t")
TAGS = ("NOUN", "PROPN", "VERB", "AUX", "PRON", "ADJ", "NNS", "VBZ", "PRP$", "MD", "")
RELATIONS = (
    *("nsubj", "nsubj:pass", "nsubjpass", "csubj", "obj", "dobj", "iobj", "pobj", "cop"),
    *("root", ""),
)
Sentence = tuple[tuple[Word, ...], tuple[int, ...], tuple[FrameLink, ...]]


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Words (a root, and heads anywhere before it in a random order), how many pieces each has (0:
    cut off), and frame links.
    """
    size = draw(st.integers(0, 6))
    order = draw(st.permutations(range(size)))
    heads: list[int | None] = [ROOT] * size
    for index, word in enumerate(order[1:], 1):
        heads[word] = draw(st.sampled_from([*order[:index], None]))
    parts = sorted(draw(st.integers(0, 1)) for _ in range(size))
    words = tuple(
        Word(
            draw(st.sampled_from(TEXTS)),
            sentence=part,
            head=head,
            relation=draw(st.sampled_from(RELATIONS)),
            upos=draw(st.sampled_from(TAGS)),
        )
        for head, part in zip(heads, parts, strict=True)
    )
    links = []
    for _ in range(draw(st.integers(0, 2)) if size else 0):
        spans = [tuple(sorted(draw(st.integers(0, size - 1)) for _ in range(2))) for _ in range(2)]
        links.append(FrameLink("F", "E", *spans))
    return words, tuple(draw(st.sampled_from((0, 1, 1, 2, 3))) for _ in words), tuple(links)


CASES = st.tuples(
    st.lists(sentences(), min_size=1, max_size=3), st.integers(0, 2**32 - 1), st.booleans()
)
Case = tuple[list[Sentence], int, bool]


def made(case: Case) -> tuple[Batch, torch.Tensor, bool]:
    """A batch of the sentences, and maps whose padding holds garbage."""
    drawn, seed, causal = case
    items = []
    for words, pieces, links in drawn:
        item = encode(words, pieces)
        items.append(replace(item, example=Example("1", item.example.texts, words, links=links)))
    batch = collate(items)
    return batch, maps_of(batch, seed, causal=causal), causal


def values_of(
    kind: type[Measure], batch: Batch, maps: torch.Tensor, *, causal: bool
) -> NDArray[Any]:
    """(batch, head, label)."""
    measure = kind().bind(Context(Shape(1, HEADS, 1), causal), [])
    return measure.layer(view_of(maps), maps, measure.prepare(batch, "cpu")).numpy()


def real_maps(
    batch: Batch, maps: torch.Tensor
) -> list[tuple[int, int, Encoded, list[list[float]]]]:
    """Each example and head with its map, padding left out."""
    return [
        (row, head, item, maps[row, head, : len(item), : len(item)].tolist())
        for row, item in enumerate(batch.items)
        for head in range(HEADS)
    ]


def plain_word(text: str) -> Word:
    """A word with tag, relation and head: ``he|PRON|nsubj|2``, its head counted from 1 and 0 for
    the root.
    """
    form, upos, relation, head = text.split("|")
    return Word(form, head=int(head) - 1, relation=relation, upos=upos)


def tree(text: str) -> tuple[Word, ...]:
    """Words written as ``plain_word`` has them, separated by spaces."""
    return tuple(plain_word(word) for word in text.split())
