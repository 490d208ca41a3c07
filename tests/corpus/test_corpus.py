"""A corpus as a whole: limits, checksums, names and annotations."""

import hashlib
import math

import pytest

from headscope import corpus
from headscope.corpus import Example, FrameLink, Mention, Word
from headscope.errors import CorpusError

WORDS = (Word("Dogs", head=1, upos="NOUN"), Word("bark", head=-1, upos="VERB"))


@pytest.fixture
def five(tmp_path):
    path = tmp_path / "five.tsv"
    path.write_text("".join(f"text {number}\n" for number in range(1, 6)))
    return path


def test_a_corpus_can_be_walked_over_again_and_again(five):
    read = corpus.read(five)
    assert list(read) == list(read)
    assert [example.texts[0] for example in read] == [
        "text 1",
        "text 2",
        "text 3",
        "text 4",
        "text 5",
    ]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3, 3), (5, 5), (9, 5), (None, 5)])
def test_a_limit_cuts_a_corpus_to_its_first_examples(five, limit, count):
    assert list(corpus.read(five, limit=limit)) == list(corpus.read(five))[:count]
    assert list(corpus.read(five).first(limit)) == list(corpus.read(five))[:count]


def test_the_first_examples_of_a_limited_corpus_stay_within_its_limit(five):
    cut = corpus.read(five, limit=2)
    assert [len(list(cut.first(count))) for count in (1, 2, 4, None)] == [1, 2, 2, 2]


def test_a_limit_reads_no_further_than_it_needs(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\nnot JSON\n')
    assert len(list(corpus.read(path, limit=1))) == 1


def test_a_given_format_overrides_the_ending(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One.\tTwo.\n\nThree.\tFour.\n")
    assert [
        (read.format, [example.texts for example in read])
        for read in (corpus.read(path), corpus.read(path, format="tsv"))
    ] == [
        ("text", [("One.\tTwo.", "Three.\tFour.")]),
        ("tsv", [("One.", "Two."), ("Three.", "Four.")]),
    ]


def test_a_corpus_is_named_by_its_path(five):
    assert (corpus.read(five).name, corpus.read(str(five)).name, corpus.read("demo").name) == (
        str(five),
        str(five),
        "demo",
    )


def test_the_checksum_is_that_of_the_files_bytes(five):
    assert (
        corpus.read(five).checksum
        == corpus.read(five, limit=1).checksum
        == hashlib.sha256(five.read_bytes()).hexdigest()
    )


def test_the_checksum_of_a_file_longer_than_one_read_is_right(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"word " * math.ceil(2.5 * (1 << 20) / 5))
    assert corpus.read(path).checksum == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_checksum_of_texts_in_memory_tells_them_apart():
    checksums = [
        corpus.from_texts(texts).checksum
        for texts in (["a"], ["a"], ["b"], ["a", "b"], [("a", "b")])
    ]
    assert checksums[0] == checksums[1]
    assert len(set(checksums)) == 4


def test_texts_in_memory_are_numbered_and_pairs_stay_pairs():
    read = corpus.from_texts(["A dog.", ("Who?", "Me."), ["So", "what"]], name="mine")
    assert (read.name, list(read)) == (
        "mine",
        [Example("1", ("A dog.",)), Example("2", ("Who?", "Me.")), Example("3", ("So", "what"))],
    )


def test_a_corpus_without_examples_is_an_error_when_walked_over():
    with pytest.raises(CorpusError) as caught:
        list(corpus.from_texts([], name="mine"))
    assert str(caught.value) == "mine is empty: it has no examples\nnext: give at least one text"


@pytest.mark.parametrize(
    ("example", "offered"),
    [
        (Example("1", ("a",)), set()),
        (Example("1", ("a", "b")), {"pair"}),
        (Example("1", ("Dogs",), (Word("Dogs"),)), {"words"}),
        (Example("1", ("Dogs",), (Word("Dogs", head=-1),)), {"words", "tree"}),
        (Example("1", ("Dogs bark",), WORDS), {"words", "tree", "tags"}),
        (
            Example("1", ("Dogs bark",), WORDS, (Mention(0, 0, 0, "1"),)),
            {"words", "tree", "tags", "mentions"},
        ),
        (
            Example(
                "1", ("Dogs bark",), WORDS, (), (FrameLink("Noise", "Source", (1, 1), (0, 0)),)
            ),
            {"words", "tree", "tags", "frames"},
        ),
    ],
)
def test_an_example_offers_what_it_has(example, offered):
    assert example.annotations == offered
    assert corpus.from_examples([Example("0", ("x",)), example]).annotations == offered


def test_examples_are_equal_wherever_they_were_read():
    assert Example("1", ("a",), source="x, line 1") == Example("1", ("a",), source="y, line 2")
