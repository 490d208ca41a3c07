"""Reading a corpus: one function for files, the built-in corpora and Python objects.

Every file format is one row of :data:`FORMATS`: its endings, its reader, the options that it takes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from headscope.corpus import coref, frames, tables, text, treebank
from headscope.corpus.builtin import builtin_files, read_builtin
from headscope.corpus.corpus import Corpus, from_examples, from_texts
from headscope.corpus.example import Example
from headscope.corpus.grammar import GRAMMAR, grammar_corpus
from headscope.corpus.spacy import language_notes, parser_version
from headscope.corpus.spacy import parse as parse_examples
from headscope.corpus.tables import ColumnChoice, DatasetLike, choose_columns
from headscope.corpus.text import fingerprint, has_files, is_collection, lines
from headscope.errors import CorpusError, UserError, unknown
from headscope.files import checksum
from headscope.limits import parse_json
from headscope.options import Reading, ReadOptions, described, takes

if TYPE_CHECKING:
    import pandas as pd

# --- file formats ---

COLUMNS = frozenset({"columns", "label", "group"})
"""Options of everything that has columns."""
APPLIES = {
    **dict.fromkeys(sorted(COLUMNS), "tables"),
    "header": "TSV and CSV files",
    "lines": "plain text",
    "pairs": "plain text",
    "format": "files",
    "documents": "files",
}
"""To what the options apply that have no effect everywhere."""


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name
        What it is called in options and results.
    read
        Yields the examples of a file.
    endings
        The endings of files that are in this format; ``.gz`` may follow.
    folder
        The endings of its files in a folder, if a corpus may be spread over several.
    options
        Which of the options in ``APPLIES`` it takes, besides those of all files.
    documents
        Whether its examples are whole documents with mentions.
    remarks
        What a reader of the results should know of a file.
    """

    name: str
    read: Callable[[Path, ReadOptions], Iterator[Example]]
    endings: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    documents: bool = False
    remarks: Callable[[Path, ReadOptions], tuple[str, ...]] = lambda path, options: ()


def _choice(options: ReadOptions) -> ColumnChoice:
    return choose_columns(options.columns, options.label, options.group)


def _table(path: Path, options: ReadOptions, *, format: str) -> Iterator[Example]:
    return tables.read_table(path, format, _choice(options), header=options.header)


def _plainly(read: Callable[[Path], Iterator[Example]]) -> Any:
    """A reader that takes no options."""
    return lambda path, options: read(path)


def _text_notes(path: Path, options: ReadOptions) -> tuple[str, ...]:
    notes = text.layout_notes(path, lines=options.lines, pairs=options.pairs)
    return (*_looks_note(path, "text"), *notes)


FORMATS = {
    format.name: format
    for format in (
        Format(
            "text",
            lambda path, how: text.read_plain(path, lines=how.lines, pairs=how.pairs),
            (".txt", ".md"),
            options=frozenset({"lines", "pairs"}),
            remarks=_text_notes,
        ),
        *(
            Format(
                kind,
                partial(_table, format=kind),
                (f".{kind}",),
                options=COLUMNS | {"header"},
                remarks=lambda path, _, kind=kind: _looks_note(path, kind),  # type: ignore[misc]
            )
            for kind in ("tsv", "csv")
        ),
        Format(
            "jsonl",
            lambda path, how: tables.read_json_lines(path, _choice(how)),
            (".jsonl", ".ndjson"),
            options=COLUMNS,
        ),
        Format("conll", _plainly(treebank.read_conll), (".conllu", ".conllx", ".conll")),
        Format(
            "conll2012",
            _plainly(coref.read_conll2012),
            coref.CONLL2012,
            coref.IN_FOLDERS,
            documents=True,
            remarks=lambda path, _: (coref.LAST_WORD,),
        ),
        Format(
            "brackets",
            _plainly(treebank.read_bracket_examples),
            treebank.BRACKET_FILES,
            treebank.BRACKET_FILES,
        ),
        Format("coref-jsonl", _plainly(coref.read_coref_jsonl), folder=(".jsonl",), documents=True),
        Format(
            "coref-conllu",
            _plainly(coref.read_coref_conllu),
            folder=coref.CONLLU,
            documents=True,
            remarks=lambda path, _: coref.skipped_mentions(path),
        ),
        Format("frames-jsonl", _plainly(frames.read_frames_jsonl)),
    )
}
ENDINGS = {ending: format.name for format in FORMATS.values() for ending in format.endings}
"""The format that a file's ending stands for."""


