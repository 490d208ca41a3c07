"""A corpus: a file, its format, and the examples read from it each time it is walked over."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from headscope.corpus.builtin import builtin_files, read_builtin
from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.readers.conll import read_conll
from headscope.corpus.readers.coref.columns import (
    CONLL2012,
    LAST_WORD,
    fingerprint,
    is_collection,
    read_conll2012,
)
from headscope.corpus.readers.coref.conllu import CONLLU, read_coref_conllu, skipped_mentions
from headscope.corpus.readers.coref.json_lines import is_coref_jsonl, read_coref_jsonl
from headscope.corpus.readers.framenet import (
    is_frames_jsonl,
    open_framenet,
    read_framenet,
    read_frames_jsonl,
)
from headscope.corpus.readers.plain import read_plain
from headscope.corpus.readers.table import read_json_lines, read_tsv
from headscope.corpus.spacy.parser import parse
from headscope.errors import CorpusError, unknown
from headscope.files import checksum

DEMO = "demo"
FRAMENET = "framenet"
FORMATS = {
    ".txt": "text",
    ".md": "text",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conllu": "conll",
    ".conllx": "conll",
    ".conll": "conll",
}
FORMATS |= dict.fromkeys(CONLL2012, "conll2012")
COREF = {"coref-jsonl": (".jsonl",), "coref-conllu": CONLLU, "conll2012": CONLL2012}
"""Formats of whole documents with mentions, and the endings of their files."""
NAMES = (
    *dict.fromkeys(FORMATS.values()),
    *(name for name in COREF if name not in FORMATS.values()),
    "frames-jsonl",
)
PEEK = 200
"""How many examples are looked at to see which annotations a corpus offers."""


@dataclass(frozen=True)
class Corpus:
    """Examples that can be walked over again and again; nothing is held in memory.

    >>> corpus = from_texts(["A dog barks.", ("Who?", "Me.")])
    >>> [example.texts for example in corpus]
    [('A dog barks.',), ('Who?', 'Me.')]
    """

    name: str
    format: str
    source: Callable[[], Iterator[Example]]
    fingerprint: Callable[[], str]
    limit: int | None = None
    rough: Callable[[], Iterator[Example]] | None = None
    """The same number of examples, sooner: before parsing."""
    remarks: Callable[[], tuple[str, ...]] = tuple

    def size(self) -> int:
        """How many examples there are."""
        return sum(1 for _ in islice((self.rough or self.source)(), self.limit))

    def __iter__(self) -> Iterator[Example]:
        """Walk over the examples, from the file."""
        found = False
        for example in islice(self.source(), self.limit):
            found = True
            yield example
        if not found and self.limit != 0:
            raise CorpusError(
                f"{self.name} has no examples: it is empty",
                hint="give a file with at least one sentence",
            )

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of what the corpus is made of."""
        return self.fingerprint()

    @cached_property
    def annotations(self) -> frozenset[str]:
        """What the first examples offer: pair, words, tree, tags, mentions, frames."""
        return frozenset().union(*(example.annotations for example in islice(iter(self), PEEK)))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know: how head words were chosen, what was left out. The whole corpus may be read for it."""
        return self.remarks()

    def first(self, count: int | None) -> Corpus:
        """The same corpus, cut to its first ``count`` examples; None cuts nothing."""
        return replace(
            self,
            limit=min((limit for limit in (self.limit, count) if limit is not None), default=None),
        )


def read(
    path: str | Path,
    *,
    format: str | None = None,
    pairs: bool = True,
    columns: Sequence[str] | None = None,
    parse_with: str | None = None,
    documents: bool = False,
    limit: int | None = None,
) -> Corpus:
    """Open a corpus file, the built-in corpus (``"demo"``), or FrameNet through nltk (``"framenet"``: the sentences that pass the filter of Kovaleva et al.).

    ``format`` is text, tsv, jsonl, conll, coref-jsonl, coref-conllu, conll2012 or frames-jsonl; by default the file's ending decides (``.gz`` of each too), and JSON lines with
    sentences and mentions are coref-jsonl, those with a sentence, a target and links frames-jsonl. ``documents`` makes one example of each document of a CoNLL-U file, with its mentions, rather than of each sentence; with it, as with the
    formats coref-conllu and conll2012, a folder of files or a ``.tar.gz`` of them will do. ``pairs`` pairs up consecutive paragraphs of plain text.
    ``columns`` names the text columns of a table. ``parse_with`` parses what has no words with spaCy: a pipeline's name, or "" for the small English one.

    >>> sorted(read("demo", limit=1).annotations)[:3]
    ['frames', 'mentions', 'pair']
    """
    if limit is not None and limit < 1:
        raise CorpusError(
            f"the limit must be 1 or more, got {limit} instead",
            hint="leave it out to read everything",
        )
    if str(path) == DEMO:
        return Corpus(DEMO, "builtin", read_builtin, _builtin_checksum, limit)
    if str(path) == FRAMENET:
        return _framenet(limit)
    path = Path(path)
    kind = _format(path, format, documents=documents)
    if kind == "jsonl" and format is None and columns is None and is_coref_jsonl(path):
        kind = "coref-jsonl"
    if kind == "jsonl" and format is None and columns is None and is_frames_jsonl(path):
        kind = "frames-jsonl"
    if documents and kind == "conll":
        kind = "coref-conllu"
    if documents and kind not in COREF:
        raise CorpusError(
            f"{path} has no documents to read: its format is {kind}",
            hint=f"give a corpus in one of the formats {', '.join(COREF)}",
        )
    readers: dict[str, Callable[[], Iterator[Example]]] = {
        "text": lambda: read_plain(path, pairs=pairs),
        "tsv": lambda: read_tsv(path, columns=columns),
        "jsonl": lambda: read_json_lines(path, columns=columns),
        "conll": lambda: read_conll(path),
        "coref-jsonl": lambda: read_coref_jsonl(path),
        "coref-conllu": lambda: read_coref_conllu(path),
        "conll2012": lambda: read_conll2012(path),
        "frames-jsonl": lambda: read_frames_jsonl(path),
    }
    source = readers[kind]
    remarks: dict[str, Callable[[], tuple[str, ...]]] = {
        "coref-conllu": lambda: skipped_mentions(path),
        "conll2012": lambda: (LAST_WORD,),
    }
    corpus = Corpus(
        str(path),
        kind,
        source,
        lambda: fingerprint(path, COREF.get(kind, ())),
        limit,
        remarks=remarks.get(kind, tuple),
    )
    next(
        iter(corpus)
    )  # a wrong path, format or empty file is told here, not in the middle of a run
    if parse_with is not None:
        plain = corpus
        options = (kind, pairs, columns)
        corpus = replace(
            plain,
            source=lambda: parse(source(), parser=parse_with, key=(plain.checksum, *options)),
            rough=source,
            format=f"{kind}+spacy",
        )
    return corpus


def from_texts(texts: Sequence[str | tuple[str, str]], *, name: str = "texts") -> Corpus:
    """A corpus of strings and pairs of strings held in memory."""
    examples = [
        Example(str(index), (text,) if isinstance(text, str) else tuple(text))
        for index, text in enumerate(texts, 1)
    ]
    return from_examples(examples, name=name)


def from_examples(examples: Sequence[Example], *, name: str = "examples") -> Corpus:
    """A corpus of examples held in memory."""
    digest = hashlib.sha256(repr(list(examples)).encode()).hexdigest()
    return Corpus(name, "memory", lambda: iter(examples), lambda: digest)


def _framenet(limit: int | None) -> Corpus:
    """Of some 200 000 sentences a few hundred are kept: they are held, not looked for again at every walk."""
    found = from_examples(list(islice(read_framenet(open_framenet()), limit)), name=FRAMENET)
    return replace(found, format=FRAMENET)


def _format(path: Path, given: str | None, *, documents: bool) -> str:
    if given is not None:
        if given not in NAMES:
            raise unknown("format", given, NAMES, error=CorpusError)
        return given
    if documents and is_collection(path):
        return "coref-conllu"
    ending = next(
        (suffix.lower() for suffix in reversed(path.suffixes) if suffix.lower() != ".gz"), ""
    )
    if ending not in FORMATS:
        next(lines(path), None)  # a file that is not there, or a folder, is told before its ending
        known = f"known are {', '.join(FORMATS)}, and .gz of each"
        raise CorpusError(
            f"the format of {path} cannot be told from its ending {ending!r}; {known}",
            hint=f"give --format {', '.join(NAMES[:-1])} or {NAMES[-1]}",
        )
    return FORMATS[ending]


def _builtin_checksum() -> str:
    return hashlib.sha256("".join(checksum(file) for file in builtin_files()).encode()).hexdigest()
