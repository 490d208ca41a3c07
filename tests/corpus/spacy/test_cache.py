"""The cache of parses: what comes out is what went in, or nothing."""

import errno
import gzip
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpus import ROOT, Word
from headscope.corpus import spacy as module
from headscope.corpus.spacy import ParseCache
from headscope.files import cache_folder

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
def folder(tmp_path, monkeypatch):
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
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSCOPE_CACHE", folder)
        store = ParseCache("a", 1, None, ["b"])
        for index, (texts, words) in enumerate(entries):
            if index == pause:
                store.save()
            store.add(texts, words)
        store.close()
        again = ParseCache("a", 1, None, ["b"])
        assert [again.recall(texts) for texts, _ in entries] == [words for _, words in entries]
        assert again.recall(("more",)) is None


def test_the_file_is_ordinary_json_lines(folder):
    fill(4)
    (path,) = folder.iterdir()
    rows = [
        json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    ]
    assert [[tuple(word) for word in row["words"]] for row in rows] == [
        [
            (
                word.text,
                word.segment,
                word.sentence,
                word.head,
                word.relation,
                word.upos,
                word.xpos,
                word.lemma,
            )
            for word in words
        ]
        for words in WORDS
    ]


def test_what_is_missing_at_the_end_is_added_later():
    for count in (1, 3, 4):
        fill(count)
        assert recall(ParseCache("key")) == WORDS[:count]


@pytest.mark.parametrize("key", [("other",), ("key", None), ("key", "")])
def test_another_key_is_another_cache(folder, key):
    fill(4)
    assert recall(ParseCache(*key)) == []
    assert ParseCache(*key).path != ParseCache("key").path == next(folder.iterdir())


def test_other_texts_do_not_get_these_words(folder):
    fill(4)
    store = ParseCache("key")
    assert store.recall(TEXTS[0]) == WORDS[0]
    assert store.recall(("Who?", "You")) is None
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda data, at: data[:at],
        lambda data, at: data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :],
        lambda data, at: data + data[: at + 1],
    ],
)
def test_a_damaged_file_gives_the_right_words_or_none_and_is_whole_again_after(folder, change):
    whole = fill(4).path.read_bytes()
    (path,) = folder.iterdir()
    for at in range(len(whole)):
        path.write_bytes(change(whole, at))
        found = recall(ParseCache("key"))
        assert found == WORDS[: len(found)]
        fill(4)
        fill(4)
        assert recall(ParseCache("key")) == WORDS


def test_a_truncated_file_is_deleted_when_its_end_is_reached(folder):
    path = fill(4).path
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = recall(ParseCache("key"))
    assert found == WORDS[: len(found)] != WORDS
    assert not path.exists()


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
    assert give(json.dumps({"checksum": module._checksum(("a",), [GOOD]), "words": [GOOD]})) == (
        Word("a", head=ROOT),
    )
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


def test_of_two_processes_the_one_with_more_parses_wins(folder):
    for longer_first in (True, False):
        one, other = ParseCache(longer_first), ParseCache(longer_first)
        for store, count in ((one, 4), (other, 2)):
            assert store.recall(TEXTS[0]) is None
            for texts, words in list(zip(TEXTS, WORDS, strict=True))[:count]:
                store.add(texts, words)
        for store in (one, other) if longer_first else (other, one):
            store.close()
        assert recall(ParseCache(longer_first)) == WORDS
    assert len(list(folder.iterdir())) == 2


def test_a_file_deleted_meanwhile_is_not_continued_with_a_gap(folder):
    store = fill(1)
    store = ParseCache("key")
    assert recall(store) == WORDS[:1]
    store.path.unlink()
    store.add(TEXTS[1], WORDS[1])
    store.close()
    assert list(folder.iterdir()) == []


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


def test_concurrent_processes_never_leave_half_a_file(folder, tmp_path_factory):
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
    assert set(folder.iterdir()) <= {path}


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
    assert [record.getMessage() for record in caplog.records] == [
        f"parses are not kept: {path} cannot be written: Not a directory"
    ]


def test_a_full_disk_is_not_an_error_and_keeps_what_was_there(folder, monkeypatch, caplog):
    fill(2)

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        fill(4)
    assert len(list(folder.iterdir())) == 1
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
