"""A corpus: examples that are read anew each time they are walked over."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from headscope.corpus.example import Example, bucket_key, join_words
from headscope.errors import CorpusError

if TYPE_CHECKING:
    import numpy as np


# --- a corpus ---

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
        return corpus_html(self)

    def __iter__(self) -> Iterator[Example]:
        """Walk over the examples."""
        empty = self.limit != 0
        for example in islice(self.source(), self.limit):
            empty = False
            yield example
        if empty:
            raise CorpusError(
                f"{self.name} is empty: it has no examples", hint="give at least one text"
            )

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of what the corpus is made of."""
        try:
            return self.fingerprint()
        except OSError as error:
            raise CorpusError(
                f"{self.name} cannot be read any more: {error.strerror or error}",
                hint="leave its files where they are until the run has ended",
            ) from None

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
        change = how if self.limit is None else f"{how}, of the first {self.limit} examples"
        reset: dict[str, Any] = {
            "rough": None,
            "limit": None,
            "fingerprint": lambda: hashlib.sha256(
                f"{self.fingerprint()}:{change}".encode()
            ).hexdigest(),
            "reading": {**self.reading, "made": [*self.reading.get("made", ()), change]},
        }
        return replace(self, source=source, **(reset | changes))

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


# --- corpora of Python objects ---

MEMORY = "memory"
"""The format of a corpus that was made from Python objects."""


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


def _one_or_two(item: object, where: str) -> tuple[str, ...]:
    """The texts of one item of a list."""
    if isinstance(item, str):
        return (checked_text(item, where),)
    if isinstance(item, tuple | list) and len(item) in {1, 2}:
        return tuple(checked_text(text, where) for text in item)
    kind = type(item).__name__
    if isinstance(item, tuple | list):
        kind += f" of {len(item)}"
    raise CorpusError(
        f"{where} must be a text or a pair of texts, got {kind} instead",
        hint='give e.g. ["A dog barks.", ("Who barks?", "The dog.")], or a pandas DataFrame',
    )


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, or pandas' NA and NaT, which are not equal to themselves.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float) and value != value


def checked_text(value: object, where: str) -> str:
    """A text, which must be a string of real characters."""
    if is_missing(value):
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


# --- at a glance, for notebooks ---

CARD_EXAMPLES = 3
"""How many examples are shown."""
CARD_LETTERS = 200
"""How many letters of a text are shown."""
COUNTED = 10_000
"""Examples that are counted at most: a large file is not read to its end."""
ANNOTATION_WORDS = {
    "frames": "frames",
    "mentions": "coreference",
    "pair": "pairs of texts",
    "tags": "part-of-speech tags",
    "tree": "dependency trees",
    "words": "words",
}
"""What annotations are called."""


def corpus_html(corpus: Corpus) -> str:
    """The name, size, annotations and first examples of a corpus.

    Parameters
    ----------
    corpus
        Any corpus. Its first examples are read.

    Returns
    -------
    str
        HTML without scripts.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> html = corpus_html(read(["A <b>dog</b> barks.", "A cat sleeps."]))
    >>> "2 examples" in html, "<b>dog" in html, "&lt;b&gt;dog" in html
    (True, False, True)
    """
    counted = sum(1 for _ in islice(_quickly(corpus), COUNTED + 1))
    size = f"more than {COUNTED:,}" if counted > COUNTED else f"{counted:,}"
    noun = "example" if counted == 1 else "examples"
    annotations = sorted(ANNOTATION_WORDS.get(name, name) for name in corpus.annotations)
    shown = "".join(
        f"<li>{escape(' | '.join(excerpt(text, CARD_LETTERS) for text in example.texts))}</li>"
        for example in islice(_quickly(corpus), CARD_EXAMPLES)
    )
    more = '<li style="list-style:none">…</li>' if counted > CARD_EXAMPLES else ""
    return (
        f'<div style="font:13px/20px sans-serif"><b>{escape(excerpt(corpus.name))}</b>: '
        f"{size} {noun}, read as {escape(corpus.format)}; "
        f"annotations: {escape(', '.join(annotations)) or 'none'}"
        f'<ol style="margin:8px 0 0;padding-left:24px">{shown}{more}</ol></div>'
    )


def _quickly(corpus: Corpus) -> Iterator[Example]:
    """The examples, before parsing where that is slow."""
    return islice((corpus.rough or corpus.source)(), corpus.limit)


# --- shuffled words ---

_WORD = re.compile(r"\S+")


def shuffled_words(corpus: Corpus, *, seed: int) -> Corpus:
    """The same corpus with the words of each sentence in random order, and its trees kept.

    What belongs to a word moves with it: its text, tags, lemma and features. What joins positions
    stays: heads and relations of the tree, the spans, entities and kinds of mentions, and frame
    links. The subject of a shuffled sentence is therefore whatever word now stands where the
    subject stood, and a head that still finds it follows positions, not words. All measures stay
    defined; those that read words as well (the coreference baselines that compare strings, links
    between verbs and subjects) find what the moved words give.

    Words are those of the annotation. Text without annotation has no known sentences: what stands
    between white space, which stays where it is, is shuffled within each text. The two texts of a
    pair are shuffled separately. Groups stay, so that documents keep their buckets.

    Parameters
    ----------
    corpus
        The corpus.
    seed
        Of the random order. Each example has a seed of its own, made of this and its number.

    Returns
    -------
    Corpus
        Its notes and its checksum name the seed.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> corpus = read(["the cat saw the old dog"])
    >>> (example,) = shuffled_words(corpus, seed=0)
    >>> sorted(example.texts[0].split())
    ['cat', 'dog', 'old', 'saw', 'the', 'the']
    """
    note = f"words shuffled within each sentence, trees kept, with seed {seed}"

    def source() -> Iterator[Example]:
        import numpy as np

        for number, example in enumerate(corpus.source()):
            yield shuffled_example(example, np.random.default_rng([seed, number]))

    return corpus.derived(
        note,
        source,
        name=f"{corpus.name} (words shuffled)",
        rough=corpus.rough,
        limit=corpus.limit,
        remarks=lambda: (*corpus.notes, note),
    )


def shuffled_example(example: Example, random: np.random.Generator) -> Example:
    """An example with the words of each of its sentences in random order.

    Parameters
    ----------
    example
        The example.
    random
        Decides the order.

    Examples
    --------
    >>> import numpy as np
    >>> from headscope.corpus import Word
    >>> words = (Word("dogs", head=1, relation="nsubj"), Word("bark", head=-1, relation="root"))
    >>> mixed = shuffled_example(Example("1", ("dogs bark",), words), np.random.default_rng(3))
    >>> [(word.text, word.relation) for word in mixed.words]
    [('bark', 'nsubj'), ('dogs', 'root')]
    """
    example = replace(example, group=bucket_key(example))
    if not example.words:
        return replace(example, texts=tuple(_shuffled_text(text, random) for text in example.texts))
    sentences: dict[tuple[int, int], list[int]] = {}
    for place, word in enumerate(example.words):
        sentences.setdefault((word.segment, word.sentence), []).append(place)
    words = list(example.words)
    for places in sentences.values():
        for place, moved in zip(places, random.permutation(places).tolist(), strict=True):
            stays = example.words[place]
            words[place] = replace(example.words[moved], head=stays.head, relation=stays.relation)
    return replace(example, texts=join_words(tuple(words)), words=tuple(words))


def _shuffled_text(text: str, random: np.random.Generator) -> str:
    words = _WORD.findall(text)
    order = iter(random.permutation(len(words)).tolist())
    return _WORD.sub(lambda _: words[next(order)], text)
