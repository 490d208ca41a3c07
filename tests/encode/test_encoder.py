"""The tokens that the model sees are those of the tokenizer itself, whole and cut."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from encode.tokenizers import FAITHFUL, KINDS, MARKS_WORDS, SENTENCES, tokenizer
from headscope import corpus
from headscope.corpus import (
    Example,
    Word,
    from_examples,
    from_texts,
    join_words,
    plain_words,
    surface_words,
)
from headscope.encode import LONG, SEPARATOR, START, TEXT, Encoded, Encoder, shorten
from headscope.encode.encoder import align, word_ends
from headscope.errors import UserError
from headscope.labels import NAMED
from refusals import refusal

# --- encoder ---

TEXTS = [
    *(*SENTENCES, "", "a", ".", "Ω ᚠ unknown", "  spaces   around  ", "two\nlines\tand tabs"),
    *("\u200bzero\u200b width", "e\u0301", "[SEP] </s> <s>", "x" * 120),
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
    second = f" {second}" if kind == "gpt2" and second else second
    return tokenizer(kind)([first], [second], return_token_type_ids=True, **options)


def check(found, expected):
    assert found.ids.tolist() == expected["input_ids"][0]
    assert found.types.tolist() == expected["token_type_ids"][0]
    wanted = [-1 if sequence is None else sequence for sequence in expected.sequence_ids(0)]
    assert found.segment.tolist() == wanted
    wanted = [sequence is not None for sequence in expected.sequence_ids(0)]
    assert (found.kind == TEXT).tolist() == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_one_text_and_a_pair_have_the_ids_and_types_of_the_tokenizer(kind):
    texts = [(text,) for text in TEXTS if text]
    texts += [(first, second) for first in TEXTS for second in TEXTS if first or second]
    encoded = Encoder(tokenizer(kind), max_length=1000).encode(from_texts(texts))
    for text, found in zip(texts, encoded, strict=True):
        check(found, reference(kind, *text))


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


def test_a_text_that_is_not_its_words_is_refused():
    example = Example("s7", ("Dogs bark.",), (Word("Dogs"), Word("bark"), Word(".")))
    error = refusal(UserError, lambda: list(Encoder(tokenizer("gpt2")).encode([example])))
    assert str(error) == (
        "example s7: its text is not its words joined by single spaces\n"
        "next: make the texts with headscope.corpus.join_words"
    )


def test_a_text_with_half_a_character_is_refused():
    encoder = Encoder(tokenizer("wordpiece"))
    error = refusal(UserError, lambda: list(encoder.encode([Example("1", ("a \ud800",))])))
    assert error.message.startswith("the text has half of a surrogate pair (")


@pytest.mark.parametrize(
    ("kind", "length", "specials"),
    [("wordpiece", 4, 3), ("roberta", 5, 4), ("gpt2", 1, 0), ("t5", 0, 2)],
)
def test_a_maximum_length_that_leaves_no_room_is_refused(kind, length, specials):
    error = refusal(UserError, Encoder, tokenizer(kind), max_length=length)
    assert error.message == (
        f"the maximum length must leave room for text besides {specials} special tokens; "
        f"got {length} instead"
    )
    assert error.hint == "give e.g. max_length=128"
    Encoder(tokenizer(kind), max_length=specials + 2)


def test_an_unknown_treatment_of_long_examples_is_refused():
    assert (
        str(refusal(UserError, Encoder, tokenizer("gpt2"), long="truncated"))
        == "the treatment of long examples must be one of drop, split, truncate; got "
        "'truncated' instead. Did you mean 'truncate'?"
    )


# --- align ---

FAMILY = "👩\u200d👩\u200d👧"
MIXED = (
    *("The", "café", "cafe\u0301", "🙂", FAMILY, "🇩🇪", "東京", "の", "大学", "Größe", "10,000"),
    *("doesn't", "'s", "…", "ﬁ", "½", "10 000", "a\u3000b", "a\u00a0b", "日本語", "."),
)
BLANKS = "\u200b\u3000\u00a0"
ALPHABET = "abzAZÉéßñ\u0301\u0308日本のガ🙂👩\u200d0129.,'-…½ﬁ"


def encoded(made, words, *, segments=None):
    """Encode words of one text, or of two where ``segments`` says so."""
    given_words = tuple(
        Word(text, segment)
        for text, segment in zip(words, segments or [0] * len(words), strict=True)
    )
    encoder = Encoder(made, max_length=4000)
    return next(
        encoder.encode([Example("1", join_words(given_words), given_words)]), None
    ), encoder.counts


def pieces(found, word):
    """The ids of a word's pieces."""
    return found.ids[found.word == word].tolist()


