"""The list of main roles: what a head does with its attention when it does not rest.

Most heads of most models put much of their attention on a few tokens that say little: special
tokens, the first token, full stops and commas. Such tokens are called *sinks* here. What tells
heads apart is where the rest of the attention goes: it is *active*. The roles below say where.
Each is one row: the measure ``work``, its tests, sentences, figures and the page all read it.

A tested role (:mod:`headscope.measures.sieves`) is another thing: it asks whether a head's mean
attention to some tokens is over a threshold, whatever else the head does. Where a main role and a
sieve are about the same tokens, ``sieve`` names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.encode import TEXT, Encoded
from headscope.labels import CLAUSE, NOUN_PHRASE, family_of
from headscope.measures.relations import Diagonals, Matrix, Pairs, Relation

Select = Callable[["Encoded"], Relation]
"""A role's pairs of tokens."""
UP, DOWN = "dependent to head", "head to dependent"
BROADLY, UNCLEAR, RESTS = "broad", "no clear role", "rests"
NONE = (BROADLY, UNCLEAR, RESTS)
"""What a head does instead of having a role."""


def sinks(item: Encoded) -> Matrix:
    """Which tokens are sinks: special tokens, the first token, full stops and commas.

    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> item = next(iter(encoder.encode(hs.read(["Yes, it barks."]))))
    >>> sinks(item).astype(int).tolist()  # [CLS] yes , it bark ##s . [SEP]
    [1, 0, 1, 0, 0, 0, 1, 1]
    """
    return np.asarray((item.kind != TEXT) | item.stop | (np.arange(len(item)) == 0))


def visible(item: Encoded, causal: bool) -> NDArray[np.int64]:
    """How many tokens that are not sinks every token sees."""
    open_keys = (~sinks(item)).astype(np.int64)
    return open_keys.cumsum() if causal else np.full(len(item), open_keys.sum())


def _offsets(*offsets: int) -> Select:
    return lambda item: Diagonals(len(item), offsets)


def known_ids(item: Encoded) -> NDArray[np.int64]:
    """The ids of tokens that can occur again; -1 for special tokens, and for unknown ones.

    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> known_ids(next(iter(encoder.encode(hs.read(["a"])))))[[0, 2]].tolist()
    [-1, -1]
    """
    return np.where((item.kind == TEXT) & ~item.unknown, item.ids, -1)


def same_token(item: Encoded) -> Pairs:
    """To all other occurrences of the same token."""
    return Pairs.alike(known_ids(item))


def after_same(item: Encoded) -> Pairs:
    """To the token after the previous occurrence of the same token."""
    ids = known_ids(item)
    tokens = np.argsort(ids, kind="stable")
    tokens = tokens[ids[tokens] >= 0]
    same = ids[tokens[1:]] == ids[tokens[:-1]]
    after = Pairs(len(item), tokens[1:][same], tokens[:-1][same] + 1)
    return after.where((after.keys < after.queries) & (ids[after.keys] >= 0))


def _arcs(family: str, *, up: bool) -> Select:
    """From every piece of a dependent to every piece of its head word, or the other way."""

    def select(item: Encoded) -> Relation:
        words = item.example.words
        arcs = (arc for arc in item.arcs if family_of(words[arc[0]].relation) == family)
        pairs = ((token, head) if up else (head, token) for _, token, head in arcs)
        return Pairs.of(len(item), pairs)

    return select


def _antecedents(item: Encoded) -> Relation:
    """From the pieces of a mention's head word to those of earlier mentions of the same entity."""
    heads: dict[str, set[int]] = {}
    for mention in item.example.mentions:
        heads.setdefault(mention.entity, set()).add(mention.head)
    return Pairs.of(
        len(item),
        (
            (query, key)
            for words in heads.values()
            for word in words
            for earlier in words
            if earlier < word
            for query in item.pieces.get(word, ())
            for key in item.pieces.get(earlier, ())
        ),
    )


@dataclass(frozen=True)
class RoleWords:
    """How sentences speak of a role.

    Parameters
    ----------
    name
        What the role is called.
    looks
        Where a head with it looks, after "looks".
    leans
        What a head leans towards if less than half of its active attention is there.
    share
        Where the share of its active attention is.
    brief
        The same after what the head does; by default the same words.
    title
        What such a head is called, where it has a name: "Induction head".
    does
        What it does, where that is not "Looks …".
    """

    name: str
    looks: str
    leans: str
    share: str
    brief: str = ""
    title: str = ""
    does: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "brief", self.brief or self.share)
        object.__setattr__(self, "does", self.title or self.does or f"Looks {self.looks}")


