"""The sums that a measure keeps: they add up over any split, and NaN is not counted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headscope.corpus.example import BUCKETS
from headscope.errors import UserError
from headscope.measures import Context, Measure, Sums
from headscope.models import Shape


class Fixed(Measure):
    """A measure that only has names: two layers, one head, three labels."""

    name = "fixed"
    title = "Nothing"
    unit = "share"
    source = "a test"
    dims: ClassVar = {"label": ("a", "b", "c")}

    def prepare(self, batch: Any, device: Any) -> Any:
        raise AssertionError("adding sums up runs no model")

    def layer(self, view: Any, attention: Any, prepared: Any) -> Any:
        raise AssertionError("adding sums up runs no model")


def empty() -> Sums:
    return Sums(Fixed().bind(Context(Shape(2, 1, 4)), []))


def random_values(seed: int, count: int) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    values = random.normal(size=(count, 2, 1, 3)).astype(np.float32)
    values[random.random(values.shape) < 0.3] = np.nan
    return values


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 12), max_size=4))
@settings(deadline=None, max_examples=50)
def test_values_fed_in_parts_give_numpys_sums_of_all_whatever_the_parts(seed, cuts):
    values = random_values(seed, 12)
    sums = empty()
    for number, part in enumerate(np.split(values, sorted(cuts))):
        sums.add([number % BUCKETS] * len(part), part)
    exact = values.astype(np.float64)
    np.testing.assert_allclose(
        sums.sum.values().sum(0), np.nansum(exact, 0), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(sums.square.values().sum(0), np.nansum(exact**2, 0), rtol=1e-12)
    np.testing.assert_array_equal(sums.count.sum(0), (~np.isnan(values)).sum(0))


@given(
    values=st.lists(st.floats(-1e6, 1e6, width=32) | st.floats(-1e-6, 1e-6), min_size=1),
    order=st.randoms(use_true_random=False),
)
@settings(deadline=None)
def test_the_order_of_examples_changes_no_bit_and_sums_are_those_of_fractions(values, order):
    shuffled = list(values)
    order.shuffle(shuffled)
    limbs = []
    for terms in (values, shuffled):
        sums = empty()
        for term in terms:
            sums.add([0], np.full((1, 2, 1, 3), term))
        limbs.append(sums.arrays())
    for name in ("sum", "square", "count"):
        np.testing.assert_array_equal(limbs[0][name], limbs[1][name])
    exact = sum((Fraction(float(term)) for term in values), Fraction())
    found = Fraction(*sums.sum.values()[0, 0, 0, 0].item().as_integer_ratio())
    assert abs(found - exact) <= abs(exact) * Fraction(1, 2**51) + len(values) * Fraction(1, 2**104)
    squares = sum((Fraction(float(term) * float(term)) for term in values), Fraction())
    found = Fraction(*sums.square.values()[0, 0, 0, 0].item().as_integer_ratio())
    assert abs(found - squares) <= squares * Fraction(1, 2**51) + len(values) * Fraction(1, 2**104)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, 2.0**53])
def test_values_that_cannot_be_summed_name_the_measure(wrong):
    with pytest.raises(UserError, match="the measure 'fixed' gave values that cannot be summed"):
        empty().add([0], np.full((1, 2, 1, 3), wrong))


def test_counted_answers_are_averaged_over_what_was_asked_and_a_right_one_is_its_own_square():
    sums = empty()
    right = np.zeros((2, 2, 1, 3))
    right[:, 0, 0] = [[2, 0, 1], [1, 0, 0]]
    right[:, 1, 0] = [[0, 0, 1], [3, 0, 0]]
    sums.add([1, 1], right, np.array([[4.0, 0.0, 1.0], [3.0, 0.0, 2.0]]))
    assert (
        sums.sum.values()[1].tolist()
        == sums.square.values()[1].tolist()
        == [[[3, 0, 1]], [[3, 0, 1]]]
    )
    assert sums.count[1].tolist() == [[[7, 0, 3]], [[7, 0, 3]]]
    assert not sums.count[0].any()


def test_examples_are_kept_in_their_bucket_and_no_other():
    sums = empty()
    sums.add([3] * 5, np.ones((5, 2, 1, 3)))
    assert np.flatnonzero(sums.count.any((1, 2, 3))).tolist() == [3]


def test_no_example_adds_nothing():
    sums = empty()
    sums.add([], np.ones((0, 2, 1, 3)))
    assert not any(array.any() for array in sums.arrays().values())


def test_sums_taken_up_again_go_on_apart_from_where_they_came_from():
    first, second = empty(), empty()
    first.add([0, 1, 0, 5], random_values(1, 4))
    second.restore(first.arrays())
    before = {name: array.copy() for name, array in first.arrays().items()}
    second.add([0, 1, 0, 5], random_values(2, 4))
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    first.add([0, 1, 0, 5], random_values(2, 4))
    assert first.dataset().identical(second.dataset())


@pytest.mark.parametrize("name", ["sum", "square", "count"])
def test_a_dataset_names_buckets_layers_and_heads_from_1_and_the_labels(name):
    sums = empty()
    values = np.zeros((1, 2, 1, 3))
    values[0, 1, 0, 2] = 2.0
    sums.add([4], values)
    dataset = sums.dataset()
    assert dataset[name].dims == ("bucket", "layer", "head", "label")
    expected = {"sum": 2.0, "square": 4.0, "count": 1}[name]
    assert float(dataset[name].sel(bucket=5, layer=2, head=1, label="c")) == expected
    assert float(dataset[name].sum()) == {"sum": 2.0, "square": 4.0, "count": 6}[name]
    assert (
        dataset.attrs.items() >= {"title": "Nothing", "unit": "share", "source": "a test"}.items()
    )
