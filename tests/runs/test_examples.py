"""Sentences cut out of passages, the two parts of a treebank, and heads and words by name."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.corpus import ROOT, Example, Word, from_examples, join_words, read
from headscope.errors import UserError
from headscope.models import Model
from headscope.papers.clark2019.treebank import sentence_corpus, split_treebank
from headscope.runs.examples import (
    parse_head,
    relation_example,
    sentences,
    token_attention,
    which_tokens,
    word_attention,
)
from planted import HEADS, planted_bert


@pytest.fixture(scope="module")
def model() -> Model:
    return planted_bert()


def test_passages_are_cut_into_their_sentences_and_every_tree_stays_what_it_was() -> None:
    passages = list(read("demo", limit=6))
    cut = list(sentences(passages))
    whole = iter(cut)
    for passage in passages:
        for number in sorted({word.sentence for word in passage.words}):
            before, after = [word for word in passage.words if word.sentence == number], next(whole)
            first = passage.words.index(before[0])
            assert [word.text for word in after.words] == [word.text for word in before]
            assert [(word.head, word.relation, word.upos) for word in after.words] == [
                (word.head if word.head == ROOT else word.head - first, word.relation, word.upos)
                for word in before
            ]
    assert next(whole, None) is None
    assert len({sentence.id for sentence in cut}) == len(cut)
    for sentence in cut:
        assert sentence.texts == join_words(sentence.words)
        assert sum(word.head == ROOT for word in sentence.words) == 1
        for place in range(len(sentence.words)):
            steps = 0
            while place != ROOT:
                place = sentence.words[place].head
                steps += 1
                assert steps <= len(sentence.words)


def test_a_sentence_by_itself_passes_unchanged() -> None:
    one = Example("1", ("the dog",), (Word("the", head=1), Word("dog", head=ROOT)))
    assert list(sentences([one])) == [one]


def test_no_sentence_is_in_both_parts_of_a_treebank_and_none_is_lost() -> None:
    whole = sentence_corpus(read("demo", limit=6))
    train, dev = split_treebank(whole)
    names = [[example.id for example in part] for part in (train, dev)]
    assert not set(names[0]) & set(names[1])
    assert set(names[0]) | set(names[1]) == {example.id for example in whole}
    texts = [{example.texts for example in part} for part in (train, dev)]
    assert not texts[0] & texts[1]
    total = len(names[0]) + len(names[1])
    assert len(names[1]) == total // 5 > 5
    assert len({whole.checksum, train.checksum, dev.checksum}) == 3


def test_a_part_is_cut_to_a_limit_after_the_parting() -> None:
    train, dev = split_treebank(
        from_examples([Example(str(number), ("a dog",)) for number in range(20)])
    )
    assert [example.id for example in dev.first(2)] == ["4", "9"]
    assert [example.id for example in train.first(5)] == ["0", "1", "2", "3", "5"]


def test_a_head_is_named_by_layer_and_number_from_1(model: Model) -> None:
    assert parse_head("2-5", model) == (1, 4)


@pytest.mark.parametrize("name", ["0-1", "3-1", "1-6", "1", "a-b", "1-1-1", "-1-1"])
def test_a_head_that_does_not_exist_is_told_with_those_that_do(model: Model, name: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_head(name, model)
    assert (
        caught.value.message == f"the head must be LAYER-HEAD from 1-1 to 2-5, got {name!r} instead"
    )


def test_words_are_found_whatever_their_case_and_everywhere() -> None:
    assert which_tokens(["[CLS]", "the", "dog", "saw", "The", "[SEP]"], ["THE", "[SEP]"]) == [
        1,
        4,
        5,
    ]
    with pytest.raises(
        UserError,
        match=r"^the word must be one of a, dog; got 'dgo' instead\. Did you mean 'dog'\?$",
    ):
        which_tokens(["a", "dog"], ["dgo"])


def test_token_attention_has_the_tokens_as_the_model_sees_them_and_the_maps_of_all_heads(
    model: Model,
) -> None:
    tokens, maps = token_attention(model, "The dogs sat", max_length=24)
    assert [token.lower() for token in tokens] == ["[cls]", "the", "dog", "s", "sat", "[sep]"]
    assert maps.shape == (2, 5, 6, 6)
    layer, head = HEADS["previous"]
    np.testing.assert_allclose(maps[layer - 1, head - 1, 1:], np.eye(6)[:-1], atol=1e-5)
    with pytest.raises(UserError, match="has no tokens"):
        token_attention(model, "   ", max_length=24)


def test_word_attention_has_a_row_and_a_column_for_each_word(model: Model) -> None:
    words = ("the", "dogs", "sat")
    maps, kept = word_attention(
        model, Example("1", (" ".join(words),), tuple(Word(word) for word in words)), "encoder"
    )
    assert kept == [0, 1, 2]
    assert maps.shape == (2, 5, 3, 3)
    layer, head = HEADS["piece"]
    np.testing.assert_allclose(maps[layer - 1, head - 1], np.eye(3)[[1, 1, 1]], atol=1e-5)


def tree(text: str, heads: list[int], relation: str = "dep") -> Example:
    words = tuple(
        Word(word, head=head, relation="root" if head == ROOT else relation)
        for word, head in zip(text.split(), heads, strict=True)
    )
    return Example(text, (text,), words)


def test_the_sentence_drawn_is_the_one_on_which_the_head_is_right_most_often(model: Model) -> None:
    wrong = tree("the dog saw a cat", [4, 4, 4, 4, ROOT])
    right = tree("the cat saw a dog", [ROOT, 0, 1, 2, 3])
    short = tree("the dog", [1, ROOT])
    layer, head = (number - 1 for number in HEADS["previous"])
    drawn = relation_example(
        model,
        [wrong, short, right],
        relation="dep",
        layer=layer,
        head=head,
        direction="dependent to head",
    )
    assert drawn is not None
    assert drawn.words == ("the", "cat", "saw", "a", "dog")
    assert (drawn.right, drawn.arcs, drawn.marked) == (4, 4, frozenset({1, 2, 3, 4}))
    down = relation_example(
        model, [right], relation="dep", layer=layer, head=head, direction="head to dependent"
    )
    assert down is not None
    assert (down.right, down.marked) == (
        1,
        frozenset({0, 1, 2, 3}),
    )  # "the" attends to no word, and so to the leftmost other
    assert (
        relation_example(
            model, [right], relation="obj", layer=layer, head=head, direction="dependent to head"
        )
        is None
    )
