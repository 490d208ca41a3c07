"""The scores of one task's classifiers as plain arrays, which a checkpoint can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.runs.probe.classify import ClassifierScores

WAYS = ("top", "greedy")
"""Ways of selecting heads: by their own scores, or greedily."""
UNIT_SCORES = ("validation", "test", "l2", "control", "constant", "spearman")
TOP_SCORES = ("validation", "test", "l2", "spearman")
NOTHING = -1

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class TaskScores:
    """The scores of a task.

    Parameters
    ----------
    heads, layers
        By name (``UNIT_SCORES``), (layer, head) and (layer,).
    unsolved
        Numbers of classifiers of heads and of layers that did not converge, (2,).
    top
        By name (``TOP_SCORES``), (way, n): scores of n heads together; NaN where there are none.
    rank
        (way, place, 2): layer and head in the order of selection, counted from 0; -1 beyond.
    embeddings
        By name (``UNIT_SCORES`` and ``unsolved``), (1,): scores of the embeddings alone; empty if
        they were not probed.
    splits
        What :func:`headscope.runs.probe.splits.split_scores` returned; empty without repeats.

    Examples
    --------
    >>> one = ClassifierScores(*np.array([[0.5], [0.6], [0.1], [0.4]]), np.array([0]))
    >>> scores = TaskScores.of([one], [one], {("top", 1): one}, {"top": [Head(0, 0)]}, (1,), 1)
    >>> scores.heads["test"].shape, scores.top["test"].tolist()
    ((1, 1), [[0.6], [nan]])
    >>> TaskScores.restore(scores.arrays()).ranked("top")
    [<Head 1-1>]
    """

    heads: Arrays
    layers: Arrays
    unsolved: NDArray[np.int64]
    top: Arrays
    rank: NDArray[np.int64]
    embeddings: Arrays = field(default_factory=dict)
    splits: Arrays = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        heads: Sequence[ClassifierScores],
        layers: Sequence[ClassifierScores],
        top: Mapping[tuple[str, int], ClassifierScores],
        orders: Mapping[str, Sequence[Head]],
        counts: Sequence[int],
        total: int,
        embeddings: ClassifierScores | None = None,
    ) -> TaskScores:
        """Collect the scores of classifiers.

        Parameters
        ----------
        heads, layers
            Scores of the heads of each layer, and of each layer.
        top
            Scores by way of selection and number of heads.
        orders
            Heads in the order of their selection, by way.
        counts
            Numbers of heads of the curve.
        total
            Number of heads of the model.
        embeddings
            Scores of the embeddings alone, if they were probed.
        """
        together = {name: np.full((len(WAYS), len(counts)), np.nan) for name in TOP_SCORES}
        for (way, n), scores in top.items():
            for name, values in together.items():
                values[WAYS.index(way), counts.index(n)] = getattr(scores, name)[0]
        rank = np.full((len(WAYS), total, 2), NOTHING, np.int64)
        for way, order in orders.items():
            if order:
                rank[WAYS.index(way), : len(order)] = order
        return cls(
            {name: _stack(heads, name) for name in UNIT_SCORES},
            {name: _stack(layers, name)[:, 0] for name in UNIT_SCORES},
            np.array([sum(one.unsolved for one in units) for units in (heads, layers)], np.int64),
            together,
            rank,
            {} if embeddings is None else single_scores(embeddings),
        )

    def ranked(self, way: str) -> list[Head]:
        """The heads selected in one way, in order."""
        rows = self.rank[WAYS.index(way)].tolist()
        return [Head(layer, head) for layer, head in rows if layer != NOTHING]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, by name; :meth:`restore` reads it back."""
        groups = {
            "heads": self.heads,
            "layers": self.layers,
            "top": self.top,
            "embeddings": self.embeddings,
            "splits": self.splits,
        }
        flat = {
            f"{group}/{name}": values
            for group, arrays in groups.items()
            for name, values in arrays.items()
        }
        return flat | {"unsolved": self.unsolved, "rank": self.rank}

    @classmethod
    def restore(cls, arrays: Arrays) -> TaskScores:
        """The scores that :meth:`arrays` has given."""
        return cls(
            {name: arrays[f"heads/{name}"] for name in UNIT_SCORES},
            {name: arrays[f"layers/{name}"] for name in UNIT_SCORES},
            arrays["unsolved"],
            {name: arrays[f"top/{name}"] for name in TOP_SCORES},
            arrays["rank"],
            _under("embeddings/", arrays),
            _under("splits/", arrays),
        )


def _under(start: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin in one way, without this beginning."""
    return {
        name.removeprefix(start): values
        for name, values in arrays.items()
        if name.startswith(start)
    }


def single_scores(scores: ClassifierScores) -> dict[str, NDArray[Any]]:
    """The scores of a single unit by name, (1,), with the number of classifiers ``unsolved``.

    Parameters
    ----------
    scores
        The scores of one unit.

    Examples
    --------
    >>> one = ClassifierScores(*np.array([[0.5], [0.6], [0.1], [0.4]]), np.array([0]))
    >>> single_scores(one)["test"].tolist()
    [0.6]
    """
    named = {name: _stack([scores], name)[0] for name in UNIT_SCORES}
    return named | {"unsolved": np.array([scores.unsolved])}


def _stack(scores: Sequence[ClassifierScores], name: str) -> NDArray[np.float64]:
    return np.stack([getattr(one, name) for one in scores]).astype(np.float64)
