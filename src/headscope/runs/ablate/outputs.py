"""What the passes of an ablation gave, as labelled datasets.

The mean loss and its interval come from sums, kept in the same buckets of documents as those of a
survey; scores come from the outputs of each example. Every example keeps its ``group`` (document),
so that intervals can respect documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus import bucket_of
from headscope.corpus.example import BUCKETS
from headscope.encode import Batch
from headscope.results import Atlas
from headscope.results.moments import BucketSums
from headscope.runs.ablate import Scoring
from headscope.runs.ablate.objectives import Question
from headscope.stats.tables.ablation import agreement as rank_agreement
from headscope.stats.tables.ablation import scored, with_nodes
from headscope.tasks.metrics import METRICS

if TYPE_CHECKING:
    from headscope.runs.ablate.work import Disabled

SOURCE = "Kovaleva et al. 2019, §4.6, Figures 8 and 9"
AXES = {"outputs": 1, "losses": 1, "gold": 0, "importance": 0, "buckets": 0}
"""The arrays of a batch, and which of their axes is that of the examples."""
NAMES = ("ids", "groups", "skipped")
"""Its lists of names."""
CHUNK = 1024
"""Examples that are added at a time."""


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
    buckets
        The bucket of each example's document, (example,).
    ids, groups
        The names of the examples and of their documents; a document may have none.
    skipped
        The names of examples for which the model with all heads gives no finite output, such as a
        causal text of one token.
    """

    outputs: NDArray[np.float32]
    losses: NDArray[np.float32]
    gold: NDArray[np.float64]
    importance: NDArray[np.float32]
    buckets: NDArray[np.int64]
    ids: list[str]
    groups: list[str]
    skipped: list[str]

    @property
    def examples(self) -> int:
        """How many examples were used or skipped."""
        return len(self.ids) + len(self.skipped)


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
    examples = [item.example for item in batch.items]
    used = [example for example, kept in zip(examples, keep, strict=True) if kept]
    return BatchOutputs(
        outputs[:, keep],
        losses[:, keep],
        question.gold.double().cpu().numpy()[keep],
        importance[keep],
        np.array([bucket_of(example) for example in used], np.int64),
        [example.id for example in used],
        [example.group for example in used],
        [example.id for example, kept in zip(examples, keep, strict=True) if not kept],
    )


