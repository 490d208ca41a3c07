"""What a mention needs beside its words: a head word, a kind, and no quarrel with the other mentions of its entity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headscope.corpus.example import ROOT, Mention, Word
from headscope.errors import CorpusError


def head_word(words: Sequence[Word], start: int, end: int) -> int:
    """The word of a span whose head lies outside it (the first such); without a tree, the last word."""
    return head_among(words, range(start, end + 1))


def head_among(words: Sequence[Word], places: Sequence[int]) -> int:
    """The same for words that need not stand side by side.

    >>> head_among([Word("Ann", head=3), Word("and", head=2), Word("Bo", head=0), Word("left", head=ROOT)], [0, 2])
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
    """pronoun, proper or nominal, by the tag of the head word; "" where it has none. Verbs and adverbs count as nominal.

    Where there are only Penn tags, a determiner that heads a mention is a pronoun: "this", "those".
    """
    if not head.upos and not head.xpos:
        return ""
    if (
        head.upos == "PRON"
        or head.xpos in {"PRP", "PRP$", "WP", "WP$"}
        or (head.xpos == "DT" and not head.upos)
    ):
        return "pronoun"
    return "proper" if head.upos == "PROPN" or head.xpos in {"NNP", "NNPS"} else "nominal"


def in_order(found: Iterable[tuple[Mention, str]]) -> tuple[Mention, ...]:
    """Mentions by their first word, longer ones first, each given with where it stands in its file.

    Mentions of different entities may cross (OntoGUM has such); two of one entity may not, nor may they be the same words.
    """
    ordered = sorted(found, key=lambda pair: (pair[0].start, -pair[0].end))
    around: dict[str, list[Mention]] = {}
    for mention, where in ordered:
        outer = around.setdefault(mention.entity, [])
        while outer and outer[-1].end < mention.start:
            outer.pop()
        if outer and (outer[-1].start, outer[-1].end) == (mention.start, mention.end):
            raise CorpusError(
                f"{where}: entity {mention.entity!r} has this mention twice",
                hint="take one of the two away",
            )
        if outer and outer[-1].end < mention.end:
            raise CorpusError(
                f"{where}: two mentions of entity {mention.entity!r} cross",
                hint="mentions of one entity may lie within one another, not overlap",
            )
        outer.append(mention)
    return tuple(mention for mention, _ in ordered)
