"""Coreference in CoNLL-2012 columns, the format of OntoNotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.example import Example, Mention, Word, join_words
from headscope.corpus.files import lines
from headscope.corpus.folders import files_in
from headscope.corpus.mentions import head_word, in_order, mention_kind
from headscope.corpus.readers.coref.brackets import BracketSpan, MentionBrackets
from headscope.errors import CorpusError, shorten
from headscope.limits import LINE, too_long

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

_BRACKET = re.compile(r"(\()?([^()]+)(\))?")
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
    found: list[BracketSpan] = field(default_factory=list)
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
            match = _BRACKET.fullmatch(text)
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
        self.found += self.brackets.done()
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
        for span in self.found:
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
