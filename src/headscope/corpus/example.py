"""Examples, their words, and what is annotated on them: trees, mentions, frame links."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from headscope.errors import CorpusError, shorten

# --- examples ---

ROOT = -1
"""The ``head`` of a word that is the root of its sentence."""
PLAIN_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
"""A word of text without annotation: letters and digits with apostrophes inside, or one sign."""
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+(?![\sa-z])|\n")
"""What ends a sentence of text without annotation, up to the next one."""
BUCKETS = 32
"""Into how many buckets a corpus is divided; see :func:`bucket_of`."""


@dataclass(frozen=True, slots=True)
class Word:
    """One annotated word.

    Parameters
    ----------
    text : str
        The word as it is written.
    segment : int, default 0
        The text of a pair that the word is in: 0 or 1.
    sentence : int, default 0
        The number of its sentence in the example.
    head : int, optional
        The index of its head word in the example, or ``ROOT``; None if there is no tree.
    relation : str, default ""
        The dependency label.
    upos, xpos : str, default ""
        The universal tag and the tag of the treebank, e.g. the Penn tag.
    lemma : str, default ""
        The dictionary form.
    feats : str, default ""
        Morphological features, as CoNLL-U writes them: ``"Number=Sing|Tense=Pres"``.

    Examples
    --------
    >>> Word("barks", head=ROOT, relation="root", upos="VERB").lemma
    ''
    """

    text: str
    segment: int = 0
    sentence: int = 0
    head: int | None = None
    relation: str = ""
    upos: str = ""
    xpos: str = ""
    lemma: str = ""
    feats: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an entity (coreference).

    Parameters
    ----------
    start, end : int
        The first and the last word.
    head : int
        The head word.
    entity : str
        The entity that is mentioned; mentions with the same entity corefer.
    kind : str, default ""
        pronoun, proper, nominal, or empty if it is not known.

    Examples
    --------
    >>> she = Mention(0, 0, 0, entity="ann", kind="pronoun")
    >>> she.entity
    'ann'
    """

    start: int
    end: int
    head: int
    entity: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class FrameLink:
    """A link between the target of a frame and one of its core elements.

    Parameters
    ----------
    frame, element : str
        The names of the frame and of the element.
    target, filler : tuple of int
        The first and last words of the target and of what fills the element.

    Examples
    --------
    >>> FrameLink("Commerce_buy", "Buyer", target=(1, 1), filler=(0, 0)).element
    'Buyer'
    """

    frame: str
    element: str
    target: tuple[int, int]
    filler: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Example:
    """One input of the model: a text or a pair of texts, and what is annotated on it.

    Parameters
    ----------
    id : str
        The name of the example in its corpus.
    texts : tuple of str
        One text, or two. If there are words, the texts must be those words joined by single
        spaces, so that no piece of the tokenizer spans two words; see :func:`join_words`.
    words : tuple of Word, optional
        The annotated words of all texts.
    mentions : tuple of Mention, optional
        Coreference.
    links : tuple of FrameLink, optional
        Frame semantics.
    label : str, optional
        What a task asks for.
    group : str, optional
        The document or paragraph that the example belongs to. Examples of one group are not
        independent; see :func:`bucket_of`.
    source : str, optional
        Where the example was read, for messages. It does not count when examples are compared.

    Examples
    --------
    >>> words = (Word("Dogs"), Word("bark"), Word("."))
    >>> Example("1", ("Dogs bark .",), words).annotations
    frozenset({'words'})
    """

    id: str
    texts: tuple[str, ...]
    words: tuple[Word, ...] = ()
    mentions: tuple[Mention, ...] = ()
    links: tuple[FrameLink, ...] = ()
    label: str | None = None
    group: str = ""
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        texts: object = self.texts
        if isinstance(texts, str):
            raise CorpusError(
                f"example {self.id}: texts must be a tuple, got one string instead",
                hint=f"write ({texts[:40]!r},), with a comma",
            )
        if len(self.texts) not in {1, 2}:
            raise CorpusError(
                f"example {self.id}: one text or two are allowed, got {len(self.texts)} instead"
            )

    @property
    def annotations(self) -> frozenset[str]:
        """What the example offers to measures: pair, words, tree, tags, mentions, frames."""
        offered = {
            "pair": len(self.texts) == 2,
            "words": bool(self.words),
            "tree": any(word.head is not None for word in self.words),
            "tags": any(word.upos for word in self.words),
            "mentions": bool(self.mentions),
            "frames": bool(self.links),
        }
        return frozenset(name for name, there in offered.items() if there)


