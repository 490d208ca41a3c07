"""Quick reductions of blocks against numpy."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headscope.measures.kernels import largest_and_place, over_keys

BLOCKS = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=4, max_dims=4, max_side=5),
    elements=st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 0.5, 1.0]),
)


@given(BLOCKS, st.sampled_from([-1, -2]))
def test_the_first_of_the_largest_values_is_the_place_that_numpy_finds(block, dim):
    largest, place = largest_and_place(torch.from_numpy(block), dim)
    np.testing.assert_array_equal(largest, block.max(dim))
    np.testing.assert_array_equal(place, block.argmax(dim))


def test_a_part_of_a_block_that_is_not_contiguous_gives_the_same():
    block = torch.rand(2, 3, 8, 5, generator=torch.Generator().manual_seed(0))[:, :, 3:]
    largest, place = largest_and_place(block, -1)
    np.testing.assert_array_equal(place, block.numpy().argmax(-1))
    np.testing.assert_array_equal(largest, block.numpy().max(-1))


@given(arrays.array_shapes(min_dims=5, max_dims=5, max_side=4), st.integers(0, 9))
def test_weighted_sums_over_keys_are_those_of_numpy(shape, seed):
    size, heads, rows, keys, sums = shape
    generator = np.random.default_rng(seed)
    block = generator.random((size, heads, rows, keys), dtype=np.float32)
    weights = generator.random((size, sums, keys + 1), dtype=np.float32)
    found = over_keys(torch.from_numpy(block), torch.from_numpy(weights))
    expected = np.einsum("bhqk,bsk->bshq", block, weights[..., :keys])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
