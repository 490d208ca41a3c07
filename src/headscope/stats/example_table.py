"""A table of examples of one head that shows itself: texts with their strongest links."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from headscope.errors import UserError
from headscope.results.kept import KeptExamples, KeptMap
from headscope.stats.kept_relations import SHOWN, Finding, relation_ways
from headscope.stats.word_links import excerpt, show_link, strongest_links

PLAIN = ["rank", "score", "id", "text", "links"]
"""The columns of a table of a head's strongest examples."""
RELATED = [
    "rank",
    "side",
    "found",
    "of",
    "attention",
    "direction",
    "score",
    "id",
    "text",
    "links",
]
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
            found: str | None = super()._repr_html_()  # type: ignore[misc]
            return found
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
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


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
    maps = {one.text: one for one in [*kept.sample(head), *kept.strongest(head)]}
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
    ordered = sorted(maps, key=lambda one: (-one.score, one.text.number, one.text.part))
    if relation:
        return _related(ordered, head, relation, k)
    rows, excerpts = [], []
    for rank, one in enumerate(ordered[:k], 1):
        links = strongest_links(one, SHOWN)
        shown = "; ".join(show_link(one.text, *link) for link in links)
        rows.append(_row(rank, one) | {"links": shown})
        excerpts.append(excerpt(one.text.words, [*links[0][:2]] if links else [], ROOM))
    title = f"Head {head}: the examples on which it is strongest"
    return _table(rows, PLAIN, title, excerpts)


def _related(maps: Sequence[KeptMap], head: str, relation: str, k: int) -> ExampleTable:
    ways = relation_ways(relation, [one.text for one in maps])
    found = {
        way: [(one, finding) for one in maps if (finding := find(one)) is not None]
        for way, find in ways.items()
    }
    way = max(found, key=lambda way: _success(found[way]))
    ordered = sorted(found[way], key=lambda pair: pair[1].rank)
    if len(ordered) > k:
        ordered = [*ordered[: k - k // 2], *ordered[len(ordered) - k // 2 :]]
    rows, excerpts = [], []
    for rank, (one, finding) in enumerate(ordered, 1):
        shown = finding.shown()
        rows.append(
            _row(rank, one)
            | {
                "side": "for" if finding.favourable else "against",
                "found": finding.found,
                "of": len(finding.answers),
                "attention": finding.attention,
                "direction": way,
                "links": "; ".join(str(answer) for answer in shown),
            }
        )
        words = one.text.words if way else one.text.tokens
        excerpts.append(excerpt(words, shown[0].place if shown else [], ROOM))
    right = sum(finding.found for _, finding in found[way])
    total = sum(len(finding.answers) for _, finding in found[way])
    towards = f", {way}" if way else ""
    count = len(found[way])
    title = (
        f"Head {head}, {relation}{towards}: {right} of {total} found in {count} "
        f"example{'s' * (count != 1)}"
    )
    return _table(rows, RELATED, title, excerpts)


def _row(rank: int, one: KeptMap) -> dict[str, Any]:
    return {"rank": rank, "score": one.score, "id": one.text.id, "text": str(one.text)}


def _success(found: Sequence[tuple[KeptMap, Finding]]) -> tuple[float, float]:
    """The share of pairs that are found, and the attention along them."""
    answers = [answer for _, finding in found for answer in finding.answers]
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
