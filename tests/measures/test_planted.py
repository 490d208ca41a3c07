"""Every measure finds exactly what was planted in a model made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import twins
from headscope.corpus import Corpus, from_texts
from headscope.encode import Encoded, collate
from headscope.models import Model
from headscope.results import Atlas
from headscope.runs.survey import survey
from planted import HEADS, expected_map, place, planted_bert, planted_gpt2, tokens

TEXTS: list[str | tuple[str, str]] = [
    ("the dog barks.", "a cat sat, it saw the mat."),
    "the old dog saw it.",
    ("who sat on the mat!", "the cat"),
    "a cat",
    ("dogs barking, barking. dogs.", "it sat on dog, mat."),
]


@pytest.fixture(scope="module")
def bert():
    return planted_bert()


@pytest.fixture(scope="module")
def gpt2():
    return planted_gpt2()


@pytest.fixture(scope="module")
def found(bert):
    return survey(bert, from_texts(TEXTS), max_length=24, batch_size=2)


@pytest.fixture(scope="module")
def causal(gpt2):
    return survey(gpt2, from_texts(TEXTS), max_length=24, batch_size=2)


def encoded(model: Model, corpus: Corpus) -> list[Encoded]:
    return list(
        model.encoder(max_length=24, long="truncate", stack=model.main_stack()).encode(corpus)
    )


def at(results: Atlas, measure: str, head: str, **labels: str) -> float:
    return float(results.mean(measure).sel(**place(head), **labels))


def test_the_maps_of_the_planted_models_are_the_maps_that_were_planned(bert, gpt2):
    for model, blind in ((bert, False), (gpt2, True)):
        for item in encoded(model, from_texts(TEXTS)):
            maps: list[torch.Tensor] = []
            with torch.no_grad():
                model.forward(
                    collate([item]),
                    listeners=[lambda view, maps=maps: maps.append(view.attention[0])],
                )
            for name, (layer, head) in HEADS.items():
                np.testing.assert_allclose(
                    maps[layer - 1][head - 1],
                    expected_map(name, item, causal=blind),
                    atol=1e-6,
                    err_msg=f"{name}: {tokens(item)}",
                )


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_the_whole_survey_is_what_the_slow_twins_make_of_the_planned_maps(
    kind, bert, gpt2, found, causal
):
    model, results = (bert, found) if kind == "bert" else (gpt2, causal)
    items = encoded(model, from_texts(TEXTS))
    for head in HEADS:
        maps = [expected_map(head, item, causal=kind == "gpt2") for item in items]
        slow: dict[str, list[dict[Any, float]]] = {
            "position": [twins.position(map, causal=kind == "gpt2") for map in maps],
            "special": [
                twins.special(map, item.kind.tolist(), item.stop.tolist())
                for map, item in zip(maps, items, strict=True)
            ],
            "entropy": [
                twins.entropy(map, item.kind.tolist(), causal=kind == "gpt2")
                for map, item in zip(maps, items, strict=True)
            ],
        }
        for measure, values in slow.items():
            for label in values[0]:
                expected, count = twins.mean([value[label] for value in values])
                dims = [
                    dim for dim in results[measure]["mean"].dims if dim not in ("layer", "head")
                ]
                cell = results[measure].sel(
                    **place(head),
                    **dict(zip(dims, label if isinstance(label, tuple) else (label,), strict=True)),
                )
                assert float(cell["mean"]) == pytest.approx(expected, abs=1e-5, nan_ok=True), (
                    head,
                    measure,
                    label,
                )
                assert int(cell["n"]) == count, (head, measure, label)


def test_remarks_name_the_planted_heads(found):
    assert found.remarks()[1:] == [
        "One head looks at the previous token: 1-1 (layer 1).",
        "One head looks at the next token: 1-2 (layer 1).",
        "One head looks at the token itself: 1-3 (layer 1).",
        "Two heads read broadly, nearly evenly over the words (layer 2).",
        "Three heads show no clear role (layer 2, among them most of layer 2).",
        "Two heads rest (under 5 % of their attention is active): 1-4 and 1-5 (layer 1).",
        "Intervals are rough: in effect there are only 5 texts.",
    ]
    expected = [(1, number) for number in range(1, 6)]
    assert [HEADS[name] for name in ("previous", "next", "current", "cls", "sep")] == expected


def test_layers_and_heads_are_labelled_from_1_in_the_order_of_the_model(found):
    means = found.mean("position")
    assert means["layer"].values.tolist() == [1, 2]
    assert means["head"].values.tolist() == [1, 2, 3, 4, 5]