@dataclass(frozen=True)
class MainRole:
    """A role that a head can have.

    Parameters
    ----------
    name, title
        In results, and in words.
    pairs
        Its pairs of tokens; None for a role that no map shows.
    family
        The name of its family; see :data:`FAMILIES`.
    rank
        From 0, the most specific: many heads look near, and do more.
    words
        How sentences speak of it.
    needs
        A tree, mentions, a model that is causal, or one that sees later tokens.
    contains
        More specific roles whose tokens are among its own.
    way
        Of a role along arcs of the tree, the direction of the relation. It also has to beat the
        best fixed offset.
    sieve
        The tested role about the same tokens, or the nearest there is.
    """

    name: str
    title: str
    pairs: Select | None
    family: str
    rank: int
    words: RoleWords
    needs: frozenset[str] = frozenset()
    contains: tuple[str, ...] = ()
    way: str = ""
    sieve: str = ""

    def relation(self, item: Encoded, keys: Matrix) -> Relation:
        """The role's pairs of tokens, among those that may be keys."""
        assert self.pairs is not None
        return self.pairs(item).among(keys)


# fmt: off
_ROLES = (
    MainRole(
        "antecedent", "from a mention to its antecedents", _antecedents, "coreference", 0,
        RoleWords(
            "mentions to their antecedents",
            "from mentions to their antecedents",
            "the antecedent of a mention",
            "{share} of the active attention of mentions is on their antecedents",
            brief="{share} of the active attention of mentions is there",
        ),
        needs=frozenset({"mentions"}), sieve="coreferent",
    ),
    MainRole(
        "retrieval", "answers out of long texts", None, "retrieval", 3,
        RoleWords(
            "retrieval",
            "at the answer in a long text that it copies",
            "copying answers out of long texts",
            "its retrieval score on long texts is {share}",
            title="Retrieval head",
        ),
    ),
    MainRole(
        "previous", "the previous token", _offsets(-1), "previous", 5,
        RoleWords(
            "the previous token",
            "at the previous token",
            "the previous token",
            "{share} of its active attention is on the token before",
            title="Previous-token head",
        ),
        sieve="previous-local",
    ),
    MainRole(
        "next", "the next token", _offsets(1), "next", 5,
        RoleWords(
            "the next token",
            "at the next token",
            "the next token",
            "{share} of its active attention is on the token after",
            title="Next-token head",
        ),
        needs=frozenset({"later"}), sieve="next-local",
    ),
    MainRole(
        "near", "near tokens: one or two away", _offsets(-2, -1, 1, 2), "near", 7,
        RoleWords(
            "near tokens",
            "one or two tokens away",
            "tokens one or two away",
            "{share} of its active attention is on tokens one or two away",
            brief="{share} of its active attention is there",
        ),
        contains=("previous", "next"), sieve="local",
    ),
    MainRole(
        "itself", "the token itself", _offsets(0), "itself", 6,
        RoleWords(
            "the token itself",
            "at the token itself",
            "the token itself",
            "{share} of its active attention is on the token itself",
            brief="{share} of its active attention is there",
        ),
    ),
    MainRole(
        "same", "the same word elsewhere", same_token, "same", 4,
        RoleWords(
            "the same word elsewhere",
            "at the same word elsewhere",
            "the same word elsewhere",
            "where a word recurs, {share} of its active attention is on the other occurrences",
            does="Finds the same word elsewhere",
        ),
        sieve="duplicate",
    ),
    MainRole(
        "induction", "what followed the same word before", after_same, "induction", 2,
        RoleWords(
            "induction",
            "at what followed the same word before",
            "induction",
            "where a word recurs, {share} of its active attention is on what followed it before",
            title="Induction head",
        ),
        needs=frozenset({"causal"}), sieve="induction",
    ),
    MainRole(
        "modifier to noun", "from a modifier to its noun", _arcs(NOUN_PHRASE, up=True),
        NOUN_PHRASE, 1,
        RoleWords(
            "modifiers to their noun",
            "from modifiers to their noun",
            "the noun of a modifier",
            "{share} of the active attention of modifiers is on their noun",
            brief="{share} of the active attention of modifiers is there",
        ),
        needs=frozenset({"tree"}), way=UP,
    ),
    MainRole(
        "noun to modifier", "from a noun to its modifiers", _arcs(NOUN_PHRASE, up=False),
        NOUN_PHRASE, 1,
        RoleWords(
            "nouns to their modifiers",
            "from nouns to their modifiers",
            "the modifiers of a noun",
            "{share} of the active attention of nouns is on their modifiers",
            brief="{share} of the active attention of nouns is there",
        ),
        needs=frozenset({"tree"}), way=DOWN,
    ),
    MainRole(
        "dependent to verb", "from a dependent to its verb", _arcs(CLAUSE, up=True), CLAUSE, 1,
        RoleWords(
            "dependents to their verb",
            "from a verb's dependents to the verb",
            "the verb of a dependent",
            "{share} of the active attention of a verb's dependents is on the verb",
            brief="{share} of their active attention is there",
        ),
        needs=frozenset({"tree"}), way=UP,
    ),
    MainRole(
        "verb to dependent", "from a verb to its dependents", _arcs(CLAUSE, up=False), CLAUSE, 1,
        RoleWords(
            "verbs to their dependents",
            "from verbs to their dependents",
            "the dependents of a verb",
            "{share} of the active attention of verbs is on their dependents",
            brief="{share} of the active attention of verbs is there",
        ),
        needs=frozenset({"tree"}), way=DOWN,
    ),
)
# fmt: on
ROLES = {role.name: role for role in _ROLES}
"""All roles, as results list them."""
RANKED = tuple(sorted(ROLES.values(), key=lambda role: role.rank))


