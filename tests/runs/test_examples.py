"""Sentences cut out of passages, the two parts of a treebank, and example sentences of heads."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.corpus import ROOT, Example, FrameLink, Word, from_examples, join_words, read
from headscope.heads import Head
from headscope.models import Model
from headscope.papers.clark2019.recipe import sentence_corpus, split_treebank
from headscope.runs.examples import frame_example, sentences, word_attention
from planted import HEADS, planted_bert


@pytest.fixture(scope="module")
def model() -> Model:
    return planted_bert()


def planted(name: str) -> Head:
    """A head of the planted model."""
    layer, head = HEADS[name]
    return Head(layer - 1, head - 1)


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


def test_word_attention_has_a_row_and_a_column_for_each_word(model: Model) -> None:
    words = ("the", "dogs", "sat")
    maps, kept = word_attention(
        model, Example("1", (" ".join(words),), tuple(Word(word) for word in words)), "encoder"
    )
    assert kept == [0, 1, 2]
    assert maps.shape == (2, 5, 3, 3)
    layer, head = HEADS["piece"]
    np.testing.assert_allclose(maps[layer - 1, head - 1], np.eye(3)[[1, 1, 1]], atol=1e-5)


def framed(text: str, target: int, element: int) -> Example:
    words = tuple(Word(word) for word in text.split())
    link = FrameLink("Frame", "Theme", (target, target), (element, element))
    return Example(text, (text,), words, links=(link,))


def test_the_frame_drawn_is_the_one_along_which_the_head_attends_most(model: Model) -> None:
    far = framed("the dog saw a cat", 0, 4)
    near = framed("a dog saw the cat", 3, 2)
    found = frame_example(model, [far, near], head=planted("previous"))
    assert found is not None
    assert found.words == ("a", "dog", "saw", "the", "cat")
    assert found.marked == frozenset({2, 3})
    plain = Example(
        "1", ("the dog saw a cat",), tuple(map(Word, ["the", "dog", "saw", "a", "cat"]))
    )
    assert frame_example(model, [plain], head=planted("previous")) is None
