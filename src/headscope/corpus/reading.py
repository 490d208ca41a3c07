"""Reading a corpus: one function for files, the built-in corpus and Python objects."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from headscope.corpus.builtin import builtin_files, read_builtin
from headscope.corpus.columns import choose_columns
from headscope.corpus.corpus import Corpus
from headscope.corpus.example import Example
from headscope.corpus.folders import is_collection
from headscope.corpus.formats import (
    COREFERENCE,
    TABLES,
    FileOptions,
    find_format,
    open_file,
    suggest_format,
)
from headscope.corpus.looks import looks_like
from headscope.corpus.memory import (
    MEMORY,
    DatasetLike,
    from_dataset,
    from_examples,
    from_frame,
    from_texts,
)
from headscope.corpus.readers.framenet import open_framenet, read_framenet
from headscope.corpus.spacy.parser import parse as parse_examples
from headscope.corpus.spacy.parser import parser_version
from headscope.errors import CorpusError
from headscope.files import checksum
from headscope.options import Reading, ReadOptions, takes

if TYPE_CHECKING:
    import pandas as pd

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
