"""Reading a corpus: one function for files, the built-in corpus and Python objects."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

from headscope.corpus.builtin import builtin_files, read_builtin
from headscope.corpus.coref import (
    CONLL2012,
    CONLLU,
    IN_FOLDERS,
    LAST_WORD,
    is_coref_jsonl,
    read_conll2012,
    read_coref_conllu,
    read_coref_jsonl,
    skipped_mentions,
)
from headscope.corpus.corpus import Corpus, count_texts
from headscope.corpus.example import Example
from headscope.corpus.frames import is_frames_jsonl, open_framenet, read_framenet, read_frames_jsonl
from headscope.corpus.spacy import parse as parse_examples
from headscope.corpus.spacy import parser_version
from headscope.corpus.tables import (
    ColumnChoice,
    Layout,
    choose_columns,
    find_layout,
    read_json_lines,
    read_table,
)
from headscope.corpus.text import (
    fingerprint,
    has_files,
    is_collection,
    layout_notes,
    lines,
    read_plain,
)
from headscope.corpus.treebank import BRACKET_FILES as BRACKETS
from headscope.corpus.treebank import read_bracket_examples, read_conll
from headscope.errors import CorpusError, UserError, unknown
from headscope.files import checksum
from headscope.limits import parse_json
from headscope.options import Reading, ReadOptions, takes

if TYPE_CHECKING:
    import pandas as pd

# --- corpus.looks ---

LOOKED = 50
"""Lines that are looked at."""
CONLL_COLUMNS = 10
BEGIN = re.compile(r"# ?begin document\b")
"""How a document of CoNLL-2012 begins."""


def looks_like(path: Path) -> str | None:
    """The format that the first lines of a file are in, if it cannot be mistaken.

    Parameters
    ----------
    path : Path
        A file, gzipped or not.

    Returns
    -------
    str or None
        The name of a format of :func:`headscope.read`; None if the file cannot be read, or may be
        of several formats.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "persuasion.conll"
    >>> _ = path.write_text("#begin document (105); part 0\\n")
    >>> looks_like(path)
    'conll2012'
    """
    try:
        first = [line for _, line in islice(lines(path), LOOKED) if line.strip()]
    except CorpusError:
        return None
    if not first:
        return None
    if BEGIN.match(first[0]):
        return "conll2012"
    if first[0].startswith("{"):
        return _json_format(first[0])
    return _columns_format(first)


def begins_conll2012(path: Path) -> bool:
    """Whether the first line of a file begins a document of CoNLL-2012."""
    return looks_like(path) == "conll2012"


def _json_format(line: str) -> str | None:
    try:
        keys = parse_json(line, "the first line").keys()
    except (UserError, AttributeError):
        return None
    return "coref-jsonl" if {"sentences", "mentions"} <= keys else "jsonl"


def _columns_format(first: list[str]) -> str | None:
    """CoNLL-U and CoNLL-X have ten columns, of which the first numbers the words."""
    rows = list(_word_rows(first))
    if not rows or not all(
        len(cells) == CONLL_COLUMNS and re.fullmatch(r"\d+([-.]\d+)?", cells[0]) for cells in rows
    ):
        return None
    entities = any(re.search(r"(^|\|)Entity=\(", cells[-1]) for cells in rows)
    named = any(line.startswith("# global.Entity") for line in first)
    return "coref-conllu" if entities or named else "conll"


def _word_rows(first: list[str]) -> Iterator[list[str]]:
    return (line.split("\t") for line in first if not line.startswith("#"))


# --- corpus.formats ---

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


# --- corpus.memory ---

MEMORY = "memory"
"""The format of a corpus that was made from Python objects."""


class DatasetLike(Protocol):
    """What a ``datasets.Dataset`` has: the names of its columns, and rows that are dictionaries."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Mapping[str, Any]]: ...


