"""The labels of Tense, SubjNum and ObjNum, in any language.

Morphological features decide wherever a treebank has them. Tags decide only in a treebank with
Penn tags and without features: in other tag sets, the same names mean other things (NN is any
common noun in German).

References
----------
Conneau et al. (2018), What you can cram into a single $&!#* vector, §2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from headscope.corpus.example import Word
from headscope.tasks.make.drafts import Drafts
from headscope.tasks.make.labels import NO_TREE
from headscope.tasks.make.sentences import (
    AUXILIARY,
    OBJECT,
    SUBJECT,
    UNIVERSAL,
    Sentence,
    feature,
    penn,
)

APART = "no two splits share such a word"
TENSES = {"Past": "PAST", "Imp": "PAST", "Pqp": "PAST", "Pres": "PRES"}
"""Labels by ``Tense=``: the imperfect and the pluperfect are past; other tenses have no label."""
NUMBERS = {"Sing": "NN", "Plur": "NNS"}
"""Labels by ``Number=``, which are SentEval's: the Penn tags of a singular and a plural noun."""
FINITE = {"VBD": "PAST", "VBP": "PRES", "VBZ": "PRES"}
PLURALS = frozenset({"NNS"})
Find = Callable[[Sentence], tuple[str, str] | str]
"""Finds the label of a sentence and the word that it is about, or says why there is none."""


def has_feature(sentences: Sequence[Sentence], name: str, tags: Sequence[str]) -> bool:
    """Whether any word with one of these universal tags has a feature.

    >>> dogs = Sentence("1", "", (Word("Hunde", upos="NOUN", feats="Number=Plur"),))
    >>> has_feature([dogs], "Number", ["NOUN"]), has_feature([dogs], "Tense", ["VERB"])
    (True, False)
    """
    return any(
        feature(word, name)
        for sentence in sentences
        for word in sentence.words
        if word.upos in tags or word.upos not in UNIVERSAL
    )


def has_penn(sentences: Sequence[Sentence], tags: frozenset[str]) -> bool:
    """Whether any word has one of these Penn tags, which no other tag set has.

    >>> dogs = Sentence("1", "", (Word("dogs", xpos="NNS"), Word("bark", xpos="VBP")))
    >>> has_penn([dogs], PLURALS)
    True
    """
    return any(penn(word) in tags for sentence in sentences for word in sentence.words)


def tense(sentence: Sentence) -> tuple[str, str] | str:
    """PAST or PRES, by the features of the clause's finite word; and that word.

    The finite word is the first finite auxiliary or copula of the root, else the root itself.

    >>> from headscope.corpus import ROOT
    >>> dogs = Word("Hunde", head=1, relation="nsubj", upos="NOUN")
    >>> bark = Word("bellen", head=ROOT, upos="VERB", feats="Mood=Ind|Tense=Pres|VerbForm=Fin")
    >>> tense(Sentence("1", "", (dogs, bark)))
    ('PRES', 'bellen')
    """
    if sentence.root is None:
        return NO_TREE
    for word in _verbs(sentence, sentence.root):
        if feature(word, "VerbForm") in ("Fin", "") and word.feats:
            if feature(word, "Mood") not in ("Ind", ""):
                return "whose main verb is not in the indicative"
            label = TENSES.get(feature(word, "Tense"))
            if label:
                return label, word.text.lower()
            if feature(word, "VerbForm") == "Fin":
                break
    return "whose main verb is neither past nor present"


def _verbs(sentence: Sentence, root: int) -> list[Word]:
    """The auxiliaries of the root in order, then the root."""
    return [
        *(sentence.words[place] for place in sentence.under(root, AUXILIARY)),
        sentence.words[root],
    ]


def tagged_tense(sentence: Sentence) -> tuple[str, str] | str:
    """PAST or PRES, by the Penn tag of the main verb or its first auxiliary; and that word.

    >>> from headscope.corpus import ROOT
    >>> dogs = Word("Dogs", head=1, relation="nsubj", xpos="NNS")
    >>> tagged_tense(Sentence("1", "", (dogs, Word("bark", head=ROOT, xpos="VBP"))))
    ('PRES', 'bark')
    """
    if sentence.root is None:
        return NO_TREE
    *auxiliaries, root = _verbs(sentence, sentence.root)
    for word in [root, *auxiliaries]:
        if penn(word) == "MD":
            break
        if penn(word) in FINITE:
            return FINITE[penn(word)], word.text.lower()
    return "whose main verb is tagged neither past nor present"


