"""Documents with coreference: CoNLL-2012 columns, ``Entity=`` in CoNLL-U, and JSON lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from headscope.corpus.example import (
    Example,
    Mention,
    Word,
    head_among,
    head_word,
    in_order,
    join_words,
    mention_kind,
)
from headscope.corpus.text import files_in, json_values, lines
from headscope.corpus.treebank import DIGITS, Tree, read_trees, tree_words
from headscope.errors import CorpusError, cut, shorten
from headscope.limits import LINE, too_long

# --- brackets ---


class BracketSpan(NamedTuple):
    """A mention as its brackets give it.

    Parameters
    ----------
    start, end : int
        The places of the opening and the closing bracket.
    entity : str
        The entity that both name.
    text : str
        The text of the opening bracket.
    where : str
        Where the opening bracket was read.
    """

    start: int
    end: int
    entity: str
    text: str
    where: str


@dataclass
class MentionBrackets:
    """The brackets of one sentence, matched as they are read.

    A closing bracket names its entity, so mentions may end in any order. It ends the innermost open
    mention of that entity.

    Examples
    --------
    >>> brackets = MentionBrackets()
    >>> brackets.open("1", 0, "(1", "line 1")
    >>> brackets.close("1", 2, "line 3")
    >>> [(span.start, span.end, span.entity) for span in brackets.done()]
    [(0, 2, '1')]
    """

    opened: dict[str, list[tuple[int, str, str]]] = field(default_factory=dict)
    spans: list[BracketSpan] = field(default_factory=list)

    def open(self, entity: str, place: int, text: str, where: str) -> None:
        """Begin a mention."""
        self.opened.setdefault(entity, []).append((place, text, where))

    def close(self, entity: str, place: int, where: str) -> None:
        """End the innermost open mention of an entity."""
        if not self.opened.get(entity):
            raise CorpusError(
                f"{where}: entity {shorten(entity)} is closed, but not open in this sentence",
                hint=f"open it in the same sentence with ({cut(entity)}",
            )
        start, text, opened = self.opened[entity].pop()
        self.spans.append(BracketSpan(start, place, entity, text, opened))

    def done(self) -> list[BracketSpan]:
        """The mentions of the sentence, all of which must have ended."""
        for entity, left in self.opened.items():
            if left:
                raise CorpusError(
                    f"{left[0][2]}: entity {shorten(entity)} is opened, but not closed in its "
                    "sentence",
                    hint=f"close it in the same sentence with {cut(entity)})",
                )
        return self.spans


# --- CoNLL-2012 ---

CONLL2012 = (".v4_gold_conll", ".gold_conll", ".v4_auto_conll")
"""Endings of files that are always in this format."""
IN_FOLDERS = (*CONLL2012, ".conll")
"""Endings of files that are read from a folder. LitBank's end in ``.conll``."""
COLUMNS = 12
"""Columns of a sentence without predicates; each predicate adds one before the last."""
NOTHING = frozenset({"-", "_", "*", ""})
"""What stands in a cell that says nothing."""
LAST_WORD = (
    "CoNLL-2012 has no dependency trees: the head word of a mention is taken to be its last word"
)

_COLUMN_BRACKET = re.compile(r"(\()?([^()]+)(\))?")
_BEGIN = re.compile(r"# ?begin document \(?(.*?)\)?;?(?: part (\d{1,18}))?")
_END = re.compile(r"# ?end document *")


def read_conll2012(path: Path) -> Iterator[Example]:
    """Yield one example per document part of a file, or of the files of a folder or tar archive.

    A part begins with ``#begin document (NAME); part 000`` and is named NAME_0; its group is NAME.
    The word is in column 4, its Penn tag in column 5, coreference in the last one; the others are
    not used. Columns are separated by tabs, so that cells may be blank (as LitBank's last ones
    are), or by spaces. The format does not say which word heads a mention. Its last word is taken,
    so "the dog of Ann" is headed by "Ann"; ``Corpus.notes`` says so. The kind of a mention goes by
    the tag of that word; without tags, pronouns are known by a word list, and others have no kind.
    """
    for file in files_in(path, IN_FOLDERS):
        yield from _read_parts(file)