def alone(made, word, *, first, marks):
    """The ids that the tokenizer itself gives a word: at the start of a text, or after a space."""
    return made(word if first or marks else f" {word}", add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize(
    ("words", "offsets", "owners"),
    [
        (["go", "!"], [(0, 2), (2, 4)], [0, 1]),  # the space before a word is part of its piece
        (["go", "!"], [(0, 2), (2, 3), (3, 4)], [0, 1, 1]),  # or a piece of its own
        (["go", "!"], [(0, 0), (0, 2), (3, 3), (3, 4)], [0, 0, 1, 1]),  # or one without characters
        (["go", "!"], [(0, 1), (0, 1), (1, 2), (3, 4)], [0, 0, 0, 1]),  # or is before the text
        (["go", "!"], [(0, 2), (2, 3)], [0, -1]),  # a mark alone does not make a word
        (["go", "!"], [(0, 2), (3, 4), (4, 4)], [0, 1, -1]),
        (["a\u3000", "b"], [(0, 1), (1, 4)], [0, 1]),  # the first visible character decides
        (["a\u3000", "b"], [(0, 1), (1, 2), (2, 4)], [0, 0, 1]),  # a blank one: the word it is in
        (["a", "\u3000", "b"], [(0, 1), (1, 3), (3, 5)], [0, 1, 2]),
        (["a", "", "b"], [(0, 1), (1, 2), (2, 4)], [0, -1, 2]),
        (["10 000"], [(0, 2), (2, 6)], [0, 0]),
    ],
)
def test_a_piece_belongs_to_the_word_of_its_first_visible_character_by_hand(words, offsets, owners):
    assert align(" ".join(words), offsets, word_ends(words)).tolist() == owners


@pytest.mark.parametrize("kind", KINDS)
def test_accents_emoji_words_without_spaces_and_clitics_have_the_pieces_of_the_word_itself(kind):
    found, counts = encoded(tokenizer(kind), MIXED)
    assert (counts.words, counts.words_lost) == (len(MIXED), 0)
    assert [pieces(found, index) for index in range(len(MIXED))] == [
        alone(tokenizer(kind), word, first=index == 0, marks=kind in MARKS_WORDS)
        for index, word in enumerate(MIXED)
    ]
    found, _ = encoded(tokenizer(kind), MIXED * 2, segments=[0] * len(MIXED) + [1] * len(MIXED))
    assert ((found.word >= 0) == (found.kind == TEXT)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_words_of_a_pair_are_separate_where_one_text_ends_and_the_other_begins(kind):
    found, counts = encoded(
        tokenizer(kind), ["dog", "barks", "barks", "dog"], segments=[0, 0, 1, 1]
    )
    assert counts.words_lost == 0
    assert [found.segment[found.word == word].tolist()[0] for word in range(4)] == [0, 0, 1, 1]
    expected = tokenizer(kind).decode(pieces(found, 2)).strip()
    assert tokenizer(kind).decode(pieces(found, 1)).strip() == expected


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        ("wordpiece", {1, 2, 4}),
        ("albert", {1, 2, 4}),
        ("t5", {4}),
        ("xlmr", {2, 4}),
        *((kind, set()) for kind in FAITHFUL),
    ],
)
def test_a_word_that_the_tokenizer_drops_is_counted_and_owns_nothing(kind, lost):
    words = ["x", "\u0301", "\u200b", "y", "\u3000", "z"]
    found, counts = encoded(tokenizer(kind), words)
    assert set(range(6)) - set(found.word.tolist()) == lost
    assert (counts.words, counts.words_lost) == (6, len(lost))
    assert all(
        pieces(found, word)
        == alone(tokenizer(kind), words[word], first=word == 0, marks=kind in MARKS_WORDS)
        for word in {0, 3, 5} | set(range(6)) - lost
    )


@pytest.mark.parametrize("kind", KINDS)
def test_in_an_example_of_nothing_but_dropped_words_every_word_is_lost(kind):
    found, counts = encoded(tokenizer(kind), ["\u0301", "\u0308"])
    assert counts.words_lost == (2 if kind in {"wordpiece", "albert"} else 0)
    assert (
        counts.empty == (found is None) == (kind == "wordpiece")
    )  # ALBERT leaves a space mark that belongs to no word


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        *((kind, "Ġ") for kind in ("gpt2", "roberta", "bart-prefix")),
        *((kind, "▁") for kind in ("t5", "xlmr", "llama", "mistral")),
    ],
)
@pytest.mark.parametrize("word", ["😀", "。", "ᚠ"])
def test_a_lone_space_mark_belongs_to_the_word_that_it_begins(kind, mark, word):
    made = tokenizer(kind)
    found, _ = encoded(made, ["dog", word, "dog"])
    whole = made(f"dog {word} dog", add_special_tokens=False)["input_ids"]
    assert pieces(found, 1) == whole[len(pieces(found, 0)) : -len(pieces(found, 2))]
    assert made.convert_ids_to_tokens(pieces(found, 1))[0].startswith(mark)