@dataclass(frozen=True)
class Family:
    """Roles that pictures give one colour, or what a head does that has none.

    Parameters
    ----------
    name, title, short
        In results; as a heading; in at most 8 letters, for cells.
    glyph
        A symbol, always drawn beside the colour: colours alone are not safe for everybody. Empty
        where a head has no role.
    colours
        On a light page and on a dark one.
    dark
        Whether white letters are read on the light page's colour.
    says
        What its heads do, after their number: ``{n:one|many}`` chooses a form, and words between
        ``**`` stand out.
    """

    name: str
    title: str
    short: str
    glyph: str
    colours: tuple[str, str]
    dark: bool
    says: str


# fmt: off
_FAMILIES = (
    ("coreference", "Mention to antecedent", "coref.", "C", "#0E8C8C", "#27A6A6", True,
     "{n:links|link} **mentions to their antecedents**"),
    (NOUN_PHRASE, "Within the noun phrase", "noun", "N", "#E7A83B", "#EDB652", False,
     "{n:links|link} words **within the noun phrase**"),
    (CLAUSE, "Verb and its dependents", "verb", "V", "#A63A1C", "#D9653F", True,
     "{n:links|link} a **verb and its dependents**"),
    ("induction", "Induction", "induct.", "↷", "#8A6A1E", "#B99636", True,
     "{n:finds|find} **what followed the same word before**"),
    ("retrieval", "Retrieval", "retriev.", "R", "#5B6F1F", "#8FA53F", True,
     "{n:copies|copy} **answers out of long texts**"),
    ("same", "Same word elsewhere", "same", "=", "#D16BA5", "#E083B8", False,
     "{n:finds the|find the} **same word elsewhere**"),
    ("previous", "Previous token", "previous", "←", "#1F6FB5", "#2F7CC4", True,
     "{n:looks|look} at the **previous token**"),
    ("next", "Next token", "next", "→", "#62B8E8", "#8CCBF0", False,
     "{n:looks|look} at the **next token**"),
    ("itself", "Itself", "itself", "○", "#4B3C8C", "#5D4BB5", True,
     "{n:looks|look} at **the token itself**"),
    ("near", "Near tokens", "near", "↔", "#2A9D74", "#2FA97A", True,
     "{n:looks|look} at **near tokens**"),
    (BROADLY, "Broad", "", "", "#D6D5D1", "#43454A", False,
     "{n:reads|read} **broadly**, nearly evenly over the words"),
    (UNCLEAR, "No clear role", "", "", "#F3F2F0", "#2A2B2E", False,
     "{n:shows|show} **no clear role**"),
    (RESTS, "Rests", "", "", "#FFFFFF", "#1B1C1E", False,
     "**{n:rests|rest}** (under {resting:%} of {n:its|their} attention is active)"),
)
# fmt: on
FAMILIES = {
    name: Family(name, title, short, glyph, (light, night), dark, says)
    for name, title, short, glyph, light, night, dark, says in _FAMILIES
}
"""All families in the order in which they are listed: the most specific first."""
