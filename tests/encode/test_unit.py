"""Every piece knows its surface word, annotated or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from encode.tokenizers import KINDS, SENTENCES, tokenizer
from headscope.corpus import Example, Word, from_examples, plain_words, surface_words
from headscope.encode import TEXT, Encoded, Encoder

ENGLISH = (
    SENTENCES[0],
    SENTENCES[6],
    "Who's there? Not I, said the dogs' friend...",
    "well-known (twice)",
    "10,000 others — do!",
)
CHARACTERS = st.text(st.sampled_from("ab1_' ’.,?-\u00e9\n日"), max_size=14)


def encode(kind: str, *texts: Any, max_length: int = 400) -> Encoded:
    (found,) = Encoder(tokenizer(kind), max_length=max_length).encode(
        from_examples([Example("1", texts)])
    )
    return found


def walk(text: str) -> list[tuple[int, int]]:
    """Find words character by character.

    Letters, digits and underscores are one word, also across one apostrophe between two of them;
    every other sign is a word of its own.
    """
    spans: list[tuple[int, int]] = []
    place = 0
    while place < len(text):
        start = place
        if text[place].isspace():
            place += 1
            continue
        place += 1
        if is_letter(text[start]):
            while place < len(text) and (
                is_letter(text[place])
                or (text[place] in "'’" and place + 1 < len(text) and is_letter(text[place + 1]))
            ):
                place += 1
        spans.append((start, place))
    return spans


def is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


@given(text=CHARACTERS)
@example(text="'a")
@example(text="a''b")
@example(text="rock'n'roll's'")
@settings(deadline=None, max_examples=200)
def test_plain_words_are_those_of_a_walk_over_the_characters(text: str) -> None:
    assert plain_words((text,)) == [walk(text)]


def test_surface_words_are_the_annotated_ones_where_there_are_any() -> None:
    words = (Word("don't", segment=0), Word("well-known", segment=1))
    assert surface_words(Example("1", ("don't", "well-known"), words)) == ["don't", "well-known"]
    assert surface_words(Example("1", ("don't go!", "well-known"))) == [
        "don't",
        "go",
        "!",
        "well",
        "-",
        "known",
    ]
    assert surface_words(Example("1", ("", "a"))) == ["a"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "texts", [(text,) for text in ENGLISH] + [(ENGLISH[0], ENGLISH[2]), ("", ENGLISH[1])], ids=str
)
def test_a_piece_belongs_to_the_plain_word_of_its_first_character(
    kind: str, texts: tuple[str, ...]
) -> None:
    item = encode(kind, *texts)
    first = 0  # of this text's words among all
    for segment, text in enumerate(texts):
        spans = walk(text)
        offsets = tokenizer(kind)(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        lead = (
            kind == "gpt2" and segment
        )  # two texts with nothing between: our encoder puts a space before the second
        if lead:
            offsets = [
                (max(start - 1, 0), end - 1)
                for start, end in tokenizer(kind)(
                    f" {text}", add_special_tokens=False, return_offsets_mapping=True
                )["offset_mapping"]
            ]
        units = item.unit[item.segment == segment].tolist()
        assert len(units) == len(offsets)
        for unit, (start, end) in zip(units, offsets, strict=True):
            visible = [place for place in range(start, end) if not text[place].isspace()]
            if visible:
                assert unit == first + next(
                    index for index, (begin, last) in enumerate(spans) if begin <= visible[0] < last
                )
        first += len(spans)
    assert (item.unit[item.kind != TEXT] == -1).all()
    assert (item.word == -1).all()
    assert max(item.unit.tolist()) < len(surface_words(item.example))


@pytest.mark.parametrize(
    ("kind", "mark", "pieces"),
    [("t5", "▁", [0, 1, 1, 2]), ("llama", "▁", [0, 1, 1, 1, 2]), ("roberta", "Ġ", [0, 1, 1, 1, 2])],
)
def test_the_lone_mark_before_a_word_belongs_to_that_word(
    kind: str, mark: str, pieces: list[int]
) -> None:
    # An unknown letter comes after a mark of its own: one unknown piece in T5, two bytes elsewhere.
    item = encode(kind, "the Ω the")
    inside = item.kind == TEXT
    assert tokenizer(kind).convert_ids_to_tokens(item.ids[inside].tolist())[1] == mark
    assert item.unit[inside].tolist() == pieces


@pytest.mark.parametrize("kind", ["wordpiece", "roberta", "t5", "llama"])
def test_units_of_annotated_words_are_the_words_themselves(kind: str) -> None:
    texts = ("dogs", "don't", "bark-bark", "?!", "She", "lives")
    words = tuple(Word(text, segment=index // 4) for index, text in enumerate(texts))
    (item,) = Encoder(tokenizer(kind)).encode(
        from_examples([Example("1", (" ".join(texts[:4]), " ".join(texts[4:])), words)])
    )
    np.testing.assert_array_equal(item.unit, item.word)
    assert set(item.unit.tolist()) - {-1} == set(range(6))


def test_a_word_cut_in_two_keeps_its_unit_on_both_sides_but_is_not_a_word() -> None:
    words = tuple(Word(text) for text in ("She", "barksbarksbarks", "there"))
    sentence = Example("1", ("She barksbarksbarks there",), words)
    whole = next(Encoder(tokenizer("gpt2")).encode(from_examples([sentence])))
    assert whole.text == ("S", "he", " barks", "b", "ar", "ks", "b", "ar", "ks", " there")
    parts = list(
        Encoder(tokenizer("gpt2"), max_length=5, long="split").encode(from_examples([sentence]))
    )
    assert [len(part) for part in parts] == [5, 5]
    assert [part.unit.tolist() for part in parts] == [[0, 0, 1, 1, 1], [1, 1, 1, 1, 2]]
    assert [part.word.tolist() for part in parts] == [[0, 0, -1, -1, -1], [-1, -1, -1, -1, 2]]


@pytest.mark.parametrize("kind", ["wordpiece", "gpt2", "roberta", "t5"])
def test_units_are_cut_with_their_pieces(kind: str) -> None:
    whole, cut = (
        encode(kind, ENGLISH[0], ENGLISH[1]),
        encode(kind, ENGLISH[0], ENGLISH[1], max_length=16),
    )
    assert len(cut) == 16
    for segment in (0, 1):
        kept = cut.unit[cut.segment == segment].tolist()
        assert kept == whole.unit[whole.segment == segment].tolist()[: len(kept)]
        assert kept


def test_a_text_of_signs_alone_and_an_empty_one_have_their_units_or_none() -> None:
    assert encode("wordpiece", "?!").unit.tolist() == [-1, 0, 1, -1]
    assert encode("wordpiece", "a", "").unit.tolist() == [-1, 0, -1, -1]
    assert encode("wordpiece", "", "a").unit.tolist() == [-1, -1, 0, -1]
