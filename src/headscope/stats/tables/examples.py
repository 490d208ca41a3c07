"""Examples of one head: texts with their strongest links, for and against a relation.

The texts are those that a survey kept. Beside them: the words that a head attends from and to most.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.corpus import ROOT, Example
from headscope.errors import UserError, unknown
from headscope.heads import HeadLike
from headscope.results.kept import KeptExamples, KeptMap, KeptText

Weights = NDArray[np.float64]


def word_weights(map_: KeptMap, *, sinks: bool = True) -> Weights:
    """Attention between the words of a kept text (Clark et al. 2019, Section 4.1).

    Parameters
    ----------
    map_
        The map.
    sinks
        Whether attention from and to sinks counts. Special tokens are not words, and never do.

    Returns
    -------
    numpy.ndarray
        (word, word): to a word the sum over its tokens, from a word the mean.

    Examples
    --------
    >>> from headscope.results.kept import KeptText
    >>> text = KeptText(1, "1", "", ("[CLS]", "bark", "s"), (-1, 0, 0), ("barks",),
    ...                 (True, False, False), (True, False, False), (-1,), ("root",), (0,), 3)
    >>> counts, keys = np.array([0, 2, 1], np.uint8), np.array([1, 2, 0], np.uint16)
    >>> word_weights(KeptMap(text, 1.0, counts, keys, np.float32([0.5, 0.25, 1.0]))).tolist()
    [[0.375]]
    """
    text, dense = map_.text, map_.dense().astype(np.float64)
    if not sinks:
        sink = np.array(text.sink, bool)
        dense[sink], dense[:, sink] = 0.0, 0.0
    groups = word_groups(text)
    weights: Weights = (groups / groups.sum(1, keepdims=True)) @ dense @ groups.T
    return weights


def word_groups(text: KeptText) -> Weights:
    """Which tokens make up each word, (word, token)."""
    unit = np.array(text.unit, np.int64)
    return np.asarray(np.arange(len(text.words))[:, None] == unit, np.float64)


def strongest_links(map_: KeptMap, count: int) -> list[tuple[int, int, float]]:
    """The strongest links from a word to another; neither is a sink.

    Parameters
    ----------
    map_
        The map.
    count
        How many links.

    Returns
    -------
    list of (query, key, weight)
        Words by their place in the text; the strongest first, of equals the first.
    """
    weights = word_weights(map_, sinks=False)
    np.fill_diagonal(weights, 0.0)
    order = np.argsort(-weights, axis=None, kind="stable")[:count]
    places = [divmod(int(place), len(weights)) for place in order]
    return [(*place, float(weights[place])) for place in places if weights[place] > 0]


def show_link(text: KeptText, query: int, key: int, weight: float) -> str:
    """A link as people read it: ``the → dog 0.79``."""
    return f"{text.words[query]} → {text.words[key]} {weight:.2f}"


def excerpt(words: Sequence[str], places: Sequence[int], width: int) -> str:
    """The words around some places of a text, as many as fit.

    Parameters
    ----------
    words
        The text.
    places
        What must be seen. If they are too far apart, only the first of them is.
    width
        Characters.

    Examples
    --------
    >>> excerpt("the old dog saw a cat on the mat".split(), [4, 5], 21)
    '… saw a cat on the …'
    """
    if not places:
        places = [0]
    first, last = min(places), max(places) + 1
    room = width - 4
    if len(" ".join(words[first:last])) > room:
        first, last = places[0], places[0] + 1
    while True:
        wider = [
            (begin, end)
            for begin, end in ((first, last + 1), (first - 1, last + 1), (first - 1, last))
            if begin >= 0 and end <= len(words) and len(" ".join(words[begin:end])) <= room
        ]
        if not wider:
            break
        first, last = max(wider, key=lambda span: span[1] - span[0])
    shown = " ".join(words[first:last])[:room]
    return "… " * (first > 0) + shown + " …" * (last < len(words))


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
        ordered = sorted(self.answers, key=lambda answer: -answer.most)
        right = [answer for answer in ordered if answer.found]
        wrong = [answer for answer in ordered if not answer.found]
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
        return {"": lambda map_: _role(map_, relation)}
    _check_known(relation, {label for text in texts for label in known_relations(text)})
    return {
        UP: lambda map_: _arcs(map_, relation, up=True),
        DOWN: lambda map_: _arcs(map_, relation, up=False),
    }


def check_relation(corpus: Iterable[Example], relation: str) -> None:
    """Refuse a relation that no example of a corpus has."""
    if not relation or relation in ROLES:
        return
    words = [word for example in corpus for word in example.words]
    labels = {word.relation for word in words if word.head is not None and word.head != ROOT}
    _check_known(relation, labels | {label.partition(":")[0] for label in labels})


def _check_known(relation: str, labels: set[str]) -> None:
    """Refuse a relation that is not among the labels of the trees, or for want of trees."""
    if not labels:
        raise UserError(
            f"the texts have no dependency trees, so {relation!r} cannot be looked for; without "
            f"trees there are {', '.join(ROLES)}",
            hint="parse the corpus: hs.examples(model, corpus, head, parse=True, "
            f"relation={relation!r})",
        )
    if relation not in labels:
        raise unknown("relation", relation, [*ROLES, *sorted(labels)])


def known_relations(text: KeptText) -> set[str]:
    """The dependency labels that a text has, with and without their subtypes."""
    pairs = zip(text.relation, text.head, strict=True)
    labels = {label for label, head in pairs if label and head >= 0}
    return labels | {label.partition(":")[0] for label in labels}


def _arcs(map_: KeptMap, relation: str, *, up: bool) -> Finding | None:
    """Of the words of its sentence, does a word attend most to the other end of the arc?

    As in the measure ``dependency``, special tokens are ignored.
    """
    text = map_.text
    arcs = [
        (word, head) if up else (head, word)
        for word, (head, label) in enumerate(zip(text.head, text.relation, strict=True))
        if head >= 0 and relation in {label, label.partition(":")[0]}
    ]
    if not arcs:
        return None
    weights, sentence = word_weights(map_), np.array(text.sentence)
    np.fill_diagonal(weights, 0.0)
    weights = np.where(sentence[:, None] == sentence, weights, 0.0)
    return Finding([_answer(text.words, weights, query, [right]) for query, right in arcs])


def _role(map_: KeptMap, role: str) -> Finding | None:
    """Of the tokens that are not sinks, does a token attend most to one that has the role?"""
    text = map_.text
    weights = map_.dense().astype(np.float64)
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
    strongest, best = int(row.argmax()), max(right, key=lambda key: row[key])
    most = float(row[strongest])
    return Answer(
        names[query],
        names[best],
        names[strongest] if most > 0 else None,
        float(row[list(right)].sum()),
        most,
        most > 0 and strongest in right,
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


OFTEN = 2
MANY = 5


def rarity(seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 for pairs seen many times, which come first; 1 for those seen twice or more; then 2."""
    # The mean attention of a pair that was seen once or twice is mostly chance.
    return (seen < OFTEN).astype(np.int64) + (seen < MANY)