def from_texts(texts: Sequence[str | Sequence[str]], *, name: str | None = None) -> Corpus:
    """Make a corpus of texts and pairs of texts; :func:`headscope.read` calls it for lists.

    Parameters
    ----------
    texts : sequence of str or pairs of str
        Examples are numbered from 1.
    name : str, optional
        The name of the corpus; by default how many texts it has.

    Returns
    -------
    Corpus
        The texts, held in memory.

    Examples
    --------
    >>> from_texts(["A dog barks.", ("Who?", "Me.")])
    Corpus('2 examples', format='memory')
    """
    if isinstance(texts, str | bytes):
        raise CorpusError(
            f"the texts must be a list, got one {type(texts).__name__} instead",
            hint=f"put it into a list: [{texts[:40]!r}{' …' if len(texts) > 40 else ''}]",
        )
    examples = [
        Example(str(number), _one_or_two(item, f"item {number} of the list"))
        for number, item in enumerate(texts, 1)
    ]
    return from_examples(examples, name=name)


def from_examples(examples: Sequence[Example], *, name: str | None = None) -> Corpus:
    """Make a corpus of examples; :func:`headscope.read` calls it for lists of them.

    Parameters
    ----------
    examples : sequence of Example
        The examples, with or without words and annotations.
    name : str, optional
        The name of the corpus; by default how many texts it has.

    Returns
    -------
    Corpus
        The examples, held in memory.

    Examples
    --------
    >>> from_examples([Example("1", ("A dog barks.",))])
    Corpus('1 text', format='memory')
    """
    held = tuple(examples)
    if name is None:
        pairs = sum(len(example.texts) == 2 for example in held)
        name = count_texts(len(held) - pairs, pairs).partition(" (")[0]
    return Corpus(name, MEMORY, lambda: iter(held), lambda: content_digest(held))


def from_frame(frame: pd.DataFrame, choice: ColumnChoice, *, name: str | None = None) -> Corpus:
    """Make a corpus of a pandas DataFrame, one example per row, named by the row's index.

    >>> import pandas as pd
    >>> from_frame(pd.DataFrame({"text": ["A dog barks."]}), ColumnChoice())
    Corpus('DataFrame of 1 row', format='memory')
    """
    names = [str(column) for column in frame.columns]
    layout = find_layout(names, _by_label(choice, list(frame.columns)), "the DataFrame")
    places = [*layout.texts, layout.label, layout.group]
    columns = [None if place is None else frame.iloc[:, place].tolist() for place in places]
    examples = []
    for row, index in enumerate(frame.index):
        cells = [None if column is None else column[row] for column in columns]
        examples.append(_example(str(index), cells, names, layout, f"DataFrame, row {index}"))
    return from_examples(examples, name=name or f"DataFrame of {_rows(len(frame))}")


def from_dataset(data: DatasetLike, choice: ColumnChoice, *, name: str | None = None) -> Corpus:
    """Make a corpus of a ``datasets.Dataset``, one example per row, named by its number from 0.

    Rows are read when they are needed, so that a dataset larger than memory can be used.
    """
    names = list(data.column_names)
    layout = find_layout(names, choice, "the dataset")
    used = [None if place is None else names[place] for place in (layout.label, layout.group)]
    wanted = [*(names[place] for place in layout.texts), *used]
    select = getattr(data, "select_columns", None)
    rows = data if select is None else select(list(dict.fromkeys(filter(None, wanted))))

    def source() -> Iterator[Example]:
        for number, row in enumerate(rows):
            cells = [None if column is None else row[column] for column in wanted]
            yield _example(str(number), cells, names, layout, f"dataset, row {number}")

    return Corpus(
        name or f"dataset of {_rows(len(data))}",
        MEMORY,
        source,
        lambda: content_digest(source()),
    )


def content_digest(examples: Iterable[Example]) -> str:
    """The SHA-256 of the contents of examples; where they were read does not count.

    >>> one = content_digest([Example("1", ("A dog.",), source="a.txt, line 1")])
    >>> one == content_digest([Example("1", ("A dog.",))])
    True
    """
    digest = hashlib.sha256()
    for example in examples:
        *content, _ = _values(example)
        digest.update(json.dumps(content, default=_values).encode("ascii") + b"\n")
    return digest.hexdigest()


