"""Maps on the page: Figure 1, Figure 3 and Appendix A."""

from __future__ import annotations

import numpy as np

from headscope.figures.lines import map_with_zoom
from headscope.figures.patterns import PATTERNS
from headscope.papers.kovaleva2019 import DrawnExample, appendix_plot, strongest_row, typical_plot
from headscope.results import TextAttention
from headscope.runs.examples import HeadExample

RANDOM = np.random.default_rng(0)


def classified() -> DrawnExample:
    """Two layers of six heads: all of layer 1 are diagonal, of layer 2 (called 4) block."""
    maps = RANDOM.dirichlet(np.ones(5), size=(2, 6, 5))
    sureness = np.array([[0.4, 0.9, 0.5, 0.8, 0.7, 0.6], [0.5] * 6])
    classes = [["diagonal"] * 6, ["block"] * 6]
    seen = TextAttention.build(
        maps,
        tokens=tuple("abcde"),
        special=[False] * 5,
        model="made",
        layers=[1, 4],
        classes=(np.array(classes, dtype=object), sureness),
    )
    return ("A text.",), seen


def test_figure_1_has_the_maps_that_the_network_is_surest_of():
    spec = typical_plot({"RTE": classified()}).chart.to_dict()
    pictures, titles = spec["datasets"].values()
    labels = [row["label"] for row in pictures]
    assert labels[:4] == ["RTE 1-2", "RTE 1-4", "RTE 1-5", "RTE 1-6"]
    assert labels[4:] == ["RTE 4-1", "RTE 4-2", "RTE 4-3", "RTE 4-4"]
    assert [row["class"] for row in titles] == list(PATTERNS)
    columns = {row["class"]: row["x"] for row in titles}
    assert {row["x"] for row in pictures} == {columns["diagonal"], columns["block"]}


def test_the_appendix_has_every_map_of_an_example():
    plot = appendix_plot(("RTE", classified()))
    assert plot.name == "appendix-rte"
    names = {
        row["name"]
        for rows in plot.chart.to_dict()["datasets"].values()
        for row in rows
        if "url" in row
    }
    assert names == {f"{layer}-{head}" for layer in (1, 4) for head in range(1, 7)}


def test_the_zoom_shows_the_row_where_the_link_is_strongest():
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]])
    example = HeadExample(("a", "b", "c"), weights, frozenset({0, 2}), target=frozenset({2}))
    row = strongest_row(example)
    assert row == 0
    spec = map_with_zoom(example.words, weights, row=row, marked={2}, title="1-1").to_dict()
    cells, bars = spec["datasets"].values()
    assert [[cell["weight"] for cell in cells if cell["from"] == one] for one in range(3)] == (
        weights.tolist()
    )
    assert [bar["weight"] for bar in bars] == weights[0].tolist()
    assert [bar["marked"] for bar in bars] == [False, False, True]
