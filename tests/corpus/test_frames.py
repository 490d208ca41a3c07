"""Frame links from JSON lines and from FrameNet, and the filter of the paper."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headscope import corpus
from headscope.corpus import Example, FrameLink
from headscope.corpus.frames import HINT, OFFSETS, cut_words, open_framenet, read_framenet
from headscope.errors import CorpusError
from refusals import refusal

AGITATED = {
    "sentence": "He was becoming agitated .",
    "target": [16, 24],
    "links": [{"start": 0, "end": 2, "fe": "Experiencer"}],
    "frame": "Emotion_directed",
}


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_sentence_becomes_words_with_links_and_its_keys_give_the_format(tmp_path):
    read = corpus.read(written(tmp_path / "a.jsonl", AGITATED))
    (example,) = read
    assert (read.format, read.annotations) == ("frames-jsonl", {"words", "frames"})
    assert example.texts == ("He was becoming agitated .",)
    assert [word.text for word in example.words] == ["He", "was", "becoming", "agitated", "."]
    assert example.links == (FrameLink("Emotion_directed", "Experiencer", (3, 3), (0, 0)),)
    assert example.source == f"{tmp_path / 'a.jsonl'}, line 1"


def test_spans_that_end_inside_a_word_cut_it(tmp_path):
    record = {
        "sentence": " Mitch's  chin dipped.",
        "target": [15, 21],
        "links": [{"start": 1, "end": 6}, {"start": 10, "end": 14}],
    }
    (example,) = corpus.read(written(tmp_path / "a.jsonl", record))
    assert example.texts == ("Mitch 's chin dipped .",)
    assert example.links == (FrameLink("", "", (3, 3), (0, 0)), FrameLink("", "", (3, 3), (2, 2)))


@pytest.mark.parametrize(
    ("text", "spans", "words"),
    [
        ("ab cd", [], ["ab", "cd"]),
        ("ab cd", [(1, 4)], ["a", "b", "c", "d"]),
        ("ab", [(0, 1), (1, 2)], ["a", "b"]),
        ("a  b", [(1, 3)], ["a", "b"]),
        ("", [], []),
    ],
)
def test_words_are_separated_by_space_and_cut_at_the_ends_of_spans(text, spans, words):
    assert [text[start:end] for start, end in cut_words(text, spans)] == words


def test_columns_or_a_format_override_the_keys(tmp_path):
    path = written(tmp_path / "a.jsonl", AGITATED)
    assert corpus.read(path, columns=["sentence"]).format == "jsonl"
    assert corpus.read(path, format="jsonl").format == "jsonl"
    found = corpus.read(written(tmp_path / "b.jsonl", {"sentence": "x", "links": []})).format
    assert found == "jsonl"


NUMBERS = "must have two whole numbers, start and end; got"
WORD = "is not a word of the sentence, which has 26 characters"
SHE = {"start": 0, "end": 2, "text": "She"}
WRONG = [  # what the record says instead, the message and the hint
    (None, "expected a JSON object, got list", HINT),
    ({"sentence": ["He"]}, "'sentence' must be a string, got list", HINT),
    ({"links": {}}, "'links' must be a list of objects, got dict", HINT),
    ({"links": [[0, 2]]}, "links[0] must be an object, got list", HINT),
    ({"target": [16]}, f"'target' {NUMBERS} [16]", HINT),
    ({"target": [True, 24]}, f"'target' {NUMBERS} [True, 24]", HINT),
    ({"links": [{"start": 0}]}, f"links[0] {NUMBERS} [0, None]", HINT),
    ({"target": [16, 27]}, f"'target': 16 to 27 {WORD}", OFFSETS),
    ({"target": [24, 16]}, f"'target': 24 to 16 {WORD}", OFFSETS),
    ({"target": [-3, 2]}, f"'target': -3 to 2 {WORD}", OFFSETS),
    ({"links": [{"start": 2, "end": 3}]}, f"links[0]: 2 to 3 {WORD}", OFFSETS),
    ({"target_text": "becoming"}, "'target': 16 to 24 is 'agitated', not 'becoming'", OFFSETS),
    ({"links": [SHE]}, "links[0]: 0 to 2 is 'He', not 'She'", OFFSETS),
]


@pytest.mark.parametrize(("change", "message", "hint"), WRONG)
def test_what_is_wrong_is_reported_with_its_line(tmp_path, change, message, hint):
    record = ["x"] if change is None else AGITATED | change
    path = written(tmp_path / "a.jsonl", AGITATED, record)
    found = str(refusal(CorpusError, lambda: list(corpus.read(path, format="frames-jsonl"))))
    assert found == f"{path}, line 2: {message}\nnext: {hint}"


def test_a_record_without_a_sentence_is_reported(tmp_path):
    path = written(tmp_path / "a.jsonl", {"target": [16, 24], "links": []})
    with pytest.raises(CorpusError, match="'sentence' must be a string, got nothing"):
        corpus.read(path, format="frames-jsonl")


class Entry(dict[str, Any]):
    """As nltk's: a dict whose keys are attributes too."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


CORE = {"Experiencer": "Core", "Content": "Core", "Time": "Peripheral"}


def frame() -> Entry:
    return Entry(
        name="Emotion_directed", FE={name: Entry(coreType=kind) for name, kind in CORE.items()}
    )


