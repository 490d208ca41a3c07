"""Coreference as JSON lines: what is read, and what is refused with its line and mention."""

import gzip
import json

import pytest

from headscope import corpus
from headscope.corpus import Mention, Word
from headscope.errors import CorpusError

ANN = {
    "doc": "d1",
    "genre": "news",
    "sentences": [["Ann", "saw", "the", "dog", "of", "Bo", "."], [], ["It", "was", "hers", "."]],
    "mentions": [
        {"sent": 2, "start": 2, "end": 2, "head": 2, "type": "pronoun", "cluster": "1"},
        {"sent": 2, "start": 0, "end": 0, "head": 0, "cluster": 7},
        {"sent": 0, "start": 5, "end": 5, "head": 5, "type": "proper", "cluster": "bo"},
        {"sent": 0, "start": 2, "end": 5, "head": 3, "type": "nominal", "cluster": 7},
        {"sent": 0, "start": 0, "end": 0, "head": 0, "type": "proper", "cluster": "1"},
        {"sent": 0, "start": 1, "end": 1, "head": 1, "type": "other", "cluster": "e"},
    ],
}


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


def complaint(path, **options):
    with pytest.raises(CorpusError) as caught:
        list(corpus.read(path, **options))
    return str(caught.value)


def test_json_lines_give_one_document_per_line_with_words_counted_over_all_sentences(
    tmp_path,
):
    path = write(
        tmp_path / "a.jsonl.gz",
        f"\n{json.dumps(ANN)}\n\n" + json.dumps({"sentences": [["Yes"]], "mentions": []}),
    )
    read = corpus.read(path)
    first, second = read
    assert (read.format, read.notes, read.annotations) == ("coref-jsonl", (), {"words", "mentions"})
    assert (first.id, first.texts, first.source) == (
        "d1",
        ("Ann saw the dog of Bo . It was hers .",),
        f"{path}, line 2",
    )
    assert [(word.text, word.sentence, word.segment, word.head) for word in first.words[5:8]] == [
        ("Bo", 0, 0, None),
        (".", 0, 0, None),
        ("It", 2, 0, None),
    ]
    assert first.mentions == (
        Mention(0, 0, 0, "1", "proper"),
        Mention(1, 1, 1, "e", "nominal"),
        Mention(2, 5, 3, "7", "nominal"),
        Mention(5, 5, 5, "bo", "proper"),
        Mention(7, 7, 7, "7", "pronoun"),  # "It" has no type: known by a word list
        Mention(9, 9, 9, "1", "pronoun"),
    )
    assert (second.id, second.words, second.mentions) == ("4", (Word("Yes"),), ())


@pytest.mark.parametrize(
    "record", [{"text": "Hi."}, {"text": "Hi.", "sentences": 1}, {"text": "Hi.", "mentions": []}]
)
def test_json_lines_without_sentences_and_mentions_are_still_texts(tmp_path, record):
    path = write(tmp_path / "a.jsonl", json.dumps(record))
    assert (corpus.read(path).format, [example.texts for example in corpus.read(path)]) == (
        "jsonl",
        [("Hi.",)],
    )


def test_named_columns_or_a_format_override_what_json_lines_look_like(tmp_path):
    path = write(tmp_path / "a.jsonl", json.dumps({"text": "Hi.", "sentences": [], "mentions": []}))
    assert [
        example.texts
        for options in ({"columns": ["text"]}, {"format": "jsonl"})
        for example in corpus.read(path, **options)
    ] == [("Hi.",), ("Hi.",)]
    assert complaint(path).startswith(f"{path}, line 1: the document has the unknown key 'text'")
    other = write(tmp_path / "a.txt", json.dumps(ANN))
    assert len(next(iter(corpus.read(other, format="coref-jsonl"))).mentions) == 6