def _read_parts(path: Path) -> Iterator[Example]:
    part: DocumentPart | None = None
    most = LINE.value
    for number, line in lines(path):
        where = f"{path}, line {number}"
        if begin := _BEGIN.fullmatch(line.rstrip(" ")):
            if part is not None:
                raise CorpusError(
                    f"{where}: document {shorten(part.name)} has not ended",
                    hint="write #end document before the next one begins",
                )
            name = begin[1] if begin[2] is None else f"{begin[1]}_{int(begin[2])}"
            part = DocumentPart(name, begin[1], where)
        elif line.startswith("#") and not _END.fullmatch(line):
            continue
        elif part is None:
            if line.strip():
                raise CorpusError(
                    f"{where}: this is outside any document",
                    hint="write #begin document (NAME); part 000 before its first word",
                )
        elif line.startswith("#"):
            yield part.example()
            part = None
        elif line.strip():
            part.size += len(line)
            if part.size > most:
                raise too_long(part.where, f"the document {shorten(part.name)}", error=CorpusError)
            part.add(_cells(line), where)
        else:
            part.end_sentence()
    if part is not None:
        raise CorpusError(
            f"{part.where}: document {shorten(part.name)} does not end",
            hint="write #end document after its last word, or copy the file again: "
            "it may be cut off",
        )


def _cells(line: str) -> list[str]:
    """The columns of a line. Where tabs separate them, cells may be blank.

    >>> _cells("d 0 0 Ann NNP  -")
    ['d', '0', '0', 'Ann', 'NNP', '-']
    >>> len(_cells("d\\t0\\t0\\tAnn" + "\\t_" * 8 + "\\t"))
    13
    """
    if line.count("\t") >= COLUMNS - 1:
        return [cell.strip(" ") for cell in line.split("\t")]
    return re.split(r"[ \t]+", line.strip(" \t"))


@dataclass
class DocumentPart:
    """A document part, as far as it has been read."""

    name: str
    document: str
    where: str
    words: list[Word] = field(default_factory=list)
    spans: list[BracketSpan] = field(default_factory=list)
    brackets: MentionBrackets = field(default_factory=MentionBrackets)
    sentence: int = 0
    width: int = 0
    size: int = 0

    def add(self, cells: list[str], where: str) -> None:
        """Add one word."""
        if len(cells) < COLUMNS or len(cells) != (self.width or len(cells)):
            expected = f"{COLUMNS} or more"
            if self.width:
                expected = f"{self.width} as in the rest of the sentence"
            raise CorpusError(
                f"{where}: {len(cells)} columns, expected {expected}",
                hint="if this is not CoNLL-2012, give format=",
            )
        if not cells[3]:
            raise CorpusError(f"{where}: column 4, the word, is blank", hint="write the word there")
        self.width = len(cells)
        self._add_brackets(cells[-1], where)
        tag = "" if cells[4] in NOTHING else cells[4]
        self.words.append(Word(cells[3], sentence=self.sentence, xpos=tag))

    def _add_brackets(self, cell: str, where: str) -> None:
        for text in cell.split("|") if cell not in NOTHING else []:
            match = _COLUMN_BRACKET.fullmatch(text)
            if match is None or not (match[1] or match[3]):
                raise CorpusError(
                    f"{where}: the last column {shorten(cell)} is not made of brackets such as "
                    "(1, (1) and 1) with | between them",
                    hint="write - if there are none",
                )
            if match[1]:
                self.brackets.open(match[2], len(self.words), text, where)
            if match[3]:
                self.brackets.close(match[2], len(self.words), where)

    def end_sentence(self) -> None:
        """End the sentence at a blank line; there may be several such lines."""
        self.spans += self.brackets.done()
        self.sentence += self.width > 0
        self.brackets, self.width = MentionBrackets(), 0

    def example(self) -> Example:
        """The whole document part."""
        self.end_sentence()
        if not self.words:
            raise CorpusError(
                f"{self.where}: document {shorten(self.name)} has no words", hint="remove it"
            )
        words = tuple(self.words)
        mentions = []
        for span in self.spans:
            head = head_word(words, span.start, span.end)
            kind = mention_kind(words[head])
            mentions.append((Mention(span.start, span.end, head, span.entity, kind), span.where))
        return Example(
            self.name,
            join_words(words),
            words,
            in_order(mentions),
            group=self.document,
            source=self.where,
        )