class WordPair(NamedTuple):
    """A pair of words, the mean attention from one to the other, and how often it was seen."""

    query: str
    key: str
    attention: float
    seen: int


class WordShare(NamedTuple):
    """A word, and its share of a head's attention between words."""

    word: str
    share: float


class _Links(NamedTuple):
    """The links between words of all texts of the sample: word numbers and weights."""

    words: list[str]
    query: NDArray[np.int64]
    key: NDArray[np.int64]
    weight: NDArray[np.float64]


def top_pairs(kept: KeptExamples, head: HeadLike, n: int = 8) -> list[WordPair]:
    """The pairs of words with the most attention from one to the other.

    Parameters
    ----------
    kept
        The examples of some results; only the random sample counts.
    head
        The head.
    n
        How many pairs.

    Returns
    -------
    list of WordPair
        Words in lower case. The attention is the mean over all places where the head attends from
        one to the other (over 0.005); neither sinks nor a word itself count. Pairs that were seen
        at least twice come first, and among them those with the most attention.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks at the cat.", "A cat sleeps.", "The dog eats."]
    >>> kept = hs.survey("demo", texts, measures="position").kept
    >>> [(pair.query, pair.key, pair.seen) for pair in top_pairs(kept, "1-3", n=1)]
    [('dog', 'the', 2)]
    """
    links = _links(kept, head)
    codes = links.query * max(len(links.words), 1) + links.key
    pairs, places, seen = np.unique(codes, return_inverse=True, return_counts=True)
    means = np.bincount(places, links.weight, len(pairs)) / np.maximum(seen, 1)
    order = np.lexsort((pairs, -means, rarity(seen)))[:n]
    return [
        WordPair(
            links.words[int(pairs[place]) // len(links.words)],
            links.words[int(pairs[place]) % len(links.words)],
            float(means[place]),
            int(seen[place]),
        )
        for place in order
    ]


def top_queries(kept: KeptExamples, head: HeadLike, n: int = 8) -> list[WordShare]:
    """The words from which most of a head's attention to other words comes.

    Parameters
    ----------
    kept, head, n
        As in :func:`top_pairs`.

    Returns
    -------
    list of WordShare
        Words in lower case, with their share of all attention between words, sinks excluded.
    """
    links = _links(kept, head)
    return _shares(links.words, links.query, links.weight, n)


def top_keys(kept: KeptExamples, head: HeadLike, n: int = 8) -> list[WordShare]:
    """The words to which most of a head's attention to other words goes.

    Parameters
    ----------
    kept, head, n
        As in :func:`top_pairs`.

    Returns
    -------
    list of WordShare
        As :func:`top_queries`.
    """
    links = _links(kept, head)
    return _shares(links.words, links.key, links.weight, n)


def _shares(
    words: list[str], numbers: NDArray[np.int64], weights: NDArray[np.float64], n: int
) -> list[WordShare]:
    sums = np.bincount(numbers, weights, len(words))
    order = np.argsort(-sums, kind="stable")[:n]
    total = sums.sum()
    return [WordShare(words[at], float(sums[at] / total)) for at in order if sums[at] > 0]


def _links(kept: KeptExamples, head: HeadLike) -> _Links:
    """All links between two different words of a text, in the order of the corpus."""
    maps = sorted(kept.sample(head), key=lambda map_: (map_.text.number, map_.text.part))
    numbers: dict[str, int] = {}
    links = [_of_text(map_, numbers) for map_ in maps]
    query, key, weight = (
        np.concatenate([np.zeros(0), *(part[place] for part in links)]) for place in range(3)
    )
    return _Links(list(numbers), query.astype(np.int64), key.astype(np.int64), weight)


def _of_text(
    map_: KeptMap, numbers: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The links between words of one text: to a word the sum over its pieces, from it the mean."""
    text = map_.text
    words = np.array(
        [numbers.setdefault(word.lower(), len(numbers)) for word in text.words], np.int64
    )
    unit, sink = np.array(text.unit, np.int64), np.array(text.sink, bool)
    query, key = unit[map_.queries], unit[map_.keys]
    good = (query >= 0) & (key >= 0) & (query != key) & ~sink[map_.queries] & ~sink[map_.keys]
    codes = query[good] * max(len(words), 1) + key[good]
    pairs, places = np.unique(codes, return_inverse=True)
    sums = np.bincount(places, map_.weights[good], len(pairs))
    pieces = np.bincount(unit[unit >= 0], minlength=len(words))
    queries, keys = pairs // max(len(words), 1), pairs % max(len(words), 1)
    return words[queries], words[keys], sums / pieces[queries]


PLAIN = ["rank", "score", "id", "text", "links"]
"""The columns of a table of a head's strongest examples."""
RELATED = ["rank", "side", "found", "of", "attention", "direction", "score", "id", "text", "links"]
"""The columns of a table of examples for and against a relation."""
ROOM = 91
"""Characters of a text that are printed."""


class ExampleTable(pd.DataFrame):
    """A data frame of examples that prints its texts with their links.

    Without the columns it was made with, it prints as any other data frame.
    """

    @property
    def _constructor(self) -> type[ExampleTable]:
        return ExampleTable

    def _whole(self) -> bool:
        return list(self.columns) in (PLAIN, RELATED) and "title" in self.attrs

    def __repr__(self) -> str:
        if not self._whole():
            return super().__repr__()
        lines = [self.attrs["title"]]
        for row in self.to_dict("records"):
            lines.append(f"{row['rank']:>3}  {_facts(row)}")
            lines.append(f"     {printable(self.attrs['excerpts'][row['rank']])}")
            lines.append(f"     {printable(row['links'])}")
        return "\n".join(lines)

    def _repr_html_(self) -> str | None:
        if not self._whole():
            frame_html: str | None = super()._repr_html_()  # type: ignore[misc]
            return frame_html
        rows = "".join(
            f"<tr><td>{row['rank']}</td><td>{html.escape(_facts(row))}</td>"
            f'<td style="text-align:left">{html.escape(printable(row["text"]))}<br>'
            f"<b>{html.escape(printable(row['links']))}</b></td></tr>"
            for row in self.to_dict("records")
        )
        return f"<p>{html.escape(self.attrs['title'])}</p><table>{rows}</table>"


def _facts(row: dict[Any, Any]) -> str:
    """The numbers of an example in words."""
    score = f"strength {row['score']:.2f}  {printable(str(row['id']))}"
    if "found" not in row:
        return score
    return (
        f"{row['side']}: {row['found']} of {row['of']} found, attention {row['attention']:.2f}  "
        f"({score})"
    )


def printable(text: str) -> str:
    """A text without characters that control a terminal or turn the direction of writing.

    >>> printable("a\\x1b[31mb\\u202ec")
    'a\\ufffd[31mb\\ufffdc'
    """
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def kept_table(kept: KeptExamples, head: str, *, relation: str = "", k: int = 10) -> ExampleTable:
    """The examples of a head that some results hold.

    Parameters
    ----------
    kept
        The examples of all heads.
    head
        The head.
    relation, k
        As in :func:`example_table`.

    Returns
    -------
    ExampleTable
        The strongest examples first, then those of the sample; with a relation, all of them that
        have it.
    """
    maps = {map_.text: map_ for map_ in [*kept.sample(head), *kept.strongest(head)]}
    return example_table(maps.values(), head, relation=relation, k=k)


def example_table(
    maps: Iterable[KeptMap], head: str, *, relation: str = "", k: int = 10
) -> ExampleTable:
    """A table of examples of one head.

    Parameters
    ----------
    maps
        What the head attends to in some texts.
    head
        The name of the head.
    relation
        A dependency label, or one of ``previous``, ``next``, ``near``, ``itself``, ``same``: then
        examples are sorted by how many of its pairs the head finds.
    k
        At most so many examples. With a relation, half of them are those that count most for it,
        and half those that count most against it.

    Returns
    -------
    ExampleTable
        A data frame with the columns :data:`PLAIN` or :data:`RELATED`.
    """
    if k < 1:
        raise UserError(f"the number of examples must be 1 or more, got {k!r} instead")
    ordered = sorted(maps, key=lambda map_: (-map_.score, map_.text.number, map_.text.part))
    if relation:
        return _related(ordered, head, relation, k)
    rows, excerpts = [], []
    for rank, map_ in enumerate(ordered[:k], 1):
        links = strongest_links(map_, SHOWN)
        shown = "; ".join(show_link(map_.text, *link) for link in links)
        rows.append(_row(rank, map_) | {"links": shown})
        excerpts.append(excerpt(map_.text.words, [*links[0][:2]] if links else [], ROOM))
    title = f"Head {head}: the examples on which it is strongest"
    return _table(rows, PLAIN, title, excerpts)


def _related(maps: Sequence[KeptMap], head: str, relation: str, k: int) -> ExampleTable:
    by_way = {
        way: [(map_, finding) for map_ in maps if (finding := find(map_)) is not None]
        for way, find in relation_ways(relation, [map_.text for map_ in maps]).items()
    }
    way = max(by_way, key=lambda way: _success(by_way[way]))
    ordered = sorted(by_way[way], key=lambda pair: pair[1].rank)
    if len(ordered) > k:
        ordered = [*ordered[: k - k // 2], *ordered[len(ordered) - k // 2 :]]
    rows, excerpts = [], []
    for rank, (map_, finding) in enumerate(ordered, 1):
        shown = finding.shown()
        rows.append(
            _row(rank, map_)
            | {
                "side": "for" if finding.favourable else "against",
                "found": finding.found,
                "of": len(finding.answers),
                "attention": finding.attention,
                "direction": way,
                "links": "; ".join(str(answer) for answer in shown),
            }
        )
        words = map_.text.words if way else map_.text.tokens
        excerpts.append(excerpt(words, shown[0].place if shown else [], ROOM))
    right = sum(finding.found for _, finding in by_way[way])
    total = sum(len(finding.answers) for _, finding in by_way[way])
    towards = f", {way}" if way else ""
    count = len(by_way[way])
    title = (
        f"Head {head}, {relation}{towards}: {right} of {total} found in {count} "
        f"example{'s' * (count != 1)}"
    )
    return _table(rows, RELATED, title, excerpts)


def _row(rank: int, map_: KeptMap) -> dict[str, Any]:
    return {"rank": rank, "score": map_.score, "id": map_.text.id, "text": str(map_.text)}


def _success(pairs: Sequence[tuple[KeptMap, Finding]]) -> tuple[float, float]:
    """The share of pairs that are found, and the attention along them."""
    answers = [answer for _, finding in pairs for answer in finding.answers]
    if not answers:
        return 0.0, 0.0
    right = sum(answer.found for answer in answers) / len(answers)
    return right, sum(answer.weight for answer in answers) / len(answers)


def _table(
    rows: Sequence[dict[str, Any]], columns: list[str], title: str, excerpts: Sequence[str]
) -> ExampleTable:
    table = ExampleTable(rows, columns=columns)
    table.attrs = {"title": title, "excerpts": dict(enumerate(excerpts, 1))}
    return table
