"""Probe all heads at once with Headscope's exact solver."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.alternatives.jobs.job import run
from benchmarks.alternatives.jobs.made_heads import HELD, L2, TRAIN, MadeHeads, make
from headscope.runs.probe.linear import Problems, solve


def work(data: MadeHeads) -> dict[str, Any]:
    """Test accuracy by head, with the L2 value that is best on the held-out rows."""
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    fitted = solve(Problems(x, y, 2, (torch.arange(len(y)) < TRAIN)[None], L2))
    right = (fitted.logits(x[:, TRAIN:]).argmax(-1) == y[TRAIN:])[:, 0].float()
    best = right[..., :HELD].mean(-1).argmax(1)
    return {"heads": right[..., HELD:].mean(-1)[torch.arange(len(right)), best].numpy()}


if __name__ == "__main__":
    run("probe_headscope", lambda _: make(), work, packages=("headscope", "torch"))
