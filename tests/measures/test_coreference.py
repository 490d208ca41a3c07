"""Accuracy at antecedents: equal to a plain-loop twin on random mentions, and its baselines by
hand.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins
from headscope.corpus import Example, Mention, Word, from_examples, from_texts
from headscope.encode import collate
from headscope.errors import UserError
from headscope.measures import Context, Coreference
from headscope.measures.coreference import (
    BASELINES,
    agree,
    agreement,
    nearest,
    same_head,
    sieves,
    tasks_of,
)
from headscope.models import Shape
from headscope.runs.survey import survey
from measures.test_dependency import CUTS, HEADS, counted, encode, maps_of, trees
from planted import place, planted_bert

KINDS = Coreference.dims["kind"]


@given(drawn=st.lists(trees(), min_size=1, max_size=3), seed=st.integers(0, 2**32 - 1), cuts=CUTS)
@settings(deadline=None, max_examples=80)
def test_right_and_all_answers_equal_those_of_the_twin(drawn, seed, cuts):
    batch = collate([encode(*one) for one in drawn])
    maps = maps_of(batch, seed)
    right, total = counted(Coreference().bind(Context(Shape(1, HEADS, 1)), []), batch, maps, cuts)
    for row, item in enumerate(batch.items):
        for head in range(HEADS):
            real = maps[row, head, : len(item), : len(item)].tolist()
            expected, of = twins.coreference(
                real, item.word.tolist(), item.example.words, item.example.mentions
            )
            assert without_rules(right[row][head]) == +expected
            assert without_rules(total[row]) == +of


def without_rules(counts: Counter[Any]) -> Counter[Any]:
    return Counter({label: count for label, count in counts.items() if label[-1] != "rules right"})


def mentions(text: str, *spans: tuple[int, int, int, str]) -> tuple[list[Word], list[Mention]]:
    """Words, and mentions by start, end, head and entity, in order of their heads. A tag may follow
    a word: dogs/NNS.
    """
    words = [Word(word.partition("/")[0], xpos=word.partition("/")[2]) for word in text.split()]
    return words, [Mention(*span) for span in spans]


def test_the_nearest_mention_is_the_last_before_this_one():
    words, (ann, bo, she) = mentions(
        "Ann saw Bo when she left", (0, 0, 0, "1"), (2, 2, 2, "2"), (4, 4, 4, "1")
    )
    assert nearest(words, she, [ann, bo]) == bo
    assert nearest(words, ann, []) is None


def test_the_same_head_word_is_sought_whatever_its_case_and_the_nearest_such_is_taken():
    words, (first, second, cat, dog) = mentions(
        "The dog saw a Dog and a cat : dog",
        *((0, 1, 1, "1"), (3, 4, 4, "2"), (6, 7, 7, "3"), (9, 9, 9, "2")),
    )
    assert same_head(words, dog, [first, second, cat]) == second
    assert (
        same_head(words, cat, [first, second]) is None
    )  # nobody else is a cat: no answer, which is wrong


def test_the_first_sieve_takes_the_nearest_mention_spelled_alike():
    words, (old, young, again) = mentions(
        "the old dog , the young dog , The old dog",
        *((0, 2, 2, "1"), (4, 6, 6, "2"), (8, 10, 10, "1")),
    )
    assert same_head(words, again, [old, young]) == young
    assert sieves(words, again, [old, young]) == old


def test_the_second_sieve_takes_the_same_head_word_before_any_that_agrees():
    words, (dog, cat, puppy) = mentions(
        "a dog/NN , a cat/NN , the dog/NN", (0, 1, 1, "1"), (3, 4, 4, "2"), (6, 7, 7, "1")
    )
    assert sieves(words, puppy, [dog, cat]) == dog


@pytest.mark.parametrize(
    ("pronoun", "chosen"),
    [
        ("she", 0),  # Mrs. Lee: a man is no she, dogs are many
        ("he", 1),
        ("they", 2),
        ("it", 3),  # a thing, and one
        ("we", 3),  # nobody is of the first person: any, the nearest
        ("himself", 1),
    ],
)
def test_the_third_sieve_asks_for_number_gender_and_person(pronoun, chosen):
    spans = ((0, 1, 1, "1"), (3, 4, 4, "2"), (6, 7, 7, "3"), (9, 9, 9, "4"), (11, 11, 11, "5"))
    words, found = mentions(f"Mrs. Lee/NNP , a man/NN , two dogs/NNS , this , {pronoun}", *spans)
    assert sieves(words, found[-1], found[:-1]) == found[chosen]


def test_the_last_sieve_takes_any_mention_and_without_one_there_is_no_answer():
    words, (dogs, she) = mentions("dogs/NNS , she", (0, 0, 0, "1"), (2, 2, 2, "2"))
    assert not agree(agreement(words, dogs), agreement(words, she))
    assert sieves(words, she, [dogs]) == dogs
    assert sieves(words, dogs, []) is None


def test_two_joined_by_and_are_many_and_a_word_without_a_tag_may_be_either():
    words, (both, ann) = mentions("Ann and Bo", (0, 2, 0, "1"), (0, 0, 0, "2"))
    assert agreement(words, both) == ("many", "", "3")
    assert agreement(words, ann) == ("", "", "3")
    tagged, (lee,) = mentions("Ms. Lee/NNP", (0, 1, 1, "1"))
    assert agreement(tagged, lee) == ("one", "female", "3")


TEXT = "the dog saw the cat . it sat . the dog sat ."
DOCUMENT = Example(
    "1",
    (TEXT,),
    tuple(map(Word, TEXT.split())),
    (
        Mention(0, 1, 1, "dog", "nominal"),
        Mention(3, 4, 4, "cat", "nominal"),
        Mention(6, 6, 6, "dog", "pronoun"),
        Mention(9, 10, 10, "dog", "nominal"),
    ),
)


def test_tasks_are_the_mentions_with_an_antecedent_and_their_candidates_the_earlier_heads():
    (item,) = planted_bert().encoder(max_length=24, long="drop", stack="encoder").encode([DOCUMENT])
    places = {word: word for word in range(len(DOCUMENT.words))}
    it, dog = tasks_of(item, places, places)
    assert (it.row, it.candidates, it.answers, it.kind) == (6, [1, 4], [1], "pronoun")
    assert (dog.row, dog.candidates, dog.answers, dog.kind) == (10, [1, 4, 6], [1, 6], "nominal")
    named = dict.fromkeys(BASELINES)
    assert list(named) == ["nearest", "same head word", "rules"]
    # the cat is nearer, no other is called "it", and a cat agrees with it as well
    assert it.baselines == (False, False, False)
    assert dog.baselines == (True, True, True)


@pytest.mark.parametrize(
    ("head", "candidates", "kind", "right", "n"),
    [
        ("word", "words", "all", 2, 2),  # "dog" everywhere, also from the second "dog"
        ("word", "mentions", "pronoun", 1, 1),
        ("previous", "words", "all", 0, 2),
    ],
)
def test_planted_heads_have_the_accuracy_counted_by_hand(head, candidates, kind, right, n):
    cell = survey(
        planted_bert(), from_examples([DOCUMENT]), measures=["coreference"], max_length=24
    )["coreference"]
    cell = cell.sel(**place(head), candidates=candidates, kind=kind, mentions="every")
    assert (float(cell["sum"].sum()), int(cell["n"])) == (right, n)


def test_a_corpus_without_mentions_says_so_when_asked():
    with pytest.raises(
        UserError,
        match=r"^the measure 'coreference' needs mentions, words, which 1 text does not have \(it "
        r"has plain text only\)\nnext: use a corpus with coreference$",
    ):
        survey(planted_bert(), from_texts(["a dog"]), measures=["coreference"], max_length=24)
