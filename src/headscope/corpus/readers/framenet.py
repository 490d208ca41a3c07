"""Frame links (Kovaleva et al. 2019, §4.2): JSON lines with character offsets, and FrameNet itself through nltk's reader."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from headscope.corpus.example import Example, FrameLink, Word, join_words
from headscope.corpus.files import json_values, lines
from headscope.corpus.readers.json_lines import record_group
from headscope.errors import CorpusError

Span = tuple[int, int]

LONGEST, WIDEST, APART = 12, 3, 2
"""The paper's filter: most words of a sentence, most words of a core element, least words between element and target."""
HINT = 'write e.g. {"sentence": "He was becoming agitated .", "target": [16, 24], "links": [{"start": 0, "end": 2, "fe": "Experiencer"}], "frame": "Emotion_directed"}'
OFFSETS = "offsets count characters from 0, and 'end' is one past the last"


def is_frames_jsonl(path: Path) -> bool:
    """Whether the first object of a JSON-lines file has a sentence, a target and links."""
    first = next((line for _, line in lines(path) if line.strip()), "")
    try:
        record = json.loads(first)
    except ValueError:
        return False
    return isinstance(record, dict) and {"sentence", "target", "links"} <= record.keys()


def read_frames_jsonl(path: Path) -> Iterator[Example]:
    """One example a line: ``{"sentence", "target": [start, end], "links": [{"start", "end", "fe"}, …], "frame"}``, offsets in characters.

    ``fe`` and ``frame`` may be left out. Where ``target_text`` and a link's ``text`` are given, they must be what stands there; other keys are not used.
    """
    for number, record in json_values(path):
        where = f"{path}, line {number}"
        if not isinstance(record, dict):
            raise CorpusError(
                f"{where}: expected a JSON object, got {type(record).__name__}", hint=HINT
            )
        for key, kind, words in (
            ("sentence", str, "a string"),
            ("target", list, "a list of two offsets"),
            ("links", list, "a list of objects"),
        ):
            if not isinstance(record.get(key), kind):
                raise CorpusError(
                    f"{where}: {key!r} must be {words}, got {_shown(record, key)}", hint=HINT
                )
        text, frame = record["sentence"], str(record.get("frame", ""))
        target = _span(text, record["target"], record.get("target_text"), f"{where}: 'target'")
        elements = []
        for index, link in enumerate(record["links"]):
            if not isinstance(link, dict):
                raise CorpusError(
                    f"{where}: links[{index}] must be an object, got {type(link).__name__}",
                    hint=HINT,
                )
            span = _span(
                text,
                [link.get("start"), link.get("end")],
                link.get("text"),
                f"{where}: links[{index}]",
            )
            elements.append((span, str(link.get("fe", ""))))
        example = make_example(
            str(record.get("id", number)), text, frame, [target], elements, source=where
        )
        yield replace(example, group=record_group(record))


def _shown(record: dict[str, Any], key: str) -> str:
    return type(record[key]).__name__ if key in record else "nothing"


def _span(text: str, given: Sequence[Any], expected: object, where: str) -> Span:
    """Two offsets, checked."""
    if len(given) != 2 or any(type(offset) is not int for offset in given):
        raise CorpusError(
            f"{where} must have two whole numbers, start and end; got {list(given)!r}", hint=HINT
        )
    start, end = given
    if not 0 <= start < end <= len(text) or not text[start:end].strip():
        raise CorpusError(
            f"{where}: {start} to {end} is no word of the sentence, which has {len(text)} characters",
            hint=OFFSETS,
        )
    if expected is not None and text[start:end] != expected:
        raise CorpusError(
            f"{where}: {start} to {end} is {text[start:end]!r}, not {expected!r}", hint=OFFSETS
        )
    return start, end


def cut_words(text: str, spans: Iterable[Span]) -> list[Span]:
    """Where the words of a text begin and end: they are separated by space, and cut where a span begins or ends, so that spans are whole words.

    >>> text = "He was agitated."
    >>> [text[start:end] for start, end in cut_words(text, [(7, 15)])]
    ['He', 'was', 'agitated', '.']
    """
    edges = sorted({edge for span in spans for edge in span})
    found = []
    for match in re.finditer(r"\S+", text):
        places = [
            match.start(),
            *(edge for edge in edges if match.start() < edge < match.end()),
            match.end(),
        ]
        found += list(pairwise(places))
    return found


def make_example(
    name: str,
    text: str,
    frame: str,
    targets: Sequence[Span],
    elements: Sequence[tuple[Span, str]],
    *,
    source: str = "",
) -> Example:
    """A sentence with a link from each part of the target to each element."""
    cut = cut_words(text, [*targets, *(span for span, _ in elements)])
    words = tuple(Word(text[start:end]) for start, end in cut)

    def covered(span: Span) -> Span:
        inside = [
            place for place, (start, end) in enumerate(cut) if span[0] <= start and end <= span[1]
        ]
        return inside[0], inside[-1]

    links = tuple(
        FrameLink(frame, element, covered(target), covered(span))
        for target, (span, element) in product(targets, elements)
    )
    return Example(name, join_words(words), words, links=links, source=source)


def keep(example: Example) -> bool:
    """The paper's filter: a short sentence, short elements, and none next to the target."""

    def between(link: FrameLink) -> int:
        first, second = sorted([link.target, link.filler])
        return second[0] - first[1] - 1

    short = all(link.filler[1] - link.filler[0] < WIDEST for link in example.links)
    return (
        bool(example.links)
        and len(example.words) <= LONGEST
        and short
        and all(between(link) >= APART for link in example.links)
    )


def open_framenet() -> Any:
    """FrameNet 1.7 through nltk."""
    try:
        from nltk.corpus import framenet
    except ImportError:
        raise CorpusError(
            "FrameNet is read with nltk, which is not installed",
            hint="pip install 'headscope[framenet]' && python -m nltk.downloader framenet_v17",
        ) from None
    try:
        framenet.ensure_loaded()
    except LookupError:
        raise CorpusError(
            "FrameNet's data (framenet_v17) is not where nltk looks for it",
            hint="python -m nltk.downloader framenet_v17",
        ) from None
    return framenet


def read_framenet(framenet: Any) -> Iterator[Example]:
    """The exemplar sentences that pass the paper's filter, linked to their core elements. ``framenet`` is nltk's reader, or anything like it."""
    for sentence in framenet.exemplars():
        if "Target" not in sentence:  # not annotated after all
            continue
        core = {name for name, element in sentence.frame.FE.items() if element.coreType == "Core"}
        overt = [
            place
            for layer in ("FE", "FE2", "FE3")
            if layer in sentence
            for place in sentence[layer][0]
        ]
        elements = [
            ((start, end), name)
            for start, end, name in overt
            if name in core and sentence.text[start:end].strip()
        ]
        targets = [
            (start, end) for start, end in sentence.Target if sentence.text[start:end].strip()
        ]
        example = make_example(
            str(sentence.ID),
            sentence.text,
            sentence.frame.name,
            targets,
            elements,
            source=f"FrameNet, {sentence.LU.name}",
        )
        if keep(example):
            yield example
