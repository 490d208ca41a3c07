"""Figure 5 of Clark et al. 2019: heads that find a relation, drawn on a sentence each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.corpus import Example
from headscope.figures import attention_lines, attention_panel
from headscope.figures.lines import NARROW, NEAR
from headscope.heads import Head
from headscope.models import Model
from headscope.page import Plot, records
from headscope.papers.clark2019.tables import treebank_labels
from headscope.results import Atlas
from headscope.runs.examples import HeadExample, antecedent_example, relation_example, sentences
from headscope.stats import best_heads
from headscope.stats.tables.relations import ALL

RELATIONS = ("dobj", "det", "poss", "auxpass", "pobj")
"""The relations of Figure 5."""
WAYS = {
    "dependent to head": "the dependent attends to its head word",
    "head to dependent": "the head word attends to the dependent",
}
FIGURE_5 = (
    "As in Figure 5: {what}. Words whose attention counts are red, and so is all attention to and "
    "from them. The number is the head's accuracy on the whole corpus. The sentence is chosen: of "
    "the first 30 short ones (60 excerpts for coreference), the one on which the head does best. "
    "Lines to [CLS] and [SEP] show where words rest that the head has nothing to say about."
)


@dataclass(frozen=True)
class Specialist:
    """A head to be drawn on a sentence (Figure 5).

    Parameters
    ----------
    relation
        The relation's label in the treebank.
    head
        The head.
    direction
        Which word attends: a key of ``WAYS``.
    accuracy
        Its share of right answers on the whole corpus.
    """

    relation: str
    head: Head
    direction: str
    accuracy: float


def paper_specialists(table: pd.DataFrame, labels: Mapping[str, str | None]) -> list[Specialist]:
    """Choose the heads of Figure 5: the best ones at the paper's five relations.

    Parameters
    ----------
    table
        What :func:`headscope.stats.best_heads` returned.
    labels
        What the treebank calls each of the paper's relations; None if it has no such relation.

    Returns
    -------
    list of Specialist
        In the paper's order. A relation that the treebank does not have is left out.
    """
    rows = {row["relation"]: row for row in records(table)}
    found = [rows.get(labels.get(name)) for name in RELATIONS]
    return [_specialist(row) for row in found if row]


def further_specialists(
    table: pd.DataFrame, drawn: Collection[str], *, most: int
) -> list[Specialist]:
    """Choose the heads that gain most over the fixed offset at other relations.

    Parameters
    ----------
    table
        What :func:`headscope.stats.best_heads` returned.
    drawn
        Relations that are drawn already.
    most
        How many heads.

    Returns
    -------
    list of Specialist
        Heads with corrected p < 0.05, the largest gain first; groups of relations and punctuation
        do not count.
    """
    single = ~table["relation"].str.startswith(ALL) & (table["relation"] != "punct")
    new = single & ~table["relation"].isin(list(drawn)) & (table["p_corrected"] < 0.05)
    gain = table["accuracy"] - table["baseline"]
    chosen = table[new].assign(gain=gain[new]).sort_values("gain", ascending=False).head(most)
    return [_specialist(row) for row in records(chosen)]


def _specialist(row: Mapping[str, Any]) -> Specialist:
    head, accuracy = Head.parse(row["head"]), float(row["accuracy"])
    return Specialist(row["relation"], head, row["direction"], accuracy)


def relation_charts(
    model: Model, treebank: Iterable[Example], heads: Sequence[Specialist]
) -> list[Any]:
    """Draw each head on a sentence that has its relation.

    Parameters
    ----------
    model
        The model.
    treebank
        Examples with trees; passages are cut into sentences.
    heads
        The heads.

    Returns
    -------
    list of charts
        A head without a short sentence is left out.
    """
    charts = []
    for one in heads:
        example = relation_example(
            model,
            sentences(treebank),
            relation=one.relation,
            head=one.head,
            direction=one.direction,
        )
        if example:
            title = f"Head {one.head}: {one.relation}, {100 * one.accuracy:.1f} %"
            charts.append(_chart(example, title, WAYS[one.direction]))
    return charts


def antecedent_charts(model: Model, documents: Iterable[Example], table: pd.DataFrame) -> list[Any]:
    """Draw the coreference head on an excerpt of a document.

    Parameters
    ----------
    model
        The model.
    documents
        Documents with mentions.
    table
        What :func:`headscope.stats.antecedent_table` returned.

    Returns
    -------
    list of charts
        One; empty if there is no head or no excerpt to draw it on.
    """
    best = next((row for row in records(table) if row["system"].startswith("head ")), None)
    if best is None:
        return []
    head, accuracy = Head.parse(best["system"].removeprefix("head ")), float(best["all"])
    example = antecedent_example(model, documents, head=head)
    if example is None:
        return []
    title = f"Head {head}: coreference, {100 * accuracy:.1f} %"
    return [_chart(example, title, "mentions attend to their antecedents")]


def _chart(example: HeadExample, title: str, subtitle: str) -> Any:
    return attention_lines(
        example.words,
        example.attention,
        title=title,
        subtitle=subtitle,
        red=example.marked,
        widest=NARROW,
        between=NEAR,
    )


def specialist_plot(name: str, title: str, what: str, charts: Sequence[Any]) -> list[Plot]:
    """Put drawings of heads into one panel.

    Parameters
    ----------
    name
        Used in file names and identifiers.
    title
        Above the panel.
    what
        Which heads these are, for the caption.
    charts
        The drawings.

    Returns
    -------
    list of Plot
        One panel; empty without drawings.
    """
    if not charts:
        return []
    panel = attention_panel(charts, title=title, columns=2)
    return [Plot(name, title, FIGURE_5.format(what=what), panel)]


def language_plots(
    model: Model,
    dependency: Atlas,
    treebank: Iterable[Example],
    antecedents: Sequence[Any],
    *,
    most: int = 6,
) -> list[Plot]:
    """Draw heads on sentences: those of Figure 5, then those that gain most at other relations.

    Parameters
    ----------
    model
        The model.
    dependency
        A survey with the measure dependency.
    treebank
        Its examples.
    antecedents
        The drawing of the coreference head, from :func:`antecedent_charts`.
    most
        How many heads are drawn for other relations.

    Returns
    -------
    list of Plot
        Two panels, or fewer if there is nothing to draw.
    """
    labels = treebank_labels(dependency)
    known = [label for label in labels.values() if label]
    paper = paper_specialists(best_heads(dependency, relations=known), labels)
    others = further_specialists(best_heads(dependency), [one.relation for one in paper], most=most)
    return [
        *specialist_plot(
            "figure-5",
            "Heads that find a relation",
            "the best heads at the paper's relations, and the coreference head",
            [*relation_charts(model, treebank, paper), *antecedents],
        ),
        *specialist_plot(
            "further-heads",
            "Further heads that find a relation",
            "heads that gain most over the fixed offset at other relations",
            relation_charts(model, treebank, others),
        ),
    ]
