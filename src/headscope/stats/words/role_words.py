"""Roles in plain English: what a head with a role does, and where its attention goes."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.labels import CLAUSE, NOUN_PHRASE
from headscope.results import Atlas
from headscope.stats.heads.excess import BROADLY, FAMILIES, RESTS, UNCLEAR


@dataclass(frozen=True)
class RoleWords:
    """How sentences speak of a role.

    Parameters
    ----------
    does
        What a head with the role does, as the beginning of a sentence.
    also
        What it does besides, after "and".
    leans
        What it leans towards if less than half of its working attention is there.
    share
        Where the share of its working attention is, with ``{}`` for the share.
    brief
        The same after ``does`` or ``leans``.
    name
        What the role is called.
    mostly
        ``does`` after "Mostly"; by default the same with a small letter.
    """

    does: str
    also: str
    leans: str
    share: str
    brief: str
    name: str
    mostly: str = ""


ROLE_WORDS = {
    "antecedent": RoleWords(
        "Looks from mentions to their antecedents",
        "from mentions to their antecedents",
        "the antecedent of a mention",
        "{} of the working attention of mentions is on their antecedents",
        "{} of the working attention of mentions is there",
        "mentions to their antecedents",
    ),
    "retrieval": RoleWords(
        "Retrieval head",
        "at the answer in a long text that it copies",
        "copying answers out of long texts",
        "its retrieval score on long texts is {}",
        "its retrieval score on long texts is {}",
        "retrieval",
        "a retrieval head",
    ),
    "previous": RoleWords(
        "Previous-token head",
        "at the previous token",
        "the previous token",
        "{} of its working attention is on the token before",
        "{} of its working attention is on the token before",
        "the previous token",
        "a previous-token head",
    ),
    "next": RoleWords(
        "Next-token head",
        "at the next token",
        "the next token",
        "{} of its working attention is on the token after",
        "{} of its working attention is on the token after",
        "the next token",
        "a next-token head",
    ),
    "near": RoleWords(
        "Looks one or two tokens away",
        "one or two tokens away",
        "tokens one or two away",
        "{} of its working attention is on tokens one or two away",
        "{} of its working attention is there",
        "near tokens",
    ),
    "itself": RoleWords(
        "Looks at the token itself",
        "at the token itself",
        "the token itself",
        "{} of its working attention is on the token itself",
        "{} of its working attention is there",
        "the token itself",
    ),
    "same": RoleWords(
        "Finds the same word elsewhere",
        "at the same word elsewhere",
        "the same word elsewhere",
        "where a word recurs, {} of its working attention is on the other occurrences",
        "where a word recurs, {} of its working attention is on the other occurrences",
        "the same word elsewhere",
    ),
    "induction": RoleWords(
        "Induction head",
        "at what followed the same word before",
        "induction",
        "where a word recurs, {} of its working attention is on what followed it before",
        "where a word recurs, {} of its working attention is on what followed it before",
        "induction",
        "an induction head",
    ),
    "modifier to noun": RoleWords(
        "Looks from modifiers to their noun",
        "from modifiers to their noun",
        "the noun of a modifier",
        "{} of the working attention of modifiers is on their noun",
        "{} of the working attention of modifiers is there",
        "modifiers to their noun",
    ),
    "noun to modifier": RoleWords(
        "Looks from nouns to their modifiers",
        "from nouns to their modifiers",
        "the modifiers of a noun",
        "{} of the working attention of nouns is on their modifiers",
        "{} of the working attention of nouns is there",
        "nouns to their modifiers",
    ),
    "dependent to verb": RoleWords(
        "Looks from a verb's dependents to the verb",
        "from a verb's dependents to the verb",
        "the verb of a dependent",
        "{} of the working attention of a verb's dependents is on the verb",
        "{} of their working attention is there",
        "dependents to their verb",
    ),
    "verb to dependent": RoleWords(
        "Looks from verbs to their dependents",
        "from verbs to their dependents",
        "the dependents of a verb",
        "{} of the working attention of verbs is on their dependents",
        "{} of the working attention of verbs is there",
        "verbs to their dependents",
    ),
}
"""By role."""

ORDER = (*dict.fromkeys(FAMILIES.values()), BROADLY, UNCLEAR, RESTS)
"""The families in the order in which they are listed: the most specific first."""

FAMILY_WORDS = {
    "previous": (" looks at the ", " look at the ", "previous token"),
    "next": (" looks at the ", " look at the ", "next token"),
    "near": (" looks at ", " look at ", "near tokens"),
    "itself": (" looks at ", " look at ", "the token itself"),
    "same": (" finds the ", " find the ", "same word elsewhere"),
    "induction": (" finds ", " find ", "what followed the same word before"),
    "coreference": (" links ", " link ", "mentions to their antecedents"),
    "retrieval": (" copies ", " copy ", "answers out of long texts"),
    NOUN_PHRASE: (" links words ", " link words ", "within the noun phrase"),
    CLAUSE: (" links a ", " link a ", "verb and its dependents"),
    BROADLY: (" reads ", " read ", "broadly"),
    UNCLEAR: (" shows ", " show ", "no clear role"),
    RESTS: (" ", " ", "rests"),
}
"""By family: what one head does, what several do, and the words that stand out."""


def sink_words(results: Atlas) -> dict[str, str]:
    """What the kinds of sinks in ``activity`` are called, as the model names its own tokens.

    Parameters
    ----------
    results
        Results with the measure ``activity``.
    """
    tokens = token_names(results)
    start = results["activity"]["mean"].sel(where="start") if _has(results, "start") else None
    without = start is None or not bool((start > 0).any())
    return {
        "start": tokens.get("start", "the start token"),
        "separator": tokens.get("separator", "separators"),
        "stops": "full stops and commas",
        "other": "the first token" if without else "other special tokens",
    }


def token_names(results: Atlas) -> dict[str, str]:
    """What the model calls its start token and its separator; empty where results do not say.

    Results of two models with different tokens do not say.
    """
    names = results.provenance.get("model", {}).get("tokens", {})
    return dict(names) if isinstance(names, dict) else {}


def _has(results: Atlas, kind: str) -> bool:
    return kind in results["activity"]["where"].values
