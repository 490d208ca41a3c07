"""Attention to linguistic features: equal to a plain-loop twin, exact on planted heads, and by
position rather than by spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import pytest
from hypothesis import given, settings

from headscope.corpus import Example, Word, from_examples, join_words
from headscope.encode import SEPARATOR, START
from headscope.measures import Feature
from headscope.measures.grammar import NEGATIONS, feature_words, negations
from headscope.runs.survey import survey
from measures.annotated import CASES, made, real_maps, tree, values_of
from planted import place, planted_bert

FEATURES = Feature.dims["feature"]

FOOTNOTE = (
    "neither, nor, not, never, none, don't, won't, didn't, hadn't, haven't, can't, isn't, "
    "wasn't, shouldn't, couldn't, nothing, nowhere"
)
"""The paper's footnote 6."""


def has(feature: str, word: int, words: Sequence[Word]) -> bool:
    """Whether a word has a feature, spelled out."""
    one = words[word]
    if feature == "negation":
        listed = FOOTNOTE.split(", ")

        def text(index: int) -> str:
            return words[index].text.lower().replace("’", "'")

        after = (
            word + 1 < len(words)
            and text(word + 1) == "n't"
            and words[word + 1].sentence == one.sentence
            and text(word) + "n't" in listed
        )
        before = (
            word > 0
            and text(word) == "n't"
            and words[word - 1].sentence == one.sentence
            and text(word - 1) + "n't" in listed
        )
        return text(word) in listed or after or before
    relation = one.relation.split(":")[0]
    return {
        "noun": one.upos in ("NOUN", "PROPN") or one.upos.startswith("NN"),
        "verb": one.upos in ("VERB", "AUX", "MD") or one.upos.startswith("VB"),
        "pronoun": one.upos in ("PRON", "PRP", "PRP$", "WP", "WP$", "EX"),
        "subject": relation in ("nsubj", "nsubjpass", "csubj", "csubjpass"),
        "object": relation in ("obj", "dobj") and of_main_predicate(one.head, words),
        "punctuation": one.upos
        in ("PUNCT", ".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"),
    }[feature]


def of_main_predicate(word: int | None, words: Sequence[Word]) -> bool:
    """Whether a word is the root, or a conjunct of the root, or of its conjunct …"""
    seen: list[int] = []
    while word is not None and word >= 0 and word not in seen:
        if words[word].head == -1:
            return True
        if words[word].relation.split(":")[0] != "conj":
            return False
        seen.append(word)
        word = words[word].head
    return False


def feature(
    map: list[list[float]], owners: Sequence[int], kinds: Sequence[int], words: Sequence[Word]
) -> dict[str, float]:
    """attention to the token from all tokens, divided by L; the maximum if several;
    undefined without one.
    """
    found = {}
    for name in FEATURES:
        best = nan
        for key in range(len(map)):
            special = {"cls": kinds[key] == START, "sep": kinds[key] == SEPARATOR}
            if (
                special[name]
                if name in special
                else owners[key] >= 0 and has(name, owners[key], words)
            ):
                value = sum(map[query][key] for query in range(len(map))) / len(map)
                best = value if best != best else max(best, value)
        found[name] = best
    return found


@given(case=CASES)
@settings(deadline=None, max_examples=60)
def test_values_equal_those_of_the_twin(case):
    batch, maps, causal = made(case)
    values = values_of(Feature, batch, maps, causal=causal)
    for row, head, item, real in real_maps(batch, maps):
        expected = feature(real, item.word.tolist(), item.kind.tolist(), item.example.words)
        assert values[row, head].tolist() == pytest.approx(
            [expected[name] for name in FEATURES], rel=1e-5, abs=1e-6, nan_ok=True
        )


def test_the_negations_are_the_words_of_the_paper_s_footnote():
    assert set(FOOTNOTE.split(", ")) == NEGATIONS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I do not", {2}),
        ("I don't", {1}),
        ("I Don’t", {1}),
        ("I do n't", {1, 2}),
        ("I ca n’t", {1, 2}),
        ("she does n't", set()),  # doesn't is not on the list
        ("n't", set()),
        ("knot nothingness", set()),  # whole words only
    ],
)
def test_negations_are_whole_words_and_split_ones_count_together(text, found):
    assert negations([Word(word) for word in text.split()]) == found


def test_a_clitic_of_another_sentence_or_text_does_not_make_a_negation():
    assert negations([Word("do", sentence=0), Word("n't", sentence=1)]) == set()
    assert negations([Word("do", segment=0), Word("n't", segment=1)]) == set()


UNIVERSAL = tree(
    "the|DET|det|2 dogs|NOUN|nsubj:pass|4 were|AUX|aux:pass|4 seen|VERB|root|0 and|CCONJ|cc|6 "
    "gave|VERB|conj|4 him|PRON|iobj|6 bones|NOUN|obj|6"
)
STANFORD = tree(
    "the|DT|det|2 dogs|NNS|nsubjpass|4 were|VBD|auxpass|4 seen|VBN|root|0 and|CC|cc|4 "
    "gave|VBD|conj|4 him|PRP|iobj|6 bones|NNS|dobj|6"
)


@pytest.mark.parametrize("words", [UNIVERSAL, STANFORD], ids=["universal", "stanford"])
def test_universal_and_stanford_annotation_give_the_same_words(words):
    assert feature_words(words) == {
        **{"noun": {1, 7}, "verb": {2, 3, 5}, "pronoun": {6}, "subject": {1}, "object": {7}},
        **{"negation": set(), "punctuation": set()},
    }


def test_an_object_of_another_clause_is_no_object_of_the_main_predicate():
    words = tree(
        "she|PRON|nsubj|2 read|VERB|root|0 the|DET|det|4 book|NOUN|obj|2 that|PRON|mark|7 "
        "he|PRON|nsubj|7 gave|VERB|acl:relcl|4 her|PRON|obj|7 .|PUNCT|punct|2"
    )
    found = feature_words(words)
    assert found["object"] == {3}
    assert found["punctuation"] == {8}


def test_penn_tags_of_punctuation_count():
    words = tree("well|UH|discourse|3 ,|,|punct|3 go|VB|root|0 -|HYPH|punct|3 !|.|punct|3")
    assert feature_words(words)["punctuation"] == {1, 3, 4}


# [CLS] it saw the dog ##s [SEP]
SAW = tree("it|PRON|nsubj|2 saw|VERB|root|0 the|DET|det|4 dogs|NOUN|obj|2")


def run(words: tuple[Word, ...]):
    corpus = from_examples([Example("1", join_words(words), words)])
    return survey(planted_bert(), corpus, measures=["feature"], max_length=24)["feature"]


@pytest.mark.parametrize(
    ("head", "name", "value"),
    [
        ("piece", "noun", 1.0),  # all attend to "##s", which is a token of the noun too
        ("word", "object", 1.0),
        ("word", "verb", 0.0),
        ("sep", "sep", 1.0),
        ("uniform", "pronoun", 1 / 7),
    ],
)
def test_planted_heads_have_the_attention_counted_by_hand(head, name, value):
    found = run(SAW)["mean"].sel(**place(head), feature=name)
    assert found.item() == pytest.approx(value, abs=1e-5)
