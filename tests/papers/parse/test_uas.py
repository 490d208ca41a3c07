"""Attachment scores, their intervals, and the right-branching baseline."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headscope.corpus import ROOT, Example, Word
from headscope.papers.clark2019.parse import (
    attachment_score,
    attachments,
    compare_probes,
    right_branching,
)
from headscope.papers.clark2019.word_maps import (
    LOST,
    UNKNOWN,
    ParseSentence,
    is_punctuation,
    make_sentence,
    split_sentences,
)
from stats.references import holm


def sentence(heads: list[int], punctuation: list[bool] | None = None) -> ParseSentence:
    return ParseSentence(
        tuple("x" for _ in heads), np.array(heads), np.array(punctuation or [False] * len(heads))
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(-3, 3), st.integers(-1, 3), st.booleans()), min_size=1, max_size=5
        ),
        min_size=1,
        max_size=5,
    ),
    st.booleans(),
)
def test_attachments_agree_with_a_plain_loop(drawn, punctuation):
    sentences = [
        sentence([gold for gold, _, _ in words], [point for _, _, point in words])
        for words in drawn
    ]
    right, total = attachments(
        sentences,
        [np.array([guess for _, guess, _ in words]) for words in drawn],
        punctuation=punctuation,
    )
    for index, words in enumerate(drawn):
        counted = [
            (gold, guess)
            for gold, guess, point in words
            if gold != UNKNOWN and (punctuation or not point)
        ]
        assert total[index] == len(counted)
        assert right[index] == sum(1 for gold, guess in counted if gold == guess)


def test_uas_is_over_all_words_and_not_a_mean_over_sentences():
    found = attachment_score(np.array([1, 0, 3]), np.array([1, 5, 4]), seed=0)
    assert (found.uas, found.words, found.sentences) == (pytest.approx(4 / 10), 10, 3)


def test_a_word_whose_head_has_no_pieces_counts_as_wrong():
    right, total = attachments([sentence([LOST, ROOT])], [np.array([1, -1])])
    assert (right.tolist(), total.tolist()) == ([1], [2])


def test_the_interval_agrees_with_scipys_bootstrap_over_sentences():
    draw = np.random.default_rng(1)
    total = draw.integers(1, 30, 200)
    right = draw.binomial(total, 0.6)
    found = attachment_score(right, total, seed=0)
    reference = stats.bootstrap(
        (right, total),
        lambda r, t, axis: r.sum(axis) / t.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=4000,
        rng=np.random.default_rng(2),
    ).confidence_interval
    expected = (pytest.approx(reference.low, abs=0.004), pytest.approx(reference.high, abs=0.004))
    assert (found.low, found.high) == expected


def test_sentences_of_one_document_are_drawn_together():
    draw = np.random.default_rng(1)
    total = draw.integers(1, 30, 50)
    right = draw.binomial(total, 0.6)
    once = attachment_score(right, total, seed=0)
    documents = [f"d{place // 2}" for place in range(100)]
    twice = attachment_score(np.repeat(right, 2), np.repeat(total, 2), seed=0, documents=documents)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
    alone = attachment_score(np.repeat(right, 2), np.repeat(total, 2), seed=0)
    assert alone.high - alone.low < 0.85 * (once.high - once.low)


def test_the_seed_determines_the_interval():
    right, total = np.array([1, 2, 0, 4, 3]), np.array([3, 2, 2, 6, 5])
    assert attachment_score(right, total, seed=3) == attachment_score(right, total, seed=3)
    assert attachment_score(right, total, seed=3) != attachment_score(right, total, seed=4)


def test_the_score_of_no_words_is_nan():
    found = attachment_score(np.array([0]), np.array([0]), seed=0)
    assert np.isnan([found.uas, found.low, found.high]).all()
    assert (found.words, found.sentences) == (0, 0)


@pytest.mark.parametrize(
    ("length", "heads"), [(1, [ROOT]), (2, [1, ROOT]), (5, [1, 2, 3, 4, ROOT])]
)
def test_right_branching_attaches_each_word_to_the_next_one(length, heads):
    assert right_branching(length).tolist() == heads


def test_right_branching_by_hand_on_a_tree():
    tree = sentence([1, 2, ROOT, 4, 2, 2], [False] * 5 + [True])  # the full stop is not counted
    right, total = attachments([tree], [right_branching(6)])
    assert (right.tolist(), total.tolist()) == ([3], [5])  # words 0, 1 and 3


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (Word(",", relation="punct"), True),
        (Word("-", relation="punct:x"), True),
        (Word("!", upos="PUNCT", relation="root"), True),
        (Word("$", upos="SYM"), False),
    ],
)
def test_punctuation_is_recognised_by_relation_or_tag(word, expected):
    assert is_punctuation(word) is expected


def test_each_sentence_of_a_passage_is_a_tree_over_the_words_kept():
    words = (
        Word("Go", sentence=0, head=ROOT),
        Word("!", sentence=0, head=0),
        Word("I", sentence=1, head=4),
        Word("", sentence=1, head=4),
        Word("go", sentence=1, head=ROOT),
        Word("on", sentence=1, head=3),
        Word("so", sentence=1),
    )
    example = Example("1", ("Go ! I  go on so",), words)
    parts = split_sentences(example, [0, 1, 2, 4, 5, 6])
    assert [part.tolist() for part in parts] == [[0, 1], [2, 4, 5, 6]]
    assert make_sentence(example, parts[0]).heads.tolist() == [ROOT, 0]
    second = make_sentence(example, parts[1])
    assert second.words == ("I", "go", "on", "so")
    assert second.heads.tolist() == [1, ROOT, LOST, UNKNOWN]


def test_probes_are_compared_pair_by_pair_the_better_one_first():
    total = np.array([5, 0, 4, 6, 5] * 8)
    right = {
        "low": np.minimum(total, 1),
        "high": np.maximum(total - 1, 0),
        "same": np.maximum(total - 1, 0),
    }
    pairs = compare_probes(right, total, seed=0)
    expected = [("high", "same"), ("high", "low"), ("same", "low")]
    assert [(pair["probe"], pair["other"]) for pair in pairs] == expected
    assert [pair["difference"] for pair in pairs] == pytest.approx([0.0, 0.6, 0.6])
    assert pairs[0]["p"] == pairs[0]["p_corrected"] == 1.0
    assert pairs[1]["low"] <= 0.6 <= pairs[1]["high"]
    assert [pair["p_corrected"] for pair in pairs] == pytest.approx(
        holm([pair["p"] for pair in pairs])
    )
    assert compare_probes({"low": right["low"]}, total, seed=0) == []
    assert compare_probes(right, total * 0, seed=0) == []
