"""The sentences that probing tasks are made of: one tree each, told apart from the passages and pairs they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from headscope.corpus.example import ROOT, Example, Word

SHORTEST, LONGEST = 5, 28
"""Conneau et al. 2018 take sentences of 5 to 28 words."""
PENN = frozenset(
    [
        "CC",
        "CD",
        "DT",
        "EX",
        "FW",
        "IN",
        "JJ",
        "JJR",
        "JJS",
        "LS",
        "MD",
        "NN",
        "NNS",
        "NNP",
        "NNPS",
        "PDT",
        "POS",
        "PRP",
        "PRP$",
        "RB",
        "RBR",
        "RBS",
        "RP",
        "TO",
        "UH",
        "VB",
        "VBD",
        "VBG",
        "VBN",
        "VBP",
        "VBZ",
        "WDT",
        "WP",
        "WP$",
        "WRB",
    ]
)
UNIVERSAL = frozenset(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
    ]
)
CONTENT = frozenset({"NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM"})
# Universal, Stanford and CLEAR names; subtypes (nsubj:pass) go with their kind.
SUBJECT = frozenset({"nsubj", "nsubjpass"})
CLAUSE_SUBJECT = SUBJECT | {"csubj", "csubjpass", "expl"}
OBJECT = frozenset({"obj", "dobj"})
AUXILIARY = frozenset({"aux", "auxpass", "cop"})


@dataclass(frozen=True)
class Sentence:
    """Words whose heads are places in the sentence itself, or ROOT; None where there is no tree."""

    id: str
    source: str
    words: tuple[Word, ...]
    group: str = ""

    @cached_property
    def text(self) -> str:
        """The words joined by single spaces."""
        return spell(word.text for word in self.words)

    @cached_property
    def key(self) -> str:
        """The same for two sentences that differ in capitals only."""
        return self.text.casefold()

    @cached_property
    def root(self) -> int | None:
        """The place of the root; None without a tree, or with several roots."""
        roots = [place for place, word in enumerate(self.words) if word.head == ROOT]
        return (
            roots[0]
            if len(roots) == 1 and all(word.head is not None for word in self.words)
            else None
        )

    def under(self, place: int, relations: Iterable[str] = ()) -> list[int]:
        """The words that hang on a word, in order; with ``relations`` those in one of these relations."""
        return [
            index
            for index, word in enumerate(self.words)
            if word.head == place and (not relations or relation(word) in relations)
        ]

    def subtree(self, place: int) -> set[int]:
        """A word and all that hangs on it, near and far."""
        found, waiting = {place}, [place]
        while waiting:
            below = self.under(waiting.pop())
            found.update(below)
            waiting += below
        return found


def spell(words: Iterable[str]) -> str:
    """Words as a text: joined by single spaces, without any other white space."""
    return " ".join(" ".join(words).split())


def relation(word: Word) -> str:
    """The kind of a dependency label, its subtype left out."""
    return word.relation.split(":")[0]


def penn(word: Word) -> str:
    """The Penn tag of a word, from whichever column has it; empty if neither has.

    >>> penn(Word("dogs", upos="NOUN", xpos="NNS")), penn(Word("dogs", upos="NNS")), penn(Word("dogs", upos="NOUN"))
    ('NNS', 'NNS', '')
    """
    return next((tag for tag in (word.xpos, word.upos) if tag in PENN), "")


def is_content(word: Word) -> bool:
    """Whether a word is a noun, verb, adjective, adverb or number by its tag; auxiliaries are not, and a word without a tag may be."""
    return word.upos in CONTENT or (
        word.upos not in UNIVERSAL and penn(word)[:2] in {"", "NN", "VB", "JJ", "RB", "CD"}
    )


def is_punctuation(word: Word) -> bool:
    """Whether a word is a sign: by its tag or relation, or because it has neither letter nor digit."""
    return (
        word.upos == "PUNCT"
        or relation(word) == "punct"
        or not any(sign.isalnum() for sign in word.text)
    )


def sentences_of(examples: Iterable[Example]) -> Iterator[Sentence]:
    """The sentences of examples that have words, one after the other."""
    for example in examples:
        places = groupby(
            range(len(example.words)),
            key=lambda place: (example.words[place].segment, example.words[place].sentence),
        )
        parts = [list(group) for _, group in places]
        for number, part in enumerate(parts, 1):
            first = part[0]
            words = tuple(_local(example.words[place], first, len(part)) for place in part)
            name = f"{example.id}-{number}" if len(parts) > 1 else example.id
            source = example.source or example.id
            where = f"{source}, sentence {number}" if len(parts) > 1 else source
            yield Sentence(name, where, words, example.group)


def _local(word: Word, first: int, length: int) -> Word:
    if word.head is None or word.head == ROOT:
        return word
    head = word.head - first
    return replace(word, head=head if 0 <= head < length else None)


def usable(sentences: Iterable[Sentence]) -> tuple[list[Sentence], dict[str, int]]:
    """The sentences of 5 to 28 words, each once (capitals aside), and how many were passed over for what."""
    kept: dict[str, Sentence] = {}
    passed = {f"not {SHORTEST} to {LONGEST} words": 0, "said before": 0}
    for sentence in sentences:
        if not SHORTEST <= len(sentence.words) <= LONGEST:
            passed[f"not {SHORTEST} to {LONGEST} words"] += 1
        elif kept.setdefault(sentence.key, sentence) is not sentence:
            passed["said before"] += 1
    return list(kept.values()), {reason: count for reason, count in passed.items() if count}
