"""How well a head finds a relation in the texts that a survey kept: examples for and against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headscope.corpus import ROOT, Example
from headscope.errors import UserError, unknown
from headscope.results.kept import KeptMap, KeptText
from headscope.stats.word_links import Weights, word_weights

UP, DOWN = "dependent → head word", "head word → dependent"
"""The two ways in which a head may follow a dependency."""
SHOWN = 3
"""Links that are shown of an example."""


@dataclass(frozen=True)
class Answer:
    """What a head does about one pair of a relation.

    Parameters
    ----------
    query
        The word or token that attends.
    right
        What it should attend to.
    given
        What it attends to most; None if it attends to nothing that was kept.
    weight, most
        The attention to what is right, and to what is given.
    found
        Whether the two are the same.
    place
        The places of ``query`` and ``right`` in the text.
    """

    query: str
    right: str
    given: str | None
    weight: float
    most: float
    found: bool
    place: tuple[int, int]

    def __str__(self) -> str:
        if self.found:
            return f"{self.query} → {self.right} {self.weight:.2f}"
        if self.given is None:
            return f"{self.query} → nothing, not {self.right}"
        return f"{self.query} → {self.given} {self.most:.2f}, not {self.right} {self.weight:.2f}"


@dataclass(frozen=True)
class Finding:
    """What a head does about a relation in one text.

    Parameters
    ----------
    answers
        One for each pair of the relation.
    """

    answers: Sequence[Answer]

    @property
    def found(self) -> int:
        """How many pairs the head finds."""
        return sum(answer.found for answer in self.answers)

    @property
    def attention(self) -> float:
        """The mean attention along the pairs."""
        return float(np.mean([answer.weight for answer in self.answers]))

    @property
    def rank(self) -> tuple[float, float, int]:
        """What examples are sorted by: those that count most for the relation first."""
        return -self.found / len(self.answers), -self.attention, -len(self.answers)

    @property
    def favourable(self) -> bool:
        """Whether the head finds at least half of the pairs."""
        return 2 * self.found >= len(self.answers)

    def shown(self) -> list[Answer]:
        """The strongest links: more of the kind that prevails, and one of the other."""
        right, wrong = (
            sorted((one for one in self.answers if one.found == kind), key=lambda one: -one.most)
            for kind in (True, False)
        )
        first, second = (right, wrong) if self.favourable else (wrong, right)
        return [*first[: SHOWN - bool(second)], *second[:1]]


Find = Callable[[KeptMap], Finding | None]
"""What a head does about a relation in a text; None if the text has no such pair."""


def relation_ways(relation: str, texts: Iterable[KeptText]) -> dict[str, Find]:
    """The ways to look at a relation: both directions of a dependency, or a role.

    Parameters
    ----------
    relation
        A dependency label, or one of ``previous``, ``next``, ``near``, ``itself``, ``same``.
    texts
        The texts in which it may occur.

    Raises
    ------
    UserError
        If no text has the relation; the message lists what there is.
    """
    if relation in ROLES:
        return {"": lambda found: _role(found, relation)}
    labels = sorted({label for text in texts for label in known_relations(text)})
    if not labels:
        raise no_trees(relation)
    if relation not in labels:
        raise unknown("relation", relation, [*ROLES, *labels])
    return {
        UP: lambda found: _arcs(found, relation, up=True),
        DOWN: lambda found: _arcs(found, relation, up=False),
    }


def check_relation(corpus: Iterable[Example], relation: str) -> None:
    """Refuse a relation that no example of a corpus has."""
    if not relation or relation in ROLES:
        return
    words = [word for example in corpus for word in example.words]
    labels = {word.relation for word in words if word.head is not None and word.head != ROOT}
    labels |= {label.partition(":")[0] for label in labels}
    if not labels:
        raise no_trees(relation)
    if relation not in labels:
        raise unknown("relation", relation, [*ROLES, *labels])


def no_trees(relation: str) -> UserError:
    """The error for a dependency where there are no trees."""
    return UserError(
        f"the texts have no dependency trees, so {relation!r} cannot be looked for; without trees "
        f"there are {', '.join(ROLES)}",
        hint="parse the corpus: hs.examples(model, corpus, head, parse=True, "
        f"relation={relation!r})",
    )


def known_relations(text: KeptText) -> set[str]:
    """The dependency labels that a text has, with and without their subtypes."""
    pairs = zip(text.relation, text.head, strict=True)
    labels = {label for label, head in pairs if label and head >= 0}
    return labels | {label.partition(":")[0] for label in labels}


def _arcs(found: KeptMap, relation: str, *, up: bool) -> Finding | None:
    """Of the words of its sentence, does a word attend most to the other end of the arc?

    As in the measure ``dependency``, special tokens are ignored.
    """
    text = found.text
    arcs = [
        (word, head) if up else (head, word)
        for word, (head, label) in enumerate(zip(text.head, text.relation, strict=True))
        if head >= 0 and relation in {label, label.partition(":")[0]}
    ]
    if not arcs:
        return None
    weights, sentence = word_weights(found), np.array(text.sentence)
    np.fill_diagonal(weights, 0.0)
    weights = np.where(sentence[:, None] == sentence, weights, 0.0)
    return Finding([_answer(text.words, weights, query, [right]) for query, right in arcs])


def _role(found: KeptMap, role: str) -> Finding | None:
    """Of the tokens that are not sinks, does a token attend most to one that has the role?"""
    text = found.text
    weights = found.dense().astype(np.float64)
    weights[:, np.array(text.sink, bool)] = 0.0
    if role != "itself":
        np.fill_diagonal(weights, 0.0)
    answers = [
        _answer(text.tokens, weights, query, right)
        for query, special in enumerate(text.special)
        if not special and (right := [key for key in ROLES[role](text, query) if _open(text, key)])
    ]
    return Finding(answers) if answers else None


def _answer(names: Sequence[str], weights: Weights, query: int, right: Sequence[int]) -> Answer:
    row = weights[query]
    given, best = int(row.argmax()), max(right, key=lambda key: row[key])
    most = float(row[given])
    return Answer(
        names[query],
        names[best],
        names[given] if most > 0 else None,
        float(row[list(right)].sum()),
        most,
        most > 0 and given in right,
        (query, best),
    )


def _open(text: KeptText, key: int) -> bool:
    return 0 <= key < len(text.tokens) and not text.sink[key]


def _beside(*offsets: int) -> Callable[[KeptText, int], list[int]]:
    return lambda text, query: [query + offset for offset in offsets]


def _same(text: KeptText, query: int) -> list[int]:
    token = text.tokens[query].lower()
    return [key for key, other in enumerate(text.tokens) if key != query and other.lower() == token]


ROLES: dict[str, Callable[[KeptText, int], list[int]]] = {
    "previous": _beside(-1),
    "next": _beside(1),
    "near": _beside(-2, -1, 1, 2),
    "itself": _beside(0),
    "same": _same,
}
"""The tokens that have a role for a token, as in the measure ``work``. "same" is the same token
elsewhere, whatever its case."""
