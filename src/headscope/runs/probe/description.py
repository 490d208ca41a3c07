"""Online description length: how many bits the labels take, given a head's vectors.

References
----------
Voita and Titov (2020), Information-Theoretic Probing with Minimum Description Length, EMNLP.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.runs.probe.linear import solve
from headscope.runs.probe.problems import Problems
from headscope.runs.probe.rows import LabelledRows

ENDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Where blocks end, as shares of the training examples."""


def block_ends(count: int) -> list[int]:
    """Where the blocks of so many examples end; blocks without examples are left out.

    Parameters
    ----------
    count
        The number of training examples.

    Examples
    --------
    >>> block_ends(1000), block_ends(40)
    ([1, 2, 4, 8, 16, 32, 62, 125, 250, 500, 1000], [1, 2, 5, 10, 20, 40])
    """
    return sorted({int(count * share) for share in ENDS} - {0})


def description_length(
    x: Tensor, rows: LabelledRows, l2: NDArray[np.float64], *, seed: int
) -> NDArray[np.float64]:
    """Bits that the training labels take when they are sent block by block.

    The first block is sent with a uniform code. Each later one is coded with a classifier that is
    trained on all blocks before it.

    Parameters
    ----------
    x
        Standardised features, (unit, row, width).
    rows
        Labels (classes) and splits.
    l2
        The penalty of each unit, (unit,).
    seed
        Seed of the order of examples.

    Returns
    -------
    numpy.ndarray
        (unit,). Divided into :func:`uniform_length`, it is the compression.

    Examples
    --------
    >>> gold = np.arange(64.0) % 2
    >>> rows = LabelledRows(gold, 2, np.arange(64), np.arange(0), np.arange(64))
    >>> x = torch.stack([torch.from_numpy(gold), torch.zeros(64)])[..., None].float()
    >>> known, unknown = description_length(x - 0.5, rows, np.full(2, 1e-3), seed=0)
    >>> bool(known < unknown), uniform_length(rows)
    (True, 64.0)
    """
    order = np.random.default_rng(seed).permutation(rows.train)
    ends = block_ends(len(order))
    sets = torch.zeros(len(ends) - 1, x.shape[1], dtype=torch.bool)
    for place, end in enumerate(ends[:-1]):
        sets[place, torch.from_numpy(order[:end])] = True
    bits = np.full(len(x), ends[0] * np.log2(rows.outputs))
    if len(ends) == 1:
        return bits
    for penalty in sorted(set(l2.tolist())):
        units = np.flatnonzero(l2 == penalty)
        part = x[torch.from_numpy(units)]
        fitted = solve(Problems(part, rows.targets, rows.outputs, sets, (penalty,)))
        for place, (start, end) in enumerate(pairwise(ends)):
            block = torch.from_numpy(order[start:end])
            logits = torch.einsum("und,udc->unc", part[:, block], fitted.weight[:, place, 0])
            logits = logits + fitted.bias[:, place, 0][:, None]
            chances = logits.double().log_softmax(-1)
            gold = rows.targets[block].expand(len(units), -1)[..., None]
            bits[units] -= (chances.gather(-1, gold)[..., 0].sum(1) / np.log(2)).cpu().numpy()
    return bits


def uniform_length(rows: LabelledRows) -> float:
    """Bits that the training labels take without any knowledge.

    Parameters
    ----------
    rows
        Labels (classes) and splits.
    """
    return len(rows.train) * float(np.log2(rows.outputs))
