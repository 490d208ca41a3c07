"""The three probing tasks that change half of their sentences: BigramShift, OddManOut, CoordInv.

A sentence is used once, either changed or as it is. A change that would spell another sentence of
the treebank is not made.

References
----------
Conneau et al. (2018), What you can cram into a single $&!#* vector, §2.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log2
from random import Random

from headscope.corpus.example import Word
from headscope.tasks.make.drafts import Draft, Drafts
from headscope.tasks.make.morphology import PLURALS, has_penn
from headscope.tasks.make.sentences import (
    AUXILIARY,
    CLAUSE_SUBJECT,
    UNIVERSAL,
    Sentence,
    is_punctuation,
    penn,
    relation,
    spell,
)

INTACT, INVERTED, CHANGED = "O", "I", "C"
"""SentEval's labels."""
SIMILAR = 1.0
"""How far apart the frequencies of bigrams may be, in doublings."""
PAIRED = frozenset("\"'`“”‘’«»()[]{}") | {"``", "''"}
OPEN = frozenset({"NOUN", "VERB", "NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
"""Tags of nouns and verbs."""
_NAME = re.compile(r"I\b|.+[A-Z]")
"""First words that keep their capitals: I, I'm, NASA."""
Change = Callable[[Sentence], list[str]]
"""Returns the words of the changed sentence; none if it cannot be changed."""


def _half(
    found: Drafts,
    sentences: Sequence[Sentence],
    rng: Random,
    label: str,
    reason: str,
    change: Change,
) -> Drafts:
    """Change every second sentence that can be changed, in random order."""
    said = {sentence.key for sentence in sentences}
    fit: list[tuple[Sentence, str]] = []
    for sentence in rng.sample(list(sentences), len(sentences)):
        text = spell(change(sentence))
        if not text:
            found.skipped[reason] += 1
        elif text.casefold() in said:
            found.skipped["that would spell another sentence"] += 1
        else:
            said.add(text.casefold())
            fit.append((sentence, text))
    found.items = [
        Draft(sentence, label, text) if index % 2 else Draft(sentence, INTACT, sentence.text)
        for index, (sentence, text) in enumerate(fit)
    ]
    return found


def bigram_shift(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """BigramShift: swap two adjacent words."""

    def change(sentence: Sentence) -> list[str]:
        words = [word.text for word in sentence.words]
        signs = [is_punctuation(word) for word in sentence.words]
        first = signs.index(False) if False in signs else len(words)
        places = [
            at
            for at in range(first + 1, len(words) - 1)
            if not signs[at]
            and not signs[at + 1]
            and words[at].casefold() != words[at + 1].casefold()
        ]
        if not places:
            return []
        at = rng.choice(places)
        words[at], words[at + 1] = words[at + 1], words[at]
        return words

    how = (
        "I: two adjacent words are swapped (never punctuation, nor the first word, whose capital "
        "would give it away); O: unchanged"
    )
    reason = "without two words that could be swapped"
    return _half(Drafts(how), sentences, rng, INVERTED, reason, change)


def open_class(word: Word, *, tags: bool = True) -> str:
    """The tag of a noun or verb that may be replaced; empty for names, auxiliaries and other words.

    It is the Penn tag if the treebank has them, else the universal one with the features, so that
    a plural noun in the dative is replaced by another one.

    >>> open_class(Word("dogs", upos="NOUN", xpos="NNS")), open_class(Word("of", upos="ADP"))
    ('NNS', '')
    >>> hund = Word("Hund", upos="NOUN", xpos="NN", lemma="Hund", feats="Number=Sing")
    >>> open_class(hund, tags=False)
    'NOUN|Number=Sing'
    """
    if (
        not word.text.isalpha()
        or (word.text != word.text.lower() and not (not tags and word.lemma[:1].isupper()))
        or relation(word) in AUXILIARY
        or word.upos in UNIVERSAL - {"NOUN", "VERB"}
    ):
        return ""
    if not tags and word.upos in OPEN:
        return f"{word.upos}|{word.feats}"
    tag = penn(word) or word.upos
    return tag if tag in OPEN else ""


def odd_man_out(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """OddManOut: replace a noun or verb by another with the same tag.

    The bigrams of the new word with its neighbours are about as frequent as those of the old one.
    """
    by_tags = has_penn(sentences, PLURALS)
    bigrams: Counter[tuple[str, str]] = Counter()
    tags: dict[str, set[str]] = defaultdict(set)
    lemmas: dict[str, set[str]] = defaultdict(set)
    written: dict[str, str] = {}
    after: dict[tuple[str, str], set[str]] = defaultdict(set)
    before: dict[str, set[str]] = defaultdict(set)
    for sentence in sentences:
        lower = [word.text.lower() for word in sentence.words]
        bigrams.update(pairwise(lower))
        for word in sentence.words:
            if tag := open_class(word, tags=by_tags):
                lower_case = word.text.lower()
                written[lower_case] = word.text
                tags[lower_case].add(tag)
                lemmas[lower_case].add(word.lemma.lower() or lower_case)
    for left, right in bigrams:
        before[right].add(left)
        for tag in tags.get(right, ()):
            after[left, tag].add(right)

    def tag_of(word: Word) -> str:
        return open_class(word, tags=by_tags)

    def near(one: tuple[str, str], other: tuple[str, str]) -> bool:
        return abs(log2(bigrams[one] + 1) - log2(bigrams[other] + 1)) <= SIMILAR

    def others(lower: list[str], at: int, tag: str) -> list[str]:
        left, old, right = lower[at - 1 : at + 2]
        seen = (new for new in after[left, tag] & before[right] if not lemmas[new] & lemmas[old])
        return sorted(
            new
            for new in seen
            if near((left, old), (left, new)) and near((old, right), (new, right))
        )

    def change(sentence: Sentence) -> list[str]:
        words = [word.text for word in sentence.words]
        lower = [word.lower() for word in words]
        places = [at for at in range(1, len(words) - 1) if tag_of(sentence.words[at])]
        for at in rng.sample(places, len(places)):
            if found := others(lower, at, tag_of(sentence.words[at])):
                return [*words[:at], written[rng.choice(found)], *words[at + 1 :]]
        return []

    how = (
        "C: a noun or verb is replaced by one with the same tag, whose bigrams with both "
        "neighbours occur in the treebank, as frequent within a factor of two; O: unchanged"
    )
    reason = "without a noun or verb that has a fitting replacement"
    return _half(Drafts(how), sentences, rng, CHANGED, reason, change)


def clauses(sentence: Sentence) -> tuple[int, int, int] | None:
    """Find two coordinated main clauses.

    Returns
    -------
    tuple of int or None
        The place of the conjunction, the end of the first clause before it, and the end of the
        second clause; None if the sentence is not two such clauses.
    """
    root = sentence.root
    if root is None or any(word.text in PAIRED for word in sentence.words):
        return None
    conjuncts = sentence.under(root, {"conj"})
    if len(conjuncts) != 1 or any(
        not sentence.under(place, CLAUSE_SUBJECT) for place in (root, conjuncts[0])
    ):
        return None
    second = sentence.subtree(conjuncts[0])
    joints = [
        place
        for place, word in enumerate(sentence.words)
        if relation(word) == "cc" and word.head in {root, conjuncts[0]}
    ]
    if len(joints) != 1 or not root < joints[0] < conjuncts[0]:
        return None
    joint = joints[0]
    signs = [is_punctuation(word) for word in sentence.words]
    begin, end = joint, len(sentence.words)
    while begin and signs[begin - 1]:
        begin -= 1
    while signs[end - 1]:
        end -= 1
    inside = {place for place in range(joint + 1, end) if not signs[place]}
    words = {place for place in second if not signs[place]} - {joint}
    return (joint, begin, end) if begin and inside == words else None


def invert(sentence: Sentence) -> list[str]:
    """Swap two coordinated clauses; capitals stay at the front.

    Punctuation before the conjunction, the conjunction itself and the end of the sentence stay
    where they are.
    """
    found = clauses(sentence)
    if found is None:
        return []
    joint, begin, end = found
    words = list(sentence.words)
    first = [word.text for word in words[:begin]]
    second = [word.text for word in words[joint + 1 : end]]
    if (
        not _NAME.match(first[0])
        and not words[0].lemma[:1].isupper()  # German nouns keep their capitals
        and words[0].upos != "PROPN"
        and penn(words[0]) not in {"NNP", "NNPS"}
    ):
        first[0] = first[0].lower()
    if words[0].text[:1].isupper():
        second[0] = second[0][:1].upper() + second[0][1:]
    return [
        *second,
        *(word.text for word in words[begin : joint + 1]),
        *first,
        *(word.text for word in words[end:]),
    ]


def coordination_inversion(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """CoordInv: swap the two coordinated main clauses."""
    how = "I: the two coordinated main clauses (each with a subject) are swapped; O: unchanged"
    reason = "that are not just two coordinated clauses"
    return _half(Drafts(how), sentences, rng, INVERTED, reason, invert)