# --- CoNLL-U ---

CONLLU = (".conllu",)
HEADS = ("head", "minspan", "min")
"""Fields that say which words of a mention head it, the most reliable first."""
SKIPPED = {"discontinuous": "in parts (discontinuous)", "empty nodes": "of empty nodes alone"}
_ENTITY_BRACKET = re.compile(r"\(([^()]++)(\))?|([^()]++)\)")
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
                yield _joined(name, held, path)
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
        yield _joined(name, held, path)


def _joined(
    name: str, held: Sequence[tuple[Tree, list[tuple[Mention, str]]]], path: Path
) -> Example:
    """Join sentences to a document, whose words are counted from its start."""
    words = tree_words([tree for tree, _ in held])
    placed = []
    first = 0
    for tree, mentions in held:
        for mention, where in mentions:
            start, end, head = first + mention.start, first + mention.end, first + mention.head
            placed.append((replace(mention, start=start, end=end, head=head), where))
        first += len(tree.rows)
    source = f"{path}, line {held[0][0].numbers[0]}"
    return Example(name, join_words(words), words, in_order(placed), group=name, source=source)


def _header(text: str, where: str) -> EntityHeader:
    names = [name.strip().lower() for name in text.split("-")]
    named = [place for place, name in enumerate(names) if name in {"eid", "grp"}]
    if len(named) != 1:
        raise CorpusError(
            f"{where}: '# global.Entity = {cut(text)}' above must name the entity once, as eid "
            "or GRP",
            hint="write e.g. # global.Entity = eid-etype-head-other",
        )
    return EntityHeader(names, named[0])


def _empty_nodes(path: Path) -> dict[int, list[tuple[int, str]]]:
    """The line and the last column of the empty nodes of each sentence.

    Mentions may begin or end there, although these are not words.
    """
    nodes: dict[int, list[tuple[int, str]]] = {}
    sentence, words = 0, False
    for number, line in lines(path):
        if _EMPTY.match(line):
            nodes.setdefault(sentence, []).append((number, line.split("\t")[-1]))
        elif not line.strip():
            sentence, words = sentence + words, False
        elif not line.startswith("#"):
            words = True
    return nodes


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
    mentions = []
    for span in brackets.done():
        places = [place for _, place, _ in nodes[span.start : span.end + 1]]
        inside = [place for place in places if place >= 0]
        if not inside:
            skipped["empty nodes"] += 1
            continue
        heads = _given_heads(span, header, places)
        head = head_among(words, heads) if heads else head_word(words, inside[0], inside[-1])
        kind = mention_kind(words[head])
        mentions.append((Mention(inside[0], inside[-1], head, span.entity, kind), span.where))
    return mentions


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
        match = _ENTITY_BRACKET.match(text, end)
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


# --- JSON lines ---

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
FORM = (
    'write e.g. {"doc": "d1", "sentences": [["Ann", "left"]], '
    '"mentions": [{"sent": 0, "start": 0, "end": 0, "head": 0, "cluster": "1"}]}'
)


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
        yield _json_document(record, number, f"{path}, line {number}")


