"""Frame links: JSON lines with character offsets, and FrameNet itself through nltk's reader.

References
----------
Kovaleva et al. (2019), Revealing the Dark Secrets of BERT, §4.2.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from headscope.corpus.example import Example, FrameLink, Word, join_words
from headscope.corpus.tables import record_group
from headscope.corpus.text import json_values
from headscope.errors import CorpusError, shorten

Characters = tuple[int, int]
"""Where a piece of text begins and ends, in characters."""

LONGEST, WIDEST, APART = 12, 3, 2
"""The paper's filter: the most words of a sentence, the most words of a core element, and the
fewest words between element and target."""
HINT = (
    'write e.g. {"sentence": "He was becoming agitated .", "target": [16, 24], '
    '"links": [{"start": 0, "end": 2, "fe": "Experiencer"}], "frame": "Emotion_directed"}'
)
OFFSETS = "offsets count characters from 0, and 'end' is one past the last"
KEYS = {
    "sentence": (str, "a string"),
    "target": (list, "a list of two offsets"),
    "links": (list, "a list of objects"),
}
DOWNLOAD = "python -m nltk.downloader framenet_v17"


def read_frames_jsonl(path: Path) -> Iterator[Example]:
    """Yield one example per line, with links from the target of a frame to its elements.

    An object has ``sentence``, ``target`` (``[start, end]``) and ``links`` (objects with ``start``
    and ``end``), all offsets in characters. A link's ``fe``, and ``frame``, ``id``, ``group`` and
    ``document`` are optional. If ``target_text`` or a link's ``text`` is given, it must be what the
    sentence has there. Other keys are ignored.
    """
    for number, record in json_values(path):
        where = f"{path}, line {number}"
        _check_record(record, where)
        text = record["sentence"]
        target = _span(text, record["target"], record.get("target_text"), f"{where}: 'target'")
        yield make_example(
            str(record.get("id", number)),
            text,
            str(record.get("frame", "")),
            [target],
            [
                _element(text, link, f"{where}: links[{index}]")
                for index, link in enumerate(record["links"])
            ],
            group=record_group(record),
            source=where,
        )


def _check_record(record: Any, where: str) -> None:
    if not isinstance(record, dict):
        raise CorpusError(
            f"{where}: expected a JSON object, got {type(record).__name__}", hint=HINT
        )
    for key, (kind, words) in KEYS.items():
        if not isinstance(record.get(key), kind):
            got = type(record[key]).__name__ if key in record else "nothing"
            raise CorpusError(f"{where}: {key!r} must be {words}, got {got}", hint=HINT)


def _element(text: str, link: Any, where: str) -> tuple[Characters, str]:
    if not isinstance(link, dict):
        raise CorpusError(f"{where} must be an object, got {type(link).__name__}", hint=HINT)
    span = _span(text, [link.get("start"), link.get("end")], link.get("text"), where)
    return span, str(link.get("fe", ""))


def _span(text: str, offsets: Sequence[Any], expected: object, where: str) -> Characters:
    """Check two offsets."""
    if len(offsets) != 2 or any(type(offset) is not int for offset in offsets):
        raise CorpusError(
            f"{where} must have two whole numbers, start and end; got {shorten(list(offsets))}",
            hint=HINT,
        )
    start, end = offsets
    if not 0 <= start < end <= len(text) or not text[start:end].strip():
        raise CorpusError(
            f"{where}: {shorten(start)} to {shorten(end)} is not a word of the sentence, "
            f"which has {len(text)} characters",
            hint=OFFSETS,
        )
    if expected is not None and text[start:end] != expected:
        raise CorpusError(
            f"{where}: {start} to {end} is {shorten(text[start:end])}, not {shorten(expected)}",
            hint=OFFSETS,
        )
    return start, end


def cut_words(text: str, spans: Iterable[Characters]) -> list[Characters]:
    """Find where the words of a text begin and end.

    Words are separated by spaces, and cut where a span begins or ends, so that spans are whole
    words.

    >>> text = "He was agitated."
    >>> [text[start:end] for start, end in cut_words(text, [(7, 15)])]
    ['He', 'was', 'agitated', '.']
    """
    edges = sorted({edge for span in spans for edge in span})
    words = []
    for match in re.finditer(r"\S+", text):
        inner = edges[bisect_right(edges, match.start()) : bisect_left(edges, match.end())]
        words += list(pairwise([match.start(), *inner, match.end()]))
    return words


def make_example(
    name: str,
    text: str,
    frame: str,
    targets: Sequence[Characters],
    elements: Sequence[tuple[Characters, str]],
    *,
    group: str = "",
    source: str = "",
) -> Example:
    """Make an example of a sentence, with a link from each part of the target to each element.

    Parameters
    ----------
    name, text, frame : str
        The example's id, the sentence, and the name of the frame.
    targets : sequence of (start, end)
        The parts of the target, in characters.
    elements : sequence of ((start, end), str)
        The elements and their names.
    group, source : str, optional
        As in :class:`~headscope.corpus.Example`.

    Examples
    --------
    >>> text, target, buyer = "Maria bought it", (6, 12), ((0, 5), "Buyer")
    >>> make_example("1", text, "Commerce_buy", [target], [buyer]).links[0].target
    (1, 1)
    """
    cut = cut_words(text, [*targets, *(span for span, _ in elements)])
    words = tuple(Word(text[start:end]) for start, end in cut)
    starts, ends = [start for start, _ in cut], [end for _, end in cut]

    def covered(span: Characters) -> tuple[int, int]:
        return bisect_left(starts, span[0]), bisect_right(ends, span[1]) - 1

    links = tuple(
        FrameLink(frame, element, covered(target), covered(span))
        for target, (span, element) in product(targets, elements)
    )
    return Example(name, join_words(words), words, links=links, group=group, source=source)


def keep(example: Example) -> bool:
    """Whether an example passes the paper's filter.

    The sentence and its elements are short, and no element is next to the target.
    """

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
    """Open FrameNet 1.7 through nltk.

    Raises
    ------
    CorpusError
        If nltk or FrameNet's data is not installed.
    """
    try:
        from nltk.corpus import framenet
    except ImportError:
        raise CorpusError(
            "FrameNet is read with nltk, which is not installed",
            hint=f"pip install 'headscope[framenet]' && {DOWNLOAD}",
        ) from None
    try:
        framenet.ensure_loaded()
    except LookupError:
        raise CorpusError(
            "nltk does not find FrameNet's data (framenet_v17)", hint=DOWNLOAD
        ) from None
    return framenet


def read_framenet(framenet: Any) -> Iterator[Example]:
    """Yield the exemplar sentences that pass the paper's filter, linked to their core elements.

    Parameters
    ----------
    framenet : object
        nltk's reader, or anything like it.
    """
    for sentence in framenet.exemplars():
        if "Target" not in sentence:  # not annotated after all
            continue
        core = {name for name, element in sentence.frame.FE.items() if element.coreType == "Core"}
        layers = [layer for layer in ("FE", "FE2", "FE3") if layer in sentence]
        overt = [place for layer in layers for place in sentence[layer][0]]
        text = sentence.text
        example = make_example(
            str(sentence.ID),
            text,
            sentence.frame.name,
            [(start, end) for start, end in sentence.Target if text[start:end].strip()],
            [
                ((start, end), name)
                for start, end, name in overt
                if name in core and text[start:end].strip()
            ],
            source=f"FrameNet, {sentence.LU.name}",
        )
        if keep(example):
            yield example
