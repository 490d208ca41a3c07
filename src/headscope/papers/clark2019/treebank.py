"""Corpora with trees and coreference: whole documents, sentences, and a part held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from headscope.corpus import Corpus, Example
from headscope.corpus.vectors import INSTALL, WordVectors, forms, read_vectors
from headscope.errors import UserError
from headscope.runs.examples import sentences

LOOKED = 500
"""Examples that are looked at to tell the scheme of a treebank."""
HELD_OUT = 5
"""Without a training treebank, every fifth sentence is held out for testing."""


def split_treebank(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """Hold out every fifth example for testing.

    Parameters
    ----------
    corpus
        The treebank.

    Returns
    -------
    tuple of Corpus
        Four fifths for training, and one fifth for testing.

    Examples
    --------
    >>> from headscope.corpus import from_texts
    >>> train, test = split_treebank(from_texts(list("abcdef")))
    >>> [example.texts[0] for example in train], [example.texts[0] for example in test]
    (['a', 'b', 'c', 'd', 'f'], ['e'])
    """

    def part(name: str, keep: Callable[[int], bool]) -> Corpus:
        def source() -> Iterator[Example]:
            return (example for index, example in enumerate(corpus) if keep(index))

        return corpus.derived(name, source, name=f"{corpus.name} ({name})")

    last = HELD_OUT - 1
    return (
        part("four fifths", lambda index: index % HELD_OUT != last),
        part("every fifth", lambda index: index % HELD_OUT == last),
    )


def sentence_corpus(corpus: Corpus) -> Corpus:
    """Cut passages into sentences.

    Parameters
    ----------
    corpus
        Examples of one or more sentences, with their trees.

    Returns
    -------
    Corpus
        One sentence per example.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> len(list(sentence_corpus(read("demo", limit=1)))) > 1
    True
    """
    return corpus.derived("sentences", lambda: iter(sentences(corpus)))


def by_sentence(corpus: Corpus) -> Corpus:
    """The built-in corpus by sentence, as the paper scores trees; any other corpus as it is.

    Parameters
    ----------
    corpus
        A treebank.

    Returns
    -------
    Corpus
        One sentence per example.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> next(iter(by_sentence(read("demo")))).id
    'news-01-0'
    """
    return sentence_corpus(corpus) if corpus.format == "builtin" else corpus


def is_universal(corpus: Corpus) -> bool:
    """Whether a treebank is annotated with Universal Dependencies, by its labels.

    Parameters
    ----------
    corpus
        A treebank.

    Returns
    -------
    bool
        True if the first sentences have prepositions as ``case``, and none has ``pobj``.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> is_universal(read("demo"))  # the labels of the built-in corpus are spaCy's
    False
    """
    labels = {word.relation for example in islice(corpus, LOOKED) for word in example.words}
    return "case" in labels and "pobj" not in labels


def given_vectors(
    given: str | Path | None, corpora: Iterable[Corpus]
) -> tuple[WordVectors | None, str]:
    """Read the word vectors of some corpora, or say what is missing without them.

    Parameters
    ----------
    given
        What the user gave.
    corpora
        The treebanks whose words are needed.

    Returns
    -------
    vectors : WordVectors or None
        None if none were given, or they cannot be read.
    missing : str
        A sentence that says which rows are missing and how to get them; empty if none are.

    Examples
    --------
    >>> given_vectors(None, [])[1].split(":")[0]
    'No word vectors were given, so only the probes that need none were trained'
    """
    if given is None:
        return None, (
            "No word vectors were given, so only the probes that need none were trained: for the "
            f"others, type {INSTALL} and add --vectors glove (or name a GloVe file)."
        )
    words = (word.text for corpus in corpora for example in corpus for word in example.words)
    try:
        return read_vectors(given, only=forms(words)), ""
    except UserError as error:
        return None, (
            "Only the probes that need no word vectors were trained, because the vectors cannot be "
            f"read: {error.message}."
        )
