"""What some runs with heads off gave, as labelled sums: mean and interval of the loss come from them, scores from the outputs of each example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.runs.ablate.plan import Run
from headscope.tasks.metrics import METRICS

SOURCE = "Kovaleva et al. 2019, §4.6, Figures 8 and 9"


@dataclass(frozen=True)
class Part:
    """What one batch gave: outputs (run, example, number), losses (run, example), right answers, importance (example, layer, head), and who they are of."""

    outputs: NDArray[np.float32]
    losses: NDArray[np.float32]
    gold: NDArray[np.float64]
    importance: NDArray[np.float32]
    ids: list[str]


def together(parts: Sequence[Part]) -> Part:
    """All batches as one."""
    axes = {"outputs": 1, "losses": 1, "gold": 0, "importance": 0}
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts], axis)
        for name, axis in axes.items()
    }
    return Part(**arrays, ids=[name for part in parts for name in part.ids])


def run_sums(
    runs: Sequence[Run],
    whole: Part,
    objective: dict[str, Any],
    way: str,
    title: str = "Loss with heads off",
) -> xr.Dataset:
    """The dataset of some runs: the sums of the losses, from which mean and interval come, and each example's outputs and right answer."""
    losses = whole.losses.astype(np.float64)[None]
    known = np.isfinite(losses)
    filled = np.where(known, losses, 0.0)
    dims = ("bucket", "run")
    return xr.Dataset(
        {
            "sum": (dims, filled.sum(-1)),
            "square": (dims, (filled**2).sum(-1)),
            "count": (dims, known.sum(-1)),
            "outputs": (("run", "example", "output"), whole.outputs),
            "gold": (("example",), whole.gold),
            "kind": (("run",), np.array([run.kind for run in runs], object)),
            "off": (("run",), np.array([run.size for run in runs])),
        },
        {
            "bucket": [1],
            "run": np.array([run.name for run in runs], object),
            "example": np.array(whole.ids, object),
        },
        {
            "title": title,
            "unit": "loss",
            "source": SOURCE,
            "listed": "no",
            "metric": objective["metric"],
            "better": METRICS[objective["metric"]].better,
            "way": way,
            "objective": objective["name"],
        },
    )


def importance_sums(whole: Part) -> xr.Dataset:
    """The dataset of gradient head importance, with each example's values."""
    values = whole.importance.astype(np.float64)
    _, layers, heads = values.shape
    dims = ("bucket", "layer", "head")
    return xr.Dataset(
        {
            "sum": (dims, values.sum(0)[None]),
            "square": (dims, (values**2).sum(0)[None]),
            "count": (dims, np.full((1, layers, heads), len(values))),
            "values": (("example", "layer", "head"), whole.importance),
        },
        {
            "bucket": [1],
            "layer": range(1, layers + 1),
            "head": range(1, heads + 1),
            "example": np.array(whole.ids, object),
        },
        {
            "title": "Gradient head importance",
            "unit": "mean |∂loss/∂ξ|",
            "source": "Michel et al. 2019, §4.1",
        },
    )
