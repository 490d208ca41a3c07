"""Sinks by place and learned sinks, against plain loops over transformers' own attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import twins
from headscope.encode import collate
from headscope.errors import UserError
from headscope.measures import Context, Measure, Reach, Sink, SinkPlaces, Streaming
from headscope.runs.forward import Pass
from headscope.runs.synthetic import Sequences
from tiny import tiny_model, tiny_network

LENGTH = 12


def measured(kind: str, measure: Measure) -> tuple[np.ndarray, list[list[list[list[float]]]]]:
    """The values of a measure on one sequence, (layer, head, label), and its maps by layer."""
    model = tiny_model(kind)
    context = Context(model.shape("decoder"), causal=True)
    [item] = Sequences(n=7, count=2, seed=4).items(model, 0, 1)
    forward = Pass(model, [measure.bind(context, [])], "decoder", context)
    values = forward.run(collate([item])).values[measure.name][0]
    with torch.inference_mode():
        ids = torch.from_numpy(item.ids)[None]
        maps = tiny_network(kind)(input_ids=ids, output_attentions=True).attentions
    return values, [layer[0].tolist() for layer in maps]


@pytest.mark.parametrize("threshold", [0.05, 0.2])
def test_the_sink_rate_of_every_place_is_that_of_a_plain_loop(threshold):
    values, maps = measured("gpt2", SinkPlaces(LENGTH, threshold))
    some = set()
    for layer, heads in enumerate(maps):
        for head, map in enumerate(heads):
            expected = [
                float(twins.sink(map, place, LENGTH, causal=True) > threshold)
                for place in range(2, LENGTH // 2 + 1)
            ]
            assert values[layer, head].tolist() == expected
            some |= set(expected)
    assert some == {0.0, 1.0}


def test_what_is_missing_from_the_rows_is_the_learned_sink():
    values, maps = measured("gpt-oss", Sink(LENGTH))
    for layer, heads in enumerate(maps):
        for head, map in enumerate(heads):
            expected = np.mean([1 - sum(row) for row in map[:LENGTH]])
            assert expected > 0.01
            assert values[layer, head, 2] == pytest.approx(expected, abs=1e-5)


def test_distances_with_a_learned_sink_are_those_of_rows_that_sum_to_1():
    values, maps = measured("gpt-oss", Reach())
    for layer, heads in enumerate(maps):
        for head, map in enumerate(heads):
            scaled = [[weight / sum(row) for weight in row] for row in map]
            expected = list(twins.reach(scaled).values())
            np.testing.assert_allclose(values[layer, head], expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Sink(threshold=1.5), "the threshold of sinks must be between 0 and 1, got 1.5"),
        (lambda: Sink(length=1), "length of texts for sinks must be a whole number, 4 or more"),
        (lambda: Streaming(recent=0), "number of recent tokens must be a whole number, 1 or more"),
    ],
)
def test_options_that_make_no_sense_are_refused(make, text):
    with pytest.raises(UserError, match=text):
        make()
