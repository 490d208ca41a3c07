"""Probing tasks that change their sentences."""

from collections import Counter
from itertools import pairwise
from math import log2
from random import Random

import pytest

from headscope.tasks.sentences import Treebank, sentences_of, usable
from headscope.tasks.ten import bigram_shift, invert, odd_man_out
from tasks.make.handmade import CLAUSES, examples, originals, sentence


def test_unchanged_sentences_are_in_the_corpus_and_changed_ones_are_not(made, demo):
    said = {found.text for found in sentences_of(demo)}
    for title in ("BigramShift", "OddManOut", "CoordInv"):
        for example in examples(made[title]):
            assert (example.texts[0] in said) == (example.label == "O")


def test_a_shift_swaps_two_adjacent_words_never_punctuation_nor_the_first_word(made, demo):
    for example, old in originals(made["BigramShift"], demo):
        new = example.texts[0].split()
        changed = [
            place
            for place, (word, text) in enumerate(zip(old, new, strict=True))
            if word.text != text
        ]
        if example.label == "I":
            at, after = changed
            assert (after, new[at], new[after]) == (at + 1, old[after].text, old[at].text)
            assert all(old[place].upos != "PUNCT" for place in changed)
            assert any(word.upos != "PUNCT" for word in old[:at])
        else:
            assert not changed


def test_the_odd_word_has_the_tag_and_similar_bigrams_to_the_one_it_replaces(made, demo):
    kept, _ = usable(sentences_of(demo))
    bigrams = Counter(
        pair for found in kept for pair in pairwise(word.text.lower() for word in found.words)
    )
    tags = {(word.text, word.xpos) for found in kept for word in found.words}
    lemmas = {(word.text, word.lemma) for found in kept for word in found.words}
    for example, old in originals(made["OddManOut"], demo):
        new = example.texts[0].split()
        changed = [
            place
            for place, (word, text) in enumerate(zip(old, new, strict=True))
            if word.text != text
        ]
        assert len(changed) == (example.label == "C")
        for at in changed:
            assert old[at].upos in {"NOUN", "VERB"}
            assert (new[at], old[at].xpos) in tags
            assert (new[at], old[at].lemma) not in lemmas
            before = [word.text.lower() for word in old]
            after = [word.lower() for word in new]
            for place in (at - 1, at):
                one, other = (
                    bigrams[before[place], before[place + 1]],
                    bigrams[after[place], after[place + 1]],
                )
                assert min(one, other) >= 1
                assert abs(log2(one + 1) - log2(other + 1)) <= 1


@pytest.mark.parametrize("scheme", CLAUSES)
def test_clauses_are_swapped_and_capitals_stay_in_front(scheme):
    assert " ".join(invert(sentence(CLAUSES[scheme]))) == "We left early , and it rained ."


def test_names_and_the_pronoun_keep_their_capitals():
    for text, expected in (
        ("Ann/PROPN/2/nsubj", "Ann"),
        ("Ann/NNP/2/nsubj", "Ann"),
        ("I/PRP/2/nsubj", "I"),
        ("NASA/NN/2/nsubj", "NASA"),
        ("He/PRP/2/nsubj", "he"),
        ("it/PRP/2/nsubj", "it"),
    ):
        found = invert(sentence(CLAUSES["stanford"].replace("It/PRP/2/nsubj", text)))
        assert found[5] == expected
        assert found[0] == ("we" if expected == "it" and text.startswith("it") else "We")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("we/PRP/6/nsubj", "we/PRP/6/advmod"),  # no subject: verbs of one clause
        ("and/CC/2/cc", "and/CC/2/dep"),  # no conjunction
        ("early/RB/6/advmod", "early/RB/2/advmod"),  # the second clause is not by itself
        ("early/RB/6/advmod", '"/PUNCT/6/punct'),  # one of a pair of quotes would be torn off
        ("early/RB/6/advmod", "went/VBD/2/conj"),  # three clauses
        ("rained/VBD/0/root", "rained/VBD/6/dep"),  # no root
    ],
)
def test_what_is_not_two_clauses_is_not_inverted(old, new):
    assert invert(sentence(CLAUSES["stanford"].replace(old, new))) == []


def test_an_inverted_sentence_has_the_words_it_had(made, demo):
    for example, old in originals(made["CoordInv"], demo):
        assert Counter(example.texts[0].lower().split()) == Counter(
            word.text.lower() for word in old
        )


def test_sentences_that_cannot_be_changed_are_counted():
    same = sentence("no/UH/0/root no/UH/1/dep no/UH/1/dep !/PUNCT/1/punct")
    assert bigram_shift(Treebank([same]), Random(0)).skipped == {
        "without two words that could be swapped": 1
    }
    assert odd_man_out(Treebank([same]), Random(0)).skipped == {
        "without a noun or verb that has a fitting replacement": 1
    }


def test_a_change_that_spells_another_sentence_is_not_made():
    pair = [
        sentence("Go/VB/0/root up/RB/1/advmod down/RB/1/advmod ./PUNCT/1/punct"),
        sentence("Go/VB/0/root down/RB/1/advmod up/RB/1/advmod ./PUNCT/1/punct"),
    ]
    found = bigram_shift(Treebank(pair), Random(0))
    assert (found.items, found.skipped) == ([], {"that would spell another sentence": 2})
