"""A seeded generator of annotated English: as many sentences as one likes, of 5 to 28 words.

A small grammar with the words of ``grammar.toml`` writes sentences together with all that Headscope
reads from corpora: constituents, dependency trees (in the labels of the built-in corpus), Penn and
universal tags, number and tense, coreference and frame links. The annotation is right by
construction. It also writes labelled examples for two tasks, see :func:`opinions` and
:func:`paraphrases`.

The sentences are English, but say nothing: use them where a corpus must be large or its annotation
certain, and real text where meaning matters.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from typing import Any

from headscope.corpus.corpus import Corpus, content_digest
from headscope.corpus.example import (
    ROOT,
    Example,
    FrameLink,
    Mention,
    Word,
    join_words,
    mention_kind,
)
from headscope.corpus.treebank import BracketTree

GRAMMAR = "grammar"
"""The name of the corpus, for :func:`headscope.read` and the command line."""
SIZE = 10_000
"""How many sentences the corpus of that name has."""
SHORTEST, LONGEST = 5, 28

# --- words ---


@dataclass(frozen=True)
class Verb:
    """A verb: its forms, the nouns that it takes, its frame and the roles in it."""

    lemma: str
    past: str
    participle: str
    subject: str
    object: str
    frame: str
    roles: tuple[str, str]
    third: str
    gerund: str


@dataclass(frozen=True)
class Lexicon:
    """The words of the grammar."""

    nouns: dict[str, list[str]]
    plurals: dict[str, str]
    names: dict[str, list[str]]
    verbs: dict[str, list[Verb]]
    adjectives: dict[str, list[str]]
    adverbs: dict[str, list[str]]
    times: dict[str, list[str]]
    opinions: dict[str, dict[str, list[str]]]
    groups: dict[str, list[str]]
    ungraded: list[str]


def _add_s(word: str) -> str:
    """A noun's plural or a verb's third person, where regular.

    >>> [_add_s(word) for word in ("dog", "city", "day", "watch", "potato")]
    ['dogs', 'cities', 'days', 'watches', 'potatoes']
    """
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _verb(lemma: str, entry: str, doubled: Sequence[str]) -> Verb:
    past, participle, subject, object_, frame, *roles = entry.split()
    stem = lemma + lemma[-1] if lemma in doubled else lemma
    soft = lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye"))
    regular = stem + ("d" if lemma.endswith("e") else "ed")
    if lemma.endswith("y") and lemma[-2] not in "aeiou":
        regular = lemma[:-1] + "ied"
    past = regular if past == "-" else past
    participle = regular if participle == "-" else participle
    role, other = (["" if name == "-" else name for name in roles] + ["", ""])[:2]
    gerund = (stem[:-1] if soft else stem) + "ing"
    frame = "" if frame == "-" else frame
    third = _add_s(lemma)
    return Verb(lemma, past, participle, subject, object_, frame, (role, other), third, gerund)


@cache
def lexicon() -> Lexicon:
    """The words of ``grammar.toml``."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

    def words(table: dict[str, str]) -> dict[str, list[str]]:
        return {name: text.split() for name, text in table.items()}

    nouns, groups = words(data["nouns"]), words(data["groups"])
    plurals = {noun: _add_s(noun) for kind in nouns.values() for noun in kind}
    doubled = data["forms"]["doubled"].split()
    return Lexicon(
        nouns,
        plurals | data["plurals"],
        words(data["names"]),
        {
            kind: [_verb(lemma, entry, doubled) for lemma, entry in table.items()]
            for kind, table in data["verbs"].items()
        },
        words(data["adjectives"]),
        words(data["adverbs"]),
        data["times"],
        {label: words(table) for label, table in data["opinions"].items()},
        groups,
        data["forms"]["ungraded"].split(),
    )


# --- trees ---


