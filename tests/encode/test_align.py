"""Which word each piece belongs to, for every family of tokenizer."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from encode.tokenizers import FAITHFUL, KINDS, MARKS_WORDS, tokenizer
from headscope import corpus
from headscope.corpus import Example, Word, join_words
from headscope.encode import TEXT, Encoder
from headscope.encode.encoder import align, word_ends

FAMILY = "👩\u200d👩\u200d👧"
MIXED = [
    "The",
    "café",
    "cafe\u0301",
    "🙂",
    FAMILY,
    "🇩🇪",
    "東京",
    "の",
    "大学",
    "Größe",
    "10,000",
    "doesn't",
    "'s",
    "…",
    "ﬁ",
    "½",
    ".",
]
BLANKS = "\u200b\u3000\u00a0"
ALPHABET = "abzAZÉéßñ\u0301\u0308日本のガ🙂👩\u200d0129.,'-…½ﬁ"


def encode(made, words, *, segments=None):
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
        (
            ["go", "!"],
            [(0, 0), (0, 2), (3, 3), (3, 4)],
            [0, 0, 1, 1],
        ),  # or a piece without characters
        (["go", "!"], [(0, 1), (0, 1), (1, 2), (3, 4)], [0, 0, 0, 1]),  # or is before the text
        (["go", "!"], [(0, 2), (2, 3)], [0, -1]),  # a mark alone does not make a word
        (["go", "!"], [(0, 2), (3, 4), (4, 4)], [0, 1, -1]),
        (["a\u3000", "b"], [(0, 1), (1, 4)], [0, 1]),  # the first visible character decides
        (
            ["a\u3000", "b"],
            [(0, 1), (1, 2), (2, 4)],
            [0, 0, 1],
        ),  # a blank one belongs to the word that it is in
        (["a", "\u3000", "b"], [(0, 1), (1, 3), (3, 5)], [0, 1, 2]),
        (["a", "", "b"], [(0, 1), (1, 2), (2, 4)], [0, -1, 2]),
        (["10 000"], [(0, 2), (2, 6)], [0, 0]),
    ],
)
def test_a_piece_belongs_to_the_word_of_its_first_visible_character_by_hand(words, offsets, owners):
    assert align(" ".join(words), offsets, word_ends(words)).tolist() == owners


@pytest.mark.parametrize("kind", KINDS)
def test_accents_emoji_words_without_spaces_and_clitics_have_the_pieces_of_the_word_itself(kind):
    found, counts = encode(tokenizer(kind), MIXED)
    assert (counts.words, counts.words_lost) == (len(MIXED), 0)
    assert [pieces(found, index) for index in range(len(MIXED))] == [
        alone(tokenizer(kind), word, first=index == 0, marks=kind in MARKS_WORDS)
        for index, word in enumerate(MIXED)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_accents_of_two_code_points_and_emoji_of_many_bytes_do_not_move_their_neighbours(
    kind,
):
    for strange in ("é", "e\u0301", "🙂", FAMILY, "日本語", "…", "10 000", "a\u3000b", "a\u00a0b"):
        found, _ = encode(tokenizer(kind), ["dog", strange, "dog", "."])
        plain, _ = encode(tokenizer(kind), ["dog", "dog", "dog", "."])
        assert [pieces(found, word) for word in (0, 2, 3)] == [
            pieces(plain, word) for word in (0, 2, 3)
        ]
        assert pieces(found, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_words_of_a_pair_are_separate_where_one_text_ends_and_the_other_begins(kind):
    found, counts = encode(tokenizer(kind), ["dog", "barks", "barks", "dog"], segments=[0, 0, 1, 1])
    assert counts.words_lost == 0
    assert [found.segment[found.word == word].tolist()[0] for word in range(4)] == [0, 0, 1, 1]
    assert (
        tokenizer(kind).decode(pieces(found, 1)).strip()
        == tokenizer(kind).decode(pieces(found, 2)).strip()
    )


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
    found, counts = encode(tokenizer(kind), words)
    assert set(range(6)) - set(found.word.tolist()) == lost
    assert (counts.words, counts.words_lost) == (6, len(lost))
    assert all(
        pieces(found, word)
        == alone(tokenizer(kind), words[word], first=word == 0, marks=kind in MARKS_WORDS)
        for word in {0, 3, 5} | set(range(6)) - lost
    )


@pytest.mark.parametrize("kind", KINDS)
def test_in_an_example_of_nothing_but_dropped_words_every_word_is_lost(kind):
    found, counts = encode(tokenizer(kind), ["\u0301", "\u0308"])
    assert counts.words_lost == (2 if kind in {"wordpiece", "albert"} else 0)
    assert (
        counts.empty == (found is None) == (kind == "wordpiece")
    )  # ALBERT leaves a space mark that belongs to no word


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("gpt2", "Ġ"),
        ("roberta", "Ġ"),
        ("bart-prefix", "Ġ"),
        ("t5", "▁"),
        ("xlmr", "▁"),
        ("llama", "▁"),
        ("mistral", "▁"),
    ],
)
@pytest.mark.parametrize("word", ["😀", "。", "ᚠ"])
def test_a_lone_space_mark_belongs_to_the_word_that_it_begins(kind, mark, word):
    made = tokenizer(kind)
    found, _ = encode(made, ["dog", word, "dog"])
    whole = made(f"dog {word} dog", add_special_tokens=False)["input_ids"]
    assert pieces(found, 1) == whole[len(pieces(found, 0)) : -len(pieces(found, 2))]
    assert made.convert_ids_to_tokens(pieces(found, 1))[0].startswith(mark)


@pytest.mark.parametrize(
    ("words", "owners"),
    [(["dog", "\u0301"], [0]), (["\u0301", "dog"], [1]), (["dog", "\u0301", "dog"], [0, 2])],
)
def test_a_lone_space_mark_before_a_dropped_word_does_not_make_it_a_word(words, owners):
    found, counts = encode(tokenizer("albert"), words)
    assert sorted(set(found.word[found.word >= 0].tolist())) == owners
    assert counts.words_lost == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_token_of_a_text_has_an_owner_and_no_special_token_has_one(kind):
    found, _ = encode(
        tokenizer(kind), [*MIXED, *MIXED], segments=[0] * len(MIXED) + [1] * len(MIXED)
    )
    assert ((found.word >= 0) == (found.kind == TEXT)).all()


def words_from(alphabet):
    return st.lists(st.text(alphabet, min_size=1, max_size=6), min_size=1, max_size=8)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_each_words_pieces_are_contiguous_in_order_and_those_of_the_word_itself(kind, data):
    made = tokenizer(kind)
    words = data.draw(words_from(ALPHABET + (BLANKS if kind in FAITHFUL else "")))
    found, counts = encode(made, words)
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


@pytest.mark.parametrize("kind", FAITHFUL)
@settings(max_examples=60, deadline=None)
@given(words_from(ALPHABET + BLANKS))
def test_a_words_pieces_spell_the_word(kind, words):
    made = tokenizer(kind)
    found, _ = encode(made, words)
    spelled = [
        made.decode(pieces(found, index), clean_up_tokenization_spaces=False)
        for index in range(len(words))
    ]
    assert [text.removeprefix(" ") for text in spelled] == words


@pytest.mark.parametrize("kind", MARKS_WORDS)
@settings(max_examples=60, deadline=None)
@given(words_from(ALPHABET))
def test_words_given_to_the_tokenizer_as_a_list_are_aligned_the_same(kind, words):
    made = tokenizer(kind)
    reference = made(words, is_split_into_words=True)
    found, _ = encode(made, words)
    assume(found is not None)
    owned = [
        (token, word)
        for token, word in zip(found.ids.tolist(), found.word.tolist(), strict=True)
        if word >= 0
    ]
    assert owned == [
        (token, word)
        for token, word in zip(reference["input_ids"], reference.word_ids(), strict=True)
        if word is not None
    ]


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
        assert found.word.tolist() == [
            -1 if word is None else word for word in reference.word_ids()
        ]
    assert encoder.counts.used == 200


def test_words_whose_pieces_are_all_unknown_are_kept_and_counted():
    made = tokenizer("wordpiece")
    found, counts = encode(made, ["dog", "\u2603\u2603", "dog"])
    unknown = {
        int(word)
        for word, token in zip(found.word, found.ids, strict=True)
        if token == made.unk_token_id
    }
    assert 1 in unknown
    assert (counts.words, counts.words_lost, counts.words_unknown) == (3, 0, len(unknown))