def _json_document(record: Any, number: int, where: str) -> Example:
    _check_keys(record, DOCUMENT, where, "the document")
    sentences = record["sentences"]
    if not isinstance(sentences, list) or not all(_is_sentence(sentence) for sentence in sentences):
        raise CorpusError(
            f"{where}: 'sentences' must be {DOCUMENT['sentences']}, none of them blank", hint=FORM
        )
    if not isinstance(record["mentions"], list):
        raise CorpusError(
            f"{where}: 'mentions' must be {DOCUMENT['mentions']}, "
            f"got {type(record['mentions']).__name__}",
            hint=FORM,
        )
    words = tuple(
        Word(text, sentence=index) for index, sentence in enumerate(sentences) for text in sentence
    )
    if not words:
        raise CorpusError(f"{where}: the document has no words", hint="remove the line")
    firsts = list(accumulate((len(sentence) for sentence in sentences), initial=0))
    mentions = []
    for index, entry in enumerate(record["mentions"]):
        source = f"{where}: mentions[{index}]"
        mentions.append((_json_mention(entry, sentences, firsts, source), source))
    name = str(record.get("doc", number))
    return Example(name, join_words(words), words, in_order(mentions), group=name, source=where)


def _is_sentence(sentence: object) -> bool:
    return isinstance(sentence, list) and all(
        isinstance(word, str) and word.strip() for word in sentence
    )


def _json_mention(entry: Any, sentences: list[list[str]], firsts: list[int], where: str) -> Mention:
    """Check one mention, and count its words from the start of the document."""
    _check_keys(entry, MENTION, where, "the mention")
    for key in ("sent", "start", "end", "head", "cluster"):
        allowed = (int, str) if key == "cluster" else (int,)
        if type(entry[key]) not in allowed or entry[key] == "":
            raise CorpusError(
                f"{where}: {key!r} must be {MENTION[key]}, got {shorten(entry[key])}", hint=FORM
            )
    sent, start, end, head = (entry[key] for key in ("sent", "start", "end", "head"))
    _check_places(sent, start, end, head, sentences, where)
    kind = entry.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise CorpusError(
            f"{where}: 'type' must be one of {', '.join(KINDS)}, got {shorten(kind)}",
            hint="correct it, or leave it out",
        )
    first = firsts[sent]
    known = KINDS[kind] if kind else mention_kind(Word(sentences[sent][head]))
    return Mention(first + start, first + end, first + head, str(entry["cluster"]), known)


def _check_places(
    sent: int, start: int, end: int, head: int, sentences: list[list[str]], where: str
) -> None:
    """A mention must lie within its sentence, and its head within the mention."""
    if not 0 <= sent < len(sentences):
        raise CorpusError(
            f"{where}: there is no sentence {shorten(sent)}, the document has {len(sentences)}",
            hint="sentences are counted from 0",
        )
    if not 0 <= start <= end < len(sentences[sent]):
        raise CorpusError(
            f"{where}: words {shorten(start)} to {shorten(end)} are not within sentence {sent}, "
            f"which has {len(sentences[sent])}",
            hint="words are counted from 0, and 'end' is the last word",
        )
    if not start <= head <= end:
        raise CorpusError(
            f"{where}: the head {shorten(head)} is not one of the words {start} to {end}",
            hint="the head is counted from the start of the sentence",
        )


def _check_keys(record: Any, known: dict[str, str | None], where: str, what: str) -> None:
    if not isinstance(record, dict):
        raise CorpusError(
            f"{where}: {what} must be a JSON object, got {type(record).__name__}", hint=FORM
        )
    for key in record:
        if key not in known:
            raise CorpusError(
                f"{where}: {what} has the unknown key {shorten(key)}; known are {', '.join(known)}",
                hint="remove it, or correct its spelling",
            )
    for key, must in known.items():
        if must and key not in record:
            raise CorpusError(f"{where}: {what} has no {key!r}", hint=FORM)
