"""Retraining the pattern network: what is held out, and how both networks are compared."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.errors import UserError
from headscope.labelling.retrain import hold_out, retrain
from headscope.measures.patterns.labels import Labelled, label_maps
from headscope.measures.patterns.network import CLASSES
from headscope.measures.patterns.training import predict
from labelling.conftest import network

LENGTH = 12


def drawn(name: str, random: np.random.Generator) -> np.ndarray:
    """A plain map of a class."""
    made = np.full((LENGTH, LENGTH), 0.02) + 0.01 * random.random((LENGTH, LENGTH))
    if "diagonal" in name:
        made += np.eye(LENGTH, k=-1)
    if "vertical" in name:
        made[:, random.integers(LENGTH)] += 1.0
    if name == "block":
        made[:6, :6] += 0.3
        made[6:, 6:] += 0.3
    if name == "heterogeneous":
        made += random.random((LENGTH, LENGTH)) ** 6
    return made / made.sum(1, keepdims=True)


def labelled(each: int, seed: int, **known: str) -> Labelled:
    random = np.random.default_rng(seed)
    labels = [name for name in CLASSES for _ in range(each)]
    return label_maps(
        [drawn(name, random) for name in labels],
        labels,
        [{**known, "corpus": "c", "example": str(place)} for place in range(len(labels))],
    )


def test_the_new_network_is_compared_with_the_old_on_maps_that_neither_saw():
    builtin = labelled(6, 1, split="train") + labelled(2, 2, split="test")
    own = labelled(3, 3)
    ticks: list[tuple[int, int]] = []
    how = {"seed": 0, "epochs": 2, "progress": lambda now, total: ticks.append((now, total))}
    done = retrain(network(), builtin, own, **how)
    assert ticks[-1] == (2, 2)
    assert list(done.before) == list(done.after) == ["built-in test maps", "your held-out maps"]
    assert done.after["built-in test maps"].classes["count"].tolist() == [2] * 5
    assert done.trained == 12
    assert int(done.after["your held-out maps"].classes["count"].sum()) == 3
    held = builtin.part(split="test")
    for net, reports in ((network(), done.before), (done.network, done.after)):
        right = sum(
            label == found
            for label, found in zip(held.labels, predict(net, held.maps), strict=True)
        )
        assert reports["built-in test maps"].accuracy == pytest.approx(right / 10)


def of_examples(count: int, examples: int) -> Labelled:
    """So many maps of so many examples."""
    maps = labelled(4, 0).take(list(range(count)))
    known = tuple({"corpus": "c", "example": str(place % examples)} for place in range(count))
    return Labelled(maps.maps, maps.labels, known)


def test_maps_of_one_example_are_never_on_both_sides():
    inside, outside = hold_out(of_examples(20, 7), seed=0)
    assert len(inside) + len(outside) == 20
    assert len(outside) > 0
    assert not {row["example"] for row in inside.known} & {row["example"] for row in outside.known}


@pytest.mark.parametrize(("count", "examples"), [(9, 9), (20, 1)])
def test_few_maps_or_a_single_example_are_all_trained_on(count, examples):
    inside, outside = hold_out(of_examples(count, examples), seed=0)
    assert (len(inside), len(outside)) == (count, 0)


def test_no_maps_are_refused():
    with pytest.raises(UserError, match="no labelled maps to train on"):
        retrain(network(), labelled(1, 0), Labelled((), (), ()), seed=0)
