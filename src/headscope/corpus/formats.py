"""File formats: which reader a file needs, by its name, its first line or what the user says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from headscope.corpus.columns import ColumnChoice
from headscope.corpus.corpus import Corpus
from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.folders import fingerprint, has_files, is_collection
from headscope.corpus.looks import begins_conll2012, looks_like
from headscope.corpus.readers.brackets import ENDINGS as BRACKETS
from headscope.corpus.readers.brackets import read_bracket_examples
from headscope.corpus.readers.conll import read_conll
from headscope.corpus.readers.coref.conll2012 import (
    CONLL2012,
    IN_FOLDERS,
    LAST_WORD,
    read_conll2012,
)
from headscope.corpus.readers.coref.conllu import CONLLU, read_coref_conllu, skipped_mentions
from headscope.corpus.readers.coref.json_lines import is_coref_jsonl, read_coref_jsonl
from headscope.corpus.readers.framenet import is_frames_jsonl, read_frames_jsonl
from headscope.corpus.readers.json_lines import read_json_lines
from headscope.corpus.readers.plain import layout_notes, read_plain
from headscope.corpus.readers.table import read_table
from headscope.errors import CorpusError, unknown

FORMATS = {
    ".txt": "text",
    ".md": "text",
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conllu": "conll",
    ".conllx": "conll",
    ".conll": "conll",
    **dict.fromkeys(CONLL2012, "conll2012"),
    **dict.fromkeys(BRACKETS, "brackets"),
}
"""The format that a file's ending stands for; each may be followed by ``.gz``."""
COREFERENCE = {"coref-jsonl": (".jsonl",), "coref-conllu": CONLLU, "conll2012": IN_FOLDERS}
"""Formats of whole documents with mentions, and the endings of their files."""
FOLDERS = {**COREFERENCE, "brackets": BRACKETS}
"""Formats that may be spread over the files of a folder, and the endings of these files."""
NAMES = tuple(dict.fromkeys([*FORMATS.values(), *COREFERENCE, "frames-jsonl"]))
TABLES = ("tsv", "csv", "jsonl")


@dataclass(frozen=True)
class FileOptions:
    """How a file is to be read; the parameters of :func:`headscope.read` of the same names."""

    format: str | None = None
    choice: ColumnChoice = field(default_factory=ColumnChoice)
    header: bool | None = None
    lines: bool | None = None
    pairs: bool = True
    documents: bool = False

    @property
    def about(self) -> dict[str, Any]:
        """The options that were given, by name. The format is not one: a corpus names its own.

        Examples
        --------
        >>> FileOptions(choice=ColumnChoice(("review",)), pairs=False).about
        {'columns': ['review'], 'pairs': False}
        """
        given = {
            one.name: getattr(of, one.name)
            for of in (self.choice, self)
            for one in fields(of)
            if getattr(of, one.name) != getattr(type(of)(), one.name)
        }
        named = {{"texts": "columns"}.get(name, name): value for name, value in given.items()}
        plain = {key: list(one) if isinstance(one, tuple) else one for key, one in named.items()}
        return {key: one for key, one in plain.items() if key not in ("choice", "format")}


def open_file(path: Path, options: FileOptions) -> Corpus:
    """A corpus of a file, or of a folder of files where its format allows it."""
    kind = find_format(path, options)
    choice = options.choice
    readers: dict[str, Callable[[Path], Iterator[Example]]] = {
        "text": partial(read_plain, lines=options.lines, pairs=options.pairs),
        "tsv": lambda path: read_table(path, "tsv", choice, header=options.header),
        "csv": lambda path: read_table(path, "csv", choice, header=options.header),
        "jsonl": lambda path: read_json_lines(path, choice),
        "conll": read_conll,
        "brackets": read_bracket_examples,
        "coref-jsonl": read_coref_jsonl,
        "coref-conllu": read_coref_conllu,
        "conll2012": read_conll2012,
        "frames-jsonl": read_frames_jsonl,
    }
    remarks: dict[str, Callable[[], tuple[str, ...]]] = {
        "text": lambda: (
            *_looks_note(path, kind),
            *layout_notes(path, lines=options.lines, pairs=options.pairs),
        ),
        "tsv": lambda: _looks_note(path, kind),
        "csv": lambda: _looks_note(path, kind),
        "coref-conllu": lambda: skipped_mentions(path),
        "conll2012": lambda: (LAST_WORD,),
    }
    home = path.absolute()
    return Corpus(
        str(path),
        kind,
        partial(_examples, readers[kind], path, home),
        lambda: fingerprint(home, FOLDERS.get(kind, ())),
        remarks=remarks.get(kind, tuple),
    )


