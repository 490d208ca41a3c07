"""Attention along grammar and frames (Kovaleva et al. 2019, §4.2, §4.4, §4.5): frame links, words
with a feature, verbs and their subjects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import ROOT, Word
from headscope.encode import SEPARATOR, START, Batch, Encoded
from headscope.measures.combinators import NAN, ColumnMean, Places, Strongest, every_pair, joined
from headscope.measures.kernels import to_device

if TYPE_CHECKING:
    from torch import Tensor


# Universal tags, then the Penn tags that some treebanks have in their place.
NOUN = frozenset({"NOUN", "PROPN", "NN", "NNS", "NNP", "NNPS"})
VERB = frozenset({"VERB", "AUX", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"})
PRONOUN = frozenset({"PRON", "PRP", "PRP$", "WP", "WP$", "EX"})
PUNCTUATION = frozenset({"PUNCT", ".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"})
# Universal, Stanford and CLEAR names; subtypes (nsubj:pass) go with their kind.
SUBJECT = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass"})
OBJECT = frozenset({"obj", "dobj"})
CLITIC = "n't"
_NEGATIVE = (
    "neither nor not never none don't won't didn't hadn't haven't can't isn't wasn't shouldn't "
    "couldn't nothing nowhere"
)
NEGATIONS = frozenset(_NEGATIVE.split())
"""The paper's list (footnote 6)."""
FEATURES = {
    "noun": "a noun",
    "verb": "a verb",
    "pronoun": "a pronoun",
    "subject": "a subject",
    "object": "an object of the main predicate",
    "negation": "a negation",
    "punctuation": "punctuation",
    "cls": "{cls}",
    "sep": "{sep}",
}
LINKS = {
    "verb to subject": "a verb to its subject",
    "subject to verb": "a subject to its verb",
    "noun to pronoun": "a noun to a pronoun of its sentence",
    "pronoun to noun": "a pronoun to a noun of its sentence",
}


class Frame(Strongest):
    """The largest attention among the token pairs of an example's frame links, in both directions
    and in each alone (Kovaleva et al. 2019, section 4.2 and Figure 3).

    A link whose target or element was cut off is no link.
    """

    name = "frame"
    title = "Attention along frame links"
    source = "Kovaleva et al. 2019, §4.2, Figure 3"
    says = "largest attention {direction}"
    labels = {
        "direction": {
            "both": "between a frame's target and its elements",
            "target to element": "from a frame's target to its elements",
            "element to target": "from a frame's elements to its target",
        }
    }
    needs = frozenset({"frames"})

    def pairs(self, item: Encoded) -> Sequence[Places]:
        """All pairs of a piece of the target and a piece of the element, over all links of the
        example.
        """
        spans = ((link.target, link.filler) for link in item.example.links)
        there = joined([every_pair(*(_pieces(item, span) for span in both)) for both in spans])
        return [np.concatenate([there, there[:, ::-1]]), there, there[:, ::-1]]


def _pieces(item: Encoded, span: tuple[int, int]) -> Places:
    """The tokens of words ``span[0]`` to ``span[1]``."""
    return np.flatnonzero((item.word >= span[0]) & (item.word <= span[1]))


class Feature(ColumnMean):
    """Attention to a token with a linguistic feature, from all tokens, divided by their number.

    Of several tokens with the feature, the largest counts (Kovaleva et al. 2019, section 4.4 and
    Figure 6).

    A token is a piece: a word of several pieces counts by the piece that gets most. In a causal
    model a token is seen only by those after it, and the definition stays the same: early tokens
    can get more.
    """

    name = "feature"
    title = "Attention to linguistic features"
    source = "Kovaleva et al. 2019, §4.4, Figure 6"
    says = "largest attention to {feature}"
    labels = {"feature": FEATURES}
    read = {"feature": ()}
    needs = frozenset({"tree", "tags"})

    def row_weights(self, item: Encoded) -> NDArray[Any]:
        """All rows alike."""
        return np.full(len(item), 1 / len(item))

    def prepare(self, batch: Batch, device: Any) -> SimpleNamespace:
        """Also which tokens are without each feature."""
        prepared = super().prepare(batch, device)
        without = np.ones((len(batch), 1, self.width, batch.width), np.bool_)
        for example, item in enumerate(batch.items):
            for label, places in enumerate(feature_tokens(item)):
                without[example, 0, label, places] = False
        prepared.without = to_device(without, device)
        return prepared

    def of_columns(self, columns: Tensor, prepared: SimpleNamespace) -> Tensor:
        """The largest value among the tokens of each feature; NaN where there is none."""
        largest = columns[:, :, None].masked_fill(prepared.without, -1.0).amax(-1)
        return largest.masked_fill(prepared.without.all(-1), NAN)


