"""A preview says in one line what was read."""

import pytest

from headscope import corpus
from headscope.corpus import Corpus, Example


def test_pairs_are_counted_and_the_first_is_shown():
    pairs = [("The dog barks.", "It is loud.")] * 1204
    assert corpus.read(pairs).preview() == (
        'read 1,204 pairs; first: "The dog barks." | "It is loud."'
    )


def test_texts_are_counted_and_the_first_is_shown():
    assert corpus.read(["A dog."]).preview() == 'read 1 text; first: "A dog."'


def test_texts_and_pairs_are_counted_apart():
    read = corpus.read([("a", "b"), "c", "d"])
    assert read.preview() == 'read 3 examples (2 texts and 1 pair); first: "a" | "b"'


def test_a_label_is_shown(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("text\tlabel\nFine.\tgood\n")
    assert corpus.read(path).preview() == 'read 1 text; first: "Fine." (label: good)'


def test_a_limit_is_respected():
    assert corpus.read(["a", "b", "c"], limit=2).preview() == 'read 2 texts; first: "a"'


def test_long_texts_are_cut_between_words():
    text = "word " * 100
    shown = corpus.read([text]).preview()
    assert shown == f'read 1 text; first: "{("word " * 11)}…"'


def test_long_words_are_cut_anywhere():
    assert corpus.read(["x" * 100]).preview() == f'read 1 text; first: "{"x" * 59}…"'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("left\u202eright", "left\\u202eright"),
        ("café 🙂", "café 🙂"),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert corpus.read([text]).preview() == f'read 1 text; first: "{shown}"'


def test_nothing_is_parsed_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("headscope.corpus.spacy.load_parser", lambda name="": pytest.fail("parsed"))
    read = corpus.read(["A dog barks."], parse=True)
    assert read.preview() == 'read 1 text; first: "A dog barks."'


def test_a_corpus_without_examples_has_a_preview_too():
    assert Corpus("x", "memory", lambda: iter([]), str).preview() == "read nothing"


def test_a_corpus_shows_where_it_comes_from():
    read = Corpus("a.tsv", "tsv", lambda: iter([Example("1", ("a",))]), str)
    assert repr(read) == "Corpus('a.tsv', format='tsv')"
    assert repr(read.first(3)) == "Corpus('a.tsv', format='tsv', limit=3)"
