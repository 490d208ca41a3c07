"""Rows of tokens and their order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpus import Example, from_examples
from headscope.errors import CorpusError
from headscope.runs.tune.rows import LengthOrder, collator, encode_rows
from headscope.tasks import GLUE
from runs.tune.animals import ANIMALS, sentences
from tiny import tiny_model


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=80),
    st.integers(1, 9),
    st.integers(0, 99),
    st.integers(0, 5),
)
def test_every_row_comes_once_per_epoch_in_a_reproducible_order(lengths, size, seed, epoch):
    order = LengthOrder(lengths, batch_size=size, seed=seed)
    order.set_epoch(epoch)
    found = list(order)
    assert sorted(found) == list(range(len(lengths)))
    assert list(order) == found


def test_epochs_and_seeds_have_different_orders():
    orders = [LengthOrder(range(50), batch_size=4, seed=seed) for seed in (0, 1)]
    second = LengthOrder(range(50), batch_size=4, seed=0)
    second.set_epoch(1)
    assert len({tuple(order) for order in (*orders, second)}) == 3


def test_batches_hold_rows_of_similar_length_and_are_shuffled():
    lengths = np.random.default_rng(0).permutation(320)
    found = lengths[list(LengthOrder(lengths.tolist(), batch_size=32, seed=0))].reshape(10, 32)
    # All 320 lengths are different, and sorted before they are cut into batches.
    assert {int(np.ptp(batch)) for batch in found} == {31}
    assert sorted(found[:, 0].tolist()) != found[:, 0].tolist()


def test_a_batch_is_padded_to_its_longest_row_and_has_token_types():
    model = tiny_model("bert")
    pairs = [
        Example("1", ("the cat", "a dog sat"), label="entailment"),
        Example("2", ("rain", "home"), label="not_entailment"),
    ]
    rows, notes = encode_rows(model, GLUE["rte"], from_examples(pairs), max_length=64)
    expected = model.tokenizer(
        ["the cat", "rain"], ["a dog sat", "home"], padding=True, return_tensors="pt"
    )
    batch = collator(model.network, model.pad)([rows[0], rows[1]])
    assert notes == []
    assert set(batch) == {*expected, "labels"}
    for key, value in expected.items():
        torch.testing.assert_close(batch[key], value)
    assert (batch["labels"].tolist(), batch["labels"].dtype) == ([0, 1], torch.int64)


@pytest.mark.parametrize("length", [8, 9, 12])
def test_long_pairs_are_truncated_as_the_tokenizer_truncates_them(length):
    model = tiny_model("bert")
    pair = ("the cat sat on the mat by the door", "rain fell on the roof again")
    rows, _ = encode_rows(
        model,
        GLUE["rte"],
        from_examples([Example("1", pair, label="entailment")]),
        max_length=length,
    )
    expected = model.tokenizer(*pair, truncation="longest_first", max_length=length)["input_ids"]
    assert rows[0]["ids"].tolist() == expected


def test_a_model_without_token_types_gets_none_and_scores_are_float32():
    model = tiny_model("distilbert")
    rows, _ = encode_rows(
        model,
        GLUE["sts-b"],
        from_examples([Example("1", ("the cat", "a dog"), label="2")]),
        max_length=64,
    )
    batch = collator(model.network, model.pad)([rows[0]])
    assert set(batch) == {"input_ids", "attention_mask", "labels"}
    assert (batch["labels"].tolist(), batch["labels"].dtype) == ([2.0], torch.float32)


def test_examples_without_tokens_are_skipped_with_a_note():
    texts = {"the cat": "cat", "": "cat", "a dog": "dog"}
    examples = [Example(text, (text,), label=label) for text, label in texts.items()]
    corpus = from_examples(examples, name="some")
    rows, notes = encode_rows(tiny_model("bert"), ANIMALS, corpus, max_length=64)
    assert (rows.labels.tolist(), notes) == ([0, 1], ["some: skipped 1 examples without tokens"])


def test_a_corpus_without_any_token_is_an_error():
    with pytest.raises(CorpusError, match="some has no example with any token"):
        encode_rows(
            tiny_model("bert"),
            ANIMALS,
            from_examples([Example("1", ("",), label="cat")], name="some"),
            max_length=64,
        )


def test_the_rows_of_many_examples_keep_their_order():
    corpus = sentences(40, 0)
    rows, _ = encode_rows(tiny_model("bert"), ANIMALS, corpus, max_length=64)
    assert rows.labels.tolist() == [ANIMALS.labels.index(example.label) for example in corpus]


def test_a_note_says_how_much_was_cut():
    corpus = from_examples(
        [Example("1", ("the cat",), label="cat"), Example("2", ("a dog " * 50,), label="dog")],
        name="some",
    )
    model = tiny_model("bert")
    tokens = [
        len(model.tokenizer(example.texts[0], add_special_tokens=False)["input_ids"])
        for example in corpus
    ]
    _, notes = encode_rows(model, ANIMALS, corpus, max_length=16)
    assert notes == [
        f"some: used {tokens[0] + 14} of {sum(tokens)} tokens: 1 example of more than 16 tokens "
        "was cut; a larger max_length (--max-length on the command line) reads more"
    ]
