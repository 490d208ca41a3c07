"""Frame relations: the strongest heads, their maps, and annotated sentences (Section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from headscope.corpus import Corpus, Example
from headscope.figures import attention_lines, attention_panel
from headscope.figures.lines import map_with_zoom
from headscope.figures.style import styled
from headscope.heads import Head
from headscope.models import Model
from headscope.page import Plot, Section, Table
from headscope.papers.kovaleva2019 import facts
from headscope.papers.kovaleva2019.tables import frame_rows
from headscope.papers.sections import gallery_plots
from headscope.runs.examples import HeadExample, frame_example
from headscope.stats import frame_table

if TYPE_CHECKING:
    from headscope.papers.kovaleva2019.recipe import Kovaleva2019

ANNOTATED = 5
"""Sentences in the table of frame annotations."""


def frame_section(recipe: Kovaleva2019, model: Model, corpus: Corpus) -> Section:
    """Write the section on frame relations (Figures 3 and 4).

    Parameters
    ----------
    recipe
        The recipe.
    model
        The pretrained model.
    corpus
        Sentences with frame links.
    """
    results = recipe.frame_results()
    first, second = facts.FRAME_HEADS
    note = (
        "The largest attention between a frame's target and a core element, in either "
        "direction, averaged over sentences. Published: two heads above the 99th percentile, "
        f"with {first} and {second}."
    )
    strongest = Table(
        frame_rows(results), title="Heads with the most attention along frame links", note=note
    )
    annotated = Table(
        annotation_rows(corpus, seed=recipe.options.seed),
        title="Sentences with frame annotation",
        note="As in Figure 4: the frame's target, and its core elements with their names.",
    )
    heads = [Head.parse(str(name)) for name in frame_table(results, top=2)["head"]]
    examples = {head: frame_example(model, corpus, head=head) for head in heads}
    drawn = [(head, one) for head, one in examples.items() if one is not None]
    seen = results.provenance["counts"]["seen"]
    return recipe.section(
        "frames",
        f"All {seen:,} examples with frame links, whatever the limit.",
        [strongest, annotated],
        [*gallery_plots(results, "frames"), *zoom_plots(drawn), *line_plots(drawn)],
    )


def line_plots(examples: Sequence[tuple[Head, HeadExample]]) -> list[Plot]:
    """Draw each head as lines, on the sentence that shows it best."""
    charts = [
        attention_lines(one.words, one.attention, title=f"Head {head}", red=one.marked)
        for head, one in examples
    ]
    if not charts:
        return []
    title = "Frame links in a sentence"
    caption = (
        "Attention between words; the frame's target and its element are red. Each sentence "
        "is the one in which the head attends most along a link, not a typical one."
    )
    return [Plot("frame-lines", title, caption, attention_panel(charts, title=title, columns=2))]


def zoom_plots(examples: Sequence[tuple[Head, HeadExample]]) -> list[Plot]:
    """Draw the map of each head, and a zoom on one row (Figure 3)."""
    charts = []
    for head, example in examples:
        # The paper's heads attend from the target; here the row is where the link is stronger.
        row = strongest_row(example)
        charts.append(
            map_with_zoom(
                example.words,
                example.attention,
                row=row,
                marked=example.marked - {row},
                title=f"Head {head}",
            )
        )
    if not charts:
        return []
    title = "Maps of the strongest heads"
    caption = (
        "After Figure 3, left and right: the map of each head on the sentence in which it attends "
        "most along a frame link, between words; below, attention from the word where the link is "
        "strongest, with the words of target and element in red."
    )
    chart = styled(alt.hconcat(*charts, spacing=40).resolve_scale(color="independent"), title)
    return [Plot("frame-maps", title, caption, chart)]


def strongest_row(example: HeadExample) -> int:
    """The word of a frame's target or element that attends most to a word of the other.

    Examples
    --------
    >>> weights = np.array([[0.9, 0.1, 0.0], [0.0, 0.2, 0.8], [0.3, 0.7, 0.0]])
    >>> marked, target = frozenset({0, 2}), frozenset({2})
    >>> strongest_row(HeadExample(("He", "was", "sad"), weights, marked, target=target))
    2
    """
    target, element = sorted(example.target), sorted(example.marked - example.target)
    pairs = [pair for one in target for two in element for pair in ((one, two), (two, one))]
    return max(pairs, key=lambda pair: float(example.attention[pair]))[0]


def annotation_rows(corpus: Corpus, *, seed: int) -> list[dict[str, str]]:
    """List some sentences with their frames, as Figure 4 shows one.

    Parameters
    ----------
    corpus
        Sentences with frame links.
    seed
        Draws the sentences. Those with two elements, as in the figure, come first.

    Returns
    -------
    list of dict
        The frame, the sentence with target and elements in brackets, and the elements' names.
    """
    linked = [example for example in islice(corpus, 2000) if example.links]
    order = np.random.default_rng(seed).permutation(len(linked))
    drawn = sorted((linked[place] for place in order), key=lambda one: -min(2, len(one.links)))
    return [
        {
            "frame": example.links[0].frame or "–",
            "sentence": bracketed(example),
            "core elements": ", ".join(link.element or "–" for link in example.links),
        }
        for example in drawn[:ANNOTATED]
    ]


def bracketed(example: Example) -> str:
    """A sentence with its target and its elements in brackets.

    Examples
    --------
    >>> from headscope.corpus import FrameLink, Word
    >>> words = tuple(Word(text) for text in "He was becoming agitated".split())
    >>> link = FrameLink("Emotion_directed", "Experiencer", target=(3, 3), filler=(0, 0))
    >>> bracketed(Example("1", ("He was becoming agitated",), words, links=(link,)))
    '[He: Experiencer] was becoming [agitated: target]'
    """
    spans = {link.filler: link.element or "element" for link in example.links}
    spans |= {link.target: "target" for link in example.links}
    starts = {start: (end, name) for (start, end), name in spans.items()}
    parts, place = [], 0
    while place < len(example.words):
        end, name = starts.get(place, (place, ""))
        text = " ".join(word.text for word in example.words[place : end + 1])
        parts.append(f"[{text}: {name}]" if name else text)
        place = end + 1
    return " ".join(parts)
