"""The sieves of Pande et al. 2021, the roles it lists beside its own, and a few that the field has
found since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, surface_words
from headscope.encode import SEPARATOR, START, TEXT, Encoded
from headscope.measures.relation import Pairs
from headscope.measures.sieves.base import Sieve, add_sieve, sieve

NEAR = 2
"""How far "local" reaches."""
SYNTACTIC = ("nsubj", "dobj", "amod", "advmod")
SAME_LABEL = {"dobj": ("dobj", "obj")}
"""What other schemes call the paper's relations (Stanford names)."""
DIRECTIONS = ("to head", "from head", "both")

PAPER = (
    "local",
    "previous-local",
    "next-local",
    "delimiter",
    "cls",
    "sep",
    "block",
    "syntactic",
    *SYNTACTIC,
)
"""The roles of the paper, in the order of its text."""


def _offsets(item: Encoded) -> NDArray[np.int64]:
    """Key position minus query position."""
    places = np.arange(len(item))
    return np.asarray(places[None, :] - places[:, None])


@sieve("local", title="Within two tokens, itself included")
def _local(item: Encoded) -> Pairs:
    return np.abs(_offsets(item)) <= NEAR


@sieve("previous-local", title="The two tokens before")
def _previous(item: Encoded) -> Pairs:
    away = _offsets(item)
    return (away < 0) & (away >= -NEAR)


@sieve("next-local", title="The two tokens after", later=True)
def _next(item: Encoded) -> Pairs:
    away = _offsets(item)
    return (away > 0) & (away <= NEAR)


@sieve("delimiter", title="[CLS] and [SEP], or the model's own start and end tokens")
def _delimiter(item: Encoded) -> Pairs:
    return np.isin(item.kind, (START, SEPARATOR))


@sieve("cls", title="[CLS], or the model's own start token")
def _cls(item: Encoded) -> Pairs:
    return np.asarray(item.kind == START)


@sieve("sep", title="[SEP], or the model's own end token")
def _sep(item: Encoded) -> Pairs:
    return np.asarray(item.kind == SEPARATOR)


@sieve("block", title="The words of the same segment of a pair", needs=("pair",))
def _block(item: Encoded) -> Pairs | None:
    if len(item.example.texts) < 2:
        return None
    text = item.kind == TEXT
    return np.asarray(
        (item.segment[:, None] == item.segment[None, :]) & text[:, None] & text[None, :]
    )


def dependency_sieve(name: str, labels: Iterable[str], direction: str, fold: bool = False) -> Sieve:
    """From a dependent to its head word, the other way, or both, over the given labels; ``fold``
    drops a label's subtype first.
    """
    wanted = frozenset(label for one in labels for label in SAME_LABEL.get(one, (one,)))

    def select(item: Encoded) -> Pairs:
        words = item.example.words
        heads = np.full(len(words) + 1, -2, np.int64)  # the last stands for tokens of no word
        for index, word in enumerate(words):
            label = word.relation.split(":")[0] if fold else word.relation
            if word.head is not None and label in wanted:
                heads[index] = word.head
        up = (heads[item.word][:, None] == item.word[None, :]) & (item.word >= 0)[None, :]
        return np.asarray({"to head": up, "from head": up.T}.get(direction, up | up.T))

    arrow = {"to head": "its head word", "from head": "its dependent", "both": "the other word"}[
        direction
    ]
    return Sieve(name, f"{' or '.join(labels)}: {arrow}", select, frozenset({"tree"}))


def dependency_sieves(direction: str, fold: bool = False) -> dict[str, Sieve]:
    """The paper's syntactic roles: any of the four relations, and each by itself."""
    return {
        name: dependency_sieve(name, labels, direction, fold)
        for name, labels in (("syntactic", SYNTACTIC), *((label, (label,)) for label in SYNTACTIC))
    }


for _known in dependency_sieves(DIRECTIONS[0]).values():
    add_sieve(_known)


@sieve("rare word", title="The word of the sequence that is rarest in the corpus", learns=True)
def _rare(corpus: Iterable[Example]) -> Callable[[Encoded], Pairs | None]:
    counts = Counter(word.lower() for example in corpus for word in surface_words(example))

    def select(item: Encoded) -> Pairs | None:
        words = surface_words(item.example)
        here = {
            int(unit): counts[words[unit].lower()]
            for unit in item.unit
            if unit >= 0 and any(map(str.isalnum, words[unit]))
        }
        if not here:
            return None
        least = min(here.values())
        return np.asarray(
            np.isin(item.unit, [unit for unit, count in here.items() if count == least])
        )

    return select


@sieve("same word", title="The other pieces of the same word")
def _pieces(item: Encoded) -> Pairs:
    same = (item.unit[:, None] == item.unit[None, :]) & (item.unit >= 0)[:, None]
    return np.asarray(same & ~np.eye(len(item), dtype=np.bool_))


@sieve("question mark", title="Question marks")
def _question(item: Encoded) -> Pairs:
    return np.array([piece.strip() in {"?", "？"} for piece in item.text])


@sieve("first token", title="The first token of all: where a sink of attention often is")
def _first(item: Encoded) -> Pairs:
    return np.asarray(np.arange(len(item)) == 0)


@sieve("duplicate", title="Other occurrences of the same token")
def _duplicate(item: Encoded) -> Pairs:
    text = item.kind == TEXT
    same = (item.ids[:, None] == item.ids[None, :]) & text[:, None] & text[None, :]
    return np.asarray(same & ~np.eye(len(item), dtype=np.bool_))


@sieve("induction", title="The token after the previous occurrence of the same token")
def _induction(item: Encoded) -> Pairs:
    pairs = np.zeros((len(item), len(item)), np.bool_)
    last: dict[int, int] = {}
    for place, (token, kind) in enumerate(zip(item.ids.tolist(), item.kind.tolist(), strict=True)):
        if kind != TEXT:
            continue
        after = last.get(token, place) + 1
        if after < place and item.kind[after] == TEXT:
            pairs[place, after] = True
        last[token] = place
    return pairs


@sieve(
    "coreferent", title="The head words of other mentions of the same entity", needs=("mentions",)
)
def _coreferent(item: Encoded) -> Pairs:
    pairs = np.zeros((len(item), len(item)), np.bool_)
    heads: dict[str, list[int]] = {}
    for mention in item.example.mentions:
        heads.setdefault(mention.entity, []).append(mention.head)
    for words in heads.values():
        places = np.flatnonzero(np.isin(item.word, words))
        pairs[np.ix_(places, places)] |= item.word[places, None] != item.word[places]
    return pairs
