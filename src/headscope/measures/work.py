"""What a head does when it does not rest.

Most heads of most models put much of their attention on a few tokens that say little: special
tokens, the first token, full stops and commas. Such tokens are called *sinks* here. What tells
heads apart is where the rest of the attention goes: it is *at work*. Two measures: how much is at
work, and how the working part is divided, against what a head would give that looked at all
remaining tokens alike.

Everything here is a weighted sum of attention, so it costs little beside other such measures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.encode import SEPARATOR, START, TEXT, Encoded
from headscope.labels import CLAUSE, NOUN_PHRASE, family_of
from headscope.measures.base import Context
from headscope.measures.kinds import Columns, Diagonals, Matrix, Pairs, Relation, Weighted
from headscope.measures.relation import Linear, Weights
from headscope.measures.sieves.base import known_sieves

PARTS = ("attention", "uniform", "left")
"""What is kept of a role: attention on its tokens, what even attention would put there, and all
attention at work in the same rows."""


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


_KINDS = {
    "at work": "attention at work: not on sinks",
    "start": "attention that rests on the start token",
    "separator": "attention that rests on separators",
    "stops": "attention that rests on full stops and commas",
    "other": "attention that rests on other sinks",
}
ALWAYS = ("at work", "stops")
"""Kinds of keys whose share is 0, not undefined, in a text that has none of them."""
_CAUSAL = {"other": "attention that rests on the first token or other special tokens"}
"""Many decoders read texts without a start token: their sink is the first word."""
_SHOWN = {
    "attention": "attention to its tokens",
    "uniform": "what even attention would give",
    "left": "all attention at work",
}


class Activity(Linear):
    """Where attention goes: how much is at work, and how much rests on each kind of sink.

    Mean over the tokens of words; special tokens are not asked. The shares of the kinds add up to
    1, except in models with a learned sink (GPT-OSS), whose rows sum to less. A text without a
    start token, separators or other sinks has no share of that kind.
    """

    name = "activity"
    title = "Where attention goes"
    unit = "share of attention"
    source = "Headscope"
    dims = {"where": ("at work", "start", "separator", "stops", "other")}

    def attributes(self) -> dict[str, str]:
        """Also what the kinds of tokens are called."""
        kinds = _KINDS | (_CAUSAL if self.context.causal else {})
        return super().attributes() | {"titles": json.dumps(kinds)}

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """Columns of the map. "Other" are the first token, if it is a word, and special tokens of
        other kinds.
        """
        resting, start, end = sinks(item), item.kind == START, item.kind == SEPARATOR
        stop = item.stop & ~start & ~end
        kinds = (~resting, start, end, stop, resting & ~(start | end | stop))
        asking = item.kind == TEXT
        if not asking.any():
            return [None] * len(kinds)
        rows = (asking / asking.sum()).astype(np.float32)
        return [
            Weighted(Columns(np.asarray(kind)), rows) if kind.any() or name in ALWAYS else None
            for name, kind in zip(self.dims["where"], kinds, strict=True)
        ]


Select = Callable[[Encoded, Matrix], Relation]
"""A role's tokens, among those that may be keys."""


def _offsets(*offsets: int) -> Select:
    return lambda item, keys: Diagonals(len(item), offsets, keys)


def _open(pairs: Pairs, keys: Matrix) -> Pairs:
    kept = keys[pairs.keys]
    return Pairs(pairs.length, pairs.queries[kept], pairs.keys[kept])


def _named(name: str) -> Select:
    def select(item: Encoded, keys: Matrix) -> Pairs:
        found = known_sieves()[name].relation(item)
        assert isinstance(found, Pairs)
        return _open(found, keys)

    return select


def _arcs(family: str, *, up: bool) -> Select:
    """From every piece of a dependent to every piece of its head word, or the other way."""

    def select(item: Encoded, keys: Matrix) -> Pairs:
        words = item.example.words
        pairs = [
            (token, head) if up else (head, token)
            for word, token, head in item.arcs
            if family_of(words[word].relation) == family
        ]
        return _open(Pairs.of(len(item), pairs), keys)

    return select


