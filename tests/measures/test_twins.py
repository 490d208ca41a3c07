"""The measures equal their slow twins on random maps: padded, causal, of one token, with split
words, and with anything at all in the padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import twins
from headscope.corpus import Example
from headscope.encode import OTHER, SEPARATOR, START, TEXT, Batch, Encoded, collate
from headscope.measures import (
    Confidence,
    Context,
    Entropy,
    Measure,
    Peak,
    Position,
    Reach,
    Repetition,
    Sink,
    Special,
    Streaming,
    word_map,
)
from headscope.models import LayerView, Shape
from headscope.runs.forward import finite
from items import item_of

HEADS = 3
SETTINGS = settings(deadline=None, max_examples=40)

Token = tuple[int, bool, bool]  # kind; a full stop or comma; goes on with the word before it
TOKENS = st.lists(
    st.tuples(
        st.sampled_from([TEXT, TEXT, TEXT, START, SEPARATOR, OTHER]), st.booleans(), st.booleans()
    ),
    min_size=1,
    max_size=8,
)
CASES = st.tuples(
    st.lists(TOKENS, min_size=1, max_size=4), st.integers(0, 2**32 - 1), st.booleans()
)
Case = tuple[list[list[Token]], int, bool]


def encode(tokens: list[Token], *, first: int = 0) -> Encoded:
    """An example of these tokens, built without a tokenizer. A word's pieces follow each other; a
    stop that goes on with nothing is in no word.
    """
    words: list[int] = []
    word = first - 1
    for place, (kind, stop, goes_on) in enumerate(tokens):
        inside = kind == TEXT and not (stop and goes_on)
        if inside and not (goes_on and place and words[-1] == word and word >= first):
            word += 2 if stop else 1  # now and then a word has no piece
        words.append(word if inside else -1)
    kinds = [kind for kind, _, _ in tokens]
    stops = [stop and kind == TEXT for kind, stop, _ in tokens]
    ids = [7 * place % 3 * goes_on + stop for place, (_, stop, goes_on) in enumerate(tokens)]
    unknown = [stop and goes_on for _, stop, goes_on in tokens]
    rows = {"kind": kinds, "word": words, "stop": stops, "unknown": unknown}
    return item_of(Example("1", ("",)), ids, **rows)


def maps_of(batch: Batch, seed: int, *, causal: bool) -> torch.Tensor:
    """Random maps (batch, head, T, T): rows of real tokens sum to 1 over the keys they see, some
    weights are exactly 0 or 1, and padding holds garbage.
    """
    random = np.random.default_rng(seed)
    maps = random.choice(
        [0.0, 1.0, -3.0, 1e6, 1e-30, 1e20], (len(batch), HEADS, batch.width, batch.width)
    )
    for row, item in enumerate(batch.items):
        for head in range(HEADS):
            for query in range(len(item)):
                seen = query + 1 if causal else len(item)
                weights = random.random(seen) ** random.choice([1, 8]) * (random.random(seen) > 0.3)
                if not weights.sum():
                    weights[random.integers(seen)] = 1.0
                maps[row, head, query, : len(item)] = 0.0
                maps[row, head, query, :seen] = weights / weights.sum()
    return torch.from_numpy(maps.astype(np.float32))


def made(case: Case) -> tuple[Batch, torch.Tensor, bool]:
    lists, seed, causal = case
    batch = collate([encode(tokens) for tokens in lists])
    return batch, maps_of(batch, seed, causal=causal), causal


def view_of(maps: torch.Tensor) -> LayerView:
    return LayerView(
        "encoder", 0, maps, torch.zeros(len(maps), maps.shape[2], HEADS, 1), torch.nn.Identity()
    )


def values_of(
    measure: Measure, batch: Batch, maps: torch.Tensor, blocks: Sequence[tuple[int, int]] = ()
) -> torch.Tensor:
    """A bound measure's values of one layer, from whole maps or blocks of rows."""
    view, prepared = view_of(maps), measure.prepare(batch, "cpu")
    if not measure.in_blocks:
        return measure.layer(view, view.attention, prepared)
    for first, last in blocks or [(0, maps.shape[2])]:
        measure.rows(view, view.attention[:, :, first:last], first, prepared)
    return measure.end(view, prepared)


def run(kind: type[Measure], batch: Batch, maps: torch.Tensor, *, causal: bool) -> NDArray[Any]:
    """The values of a measure, (batch, head, labels…)."""
    measure = kind().bind(Context(Shape(1, HEADS, 1), causal), [])
    values = values_of(measure, batch, maps)
    return values.numpy().reshape(
        len(batch), HEADS, *(len(labels) for labels in measure.dims.values())
    )


class ShortSink(Sink):
    """Sinks in texts of four tokens."""

    def __init__(self) -> None:
        super().__init__(4, 0.3)


class ShortStreaming(Streaming):
    """One first token, and two recent ones."""

    def __init__(self) -> None:
        super().__init__(1, 2)


def sink_twin(map: twins.Map, item: Encoded, causal: bool) -> dict[Any, float]:
    first = twins.sink(map, 1, 4, causal=causal)
    rate = first if np.isnan(first) else float(first > 0.3)
    return {"first": first, "rate": rate, "learned": float("nan")}


def repetition_twin(map: twins.Map, item: Encoded, causal: bool) -> dict[Any, float]:
    known = [kind == TEXT and not odd for kind, odd in zip(item.kind, item.unknown, strict=True)]
    return twins.repetition(map, item.ids.tolist(), known)