MENTION = ANN["mentions"][0]
JSON = {
    "not JSON": ('{"sentences"', "not JSON (Expecting ':' delimiter: line 1 column 13 (char 12))"),
    "a list": ("[]", "the document must be a JSON object, got list"),
    "no mentions": (ANN | {"mentions": None}, "'mentions' must be a list of objects, got NoneType"),
    "no sentences": ({"doc": "x", "mentions": []}, "the document has no 'sentences'"),
    "an unknown key": (
        ANN | {"genra": "x"},
        "the document has the unknown key 'genra'; known are sentences, mentions, doc, genre, "
        "licence_class",
    ),
    "sentences as strings": (
        ANN | {"sentences": ["Ann left"]},
        "'sentences' must be a list of lists of words, none of them blank",
    ),
    "a blank word": (
        ANN | {"sentences": [["Ann", " "]]},
        "'sentences' must be a list of lists of words, none of them blank",
    ),
    "no words": (ANN | {"sentences": [[]], "mentions": []}, "the document has no words"),
    "a mention that is a list": (
        ANN | {"mentions": [[0, 1]]},
        "mentions[0]: the mention must be a JSON object, got list",
    ),
    "an unknown key of a mention": (
        ANN | {"mentions": [MENTION | {"id": 1}]},
        "mentions[0]: the mention has the unknown key 'id'; known are sent, start, end, head, "
        "cluster, type",
    ),
    "a mention without head": (
        ANN | {"mentions": [{key: MENTION[key] for key in ("sent", "start", "end", "cluster")}]},
        "mentions[0]: the mention has no 'head'",
    ),
    "a number as text": (
        ANN | {"mentions": [MENTION | {"start": "2"}]},
        "mentions[0]: 'start' must be a whole number, got '2'",
    ),
    "true as a number": (
        ANN | {"mentions": [MENTION | {"sent": True}]},
        "mentions[0]: 'sent' must be a whole number, got True",
    ),
    "no cluster": (
        ANN | {"mentions": [MENTION | {"cluster": ""}]},
        "mentions[0]: 'cluster' must be a string or a whole number, got ''",
    ),
    "outside the document": (
        ANN | {"mentions": [MENTION, MENTION | {"sent": 3}]},
        "mentions[1]: there is no sentence 3, the document has 3",
    ),
    "before the document": (
        ANN | {"mentions": [MENTION | {"sent": -1}]},
        "mentions[0]: there is no sentence -1, the document has 3",
    ),
    "outside the sentence": (
        ANN | {"mentions": [MENTION | {"end": 4}]},
        "mentions[0]: words 2 to 4 are not within sentence 2, which has 4",
    ),
    "before the sentence": (
        ANN | {"mentions": [MENTION | {"start": -1}]},
        "mentions[0]: words -1 to 2 are not within sentence 2, which has 4",
    ),
    "end before start": (
        ANN | {"mentions": [MENTION | {"end": 1}]},
        "mentions[0]: words 2 to 1 are not within sentence 2, which has 4",
    ),
    "head outside": (
        ANN | {"mentions": [MENTION | {"head": 3}]},
        "mentions[0]: the head 3 is not one of the words 2 to 2",
    ),
    "an unknown type": (
        ANN | {"mentions": [MENTION | {"type": ["name"]}]},
        "mentions[0]: 'type' must be one of pronoun, proper, nominal, other, got ['name']",
    ),
    "a mention twice": (
        ANN | {"mentions": [MENTION, MENTION]},
        "mentions[1]: entity '1' has this mention twice",
    ),
    "crossing": (
        ANN
        | {
            "mentions": [
                MENTION | {"sent": 0, "start": start, "end": start + 2, "head": start}
                for start in (2, 1)
            ]
        },
        "mentions[0]: two mentions of entity '1' cross",
    ),
}


@pytest.mark.parametrize("what", JSON)
def test_json_lines_that_cannot_be_used_are_reported_with_line_and_mention(tmp_path, what):
    given, message = JSON[what]
    path = write(
        tmp_path / "a.jsonl",
        json.dumps(ANN) + "\n" + (given if isinstance(given, str) else json.dumps(given)),
    )
    assert complaint(path).splitlines()[0] == f"{path}, line 2: {message}"


def test_a_mention_without_a_type_that_is_no_pronoun_has_no_kind(tmp_path):
    mention = {"sent": 0, "start": 0, "end": 1, "head": 1, "cluster": 1}
    document = {"sentences": [["The", "dog", "left"]], "mentions": [mention]}
    (example,) = corpus.read(write(tmp_path / "a.jsonl", json.dumps(document)))
    assert [one.kind for one in example.mentions] == [""]