def bucket_of(example: Example, buckets: int = BUCKETS) -> int:
    """Find the bucket of an example, which is the same in every process and on every platform.

    Examples of one group (a document, a paragraph) share a bucket, so that halves of a corpus, or
    intervals over buckets, never treat dependent examples as independent ones. The number is the
    SHA-256 of the group, read as a big-endian integer, modulo ``buckets``. An example without a
    group goes by its id and texts, separated by null characters.

    Parameters
    ----------
    example : Example
        The example to place.
    buckets : int, default 32
        How many buckets there are.

    Returns
    -------
    int
        A number from 0 to ``buckets - 1``.

    Examples
    --------
    >>> bucket_of(Example("1", ("A dog barks.",), group="news-1"))
    19
    >>> bucket_of(Example("2", ("It is loud.",), group="news-1"))
    19
    """
    if buckets < 1:
        raise CorpusError(f"the number of buckets must be 1 or more, got {buckets} instead")
    digest = hashlib.sha256(bucket_key(example).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest, "big") % buckets


def bucket_key(example: Example) -> str:
    """By what an example is put into its bucket: its group, or all of it."""
    return example.group or "\0".join((example.id, *example.texts))


def join_words(words: tuple[Word, ...]) -> tuple[str, ...]:
    """Join annotated words to texts, by single spaces, one text per segment.

    >>> join_words((Word("Hi"), Word("!"), Word("Yes", segment=1)))
    ('Hi !', 'Yes')
    """
    segments = max((word.segment for word in words), default=-1) + 1
    return tuple(
        " ".join(word.text for word in words if word.segment == segment)
        for segment in range(segments)
    )


def plain_words(texts: tuple[str, ...]) -> list[list[tuple[int, int]]]:
    """Find where the words of each text begin and end, in text without annotation.

    >>> plain_words(("Don't!",))
    [[(0, 5), (5, 6)]]
    """
    return [[match.span() for match in PLAIN_WORD.finditer(text)] for text in texts]


def surface_words(example: Example, count: int | None = None) -> list[str]:
    """List the words of an example: the annotated ones, else what looks like a word.

    Parameters
    ----------
    example
        The example.
    count
        List only so many words; None for all. A text may be much longer than what a model reads.

    Examples
    --------
    >>> surface_words(Example("1", ("It isn't.", "Yes")))
    ['It', "isn't", '.', 'Yes']
    """
    if example.words:
        return [word.text for word in example.words[:count]]
    words = (match.group() for text in example.texts for match in PLAIN_WORD.finditer(text))
    return list(islice(words, count))


def sentence_numbers(example: Example) -> list[int]:
    """The sentence of each word of :func:`surface_words`, counted over all texts from 0.

    Annotated words say it themselves. In other text a sentence ends at the end of a line, and at
    ".", "!", "?" or "…", with the quotes and brackets that close there, before a space and anything
    but a small letter. An abbreviation before a name ("Mr. Brandt") therefore ends one, too.

    Examples
    --------
    >>> sentence_numbers(Example("1", ('"Why?" he said. No one knew.', "Yes")))
    [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2]
    """
    if example.words:
        places = [(word.segment, word.sentence) for word in example.words]
        order = {place: number for number, place in enumerate(dict.fromkeys(places))}
        return [order[place] for place in places]
    sentences, first = list[int](), 0
    for text, words in zip(example.texts, plain_words(example.texts), strict=True):
        ends = [match.end() for match in SENTENCE_END.finditer(text)]
        numbers = [bisect_right(ends, start) for start, _ in words]
        having = sorted(set(numbers))  # a line may have no words
        sentences += [first + bisect_left(having, number) for number in numbers]
        first += len(having)
    return sentences


