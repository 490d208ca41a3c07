"""Figures 1 and 5: the right heads are chosen, and their attention is what is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from headscope.corpus import Example, from_examples
from headscope.papers import Clark2019
from headscope.papers.clark2019 import recipe
from headscope.papers.clark2019.recipe import further_specialists, paper_specialists
from headscope.runs.survey import survey
from planted import HEADS, planted_bert, planted_gpt2

MEASURES = ["position", "special", "entropy"]
UP, DOWN = "dependent to head", "head to dependent"
TEXTS = [
    Example(str(number), ("the dogs sat on the mat .", f"a cat saw it , the {last} ."))
    for number, last in enumerate(("dog", "old cat"))
]


def titles(model: Any, texts: list[Example]) -> dict[str, Any]:
    """The drawings of Figure 1, by title."""
    corpus = from_examples(texts)
    results = survey(model, corpus, measures=MEASURES, max_length=24)
    (plot,) = Clark2019(model, text=corpus).figure_1(results)
    spec = plot.chart.to_dict()
    for chart in spec["concat"]:
        chart["lines"] = spec["datasets"][chart["layer"][0]["data"]["name"]]
    return {chart["title"]["text"][0]: chart for chart in spec["concat"]}


def name(planted: str) -> str:
    layer, head = HEADS[planted]
    return f"{layer}-{head}"


def test_figure_1_draws_the_clearest_head_of_each_kind():
    drawn = titles(planted_bert(), TEXTS)
    assert list(drawn) == [
        f"Head {name('uniform')}: broad",
        f"Head {name('next')}: next token",
        f"Head {name('sep')}: [SEP]",
        f"Head {name('stop')}: full stop, comma",
    ]
    assert drawn[f"Head {name('uniform')}: broad"]["title"]["subtitle"] == [
        "100 % of uniform entropy, on average"
    ]
    assert drawn[f"Head {name('sep')}: [SEP]"]["title"]["subtitle"] == [
        "100 % of its attention, on average"
    ]


def test_figure_1_draws_tokens_with_their_separators():
    chart = titles(planted_bert(), TEXTS)[f"Head {name('sep')}: [SEP]"]
    lines = chart["lines"]
    assert {line["to"] for line in lines} == {"[SEP]"}
    assert len({line["query"] for line in lines}) == 19  # 8 + 8 tokens and three special ones
    assert {round(line["weight"], 3) for line in lines} == {0.5}  # there are two


def test_figure_1_leaves_out_what_a_causal_model_does_not_have():
    drawn = titles(planted_gpt2(), [Example("1", ("the old dog sat on the mat .",))])
    assert [title.partition(": ")[2] for title in drawn] == ["broad", "full stop, comma"]


def test_without_a_short_text_there_is_no_figure_1():
    corpus = from_examples([Example("1", ("the dog",))])
    results = survey(planted_bert(), corpus, measures=MEASURES, max_length=24)
    assert Clark2019(planted_bert(), text=corpus).figure_1(results) == []


def test_figure_2_has_the_uniform_line_only_where_there_are_separators():
    results = survey(planted_bert(), from_examples(TEXTS), measures=["special"], max_length=24)
    for uniform, expected in ((0.1, ["half", "uniform: 1/10"]), (np.nan, ["half"])):
        made = Clark2019(planted_bert())
        vars(made)["uniform"] = uniform
        for plot in made.figure_2(results):
            spec = plot.chart.to_dict()
            rule = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "rule")
            rows = spec["datasets"][rule["data"]["name"]]
            assert [row["what"] for row in rows] == expected


TABLE = pd.DataFrame(
    [
        # relation, head, direction, accuracy, baseline, p_corrected
        ("all", "1-1", UP, 0.9, 0.1, 0.0),
        ("obj", "3-1", UP, 0.7, 0.4, 0.001),
        ("case", "3-9", UP, 0.55, 0.3, 0.001),
        ("pobj (SD)", "3-9", DOWN, 0.6, 0.4, 0.001),
        ("cc", "2-2", UP, 0.9, 0.5, 0.001),
        ("nsubj", "2-3", UP, 0.6, 0.5, 0.001),
        ("conj", "2-4", UP, 0.9, 0.1, 0.2),
        ("punct", "2-5", UP, 0.9, 0.1, 0.001),
    ],
    columns=["relation", "head", "direction", "accuracy", "baseline", "p_corrected"],
)


def test_figure_5_has_the_papers_relations_in_the_papers_order():
    labels = {"pobj": "pobj (SD)", "dobj": "obj", "det": None, "poss": "nmod:poss"}
    chosen = paper_specialists(TABLE, labels)
    expected = [("obj", "3-1", UP), ("pobj (SD)", "3-9", DOWN)]
    assert [(one["relation"], one["head"], one["direction"]) for one in chosen] == expected
    assert chosen[0]["accuracy"] == pytest.approx(0.7)


def test_further_heads_gain_most_significantly_at_relations_not_drawn_yet():
    chosen = further_specialists(TABLE, ["obj", "pobj (SD)"], most=2)
    assert [one["relation"] for one in chosen] == ["cc", "case"]
    chosen = further_specialists(TABLE, [], most=9)
    assert [one["relation"] for one in chosen] == ["cc", "obj", "case", "pobj (SD)", "nsubj"]


def test_without_mentions_there_is_no_coreference_head_to_draw(monkeypatch):
    table = pd.DataFrame([{"system": "nearest", "all": 0.3}, {"system": "mentions", "all": 0}])
    monkeypatch.setattr(recipe, "antecedent_table", lambda _: table)
    made = Clark2019(planted_bert())
    vars(made)["coreferences"] = None
    assert made.antecedent_chart() is None