def _examples(
    reader: Callable[[Path], Iterator[Example]], path: Path, home: Path
) -> Iterator[Example]:
    """The examples of a file, where it was when the corpus was made; errors name it as given."""
    try:
        yield from reader(home)
    except CorpusError as error:
        if path == home:
            raise
        message, hint, command = (
            text.replace(str(home), str(path))
            for text in (error.message, error.hint, error.command)
        )
        raise CorpusError(message, hint=hint, command=command) from None


def find_format(path: Path, options: FileOptions) -> str:
    """The format of a file: the given one, else by its ending.

    The first line decides between the formats of JSON lines, and between those of ``.conll``.

    >>> find_format(Path("reviews.csv.gz"), FileOptions())
    'csv'
    """
    kind = options.format
    if kind is None:
        kind = _of_collection(path) if options.documents and is_collection(path) else ""
        kind = kind or _by_ending(path)
        if kind == "jsonl" and options.choice == ColumnChoice():
            kind = _by_first_object(path)
    elif kind not in NAMES:
        raise unknown("format", kind, NAMES, error=CorpusError)
    if not options.documents:
        return kind
    kind = "coref-conllu" if kind == "conll" else kind
    if kind not in COREFERENCE:
        raise CorpusError(
            f"{path} has no documents to read: its format is {kind}",
            hint=f"give a corpus in one of the formats {', '.join(COREFERENCE)}",
        )
    return kind


def _of_collection(path: Path) -> str:
    """The format of the documents of a folder or an archive, by the endings of its files."""
    columns = path.is_dir() and not has_files(path, CONLLU) and has_files(path, IN_FOLDERS)
    return "conll2012" if columns else "coref-conllu"


def _by_ending(path: Path) -> str:
    endings = [suffix.lower() for suffix in reversed(path.suffixes)]
    ending = next((suffix for suffix in endings if suffix != ".gz"), "")
    if ending == ".conll" and begins_conll2012(path):
        return "conll2012"
    if ending in FORMATS:
        return FORMATS[ending]
    folder = [kind for kind, endings in FOLDERS.items() if has_files(path, endings)]
    if folder:
        raise _folder_error(path, folder)
    next(lines(path), None)  # a missing file, or a folder, is reported before its ending
    likely = looks_like(path)
    names = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
    looks = f"its first lines look like {likely}: " if likely else ""
    raise CorpusError(
        f"the ending {ending!r} of {path} does not say what its format is; "
        f"known are {', '.join(FORMATS)}, and .gz of each",
        hint=f"{looks}give format={repr(likely) if likely else f', one of {names}'}",
    )


def _folder_error(path: Path, likely: list[str]) -> CorpusError:
    """A folder whose files could be read, if the format were given."""
    formats = " or ".join(f"format={one!r}" for one in likely)
    return CorpusError(
        f"{path} is a folder, and nothing says which files of it to read",
        hint=f"give one file, or {formats} to read them all",
    )


def _looks_note(path: Path, kind: str) -> tuple[str, ...]:
    """A note for text and tables, as which almost any file can be read without an error."""
    likely = looks_like(path)
    if likely is None:
        return ()
    return (f"{path} looks like {likely}, but it was read as {kind}; format {likely} reads it",)


def suggest_format(error: CorpusError, path: Path, kind: str) -> CorpusError:
    """The same error, with a format in its advice if the file looks like one of another format.

    Parameters
    ----------
    error
        Why the file cannot be read.
    path
        The file.
    kind
        The format in which it was read.
    """
    likely = looks_like(path)
    same = {"conll", "coref-conllu"}
    if likely in {None, kind} or (likely in same and kind in same):
        return error
    looks = f"its first lines look like {likely}, and it was read as {kind}: give "
    return CorpusError(
        error.message,
        hint=f"{looks}format={likely!r}",
    )


def _by_first_object(path: Path) -> str:
    if is_coref_jsonl(path):
        return "coref-jsonl"
    return "frames-jsonl" if is_frames_jsonl(path) else "jsonl"