def past_present(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """Tense of the main verb."""
    if has_feature(sentences, "Tense", ["VERB", "AUX"]):
        how = "Tense= of the main clause's finite verb or auxiliary: Past, Imp and Pqp are PAST"
        return Drafts(f"{how}, Pres is PRES; {APART}").label(sentences, tense)
    how = f"tag of the main verb or its first auxiliary: VBD is PAST, VBP and VBZ are PRES; {APART}"
    if has_penn(sentences, frozenset(FINITE)):
        return Drafts(how).label(sentences, tagged_tense)
    return _lacking(how, sentences, "Tense", "verbs")


def number(relations: frozenset[str], what: str) -> Find:
    """NN or NNS: the number, by its features, of the one dependent of the root in these relations.

    Only common nouns count. A coordination (a dog and a cat) has no number of its own.

    >>> from headscope.corpus import ROOT
    >>> dogs = Word("Hunde", head=1, relation="nsubj", upos="NOUN", feats="Number=Plur")
    >>> number(SUBJECT, "subject")(Sentence("1", "", (dogs, Word("bellen", head=ROOT))))
    ('NNS', 'hunde')
    """

    def label(word: Word) -> str:
        return NUMBERS.get(feature(word, "Number"), "") if _common_noun(word) else ""

    reason = f"whose main clause has no {what} that is a singular or plural noun"
    return _dependent(relations, what, label, reason)


def _common_noun(word: Word) -> bool:
    return word.upos == "NOUN" or (word.upos not in UNIVERSAL and penn(word) in {"NN", "NNS"})


def tagged_number(relations: frozenset[str], what: str) -> Find:
    """NN or NNS: the Penn tag of the one dependent of the root in these relations.

    >>> from headscope.corpus import ROOT
    >>> dogs = Word("Dogs", head=1, relation="nsubj", xpos="NNS")
    >>> sentence = Sentence("1", "", (dogs, Word("bark", head=ROOT, xpos="VBP")))
    >>> tagged_number(SUBJECT, "subject")(sentence)
    ('NNS', 'dogs')
    """

    def label(word: Word) -> str:
        return penn(word) if penn(word) in {"NN", "NNS"} else ""

    reason = f"whose main clause has no {what} tagged NN or NNS"
    return _dependent(relations, what, label, reason)


def _dependent(
    relations: frozenset[str], what: str, label: Callable[[Word], str], reason: str
) -> Find:
    def find(sentence: Sentence) -> tuple[str, str] | str:
        if sentence.root is None:
            return NO_TREE
        places = sentence.under(sentence.root, relations)
        if len(places) != 1 or not label(sentence.words[places[0]]):
            return reason
        if sentence.under(places[0], {"conj"}):
            return f"whose {what} is coordinated"
        return label(sentence.words[places[0]]), sentence.words[places[0]].text.lower()

    return find


def _number_task(sentences: Sequence[Sentence], relations: frozenset[str], what: str) -> Drafts:
    if has_feature(sentences, "Number", ["NOUN"]):
        how = f"Number= of the main clause's {what}: Sing is NN, Plur is NNS; {APART}"
        return Drafts(how).label(sentences, number(relations, what))
    how = f"tag of the main clause's {what}: NN or NNS; {APART}"
    if has_penn(sentences, PLURALS):
        return Drafts(how).label(sentences, tagged_number(relations, what))
    return _lacking(how, sentences, "Number", "nouns")


def _lacking(how: str, sentences: Sequence[Sentence], name: str, what: str) -> Drafts:
    """The drafts of a task that the annotation cannot give; a missing tree is the first reason."""
    if all(sentence.root is None for sentence in sentences):
        return Drafts(how, lacking=f"all sentences are {NO_TREE}")
    return Drafts(how, lacking=f"its {what} have neither the feature {name}= nor Penn tags")


def subj_number(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """SubjNum: number of the main clause's subject."""
    return _number_task(sentences, SUBJECT, "subject")


def obj_number(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """ObjNum: number of the main clause's object."""
    return _number_task(sentences, OBJECT, "direct object")
