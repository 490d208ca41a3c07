"""Dependency relations in plain English: what a head finds that follows their arcs."""

from __future__ import annotations

from types import MappingProxyType

from headscope.stats.heads.excess import DIRECTION

UP = DIRECTION["modifier to noun"]
"""From a dependent to its head word."""

_CASE = "the noun of a case marker", "the case marker of a noun"
_COMPOUND = "the head noun of a compound", "the modifier in a compound"
_NUMBER = "the noun of a numeral", "the numeral of a noun"
_OBJECT = "the verb of an object", "the object of a verb"
_INDIRECT = "the verb of an indirect object", "the indirect object of a verb"
_PASSIVE = "the verb of a passive subject", "the subject of a passive verb"
_CLAUSAL = "the verb of a clausal subject", "the clausal subject of a verb"
_AUXILIARY = "the verb of a passive auxiliary", "the auxiliary of a passive verb"
_PARTICLE = "the verb of a particle", "the particle of a verb"
_POSSESSOR = "the noun of a possessor", "the possessor of a noun"
_RELATIVE = "the noun of a relative clause", "the relative clause of a noun"
_WORDS = MappingProxyType(
    {
        "acl": ("the noun of a modifying clause", "the modifying clause of a noun"),
        "acl:relcl": _RELATIVE,
        "acomp": ("the verb of a predicate adjective", "the predicate adjective of a verb"),
        "advcl": ("the verb of an adverbial clause", "the adverbial clause of a verb"),
        "advmod": ("the word that an adverb modifies", "the adverb that modifies a word"),
        "agent": ("the verb of a passive agent", "the agent of a passive verb"),
        "amod": ("the noun of an adjective", "the adjective of a noun"),
        "appos": ("the noun of an apposition", "the apposition of a noun"),
        "attr": ("the copula of a predicate noun", "the predicate noun of a copula"),
        "aux": ("the main verb of an auxiliary", "the auxiliary of a verb"),
        "aux:pass": _AUXILIARY,
        "auxpass": _AUXILIARY,
        "case": _CASE,
        "cc": ("the conjunct of a conjunction", "the conjunction of a conjunct"),
        "ccomp": ("the verb of a clausal complement", "the clausal complement of a verb"),
        "compound": _COMPOUND,
        "compound:prt": _PARTICLE,
        "conj": ("the earlier of two conjuncts", "the later of two conjuncts"),
        "cop": ("the predicate of a copula", "the copula of a predicate"),
        "csubj": _CLAUSAL,
        "csubjpass": _CLAUSAL,
        "dative": _INDIRECT,
        "det": ("the noun of a determiner", "the determiner of a noun"),
        "dobj": _OBJECT,
        "expl": ("the verb of an expletive", "the expletive of a verb"),
        "iobj": _INDIRECT,
        "mark": ("the verb of a clause marker", "the marker of a clause"),
        "neg": ("the word that is negated", "the negation of a word"),
        "nmod": ("the noun of a nominal modifier", "the nominal modifier of a noun"),
        "nmod:poss": _POSSESSOR,
        "nn": _COMPOUND,
        "npadvmod": ("the word that an adverbial noun modifies", "the adverbial noun of a word"),
        "nsubj": ("the verb of a subject", "the subject of a verb"),
        "nsubj:pass": _PASSIVE,
        "nsubjpass": _PASSIVE,
        "num": _NUMBER,
        "nummod": _NUMBER,
        "obj": _OBJECT,
        "obl": ("the verb of an oblique nominal", "the oblique nominal of a verb"),
        "pcomp": ("the preposition of a clause", "the clause after a preposition"),
        "pobj": ("the preposition of an object", "the object of a preposition"),
        "poss": _POSSESSOR,
        "prep": ("the word that a preposition modifies", "the preposition that modifies a word"),
        "prt": _PARTICLE,
        "rcmod": _RELATIVE,
        "relcl": _RELATIVE,
        "xcomp": ("the verb of an open complement", "the open complement of a verb"),
    }
)
"""By relation: what is found from a dependent, and what is found from a head word."""
DULL = ("punct", "root", "dep", "p", "ROOT")
"""Relations that say nothing about grammar."""


def relation_words(relation: str, direction: str) -> str:
    """What a head finds that follows the arcs of a relation.

    Parameters
    ----------
    relation
        Its label, in Universal Dependencies or Stanford's scheme. A subtype without words of its
        own has those of its kind.
    direction
        "dependent to head" or "head to dependent".

    Examples
    --------
    >>> relation_words("det", "dependent to head"), relation_words("det", "head to dependent")
    ('the noun of a determiner', 'the determiner of a noun')
    >>> relation_words("obl:tmod", "dependent to head")
    'the verb of an oblique nominal'
    >>> relation_words("flat", "dependent to head")
    'the head word of “flat”'
    """
    words = _WORDS.get(relation) or _WORDS.get(relation.split(":")[0])
    if words is None:
        words = f"the head word of “{relation}”", f"the dependent of “{relation}”"
    return words[0] if direction == UP else words[1]
