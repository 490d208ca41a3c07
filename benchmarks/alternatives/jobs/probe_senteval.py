"""Probe one head after the other in SentEval's way.

SentEval is not on the package index, so this repeats its ``PyTorchClassifier`` with its defaults
(``nhid`` 0, Adam, batches of 64, an evaluation every 4 epochs, tenacity 5, at most 200 epochs) and
its choice of L2 on held-out rows, after which the best one is trained once more. The L2 values are
those of the other jobs.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.alternatives.jobs.job import run
from benchmarks.alternatives.jobs.made_heads import HEADS, L2, WIDTH, MadeHeads, make

BATCH, PASSES, TENACITY, EPOCHS, SEED = 64, 4, 5, 200, 1111

Part = tuple[torch.Tensor, torch.Tensor]


def share_right(layer: torch.nn.Linear, part: Part) -> float:
    """Compute the accuracy of a classifier."""
    with torch.no_grad():
        return float((layer(part[0]).argmax(1) == part[1]).float().mean())


def fit(train: Part, held: Part, l2: float) -> torch.nn.Linear:
    """Train one classifier and return the weights that were best on the held-out rows."""
    torch.manual_seed(SEED)
    random = np.random.default_rng(SEED)
    layer = torch.nn.Linear(WIDTH, 2)
    optimizer = torch.optim.Adam(layer.parameters(), weight_decay=l2)
    best, kept, failures, epochs = -1.0, layer, 0, 0
    while failures <= TENACITY and epochs <= EPOCHS:
        for _ in range(PASSES):
            for indices in torch.from_numpy(random.permutation(len(train[1]))).split(BATCH):
                loss = functional.cross_entropy(layer(train[0][indices]), train[1][indices])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        epochs += PASSES
        right = share_right(layer, held)
        if right > best:
            best, kept = right, copy.deepcopy(layer)
        else:
            failures += 1
    return kept


def work(data: MadeHeads) -> dict[str, Any]:
    """Test accuracy by head, with the L2 value that is best on the held-out rows."""
    found = []
    for head in range(HEADS):
        parts = [(torch.from_numpy(x), torch.from_numpy(y)) for x, y in data.parts(head)]
        train, held, test = parts
        scores = [share_right(fit(train, held, l2), held) for l2 in L2]
        found.append(share_right(fit(train, held, L2[int(np.argmax(scores))]), test))
    return {"heads": np.asarray(found)}


if __name__ == "__main__":
    run("probe_senteval", lambda _: make(), work, packages=("torch",))