def exemplar(marked: str, number: int = 1, **changes: Any) -> Entry:
    """A sentence with ``[Element words]`` and ``*target*`` marked, as nltk gives it."""
    text, elements, targets = "", [], []
    opened: list[tuple[int, str]] = []
    at = 0
    while at < len(marked):
        if marked[at] == "[":
            name, _, _ = marked[at + 1 :].partition(" ")
            opened.append((len(text), name))
            at += len(name) + 2
        elif marked[at] == "]":
            start, name = opened.pop()
            elements.append((start, len(text), name))
            at += 1
        elif marked[at] == "*":
            if targets and len(targets[-1]) == 1:
                targets[-1] += (len(text),)
            else:
                targets.append((len(text),))
            at += 1
        else:
            text += marked[at]
            at += 1
    fields = {"ID": number, "text": text, "frame": frame(), "LU": Entry(name="agitated.a")}
    return Entry(fields, Target=targets, FE=(elements, {})) | changes


def framenet(*sentences: Entry) -> Any:
    return SimpleNamespace(exemplars=lambda: iter([Entry(sentence) for sentence in sentences]))


def kept(marked: str, **changes: Any) -> list[Example]:
    return list(read_framenet(framenet(exemplar(marked, **changes))))


def test_an_exemplar_becomes_an_example_linked_to_its_core_elements():
    (example,) = kept("[Experiencer He] was becoming *agitated* [Time on Monday].", number=7)
    assert (example.id, example.texts) == ("7", ("He was becoming agitated on Monday.",))
    assert example.links == (FrameLink("Emotion_directed", "Experiencer", (3, 3), (0, 0)),)
    assert example.source == "FrameNet, agitated.a"


@pytest.mark.parametrize(
    ("marked", "passes"),
    [
        ("[Experiencer He] was becoming *agitated*", True),
        ("[Experiencer He] became *agitated*", False),  # only one word between
        ("[Experiencer The old man] was becoming *agitated*", True),
        # an element of four words
        ("[Experiencer The very old man] was becoming *agitated*", False),
        ("*agitated* as ever was [Experiencer he]", True),
        ("*agitated* was [Experiencer he]", False),
        ("[Experiencer He] was becoming *agitated* about it [Content the noise]", True),
        # one of two core elements is next to the target
        ("[Experiencer He] was becoming *agitated* at [Content the noise]", False),
        # one that is not core may be anywhere
        ("[Experiencer He] was becoming *agitated* [Time yesterday]", True),
        ("was becoming *agitated* as ever [Time yesterday]", False),  # no core element
        ("[Experiencer He] was becoming *agitated* a b c d e f g h", True),  # twelve words
        ("[Experiencer He] was becoming *agitated* a b c d e f g h i", False),  # thirteen
        # an element around the target
        ("*agitated* [Experiencer he became *agitated* indeed]", False),
    ],
)
def test_the_filter_of_the_paper(marked, passes):
    assert bool(kept(marked)) is passes


def test_a_target_in_two_parts_is_linked_from_each_and_both_must_be_apart():
    (example,) = kept("[Experiencer He] did not *cheer* them *up*")
    assert [link.target for link in example.links] == [(3, 3), (5, 5)]
    assert kept("*cheer* it *up* [Experiencer he]") == []


def test_elements_of_the_second_layer_count_and_sentences_without_annotation_do_not():
    (example,) = kept("He was becoming *agitated*", FE=([], {}), FE2=([(0, 2, "Content")], {}))
    assert [link.element for link in example.links] == ["Content"]
    sentence = exemplar("[Experiencer He] was becoming *agitated*")
    del sentence["Target"]
    assert list(read_framenet(framenet(sentence))) == []


def test_framenet_by_name_is_the_filtered_exemplars_held_in_memory(monkeypatch):
    from headscope.corpus import frames as module

    sentences = [
        exemplar("[Experiencer He] was becoming *agitated*", number) for number in (1, 2, 3)
    ]
    monkeypatch.setattr(module, "open_framenet", lambda: framenet(*sentences))
    read = corpus.read("framenet")
    expected = ("framenet", "framenet", 3, {"words", "frames"})
    assert (read.name, read.format, read.size(), read.annotations) == expected
    assert [example.id for example in corpus.read("framenet", limit=2)] == ["1", "2"]
    assert read.checksum != corpus.read("framenet", limit=2).checksum


def test_without_nltk_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    assert (
        str(refusal(CorpusError, corpus.read, "framenet"))
        == "FrameNet is read with nltk, which is not installed\n"
        "next: pip install 'headscope[framenet]' && python -m nltk.downloader framenet_v17"
    )


def test_without_framenet_s_data_the_error_says_how_to_get_it(monkeypatch):
    pytest.importorskip("nltk")
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    assert (
        str(refusal(CorpusError, open_framenet))
        == "nltk does not find FrameNet's data (framenet_v17)\n"
        "next: python -m nltk.downloader framenet_v17"
    )


@pytest.mark.shared
def test_all_473_sentences_of_the_paper_are_read(shared):
    path = shared / "data" / "framenet" / "kovaleva_473.jsonl.gz"
    examples = list(corpus.read(path))
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    assert len(examples) == len(records) == 473
    for example, record in zip(examples, records, strict=True):
        words = [word.text for word in example.words]
        assert words == record["sentence"].split()
        assert len(words) <= 12
        spoken = [
            tuple(" ".join(words[start : end + 1]) for start, end in (link.target, link.filler))
            for link in example.links
        ]
        assert spoken == [(record["target_text"], link["text"]) for link in record["links"]]
