"""A corpus: examples that are read anew each time they are walked over."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

from headscope.corpus.example import Example
from headscope.errors import CorpusError

PEEK = 200
"""How many examples are looked at to see which annotations a corpus offers."""
SHOWN = 60
"""How many characters of a text a preview shows."""


@dataclass(frozen=True, repr=False)
class Corpus:
    """Examples that can be walked over again and again; a file is never held in memory.

    Make one with :func:`headscope.read`.

    Parameters
    ----------
    name : str
        The path of the file, or what the corpus was made from.
    format : str
        How the examples were read, e.g. ``"tsv"``.
    source : callable
        Returns an iterator over the examples.
    fingerprint : callable
        Returns the SHA-256 of what the corpus is made of.
    limit : int, optional
        How many examples to read at most.
    rough : callable, optional
        Returns an iterator over the same number of examples, sooner: before parsing.
    remarks : callable, optional
        Returns the notes of the corpus.
    reading : mapping, optional
        How the examples are read: those options of :func:`headscope.read` that were given, the
        parser with its version, and what was made of the examples since.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> corpus = read(["A dog barks.", ("Who?", "Me.")])
    >>> [example.texts for example in corpus]
    [('A dog barks.',), ('Who?', 'Me.')]
    """

    name: str
    format: str
    source: Callable[[], Iterator[Example]]
    fingerprint: Callable[[], str]
    limit: int | None = None
    rough: Callable[[], Iterator[Example]] | None = None
    remarks: Callable[[], tuple[str, ...]] = tuple
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        cut = "" if self.limit is None else f", limit={self.limit}"
        return f"Corpus({self.name!r}, format={self.format!r}{cut})"

    def _repr_html_(self) -> str:
        from headscope.corpus.card import corpus_html

        return corpus_html(self)

    def __iter__(self) -> Iterator[Example]:
        """Walk over the examples."""
        found = False
        for example in islice(self.source(), self.limit):
            found = True
            yield example
        if not found and self.limit != 0:
            raise CorpusError(
                f"{self.name} is empty: it has no examples", hint="give at least one text"
            )

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of what the corpus is made of."""
        return self.fingerprint()

    @property
    def about(self) -> dict[str, Any]:
        """The corpus as it is read, for provenance: whatever changes its examples changes this.

        Examples
        --------
        >>> from headscope.corpus import read
        >>> read(["A dog barks."], limit=1).about["read"]
        {'limit': 1}
        """
        limit = {} if self.limit is None else {"limit": self.limit}
        return {
            "name": self.name,
            "format": self.format,
            "sha256": self.checksum,
            "read": {**self.reading, **limit},
        }

    def derived(self, how: str, source: Callable[[], Iterator[Example]], **changes: Any) -> Corpus:
        """Another corpus that is made of this one.

        Parameters
        ----------
        how
            What is done to the examples, in words; part of its identity.
        source
            Returns an iterator over the new examples.
        **changes
            Other fields of the new corpus, such as ``name``.

        Examples
        --------
        >>> from headscope.corpus import read
        >>> corpus = read(["A dog barks.", "A cat sleeps."])
        >>> corpus.derived("backwards", lambda: reversed(list(corpus))).about["read"]
        {'made': ['backwards']}
        """
        made = how if self.limit is None else f"{how}, of the first {self.limit} examples"
        given: dict[str, Any] = {
            "rough": None,
            "limit": None,
            "fingerprint": lambda: hashlib.sha256(
                f"{self.fingerprint()}:{made}".encode()
            ).hexdigest(),
            "reading": {**self.reading, "made": [*self.reading.get("made", ()), made]},
        }
        return replace(self, source=source, **(given | changes))

    def check_unchanged(self) -> None:
        """Check that the corpus is still what it was when its checksum was first asked for.

        Raises
        ------
        CorpusError
            If a file was rewritten or removed meanwhile: what was read is then a mixture.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from headscope.corpus import read
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = path.write_text("A dog barks.")
        >>> corpus = read(path)
        >>> before = corpus.checksum
        >>> corpus.check_unchanged()
        """
        first = self.checksum
        try:
            now = self.fingerprint()
        except (OSError, CorpusError):
            now = ""
        if now != first:
            done = "was rewritten" if now else "cannot be read any more"
            raise CorpusError(
                f"{self.name} {done} while it was being used: results would mix two corpora, "
                "so they are not saved",
                hint="leave the file as it is during a run, and start again",
            )

    @cached_property
    def annotations(self) -> frozenset[str]:
        """What the first examples offer: pair, words, tree, tags, mentions, frames."""
        return frozenset().union(*(example.annotations for example in islice(iter(self), PEEK)))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know, e.g. which mentions were skipped.

        The whole corpus may be read to find out.
        """
        return self.remarks()

    def size(self) -> int:
        """How many examples there are; the whole corpus is read to count them.

        Examples
        --------
        >>> from headscope.corpus import read
        >>> read(["A dog barks.", "A cat sleeps."]).size()
        2
        """
        return sum(1 for _ in islice((self.rough or self.source)(), self.limit))

    def first(self, count: int | None) -> Corpus:
        """The same corpus, cut to its first ``count`` examples; None cuts nothing.

        Examples
        --------
        >>> from headscope.corpus import read
        >>> read(["A dog barks.", "A cat sleeps."]).first(1).size()
        1
        """
        limits = [limit for limit in (self.limit, count) if limit is not None]
        return replace(self, limit=min(limits, default=None))

    def sample(self, count: int | None, *, seed: int) -> Corpus:
        """The same corpus, cut to ``count`` examples that are drawn at random; None cuts nothing.

        The whole corpus is read to count its examples. Examples keep their order, and a smaller
        sample with the same seed is part of a larger one.

        Parameters
        ----------
        count : int, optional
            How many examples to draw; a corpus with no more of them is returned as it is.
        seed : int
            Of the random generator.

        Returns
        -------
        Corpus
            Its notes say how many of how many examples were drawn, and the seed.

        Examples
        --------
        >>> from headscope.corpus import read
        >>> drawn = read([f"Text {number}." for number in range(1000)]).sample(3, seed=0)
        >>> drawn.size(), drawn.notes
        (3, ('3 of 1,000 examples, drawn at random with seed 0',))
        """
        if count is None:
            return self
        if count < 1:
            raise CorpusError(f"a sample must have 1 example or more, got {count} instead")
        size = self.size()
        if size <= count:
            return self
        import numpy as np

        places = set(np.random.default_rng(seed).permutation(size)[:count].tolist())
        note = f"{count:,} of {size:,} examples, drawn at random with seed {seed}"
        whole = self

        def source() -> Iterator[Example]:
            return (example for place, example in enumerate(whole) if place in places)

        return self.derived(note, source, remarks=lambda: (*whole.notes, note))

    def preview(self) -> str:
        """One line that says what was read: how many texts or pairs, and the first of them.

        The whole corpus is read to count them.

        Returns
        -------
        str
            Long texts are shortened and control characters escaped.

        Examples
        --------
        >>> from headscope.corpus import read
        >>> read([("Who barks?", "The dog."), ("Who sleeps?", "The cat.")]).preview()
        'read 2 pairs; first: "Who barks?" | "The dog."'
        """
        counts = [0, 0]
        first: Example | None = None
        for example in islice((self.rough or self.source)(), self.limit):
            first = first or example
            counts[len(example.texts) - 1] += 1
        if first is None:
            return "read nothing"
        texts = " | ".join(f'"{excerpt(text)}"' for text in first.texts)
        label = "" if first.label is None else f" (label: {excerpt(first.label)})"
        return f"read {count_texts(*counts)}; first: {texts}{label}"


def count_texts(texts: int, pairs: int) -> str:
    """How many texts and pairs there are, in words.

    >>> count_texts(1204, 0), count_texts(0, 1), count_texts(2, 3)
    ('1,204 texts', '1 pair', '5 examples (2 texts and 3 pairs)')
    """
    words = [
        f"{number:,} {name if number == 1 else name + 's'}"
        for number, name in ((texts, "text"), (pairs, "pair"))
    ]
    if texts and pairs:
        return f"{texts + pairs:,} examples ({' and '.join(words)})"
    return words[1] if pairs else words[0]


def excerpt(text: str, length: int = SHOWN) -> str:
    r"""The start of a text on one line: cut between words, control characters escaped.

    >>> excerpt("The dog\tbarks at the cat", 18)
    'The dog\\tbarks at …'
    """
    if len(text) > length:
        start, space, _ = text[: length - 1].rpartition(" ")
        text = f"{start.rstrip()} …" if space else text[: length - 1] + "…"
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