# --- mentions ---

PRONOUNS = frozenset({"PRP", "PRP$", "WP", "WP$"})
"""Penn tags of pronouns."""
PRONOUN_WORDS = frozenset(
    {
        *("i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves"),
        *("you", "your", "yours", "yourself", "yourselves", "thou", "thee", "thy", "thine"),
        *("he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself"),
        *("they", "them", "their", "theirs", "themselves", "themself"),
        *("this", "that", "these", "those", "who", "whom", "whose", "which"),
    }
)
"""English pronouns, for words without a tag."""


def head_word(words: Sequence[Word], start: int, end: int) -> int:
    """The head of the words ``start`` to ``end``: the first whose own head lies outside them.

    Without a tree, it is the last word.

    >>> words = [Word("the", head=1), Word("dog", head=2), Word("barks", head=ROOT)]
    >>> head_word(words, 0, 1)
    1
    """
    return head_among(words, range(start, end + 1))


def head_among(words: Sequence[Word], places: Sequence[int]) -> int:
    """The head of some words, which need not be adjacent; see :func:`head_word`.

    >>> ann_and_bo = [Word("Ann", head=3), Word("and", head=2), Word("Bo", head=0)]
    >>> head_among([*ann_and_bo, Word("left", head=ROOT)], [0, 2])
    0
    """
    if any(words[place].head is None for place in places):
        return places[-1]
    outside = [
        place for place in places if words[place].head == ROOT or words[place].head not in places
    ]
    content = [place for place in outside if words[place].relation not in {"punct", "case"}]
    return (content or outside or [places[-1]])[0]


def mention_kind(head: Word) -> str:
    """The kind of a mention by the tag of its head word: pronoun, proper or nominal.

    A word without a tag is a pronoun if it is in a list of English ones; otherwise its kind is not
    known, and empty. Verbs and adverbs count as nominal. If there are only Penn tags, a determiner
    that heads a mention ("this", "those") is a pronoun.

    >>> mention_kind(Word("her", xpos="PRP$")), mention_kind(Word("Ann", upos="PROPN"))
    ('pronoun', 'proper')
    >>> mention_kind(Word("She")), mention_kind(Word("dog"))
    ('pronoun', '')
    """
    if not head.upos and not head.xpos:
        return "pronoun" if head.text.lower() in PRONOUN_WORDS else ""
    determiner = head.xpos == "DT" and not head.upos
    if head.upos == "PRON" or head.xpos in PRONOUNS or determiner:
        return "pronoun"
    return "proper" if head.upos == "PROPN" or head.xpos in {"NNP", "NNPS"} else "nominal"


def in_order(mentions: Iterable[tuple[Mention, str]]) -> tuple[Mention, ...]:
    """Sort mentions by their first word, longer ones first, and check them.

    Mentions of different entities may cross, as in OntoGUM. Two mentions of one entity may not
    cross, nor be the same words.

    Parameters
    ----------
    mentions : iterable of (Mention, str)
        Each mention, and where it was read.

    Raises
    ------
    CorpusError
        If two mentions of one entity cross or are the same.

    Examples
    --------
    >>> dog, its = Mention(3, 4, 4, "dog"), Mention(0, 1, 1, "dog")
    >>> [mention.start for mention in in_order([(dog, "line 4"), (its, "line 1")])]
    [0, 3]
    """
    ordered = sorted(mentions, key=lambda pair: (pair[0].start, -pair[0].end))
    around: dict[str, list[Mention]] = {}
    for mention, where in ordered:
        outer = around.setdefault(mention.entity, [])
        while outer and outer[-1].end < mention.start:
            outer.pop()
        if outer and (outer[-1].start, outer[-1].end) == (mention.start, mention.end):
            raise CorpusError(
                f"{where}: entity {shorten(mention.entity)} has this mention twice",
                hint="remove one of the two",
            )
        if outer and outer[-1].end < mention.end:
            raise CorpusError(
                f"{where}: two mentions of entity {shorten(mention.entity)} cross",
                hint="mentions of one entity may be nested, but not overlap",
            )
        outer.append(mention)
    return tuple(mention for mention, _ in ordered)