def _antecedents(item: Encoded, keys: Matrix) -> Pairs:
    """From the pieces of a mention's head word to those of earlier mentions of the same entity."""
    heads: dict[str, set[int]] = {}
    for mention in item.example.mentions:
        heads.setdefault(mention.entity, set()).add(mention.head)
    pairs = [
        (one, other)
        for words in heads.values()
        for word in words
        for earlier in words
        if earlier < word
        for one in item.pieces.get(word, ())
        for other in item.pieces.get(earlier, ())
    ]
    return _open(Pairs.of(len(item), pairs), keys)


ROLES: dict[str, tuple[str, Select, frozenset[str]]] = {
    "antecedent": (
        "from a mention to its antecedents",
        _antecedents,
        frozenset({"mentions"}),
    ),
    "previous": ("the previous token", _offsets(-1), frozenset()),
    "next": ("the next token", _offsets(1), frozenset({"later"})),
    "near": ("near tokens: one or two away", _offsets(-2, -1, 1, 2), frozenset()),
    "itself": ("the token itself", _offsets(0), frozenset()),
    "same": ("the same word elsewhere", _named("duplicate"), frozenset()),
    "induction": (
        "what followed the same word before",
        _named("induction"),
        frozenset({"causal"}),
    ),
    "modifier to noun": (
        "from a modifier to its noun",
        _arcs(NOUN_PHRASE, up=True),
        frozenset({"tree"}),
    ),
    "noun to modifier": (
        "from a noun to its modifiers",
        _arcs(NOUN_PHRASE, up=False),
        frozenset({"tree"}),
    ),
    "dependent to verb": (
        "from a dependent to its verb",
        _arcs(CLAUSE, up=True),
        frozenset({"tree"}),
    ),
    "verb to dependent": (
        "from a verb to its dependents",
        _arcs(CLAUSE, up=False),
        frozenset({"tree"}),
    ),
}
"""Each role's words, its pairs of tokens, and what it needs: a tree, mentions, a model that is
causal, or one that sees later tokens."""


class Work(Linear):
    """How the attention at work is divided among roles, against even attention.

    Sinks are taken out as keys, and special tokens as rows. Of a role (say, "the previous token")
    three sums are kept over the rows that have such a token: ``attention`` on the role's tokens,
    ``left``, all attention at work, and ``uniform``, what the role's tokens would get if each row's
    working attention were spread evenly over all tokens it sees. The *excess* of a role is the
    difference of ``attention`` and ``uniform``, divided by ``left``. All are sums over the corpus,
    so the excess is a ratio of sums.

    See Also
    --------
    headscope.stats.main_roles : the role that says most about a head, tested.
    """

    name = "work"
    title = "Attention at work, by role"
    unit = "sum over tokens"
    source = "Headscope"
    listed = False

    def __init__(self) -> None:
        self.roles: list[str] = []

    def beside(self) -> tuple[str, ...]:
        """What roles along arcs have to beat."""
        return ("arc",)

    def bind(self, context: Context, corpus: Iterable[Example]) -> Self:
        """Choose the roles that model and corpus allow."""
        bound = super().bind(context, corpus)
        here = {"causal" if context.causal else "later"}
        here |= {"tree", "mentions"} & {name for one in corpus for name in one.annotations}
        bound.roles = [name for name, (_, _, needs) in ROLES.items() if needs <= here]
        bound.dims = {"role": tuple(bound.roles), "part": PARTS}
        return bound

    def attributes(self) -> dict[str, str]:
        """Also what the roles are called."""
        titles = {name: ROLES[name][0] for name in self.roles}
        return super().attributes() | {"titles": json.dumps(titles | _SHOWN)}

    def weights(self, item: Encoded) -> Sequence[Weights]:
        """The three sums of every role; None where no token has the role."""
        causal, keys, asking = self.context.causal, ~sinks(item), item.kind == TEXT
        seen, columns = np.maximum(visible(item, causal), 1), Columns(keys)
        found: list[Weights] = []
        for name in self.roles:
            relation = ROLES[name][1](item, keys)
            sizes = np.where(asking, relation.sizes(causal), 0)
            having = sizes > 0
            if not having.any():
                found += [None, None, None]
                continue
            rows, share = having.astype(np.float32), (sizes / seen).astype(np.float32)
            found += [Weighted(relation, rows), Weighted(columns, share), Weighted(columns, rows)]
        return found
