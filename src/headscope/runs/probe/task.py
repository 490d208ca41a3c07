"""One probing task: the classifiers of its heads, of its layers, and of its best heads together.

Where validation or test is small, all sentences are divided again: a head that is chosen on few
validation sentences may be there by luck, and few test sentences may not show it. Each new split
chooses for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.models import Model
from headscope.progress import Update
from headscope.results.moments import pearson_interval, wilson
from headscope.runs.probe import Probing
from headscope.runs.probe.classify import ClassifierScores, classify, standardise
from headscope.runs.probe.rows import LabelledRows, TaskFeatures
from headscope.runs.probe.select import (
    SELECTED,
    SHORTLIST,
    candidates,
    greedy,
    judging_rows,
    ranking,
)
from headscope.runs.probe.vectors import HeadOutputs
from headscope.stats.tables.probing import HEADS, TOP, split_interval
from headscope.tasks.task import ProbingTask

COST = 2e10
"""Points of the curve over n whose classifiers take more operations per step can be skipped."""
SMALL = 200
"""Validation and test splits with fewer examples are small."""
REPEATS = 5
"""How often the split of a small task is drawn again by default."""
WAYS = ("top", "greedy")
"""Ways of selecting heads: by their own scores, or greedily."""
SPLIT_WAYS = ("last", "best", "top")
"""The last layer, the layer and the heads that are best in the validation part."""
TOP_SCORES = ("validation", "test", "l2", "spearman")
UNIT_SCORES = (*TOP_SCORES, "control", "constant")
NOTHING = -1

Arrays = dict[str, NDArray[Any]]
Scores = dict[str, Arrays]
"""Arrays by name, of heads, layers, top heads, embeddings and splits: see :meth:`TaskProbe.run`."""


class TaskProbe:
    """All classifiers of one task.

    Parameters
    ----------
    task
        The task.
    outputs
        The vectors of its texts.
    options
        Options, with ``n`` and ``counts`` filled in.
    skip_costly
        Whether to skip points of the curve over n that cost too much.
    repeats
        How often the split is drawn again.
    progress
        Called with the number of steps that are done, and of all.
    """

    def __init__(
        self,
        task: ProbingTask,
        outputs: HeadOutputs,
        options: Probing,
        *,
        skip_costly: bool = False,
        repeats: int = 0,
        progress: Update | None = None,
    ) -> None:
        self.options, self.plain = options, replace(options, control=False)
        self.shape, self.heads = outputs.shape, outputs.shape.every_head
        self.features = TaskFeatures(task, outputs, options.pairs)
        self.task = self.features.task
        self.rows = LabelledRows.of(self.task)
        self.repeats, self.progress, self.done = repeats, progress, 0
        self.points = [n for n in options.counts or () if self._affordable(n) or not skip_costly]
        self.steps = (2 + repeats) * self.shape.layers + 2 * len(self.points)

    def run(self, model: Model) -> Scores:
        """Train and score all classifiers.

        Returns
        -------
        dict of arrays
            ``heads`` and ``layers``: by name (``UNIT_SCORES``), (layer, head) and (layer,), with
            the number of classifiers ``unsolved``, (1,). ``top``: by name (``TOP_SCORES``),
            (way, n), scores of n heads together, NaN where there are none; and ``rank``,
            (way, place, 2), layer and head in the order of selection, counted from 0, -1 beyond.
            ``embeddings``, (1,) each, and ``splits`` (see :meth:`split_scores`), if asked for.
        """
        heads, layers = [], []
        for layer in self.shape.numbers:
            heads.append(classify(self.features.heads(layer), self.rows, self.options))
            self._step()
            layers.append(classify(self.features.layer(layer), self.rows, self.options))
            self._step()
        best = self._ranked(np.stack([one.validation for one in heads]))
        orders = {"top": best, "greedy": self._greedy(best) if self.options.greedy else []}
        scores: Scores = {
            "heads": unit_scores(heads),
            "layers": {name: each.reshape(-1) for name, each in unit_scores(layers).items()},
            "top": self._together(orders),
        }
        if self.options.embeddings:
            scores["embeddings"] = self.embedding_scores(model)
        if self.repeats:
            scores["splits"] = self.split_scores()
        return scores

    def embedding_scores(self, model: Model) -> Arrays:
        """The scores of the embeddings alone, (1,) each."""
        x = self.features.embeddings(model, self.options)
        scores = unit_scores([classify(x, self.rows, self.options)])
        return {name: each.reshape(-1) for name, each in scores.items()}

    def split_scores(self) -> Arrays:
        """The scores of heads, layers and top heads in new splits, without controls.

        Returns
        -------
        dict of arrays
            ``test`` and ``validation``, (split, layer, head); ``top_test`` and ``top_validation``,
            (way, split); ``best_layer``, (split,), and ``rank``, (split, n, 2), counted from 0.
        """
        numbers = range(1, self.repeats + 1)
        drawn = [redraw(self.rows, self.options.seed, number) for number in numbers]
        heads: list[list[ClassifierScores]] = []
        layers: list[list[ClassifierScores]] = []
        for layer in self.shape.numbers:  # the vectors of a layer are read once for all splits
            x = self.features.heads(layer)
            heads.append([classify(x, split, self.plain) for split in drawn])
            x = self.features.layer(layer)
            layers.append([classify(x, split, self.plain) for split in drawn])
            self._step(self.repeats)
        scores = {name: _each(heads, name) for name in ("test", "validation")}
        states = {name: _each(layers, name)[..., 0] for name in ("test", "validation")}
        best = np.nan_to_num(states["validation"], nan=-np.inf).argmax(1)
        chosen = [self._ranked(each)[: self.options.n] for each in scores["validation"]]
        top = [
            classify(self.features.together(few), split, self.plain)
            for few, split in zip(chosen, drawn, strict=True)
        ]
        for name in ("test", "validation"):
            together = np.array([getattr(one, name)[0] for one in top])
            at_best = states[name][np.arange(self.repeats), best]
            scores[f"top_{name}"] = np.stack([states[name][:, -1], at_best, together])
        return scores | {"best_layer": best, "rank": np.array(chosen, np.int64)}

    def _step(self, count: int = 1) -> None:
        self.done += count
        if self.progress:
            self.progress(self.done, self.steps)

    def _affordable(self, n: int) -> bool:
        """Whether the classifiers of n heads are cheap enough, or n is the number asked for."""
        outputs, penalties = self.rows.outputs, len(self.options.l2)
        price = len(self.rows.train) * self.features.width * outputs * penalties * 4
        return n * price <= COST or n == self.options.n

    def _ranked(self, validation: NDArray[np.float64]) -> list[Head]:
        """Heads from the best validation score, (layer, head), to the worst."""
        return [self.heads[unit] for unit in ranking(validation.ravel())]

    def _together(self, orders: Mapping[str, Sequence[Head]]) -> Arrays:
        """Classifiers of the first n heads of each order, without controls."""
        counts = self.options.counts or ()
        scores = {name: np.full((len(WAYS), len(counts)), np.nan) for name in TOP_SCORES}
        rank = np.full((len(WAYS), len(self.heads), 2), NOTHING, np.int64)
        for way, order in orders.items():
            at = WAYS.index(way)
            if order:
                rank[at, : len(order)] = order
            for n in self.points:
                if n <= len(order):
                    own = classify(self.features.together(order[:n]), self.rows, self.plain)
                    for name, values in scores.items():
                        values[at, counts.index(n)] = getattr(own, name)[0]
                self._step()
        return scores | {"rank": rank}

    def _greedy(self, best: Sequence[Head]) -> list[Head]:
        """Select heads greedily from the best ones."""
        width = self.features.width
        kept, rows = judging_rows(self.rows, self.options.seed)
        count = max(n for n in self.points if n * width <= SELECTED or n == self.options.n)
        chosen = [best[place] for place in candidates(range(len(best)), rows, width, count)]
        x = torch.empty(len(chosen), len(kept), width)
        for layer in sorted({head.layer for head in chosen}):
            prepared, _ = standardise(self.features.heads(layer), self.rows.train)
            prepared = prepared[:, torch.from_numpy(kept)]
            for place, head in enumerate(chosen):
                if head.layer == layer:
                    x[place] = prepared[head.head]
        return [chosen[place] for place in greedy(x, rows, count=count)]


def unit_scores(scores: Sequence[ClassifierScores]) -> Arrays:
    """Scores by name, (layer, unit), with the number of classifiers ``unsolved``, (1,)."""
    return {
        name: np.stack([getattr(one, name) for one in scores]).astype(np.float64)
        for name in UNIT_SCORES
    } | {"unsolved": np.array([sum(one.unsolved for one in scores)], np.int64)}


def _each(scores: Sequence[Sequence[ClassifierScores]], name: str) -> NDArray[np.float64]:
    """A score of every unit, (split, layer, unit), from scores by layer and split."""
    values = [[getattr(one, name) for one in layer] for layer in scores]
    return np.array(values, np.float64).transpose(1, 0, 2)


def count_repeats(task: ProbingTask, number: int | None) -> int:
    """How often the split of a task is drawn again; 0 for never.

    Parameters
    ----------
    task
        The task.
    number
        The number of splits that was asked for; 1 stands for the task's own split only. None
        chooses: 5 if validation or test has fewer than 200 examples.

    Examples
    --------
    >>> task = ProbingTask("t", "T", (), {"train": (), "test": ()})
    >>> count_repeats(task, None), count_repeats(task, 3), count_repeats(task, 1)
    (5, 3, 0)
    """
    if number is None:
        dev, test = (len(task.splits.get(split, ())) for split in ("dev", "test"))
        return REPEATS if test < SMALL or 0 < dev < SMALL else 0
    return number if number > 1 else 0


def redraw(rows: LabelledRows, seed: int, number: int) -> LabelledRows:
    """The same examples in another random split of the same sizes.

    Examples are ordered by label, at random within a label, and dealt to the splits in turn, so
    that each split gets its share of any stretch: of every class, and of a regression's range.

    Parameters
    ----------
    rows
        The examples of a task.
    seed, number
        Seed of the run, and the number of the split.

    Examples
    --------
    >>> own = LabelledRows(np.arange(8.0) % 2, 2, np.arange(4), np.arange(4, 6), np.arange(6, 8))
    >>> new = redraw(own, seed=0, number=1)
    >>> [sorted(own.gold[part].tolist()) for part in (new.train, new.dev, new.test)]
    [[0.0, 0.0, 1.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    random = np.random.default_rng([seed, number])
    parts = (rows.train, rows.dev, rows.test)
    pool = random.permutation(np.concatenate(parts))
    order = pool[np.argsort(rows.gold[pool], kind="stable")]
    sizes = np.array([len(part) for part in parts])
    given, deal = np.zeros(3), np.empty(len(order), np.int64)
    for place in range(len(order)):
        lacking = sizes * (place + 1) / len(order) - given
        lacking[given >= sizes] = -np.inf
        deal[place] = lacking.argmax()
        given[deal[place]] += 1
    train, dev, test = (np.sort(order[deal == part]) for part in range(3))
    return replace(rows, train=train, dev=dev, test=test)


# --- groups of results ---

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
