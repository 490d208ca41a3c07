"""Linguistic features (Kovaleva et al. 2019, §4.4, Fig. 6): how much attention nouns, verbs,
subjects, negations and special tokens get.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import ROOT, Word
from headscope.encode import SEPARATOR, START, Batch, Encoded
from headscope.measures.base import Measure
from headscope.measures.strongest import Places, Sets, largest, pack
from headscope.models import LayerView

# Universal tags, then the Penn tags that some treebanks have in their place.
NOUN = frozenset({"NOUN", "PROPN", "NN", "NNS", "NNP", "NNPS"})
VERB = frozenset({"VERB", "AUX", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"})
PRONOUN = frozenset({"PRON", "PRP", "PRP$", "WP", "WP$", "EX"})
PUNCTUATION = frozenset({"PUNCT", ".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"})
# Universal, Stanford and CLEAR names; subtypes (nsubj:pass) go with their kind.
SUBJECT = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass"})
OBJECT = frozenset({"obj", "dobj"})
CLITIC = "n't"
NEGATIONS = frozenset(
    [
        "neither",
        "nor",
        "not",
        "never",
        "none",
        "don't",
        "won't",
        "didn't",
        "hadn't",
        "haven't",
        "can't",
        "isn't",
        "wasn't",
        "shouldn't",
        "couldn't",
        "nothing",
        "nowhere",
    ]
)
"""The paper's list (footnote 6)."""
FEATURES = (
    "noun",
    "verb",
    "pronoun",
    "subject",
    "object",
    "negation",
    "punctuation",
    "cls",
    "sep",
)


def tag(word: Word) -> str:
    """The universal tag, or what stands in its place."""
    return word.upos or word.xpos


def relation(word: Word) -> str:
    """The kind of a dependency label, its subtype left out."""
    return word.relation.split(":")[0]


def negations(words: Sequence[Word]) -> set[int]:
    """The words on the paper's list. Where the treebank splits ``don't``, its two words count if
    together they are on the list.

    >>> sorted(negations([Word("I"), Word("do"), Word("n't"), Word("know"), Word("nothing")]))
    [1, 2, 4]
    """
    spelled = [word.text.lower().replace("’", "'") for word in words]
    found = {place for place, text in enumerate(spelled) if text in NEGATIONS}
    for place in range(1, len(words)):
        together = (
            words[place].sentence == words[place - 1].sentence
            and words[place].segment == words[place - 1].segment
        )
        if spelled[place] == CLITIC and together and spelled[place - 1] + CLITIC in NEGATIONS:
            found |= {place - 1, place}
    return found


def main_predicates(words: Sequence[Word]) -> set[int]:
    """The roots of the sentences, and what is coordinated with them.

    >>> came, saw = Word("came", head=-1, relation="root"), Word("saw", head=0, relation="conj")
    >>> sorted(main_predicates([came, saw, Word("biting", head=1, relation="acl")]))
    [0, 1]
    """
    found = {place for place, word in enumerate(words) if word.head == ROOT}
    new = found
    while new:
        new = {
            place
            for place, word in enumerate(words)
            if word.head in new and relation(word) == "conj" and place not in found
        }
        found = found | new
    return found


def main_objects(words: Sequence[Word]) -> set[int]:
    """The direct objects of main predicates.

    >>> saw, dog = Word("saw", head=-1, relation="root"), Word("dog", head=0, relation="obj")
    >>> biting, me = Word("biting", head=1, relation="acl"), Word("me", head=2, relation="obj")
    >>> main_objects([saw, dog, biting, me])
    {1}
    """
    predicates = main_predicates(words)
    return {
        place
        for place, word in enumerate(words)
        if relation(word) in OBJECT and word.head in predicates
    }


def feature_words(words: Sequence[Word]) -> dict[str, set[int]]:
    """Which words have each feature, by their place in the example."""
    tagged = {"noun": NOUN, "verb": VERB, "pronoun": PRONOUN, "punctuation": PUNCTUATION}
    found = {
        name: {place for place, word in enumerate(words) if tag(word) in tags}
        for name, tags in tagged.items()
    }
    found["subject"] = {place for place, word in enumerate(words) if relation(word) in SUBJECT}
    found["object"] = main_objects(words)
    found["negation"] = negations(words)
    return {name: found[name] for name in FEATURES if name in found}


def tokens_of(item: Encoded, words: Collection[int]) -> Places:
    """The pieces of some words."""
    marked = np.zeros(
        len(item.example.words) + 1, np.bool_
    )  # the last stands for tokens of no word
    marked[list(words)] = True
    return np.flatnonzero(marked[item.word])


def feature_tokens(item: Encoded) -> list[Places]:
    """The tokens of each feature: the pieces of its words, or the special tokens."""
    words = [tokens_of(item, places) for places in feature_words(item.example.words).values()]
    return [*words, np.flatnonzero(item.kind == START), np.flatnonzero(item.kind == SEPARATOR)]


@dataclass
class FeatureRows:
    """Weights that average the rows of a batch, (batch, 1, 1, query), the tokens of each feature,
    and the mean attention that every token of a layer gets, (batch, head, key).
    """

    weights: Tensor
    tokens: Sets
    got: Tensor | None = None


class Feature(Measure):
    """Attention to a token with a linguistic feature, from all tokens, divided by their number.

    Of several tokens with the feature, the largest counts (Kovaleva et al. 2019, section 4.4 and
    Figure 6).

    A token is a piece: a word of several pieces counts by the piece that gets most. In a causal
    model a token is seen only by those after it, and the definition stays the same: early tokens
    can get more.
    """

    name = "feature"
    title = "Attention to linguistic features"
    unit = "share of attention"
    source = "Kovaleva et al. 2019, §4.4, Figure 6"
    needs: ClassVar[frozenset[str]] = frozenset({"tree", "tags"})
    dims = {"feature": FEATURES}
    in_blocks = True

    def prepare(self, batch: Batch, device: Any) -> FeatureRows:
        """Weights that average the real rows, and each feature's tokens."""
        rows = torch.from_numpy((batch.mask / batch.lengths[:, None]).astype(np.float32)).to(device)
        tokens = pack([feature_tokens(item) for item in batch.items], device)
        return FeatureRows(rows[:, None, None], tokens)

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: FeatureRows) -> None:
        """Add up the attention that every token gets."""
        weights = prepared.weights[..., first_row : first_row + block.shape[2]]
        got = (weights @ block)[:, :, 0]
        prepared.got = got if prepared.got is None else prepared.got + got

    def end(self, view: LayerView, prepared: FeatureRows) -> Tensor:
        """(batch, head, feature)."""
        got, prepared.got = prepared.got, None
        assert got is not None
        return largest(got, prepared.tokens)
