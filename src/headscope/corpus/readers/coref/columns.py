"""Coreference as brackets in a column: how brackets match, where the files are, and CoNLL-2012 (OntoNotes). CoNLL-U is in ``coref_conllu``."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from headscope.corpus.example import Example, Mention, Word, join_words
from headscope.corpus.files import lines
from headscope.corpus.mention import head_word, in_order, mention_kind
from headscope.errors import CorpusError
from headscope.files import checksum

CONLL2012 = (".v4_gold_conll", ".gold_conll", ".v4_auto_conll")
ARCHIVES = (".tar.gz", ".tgz", ".tar")
COLUMNS = 12
"""Columns of a CoNLL-2012 sentence without predicates; each predicate adds one before the last."""
LAST_WORD = (
    "CoNLL-2012 has no dependency trees: the head word of a mention is taken to be its last word"
)

_BRACKET = re.compile(r"(\()?([^()]+)(\))?")
_BEGIN = re.compile(r"# ?begin document \(?(.*?)\)?;?(?: part (\d+))? *")
_END = re.compile(r"# ?end document *")


class Span(NamedTuple):
    """A mention as its brackets give it: first and last place, entity, the text of its opening bracket, and where that stands."""

    start: int
    end: int
    entity: str
    text: str
    where: str


@dataclass
class Brackets:
    """The brackets of one sentence, matched as they come.

    A closing bracket names its entity, so that mentions may end in any order; it ends the innermost open mention of that entity.
    """

    opened: dict[str, list[tuple[int, str, str]]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    def open(self, entity: str, place: int, text: str, where: str) -> None:
        """A mention begins."""
        self.opened.setdefault(entity, []).append((place, text, where))

    def close(self, entity: str, place: int, where: str) -> None:
        """The innermost open mention of an entity ends."""
        if not self.opened.get(entity):
            raise CorpusError(
                f"{where}: entity {entity!r} is closed, but not open in this sentence",
                hint=f"open it in the same sentence with ({entity}",
            )
        start, text, opened = self.opened[entity].pop()
        self.spans.append(Span(start, place, entity, text, opened))

    def done(self) -> list[Span]:
        """The mentions of the sentence, all of which must have ended."""
        for entity, left in self.opened.items():
            if left:
                raise CorpusError(
                    f"{left[0][2]}: entity {entity!r} is opened, but not closed in its sentence",
                    hint=f"close it in the same sentence with {entity})",
                )
        return self.spans


class Member:
    """A file within an archive, opened as a path is; held in memory while it is read, as archives cannot be walked over at random."""

    suffix = ""

    def __init__(self, archive: Path, name: str, data: bytes) -> None:
        self.archive, self.path, self.data = archive, name, data
        self.name = Path(name).name

    def open(self, mode: str = "rb") -> io.BytesIO:
        """The bytes of the file."""
        return io.BytesIO(self.data)

    def __str__(self) -> str:
        return f"{self.archive}/{self.path}"


def is_collection(path: Path) -> bool:
    """Whether a path is a folder or a tar archive, rather than one file."""
    return path.is_dir() or path.name.lower().endswith(ARCHIVES)


def files_in(path: Path, endings: Sequence[str]) -> Iterator[Path]:
    """The file itself; or all files in a folder (by name) or a tar archive (in its order) that have one of the endings, ``.gz`` of them too in a folder."""
    if not is_collection(path) or not path.exists():
        yield path
        return
    found = False
    for file in _folder(path, endings) if path.is_dir() else _archive(path, endings):
        found = True
        yield file
    if not found:
        raise CorpusError(
            f"{path} has no files that end in {', '.join(endings)}",
            hint="give the folder or archive that holds them, or one file",
        )


def _fits(name: str, endings: Sequence[str]) -> bool:
    return name.lower().endswith(tuple(endings)) and not name.startswith(".")


def _folder(path: Path, endings: Sequence[str]) -> Iterator[Path]:
    yield from sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and _fits(file.name.removesuffix(".gz"), endings)
    )


def _archive(path: Path, endings: Sequence[str]) -> Iterator[Path]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                data = (
                    archive.extractfile(member)
                    if member.isfile() and _fits(Path(member.name).name, endings)
                    else None
                )
                if data is not None:
                    yield cast(Path, Member(path, member.name, data.read()))
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{path} is not a whole tar archive ({error})", hint="copy or download it again"
        ) from None
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}",
            hint="check the path and the file's permissions",
        ) from None


def fingerprint(path: Path, endings: Sequence[str]) -> str:
    """The SHA-256 of a file's bytes; of a folder, that of its files' names and checksums."""
    if not path.is_dir():
        return checksum(path)
    return hashlib.sha256(
        "".join(
            f"{file.relative_to(path)} {checksum(file)}\n" for file in _folder(path, endings)
        ).encode()
    ).hexdigest()


def read_conll2012(path: Path) -> Iterator[Example]:
    """One example a document part (``#begin document (NAME); part 000``, named NAME_0) of a file, or of the files of a folder or tar archive.

    The word is column 4, its Penn tag column 5, coreference the last one; the rest is not used. Nothing says which word heads a mention: its last word is taken
    (``LAST_WORD``, which ``Corpus.notes`` repeats), so "the dog of Ann" is headed by "Ann". The kind goes by the tag of that word.
    """
    for file in files_in(path, CONLL2012):
        yield from _read_parts(file)


def _read_parts(path: Path) -> Iterator[Example]:
    part: Part | None = None
    for number, line in lines(path):
        where = f"{path}, line {number}"
        if begin := _BEGIN.fullmatch(line):
            if part is not None:
                raise CorpusError(
                    f"{where}: document {part.name!r} has not ended",
                    hint="write #end document before the next begins",
                )
            name = begin[1] if begin[2] is None else f"{begin[1]}_{int(begin[2])}"
            part = Part(name, begin[1], where)
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
            part.add(re.split(r"[ \t]+", line.strip(" \t")), where)
        else:
            part.end_sentence()
    if part is not None:
        raise CorpusError(
            f"{part.where}: document {part.name!r} does not end",
            hint="write #end document after its last word, or copy the file again: it may be cut off",
        )


@dataclass
class Part:
    """A document part of CoNLL-2012, as far as it has been read."""

    name: str
    document: str
    where: str
    words: list[Word] = field(default_factory=list)
    found: list[Span] = field(default_factory=list)
    brackets: Brackets = field(default_factory=Brackets)
    sentence: int = 0
    width: int = 0

    def add(self, cells: list[str], where: str) -> None:
        """One word."""
        if len(cells) < COLUMNS or len(cells) != (self.width or len(cells)):
            expected = (
                f"{self.width} as in the rest of the sentence"
                if self.width
                else f"{COLUMNS} or more"
            )
            raise CorpusError(
                f"{where}: {len(cells)} columns, expected {expected}",
                hint="is this CoNLL-2012? Otherwise give --format",
            )
        self.width = len(cells)
        for text in cells[-1].split("|") if cells[-1] not in {"-", "_"} else []:
            match = _BRACKET.fullmatch(text)
            if match is None or not (match[1] or match[3]):
                raise CorpusError(
                    f"{where}: the last column {cells[-1]!r} is not made of brackets such as (1, (1) and 1) with | between them",
                    hint="write - where there are none",
                )
            if match[1]:
                self.brackets.open(match[2], len(self.words), text, where)
            if match[3]:
                self.brackets.close(match[2], len(self.words), where)
        self.words.append(
            Word(
                cells[3],
                sentence=self.sentence,
                xpos="" if cells[4] in {"-", "_", "*"} else cells[4],
            )
        )

    def end_sentence(self) -> None:
        """A blank line, of which there may be several."""
        self.found += self.brackets.done()
        self.sentence += self.width > 0
        self.brackets, self.width = Brackets(), 0

    def example(self) -> Example:
        """The whole document."""
        self.end_sentence()
        if not self.words:
            raise CorpusError(
                f"{self.where}: document {self.name!r} has no words", hint="take it away"
            )
        words = tuple(self.words)
        heads = [head_word(words, span.start, span.end) for span in self.found]
        mentions = [
            (
                Mention(span.start, span.end, head, span.entity, mention_kind(words[head])),
                span.where,
            )
            for span, head in zip(self.found, heads, strict=True)
        ]
        return Example(
            self.name,
            join_words(words),
            words,
            in_order(mentions),
            group=self.document,
            source=self.where,
        )
