"""Coreference in CoNLL-U: ``Entity=`` brackets in the last column, as GUM and CorefUD write them, beside the trees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from headscope.corpus.example import Example, Mention, join_words
from headscope.corpus.files import lines
from headscope.corpus.mention import head_among, head_word, in_order, mention_kind
from headscope.corpus.readers.conll import Tree, read_trees, tree_words
from headscope.corpus.readers.coref.columns import Brackets, Span, files_in
from headscope.errors import CorpusError

CONLLU = (".conllu",)
HEADS = ("head", "minspan", "min")
"""Fields that say which words of a mention head it, the surest first."""
_BRACKET = re.compile(r"\(([^()]+)(\))?|([^()]+)\)")
_PART = re.compile(r"\[(\d+)/\d+\]")
_EMPTY = re.compile(r"\d+\.\d+\t")


class Header(NamedTuple):
    """``# global.Entity``: the names of the fields of an opening bracket, and which of them is the entity.

    >>> Header(["etype", "grp", "identity"], 1).split("person-7-Jean-Luc")
    ('7', {'etype': 'person', 'grp': '7', 'identity': 'Jean-Luc'})
    """

    names: list[str]
    entity: int

    def split(self, text: str) -> tuple[str, dict[str, str]]:
        """The entity and all fields; hyphens that are over belong to the last field. A closing bracket may name the entity alone."""
        parts = text.split("-", len(self.names) - 1)
        return parts[self.entity] if len(parts) > self.entity else text, dict(
            zip(self.names, parts, strict=False)
        )


PLAIN = Header(["eid", "other"], 0)
"""Without a header the entity comes first."""


def read_coref_conllu(path: Path, *, skipped: Counter[str] | None = None) -> Iterator[Example]:
    """One example a document (``# newdoc id``) of a file, or of the files of a folder or a tar archive, with trees and mentions.

    A mention's head word is its ``head`` or ``minspan`` field where ``# global.Entity`` names one (of several words, the one that heads the others); else it
    is found in the tree. Its kind goes by the tag of its head word. Left out, and counted in ``skipped``: "discontinuous" mentions
    (``[1/2]``) and mentions of "empty nodes" alone (dropped pronouns).
    """
    for file in files_in(path, CONLLU):
        yield from _read_documents(file, Counter() if skipped is None else skipped)


def skipped_mentions(path: Path) -> tuple[str, ...]:
    """How many mentions of a corpus are left out, in words; the whole corpus is read for it."""
    skipped: Counter[str] = Counter()
    for _ in read_coref_conllu(path, skipped=skipped):
        pass
    why = {"discontinuous": "in parts (discontinuous)", "empty nodes": "of empty nodes alone"}
    return tuple(
        f"mentions left out because they are {why[kind]}: {skipped[kind]}"
        for kind in why
        if skipped[kind]
    )


def _read_documents(path: Path, skipped: Counter[str]) -> Iterator[Example]:
    stem = path.name.split(".")[0]
    empty = _empty_nodes(path)
    header, name, number = PLAIN, stem, 0
    held: list[tuple[Tree, list[tuple[Mention, str]]]] = []
    for index, tree in enumerate(read_trees(path)):
        if tree.comments.keys() & {"newdoc", "newdoc id"}:
            if held:
                yield _document(name, held, path)
                held = []
            number += 1
            name = tree.comments.get("newdoc id") or f"{stem}-{number}"
        if "global.Entity" in tree.comments:
            header = _header(tree.comments["global.Entity"], f"{path}, line {tree.numbers[0]}")
        held.append((tree, _mentions(tree, empty.get(index, []), header, path, skipped)))
    if held:
        yield _document(name, held, path)


def _document(
    name: str, held: Sequence[tuple[Tree, list[tuple[Mention, str]]]], path: Path
) -> Example:
    """Put sentences together: words are counted over all of them."""
    words = tree_words([tree for tree, _ in held])
    found = []
    first = 0
    for tree, mentions in held:
        found += [
            (
                replace(one, start=first + one.start, end=first + one.end, head=first + one.head),
                where,
            )
            for one, where in mentions
        ]
        first += len(tree.rows)
    return Example(
        name,
        join_words(words),
        words,
        in_order(found),
        group=name,
        source=f"{path}, line {held[0][0].numbers[0]}",
    )


def _header(text: str, where: str) -> Header:
    names = [name.strip().lower() for name in text.split("-")]
    found = [place for place, name in enumerate(names) if name in {"eid", "grp"}]
    if len(found) != 1:
        raise CorpusError(
            f"{where}: '# global.Entity = {text}' above must name the entity once, as eid or GRP",
            hint="write e.g. # global.Entity = eid-etype-head-other",
        )
    return Header(names, found[0])


def _empty_nodes(path: Path) -> dict[int, list[tuple[int, str]]]:
    """Line and last column of the empty nodes of each sentence: mentions may begin or end there, though these are no words."""
    found: dict[int, list[tuple[int, str]]] = {}
    sentence, words = 0, False
    for number, line in lines(path):
        if _EMPTY.match(line):
            found.setdefault(sentence, []).append((number, line.split("\t")[-1]))
        elif not line.strip():
            sentence, words = sentence + words, False
        elif not line.startswith("#"):
            words = True
    return found


def _mentions(
    tree: Tree, empty: list[tuple[int, str]], header: Header, path: Path, skipped: Counter[str]
) -> list[tuple[Mention, str]]:
    """The mentions of one sentence, its words counted from 0, each with where it opens."""
    rows = zip(tree.numbers, range(len(tree.rows)), (cells[9] for cells in tree.rows), strict=True)
    nodes = sorted(
        [*rows, *((number, -1, last) for number, last in empty)]
    )  # (line, word or -1, last column)
    brackets = Brackets()
    for at, (number, _, last) in enumerate(nodes):
        text = next(
            (
                item.removeprefix("Entity=")
                for item in last.split("|")
                if item.startswith("Entity=")
            ),
            "",
        )
        _read_brackets(text, at, header, brackets, f"{path}, line {number}", skipped)
    words = tree_words([tree])
    found = []
    for span in brackets.done():
        places = [place for _, place, _ in nodes[span.start : span.end + 1]]
        inside = [place for place in places if place >= 0]
        if not inside:
            skipped["empty nodes"] += 1
            continue
        given = _given_heads(span, header, places)
        head = head_among(words, given) if given else head_word(words, inside[0], inside[-1])
        found.append(
            (
                Mention(inside[0], inside[-1], head, span.entity, mention_kind(words[head])),
                span.where,
            )
        )
    return found


def _read_brackets(
    text: str, at: int, header: Header, brackets: Brackets, where: str, skipped: Counter[str]
) -> None:
    matches = list(_BRACKET.finditer(text))
    if "".join(match[0] for match in matches) != text:
        raise CorpusError(
            f"{where}: Entity={text} is not made of brackets such as (1, (1) and 1)",
            hint="a closing bracket names its entity; correct the last column",
        )
    for match in matches:
        opening, single, closing = match.groups()
        if part := _PART.search(match[0]):
            skipped["discontinuous"] += bool(opening) and part[1] == "1"
            continue
        entity, _ = header.split(opening or closing)
        if opening:
            brackets.open(entity, at, opening, where)
        if single or closing:
            brackets.close(entity, at, where)


def _given_heads(span: Span, header: Header, places: list[int]) -> list[int]:
    """The words that the opening bracket says are the head, empty nodes left out; none where it does not say."""
    fields = header.split(span.text)[1]
    text = next((fields[name] for name in HEADS if fields.get(name, "_") not in {"", "_"}), "")
    numbers = text.split(",") if text else []
    for number in numbers:
        if not number.isdecimal() or not 1 <= int(number) <= len(places):
            raise CorpusError(
                f"{span.where}: the head {text!r} of entity {span.entity!r} is not among its {len(places)} words",
                hint="words of a mention are counted from 1",
            )
    return [place for place in sorted(places[int(number) - 1] for number in numbers) if place >= 0]
