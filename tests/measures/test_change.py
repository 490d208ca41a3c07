"""The likeness of two models' maps equals scipy's cosine on real tokens, and differences of
measures are named as such.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy.spatial.distance import cosine

from headscope.errors import UserError
from headscope.measures import Context, Dependency, Entropy
from headscope.measures.distance import Change, Difference, MapSums
from headscope.models import Shape
from measures.test_twins import CASES, HEADS, made, maps_of, view_of


def cosine_of(one: torch.Tensor, other: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    sums = MapSums(real)
    sums.add(one, other, 0)
    return sums.cosine()


@given(case=CASES)
@settings(deadline=None, max_examples=40)
def test_the_cosine_is_scipy_s_on_real_tokens(case):
    batch, one, causal = made(case)
    other = maps_of(batch, case[1] // 2 + 1, causal=causal)
    measure = Change().bind(Context(Shape(1, HEADS, 1)), [])
    values = measure.layer(
        view_of(one), torch.stack([one, other]), measure.prepare(batch, "cpu")
    ).numpy()
    assert values.shape == (len(batch), HEADS, 1)
    for row, item in enumerate(batch.items):
        for head in range(HEADS):
            flat = [
                maps[row, head, : len(item), : len(item)].double().numpy().ravel()
                for maps in (one, other)
            ]
            assert values[row, head, 0] == pytest.approx(1 - cosine(*flat), rel=1e-5, abs=1e-6)


def test_a_map_is_like_itself_whatever_its_padding_holds():
    maps = torch.full((1, 1, 3, 3), float("nan"))
    maps[0, 0, :2, :2] = torch.tensor([[0.3, 0.7], [0.9, 0.1]])
    real = torch.tensor([[True, True, False]])
    assert cosine_of(maps, maps, real).item() == pytest.approx(1.0)
    assert cosine_of(maps, maps, real).item() <= 1.0


def test_a_map_of_zeros_has_no_likeness():
    empty, full = torch.zeros(1, 1, 2, 2), torch.ones(1, 1, 2, 2)
    assert np.isnan(cosine_of(empty, full, torch.ones(1, 2, dtype=torch.bool)).item())


def test_the_difference_of_a_measure_says_that_it_is_one():
    measure = Difference(Entropy()).bind(Context(Shape(1, HEADS, 1)), [])
    assert isinstance(measure.measure, Entropy)
    expected = ("entropy-change", "change in nats", Entropy.dims)
    assert (measure.name, measure.unit, measure.dims) == expected
    assert measure.attributes()["title"] == "Entropy of attention: change"
    assert Entropy.name == "entropy"


def test_measures_that_count_answers_have_no_difference_by_example():
    with pytest.raises(
        UserError,
        match=r"^the measure 'dependency' counts right answers, and has no difference for each "
        r"example\nnext: survey both models",
    ):
        Difference(Dependency())