def join_outputs(parts: Iterable[BatchOutputs]) -> BatchOutputs:
    """Several batches as one."""
    whole: dict[str, Any] = {}
    batches = list(parts)
    for name, axis in AXES.items():
        whole[name] = np.concatenate([getattr(part, name) for part in batches], axis)
    for name in NAMES:
        whole[name] = [one for part in batches for one in getattr(part, name)]
    return BatchOutputs(**whole)


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
        The sums of the losses (bucket, run), and each example's outputs (run, example, output),
        right answer and group.
    """
    variables = {
        **_sums(found.buckets, found.losses.T, ("run",)),
        "outputs": (("run", "example", "output"), found.outputs),
        "gold": (("example",), found.gold),
        "kind": (("run",), np.array([off.kind for off in passes], object)),
        "off": (("run",), np.array([off.size for off in passes])),
    }
    labels = _labels(found) | {"run": np.array([off.name for off in passes], object)}
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


def importance_dataset(found: BatchOutputs, layers: Sequence[int]) -> xr.Dataset:
    """The gradient importance of every head as a dataset, with each example's values.

    Parameters
    ----------
    found
        The values.
    layers
        The numbers of the layers, from 1.
    """
    heads = found.importance.shape[2]
    variables = {
        **_sums(found.buckets, found.importance, ("layer", "head")),
        "values": (("example", "layer", "head"), found.importance),
    }
    labels = _labels(found) | {"layer": list(layers), "head": range(1, heads + 1)}
    attributes = {
        "title": "Gradient head importance",
        "unit": "mean |∂loss/∂ξ|",
        "source": "Michel et al. 2019, §4.1",
    }
    return xr.Dataset(variables, labels, attributes)


def _sums(
    buckets: NDArray[np.int64], values: NDArray[np.float32], dims: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
    """Sum, sum of squares and count of finite values, (example, …), by bucket."""
    shape = values.shape[1:]
    total, square = BucketSums(BUCKETS, shape), BucketSums(BUCKETS, shape)
    count = np.zeros((BUCKETS, *shape), np.int64)
    for start in range(0, len(values), CHUNK):
        part, places = values[start : start + CHUNK], buckets[start : start + CHUNK]
        known = np.isfinite(part)
        filled = np.where(known, part, 0.0).astype(np.float64)
        total.add(places.tolist(), filled)
        square.add(places.tolist(), filled**2)
        np.add.at(count, places, known)
    dims = ("bucket", *dims)
    return {
        "sum": (dims, total.values()),
        "square": (dims, square.values()),
        "count": (dims, count),
    }


def _labels(found: BatchOutputs) -> dict[str, Any]:
    return {
        "bucket": np.arange(1, BUCKETS + 1),
        "example": np.array(found.ids, object),
        "group": ("example", np.array(found.groups, object)),
    }


class OutputParts:
    """The outputs of the batches done so far, by their numbers; they may come in any order."""

    def __init__(self) -> None:
        self.batches: dict[int, BatchOutputs] = {}
        self.examples = 0
        """How many examples were used or skipped."""

    def add(self, number: int, outputs: BatchOutputs) -> None:
        """Add a batch. One that is done again takes the place of the first."""
        if number not in self.batches:
            self.examples += outputs.examples
        self.batches[number] = outputs

    def joined(self) -> BatchOutputs | None:
        """All batches as one, in the order of their numbers; None if there is none."""
        ordered = [self.batches[number] for number in sorted(self.batches)]
        return join_outputs(ordered) if ordered else None

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a checkpoint must hold: the names of examples, and arrays, by the batch."""
        batches = self.batches.items()
        names = {
            str(number): {name: getattr(part, name) for name in NAMES} for number, part in batches
        }
        arrays = {
            f"{number}/{name}": getattr(part, name) for number, part in batches for name in AXES
        }
        return names, arrays

    def restore(self, state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what a checkpoint held."""
        for number, names in state.items():
            own: dict[str, Any] = {name: arrays[f"{number}/{name}"] for name in AXES}
            self.add(int(number), BatchOutputs(**own, **names))


def with_scores(atlas: Atlas, options: Scoring) -> Atlas:
    """Add scores, intervals and tests; with gradient importance, its agreement with disabling.

    Parameters
    ----------
    atlas
        The outputs of an ablation, scored or not.
    options
        How scores are computed. They are written to the provenance.
    """
    how = options.subset(Scoring)
    done = scored(atlas, **how)
    if "importance" in done.measures and "head_off" in done.measures:
        agreement = agreement_dataset(done, options.confidence)
        done = with_nodes(done, {"importance_agreement": agreement})
    tree = done.tree.copy()
    provenance = done.provenance | {"scores": how}
    tree.attrs["provenance"] = json.dumps(provenance, sort_keys=True)
    return Atlas(tree)


def agreement_dataset(atlas: Atlas, confidence: float) -> xr.Dataset:
    """The rank agreement of gradient importance with what disabling each head does."""
    table = rank_agreement(atlas, confidence=confidence)
    columns = {"mean": "Spearman", "low": "low", "high": "high", "n": "heads"}
    return xr.Dataset(
        {name: ("against", table[column].to_numpy()) for name, column in columns.items()},
        {"against": table["importance against"].to_numpy(object)},
        {
            "title": "Gradient importance and the effect of disabling heads",
            "unit": "Spearman's ρ over all heads",
            "source": "Michel et al. 2019, §4.1",
            "listed": "no",
            "kind": "correlation",
        },
    )
