"""Coreference in CoNLL-U: ``Entity=`` brackets in the last column, as in GUM and CorefUD."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from headscope.corpus.example import Example, Mention, join_words
from headscope.corpus.files import lines
from headscope.corpus.folders import files_in
from headscope.corpus.mentions import head_among, head_word, in_order, mention_kind
from headscope.corpus.readers.conll import DIGITS, Tree, read_trees, tree_words
from headscope.corpus.readers.coref.brackets import BracketSpan, MentionBrackets
from headscope.errors import CorpusError, cut, shorten
from headscope.limits import LINE, too_long

CONLLU = (".conllu",)
HEADS = ("head", "minspan", "min")
"""Fields that say which words of a mention head it, the most reliable first."""
SKIPPED = {
    "discontinuous": "in parts (discontinuous)",
    "empty nodes": "of empty nodes alone",
}
_BRACKET = re.compile(r"\(([^()]++)(\))?|([^()]++)\)")
_PART = re.compile(r"\[(\d+)/\d+\]")
_EMPTY = re.compile(r"\d+\.\d+\t")


class EntityHeader(NamedTuple):
    """``# global.Entity``: the fields of an opening bracket, and which of them is the entity.

    Examples
    --------
    >>> EntityHeader(["etype", "grp", "identity"], 1).split("person-7-Jean-Luc")
    ('7', {'etype': 'person', 'grp': '7', 'identity': 'Jean-Luc'})
    """

    names: list[str]
    entity: int

    def split(self, text: str) -> tuple[str, dict[str, str]]:
        """The entity and all fields of a bracket.

        Further hyphens belong to the last field. A closing bracket may name the entity alone.
        """
        parts = text.split("-", len(self.names) - 1)
        entity = parts[self.entity] if len(parts) > self.entity else text
        return entity, dict(zip(self.names, parts, strict=False))


PLAIN = EntityHeader(["eid", "other"], 0)
"""Without a header, the entity comes first."""


def read_coref_conllu(path: Path, *, skipped: Counter[str] | None = None) -> Iterator[Example]:
    """Yield one example per document (``# newdoc id``), with trees and mentions.

    A mention's head word is its ``head`` or ``minspan`` field, if ``# global.Entity`` names one (of
    several words, the one that heads the others); otherwise it is found in the tree. Its kind goes
    by the tag of its head word.

    Parameters
    ----------
    path : Path
        A file, a folder of files, or a tar archive of them.
    skipped : Counter, optional
        Counts the mentions that are skipped: "discontinuous" ones (``[1/2]``), and those of "empty
        nodes" alone (dropped pronouns).
    """
    for file in files_in(path, CONLLU):
        yield from _read_documents(file, Counter() if skipped is None else skipped)


def skipped_mentions(path: Path) -> tuple[str, ...]:
    """Say how many mentions of a corpus are skipped; the whole corpus is read for it."""
    skipped: Counter[str] = Counter()
    for _ in read_coref_conllu(path, skipped=skipped):
        pass
    return tuple(
        f"mentions skipped because they are {why}: {skipped[kind]}"
        for kind, why in SKIPPED.items()
        if skipped[kind]
    )


def _read_documents(path: Path, skipped: Counter[str]) -> Iterator[Example]:
    stem = path.name.split(".")[0]
    empty = _empty_nodes(path)
    header, name, number = PLAIN, stem, 0
    held: list[tuple[Tree, list[tuple[Mention, str]]]] = []
    size, most = 0, LINE.value
    for index, tree in enumerate(read_trees(path)):
        if tree.comments.keys() & {"newdoc", "newdoc id"}:
            if held:
                yield _document(name, held, path)
                held, size = [], 0
            number += 1
            name = tree.comments.get("newdoc id") or f"{stem}-{number}"
        size += tree.size
        if size > most:
            where = f"{path}, line {held[0][0].numbers[0] if held else tree.numbers[0]}"
            raise too_long(where, f"the document {shorten(name)}", error=CorpusError)
        if "global.Entity" in tree.comments:
            header = _header(tree.comments["global.Entity"], f"{path}, line {tree.numbers[0]}")
        held.append((tree, _mentions(tree, empty.get(index, []), header, path, skipped)))
    if held:
        yield _document(name, held, path)


def _document(
    name: str, held: Sequence[tuple[Tree, list[tuple[Mention, str]]]], path: Path
) -> Example:
    """Join sentences to a document, whose words are counted from its start."""
    words = tree_words([tree for tree, _ in held])
    found = []
    first = 0
    for tree, mentions in held:
        for one, where in mentions:
            start, end, head = first + one.start, first + one.end, first + one.head
            found.append((replace(one, start=start, end=end, head=head), where))
        first += len(tree.rows)
    source = f"{path}, line {held[0][0].numbers[0]}"
    return Example(name, join_words(words), words, in_order(found), group=name, source=source)


def _header(text: str, where: str) -> EntityHeader:
    names = [name.strip().lower() for name in text.split("-")]
    found = [place for place, name in enumerate(names) if name in {"eid", "grp"}]
    if len(found) != 1:
        raise CorpusError(
            f"{where}: '# global.Entity = {cut(text)}' above must name the entity once, as eid "
            "or GRP",
            hint="write e.g. # global.Entity = eid-etype-head-other",
        )
    return EntityHeader(names, found[0])


def _empty_nodes(path: Path) -> dict[int, list[tuple[int, str]]]:
    """The line and the last column of the empty nodes of each sentence.

    Mentions may begin or end there, although these are not words.
    """
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
    tree: Tree,
    empty: list[tuple[int, str]],
    header: EntityHeader,
    path: Path,
    skipped: Counter[str],
) -> list[tuple[Mention, str]]:
    """The mentions of one sentence, its words counted from 0, each with where it opens."""
    rows = zip(tree.numbers, range(len(tree.rows)), (cells[9] for cells in tree.rows), strict=True)
    nodes = sorted([*rows, *((number, -1, last) for number, last in empty)])
    brackets = MentionBrackets()
    for at, (number, _, last) in enumerate(nodes):  # line, word or -1, last column
        entities = (item for item in last.split("|") if item.startswith("Entity="))
        text = next(entities, "").removeprefix("Entity=")
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
        kind = mention_kind(words[head])
        found.append((Mention(inside[0], inside[-1], head, span.entity, kind), span.where))
    return found


def _read_brackets(
    text: str,
    at: int,
    header: EntityHeader,
    brackets: MentionBrackets,
    where: str,
    skipped: Counter[str],
) -> None:
    for match in _matches(text, where):
        opening, single, closing = match.groups()
        if part := _PART.search(match[0]):
            skipped["discontinuous"] += bool(opening) and part[1] == "1"
            continue
        entity, _ = header.split(opening or closing)
        if opening:
            brackets.open(entity, at, opening, where)
        if single or closing:
            brackets.close(entity, at, where)


def _matches(text: str, where: str) -> Iterator[re.Match[str]]:
    """The brackets of a cell, one right after the other."""
    end = 0
    while end < len(text):
        match = _BRACKET.match(text, end)
        if match is None:
            raise CorpusError(
                f"{where}: Entity={cut(text)} is not made of brackets such as (1, (1) and 1)",
                hint="a closing bracket names its entity; correct the last column",
            )
        yield match
        end = match.end()


def _given_heads(span: BracketSpan, header: EntityHeader, places: list[int]) -> list[int]:
    """The words that the opening bracket names as the head, without empty nodes."""
    fields = header.split(span.text)[1]
    text = next((fields[name] for name in HEADS if fields.get(name, "_") not in {"", "_"}), "")
    numbers = text.split(",") if text else []
    for number in numbers:
        if not number.isdecimal() or not 1 <= int(number[:DIGITS]) <= len(places):
            raise CorpusError(
                f"{span.where}: the head {shorten(text)} of entity {shorten(span.entity)} is not "
                "among its "
                f"{len(places)} words",
                hint="words of a mention are counted from 1",
            )
    return [place for place in sorted(places[int(number) - 1] for number in numbers) if place >= 0]