UPOS = {
    **{"NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "CD": "NUM", "JJ": "ADJ", "RB": "ADV"},
    **{"PRP": "PRON", "PRP$": "PRON", "WP": "PRON", "WDT": "PRON", "DT": "DET", "IN": "ADP"},
    **{"CC": "CCONJ", "UH": "INTJ", "POS": "PART", ",": "PUNCT", ".": "PUNCT"},
}
"""The universal tags of Penn tags, unless a word says otherwise; all others are verbs."""


@dataclass(eq=False, slots=True)
class Leaf:
    """A word, with the word that heads it."""

    text: str
    xpos: str
    feats: str = ""
    lemma: str = ""
    upos: str = ""
    relation: str = "root"
    head: Leaf | None = None

    def __post_init__(self) -> None:
        self.lemma = self.lemma or self.text
        self.upos = self.upos or UPOS.get(self.xpos, "VERB")

    @property
    def leaf(self) -> Leaf:
        """Itself: the head word of a constituent of one word."""
        return self


@dataclass(eq=False, slots=True)
class Phrase:
    """A constituent, with its head word."""

    label: str
    parts: list[Part]
    leaf: Leaf

    def leaves(self) -> Iterator[Leaf]:
        """The words, in order."""
        for part in self.parts:
            if isinstance(part, Leaf):
                yield part
            else:
                yield from part.leaves()


Part = Leaf | Phrase
Piece = tuple[str, Part | None]
"""A part of a phrase after its relation to the head word; the head itself has none."""


def phrase(label: str, *parts: Piece) -> Phrase:
    """Join constituents: the one without a relation is the head, and governs the others.

    Parts that are None are left out.
    """
    there = [(relation, part) for relation, part in parts if part is not None]
    head = next(part for relation, part in there if not relation)
    for relation, part in there:
        if relation:
            part.leaf.relation, part.leaf.head = relation, head.leaf
    return Phrase(label, [part for _, part in there], head.leaf)


@cache
def verbs(kind: str, *, subject: str = "", object: str = "") -> list[Verb]:
    """The verbs of a kind whose subject and object may be such nouns."""
    groups = lexicon().groups
    return [
        verb
        for verb in lexicon().verbs[kind]
        if (not subject or subject in groups.get(verb.subject, [verb.subject]))
        and (not object or object in groups.get(verb.object, [verb.object]))
    ]


def _brackets(part: Part) -> BracketTree:
    if isinstance(part, Leaf):
        return BracketTree(part.xpos, word=part.text)
    return BracketTree(part.label, [_brackets(child) for child in part.parts])


@dataclass(eq=False)
class Entity:
    """Somebody or something that a sentence speaks of."""

    name: str
    kind: str
    plural: bool
    pronoun: str
    """The subject form: he, she, it, they."""


PRONOUNS = {
    "he": ("his", "Gender=Masc|Number=Sing"),
    "she": ("her", "Gender=Fem|Number=Sing"),
    "it": ("its", "Gender=Neut|Number=Sing"),
    "they": ("their", "Number=Plur"),
}
"""The possessive form and the features of each pronoun."""
FINITE = "Mood=Ind|Tense={}|VerbForm=Fin"
BE = ("was", "were", "is", "are")
HELPED = {
    "": ("do", ("did", "did", "does", "do"), "VB", "VerbForm=Inf"),
    "progressive": ("be", BE, "VBG", "Aspect=Prog|VerbForm=Part"),
    "perfect": ("have", ("had", "had", "has", "have"), "VBN", "Aspect=Perf|VerbForm=Part"),
    "passive": ("be", BE, "VBN", "Tense=Past|VerbForm=Part|Voice=Pass"),
}
"""Of each form: the helping verb and its forms, and the tag and features of the verb itself."""
NUMBERS = ("two", "three", "four", "five", "six")
MARKS = ("because", "although", "while", "after", "before")
NEAR = {
    "building": ("in", "near", "behind", "outside"),
    "area": ("near", "beside"),
    "event": ("during", "after", "before"),
}


@dataclass
class Writer:
    """Writes one sentence."""

    random: Random
    past: bool = True
    dated: bool = False
    count: int = 0
    mentions: list[tuple[Phrase | Leaf, Entity]] = field(default_factory=list)
    links: list[tuple[str, str, Leaf, Phrase]] = field(default_factory=list)

    # Words

    def chance(self, share: float) -> bool:
        """True in a share of the calls."""
        return self.random.random() < share

    def any(self, words: Sequence[Any]) -> Any:
        """One of some words."""
        return words[int(self.random.random() * len(words))]

    def kind_of(self, name: str) -> str:
        """One of the kinds of nouns that a verb takes."""
        return str(self.any(lexicon().groups.get(name, [name])))

    # Noun phrases

    def entity(self, kind: str, *, plural: bool, pronoun: str = "") -> Entity:
        """Somebody new."""
        self.count += 1
        if not pronoun:
            singular = self.any(("he", "she")) if kind == "person" else "it"
            pronoun = "they" if plural else singular
        return Entity(str(self.count), kind, plural, pronoun)

    def pronoun(self, entity: Entity) -> Phrase:
        """A pronoun as the subject, for somebody known."""
        feats = f"Case=Nom|{PRONOUNS[entity.pronoun][1]}|Person=3|PronType=Prs"
        node = phrase("NP", ("", Leaf(entity.pronoun, "PRP", feats)))
        self.mentions.append((node, entity))
        return node

    def named(self) -> tuple[Phrase, Entity]:
        """A person by name."""
        female = self.chance(0.5)
        said = {node.leaf.text for node, _ in self.mentions}
        names = lexicon().names["female" if female else "male"]
        name = self.any([name for name in names if name not in said])
        node = phrase("NP", ("", Leaf(name, "NNP", "Number=Sing")))
        entity = self.entity("person", plural=False, pronoun="she" if female else "he")
        self.mentions.append((node, entity))
        return node, entity

    def nominal(
        self,
        kind: str,
        room: int = 2,
        *,
        plural: bool | None = None,
        owner: Entity | None = None,
        simple: bool = False,
    ) -> tuple[Phrase, Entity]:
        """A noun with what stands around it, in about ``room`` words."""
        words = lexicon()
        nameable = kind == "person" and not simple and room <= 2 and plural is not True
        if nameable and self.chance(0.2):
            return self.named()
        plural = self.chance(0.48) if plural is None else plural
        noun = self.any(words.nouns[kind])
        feats = "Number=Plur" if plural else "Number=Sing"
        text = words.plurals[noun] if plural else noun
        leaf = Leaf(text, "NNS" if plural else "NN", feats, noun)
        entity = self.entity(kind, plural=plural)
        determiner, relation = self.determiner(plural, owner, room)
        adjective = None
        if room > 2 and self.chance(0.6):
            adjective = self.adjective(kind)
            room -= 1
        node = phrase("NP", (relation, determiner), ("amod", adjective), ("", leaf))
        if room >= 5 and not simple:
            node = self.longer(node, entity, room - 2)
        self.mentions.append((node, entity))
        return node, entity

    def determiner(
        self, plural: bool, owner: Entity | None, room: int
    ) -> tuple[Phrase | Leaf, str]:
        """What stands before a noun, and its relation."""
        if owner is not None and self.chance(0.4):
            text, feats = PRONOUNS[owner.pronoun]
            leaf = Leaf(text, "PRP$", f"{feats}|Person=3|Poss=Yes|PronType=Prs")
            self.mentions.append((leaf, owner))
            return leaf, "poss"
        if room >= 5 and self.chance(0.15):
            node, _ = self.nominal("person", simple=True)
            ending = "'" if node.leaf.text.endswith("s") else "'s"
            mark = Leaf(ending, "POS", "", "'s", "PART", "case", node.leaf)
            node.parts.append(mark)  # the mention is the owner with the mark, as in OntoNotes
            return node, "poss"
        draw = self.random.random()
        if plural and draw < 0.2:
            return Leaf(self.any(NUMBERS), "CD", "NumType=Card"), "nummod"
        if plural and draw < 0.4:
            text = self.any(("many", "several"))
            return Leaf(text, "JJ", "Degree=Pos"), "amod"
        if plural:
            text = "the" if draw < 0.8 else self.any(("these", "those", "some"))
        else:
            text = "the" if draw < 0.55 else "a" if draw < 0.93 else "this"
        return Leaf(text, "DT", "", {"these": "this", "those": "that"}.get(text, text)), "det"

    def adjective(self, kind: str, *, besides: Sequence[Leaf] = ()) -> Leaf:
        """An adjective that fits a kind of noun, and contradicts none of those said already."""
        said = [leaf.text for leaf in besides if leaf.xpos == "JJ"]
        words = set(said) | (set(lexicon().ungraded) if said else set())
        text = self.any([word for word in lexicon().adjectives[kind] if word not in words])
        return Leaf(text, "JJ", "Degree=Pos")

    def longer(self, node: Phrase, entity: Entity, room: int) -> Phrase:
        """A noun phrase with a prepositional phrase or a relative clause."""
        if room < 5 or self.chance(0.5):
            kind = self.any(("building", "area"))
            near = self.any(("near", "beside"))
            if entity.kind == "text":
                near, kind = "about", self.any(("person", "animal", "area"))
            elif entity.kind in ("person", "animal", "food", "thing") and self.chance(0.5):
                near = "from"
            modifier = self.to_noun(near, kind, room - 1, simple=True)
            return phrase("NP", ("", node), ("prep", modifier))
        who = "who" if entity.kind == "person" else "that"
        tag = "WP" if who == "who" else "WDT"
        relative = phrase("WHNP", ("", Leaf(who, tag, "PronType=Rel")))
        if entity.kind in ("person", "animal") and self.chance(0.7):
            verb = self.predicate(entity, relative, room - 1)
            inner = phrase("SBAR", ("nsubj", relative), ("", phrase("S", ("", verb))))
        else:
            fits = verbs("action", subject="person", object=entity.kind)
            if not fits:
                return node
            subject, actor = self.nominal("person", 2)
            verb = phrase("VP", ("", self.finite(self.any(fits), actor)))
            clause = phrase("S", ("nsubj", subject), ("", verb))
            inner = phrase("SBAR", ("dobj", relative), ("", clause))
        return phrase("NP", ("", node), ("relcl", inner))

    def to_noun(
        self, preposition: str, kind: str, room: int = 2, *, simple: bool = False
    ) -> Phrase:
        """A prepositional phrase."""
        node, _ = self.nominal(kind, room, plural=self.chance(0.15), simple=simple)
        return phrase("PP", ("", Leaf(preposition, "IN")), ("pobj", node))

    # Verb phrases

    def finite(self, verb: Verb, entity: Entity) -> Leaf:
        """A verb in the tense of the sentence, agreeing with its subject."""
        form = verb.past if self.past else verb.lemma if entity.plural else verb.third
        return Leaf(form, *self.tense(entity), verb.lemma)

    def tense(self, entity: Entity) -> tuple[str, str]:
        """The Penn tag and the features of a finite verb."""
        if self.past:
            return "VBD", FINITE.format("Past")
        return "VBP" if entity.plural else "VBZ", FINITE.format("Pres")

    def verb_phrase(
        self, verb: Verb, entity: Entity, *rest: Piece, form: str = "", denied: bool = False
    ) -> Phrase:
        """A verb with what follows it; "progressive", "perfect" and "passive" need a helper."""
        if not form and not denied:
            return phrase("VP", ("", self.finite(verb, entity)), *rest)
        lemma, forms, tag, feats = HELPED[form]
        text = {"VBG": verb.gerund, "VBN": verb.participle}.get(tag, verb.lemma)
        helper = Leaf(forms[(not self.past) * 2 + entity.plural], *self.tense(entity), lemma, "AUX")
        inner = phrase("VP", ("", Leaf(text, tag, feats, verb.lemma)), *rest)
        relation = "auxpass" if form == "passive" else "aux"
        return phrase("VP", (relation, helper), _denial(denied), ("", inner))

    def conjugated(self, verb: Verb, entity: Entity, *rest: Piece, moving: bool = True) -> Phrase:
        """A verb phrase: simple, negated, progressive or perfect."""
        draw = self.random.random()
        form = "" if draw < 0.1 or not moving or draw > 0.33 else "perfect"
        form = "progressive" if form and draw < 0.25 else form
        return self.verb_phrase(verb, entity, *rest, form=form, denied=draw < 0.1)

    def link(self, verb: Verb, leaf: Leaf, *fillers: Part | None) -> None:
        """Note a frame, with those of its elements that are phrases."""
        for role, filler in zip(verb.roles, fillers, strict=False):
            if verb.frame and role and isinstance(filler, Phrase):
                self.links.append((verb.frame, role, leaf, filler))

    def predicate(self, entity: Entity, subject: Phrase, room: int) -> Phrase:
        """A verb phrase of about ``room`` words for a subject."""
        kinds = ["alone", "motion", "copula", "action", "action"]
        if entity.kind == "person":
            kinds += ["action", "action", "action", "state", "state", "giving"]
        kind = self.any(kinds)
        if kind == "copula" or entity.kind not in ("person", "animal"):
            return self.copula(entity, subject, room)
        verb = self.any(verbs(kind, subject=entity.kind))
        spare = max(0, room - 3)
        if kind == "alone":
            node = self.conjugated(verb, entity, *self.adjuncts(spare + 2))
            self.link(verb, node.leaf, subject)
            return node
        if kind == "motion":
            goal = self.to_noun("to", self.any(("building", "area")), min(spare, 3) or 2)
            node = self.conjugated(verb, entity, ("prep", goal), *self.adjuncts(spare - 1))
            self.link(verb, node.leaf, subject, goal.parts[1])
            return node
        extra = self.random.randint(0, spare) if spare else 0
        kept = self.kind_of(verb.object)
        owns = entity.kind == "person" and self.chance(0.4)
        object_, _ = self.nominal(kept, 2 + extra, owner=entity if owns else None)
        if kind == "giving":
            receiver, _ = self.nominal("person", 2, simple=True)
            if self.chance(0.5):
                parts = (("dative", receiver), ("dobj", object_))
            else:
                to = phrase("PP", ("", Leaf("to", "IN")), ("pobj", receiver))
                parts = (("dobj", object_), ("dative", to))
            node = self.conjugated(verb, entity, *parts, *self.adjuncts(spare - extra - 3))
        else:
            rest = self.adjuncts(spare - extra, manner=kind == "action")
            moving = kind == "action"
            node = self.conjugated(verb, entity, ("dobj", object_), *rest, moving=moving)
        self.link(verb, node.leaf, subject, object_)
        return node

    def copula(self, entity: Entity, subject: Phrase, room: int) -> Phrase:
        """A form of be with an adjective."""
        alive = entity.kind in ("person", "animal")
        kind = "being" if alive and self.chance(0.6) else entity.kind
        said = self.adjective(kind, besides=list(subject.leaves()))
        graded = room > 3 and said.text not in lexicon().ungraded
        degree = self.any(("very", "quite", "really")) if graded else ""
        adverb = Leaf(degree, "RB") if degree else None
        complement = phrase("ADJP", ("advmod", adverb), ("", said))
        rest = self.adjuncts(room - 4, manner=False) if alive else []
        return self.being(entity, complement, *rest, denied=self.chance(0.1))

    def being(self, entity: Entity, said: Phrase, *rest: Piece, denied: bool = False) -> Phrase:
        """A form of be, with what is said of the subject."""
        form = BE[(not self.past) * 2 + entity.plural]
        be = Leaf(form, *self.tense(entity), "be", "AUX")
        return phrase("VP", ("", be), _denial(denied), ("acomp", said), *rest)

    def adjuncts(self, room: int, *, manner: bool = True) -> list[Piece]:
        """What may follow a verb: how, where and when, in at most ``room`` words."""
        pieces: list[Piece] = []
        if manner and room >= 1 and self.chance(0.25):
            word = self.any(lexicon().adverbs["manner"])
            pieces.append(("advmod", phrase("ADVP", ("", Leaf(word, "RB")))))
            room -= 1
        if room >= 3 and self.chance(0.75):
            kind = self.any(("building", "area", "event"))
            length = self.random.randint(2, min(room - 1, 6))
            pieces.append(("prep", self.to_noun(self.any(NEAR[kind]), kind, length)))
            room -= length + 1
        if room >= 2 and not self.dated and self.chance(0.6):
            pieces.append(self.time())
        return pieces

    def time(self) -> Piece:
        """When something happens: its relation, and the phrase."""
        self.dated = True
        times = lexicon().times
        own = times["past" if self.past else "present"]
        words = self.any(own if self.chance(0.6) else times["both"]).split()
        noun = Leaf(words[-1], "NN", "Number=Sing")
        if words[0] in ("in", "at", "before", "after", "during"):
            the = Leaf("the", "DT") if len(words) > 2 else None
            inner = phrase("NP", ("det", the), ("", noun))
            return "prep", phrase("PP", ("", Leaf(words[0], "IN")), ("pobj", inner))
        first = Leaf(words[0], "DT" if words[0] == "every" else "JJ") if words[1:] else None
        relation = "det" if words[0] == "every" else "amod"
        return "npadvmod", phrase("NP", (relation, first), ("", noun))

    # Clauses

    def subject(self, room: int, *, known: Entity | None = None) -> tuple[Phrase, Entity]:
        """Who or what a clause is about: somebody new, or a pronoun for somebody known."""
        if known is not None:
            return self.pronoun(known), known
        draw = self.random.random()
        if draw < 0.1 and room >= 4:
            return self.couple()
        kind = "person" if draw < 0.72 else "animal" if draw < 0.88 else "thing"
        if kind == "thing":
            kind = self.any(list(lexicon().nouns))
        return self.nominal(kind, room)

    def couple(self) -> tuple[Phrase, Entity]:
        """Two people."""
        first, _ = self.named() if self.chance(0.4) else self.nominal("person", simple=True)
        second, _ = self.nominal("person", simple=True)
        both = self.entity("person", plural=True)
        node = phrase("NP", ("", first), ("cc", Leaf("and", "CC")), ("conj", second))
        self.mentions.append((node, both))
        return node, both

    def clause(
        self, room: int, *front: Piece, known: Entity | None = None
    ) -> tuple[list[Piece], Entity]:
        """The parts of a clause of about ``room`` words, and its subject."""
        if known is None and room >= 5 and self.chance(0.1):
            return self.passive(room, *front)
        share = 1 if known else min(2 + self.random.randint(0, max(0, room - 5)), 9)
        subject, entity = self.subject(share, known=known)
        room = max(2, room - share)
        often: Piece = ("advmod", None)
        alive = entity.kind in ("person", "animal")
        if room > 3 and alive and not self.dated and self.chance(0.18):
            self.dated = True
            word = self.any(lexicon().adverbs["frequency"])
            often = ("neg" if word == "never" else "advmod", phrase("ADVP", ("", Leaf(word, "RB"))))
            verb = self.any(verbs("action", subject=entity.kind))
            object_, _ = self.nominal(self.kind_of(verb.object), room - 2)
            node = phrase("VP", ("", self.finite(verb, entity)), ("dobj", object_))
            self.link(verb, node.leaf, subject, object_)
            if front:
                node, often = phrase("VP", often, ("", node)), ("advmod", None)
        elif room > 6 and entity.kind == "person" and self.chance(0.3):
            node = self.saying(entity, subject, room)
        else:
            node = self.predicate(entity, subject, room)
        return [*front, ("nsubj", subject), often, ("", node)], entity

    def passive(self, room: int, *front: Piece) -> tuple[list[Piece], Entity]:
        """The parts of a passive clause."""
        verb = self.any(verbs("action", subject="person"))
        share = 2 + self.random.randint(0, max(0, room - 7))
        subject, entity = self.nominal(self.kind_of(verb.object), share)
        actor, _ = self.nominal("person", 2)
        by = phrase("PP", ("", Leaf("by", "IN")), ("pobj", actor))
        rest = self.adjuncts(room - share - 5, manner=False)
        node = self.verb_phrase(verb, entity, ("agent", by), *rest, form="passive")
        self.link(verb, node.leaf, actor, subject)
        return [*front, ("nsubjpass", subject), ("", node)], entity

    def saying(self, entity: Entity, subject: Phrase, room: int) -> Phrase:
        """A verb with a clause of what somebody says or thinks."""
        verb = self.any(verbs("saying"))
        parts, _ = self.clause(room - 2, known=entity if self.chance(0.3) else None)
        mark = Leaf("that", "IN", upos="SCONJ")
        said = phrase("SBAR", ("mark", mark), ("", phrase("S", *parts)))
        node = phrase("VP", ("", self.finite(verb, entity)), ("ccomp", said))
        self.link(verb, node.leaf, subject, said)
        return node

    def subordinate(self, room: int, *, known: Entity | None = None) -> tuple[Phrase, Entity]:
        """A clause that begins with because, while and the like."""
        word = self.any(MARKS)
        parts, entity = self.clause(room - 1, known=known)
        mark = ("mark", Leaf(word, "IN", upos="SCONJ"))
        return phrase("SBAR", mark, ("", phrase("S", *parts))), entity

    # Sentences

    def sentence(self, room: int) -> Phrase:
        """A sentence of about ``room`` words."""
        fitting = [shape for shape in SHAPES if shape[2] <= room]
        shape, *_ = self.random.choices(fitting, [share for _, share, _ in fitting])[0]
        return phrase("S", *shape(self, room - 1), _mark("."))

    def plain(self, room: int) -> list[Piece]:
        """One clause."""
        return self.clause(room)[0]

    def linked(self, room: int) -> list[Piece]:
        """One clause that begins with a conjunction."""
        word = self.any(("But", "And"))
        return self.clause(room - 1, ("cc", Leaf(word, "CC", "", word.lower())))[0]

    def commented(self, room: int) -> list[Piece]:
        """One clause after an adverb such as luckily."""
        word = self.any(lexicon().adverbs["opening"])
        first = phrase("ADVP", ("", Leaf(word, "RB")))
        return self.clause(room - 2, ("advmod", first), _mark(","))[0]

    def called(self, room: int) -> list[Piece]:
        """One clause after an interjection."""
        word = self.any(lexicon().adverbs["interjection"])
        first = phrase("INTJ", ("", Leaf(word, "UH", "", word.lower())))
        return self.clause(room - 2, ("intj", first), _mark(","))[0]

    def timed(self, room: int) -> list[Piece]:
        """One clause after a time."""
        return self.clause(room - 4, self.time(), _mark(","))[0]

    def coordinated(self, room: int) -> list[Piece]:
        """Two main clauses."""
        half = room // 2 - 1
        first, entity = self.clause(half)
        second, _ = self.clause(room - half - 2, known=entity if self.chance(0.3) else None)
        joint = ("cc", Leaf(self.any(("and", "but")), "CC"))
        between = [joint] if self.chance(0.25) else [_mark(","), joint]
        return [("", phrase("S", *first)), *between, ("conj", phrase("S", *second))]

    def conditioned(self, room: int) -> list[Piece]:
        """A main clause after a subordinate one."""
        first, entity = self.subordinate(room // 2)
        known = entity if self.chance(0.4) else None
        return self.clause(room - room // 2, ("advcl", first), _mark(","), known=known)[0]

    def explained(self, room: int) -> list[Piece]:
        """A main clause before a subordinate one."""
        parts, entity = self.clause(room - room // 2)
        last, _ = self.subordinate(room // 2, known=entity if self.chance(0.5) else None)
        *front, (relation, verb) = parts
        assert isinstance(verb, Phrase)
        return [*front, (relation, phrase("VP", *_flat(verb), ("advcl", last)))]

    # Labelled texts

    def opinion(self, label: str) -> list[Phrase]:
        """A sentence that praises something or finds fault with it.

        One in five says so by denying the opposite.
        """
        denied = self.chance(0.2)
        opposite = {"positive": "negative", "negative": "positive"}
        words = lexicon().opinions[opposite[label] if denied else label]
        kind = self.any(("food", "text", "thing", "vehicle", "building", "area", "event"))
        front = (self.time(), _mark(",")) if self.chance(0.25) else ()
        if self.chance(0.5):
            subject, entity = self.nominal("person", self.random.randint(2, 5))
            verb = self.any([state for state in verbs("state") if state.lemma in words["verb"]])
            praised, _ = self.nominal(kind, self.random.randint(2, 6))
            node = self.verb_phrase(verb, entity, ("dobj", praised), denied=denied)
            self.link(verb, node.leaf, subject, praised)
        else:
            subject, entity = self.nominal(kind, self.random.randint(2, 6))
            said = phrase("ADJP", ("", Leaf(self.any(words["said"]), "JJ", "Degree=Pos")))
            node = self.being(entity, said, denied=denied)
        return [phrase("S", *front, ("nsubj", subject), ("", node), _mark("."))]

    def paraphrase(self, label: str) -> list[Phrase]:
        """Two sentences about one event, of which the second repeats or contradicts the first.

        Voice and word order change in both. A contradiction denies the event, or names somebody
        else as who did it: the one it was done to, if that is a person.
        """
        verb = self.any(verbs("action", subject="person"))
        kind = "person" if verb.object == "person" else self.kind_of(verb.object)
        agent, actor = self.nominal("person", self.random.randint(2, 4))
        patient, undergoer = self.other(agent, kind, self.random.randint(2, 4))
        when, passive, fronted = self.time(), self.chance(0.5), self.chance(0.5)
        denied = self.chance(0.15)
        turned = passive if self.chance(0.3) else not passive
        twins = self.twin(agent), self.twin(patient), (when[0], deepcopy(when[1]))
        first = (agent, actor), (patient, undergoer)
        once = self.event(verb, *first, when, passive, fronted, denied)
        doer, done_to, again = (twins[0], actor), (twins[1], undergoer), twins[2]
        if label == "contradiction":
            if denied or self.chance(0.4):
                denied = not denied
            elif kind == "person":
                doer, done_to = done_to, doer
            else:
                doer = self.other(agent)
        fronted = not fronted if turned == passive else self.chance(0.5)
        twice = self.event(verb, doer, done_to, again, turned, fronted, denied)
        return [once, twice]

    def other(self, node: Phrase, kind: str = "person", room: int = 2) -> tuple[Phrase, Entity]:
        """Somebody or something else than a phrase speaks of."""
        while True:
            another, entity = self.nominal(kind, room, simple=room == 2)
            if another.leaf.lemma != node.leaf.lemma:
                return another, entity

    def twin(self, node: Phrase) -> Phrase:
        """The same phrase once more, about the same entities."""
        copies: dict[int, Any] = {}
        again = deepcopy(node, copies)
        self.mentions += [
            (copies[id(part)], entity) for part, entity in self.mentions if id(part) in copies
        ]
        return again

    def event(
        self,
        verb: Verb,
        doer: tuple[Phrase, Entity],
        done_to: tuple[Phrase, Entity],
        when: Piece,
        passive: bool,
        fronted: bool,
        denied: bool,
    ) -> Phrase:
        """A sentence that says who did what to whom, and when."""
        (agent, actor), (patient, undergoer) = doer, done_to
        front = (when, _mark(",")) if fronted else ()
        rest = () if fronted else (when,)
        argument: Piece = ("dobj", patient)
        if passive:
            argument = "agent", phrase("PP", ("", Leaf("by", "IN")), ("pobj", agent))
        who, form = (undergoer, "passive") if passive else (actor, "")
        node = self.verb_phrase(verb, who, argument, *rest, form=form, denied=denied)
        self.link(verb, node.leaf, agent, patient)
        subject = ("nsubjpass", patient) if passive else ("nsubj", agent)
        return phrase("S", *front, subject, ("", node), _mark("."))


SHAPES: tuple[tuple[Callable[[Writer, int], list[Piece]], float, int], ...] = (
    (Writer.plain, 0.22, 5),
    (Writer.linked, 0.06, 5),
    (Writer.commented, 0.08, 6),
    (Writer.called, 0.06, 6),
    (Writer.timed, 0.14, 8),
    (Writer.coordinated, 0.26, 10),
    (Writer.conditioned, 0.09, 12),
    (Writer.explained, 0.09, 12),
)
"""The shapes of sentences, how frequent they are, and the fewest words they need."""


def _mark(sign: str) -> Piece:
    return "punct", Leaf(sign, sign)


def _denial(denied: bool) -> Piece:
    return "neg", Leaf("not", "RB", "Polarity=Neg", "not", "PART") if denied else None


def _flat(verb: Phrase) -> list[Piece]:
    """The parts of a phrase as they were joined, to add another."""
    return [("" if part.leaf is verb.leaf else part.leaf.relation, part) for part in verb.parts]


# --- examples ---

SILENT = ("hour", "honest", "honor", "heir")
CONSONANT = ("uni", "use", "usu", "eu", "one")


def _spell(leaves: Sequence[Leaf]) -> None:
    """Write "an" before vowels, and a capital at the start."""
    for leaf, after in pairwise(leaves):
        if leaf.text == "a":
            vowel = after.text[0].lower() in "aeiou" and not after.text.startswith(CONSONANT)
            leaf.text = "an" if vowel or after.text.startswith(SILENT) else "a"
    leaves[0].text = leaves[0].text[0].upper() + leaves[0].text[1:]


def _example(
    name: str, trees: Sequence[Phrase], writer: Writer, label: str | None = None
) -> Example:
    """The example of one tree, or of a pair of them."""
    words: list[Word] = []
    places: dict[int, int] = {}
    for segment, tree in enumerate(trees):
        leaves = list(tree.leaves())
        _spell(leaves)
        first = len(words)
        places |= {id(leaf): first + place for place, leaf in enumerate(leaves)}
        words += [
            Word(
                leaf.text,
                segment,
                segment,
                ROOT if leaf.head is None else places[id(leaf.head)],
                leaf.relation,
                leaf.upos,
                leaf.xpos,
                leaf.lemma,
                leaf.feats,
            )
            for leaf in leaves
        ]

    def span(part: Part) -> tuple[int, int]:
        inside = [part] if isinstance(part, Leaf) else list(part.leaves())
        return places[id(inside[0])], places[id(inside[-1])]

    mentions = [
        Mention(
            *span(part),
            places[id(part.leaf)],
            entity.name,
            mention_kind(words[places[id(part.leaf)]]),
        )
        for part, entity in writer.mentions
        if id(part.leaf) in places  # what was written, and not used after all, is nobody
    ]
    links = tuple(
        FrameLink(frame, role, span(leaf), span(filler))
        for frame, role, leaf, filler in writer.links
        if id(leaf) in places
    )
    return Example(
        name,
        join_words(tuple(words)),
        tuple(words),
        tuple(sorted(mentions, key=lambda mention: (mention.start, -mention.end))),
        links,
        label=label,
        source=f"{GRAMMAR}, sentence {name}",
    )


def _written(seed: int) -> Iterator[tuple[Example, Phrase]]:
    random = Random(f"{GRAMMAR} {seed}")
    known: set[str] = set()
    while True:
        writer = Writer(random, past=random.random() < 0.5)
        tree = writer.sentence(random.randint(SHORTEST, LONGEST))
        if not SHORTEST <= sum(1 for _ in tree.leaves()) <= LONGEST:
            continue
        example = _example(str(len(known) + 1), [tree], writer)
        if example.texts[0] not in known:
            known.add(example.texts[0])
            yield example, tree


def grammar_trees(seed: int = 0) -> Iterator[tuple[Example, BracketTree]]:
    """Yield sentences without end, each once, with their constituents.

    Parameters
    ----------
    seed
        Decides the sentences. The first N are the same, however many are read.

    Examples
    --------
    >>> example, tree = next(grammar_trees())
    >>> tree.label, len(list(tree.leaves())) == len(example.words)
    ('S', True)
    """
    return ((example, _brackets(tree)) for example, tree in _written(seed))


def grammar_corpus(size: int = SIZE, *, seed: int = 0) -> Corpus:
    """A corpus of sentences of the grammar; ``headscope.read("grammar")`` is this one.

    Parameters
    ----------
    size
        How many sentences it has.
    seed
        Decides the sentences.

    Examples
    --------
    >>> corpus = grammar_corpus(100)
    >>> corpus.size(), sorted(corpus.annotations)
    (100, ['frames', 'mentions', 'tags', 'tree', 'words'])
    """

    def source() -> Iterator[Example]:
        return (example for example, _ in islice(_written(seed), size))

    # The first sentences stand for all: whatever changes the grammar changes them, too.
    first = Corpus(GRAMMAR, GRAMMAR, lambda: islice(source(), 200), str)
    note = f"sentences of the built-in grammar, seed {seed}: English, but without meaning"
    return Corpus(
        GRAMMAR,
        GRAMMAR,
        source,
        lambda: content_digest([*first, Example("", (f"{size} {seed}",))]),
        remarks=lambda: (note,),
        reading={"seed": seed, "size": size},
    )


def _labelled(
    write: Callable[[Writer, str], list[Phrase]], labels: Sequence[str], seed: int
) -> Iterator[Example]:
    random = Random(f"{GRAMMAR} {write.__name__} {seed}")
    known: set[tuple[str, ...]] = set()
    while True:
        label = labels[len(known) % len(labels)]
        writer = Writer(random, past=random.random() < 0.5)
        example = _example(str(len(known) + 1), write(writer, label), writer, label)
        if example.texts not in known and len(set(example.texts)) == len(example.texts):
            known.add(example.texts)
            yield example


def opinions(seed: int = 0) -> Iterator[Example]:
    """Yield sentences without end that are negative or positive, in turn.

    A fifth of them deny the opposite ("the concert was not awful" is positive).

    >>> [example.label for example in islice(opinions(), 3)]
    ['negative', 'positive', 'negative']
    """
    return _labelled(Writer.opinion, ("negative", "positive"), seed)


def paraphrases(seed: int = 0) -> Iterator[Example]:
    """Yield pairs of sentences without end, of which the second contradicts or repeats the first.

    Active and passive, and the place of the time, change in both, so that neither says the label.

    >>> [example.label for example in islice(paraphrases(), 3)]
    ['contradiction', 'paraphrase', 'contradiction']
    """
    return _labelled(Writer.paraphrase, ("contradiction", "paraphrase"), seed)
