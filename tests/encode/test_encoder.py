"""The tokens that the model sees are those of the tokenizer itself, whole and cut."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from encode.tokenizers import KINDS, SENTENCES, tokenizer
from headscope.corpus import Example, Word, from_texts
from headscope.encode import SEPARATOR, START, TEXT, Encoder, shorten
from headscope.errors import UserError

TEXTS = [
    *SENTENCES,
    "",
    "a",
    ".",
    "Ω ᚠ unknown",
    "  spaces   around  ",
    "two\nlines\tand tabs",
    "\u200bzero\u200b width",
    "e\u0301",
    "[SEP] </s> <s>",
    "x" * 120,
]


def encode(kind, *texts, **options):
    (found,) = Encoder(tokenizer(kind), **options).encode(from_texts([texts]))
    return found


def reference(kind, first, second=None, **options):
    """The tokenizer's own answer, from a batch of one.

    Asked for a single pair, it would ignore an empty second text.

    Where nothing else keeps two texts apart (GPT-2), they are given with a space between.
    """
    if second is None:
        return tokenizer(kind)([first], return_token_type_ids=True, **options)
    return tokenizer(kind)(
        [first],
        [f" {second}" if kind == "gpt2" and second else second],
        return_token_type_ids=True,
        **options,
    )


def check(found, expected):
    assert found.ids.tolist() == expected["input_ids"][0]
    assert found.types.tolist() == expected["token_type_ids"][0]
    assert found.segment.tolist() == [
        -1 if sequence is None else sequence for sequence in expected.sequence_ids(0)
    ]
    assert (found.kind == TEXT).tolist() == [
        sequence is not None for sequence in expected.sequence_ids(0)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_one_text_has_the_ids_and_types_of_the_tokenizer(kind):
    texts = [text for text in TEXTS if text]
    for text, found in zip(
        texts, Encoder(tokenizer(kind), max_length=1000).encode(from_texts(texts)), strict=True
    ):
        check(found, reference(kind, text))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_has_the_ids_and_types_of_the_tokenizer(kind):
    pairs = [(first, second) for first in TEXTS for second in TEXTS if first or second]
    for pair, found in zip(
        pairs, Encoder(tokenizer(kind), max_length=1000).encode(from_texts(pairs)), strict=True
    ):
        check(found, reference(kind, *pair))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(0, 30), st.integers(6, 40))
@example(20, 20, 14)
@example(20, 20, 15)
@example(20, 19, 15)
@example(19, 20, 15)
@example(19, 20, 14)
@example(3, 20, 15)
@example(20, 3, 15)
def test_a_pair_is_truncated_as_the_tokenizer_truncates_the_longest_first(
    kind, first, second, room
):
    texts = " ".join(["a"] * first), " ".join(["b"] * second)
    check(
        encode(kind, *texts, max_length=room),
        reference(kind, *texts, truncation="longest_first", max_length=room),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("room", [6, 7, 11, 40])
def test_one_text_is_truncated_as_the_tokenizer_truncates_it(kind, room):
    for text in SENTENCES:
        check(
            encode(kind, text, max_length=room),
            reference(kind, text, truncation=True, max_length=room),
        )


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=2), st.integers(2, 60))
def test_shortening_fills_the_room_and_never_cuts_the_shorter_below_the_longer(lengths, room):
    kept = shorten(lengths, room)
    assert sum(kept) == min(sum(lengths), room)
    assert all(0 <= after <= before for after, before in zip(kept, lengths, strict=True))
    if len(kept) == 2:
        for one, other in ((0, 1), (1, 0)):
            assert kept[one] == lengths[one] or kept[one] >= kept[other] - 1


def test_truncation_and_padding_in_a_tokenizer_file_are_ignored():
    made = tokenizer("wordpiece")
    backend = made.backend_tokenizer
    backend.enable_truncation(3)
    backend.enable_padding(length=50)
    try:
        (found,) = Encoder(made).encode(from_texts([SENTENCES[0]]))
    finally:
        backend.no_truncation()
        backend.no_padding()
    assert found.ids.tolist() == made(SENTENCES[0])["input_ids"]


@pytest.mark.parametrize(
    ("kind", "kinds"),
    [
        ("wordpiece", [START, TEXT, SEPARATOR, TEXT, SEPARATOR]),
        ("roberta", [START, TEXT, SEPARATOR, SEPARATOR, TEXT, SEPARATOR]),
        ("gpt2", [TEXT, TEXT]),
        ("mistral", [START, TEXT, TEXT]),
    ],
)
def test_each_token_says_what_it_is(kind, kinds):
    found = encode(kind, "a", "a")
    assert found.kind.tolist() == kinds
    assert [text.strip() for text in found.text] == ["a" if kind == TEXT else "" for kind in kinds]


def test_a_decoders_start_token_comes_first_and_counts_towards_the_length():
    made = tokenizer("t5")
    whole = made("a dog barks", truncation=True, max_length=6)["input_ids"]
    (found,) = Encoder(made, max_length=7, start=made.pad_token_id).encode(
        from_texts(["a dog barks"])
    )
    assert found.ids.tolist() == [made.pad_token_id, *whole]
    assert (found.types[0], found.segment[0], found.word[0], found.text[0]) == (0, -1, -1, "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("Dogs bark, cats sleep.", 2),
        (". a", 1),
        (", .", 2),
        ("10,000", 1),
        ("no stop!", 0),
        ("dog。犬", 0),
    ],
)
def test_full_stops_and_commas_are_marked_once_each(kind, text, stops):
    found = encode(kind, text)
    assert found.stop.sum() == stops
    assert {found.text[index].strip() for index in np.flatnonzero(found.stop)} <= {".", ","}


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_alone_and_with_words_gives_the_same_tokens(kind):
    words = tuple(Word(text) for text in ("The", "dog", "barks", "."))
    (plain,) = Encoder(tokenizer(kind)).encode([Example("1", ("The dog barks .",))])
    (annotated,) = Encoder(tokenizer(kind)).encode([Example("1", ("The dog barks .",), words)])
    assert plain.ids.tolist() == annotated.ids.tolist()
    assert set(plain.word.tolist()) == {-1}
    assert set(annotated.word[annotated.kind == TEXT].tolist()) == {0, 1, 2, 3}


def test_a_text_that_is_not_its_words_is_refused():
    with pytest.raises(UserError) as caught:
        list(
            Encoder(tokenizer("gpt2")).encode(
                [Example("s7", ("Dogs bark.",), (Word("Dogs"), Word("bark"), Word(".")))]
            )
        )
    assert (
        str(caught.value) == "example s7: its text is not its words joined by single spaces\n"
        "next: make the texts with headscope.corpus.join_words"
    )


@pytest.mark.parametrize(
    ("kind", "length", "specials"),
    [("wordpiece", 4, 3), ("roberta", 5, 4), ("gpt2", 1, 0), ("t5", 0, 2)],
)
def test_a_maximum_length_that_leaves_no_room_is_refused(kind, length, specials):
    with pytest.raises(UserError) as caught:
        Encoder(tokenizer(kind), max_length=length)
    assert caught.value.message == (
        f"the maximum length must leave room for text besides {specials} special tokens; "
        f"got {length} instead"
    )
    assert caught.value.hint == "give e.g. max_length=128"
    Encoder(tokenizer(kind), max_length=specials + 2)


def test_an_unknown_treatment_of_long_examples_is_refused():
    with pytest.raises(UserError) as caught:
        Encoder(tokenizer("gpt2"), long="truncated")
    assert (
        str(caught.value)
        == "the treatment of long examples must be one of drop, split, truncate; got "
        "'truncated' instead. Did you mean 'truncate'?"
    )