@pytest.mark.parametrize(
    ("words", "owners"),
    [(["dog", "\u0301"], [0]), (["\u0301", "dog"], [1]), (["dog", "\u0301", "dog"], [0, 2])],
)
def test_a_lone_space_mark_before_a_dropped_word_does_not_make_it_a_word(words, owners):
    found, counts = encoded(tokenizer("albert"), words)
    assert sorted(set(found.word[found.word >= 0].tolist())) == owners
    assert counts.words_lost == 1


def words_from(alphabet):
    return st.lists(st.text(alphabet, min_size=1, max_size=6), min_size=1, max_size=8)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_each_words_pieces_are_contiguous_in_order_and_those_of_the_word_itself(kind, data):
    made = tokenizer(kind)
    words = data.draw(words_from(ALPHABET + (BLANKS if kind in FAITHFUL else "")))
    found, counts = encoded(made, words)
    expected = [
        alone(made, word, first=index == 0, marks=kind in MARKS_WORDS)
        for index, word in enumerate(words)
    ]
    assert counts.words_lost == sum(not ids for ids in expected)
    if found is None:
        assert not any(expected)
        return
    owned = found.word >= 0
    assert found.word[owned].tolist() == [index for index, ids in enumerate(expected) for _ in ids]
    assert found.ids[owned].tolist() == list(itertools.chain(*expected))


TREEBANKS = ["de_gsd-ud-dev.conllu.gz", "ja_gsd-ud-dev.conllu.gz", "en_ewt-ud-dev.conllu.gz"]


@pytest.mark.shared
@pytest.mark.parametrize("name", TREEBANKS)
def test_in_real_treebanks_the_pieces_of_a_byte_level_tokenizer_spell_every_word(shared, name):
    made = AutoTokenizer.from_pretrained(shared / "models" / "gpt2-mini")
    encoder = Encoder(made, max_length=2000)
    examples = corpus.read(shared / "data" / "treebank" / name, limit=200)
    for found in encoder.encode(examples):
        assert (np.diff(found.word) >= 0).all()
        spelled = [
            made.decode(pieces(found, index), clean_up_tokenization_spaces=False).removeprefix(" ")
            for index in range(len(found.example.words))
        ]
        assert spelled == [word.text for word in found.example.words], found.example.id
    assert encoder.counts.words > 2000
    assert encoder.counts.words_lost == 0


@pytest.mark.shared
@pytest.mark.parametrize("name", TREEBANKS)
def test_in_real_treebanks_wordpiece_aligns_words_as_its_own_word_ids_do(shared, name):
    made = AutoTokenizer.from_pretrained(shared / "models" / "minilm-l6-mlm")
    encoder = Encoder(made, max_length=2000)
    for found in encoder.encode(corpus.read(shared / "data" / "treebank" / name, limit=200)):
        reference = made([word.text for word in found.example.words], is_split_into_words=True)
        assert found.ids.tolist() == reference["input_ids"]
        expected = [-1 if word is None else word for word in reference.word_ids()]
        assert found.word.tolist() == expected
    assert encoder.counts.used == 200


def test_words_whose_pieces_are_all_unknown_are_kept_and_counted():
    made = tokenizer("wordpiece")
    found, counts = encoded(made, ["dog", "\u2603\u2603", "dog"])
    unknown = {
        int(word)
        for word, token in zip(found.word, found.ids, strict=True)
        if token == made.unk_token_id
    }
    assert 1 in unknown
    assert (counts.words, counts.words_lost, counts.words_unknown) == (3, 0, len(unknown))


# --- unit ---

ENGLISH = (
    SENTENCES[0],
    SENTENCES[6],
    "Who's there? Not I, said the dogs' friend...",
    "well-known (twice)",
    "10,000 others — do!",
)
CHARACTERS = st.text(st.sampled_from("ab1_' ’.,?-\u00e9\n日"), max_size=14)


def units_of(kind: str, *texts: Any, max_length: int = 400) -> Encoded:
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
def test_plain_words_are_those_of_a_walk_over_the_characters(text):
    assert plain_words((text,)) == [walk(text)]


