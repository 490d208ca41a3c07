"""Batches: every example once, padded on the right, the same ones every time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encode.tokenizers import tokenizer
from headscope.corpus import Example, from_texts
from headscope.encode import Encoder, batches, collate
from headscope.encode.batch import WINDOW
from headscope.errors import UserError
from items import item_of
from refusals import refusal


def item(name, length, first=100):
    """An encoded example of a given length whose ids are its own."""
    ids = np.arange(first, first + length)
    text = ("x",) * length
    return item_of(Example(str(name), ("x",)), ids, text=text, types=1, word=ids - first)


def names(found):
    return [[encoded.example.id for encoded in batch.items] for batch in found]


def test_examples_are_padded_on_the_right_with_the_pad_token():
    batch = collate([item("a", 2, 10), item("b", 4, 20), item("c", 1, 30)], index=5, pad=7)
    assert batch.ids.tolist() == [[10, 11, 7, 7], [20, 21, 22, 23], [30, 7, 7, 7]]
    assert batch.types.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]
    expected = [[True, True, False, False], [True] * 4, [True, False, False, False]]
    assert batch.mask.tolist() == expected
    assert (batch.index, len(batch), batch.width, batch.lengths.tolist()) == (5, 3, 4, [2, 4, 1])


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=200), st.integers(1, 5), st.integers(0, 9))
def test_every_example_is_in_one_batch_with_all_its_tokens(lengths, size, pad):
    made = [item(number, length, number * 100) for number, length in enumerate(lengths)]
    found = list(batches(iter(made), size=size, pad=pad))
    assert sorted(int(name) for row in names(found) for name in row) == list(range(len(made)))
    assert [batch.index for batch in found] == list(range(len(found)))
    for batch in found:
        assert len(batch) <= size
        assert batch.width == max(len(encoded) for encoded in batch.items)
        for row, encoded in enumerate(batch.items):
            assert batch.ids[row, : len(encoded)].tolist() == encoded.ids.tolist()
            assert batch.ids[row, len(encoded) :].tolist() == [pad] * (batch.width - len(encoded))
            expected = [place < len(encoded) for place in range(batch.width)]
            assert batch.mask[row].tolist() == expected


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=200), st.integers(1, 5))
def test_a_window_of_the_stream_is_sorted_by_length_and_equal_lengths_keep_their_order(
    lengths, size
):
    items = [item(number, length) for number, length in enumerate(lengths)]
    found = [name for row in names(batches(items, size=size)) for name in row]
    window = size * WINDOW
    expected = [
        sorted(
            range(start, min(start + window, len(lengths))),
            key=lambda number: (lengths[number], number),
        )
        for start in range(0, len(lengths), window)
    ]
    assert [int(name) for name in found] == [number for part in expected for number in part]


def test_only_a_window_of_the_stream_is_held_at_a_time():
    taken = []

    def stream():
        for number in range(1000):
            taken.append(number)
            yield item(number, 1 + number % 7)

    found = batches(stream(), size=3)
    next(found)
    assert len(taken) == 3 * WINDOW
    for _ in range(WINDOW):
        next(found)
    assert len(taken) == 6 * WINDOW


def test_an_example_of_one_token_is_a_batch_like_any_other():
    (found,) = Encoder(tokenizer("gpt2")).encode(from_texts(["a"]))
    (batch,) = batches([found], size=8, pad=0)
    seen = (batch.width, batch.ids.tolist(), batch.mask.tolist(), batch.lengths.tolist())
    assert seen == (1, [found.ids.tolist()], [[True]], [1])


def test_without_examples_there_are_no_batches():
    assert list(batches([], size=4)) == []


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_size_below_one_is_refused(size):
    message = f"the batch size must be 1 or more, got {size} instead"
    assert str(refusal(UserError, lambda: list(batches([item(1, 2)], size=size)))) == message