def _values(part: Any) -> list[Any]:
    """The values of a dataclass, in order; ``dataclasses.astuple`` would copy each of them."""
    return [getattr(part, field.name) for field in fields(part)]


def _by_label(choice: ColumnChoice, labels: list[Any]) -> ColumnChoice:
    """A DataFrame's columns may be called by numbers: these are names, wherever they exist."""

    def named(column: str | int | None) -> str | int | None:
        return str(column) if column in labels else column

    texts = None if choice.texts is None else tuple(map(named, choice.texts))
    return ColumnChoice(texts, named(choice.label), named(choice.group))  # type: ignore[arg-type]


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


def _example(
    name: str, cells: Sequence[Any], names: Sequence[str], layout: Layout, where: str
) -> Example:
    """One row: its texts, then its label and its group."""
    *texts, label, group = cells
    columns = [names[place] for place in layout.texts]
    return Example(
        name,
        tuple(
            _text(text, f"{where}: {column!r}").strip()
            for text, column in zip(texts, columns, strict=True)
        ),
        label=None if _missing(label) else str(label),
        group="" if _missing(group) else str(group).strip(),
        source=where,
    )


def _missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, or pandas' NA and NaT, which are not equal to themselves.

    >>> _missing(None), _missing(float("nan")), _missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float) and value != value


def _one_or_two(item: object, where: str) -> tuple[str, ...]:
    """The texts of one item of a list."""
    if isinstance(item, str):
        return (_text(item, where),)
    if isinstance(item, tuple | list) and len(item) in {1, 2}:
        return tuple(_text(text, where) for text in item)
    given = type(item).__name__
    if isinstance(item, tuple | list):
        given += f" of {len(item)}"
    raise CorpusError(
        f"{where} must be a text or a pair of texts, got {given} instead",
        hint='give e.g. ["A dog barks.", ("Who barks?", "The dog.")], or a pandas DataFrame',
    )


