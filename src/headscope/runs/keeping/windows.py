"""The first rows of a layer's maps: scores of all heads, sparse maps and distances of some.

Everything here works on tensors where they are; shapes are known beforehand, so that the processor
never waits for a device.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.results.kept import REACH, SCALE
from headscope.results.stored import SparseMap

WINDOW = 128
"""How many rows and keys of a map are kept."""
KEYS = 8
"""How many keys of a row are kept."""
LEAST = 0.005
"""Weights are kept that are larger than this, after rounding."""
BITS = 16
_HALF = 2 ** (BITS - 1)


def working(block: Tensor, open_keys: Tensor) -> Tensor:
    """The attention of every row that is not on sinks, (batch, head, row).

    Parameters
    ----------
    block
        (batch, head, row, key).
    open_keys
        1 for keys that are not sinks, else 0, (batch, key).
    """
    return torch.bmm(block.flatten(1, 2), open_keys[:, :, None]).view(block.shape[:3])


def away(block: Tensor, open_keys: Tensor, first_row: int, work: Tensor) -> Tensor:
    """The attention of every row that is neither on sinks nor on the token itself."""
    rows = block.shape[2]
    own = block.diagonal(first_row, 2, 3) * open_keys[:, None, first_row : first_row + rows]
    return work - own


def largest(maps: Tensor) -> Tensor:
    """The largest weights of every row, with their keys, as one number each.

    Weights are rounded to multiples of 1 / 65535. The number is that multiple in its upper 16 bits
    (less 2**15, so that it fits), and 65535 minus the key in the lower ones: of equal weights, the
    leftmost comes first. The functions that find the largest elements of a tensor do not say which
    of equal ones they take, so all must differ.

    Parameters
    ----------
    maps
        (map, row, key).

    Returns
    -------
    Tensor
        (map, row, 8) of int32, the largest first; fewer if there are fewer keys.
    """
    keys = maps.shape[-1]
    backwards = torch.arange(SCALE, SCALE - keys, -1, dtype=torch.int32, device=maps.device)
    multiples = (maps * SCALE).round_().clamp_(0, SCALE).to(torch.int32)
    codes = multiples.sub_(_HALF).mul_(2**BITS).add_(backwards)
    return codes.topk(min(KEYS, keys), -1).values


def sparse_map(codes: NDArray[np.int32], rows: int) -> SparseMap:
    """The map that :func:`largest` made numbers of, without small weights and padding.

    Parameters
    ----------
    codes
        (row, 8).
    rows
        How many rows are of real tokens.

    Examples
    --------
    >>> maps = torch.tensor([[[0.1, 0.7, 0.1, 0.1], [0.996, 0.004, 0.0, 0.0]]])
    >>> sparse_map(largest(maps)[0].numpy(), 2).keys.tolist()
    [1, 0, 2, 3, 0]
    """
    codes = codes[:rows]
    multiples = (codes >> BITS) + _HALF
    kept = multiples > LEAST * SCALE
    keys = SCALE - (codes & SCALE)
    return SparseMap(
        kept.sum(1).astype(np.uint8),
        keys[kept].astype(np.uint16),
        multiples[kept].astype(np.uint16),
    )


def distances(block: Tensor, open_keys: Tensor, asked: Tensor, first_row: int) -> Tensor:
    """The attention at each distance, summed over rows, (batch, head, 33).

    Parameters
    ----------
    block
        (batch, head, row, key).
    open_keys
        1 for keys that are not sinks, else 0, (batch, key).
    asked
        1 for rows that count, else 0, (batch, row).
    first_row
        The number of the block's first row.
    """
    rows, keys = block.shape[2:]
    queries = torch.arange(first_row, first_row + rows, device=block.device)[:, None]
    places = torch.arange(keys, device=block.device)
    weights = block * (asked[:, None, :, None] * open_keys[:, None, None, :])
    near = queries + torch.arange(1 - REACH, REACH, device=block.device)
    inside = (near >= 0) & (near < keys)
    index = near.clamp(0, keys - 1).expand(*block.shape[:2], -1, -1)
    close = (weights.gather(-1, index) * inside).sum(2)
    before, after = (
        (weights * far).sum((2, 3))[..., None]
        for far in (places <= queries - REACH, places >= queries + REACH)
    )
    return torch.cat([before, close, after], -1)


def even_distances(open_keys: NDArray[np.bool_], rows: int, causal: bool) -> NDArray[np.float32]:
    """The share of each distance if a row attends evenly to what it sees, (row, 33).

    Parameters
    ----------
    open_keys
        Which tokens are not sinks, (key,).
    rows
        How many rows there are.
    causal
        Whether a row sees only itself and the tokens before it.

    Examples
    --------
    >>> even = even_distances(np.array([False, True, True]), 3, causal=False)
    >>> even[1, [15, 16, 17]].tolist()
    [0.0, 0.5, 0.5]
    """
    before = np.concatenate([[0], np.cumsum(open_keys)])
    queries, keys = np.arange(rows), len(open_keys)
    near = queries[:, None] + np.arange(1 - REACH, REACH)
    inside = (near >= 0) & (near < keys) & ((near <= queries[:, None]) | (not causal))
    close = np.where(inside, open_keys[near.clip(0, keys - 1)], 0)
    left = before[(queries - REACH + 1).clip(0, keys)]
    right = before[-1] - before[(queries + REACH).clip(0, keys)]
    counts = np.column_stack([left, close, right * (not causal)]).astype(np.float64)
    shares: NDArray[np.float32] = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return shares.astype(np.float32)


def picked(blocks: Sequence[Tensor], maps: Tensor) -> Tensor:
    """Some maps of a layer, (map, row, key), from blocks of its rows.

    ``maps`` are their numbers: the place in the batch times the heads of a layer, plus the head.
    """
    parts = [block.flatten(0, 1).index_select(0, maps) for block in blocks]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)
