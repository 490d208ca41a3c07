"""Shuffled words are the same words, and the seed alone decides their order."""

from __future__ import annotations

from collections import Counter

from headscope.corpus import (
    ROOT,
    Corpus,
    Example,
    FrameLink,
    Mention,
    Word,
    bucket_of,
    from_examples,
    read,
)
from headscope.corpus.corpus import shuffled_words

TEXTS = [
    "the old dog saw the cat , and it ran .",
    ("who saw the dog ?", "nobody but the old cat saw it"),
    "one",
    "",
    "  two  words\there\n",
]


def annotated() -> Corpus:
    words = tuple(
        Word(
            text,
            segment=segment,
            head=6 * segment - 1 + place if place else ROOT,
            relation=f"{segment}-{place}",
            upos=text,
            xpos=text,
            lemma=text,
            feats=text,
        )
        for segment, sentence in enumerate(("a b c d e f", "u v w x y z"))
        for place, text in enumerate(sentence.split())
    )
    example = Example(
        "1",
        ("a b c d e f", "u v w x y z"),
        words,
        mentions=(Mention(0, 0, 0, "e"),),
        links=(FrameLink("f", "e", (0, 0), (1, 1)),),
        group="doc",
    )
    return Corpus("made", "made", lambda: iter([example] * 3), lambda: "0")


def test_every_text_keeps_the_multiset_of_its_words() -> None:
    plain = read(TEXTS)
    for old, new in zip(plain, shuffled_words(plain, seed=3), strict=True):
        for before, after in zip(old.texts, new.texts, strict=True):
            assert Counter(before.split()) == Counter(after.split())


def test_white_space_stays_where_it_is() -> None:
    last = list(shuffled_words(read(TEXTS), seed=0))[-1].texts[0]
    assert sorted(last.split()) == ["here", "two", "words"]
    assert "".join(" " if one.isspace() else "x" for one in last).startswith("  x")
    assert last.endswith("\n")


def test_the_words_of_a_pair_stay_in_their_text() -> None:
    for example in shuffled_words(annotated(), seed=1):
        assert [sorted(text.split()) for text in example.texts] == [[*"abcdef"], [*"uvwxyz"]]
        assert [word.text for word in example.words] == " ".join(example.texts).split()
        assert [word.segment for word in example.words] == [0] * 6 + [1] * 6


def test_what_joins_positions_stays_and_what_belongs_to_a_word_moves_with_it() -> None:
    corpus = annotated()
    for old, new in zip(corpus, shuffled_words(corpus, seed=1), strict=True):
        assert new.annotations == old.annotations
        assert (new.mentions, new.links) == (old.mentions, old.links)
        assert [(word.head, word.relation) for word in new.words] == [
            (word.head, word.relation) for word in old.words
        ]
        assert [word.text for word in new.words] != [word.text for word in old.words]
        for word in new.words:  # each word was made with its own text as tag, lemma and feature
            assert {word.upos, word.xpos, word.lemma, word.feats} == {word.text}


def test_words_stay_in_their_sentence() -> None:
    words = tuple(
        Word(f"{sentence}-{place}", sentence=sentence) for sentence in range(4) for place in "abcde"
    )
    example = Example("1", (" ".join(word.text for word in words),), words)
    (mixed,) = shuffled_words(from_examples([example], name="made"), seed=0)
    assert [word.sentence for word in mixed.words] == [word.sentence for word in words]
    assert [word.text[0] for word in mixed.words] == [word.text[0] for word in words]
    orders = [[word.text[2] for word in mixed.words[begin : begin + 5]] for begin in (0, 5, 10, 15)]
    assert all(sorted(order) == list("abcde") for order in orders)
    assert len({tuple(order) for order in orders}) > 1


def test_the_seed_decides_and_examples_differ() -> None:
    def texts(seed: int) -> list[tuple[str, ...]]:
        return [example.texts for example in shuffled_words(annotated(), seed=seed)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
    assert len(set(texts(1))) == 3  # the same words thrice, in three orders


def test_checksum_and_notes_name_the_seed() -> None:
    corpus = annotated()
    sums = {corpus.checksum, *(shuffled_words(corpus, seed=seed).checksum for seed in (1, 2))}
    assert len(sums) == 3
    assert shuffled_words(corpus, seed=2).notes[-1].endswith("seed 2")


def test_documents_stay_in_their_buckets() -> None:
    for corpus in (read(TEXTS), annotated()):
        pairs = zip(corpus, shuffled_words(corpus, seed=5), strict=True)
        assert all(bucket_of(old) == bucket_of(new) for old, new in pairs)


def test_a_limit_cuts_the_shuffled_corpus_too() -> None:
    cut = shuffled_words(read(TEXTS).first(2), seed=0)
    assert [example.texts for example in cut] == [
        example.texts for example in shuffled_words(read(TEXTS), seed=0)
    ][:2]
