"""The groups of a probing run's results: what each task's arrays become, with labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.results.moments import pearson_interval, wilson
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.select import SHORTLIST
from headscope.runs.probe.task import NOTHING, SPLIT_WAYS, WAYS, Arrays
from headscope.stats.tables.probing import HEADS, TOP, split_interval
from headscope.tasks.task import ProbingTask

SOURCE = "Jo and Myaeng 2020"
REDRAWN = "Mean test score over splits that were drawn again"
Array = NDArray[np.float64]
Dims = tuple[str, ...]
Variables = Mapping[str, tuple[Dims, Any]]


class TaskResults:
    """The groups of one task, with dimension ``task`` of length 1.

    Parameters
    ----------
    task
        The task.
    rows
        Its labels and splits.
    numbers
        The numbers of the layers, from 1.
    """

    def __init__(self, task: ProbingTask, rows: LabelledRows, numbers: Sequence[int]) -> None:
        self.task, self.rows, self.numbers = task, rows, list(numbers)

    def groups(self, scores: Mapping[str, Arrays], counts: Sequence[int]) -> dict[str, xr.Dataset]:
        """The groups of what :meth:`headscope.runs.probe.task.TaskProbe.run` returned."""
        heads = range(1, scores["heads"]["test"].shape[1] + 1)
        groups = {
            "probe": self._units(scores["heads"], {"layer": self.numbers, "head": heads}),
            "probe_layer": self._units(scores["layers"], {"layer": self.numbers}),
            "probe_top": self._top(scores["top"], counts),
        }
        if "embeddings" in scores:
            groups["probe_embeddings"] = self.embeddings(scores["embeddings"])
        return groups | (self.splits(scores["splits"]) if "splits" in scores else {})

    def embeddings(self, scores: Arrays) -> xr.Dataset:
        """The scores of the embeddings alone, (task,)."""
        return self._units({name: each[0] for name, each in scores.items()}, {})

    def splits(self, scores: Arrays) -> dict[str, xr.Dataset]:
        """Repeated splits: means over splits with their intervals.

        ``probe_splits`` (task, layer, head) has the share of splits in which the head is one of
        the top heads (``chosen``). ``probe_splits_top`` (task, way) has the last layer, the best
        layer and the top heads; ``each`` are the scores of the single splits, ``best_layer`` and
        ``rank`` what they chose.
        """
        test = np.moveaxis(scores["test"], 0, -1)  # (layer, head, split)
        names = [[*map(str, few)] for few in _as_heads(scores["rank"])]
        chosen = np.zeros(test.shape)
        for split, few in enumerate(_as_heads(scores["rank"])):
            for layer, head in few:
                chosen[self.numbers.index(layer + 1), head, split] = 1.0
        grid, facts = ("layer", "head"), ("title", "classes", "train", "test_size")
        heads = self._means(test, scores["validation"].mean(0), grid)
        heads["chosen"] = grid, chosen.mean(-1)
        top = self._means(scores["top_test"], scores["top_validation"].mean(-1), ("way",))
        top |= {
            "each": (("way", "split"), scores["top_test"]),
            "best_layer": (("split",), np.array(self.numbers)[scores["best_layer"]]),
            "rank": (("split", "place"), np.array(names)),
        }
        splits, places = (np.arange(1, size + 1) for size in scores["rank"].shape[:2])
        of_heads = {"layer": self.numbers, "head": np.arange(1, test.shape[1] + 1)}
        of_top = {"way": list(SPLIT_WAYS), "split": splits, "place": places}
        return {
            HEADS: self.dataset(heads, of_heads, facts, title=f"{REDRAWN}, of each head"),
            TOP: self.dataset(
                top, of_top, facts, title=f"{REDRAWN}, of layers and of the top heads"
            ),
        }

    def dataset(
        self,
        variables: Variables,
        labels: Mapping[str, Any],
        facts: Iterable[str] = (),
        *,
        title: str = "",
        more: Mapping[str, float] | None = None,
    ) -> xr.Dataset:
        """A group of this task.

        Parameters
        ----------
        variables
            Dimensions without ``task``, and values, by name.
        labels
            Labels of the dimensions.
        facts
            Names of facts on the task that stand beside them.
        title
            Title of a group of test scores.
        more
            Other facts.
        """
        rows = self.rows
        known = {
            "title": self.task.title,
            "group": self.task.group,
            "metric": "pearson" if rows.regression else "accuracy",
            "majority": rows.majority,
            "classes": rows.classes,
            "train": len(rows.train),
            "dev": len(rows.dev),
            "test_size": len(rows.test),
        }
        data = {
            name: (("task", *dims), np.asarray(values)[None])
            for name, (dims, values) in variables.items()
        }
        for name, value in ({name: known[name] for name in facts} | dict(more or {})).items():
            data[name] = ("task",), np.array([value])
        # In this order: tables of the results list layers, then heads.
        made = xr.Dataset(data).assign_coords({"task": [self.task.name], **labels})
        unit = {"title": title, "unit": "accuracy (0–1) or Pearson correlation"} if title else {}
        return made.assign_attrs(**unit, source=SOURCE, listed="no", kind="probe")

    def _units(self, scores: Arrays, labels: Mapping[str, Sequence[int]]) -> xr.Dataset:
        """The scores of heads or layers; ``labels`` are those of each dimension."""
        facts = ("title", "group", "metric", "majority", "classes", "train", "dev", "test_size")
        what = f"each {list(labels)[-1]}" if labels else "the mean embedding of all tokens"
        return self.dataset(
            self._scored(scores, tuple(labels)),
            {dim: list(numbers) for dim, numbers in labels.items()},
            facts,
            title=f"Test score of a classifier on {what}",
            more={"unsolved": int(np.ravel(scores["unsolved"])[0])},
        )

    def _top(self, scores: Arrays, counts: Sequence[int]) -> xr.Dataset:
        """The scores of several heads together."""
        total = scores["rank"].shape[1]
        names = [[*map(str, order)] for order in _as_heads(scores["rank"])]
        padded = [each + [""] * (total - len(each)) for each in names]
        variables = self._scored(scores, ("way", "n")) | {"rank": (("way", "place"), padded)}
        labels = {"way": list(WAYS), "n": list(counts), "place": np.arange(1, total + 1)}
        title = "Test score of a classifier on n heads together"
        made = self.dataset(variables, labels, ("test_size",), title=title)
        return made.assign_attrs(shortlist=SHORTLIST)

    def _scored(self, scores: Arrays, dims: Dims) -> dict[str, tuple[Dims, Any]]:
        """Scores with 95 % intervals of the test score: Wilson's or, for correlations, Fisher's."""
        test, size = scores["test"], len(self.rows.test)
        if self.rows.regression:
            low, high = pearson_interval(test, size)
        else:
            missing = np.isnan(test)
            right = np.round(np.where(missing, 0.0, test) * size)
            ends = wilson(right, np.full(np.shape(test), size))
            low, high = (np.where(missing, np.nan, end) for end in ends)
        named = {name: each for name, each in scores.items() if name not in ("unsolved", "rank")}
        return {name: (dims, each) for name, each in {**named, "low": low, "high": high}.items()}

    def _means(self, test: Array, validation: Array, dims: Dims) -> dict[str, tuple[Dims, Any]]:
        """Means over the last dimension, the splits, with their intervals."""
        mean, low, high = split_interval(test, len(self.rows.train), len(self.rows.test))
        least = -1.0 if self.rows.regression else 0.0
        return {
            "test": (dims, mean),
            "low": (dims, np.clip(low, least, 1.0)),
            "high": (dims, np.clip(high, least, 1.0)),
            "validation": (dims, validation),
        }


def _as_heads(rank: NDArray[np.int64]) -> list[list[Head]]:
    """Heads from layers and heads counted from 0, (list, place, 2)."""
    return [[Head(*each) for each in order if each[0] != NOTHING] for order in rank.tolist()]


def joined(groups: Iterable[Mapping[str, xr.Dataset]]) -> dict[str, xr.Dataset]:
    """The groups of all tasks; some have groups that others lack."""
    parts: dict[str, list[xr.Dataset]] = {}
    for each in groups:
        for name, group in each.items():
            parts.setdefault(name, []).append(group)
    return {name: xr.concat(several, "task") for name, several in parts.items()}
