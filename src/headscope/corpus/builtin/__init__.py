"""The built-in corpus: short passages with trees, coreference and frame links.

``STYLE.txt`` holds the marked-up text of a style, and ``STYLE.conllu`` its trees, which were read
and corrected by hand (tools/makers/builtin_corpus.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headscope.corpus.example import (
    Example,
    FrameLink,
    Mention,
    Word,
    head_word,
    join_words,
    mention_kind,
)
from headscope.corpus.treebank import Tree, read_trees, tree_words
from headscope.errors import CorpusError

# --- markup ---

_TOKEN = re.compile(r"\{(\d+) |<([A-Za-z_]+)(!?) |([}>])|([^{}<>]+)|.")


class MarkupError(ValueError):
    """The markup of a paragraph is not well formed."""


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A marked piece of text.

    Parameters
    ----------
    start, end : int
        Where it begins and ends, in characters.
    kind : {"mention", "target", "element"}
        What is marked.
    name : str
        The entity, frame or element.
    """

    start: int
    end: int
    kind: str
    name: str


def read_markup(marked: str) -> tuple[str, list[MarkedSpan]]:
    """Read a marked-up paragraph.

    Returns
    -------
    plain : str
        The text without markup.
    spans : list of MarkedSpan
        What was marked, in the order in which it opens.

    Raises
    ------
    MarkupError
        If the markup is not well formed.

    Examples
    --------
    >>> text, spans = read_markup("{1 <Buyer Maria>} left.")
    >>> text
    'Maria left.'
    >>> [(span.kind, span.name, span.start, span.end) for span in spans]
    [('mention', '1', 0, 5), ('element', 'Buyer', 0, 5)]
    """
    plain: list[str] = []
    length = 0
    open_spans: list[tuple[str, int, str, str, int]] = []  # closer, start, kind, name, order
    spans: list[tuple[int, MarkedSpan]] = []
    for order, token in enumerate(_TOKEN.finditer(marked)):
        entity, frame, target, closer, text = token.groups()
        rest = marked[token.start() : token.start() + 20]
        if text:
            plain.append(text)
            length += len(text)
        elif entity or frame:
            kind = "mention" if entity else "target" if target else "element"
            open_spans.append(("}" if entity else ">", length, kind, entity or frame, order))
        elif not closer:
            raise MarkupError(f"expected '{{1 …}}', '<Element …>' or '<Frame! …>' at {rest!r}")
        elif not open_spans or open_spans[-1][0] != closer:
            raise MarkupError(
                f"{closer!r} closes nothing, or crosses another span, before {rest!r}"
            )
        else:
            _, start, kind, name, number = open_spans.pop()
            spans.append((number, MarkedSpan(start, length, kind, name)))
    if open_spans:
        raise MarkupError(
            f"{open_spans[-1][2]} {open_spans[-1][3]!r} is never closed in {marked[:40]!r}"
        )
    return "".join(plain), [span for _, span in sorted(spans, key=lambda pair: pair[0])]


# --- passages ---

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
        start = plain.find(word, at)
        if start < 0 or plain[at:start].strip():
            raise CorpusError(
                f"built-in passage {name}: its trees do not spell its text "
                f"at {plain[at : at + 30]!r}"
            )
        places.update(dict.fromkeys(range(start, start + len(word)), index))
        at = start + len(word)
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