def test_surface_words_are_the_annotated_ones_where_there_are_any():
    words = (Word("don't", segment=0), Word("well-known", segment=1))
    assert surface_words(Example("1", ("don't", "well-known"), words)) == ["don't", "well-known"]
    shown = surface_words(Example("1", ("don't go!", "well-known")))
    assert shown == ["don't", "go", "!", "well", "-", "known"]
    assert surface_words(Example("1", ("", "a"))) == ["a"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "texts", [(text,) for text in ENGLISH] + [(ENGLISH[0], ENGLISH[2]), ("", ENGLISH[1])], ids=str
)
def test_a_piece_belongs_to_the_plain_word_of_its_first_character(kind, texts):
    item = units_of(kind, *texts)
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
def test_the_lone_mark_before_a_word_belongs_to_that_word(kind, mark, pieces):
    # An unknown letter comes after a mark of its own: one unknown piece in T5, two bytes elsewhere.
    item = units_of(kind, "the Ω the")
    inside = item.kind == TEXT
    assert tokenizer(kind).convert_ids_to_tokens(item.ids[inside].tolist())[1] == mark
    assert item.unit[inside].tolist() == pieces


@pytest.mark.parametrize("kind", ["wordpiece", "roberta", "t5", "llama"])
def test_units_of_annotated_words_are_the_words_themselves(kind):
    texts = ("dogs", "don't", "bark-bark", "?!", "She", "lives")
    words = tuple(Word(text, segment=index // 4) for index, text in enumerate(texts))
    (item,) = Encoder(tokenizer(kind)).encode(
        from_examples([Example("1", (" ".join(texts[:4]), " ".join(texts[4:])), words)])
    )
    np.testing.assert_array_equal(item.unit, item.word)
    assert set(item.unit.tolist()) - {-1} == set(range(6))


def test_a_word_cut_in_two_keeps_its_unit_on_both_sides_but_is_not_a_word():
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
def test_units_are_cut_with_their_pieces(kind):
    whole, cut = (
        units_of(kind, ENGLISH[0], ENGLISH[1]),
        units_of(kind, ENGLISH[0], ENGLISH[1], max_length=16),
    )
    assert len(cut) == 16
    for segment in (0, 1):
        kept = cut.unit[cut.segment == segment].tolist()
        assert kept == whole.unit[whole.segment == segment].tolist()[: len(kept)]
        assert kept


def test_a_text_of_signs_alone_and_an_empty_one_have_their_units_or_none():
    assert units_of("wordpiece", "?!").unit.tolist() == [-1, 0, 1, -1]
    assert units_of("wordpiece", "a", "").unit.tolist() == [-1, 0, -1, -1]
    assert units_of("wordpiece", "", "a").unit.tolist() == [-1, -1, 0, -1]


# --- cutting ---

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
    expected = (len(full) > room, len(parts), 0)
    assert (encoder.counts.split, encoder.counts.used, encoder.counts.truncated) == expected
    for segment in range(len(given_example.texts)):
        before, at = text_part(full, segment), 0
        for part in parts:
            after = text_part(part, segment)
            expected = [token for token, _ in before[at : at + len(after)]]
            assert [token for token, _ in after] == expected
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


def test_dropping_skips_what_is_too_long_and_names_it():
    encoder = Encoder(tokenizer("wordpiece"), max_length=6, long="drop")
    long, short = " ".join(["a"] * 5), " ".join(["a"] * 4)
    examples = [Example("p1", (short,)), Example("p2", (long,), source="f.txt, line 9")]
    examples += [Example("p3", (long,)), Example("p4", ("a a", "a"))]
    found = list(encoder.encode(examples))
    assert [(item.example.id, len(item)) for item in found] == [("p1", 6), ("p4", 6)]
    counts = encoder.counts
    assert (counts.read, counts.used, counts.too_long) == (4, 2, 2)
    assert counts.truncated == counts.split == counts.empty == 0
    assert counts.dropped == ["p2 (f.txt, line 9): more than 6 tokens", "p3: more than 6 tokens"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("long", LONG)
def test_an_empty_text_is_counted_and_named(kind, long):
    encoder = Encoder(tokenizer(kind), long=long)
    examples = [
        Example("e1", ("",), source="f.txt, line 1"),
        Example("e2", ("a",)),
        Example("e3", ("", "")),
    ]
    assert [item.example.id for item in encoder.encode(examples)] == ["e2"]
    counts = encoder.counts
    assert (counts.read, counts.used, counts.empty, counts.too_long) == (3, 1, 2, 0)
    assert counts.dropped == ["e1 (f.txt, line 1): no tokens", "e3: no tokens"]
    if kind == "wordpiece":  # which makes nothing of marks and blanks
        list(encoder.encode([Example("1", ("\u200b \u0301",)), Example("2", (" \t",))]))
        assert counts.empty == 4


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
    expected = (NAMED + 5, [f"{number}: no tokens" for number in range(NAMED)])
    assert (encoder.counts.empty, encoder.counts.dropped) == expected


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
