"""Examples that are too long or empty: cut, split or dropped, and always counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from encode.tokenizers import KINDS, tokenizer
from headscope.corpus import Example, Word, from_texts, join_words
from headscope.encode import LONG, TEXT, Encoder
from headscope.labels import NAMED

WORDS = ["unquestionably", "a", "dog", "naïve", "🙂", "東京", "the", "Straßenbahn", "."]


def annotated(first, second=None, name="1"):
    """An example of words, in one text or two."""
    words = tuple(
        Word(text, segment) for segment, texts in enumerate((first, second or [])) for text in texts
    )
    texts = tuple(" ".join(texts) for texts in (first, second) if texts is not None)
    return Example(
        name, texts if second is not None and not (first and second) else join_words(words), words
    )


def whole(kind, example):
    (found,) = Encoder(tokenizer(kind), max_length=5000).encode([example])
    return found


def text_part(found, segment):
    """(id, word) of one text's pieces."""
    inside = (found.kind == TEXT) & (found.segment == segment)
    return list(zip(found.ids[inside].tolist(), found.word[inside].tolist(), strict=True))


def owners_of_part(pieces, start, stop):
    """By the rule, in a plain loop: a word is kept where all its pieces are in the part."""
    return [
        word
        if all(start <= place < stop for place, (_, other) in enumerate(pieces) if other == word)
        else -1
        for _, word in pieces[start:stop]
    ]


EXAMPLES = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12),
    st.none() | st.lists(st.sampled_from(WORDS), max_size=12),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(EXAMPLES, st.integers(6, 40))
def test_truncating_keeps_the_first_pieces_and_a_word_cut_in_two_belongs_to_neither_side(
    kind, words, room
):
    given_example = annotated(*words)
    full = whole(kind, given_example)
    encoder = Encoder(tokenizer(kind), max_length=room)
    (found,) = encoder.encode([given_example])
    assert len(found) == min(len(full), room)
    assert (encoder.counts.truncated, encoder.counts.used) == (len(full) > room, 1)
    for segment in range(len(given_example.texts)):
        before, after = text_part(full, segment), text_part(found, segment)
        assert [token for token, _ in after] == [token for token, _ in before[: len(after)]]
        assert [word for _, word in after] == owners_of_part(before, 0, len(after))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(EXAMPLES, st.integers(6, 40))
def test_the_parts_of_a_split_hold_every_piece_once_in_order(kind, words, room):
    given_example = annotated(*words)
    full = whole(kind, given_example)
    encoder = Encoder(tokenizer(kind), max_length=room, long="split")
    parts = list(encoder.encode([given_example]))
    assert all(len(part) <= room and (part.kind == TEXT).any() for part in parts)
    assert (encoder.counts.split, encoder.counts.used, encoder.counts.truncated) == (
        len(full) > room,
        len(parts),
        0,
    )
    for segment in range(len(given_example.texts)):
        before, at = text_part(full, segment), 0
        for part in parts:
            after = text_part(part, segment)
            assert [token for token, _ in after] == [
                token for token, _ in before[at : at + len(after)]
            ]
            assert [word for _, word in after] == owners_of_part(before, at, at + len(after))
            at += len(after)
        assert at == len(before)


def test_the_parts_of_a_split_have_the_frame_of_the_whole():
    made = tokenizer("wordpiece")
    parts = list(
        Encoder(made, max_length=7, long="split").encode(
            from_texts([("the dog the dog", "a a a a")])
        )
    )
    assert [made.decode(part.ids) for part in parts] == ["[CLS] the dog [SEP] a a [SEP]"] * 2
    assert [part.types.tolist() for part in parts] == [[0, 0, 0, 0, 1, 1, 1]] * 2


def test_a_word_longer_than_the_room_belongs_to_no_part():
    parts = list(
        Encoder(tokenizer("gpt2"), max_length=4, long="split").encode(
            [annotated(["dog", "x" * 12, "dog"])]
        )
    )
    assert len(parts) > 3
    assert sorted(word for part in parts for word in set(part.word.tolist()) - {-1}) == [0, 2]