def open_file(path: Path, options: ReadOptions) -> Corpus:
    """A corpus of a file, or of a folder of files where its format allows it."""
    format = FORMATS[find_format(path, options)]
    _check_options(options, f"the format {format.name}", {"format", "documents"} | format.options)
    home = path.absolute()
    return Corpus(
        str(path),
        format.name,
        partial(_examples, lambda home: format.read(home, options), path, home),
        lambda: fingerprint(home, format.folder),
        remarks=lambda: format.remarks(path, options),
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


def find_format(path: Path, options: ReadOptions) -> str:
    """The format of a file: the given one, else by its ending.

    The first line decides between the formats of JSON lines, and between those of ``.conll``.

    >>> find_format(Path("reviews.csv.gz"), ReadOptions())
    'csv'
    """
    kind = options.format
    if kind is None:
        kind = _of_collection(path) if options.documents and is_collection(path) else ""
        kind = kind or _by_ending(path)
        if kind == "jsonl" and _choice(options) == ColumnChoice():
            likely = looks_like(path)
            kind = likely if likely in ("coref-jsonl", "frames-jsonl") else kind
    elif kind not in FORMATS:
        raise unknown("format", kind, FORMATS, error=CorpusError)
    if not options.documents:
        return kind
    kind = "coref-conllu" if kind == "conll" else kind
    if not FORMATS[kind].documents:
        known = ", ".join(format.name for format in FORMATS.values() if format.documents)
        raise CorpusError(
            f"{path} has no documents to read: its format is {kind}",
            hint=f"give a corpus in one of the formats {known}",
        )
    return kind


def _of_collection(path: Path) -> str:
    """The format of the documents of a folder or an archive, by the endings of its files."""
    columns = not has_files(path, coref.CONLLU) and has_files(path, coref.IN_FOLDERS)
    return "conll2012" if path.is_dir() and columns else "coref-conllu"


def _by_ending(path: Path) -> str:
    endings = [suffix.lower() for suffix in reversed(path.suffixes)]
    ending = next((suffix for suffix in endings if suffix != ".gz"), "")
    if ending == ".conll" and looks_like(path) == "conll2012":
        return "conll2012"
    if ending in ENDINGS:
        return ENDINGS[ending]
    kinds = [kind.name for kind in FORMATS.values() if kind.folder and has_files(path, kind.folder)]
    if kinds:
        formats = " or ".join(f"format={name!r}" for name in kinds)
        raise CorpusError(
            f"{path} is a folder, and nothing says which files of it to read",
            hint=f"give one file, or {formats} to read them all",
        )
    next(lines(path), None)  # a missing file, or a folder, is reported before its ending
    likely = looks_like(path)
    *names, last = FORMATS
    looks = f"its first lines look like {likely}: " if likely else ""
    advice = repr(likely) if likely else f", one of {', '.join(names)} or {last}"
    raise CorpusError(
        f"the ending {ending!r} of {path} does not say what its format is; "
        f"known are {', '.join(ENDINGS)}, and .gz of each",
        hint=f"{looks}give format={advice}",
    )


# --- what the first lines of a file look like ---

LOOKED = 50
"""Lines that are looked at."""
BEGIN = re.compile(r"# ?begin document\b")
"""How a document of CoNLL-2012 begins."""


def looks_like(path: Path) -> str | None:
    """The format that the first lines of a file are in, if it cannot be mistaken.

    Only formats that cannot be mistaken are named: plain text and tables look like anything.

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
    if first[0].lstrip().startswith("{"):
        return _json_format(first[0])
    return _columns_format(first)


def _json_format(line: str) -> str | None:
    try:
        keys = parse_json(line, "the first line").keys()
    except (UserError, AttributeError):
        return None
    if {"sentences", "mentions"} <= keys:
        return "coref-jsonl"
    return "frames-jsonl" if frames.KEYS.keys() <= keys else "jsonl"


def _columns_format(first: list[str]) -> str | None:
    """CoNLL-U and CoNLL-X have ten columns, of which the first numbers the words."""
    rows = [line.split("\t") for line in first if not line.startswith("#")]
    if not rows or not all(
        len(cells) == treebank.COLUMNS and re.fullmatch(r"\d+([-.]\d+)?", cells[0])
        for cells in rows
    ):
        return None
    entities = any(re.search(r"(^|\|)Entity=\(", cells[-1]) for cells in rows)
    named = any(line.startswith("# global.Entity") for line in first)
    return "coref-conllu" if entities or named else "conll"


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
    return CorpusError(error.message, hint=f"{looks}format={likely!r}")


# --- all sources ---

DEMO = "demo"
FRAMENET = "framenet"
NAMED = (DEMO, FRAMENET, GRAMMAR)
"""Corpora with a name."""
ALLOWED = (
    "a path, 'demo', 'grammar', a list of texts or of pairs of texts, a list of Example, "
    "a DataFrame, a datasets.Dataset or a Corpus"
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
        A file; ``"demo"``, the built-in corpus; ``"grammar"``, 10,000 sentences that a small
        grammar writes, with trees, coreference and frames; ``"framenet"``, the sentences of
        FrameNet (through nltk) that pass the filter of Kovaleva et al. (2019); a list of texts, of
        pairs of texts or of :class:`Example`; a pandas DataFrame; a ``datasets.Dataset``. A Corpus
        is returned as it is.

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
    if not isinstance(options, ReadOptions):
        options = ReadOptions(**options.subset(Reading))
    _choice(options)  # wrong columns are reported before a wrong path
    limit = None if options.limit is None else min(options.limit, sys.maxsize)
    corpus = _open(source, options, limit).first(limit)
    if reading := how_read(options):
        corpus = replace(corpus, reading={**corpus.reading, **reading})
    if options.name is not None:
        corpus = replace(corpus, name=options.name)
    if isinstance(source, Corpus) and limit is None and options.name is None:
        corpus = source
    else:
        _check_first(corpus, source)
    return _parsed(corpus, options.parser) if options.parse or options.parser else corpus


def how_read(options: ReadOptions) -> dict[str, Any]:
    """The options that change examples and were given. A corpus names its format itself.

    >>> how_read(ReadOptions(columns="review", pairs=False))
    {'columns': ['review'], 'pairs': False}
    """
    known = described(ReadOptions)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.subset(ReadOptions).items()
        if name in APPLIES and name != "format" and value != known[name].default
    }


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
    if source != DEMO and (likely := looks_like(path)) and FORMATS[likely].documents:
        return read(source, format=likely)
    documents = source != DEMO and (".conll" in path.name or is_collection(path))
    return read(source, documents=documents)


def _check_first(corpus: Corpus, source: object) -> None:
    """Report a wrong path, format or column here, not during a run."""
    try:
        next(iter(corpus))
    except CorpusError as error:
        if isinstance(source, str | os.PathLike) and source not in NAMED:
            raise suggest_format(error, Path(source), corpus.format) from None
        raise


def _open(source: Any, options: ReadOptions, limit: int | None) -> Corpus:
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
    if isinstance(source, str) and source == GRAMMAR:
        _check_options(options, "the built-in grammar")
        return grammar_corpus()
    if isinstance(source, str | os.PathLike):
        return _open_path(source, options)
    pandas = sys.modules.get("pandas")  # a DataFrame cannot be given before pandas is imported
    if pandas is not None and isinstance(source, pandas.DataFrame):
        _check_options(options, "a DataFrame", COLUMNS)
        return tables.from_frame(source, _choice(options))
    if isinstance(source, Mapping):
        raise _wrong_type(source, _mapping_advice(source))
    if hasattr(source, "column_names"):
        if not hasattr(source, "__len__"):
            raise _wrong_type(source, "take a part of a stream: pandas.DataFrame(data.take(1000))")
        _check_options(options, "a dataset", COLUMNS)
        return tables.from_dataset(source, _choice(options))
    if not isinstance(source, list | tuple):
        raise _wrong_type(source, _advice(source))
    _check_options(options, "a list")
    if not source:
        raise CorpusError("the list is empty: it has no texts", hint="give at least one text")
    if all(isinstance(item, Example) for item in source):
        return from_examples(source)
    return from_texts(source)


def _open_path(source: str | os.PathLike[str], options: ReadOptions) -> Corpus:
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
    return open_file(path, options)


def _wrong_type(source: object, hint: str) -> CorpusError:
    kind = "None" if source is None else type(source).__name__
    return CorpusError(f"a corpus must be {ALLOWED}; got {kind} instead", hint=hint)


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


def _check_options(options: ReadOptions, what: str, taken: Collection[str] = ()) -> None:
    """Refuse options that would have no effect on what is read."""
    for name, where in APPLIES.items():
        is_given = getattr(options, name) != described(ReadOptions)[name].default
        if is_given and name not in taken:
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
        remarks=lambda: (*corpus.notes, *language_notes(corpus, parser)),
        rough=corpus.rough or plain,
        format=f"{corpus.format}+spacy",
        reading={**corpus.reading, "parser": parser_version(parser)},
    )


def _framenet(limit: int | None) -> Corpus:
    """Few of some 200,000 sentences pass the filter: they are held, not searched for each time."""
    examples = list(islice(frames.read_framenet(frames.open_framenet()), limit))
    return replace(from_examples(examples, name=FRAMENET), format=FRAMENET)


def _builtin_checksum() -> str:
    return hashlib.sha256("".join(checksum(file) for file in builtin_files()).encode()).hexdigest()