class Link(Strongest):
    """The largest attention along each kind of link within an example (Kovaleva et al. 2019,
    section 4.5). The paper's Figure 7 shows the last layer.

    From [CLS] means from the token that the sentence vector is taken at: in a causal model the last
    one.
    """

    name = "link"
    title = "Attention from token to token"
    source = "Kovaleva et al. 2019, §4.5, Figure 7"
    says = "largest attention from {link}"
    labels = {
        "link": {
            **LINKS,
            **{f"cls to {name}": f"{{cls}} to {words}" for name, words in FEATURES.items()},
            "cls to cls": "{cls} to itself",
        }
    }
    read = {"link": ()}
    needs = frozenset({"tree", "tags"})

    def words(self) -> Mapping[str, Mapping[str, str]]:
        """In a causal model another token stands for [CLS]."""
        last = {f"cls to {name}": f"the last token to {words}" for name, words in FEATURES.items()}
        return {"link": {**self.labels["link"], **(last if self.context.causal else {})}}

    def pairs(self, item: Encoded) -> Sequence[Places]:
        """Pairs by position: the pieces of one word with the pieces of the other."""
        words, pairs = item.example.words, list[Places]()
        pieces = [np.array(item.pieces.get(at, ()), np.int64) for at in range(len(words))]
        for linked in (verbs_and_subjects(words), nouns_and_pronouns(words)):
            there = joined([every_pair(pieces[first], pieces[second]) for first, second in linked])
            pairs += [there, there[:, ::-1]]
        start = (
            np.array([len(item) - 1]) if self.context.causal else np.flatnonzero(item.kind == START)
        )
        return [*pairs, *(every_pair(start, keys) for keys in feature_tokens(item))]


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
    pairs = []
    for place, word in enumerate(words):
        if relation(word) in SUBJECT and word.head not in (None, ROOT):
            verbs = [word.head] if tag(words[word.head]) in VERB else copulas.get(word.head, [])
            pairs += [(verb, place) for verb in verbs]
    return pairs


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
    places = {place for place, text in enumerate(spelled) if text in NEGATIONS}
    for place in range(1, len(words)):
        together = (
            words[place].sentence == words[place - 1].sentence
            and words[place].segment == words[place - 1].segment
        )
        if spelled[place] == CLITIC and together and spelled[place - 1] + CLITIC in NEGATIONS:
            places |= {place - 1, place}
    return places


def main_predicates(words: Sequence[Word]) -> set[int]:
    """The roots of the sentences, and what is coordinated with them.

    >>> came, saw = Word("came", head=-1, relation="root"), Word("saw", head=0, relation="conj")
    >>> sorted(main_predicates([came, saw, Word("biting", head=1, relation="acl")]))
    [0, 1]
    """
    predicates = {place for place, word in enumerate(words) if word.head == ROOT}
    new = predicates
    while new:
        new = {
            place
            for place, word in enumerate(words)
            if word.head in new and relation(word) == "conj" and place not in predicates
        }
        predicates = predicates | new
    return predicates


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
    places = {
        name: {place for place, word in enumerate(words) if tag(word) in tags}
        for name, tags in tagged.items()
    }
    places["subject"] = {place for place, word in enumerate(words) if relation(word) in SUBJECT}
    places["object"] = main_objects(words)
    places["negation"] = negations(words)
    return {name: places[name] for name in FEATURES if name in places}


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
