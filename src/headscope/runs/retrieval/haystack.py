"""The haystack: sentences of a corpus, in documents, from which long texts are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from headscope.corpus import Corpus
from headscope.errors import CorpusError

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
LONG = 40
"""What looks like a sentence of more words is cut: text without full stops has no sentences."""
PLENTY = 20
"""Documents are read until there are so many times as many tokens as the longest text needs."""
BUILT_IN = "demo"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, about how many tokens it takes, and whether it begins a document."""

    text: str
    tokens: int
    first: bool


@dataclass(frozen=True)
class Haystack:
    """Documents to make long texts of.

    Parameters
    ----------
    name
        The name of the corpus.
    documents
        The sentences of each document.
    """

    name: str
    documents: tuple[tuple[Sentence, ...], ...]

    @property
    def tokens(self) -> int:
        """About how many tokens there are in all."""
        return sum(sentence.tokens for document in self.documents for sentence in document)

    def sentences(self, generator: np.random.Generator) -> Iterator[Sentence]:
        """Sentences without end: documents in random order, then all of them again, and so on."""
        while True:
            for place in generator.permutation(len(self.documents)):
                yield from self.documents[place]


def make_haystack(corpus: Corpus, count: Callable[[str], int], longest: int) -> Haystack:
    """Read documents of a corpus until there is plenty of text.

    Parameters
    ----------
    corpus
        The corpus. Examples of one group, one after the other, are one document.
    count
        Counts the tokens of a text.
    longest
        How many tokens the longest text needs.

    Raises
    ------
    CorpusError
        If the corpus is shorter than the longest text, unless it is the built-in one, which is
        then repeated.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> made = make_haystack(read(["One. Two."]), lambda text: len(text.split()), longest=2)
    >>> [sentence.text for sentence in made.documents[0]]
    ['One.', 'Two.']
    """
    documents, total = [], 0
    for texts in _documents(corpus):
        pieces = [piece for text in texts for piece in split_sentences(text)]
        sentences = tuple(Sentence(one, count(" " + one), not at) for at, one in enumerate(pieces))
        if sentences:
            documents.append(sentences)
            total += sum(sentence.tokens for sentence in sentences)
        if total >= PLENTY * longest:
            break
    if not documents or (total < longest and corpus.name != BUILT_IN):
        raise CorpusError(
            f"{corpus.name} has {total:,} tokens, and the longest context needs {longest:,} of "
            "text around the needle",
            hint="give more text, or shorter contexts: lengths=[256]",
            command="give more text, or shorter contexts: --length 256",
        )
    return Haystack(corpus.name, tuple(documents))


def split_sentences(text: str) -> list[str]:
    """Split a text after full stops, question marks and exclamation marks.

    >>> split_sentences("It rains. Why?  Nobody knows.")
    ['It rains.', 'Why?', 'Nobody knows.']
    """
    found = []
    for sentence in SENTENCE_END.split(" ".join(text.split())):
        words = sentence.split()
        found += [" ".join(words[at : at + LONG]) for at in range(0, len(words), LONG)]
    return found


def _documents(corpus: Corpus) -> Iterator[list[str]]:
    """The texts of each document."""
    held: list[str] = []
    group = ""
    for example in corpus:
        if held and not (example.group and example.group == group):
            yield held
            held = []
        held += map(_plain if example.words else str, example.texts)
        group = example.group
    if held:
        yield held


def _plain(text: str) -> str:
    """Words that were joined by spaces, with punctuation at the word that it belongs to."""
    return re.sub(r"([(\[]) ", r"\1", re.sub(r" ([.,;:!?)\]]|n't|'\w+)(?=\s|$)", r"\1", text))
