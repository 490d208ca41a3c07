"""Texts on which heads do what they do, as papers draw them: words, or words and special tokens."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.corpus import (
    ROOT,
    Example,
    FrameLink,
    Mention,
    Word,
    from_examples,
    join_words,
    read,
)
from headscope.heads import Head
from headscope.papers.clark2019.recipe import sentence_corpus, split_treebank
from headscope.runs.examples import (
    antecedent_example,
    example_attention,
    frame_example,
    relation_example,
    sentences,
    short_text,
)
from planted import HEADS, planted_bert

UP, DOWN = "dependent to head", "head to dependent"


@pytest.fixture(scope="module")
def model():
    return planted_bert()


def planted(name: str) -> Head:
    """A head of the planted model."""
    layer, head = HEADS[name]
    return Head(layer - 1, head - 1)


def test_passages_are_cut_into_their_sentences_and_every_tree_stays_what_it_was():
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


def test_a_sentence_by_itself_passes_unchanged():
    one = Example("1", ("the dog",), (Word("the", head=1), Word("dog", head=ROOT)))
    assert list(sentences([one])) == [one]


def test_no_sentence_is_in_both_parts_of_a_treebank_and_none_is_lost():
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


def test_a_part_is_cut_to_a_limit_after_the_parting():
    train, dev = split_treebank(
        from_examples([Example(str(number), ("a dog",)) for number in range(20)])
    )
    assert [example.id for example in dev.first(2)] == ["4", "9"]
    assert [example.id for example in train.first(5)] == ["0", "1", "2", "3", "5"]


def test_a_word_attends_to_what_its_pieces_attend_to(model):
    words = ("the", "dogs", "sat")
    example = Example("1", (" ".join(words),), tuple(map(Word, words)))
    seen = example_attention(model, example, planted("piece"))
    kept = [seen.place[word] for word in range(3)]
    np.testing.assert_allclose(seen.weights[np.ix_(kept, kept)], np.eye(3)[[1, 1, 1]], atol=1e-5)


def framed(text: str, target: int, element: int) -> Example:
    words = tuple(Word(word) for word in text.split())
    link = FrameLink("Frame", "Theme", (target, target), (element, element))
    return Example(text, (text,), words, links=(link,))


def test_the_frame_drawn_is_the_one_along_which_the_head_attends_most(model):
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


def tree(text: str, heads: list[int], relation: str = "dep") -> Example:
    words = tuple(
        Word(word, head=head, relation="root" if head == ROOT else relation)
        for word, head in zip(text.split(), heads, strict=True)
    )
    return Example(text, (text,), words)


def test_words_and_special_tokens_have_rows_and_columns(model):
    example = Example("1", ("the dogs sat",), tuple(map(Word, ("the", "dogs", "sat"))))
    seen = example_attention(model, example, planted("previous"))
    assert seen.words == ("[CLS]", "the", "dogs", "sat", "[SEP]")
    assert dict(seen.place) == {0: 1, 1: 2, 2: 3}
    np.testing.assert_allclose(seen.weights.sum(1), 1, atol=1e-5)
    expected = np.zeros((4, 5))
    expected[0, 0] = 1  # "the" attends to [CLS]
    expected[1, 1], expected[1, 2] = 0.5, 0.5  # "dog" to "the", "##s" to "dog"
    expected[2, 2] = 1  # "sat" to "##s"
    expected[3, 3] = 1  # [SEP] to "sat"
    np.testing.assert_allclose(seen.weights[1:], expected, atol=1e-5)


def test_attention_to_separators_can_be_seen(model):
    seen = example_attention(model, tree("the dog sat", [1, 2, ROOT]), planted("sep"))
    np.testing.assert_allclose(seen.weights[:, -1], 1, atol=1e-5)
    assert seen.strongest(0, [1, 2]) == 1  # special tokens are no candidates; of equals, the first


def test_the_sentence_drawn_is_the_one_on_which_the_head_is_right_most_often(model):
    wrong = tree("the dog saw a cat", [4, 4, 4, 4, ROOT])
    right = tree("the cat saw a dog", [ROOT, 0, 1, 2, 3])
    short = tree("the dog", [1, ROOT])
    head = planted("previous")
    found = relation_example(model, [wrong, short, right], relation="dep", head=head, direction=UP)
    assert found is not None
    assert found.words == ("[CLS]", "the", "cat", "saw", "a", "dog", "[SEP]")
    assert (found.right, found.total, found.marked) == (4, 4, frozenset({2, 3, 4, 5}))
    down = relation_example(model, [right], relation="dep", head=head, direction=DOWN)
    assert down is not None
    # "the" attends to no word, and so to the leftmost other
    assert (down.right, down.marked) == (1, frozenset({1, 2, 3, 4}))
    assert relation_example(model, [right], relation="obj", head=head, direction=UP) is None


def test_of_sentences_that_are_all_right_the_one_with_most_attention_is_drawn(model):
    # Of a split word, half of the attention stays within the word.
    split = tree("the dogs saw a cat", [ROOT, 0, 1, 2, 3])
    whole = tree("the dog saw a cat", [ROOT, 0, 1, 2, 3])
    asked = {"relation": "dep", "head": planted("previous"), "direction": UP}
    found = relation_example(model, [split, whole], **asked)
    assert found is not None
    assert found.words[2] == "dog"
    assert found.weight == pytest.approx(4)
    alone = relation_example(model, [split], **asked)
    assert alone is not None
    assert (alone.right, alone.weight) == (4, pytest.approx(3.5))


def document(mentions: list[tuple[int, str]]) -> Example:
    """Two sentences of five words, with mentions of one word: (word, entity)."""
    texts = ["the", "dog", "saw", "a", "cat", "the", "cat", "saw", "a", "mat"]
    words = tuple(Word(word, sentence=place // 5) for place, word in enumerate(texts))
    found = tuple(Mention(place, place, place, entity) for place, entity in mentions)
    return Example("1", (" ".join(texts),), words, mentions=found)


def test_the_excerpt_drawn_is_one_in_which_the_head_finds_the_antecedent(model):
    # The planted head attends to "dog" from everywhere.
    wrong = document([(1, "dog"), (4, "cat"), (9, "cat")])
    right = document([(1, "dog"), (4, "cat"), (9, "dog")])
    found = antecedent_example(model, [wrong, right], head=planted("word"))
    assert found is not None
    assert found.words == ("[CLS]", *(word.text for word in right.words), "[SEP]")
    assert (found.right, found.total) == (1, 1)
    assert found.marked == frozenset({2, 10})  # "mat" and its antecedent, "dog"
    alone = antecedent_example(model, [wrong], head=planted("word"))
    assert alone is not None
    assert (alone.right, alone.total) == (0, 1)


def test_an_antecedent_with_the_same_head_word_alone_shows_nothing(model):
    same = document([(4, "cat"), (6, "cat")])
    assert antecedent_example(model, [same], head=planted("word")) is None
    assert antecedent_example(model, [document([])], head=planted("word")) is None


def test_mentions_outside_the_excerpt_are_not_asked_for(model):
    words = [Word("the", sentence=0)] * 30
    last = ("the", "dog", "saw", "a", "cat", "on", "the", "mat")
    words += [Word(text, sentence=1) for text in last]
    mentions = tuple(
        Mention(place, place, place, entity)
        for place, entity in ((2, "cat"), (31, "dog"), (34, "cat"), (37, "dog"))
    )
    example = Example("1", ("…",), tuple(words), mentions=mentions)
    found = antecedent_example(model, [example], head=planted("word"))
    assert found is not None
    assert found.total == 1  # the antecedent of "cat" is in the sentence that is too long
    assert found.words[1:-1] == last


def test_the_text_of_figure_1_is_short_and_has_a_comma_if_there_is_one():
    plain = Example("1", ("It is far away from here.", "The dog barked all night."))
    comma = Example("2", ("One, two. He saw it, I think.", "She did not see it. Never."))
    long = Example("3", ("word " * 30 + "end.", "More, and more."))
    assert short_text([long, plain]) == plain.texts
    assert short_text([plain, comma]) == ("He saw it, I think.", "She did not see it.")
    assert short_text([long]) is None
    cut = Example("5", ("He lived there, now and then.", "The U.S. is far away."))
    assert short_text([cut, plain]) == plain.texts  # the second sentence would be "The U.S."
    assert short_text([Example("4", ("The dog sat on the old mat. Then it left.",))]) == (
        "The dog sat on the old mat.",
    )


def test_the_word_whose_prediction_counts_is_asked_and_swapped_relations_are_found(model):
    words = (
        Word("dog", head=2, relation="nmod:poss"),
        Word("'s", head=0, relation="case"),
        Word("mat", head=ROOT, relation="root"),
        Word("on", head=5, relation="case"),
        Word("the", head=5, relation="det"),
        Word("cat", head=2, relation="nmod"),
    )
    example = Example("1", ("dog 's mat on the cat",), words)
    asked = {"head": planted("next"), "direction": UP}
    clitic = relation_example(model, [example], relation="nmod:poss", **asked)
    assert clitic is not None
    assert {clitic.words[place] for place in clitic.marked} == {"'s"}
    assert (clitic.right, clitic.total) == (1, 1)  # the clitic attends to "mat"
    down = {"head": planted("previous"), "direction": "head to dependent"}
    below = relation_example(model, [example], relation="nmod:poss", **down)
    assert below is not None
    assert (below.right, below.total) == (1, 1)  # "mat" attends to the clitic
    swapped = relation_example(model, [example], relation="pobj (SD)", **asked)
    assert swapped is not None
    assert {swapped.words[place] for place in swapped.marked} == {"cat"}  # not "'s"