def by_characters():
    """A tokenizer with one piece per character, without spaces, in ``<`` and ``>``."""
    made = Tokenizer(
        models.BPE({character: number for number, character in enumerate("<>abc")}, [])
    )
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="< $A >", pair="< $A > $B >", special_tokens=[("<", 0), (">", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, cls_token="<", sep_token=">")


@pytest.mark.parametrize(
    ("length", "word"),
    [
        (8, [-1, 0, 0, 0, 1, 1, 1, -1]),
        (7, [-1, 0, 0, 0, -1, -1, -1]),
        (6, [-1, 0, 0, 0, -1, -1]),
        (5, [-1, 0, 0, 0, -1]),
        (9, [-1, 0, 0, 0, 1, 1, 1, 2, -1]),
    ],
)
def test_a_cut_through_a_word_by_hand(length, word):
    (found,) = Encoder(by_characters(), max_length=length).encode([annotated(["abc", "cba", "a"])])
    assert found.word.tolist() == word


def test_a_split_through_a_word_by_hand():
    parts = Encoder(by_characters(), max_length=6, long="split").encode(
        [annotated(["ab", "abc", "a", "b"])]
    )
    assert [part.word.tolist() for part in parts] == [[-1, 0, 0, -1, -1], [-1, -1, -1, 2, 3, -1]]


def test_dropping_skips_what_is_too_long_and_names_it():
    encoder = Encoder(tokenizer("wordpiece"), max_length=6, long="drop")
    long, short = " ".join(["a"] * 5), " ".join(["a"] * 4)
    examples = [
        Example("p1", (short,)),
        Example("p2", (long,), source="f.txt, line 9"),
        Example("p3", (long,)),
        Example("p4", ("a a", "a")),
    ]
    found = list(encoder.encode(examples))
    assert [(item.example.id, len(item)) for item in found] == [("p1", 6), ("p4", 6)]
    counts = encoder.counts
    assert (
        counts.read,
        counts.used,
        counts.too_long,
        counts.truncated,
        counts.split,
        counts.empty,
    ) == (4, 2, 2, 0, 0, 0)
    assert counts.dropped == ["p2 (f.txt, line 9): more than 6 tokens", "p3: more than 6 tokens"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("long", LONG)
def test_an_empty_text_is_counted_and_named(kind, long):
    encoder = Encoder(tokenizer(kind), long=long)
    found = list(
        encoder.encode(
            [
                Example("e1", ("",), source="f.txt, line 1"),
                Example("e2", ("a",)),
                Example("e3", ("", "")),
            ]
        )
    )
    assert [item.example.id for item in found] == ["e2"]
    assert (
        encoder.counts.read,
        encoder.counts.used,
        encoder.counts.empty,
        encoder.counts.too_long,
    ) == (3, 1, 2, 0)
    assert encoder.counts.dropped == ["e1 (f.txt, line 1): no tokens", "e3: no tokens"]


def test_a_text_of_which_the_tokenizer_makes_nothing_is_empty():
    encoder = Encoder(tokenizer("wordpiece"))
    assert list(encoder.encode([Example("1", ("\u200b \u0301",)), Example("2", (" \t",))])) == []
    assert encoder.counts.empty == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", [("", "a dog"), ("a dog", "")])
def test_a_pair_with_an_empty_side_keeps_the_frame_of_a_pair(kind, pair):
    encoder = Encoder(tokenizer(kind))
    (found,) = encoder.encode(from_texts([pair]))
    both = encoder.template.specials(2)
    assert (found.kind != TEXT).sum() == both
    assert set(found.segment.tolist()) - {-1} == {pair.index("a dog")}
    assert encoder.counts.empty == 0


@pytest.mark.parametrize("long", LONG)
def test_the_words_of_an_empty_side_are_none_and_those_of_the_other_are_found(long):
    for first, second, segment in (([], ["a", "dog"], 1), (["a", "dog"], [], 0)):
        (found,) = Encoder(tokenizer("wordpiece"), long=long).encode([annotated(first, second)])
        assert [word for _, word in text_part(found, segment)] == [0, 1]


def test_only_the_first_dropped_examples_are_named():
    encoder = Encoder(tokenizer("gpt2"))
    assert list(encoder.encode(Example(str(number), ("",)) for number in range(NAMED + 5))) == []
    assert (encoder.counts.empty, encoder.counts.dropped) == (
        NAMED + 5,
        [f"{number}: no tokens" for number in range(NAMED)],
    )


def test_encoding_does_not_change_earlier_results():
    encoder = Encoder(tokenizer("gpt2"), max_length=4)
    examples = [annotated(["dog", "barks", "loudly"]), annotated(["dog", "barks", "loudly"])]
    one, two = encoder.encode(examples)
    assert one.ids.tolist() == two.ids.tolist()
    assert one.word.tolist() == two.word.tolist()
    assert encoder.counts.truncated == encoder.counts.used == 2
    assert np.shares_memory(one.ids, two.ids) is False


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(st.lists(EXAMPLES, min_size=1, max_size=4), st.integers(6, 40), st.sampled_from(LONG))
def test_tokens_that_were_thrown_away_are_counted(kind, texts, room, long):
    """Against the tokenizer alone, and what came out."""
    examples = [annotated(first, second, str(place)) for place, (first, second) in enumerate(texts)]
    encoder = Encoder(tokenizer(kind), max_length=room, long=long)
    kept = sum(int((found.kind == TEXT).sum()) for found in encoder.encode(examples))
    read = sum(int((whole(kind, example).kind == TEXT).sum()) for example in examples)
    assert encoder.counts.tokens == read
    assert encoder.counts.tokens_lost == read - kept
    if long == "split":
        assert encoder.counts.tokens_lost == 0


def test_plain_text_that_was_cut_is_counted_in_tokens():
    encoder = Encoder(tokenizer("wordpiece"), max_length=12)
    (found,) = encoder.encode(from_texts(["the dog " * 500]))
    assert (encoder.counts.tokens, encoder.counts.tokens_lost) == (1000, 990)
    assert len(found) == 12
    assert encoder.counts.words_lost == 0  # no words are annotated
