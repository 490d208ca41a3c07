"""The built-in corpus: short passages with trees, coreference and frame links.

``STYLE.txt`` holds the marked-up text of a style, and ``STYLE.conllu`` its trees, which were read
and corrected by hand (tools/builtin_corpus.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from headscope.corpus.builtin.markup import MarkedSpan, read_markup
from headscope.corpus.example import Example, FrameLink, Mention, Word, join_words
from headscope.corpus.mentions import head_word, mention_kind
from headscope.corpus.readers.conll import Tree, read_trees, tree_words
from headscope.errors import CorpusError

FOLDER = Path(__file__).parent
STYLES = ("news", "narrative", "encyclopaedic", "dialogue", "instructions", "questions")


def builtin_files() -> list[Path]:
    """The files of the built-in corpus: text and trees of each style."""
    return [FOLDER / f"{style}{ending}" for style in STYLES for ending in (".txt", ".conllu")]


def read_builtin() -> Iterator[Example]:
    """Yield one example per passage, styles in turn, so that the first N examples are varied.

    >>> [passage.id for passage, _ in zip(read_builtin(), range(3))]
    ['news-01', 'narrative-01', 'encyclopaedic-01']
    """
    yield from _passages(FOLDER)


@cache
def _passages(folder: Path) -> tuple[Example, ...]:
    """All passages, parsed once: runs walk over them many times, and they cannot be changed."""
    by_style = [list(_read_style(folder, style)) for style in STYLES]
    return tuple(
        passages[index]
        for index in range(max(len(passages) for passages in by_style))
        for passages in by_style
        if index < len(passages)
    )


def _read_style(folder: Path, style: str) -> Iterator[Example]:
    trees: dict[str, list[Tree]] = {}
    for tree in read_trees(folder / f"{style}.conllu"):
        trees.setdefault(tree.comments["sent_id"].rsplit("-s", 1)[0], []).append(tree)
    text = (folder / f"{style}.txt").read_text(encoding="utf-8")
    for block in re.split(r"^# id: *", text, flags=re.MULTILINE)[1:]:
        name, *paragraphs = [line.strip() for line in block.splitlines() if line.strip()]
        numbers = range(1, len(paragraphs) + 1)
        yield _passage(name, paragraphs, [trees[f"{name}-p{number}"] for number in numbers])


def _passage(name: str, paragraphs: list[str], trees: list[list[Tree]]) -> Example:
    words = tree_words(
        [tree for part in trees for tree in part],
        segments=[number for number, part in enumerate(trees) for _ in part],
    )
    mentions: list[Mention] = []
    marked: list[tuple[int, int, MarkedSpan]] = []
    first = 0
    for number, paragraph in enumerate(paragraphs):
        plain, spans = read_markup(paragraph)
        places = _places(plain, [word.text for word in words if word.segment == number], name)
        for span in spans:
            start, end = first + places[span.start], first + places[span.end - 1]
            if span.kind == "mention":
                head = head_word(words, start, end)
                mentions.append(Mention(start, end, head, span.name, mention_kind(words[head])))
            else:
                marked.append((start, end, span))
        first += sum(word.segment == number for word in words)
    return Example(
        name,
        join_words(words),
        words,
        tuple(sorted(mentions, key=lambda mention: (mention.start, -mention.end))),
        tuple(_links(words, marked)),
        group=name,
        source=name,
    )


def _places(plain: str, words: list[str], name: str) -> dict[int, int]:
    """Map each character of the plain text to the index of its word."""
    places: dict[int, int] = {}
    at = 0
    for index, word in enumerate(words):
        found = plain.find(word, at)
        if found < 0 or plain[at:found].strip():
            raise CorpusError(
                f"built-in passage {name}: its trees do not spell its text "
                f"at {plain[at : at + 30]!r}"
            )
        places.update(dict.fromkeys(range(found, found + len(word)), index))
        at = found + len(word)
    return places


def _links(
    words: tuple[Word, ...], marked: list[tuple[int, int, MarkedSpan]]
) -> Iterator[FrameLink]:
    """An element belongs to the one target of its sentence."""
    targets = {
        words[start].sentence: (start, end, span)
        for start, end, span in marked
        if span.kind == "target"
    }
    for start, end, span in marked:
        if span.kind == "element":
            first, last, target = targets[words[start].sentence]
            yield FrameLink(target.name, span.name, (first, last), (start, end))
