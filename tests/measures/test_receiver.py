"""Receiver heads: against scipy's kurtosis on eager attention, and planted maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kurtosis

import headscope as hs
from headscope.corpus import Example, Word, from_texts, sentence_numbers, surface_words
from headscope.encode import Batch, Encoded, Encoder, collate
from headscope.errors import UserError
from headscope.measures import Context, Receiver
from headscope.models import LayerView, Shape
from headscope.stats import model_summary
from tiny import eager_run, tiny_model, tiny_tokenizer

LONG = [
    "The cat sat. A dog ran by the door. It sang! Rain fell. We walked home. Who? We. And the dog.",
    "A bird sang in the old tree. It fell. We sat. The roof. The mat. Rain. The end of it. A.",
    "The cat sat. The dog sat. We walked.",
]


def places(item: Encoded) -> list[list[int]]:
    """The tokens of each sentence: a new one begins behind a token that ends one."""
    found: list[list[int]] = [[]]
    for place, text in enumerate(item.text):
        if item.unit[place] >= 0:
            found[-1].append(place)
            if text.strip("▁Ġ ") in {".", "!", "?"}:
                found.append([])
    return [sentence for sentence in found if sentence]


def by_scipy(rows: list[list[float]], sentences: list[list[int]], later: int) -> float:
    """Plain loops and scipy, from the paper: NaN where no later sentence is left out."""
    received = []
    for number, keys in enumerate(sentences):
        means = [
            np.mean([rows[query][key] for query in queries for key in keys])
            for queries in sentences[number + later :]
        ]
        if means:
            received.append(np.mean(means))
    return float(kurtosis(received))


@pytest.mark.parametrize(
    ("kind", "stack", "later", "least"), [("gpt2", "decoder", 4, 8), ("bert", "encoder", 2, 4)]
)
def test_receivers_have_the_kurtosis_that_scipy_gives(kind, stack, later, least):
    atlas = hs.survey(
        tiny_model(kind), LONG, measures=Receiver(later, least), max_length=64, batch_size=3
    )
    found, counted = atlas.mean("receiver"), 0
    expected = np.zeros(found.shape)
    for item in Encoder(tiny_tokenizer(kind), max_length=64).encode(from_texts(LONG)):
        if len(sentences := places(item)) < least:
            continue
        counted += 1
        for layer, maps in enumerate(eager_run(kind, collate([item]))[1][stack]):
            for head, rows in enumerate(maps[0].tolist()):
                expected[layer, head] += by_scipy(rows, sentences, later)
    assert counted == 2
    assert (atlas["receiver"]["n"] == counted).all()
    np.testing.assert_allclose(found, expected / counted, rtol=1e-3)


def value(batch: Batch, maps: torch.Tensor) -> list[float]:
    measure = Receiver().bind(Context(Shape(1, 1, 1), causal=True), [])
    prepared = measure.prepare(batch, "cpu")
    output = torch.zeros(len(batch), batch.width, 1, 1)
    view = LayerView("decoder", 0, maps, output, torch.nn.Identity())
    for first in range(0, batch.width, 16):
        measure.rows(view, maps[:, :, first : first + 16], first, prepared)
    found: list[float] = measure.end(view, prepared)[:, 0, 0].tolist()
    return found


@pytest.mark.parametrize("chosen", [0, 2])
def test_a_sentence_that_receives_everything_has_the_largest_kurtosis_there_is(chosen):
    """Of n values of which all but one are 0, it is n - 5 + 1 / (n - 1)."""
    items = list(Encoder(tiny_tokenizer("gpt2")).encode(from_texts(LONG)))
    batch = collate(items)
    maps = torch.full((len(items), 1, batch.width, batch.width), torch.nan)  # in padding
    for row, item in enumerate(items):
        sentences = places(item)
        maps[row, 0, : len(item)] = 0.0
        maps[row, 0, : len(item), sentences[min(chosen, len(sentences) - 1)]] = 1.0
    found = value(batch, maps)
    counts = [len(places(item)) - 4 for item in items]
    expected = [n - 5 + 1 / (n - 1) for n in counts[:2]]
    np.testing.assert_allclose(found[:2], expected, rtol=1e-5)
    assert np.isnan(found[2])  # three sentences


def test_sentences_that_receive_the_same_have_no_kurtosis():
    batch = collate(list(Encoder(tiny_tokenizer("gpt2")).encode(from_texts(LONG[:1]))))
    assert np.isnan(value(batch, torch.full((1, 1, batch.width, batch.width), 0.5)))


def test_annotated_words_say_which_sentence_they_are_in():
    words = tuple(
        Word(text, segment=segment, sentence=sentence)
        for text, segment, sentence in [("A", 0, 3), ("dog", 0, 3), ("It", 0, 5), ("Yes", 1, 0)]
    )
    assert sentence_numbers(Example("1", ("A dog It", "Yes"), words)) == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rains. She left! Why? No…  Yes", ["It rains.", "She left!", "Why?", "No…", "Yes"]),
        ('"Stop!" he said. (It did.) Then', ['"Stop!" he said.', "(It did.)", "Then"]),
        ('He wrote "no." Then 3.5 km', ['He wrote "no."', "Then 3.5 km"]),
        ("One line\nand another\n\n\nThe end", ["One line", "and another", "The end"]),
        ("approx. ten e.g. this. 2 more", ["approx. ten e.g. this.", "2 more"]),
        ("", []),
    ],
)
def test_text_without_annotation_is_cut_by_a_simple_rule(text, sentences):
    example = Example("1", (text,))
    numbers, words = sentence_numbers(example), surface_words(example)
    expected = [surface_words(Example("1", (sentence,))) for sentence in sentences]
    found = [
        [word for word, at in zip(words, numbers, strict=True) if at == number]
        for number in range(len(sentences))
    ]
    assert found == expected
    assert len(numbers) == sum(map(len, expected))


def test_a_corpus_of_short_texts_is_warned_of():
    for measure, warned in ((Receiver(), True), (Receiver(1, 3), False)):
        atlas = hs.survey(tiny_model("gpt2"), LONG[2:], measures=measure, max_length=64)
        texts = [line.text for line in model_summary(atlas)]
        assert any("Nothing was counted for receiver" in text for text in texts) == warned


def test_options_are_checked():
    with pytest.raises(UserError, match="sentences of a text must be a whole number, 6 or more"):
        Receiver(later=4, least=5)
