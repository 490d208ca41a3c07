"""Coreference as JSON lines: one document per line, with its sentences and its mentions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from headscope.corpus.example import Example, Mention, Word, join_words
from headscope.corpus.files import json_values, lines
from headscope.corpus.mentions import in_order, mention_kind
from headscope.errors import CorpusError, UserError, shorten
from headscope.limits import parse_json

# What each key must be; keys with None are optional.
DOCUMENT = {
    "sentences": "a list of lists of words",
    "mentions": "a list of objects",
    "doc": None,
    "genre": None,
    "licence_class": None,
}
MENTION = {
    "sent": "a whole number",
    "start": "a whole number",
    "end": "a whole number",
    "head": "a whole number",
    "cluster": "a string or a whole number",
    "type": None,
}
KINDS = {"pronoun": "pronoun", "proper": "proper", "nominal": "nominal", "other": "nominal"}
HINT = (
    'write e.g. {"doc": "d1", "sentences": [["Ann", "left"]], '
    '"mentions": [{"sent": 0, "start": 0, "end": 0, "head": 0, "cluster": "1"}]}'
)


def is_coref_jsonl(path: Path) -> bool:
    """Whether the first object of a JSON-lines file has sentences and mentions."""
    first = next((line for _, line in lines(path) if line.strip()), "")
    try:
        record = parse_json(first, str(path))
    except UserError:
        return False
    return isinstance(record, dict) and {"sentences", "mentions"} <= record.keys()


def read_coref_jsonl(path: Path) -> Iterator[Example]:
    """Yield one example per line, each a document.

    An object has ``doc`` (the document's name, which is also the group), ``sentences`` (lists of
    words) and ``mentions``. A mention is the words ``start`` to ``end`` (inclusive) of the sentence
    ``sent``, all counted from 0, with a ``head`` among them, a ``cluster`` and an optional
    ``type``: pronoun, proper, nominal or other (verbs and adverbs, counted as nominal). Without a
    type, pronouns are known by a word list, and others have no kind. ``genre`` and
    ``licence_class`` are allowed and ignored.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> _ = path.write_text('{"doc": "d1", "sentences": [["Ann", "left"]], "mentions": []}')
    >>> [(example.id, example.texts) for example in read_coref_jsonl(path)]
    [('d1', ('Ann left',))]
    """
    for number, record in json_values(path):
        yield _document(record, number, f"{path}, line {number}")


def _document(record: Any, number: int, where: str) -> Example:
    _check_keys(record, DOCUMENT, where, "the document")
    sentences = record["sentences"]
    if not isinstance(sentences, list) or not all(_is_sentence(sentence) for sentence in sentences):
        raise CorpusError(
            f"{where}: 'sentences' must be {DOCUMENT['sentences']}, none of them blank", hint=HINT
        )
    if not isinstance(record["mentions"], list):
        raise CorpusError(
            f"{where}: 'mentions' must be {DOCUMENT['mentions']}, "
            f"got {type(record['mentions']).__name__}",
            hint=HINT,
        )
    words = tuple(
        Word(text, sentence=index) for index, sentence in enumerate(sentences) for text in sentence
    )
    if not words:
        raise CorpusError(f"{where}: the document has no words", hint="remove the line")
    firsts = list(accumulate((len(sentence) for sentence in sentences), initial=0))
    found = []
    for index, given in enumerate(record["mentions"]):
        place = f"{where}: mentions[{index}]"
        found.append((_mention(given, sentences, firsts, place), place))
    name = str(record.get("doc", number))
    return Example(name, join_words(words), words, in_order(found), group=name, source=where)


def _is_sentence(sentence: object) -> bool:
    return isinstance(sentence, list) and all(
        isinstance(word, str) and word.strip() for word in sentence
    )


def _mention(given: Any, sentences: list[list[str]], firsts: list[int], place: str) -> Mention:
    """Check one mention, and count its words from the start of the document."""
    _check_keys(given, MENTION, place, "the mention")
    for key in ("sent", "start", "end", "head", "cluster"):
        allowed = (int, str) if key == "cluster" else (int,)
        if type(given[key]) not in allowed or given[key] == "":
            raise CorpusError(
                f"{place}: {key!r} must be {MENTION[key]}, got {shorten(given[key])}", hint=HINT
            )
    sent, start, end, head = (given[key] for key in ("sent", "start", "end", "head"))
    _check_places(sent, start, end, head, sentences, place)
    kind = given.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise CorpusError(
            f"{place}: 'type' must be one of {', '.join(KINDS)}, got {shorten(kind)}",
            hint="correct it, or leave it out",
        )
    first = firsts[sent]
    known = KINDS[kind] if kind else mention_kind(Word(sentences[sent][head]))
    return Mention(first + start, first + end, first + head, str(given["cluster"]), known)


def _check_places(
    sent: int, start: int, end: int, head: int, sentences: list[list[str]], place: str
) -> None:
    """A mention must lie within its sentence, and its head within the mention."""
    if not 0 <= sent < len(sentences):
        raise CorpusError(
            f"{place}: there is no sentence {shorten(sent)}, the document has {len(sentences)}",
            hint="sentences are counted from 0",
        )
    if not 0 <= start <= end < len(sentences[sent]):
        raise CorpusError(
            f"{place}: words {shorten(start)} to {shorten(end)} are not within sentence {sent}, "
            f"which has {len(sentences[sent])}",
            hint="words are counted from 0, and 'end' is the last word",
        )
    if not start <= head <= end:
        raise CorpusError(
            f"{place}: the head {shorten(head)} is not one of the words {start} to {end}",
            hint="the head is counted from the start of the sentence",
        )


def _check_keys(record: Any, known: dict[str, str | None], where: str, what: str) -> None:
    if not isinstance(record, dict):
        raise CorpusError(
            f"{where}: {what} must be a JSON object, got {type(record).__name__}", hint=HINT
        )
    for key in record:
        if key not in known:
            raise CorpusError(
                f"{where}: {what} has the unknown key {shorten(key)}; known are {', '.join(known)}",
                hint="remove it, or correct its spelling",
            )
    for key, must in known.items():
        if must and key not in record:
            raise CorpusError(f"{where}: {what} has no {key!r}", hint=HINT)
