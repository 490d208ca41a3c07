"""Online description length: how many bits the labels take, given a head's vectors.

References
----------
Krichevsky and Trofimov (1981), The Performance of Universal Encoding, IEEE Transactions on
Information Theory 27(2).
Voita and Titov (2020), Information-Theoretic Probing with Minimum Description Length, EMNLP.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p

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
    trained on all blocks before it. A class that these lack has no place in the classifier: its
    bias, which is not penalised, would run off to minus infinity, and what it costs to send that
    class would depend on where the solver stops. It is coded by counts instead, with the estimate
    of Krichevsky and Trofimov (1981): after n examples, each of c classes that has not occurred
    has the probability 0.5 / (n + 0.5 c), and the classifier divides the rest among the others.
    While only one class has occurred, a block is coded by counts alone.

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
    gold = rows.targets[torch.from_numpy(order)]
    for penalty in sorted(set(l2.tolist())):
        units = np.flatnonzero(l2 == penalty)
        part = x[torch.from_numpy(units)]
        for places, seen in _by_classes(gold, ends):
            fitted = None
            if len(seen) > 1:
                known = torch.searchsorted(seen, rows.targets).clamp(max=len(seen) - 1)
                fitted = solve(Problems(part, known, len(seen), sets[places], (penalty,)))
            for number, place in enumerate(places):
                start, end = ends[place : place + 2]
                block = gold[start:end]
                new = ~torch.isin(block, seen)
                escape = 0.5 / (start + 0.5 * rows.outputs)
                logs = torch.full((len(part), end - start), log(escape), dtype=torch.float64)
                logs[:, ~new] = log1p(-escape * (rows.outputs - len(seen)))
                if fitted is not None:
                    features = part[:, torch.from_numpy(order[start:end])][:, ~new]
                    logits = features @ fitted.weight[:, number, 0]
                    logits = logits + fitted.bias[:, number, 0][:, None]
                    answers = torch.searchsorted(seen, block[~new]).expand(len(part), -1)
                    chances = logits.double().log_softmax(-1).gather(-1, answers[..., None])
                    logs[:, ~new] += chances[..., 0].cpu()
                bits[units] -= logs.sum(1).numpy() / np.log(2)
    return bits


def _by_classes(gold: Tensor, ends: Sequence[int]) -> list[tuple[list[int], Tensor]]:
    """The blocks that follow the same classes: their places, and the classes before them.

    >>> _by_classes(torch.tensor([2, 2, 0, 2, 0, 2]), [1, 2, 4, 6])
    [([0, 1], tensor([2])), ([2], tensor([0, 2]))]
    """
    found: list[tuple[list[int], Tensor]] = []
    for place, end in enumerate(ends[:-1]):
        seen = torch.bincount(gold[:end]).nonzero()[:, 0]
        if not found or len(found[-1][1]) < len(seen):
            found.append(([], seen))
        found[-1][0].append(place)
    return found


def uniform_length(rows: LabelledRows) -> float:
    """Bits that the training labels take without any knowledge.

    Parameters
    ----------
    rows
        Labels (classes) and splits.
    """
    return len(rows.train) * float(np.log2(rows.outputs))