def _text(value: object, where: str) -> str:
    if _missing(value):
        raise CorpusError(
            f"{where} has no text", hint="drop such rows first, e.g. data.dropna(subset=[…])"
        )
    if not isinstance(value, str):
        raise CorpusError(
            f"{where} must be a string, got {type(value).__name__} instead",
            hint='name the columns of text, e.g. columns=["text"], or convert the values with str',
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CorpusError(
            f"{where} has half of a surrogate pair (\\ud800 to \\udfff), which is not a character",
            hint='clean the text, e.g. text.encode("utf-8", "replace").decode()',
        ) from None
    return value


# --- corpus.reading ---

DEMO = "demo"
FRAMENET = "framenet"
ALLOWED = (
    "a path, 'demo', a list of texts or of pairs of texts, a list of Example, a DataFrame, "
    "a datasets.Dataset or a Corpus"
)
ALONE = "reading every paragraph alone"
"""What ``pairs=False`` does, ``--single`` on the command line."""
CorpusLike: TypeAlias = Union[
    str,
    "os.PathLike[str]",
    Corpus,
    "Sequence[str]",
    "Sequence[Sequence[str]]",
    "Sequence[Example]",
    "pd.DataFrame",
    DatasetLike,
]
"""Whatever :func:`read` makes a corpus of."""


@takes(ReadOptions)
def read(source: CorpusLike, options: ReadOptions) -> Corpus:
    """Read a corpus from a file, or make one of Python objects.

    Parameters
    ----------
    source
        A file; ``"demo"``, the built-in corpus; ``"framenet"``, the sentences of FrameNet (through
        nltk) that pass the filter of Kovaleva et al. (2019); a list of texts, of pairs of texts or
        of :class:`Example`; a pandas DataFrame; a ``datasets.Dataset``. A Corpus is returned as it
        is.

    Returns
    -------
    Corpus
        The examples, read anew each time they are walked over.

    Raises
    ------
    CorpusError
        If the source cannot be read as it is. Nothing is guessed silently.

    See Also
    --------
    Corpus.preview : One line that says what was read.

    Examples
    --------
    >>> read(["A dog barks.", "A cat sleeps."]).preview()
    'read 2 texts; first: "A dog barks."'
    >>> sorted(read("demo", limit=1).annotations)[:3]
    ['frames', 'mentions', 'pair']
    """
    return open_corpus(source, options)


def open_corpus(source: CorpusLike, options: Reading) -> Corpus:
    """What :func:`read` does, for a run whose options say how its corpus is read."""
    more = ReadOptions.of(options) if isinstance(options, ReadOptions) else ReadOptions()
    choice = choose_columns(options.columns, more.label, more.group)
    how = FileOptions(
        options.format, choice, options.header, options.lines, options.pairs, options.documents
    )
    limit = None if more.limit is None else min(more.limit, sys.maxsize)
    corpus = _open(source, how, limit).first(limit)
    if how.about:
        corpus = replace(corpus, reading={**corpus.reading, **how.about})
    if more.name is not None:
        corpus = replace(corpus, name=more.name)
    if isinstance(source, Corpus) and limit is None and more.name is None:
        corpus = source
    else:
        _check_first(corpus, source)
    return _parsed(corpus, options.parser) if options.parse or options.parser else corpus


def read_documents(source: CorpusLike) -> Corpus:
    """Read documents with coreference.

    Parameters
    ----------
    source : path, Corpus or list of Example
        Whatever :func:`read` takes. The sentences of a CoNLL-U file are joined to documents; a
        folder or archive of such files, or a folder of CoNLL-2012 files, is read too. A file whose
        first lines are in a format of coreference is read so, whatever its ending.

    Returns
    -------
    Corpus
        One document per example.

    Examples
    --------
    >>> read_documents("demo").name
    'demo'
    """
    if isinstance(source, Corpus) or not isinstance(source, str | os.PathLike):
        return read(source)
    path = Path(source)
    if source != DEMO and (likely := looks_like(path)) in COREFERENCE:
        return read(source, format=likely)
    documents = source != DEMO and (".conll" in path.name or is_collection(path))
    return read(source, documents=documents)


def _check_first(corpus: Corpus, source: object) -> None:
    """Report a wrong path, format or column here, not during a run."""
    try:
        next(iter(corpus))
    except CorpusError as error:
        if isinstance(source, str | os.PathLike) and source not in (DEMO, FRAMENET):
            raise suggest_format(error, Path(source), corpus.format) from None
        raise


def _open(source: object, options: FileOptions, limit: int | None) -> Corpus:
    """The corpus of a source, whatever it is."""
    if isinstance(source, Corpus):
        _check_options(options, "a Corpus")
        return source
    if isinstance(source, str) and source == DEMO:
        _check_options(options, "the built-in corpus")
        return Corpus(DEMO, "builtin", read_builtin, _builtin_checksum)
    if isinstance(source, str) and source == FRAMENET:
        _check_options(options, "FrameNet")
        return _framenet(limit)
    if isinstance(source, str | os.PathLike):
        return _open_path(source, options)
    return _open_object(source, options)


def _open_path(source: str | os.PathLike[str], options: FileOptions) -> Corpus:
    if source == "":
        raise CorpusError("the path of the corpus is empty", hint='give e.g. "texts.txt" or "demo"')
    path = Path(source)
    if isinstance(source, str) and _is_prose(source) and not _exists(path):
        raise CorpusError(
            f"no such corpus file: {source[:60]}{'…' if len(source) > 60 else ''}",
            hint="to read the text itself, put it into a list: hs.read([text])",
            command="give the path of a file; to see the attention in one sentence, "
            "use headscope attention",
        )
    kind = find_format(path, options)
    _check_options(replace(options, format=None), f"the format {kind}", kind)
    return open_file(path, options)


def _open_object(source: Any, options: FileOptions) -> Corpus:
    """A corpus of a DataFrame, a dataset or a list."""
    pandas = sys.modules.get("pandas")  # a DataFrame cannot be given before pandas is imported
    if pandas is not None and isinstance(source, pandas.DataFrame):
        _check_options(options, "a DataFrame", MEMORY)
        return from_frame(source, options.choice)
    if isinstance(source, Mapping):
        raise _wrong_type(source, _mapping_advice(source))
    if hasattr(source, "column_names"):
        if not hasattr(source, "__len__"):
            raise _wrong_type(source, "take a part of a stream: pandas.DataFrame(data.take(1000))")
        _check_options(options, "a dataset", MEMORY)
        return from_dataset(source, options.choice)
    if not isinstance(source, list | tuple):
        raise _wrong_type(source, _advice(source))
    _check_options(options, "a list")
    if not source:
        raise CorpusError("the list is empty: it has no texts", hint="give at least one text")
    if all(isinstance(item, Example) for item in source):
        return from_examples(source)
    return from_texts(source)


def _wrong_type(source: object, hint: str) -> CorpusError:
    given = "None" if source is None else type(source).__name__
    return CorpusError(f"a corpus must be {ALLOWED}; got {given} instead", hint=hint)


def _mapping_advice(source: Mapping[Any, Any]) -> str:
    """What to do with a dictionary: it may be the splits of a dataset."""
    splits = [key for key, value in source.items() if hasattr(value, "column_names")]
    if splits:
        others = ", ".join(map(str, splits))
        return f"choose a split: data[{splits[0]!r}] (there are {others})"
    return "give a list of texts, or pandas.DataFrame(data)"


def _advice(source: object) -> str:
    if isinstance(source, Example):
        return "put the example into a list: [example]"
    if isinstance(source, bytes):
        return 'decode it and put it into a list: [text.decode("utf-8")]'
    if hasattr(source, "to_pandas"):
        return "convert it: data.to_pandas()"
    if hasattr(source, "tolist"):
        return "convert it to a list: data.tolist()"
    if hasattr(source, "__iter__"):
        return "convert it to a list, which can be walked over more than once: list(data)"
    return 'give e.g. "texts.txt" or ["A dog barks.", "A cat sleeps."]'


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, or has a null character
        return False


def _is_prose(source: str) -> bool:
    """Whether a string is more likely a text than a path."""
    return "\n" in source or (len(source.split()) > 1 and not Path(source).suffix[1:].isalnum())


def _check_options(options: FileOptions, what: str, kind: str = "") -> None:
    """Refuse options that would have no effect on what is read."""
    table = (*TABLES, MEMORY)
    choice = options.choice
    given = [
        ("columns", choice.texts is not None, table, "tables"),
        ("label", choice.label is not None, table, "tables"),
        ("group", choice.group is not None, table, "tables"),
        ("header", options.header is not None, ("tsv", "csv"), "TSV and CSV files"),
        ("lines", options.lines is not None, ("text",), "plain text"),
        ("pairs", not options.pairs, ("text",), "plain text"),
        ("format", options.format is not None, (), "files"),
        ("documents", options.documents and not kind, (), "files"),
    ]
    for name, used, kinds, where in given:
        if used and kind not in kinds:
            raise CorpusError(
                f"{ALONE if name == 'pairs' else name} applies to {where}, not to {what}",
                hint=f"leave {'pairs=False' if name == 'pairs' else name + '='} out",
            )
    if options.lines and not options.pairs:
        raise CorpusError(
            f"{ALONE} has no effect with lines: every line is already a text of its own",
            hint="leave pairs=False out",
        )


def _parsed(corpus: Corpus, parser: str) -> Corpus:
    """The same corpus, with words, tags and trees by spaCy where it has none."""
    plain = corpus.source
    how = json.dumps([corpus.format, corpus.reading], sort_keys=True)
    return replace(
        corpus,
        source=lambda: parse_examples(plain(), parser=parser, key=(corpus.checksum, how)),
        rough=corpus.rough or plain,
        format=f"{corpus.format}+spacy",
        reading={**corpus.reading, "parser": parser_version(parser)},
    )


def _framenet(limit: int | None) -> Corpus:
    """Few of some 200,000 sentences pass the filter: they are held, not searched for each time."""
    found = list(islice(read_framenet(open_framenet()), limit))
    return replace(from_examples(found, name=FRAMENET), format=FRAMENET)


def _builtin_checksum() -> str:
    return hashlib.sha256("".join(checksum(file) for file in builtin_files()).encode()).hexdigest()
