"""Mentions: finding the head word and the kind of each, and checking that they are consistent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headscope.corpus.example import ROOT, Mention, Word
from headscope.errors import CorpusError, shorten

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


def in_order(found: Iterable[tuple[Mention, str]]) -> tuple[Mention, ...]:
    """Sort mentions by their first word, longer ones first, and check them.

    Mentions of different entities may cross, as in OntoGUM. Two mentions of one entity may not
    cross, nor be the same words.

    Parameters
    ----------
    found : iterable of (Mention, str)
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
    ordered = sorted(found, key=lambda pair: (pair[0].start, -pair[0].end))
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
