"""Token to token (Kovaleva et al. 2019, §4.5, Fig. 7): verbs and their subjects, nouns and
pronouns, and from [CLS] to each feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from headscope.corpus import ROOT, Word
from headscope.encode import START, Encoded
from headscope.measures.feature import (
    FEATURES,
    NOUN,
    PRONOUN,
    SUBJECT,
    VERB,
    feature_tokens,
    relation,
    tag,
)
from headscope.measures.strongest import Places, Strongest, every_pair

FROM_CLS = tuple(f"cls to {feature}" for feature in FEATURES)
LINKS = ("verb to subject", "subject to verb", "noun to pronoun", "pronoun to noun", *FROM_CLS)


def verbs_and_subjects(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Pairs of a verb and its subject, by the tree. Where the predicate is no verb (UD: *he is
    tall*), its copula is the verb.

    >>> he, tall = Word("he", head=2, relation="nsubj"), Word("tall", head=-1, upos="ADJ")
    >>> is_ = Word("is", head=2, relation="cop", upos="AUX")
    >>> verbs_and_subjects([he, is_, tall])
    [(1, 0)]
    """
    copulas: dict[int, list[int]] = {}
    for place, word in enumerate(words):
        if relation(word) == "cop" and word.head is not None:
            copulas.setdefault(word.head, []).append(place)
    found = []
    for place, word in enumerate(words):
        if relation(word) in SUBJECT and word.head not in (None, ROOT):
            verbs = [word.head] if tag(words[word.head]) in VERB else copulas.get(word.head, [])
            found += [(verb, place) for verb in verbs]
    return found


def nouns_and_pronouns(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Pairs of a noun and a pronoun of the same sentence."""
    nouns, pronouns = (
        [place for place, word in enumerate(words) if tag(word) in tags] for tags in (NOUN, PRONOUN)
    )
    return [
        (noun, pronoun)
        for noun in nouns
        for pronoun in pronouns
        if words[noun].sentence == words[pronoun].sentence
    ]


class Link(Strongest):
    """The largest attention along each kind of link within an example (Kovaleva et al. 2019,
    section 4.5). The paper's Figure 7 shows the last layer.

    From [CLS] means from the token that the sentence vector is taken at: in a causal model the last
    one.
    """

    name = "link"
    title = "Attention from token to token"
    source = "Kovaleva et al. 2019, §4.5, Figure 7"
    needs: ClassVar[frozenset[str]] = frozenset({"tree", "tags"})
    dims = {"link": LINKS}

    def attributes(self) -> dict[str, str]:
        """In a causal model, also what stands for [CLS]."""
        start = {"start": "the last token"} if self.context.causal else {}
        return super().attributes() | start

    def pairs(self, item: Encoded) -> Sequence[Places]:
        """Pairs by position: the pieces of one word with the pieces of the other."""
        words = item.example.words
        order = np.argsort(item.word, kind="stable")
        pieces = np.split(order, np.searchsorted(item.word[order], np.arange(len(words) + 1)))[1:-1]
        found: list[Places] = []
        for linked in (verbs_and_subjects(words), nouns_and_pronouns(words)):
            there = np.concatenate(
                [
                    np.zeros((0, 2), np.int64),
                    *(every_pair(pieces[one], pieces[other]) for one, other in linked),
                ]
            )
            found += [there, there[:, ::-1]]
        start = (
            np.array([len(item) - 1]) if self.context.causal else np.flatnonzero(item.kind == START)
        )
        return [*found, *(every_pair(start, keys) for keys in feature_tokens(item))]
