"""Hand-made results of an ablation: a baseline, six heads, two layers and some sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headscope.heads import all_heads
from headscope.results import Atlas
from headscope.tasks.metrics import example_losses

LAYERS, HEADS, EXAMPLES = 2, 3, 60


def made_ablation(
    outputs: Any,
    gold: Any,
    *,
    metric: str = "accuracy",
    importance: Any = None,
    sets: int = 0,
    groups: Any = None,
) -> Atlas:
    """Results as the engine makes them, from outputs (run, example, number), in documents."""
    kinds = ["baseline", *["head"] * LAYERS * HEADS, *["layer"] * LAYERS, *["set"] * sets]
    names = [
        "none",
        *map(str, all_heads(LAYERS, HEADS)),
        *(f"layer {layer + 1}" for layer in range(LAYERS)),
        *(f"1-1,2-{index + 1}" for index in range(sets)),
    ]
    losses = example_losses(metric, outputs, gold)
    examples = [str(index) for index in range(len(gold))]
    attributes = {
        "title": "Loss with heads off",
        "unit": "loss",
        "source": "Source",
        "listed": "no",
        "metric": metric,
        "better": "lower" if metric == "loss" else "higher",
        "way": "uniform",
        "objective": "made",
    }
    dataset = xr.Dataset(
        {
            "sum": (("bucket", "run"), losses.sum(1)[None]),
            "square": (("bucket", "run"), (losses**2).sum(1)[None]),
            "count": (("bucket", "run"), np.full((1, len(kinds)), len(gold))),
            "outputs": (("run", "example", "output"), outputs.astype(np.float32)),
            "gold": (("example",), gold),
            "kind": (("run",), np.array(kinds, object)),
        },
        {"run": np.array(names, object), "example": np.array(examples, object)},
        attributes,
    )
    if groups is not None:
        dataset = dataset.assign_coords(group=("example", np.array(groups, object)))
    nodes = {"ablation": dataset}
    if importance is not None:
        dims = ("example", "layer", "head")
        nodes["importance"] = xr.Dataset(
            {"values": (dims, importance), "mean": (dims[1:], importance.mean(0))},
            {"layer": [1, 2], "head": [1, 2, 3]},
        )
    about = {
        "model": {"name": "made", "layers": LAYERS, "heads": HEADS},
        "settings": {"seed": 0},
        "corpus": {"name": "made"},
        "counts": {"seen": len(gold)},
    }
    return Atlas.build(nodes, about)


def planted(sets: int = 0) -> Atlas:
    """A classifier that is right in 45 of 60 examples.

    Without head 1-2 it is right in 57, without 2-3 in 30, without layer 2 in 30; nothing else
    changes anything.
    """
    gold = np.zeros(EXAMPLES)
    outputs = np.zeros((1 + LAYERS * HEADS + LAYERS + sets, EXAMPLES, 2))
    outputs[..., 1] = -1.0
    outputs[:, 45:, 1] = 1.0  # wrong
    outputs[2, 45:57, 1] = -1.0
    outputs[6, 30:45, 1] = 1.0
    outputs[8, 30:45, 1] = 1.0
    return made_ablation(outputs, gold, sets=sets)
