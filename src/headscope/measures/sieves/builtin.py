"""The sieves of Pande et al. 2021, the roles it lists beside its own, and a few that the field has
found since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example, surface_words
from headscope.encode import SEPARATOR, START, TEXT, Encoded
from headscope.measures.kinds import Diagonals, Groups, Matrix, Pairs, Relation
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


@sieve("local", title="Within two tokens, itself included")
def _local(item: Encoded) -> Relation:
    return Diagonals(len(item), tuple(range(-NEAR, NEAR + 1)))


@sieve("previous-local", title="The two tokens before")
def _previous(item: Encoded) -> Relation:
    return Diagonals(len(item), tuple(range(-NEAR, 0)))


@sieve("next-local", title="The two tokens after", later=True)
def _next(item: Encoded) -> Relation:
    return Diagonals(len(item), tuple(range(1, NEAR + 1)))


@sieve("delimiter", title="[CLS] and [SEP], or the model's own start and end tokens")
def _delimiter(item: Encoded) -> Matrix:
    return np.isin(item.kind, (START, SEPARATOR))


@sieve("cls", title="[CLS], or the model's own start token")
def _cls(item: Encoded) -> Matrix:
    return np.asarray(item.kind == START)


@sieve("sep", title="[SEP], or the model's own end token")
def _sep(item: Encoded) -> Matrix:
    return np.asarray(item.kind == SEPARATOR)


@sieve("block", title="The words of the same segment of a pair", needs=("pair",))
def _block(item: Encoded) -> Relation | None:
    if len(item.example.texts) < 2:
        return None
    return Groups(np.where(item.kind == TEXT, item.segment, -1))


def alike(numbers: NDArray[np.integer[Any]]) -> Pairs:
    """All pairs of different tokens with the same number; those below 0 have none.

    >>> alike(np.array([7, -1, 7, -1])).matrix().nonzero()
    (array([0, 2]), array([2, 0]))
    """
    places = np.argsort(numbers, kind="stable")
    places = places[numbers[places] >= 0]
    _, first, size = np.unique(numbers[places], return_index=True, return_counts=True)
    first, size = np.repeat(first, size), np.repeat(size, size)  # of each token's own group
    queries = np.repeat(places, size)
    within = np.arange(len(queries)) - np.repeat(np.cumsum(size) - size, size)
    keys = places[np.repeat(first, size) + within]
    others = queries != keys
    return Pairs(len(numbers), queries[others], keys[others])


def dependency_sieve(name: str, labels: Iterable[str], direction: str, fold: bool = False) -> Sieve:
    """From a dependent to its head word, the other way, or both, over the given labels; ``fold``
    drops a label's subtype first.
    """
    wanted = frozenset(label for one in labels for label in SAME_LABEL.get(one, (one,)))

    def select(item: Encoded) -> Relation:
        words = item.example.words
        labels = [word.relation.split(":")[0] if fold else word.relation for word in words]
        pairs = [(token, head) for word, token, head in item.arcs if labels[word] in wanted]
        back = [(key, query) for query, key in pairs]
        return Pairs.of(
            len(item), {"to head": pairs, "from head": back}.get(direction, pairs + back)
        )

    arrow = {"to head": "its head word", "from head": "its dependent", "both": "the other word"}[
        direction
    ]
    title = f"{' or '.join(labels)}: {arrow}"
    return Sieve(name, title, select, frozenset({"tree"}), relations=tuple(sorted(wanted)))


def dependency_sieves(direction: str, fold: bool = False) -> dict[str, Sieve]:
    """The paper's syntactic roles: any of the four relations, and each by itself."""
    return {
        name: dependency_sieve(name, labels, direction, fold)
        for name, labels in (("syntactic", SYNTACTIC), *((label, (label,)) for label in SYNTACTIC))
    }


for _known in dependency_sieves(DIRECTIONS[0]).values():
    add_sieve(_known)


@sieve("rare word", title="The word of the sequence that is rarest in the corpus", learns=True)
def _rare(corpus: Iterable[Example]) -> Callable[[Encoded], Matrix | None]:
    counts = Counter(word.lower() for example in corpus for word in surface_words(example))

    def select(item: Encoded) -> Matrix | None:
        words = surface_words(item.example, int(item.unit.max(initial=-1)) + 1)
        here = {
            unit: counts[words[unit].lower()]
            for unit in np.unique(item.unit[item.unit >= 0]).tolist()
            if any(map(str.isalnum, words[unit]))
        }
        if not here:
            return None
        least = min(here.values())
        return np.asarray(
            np.isin(item.unit, [unit for unit, count in here.items() if count == least])
        )

    return select


@sieve("same word", title="The other pieces of the same word")
def _pieces(item: Encoded) -> Relation:
    return alike(item.unit)


@sieve("question mark", title="Question marks")
def _question(item: Encoded) -> Matrix:
    return np.array([piece.strip() in {"?", "？"} for piece in item.text])


@sieve("first token", title="The first token of all: where a sink of attention often is")
def _first(item: Encoded) -> Matrix:
    return np.asarray(np.arange(len(item)) == 0)


def known_ids(item: Encoded) -> NDArray[np.int64]:
    """The ids of tokens that can occur again; -1 for special tokens, and for unknown ones.

    >>> import headscope as hs
    >>> from headscope.encode import Encoder
    >>> encoder = Encoder(hs.load("demo").tokenizer)
    >>> known_ids(next(iter(encoder.encode(hs.read(["a"])))))[[0, 2]].tolist()
    [-1, -1]
    """
    return np.where((item.kind == TEXT) & ~item.unknown, item.ids, -1)


@sieve("duplicate", title="Other occurrences of the same token")
def _duplicate(item: Encoded) -> Relation:
    return alike(known_ids(item))


@sieve("induction", title="The token after the previous occurrence of the same token")
def _induction(item: Encoded) -> Relation:
    ids = known_ids(item)
    tokens = np.argsort(ids, kind="stable")
    tokens = tokens[ids[tokens] >= 0]
    same = ids[tokens[1:]] == ids[tokens[:-1]]
    places, after = tokens[1:][same], tokens[:-1][same] + 1
    good = (after < places) & (ids[after] >= 0)
    return Pairs(len(item), places[good], after[good])


@sieve(
    "coreferent", title="The head words of other mentions of the same entity", needs=("mentions",)
)
def _coreferent(item: Encoded) -> Relation:
    pieces, heads = item.pieces, dict[str, set[int]]()
    for mention in item.example.mentions:
        heads.setdefault(mention.entity, set()).add(mention.head)
    return Pairs.of(
        len(item),
        (
            pair
            for words in heads.values()
            for one, other in permutations(words, 2)
            for pair in product(pieces.get(one, ()), pieces.get(other, ()))
        ),
    )
