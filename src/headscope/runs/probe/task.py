"""One probing task: the classifiers of its heads, its layers, and its best heads together (J3–J6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import unknown
from headscope.results.moments import pearson_interval, wilson
from headscope.runs.probe.classify import Scores, Settings, classify, standardise
from headscope.runs.probe.outputs import HeadOutputs, Texts
from headscope.runs.probe.rows import Rows
from headscope.runs.probe.select import CHOSEN, candidates, greedy, judged, ranking
from headscope.tasks.probing import SPLITS, ProbingTask

PAIRS = ("together", "apart")
"""A pair of texts is one input; or two, u and v, whose features are u, v, |u - v| and u · v."""
WAYS = ("top", "greedy")
SOURCE = "Jo and Myaeng 2020"
COST = 2e10
"""More operations than this for one step of the classifiers of n heads, and that n is left out (unless it was asked for)."""


@dataclass(frozen=True)
class Choice:
    """What is probed, beside the classifiers' own settings. ``n``: how many of the best heads are put together, H if None; ``counts`` are the points of the curve over n."""

    position: str = ""
    pairs: str = "together"
    n: int | None = None
    counts: tuple[int, ...] | None = None
    greedy: bool = True
    max_length: int = 128
    batch_size: int = 32

    def __post_init__(self) -> None:
        if self.pairs not in PAIRS:
            raise unknown("way with pairs", self.pairs, PAIRS)


def inputs(texts: Texts, pairs: str) -> list[Texts]:
    """What the model reads of an example."""
    return [texts] if len(texts) == 1 or pairs == "together" else [(text,) for text in texts]