Twin = Callable[[twins.Map, Encoded, bool], dict[Any, float]]
TWINS: dict[type[Measure], Twin] = {
    Position: lambda map, item, causal: twins.position(map, causal=causal),
    Special: lambda map, item, causal: twins.special(map, item.kind.tolist(), item.stop.tolist()),
    Entropy: lambda map, item, causal: twins.entropy(map, item.kind.tolist(), causal=causal),
    Peak: lambda map, item, causal: twins.peak(map),
    Repetition: repetition_twin,
    ShortSink: sink_twin,
    ShortStreaming: lambda map, item, causal: twins.streaming(map, 1, 2, causal=causal),
    Reach: lambda map, item, causal: twins.reach(map),
    Confidence: lambda map, item, causal: {(): twins.confidence(map, item.kind.tolist())},
}


def check(
    kind: type[Measure], batch: Batch, maps: torch.Tensor, values: NDArray[Any], *, causal: bool
) -> None:
    names = list(kind.dims.values())
    for row, item in enumerate(batch.items):
        for head in range(HEADS):
            real = maps[row, head, : len(item), : len(item)].tolist()
            for label, expected in TWINS[kind](real, item, causal).items():
                place = tuple(
                    names[axis].index(part)
                    for axis, part in enumerate(label if isinstance(label, tuple) else (label,))
                )
                assert values[(row, head, *place)] == pytest.approx(
                    expected, rel=1e-5, abs=2e-6, nan_ok=True
                ), (row, head, label)


@pytest.mark.parametrize("kind", TWINS, ids=lambda kind: kind.name)
@given(case=CASES)
@example(case=([[(TEXT, False, False)]], 1, False))  # one token
@example(
    case=([[(START, False, False)], [(TEXT, False, False)] * 5], 2, True)
)  # one token beside a longer example, causal
@example(
    case=(
        [
            [(START, False, False), (TEXT, False, False), (SEPARATOR, False, False)],
            [(TEXT, True, False)] * 8,
        ],
        3,
        False,
    )
)  # no full stop; nothing else
@SETTINGS
def test_a_measure_equals_its_twin(kind, case):
    batch, maps, causal = made(case)
    check(kind, batch, maps, run(kind, batch, maps, causal=causal), causal=causal)


@given(case=CASES, cuts=st.lists(st.integers(1, 12), max_size=4))
@SETTINGS
@pytest.mark.parametrize("kind", TWINS, ids=lambda kind: kind.name)
def test_a_map_cut_anywhere_into_blocks_of_rows_gives_the_same(kind, case, cuts):
    batch, maps, causal = made(case)
    measure = kind().bind(Context(Shape(1, HEADS, 1), causal), [])
    whole = values_of(measure, batch, maps).numpy()
    edges = sorted({0, maps.shape[2], *(cut for cut in cuts if cut < maps.shape[2])})
    blocks = list(pairwise(edges))
    found = values_of(measure, batch, maps, blocks).numpy()
    np.testing.assert_allclose(found, whole, atol=1e-6, rtol=1e-6, equal_nan=True)


@given(case=CASES)
@example(
    case=(
        [[(TEXT, False, False), (TEXT, False, True), (TEXT, False, True)], [(START, False, False)]],
        1,
        False,
    )
)  # one split word, beside a text without words
@SETTINGS
def test_word_maps_equal_their_twin_and_their_rows_sum_to_1(case):
    batch, maps, _ = made(case)
    mapped = word_map(batch)
    values = mapped.apply(maps).numpy()
    most = max(len(words) for words in mapped.words)
    for row, item in enumerate(batch.items):
        for head in range(HEADS):
            real = maps[row, head, : len(item), : len(item)].tolist()
            words, between, outside = twins.word_map(real, item.word.tolist())
            assert mapped.words[row].tolist() == words
            count, others = len(words), len(item) - int((item.word >= 0).sum())
            expected = np.array(between).reshape(count, count)
            np.testing.assert_allclose(values[row, head, :count, :count], expected, atol=2e-6)
            found = values[row, head, :count, most : most + others]
            np.testing.assert_allclose(found, np.array(outside).reshape(count, others), atol=2e-6)
            np.testing.assert_allclose(values[row, head, :count].sum(-1), np.ones(count), atol=1e-5)
            assert not values[row, head, count:].any()
            assert not values[row, head, :, count:most].any()
            assert not values[row, head, :, most + others :].any()


@given(case=CASES, bad=st.sampled_from([float("nan"), float("inf"), float("-inf")]))
@SETTINGS
def test_maps_that_are_not_finite_are_told_only_where_tokens_are_real(case, bad):
    batch, maps, _ = made(case)
    mask = torch.from_numpy(batch.mask)
    real = mask[:, None, :, None] & mask[:, None, None, :]
    padded = maps.masked_fill(~real, bad)
    cleaned, broken = finite(padded, mask, mask)
    assert not broken.any()
    assert torch.equal(cleaned.masked_fill(~real, 0.0), maps.masked_fill(~real, 0.0))
    padded[-1, HEADS - 1, 0, 0] = bad
    cleaned, broken = finite(padded, mask, mask)
    assert broken.tolist() == [False] * (len(batch) - 1) + [True]
    assert torch.isfinite(cleaned).all()
