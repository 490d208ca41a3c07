"""What the passes of an ablation gave, as labelled datasets.

The mean loss and its interval come from sums; scores come from the outputs of each example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.encode import Batch
from headscope.runs.ablate.objectives import Question
from headscope.runs.ablate.plan import Disabled
from headscope.tasks.metrics import METRICS

SOURCE = "Kovaleva et al. 2019, §4.6, Figures 8 and 9"
AXES = {"outputs": 1, "losses": 1, "gold": 0, "importance": 0}
"""The arrays of a batch, and which of their axes is that of the examples."""


@dataclass(frozen=True)
class BatchOutputs:
    """What all passes gave for some examples.

    Parameters
    ----------
    outputs
        (pass, example, number).
    losses
        (pass, example).
    gold
        The right answers, (example,).
    importance
        (example, layer, head); of size 0 if it was not asked for.
    ids
        The names of the examples.
    skipped
        The names of examples for which the model with all heads gives no finite output, such as a
        causal text of one token.
    """

    outputs: NDArray[np.float32]
    losses: NDArray[np.float32]
    gold: NDArray[np.float64]
    importance: NDArray[np.float32]
    ids: list[str]
    skipped: list[str]

    @classmethod
    def restored(
        cls, arrays: Mapping[str, NDArray[Any]], names: Mapping[str, list[str]]
    ) -> BatchOutputs:
        """Outputs from their :attr:`arrays` and :attr:`names`, which a checkpoint held."""
        values: dict[str, Any] = {**arrays, **names}
        return cls(**values)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {name: getattr(self, name) for name in AXES}

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of the examples, used and skipped."""
        return {"ids": self.ids, "skipped": self.skipped}


def finite_outputs(
    batch: Batch,
    question: Question,
    outputs: NDArray[np.float32],
    losses: NDArray[np.float32],
    importance: NDArray[np.float32] | None = None,
) -> BatchOutputs:
    """What all passes gave for the examples of a batch that have a finite output.

    Parameters
    ----------
    batch, question
        The examples, and the question that was made of them.
    outputs, losses
        What :meth:`Sweep.outputs` gave. The first pass has all heads.
    importance
        What :func:`head_importance` gave.
    """
    keep = np.isfinite(outputs[0]).all(1)
    if importance is None:
        importance = np.zeros((len(batch), 0, 0), np.float32)
    ids = np.array([item.example.id for item in batch.items], object)
    return BatchOutputs(
        outputs[:, keep],
        losses[:, keep],
        question.gold.double().cpu().numpy()[keep],
        importance[keep],
        ids[keep].tolist(),
        ids[~keep].tolist(),
    )


def join_outputs(parts: Iterable[BatchOutputs]) -> BatchOutputs:
    """Several batches as one."""
    batches = list(parts)
    arrays = {
        name: np.concatenate([part.arrays[name] for part in batches], axis)
        for name, axis in AXES.items()
    }
    ids = [name for part in batches for name in part.ids]
    return BatchOutputs(
        **arrays, ids=ids, skipped=[name for part in batches for name in part.skipped]
    )


def outputs_dataset(
    passes: Sequence[Disabled],
    found: BatchOutputs,
    objective: dict[str, Any],
    way: str,
    *,
    title: str = "Loss with heads disabled",
    source: str = SOURCE,
) -> xr.Dataset:
    """The outputs of all passes as a dataset.

    Parameters
    ----------
    passes
        What was disabled.
    found
        What the passes gave.
    objective
        What :meth:`Objective.about` says.
    way
        How heads were disabled.
    title, source
        Attributes of the dataset.

    Returns
    -------
    xarray.Dataset
        The sums of the losses (bucket, run), and each example's outputs (run, example, output) and
        right answer.
    """
    losses = found.losses.astype(np.float64)[None]
    known = np.isfinite(losses)
    filled = np.where(known, losses, 0.0)
    dims = ("bucket", "run")
    variables = {
        "sum": (dims, filled.sum(-1)),
        "square": (dims, (filled**2).sum(-1)),
        "count": (dims, known.sum(-1)),
        "outputs": (("run", "example", "output"), found.outputs),
        "gold": (("example",), found.gold),
        "kind": (("run",), np.array([off.kind for off in passes], object)),
        "off": (("run",), np.array([off.size for off in passes])),
    }
    labels = {
        "bucket": [1],
        "run": np.array([off.name for off in passes], object),
        "example": np.array(found.ids, object),
    }
    attributes = {
        "title": title,
        "unit": "loss",
        "source": source,
        "listed": "no",
        "metric": objective["metric"],
        "better": METRICS[objective["metric"]].better,
        "way": way,
        "objective": objective["name"],
    }
    return xr.Dataset(variables, labels, attributes)


def importance_dataset(found: BatchOutputs) -> xr.Dataset:
    """The gradient importance of every head as a dataset, with each example's values."""
    values = found.importance.astype(np.float64)
    _, layers, heads = values.shape
    dims = ("bucket", "layer", "head")
    variables = {
        "sum": (dims, values.sum(0)[None]),
        "square": (dims, (values**2).sum(0)[None]),
        "count": (dims, np.full((1, layers, heads), len(values))),
        "values": (("example", "layer", "head"), found.importance),
    }
    labels = {
        "bucket": [1],
        "layer": range(1, layers + 1),
        "head": range(1, heads + 1),
        "example": np.array(found.ids, object),
    }
    attributes = {
        "title": "Gradient head importance",
        "unit": "mean |∂loss/∂ξ|",
        "source": "Michel et al. 2019, §4.1",
    }
    return xr.Dataset(variables, labels, attributes)