class OneTask:
    """All classifiers of one task. ``spare``: leave out the points of the curve that cost too much, because nobody asked for them."""

    def __init__(
        self,
        task: ProbingTask,
        outputs: HeadOutputs,
        choice: Choice,
        settings: Settings,
        tell: Callable[[int, int], None],
        *,
        spare: bool = False,
    ) -> None:
        self.outputs, self.choice, self.settings, self.tell, self.spare, self.shape = (
            outputs,
            choice,
            settings,
            tell,
            spare,
            outputs.shape,
        )
        self.task = self._with_tokens(task)
        self.rows = Rows.of(self.task)
        examples = [example for split in SPLITS for example in self.task.splits.get(split, ())]
        self.index = np.array(
            [
                [outputs.row[text] for text in inputs(example.texts, choice.pairs)]
                for example in examples
            ],
            np.int64,
        )

    def run(self) -> dict[str, xr.Dataset]:
        """The three groups of the results, for this task alone."""
        layers, points = self.shape.layers, self._points()
        total = 2 * layers + 2 * len(points)
        heads, states = [], []
        for layer in range(layers):
            heads.append(classify(self._heads(layer), self.rows, self.settings))
            self.tell(2 * layer + 1, total)
            states.append(classify(self._layer(layer), self.rows, self.settings))
            self.tell(2 * layer + 2, total)
        validation = np.stack([one.validation for one in heads])
        orders = {
            "top": ranking(validation.ravel()),
            "greedy": self._greedy(validation) if self.choice.greedy else [],
        }
        found: dict[tuple[str, int], Scores] = {}
        for way, order in orders.items():
            for place, n in enumerate(points):
                if n <= len(order):
                    found[way, n] = classify(
                        self._together(order[:n])[None],
                        self.rows,
                        replace(self.settings, control=False),
                    )
                self.tell(2 * layers + len(points) * (way == "greedy") + place + 1, total)
        return {
            "probe": self._dataset(heads, ("layer", "head")),
            "probe_layer": self._dataset(states, ("layer",)),
            "probe_top": self._top(found, orders),
        }

    def _with_tokens(self, task: ProbingTask) -> ProbingTask:
        """The task without examples that have no token, and so no vector."""
        empty = self.outputs.empty
        if not empty:
            return task
        kept = {
            split: tuple(
                example
                for example in examples
                if not any(
                    self.outputs.row[text] in empty
                    for text in inputs(example.texts, self.choice.pairs)
                )
            )
            for split, examples in task.splits.items()
        }
        return replace(task, splits=kept)

    def _heads(self, layer: int) -> Tensor:
        """The features of a layer's heads, (head, row, width)."""
        return (
            self._features(lambda rows: self.outputs.heads(layer, rows))
            .permute(1, 0, 2)
            .contiguous()
        )

    def _layer(self, layer: int) -> Tensor:
        return self._features(lambda rows: self.outputs.layer(layer, rows))[None]

    def _together(self, order: Sequence[int]) -> Tensor:
        """The features of some heads one after the other, (row, width): heads are counted through all layers."""
        parts: dict[int, Tensor] = {}
        for layer in sorted({unit // self.shape.heads for unit in order}):
            chosen = [unit for unit in order if unit // self.shape.heads == layer]
            values = self._features(
                lambda rows, layer=layer, chosen=chosen: self.outputs.heads(layer, rows)[  # type: ignore[misc]
                    :, [unit % self.shape.heads for unit in chosen]
                ]
            )
            parts |= {unit: values[:, place] for place, unit in enumerate(chosen)}
        return torch.cat([parts[unit] for unit in order], 1)

    def _features(self, read: Callable[[NDArray[np.int64]], NDArray[np.float32]]) -> Tensor:
        """Of one text its vector; of two, both, their distance and their product, in each number."""
        one = torch.from_numpy(read(self.index[:, 0]))
        if self.index.shape[1] == 1:
            return one
        two = torch.from_numpy(read(self.index[:, 1]))
        return torch.cat([one, two, (one - two).abs(), one * two], -1)

    def _points(self) -> list[int]:
        """The points of the curve whose classifiers are not too costly."""
        width = self.shape.width * (4 if self.index.shape[1] == 2 else 1)
        price = (
            len(self.rows.train)
            * width
            * (self.rows.classes or len(self.rows.levels))
            * len(self.settings.l2)
            * 4
        )
        return [
            n
            for n in self.choice.counts or ()
            if n * price <= COST or n == self.choice.n or not self.spare
        ]

    def _greedy(self, validation: NDArray[np.float64]) -> list[int]:
        width = self.shape.width * (4 if self.index.shape[1] == 2 else 1)
        kept, rows = judged(self.rows, self.settings.seed)
        count = max(n for n in self._points() if n * width <= CHOSEN or n == self.choice.n)
        chosen = candidates(ranking(validation.ravel()), rows, width, count)
        x = torch.empty(len(chosen), len(kept), width)
        for layer in sorted({unit // self.shape.heads for unit in chosen}):
            prepared = standardise(self._heads(layer), self.rows.train)[0][
                :, torch.from_numpy(kept)
            ]
            for place, unit in enumerate(chosen):
                if unit // self.shape.heads == layer:
                    x[place] = prepared[unit % self.shape.heads]
        return [chosen[place] for place in greedy(x, rows, count=count)]

    def _dataset(self, scores: Sequence[Scores], dims: tuple[str, ...]) -> xr.Dataset:
        """The scores of units, each entry of ``scores`` a layer."""
        arrays = {
            name: np.stack([getattr(one, name) for one in scores])
            for name in ("validation", "test", "l2", "control", "constant")
        }
        if dims == ("layer",):
            arrays = {name: values[:, 0] for name, values in arrays.items()}
        arrays["low"], arrays["high"] = self._interval(arrays["test"])
        data = xr.Dataset(
            {
                name: (("task", *dims), values[None].astype(np.float64))
                for name, values in arrays.items()
            }
        )
        data = data.assign_coords(
            {"task": [self.task.name], **{dim: np.arange(1, data.sizes[dim] + 1) for dim in dims}}
        )
        rows = self.rows
        facts: dict[str, Any] = {
            "title": self.task.title,
            "group": self.task.group,
            "metric": "pearson" if rows.regression else "accuracy",
            "majority": rows.majority,
            "classes": rows.classes,
            "train": len(rows.train),
            "dev": len(rows.dev),
            "test_size": len(rows.test),
            "unsolved": sum(one.unsolved for one in scores),
        }
        data = data.assign({name: (("task",), np.array([value])) for name, value in facts.items()})
        return self._listed(data, f"Test score of a classifier on each {dims[-1]}")

    def _top(
        self, found: dict[tuple[str, int], Scores], orders: dict[str, list[int]]
    ) -> xr.Dataset:
        counts = self.choice.counts or ()
        shape = (1, len(WAYS), len(counts))
        arrays = {name: np.full(shape, np.nan) for name in ("validation", "test", "l2")}
        for (way, n), one in found.items():
            for name, values in arrays.items():
                values[0, WAYS.index(way), counts.index(n)] = getattr(one, name)[0]
        arrays["low"], arrays["high"] = self._interval(arrays["test"])
        rank = np.full(
            (1, len(WAYS), self.shape.layers * self.shape.heads),
            "",
            f"<U{len(str(self.shape.layers)) + len(str(self.shape.heads)) + 1}",
        )
        for way, order in orders.items():
            rank[0, WAYS.index(way), : len(order)] = [
                f"{unit // self.shape.heads + 1}-{unit % self.shape.heads + 1}" for unit in order
            ]
        data = xr.Dataset(
            {name: (("task", "way", "n"), values) for name, values in arrays.items()}
            | {
                "rank": (("task", "way", "place"), rank),
                "test_size": (("task",), np.array([len(self.rows.test)])),
            }
        )
        data = data.assign_coords(
            task=[self.task.name],
            way=list(WAYS),
            n=list(counts),
            place=np.arange(1, self.shape.layers * self.shape.heads + 1),
        )
        return data.assign_attrs(
            title="Test score of a classifier on n heads together",
            unit="share or correlation",
            source=SOURCE,
            listed="no",
        )

    def _listed(self, data: xr.Dataset, title: str) -> xr.Dataset:
        """With what lists and exports of any results have."""
        n = xr.full_like(data["test"], len(self.rows.test))
        data = data.assign(mean=data["test"], deviation=xr.full_like(data["test"], np.nan), n=n)
        return data.assign_attrs(
            title=title, unit="share or correlation", source=SOURCE, listed="no"
        )

    def _interval(
        self, test: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        size = len(self.rows.test)
        if self.rows.regression:
            return pearson_interval(test, size)
        known = np.where(np.isnan(test), 0.0, test)
        low, high = wilson(np.round(known * size), np.full(test.shape, size))
        return np.where(np.isnan(test), np.nan, low), np.where(np.isnan(test), np.nan, high)
