"""Probing: what every head's output knows of a sentence, every layer's, and those of the best heads together (J1–J6; Jo & Myaeng 2020)."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus.probing import SPLITS, ProbingTask
from headscope.engine.output import run_to
from headscope.engine.survey import describe, versions
from headscope.errors import Interrupted, ResultsError, UserError, unknown
from headscope.observe import Model
from headscope.probes.classify import Rows, Scores, Settings, classify, standardise
from headscope.probes.outputs import HeadOutputs, Texts, make_head_outputs
from headscope.probes.select import CANDIDATES, NUMBERS, greedy, judged, ranking
from headscope.results import Results
from headscope.results.moments import pearson_interval, wilson

PAIRS = ("together", "apart")
"""A pair of texts is one input; or two, u and v, whose features are u, v, |u - v| and u · v."""
WAYS = ("top", "greedy")
SOURCE = "Jo and Myaeng 2020"
NEVER = ("too_long", "split", "nonfinite")
"""What may happen to a survey's texts, but not here."""
COST = 2e10
"""More operations than this for one step of the classifiers of n heads, and that n is left out (unless it was asked for by name)."""

Tell = Callable[[str, int, int], None]
"""Called with what is being done, and how much of how much of it."""


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


def probe(
    model: Model,
    tasks: Sequence[ProbingTask],
    *,
    cache: str | Path,
    output: str | Path | None = None,
    choice: Choice | None = None,
    settings: Settings | None = None,
    progress: Tell | None = None,
) -> Results:
    """Classifiers on every head and layer for every task, and on the best heads together, chosen on validation and scored on test.

    The vectors of all tasks' texts are made in one pass and kept in ``cache``. With ``output`` the results are saved there; what is done of a stopped run is kept
    beside it (``.partial``), task by task, and goes on when called again; a finished one is opened.
    """
    path = Path(output) if output else None
    run = _Probing(model, tasks, Path(cache), path, choice or Choice(), settings or Settings(), progress or (lambda _what, _done, _total: None))
    return run_to(path, run.state, lambda: run.identity, run.run)


class _Probing:
    def __init__(self, model: Model, tasks: Sequence[ProbingTask], cache: Path, path: Path | None, choice: Choice, settings: Settings, tell: Tell) -> None:
        if not tasks:
            raise UserError("no task was given", hint="give SentEval files, a treebank, or 'demo'")
        names = [task.name for task in tasks]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise UserError(f"two tasks have the name {double}", hint="probe them in two runs, or rename a file")
        self.model, self.tasks, self.cache, self.settings, self.tell = model, tasks, cache, replace(settings, l2=tuple(sorted(settings.l2))), tell
        self.stack = model.main_stack()
        self.shape = model.shape(self.stack)
        self.heads = self.shape.layers * self.shape.heads
        self.choice = replace(choice, n=self._check(self.shape.heads if choice.n is None else choice.n), counts=self._counts(choice))
        self.state = path.with_name(path.name + ".partial") if path else None

    def run(self) -> Results:
        done = self._resume()
        for place, task in enumerate(self.tasks):
            if task.name in done:
                continue
            try:
                done[task.name] = _OneTask(self, task, place).run()
            except KeyboardInterrupt:
                kept = f", which are kept in {self.state}" if self.state and done else ""
                raise Interrupted(f"stopped after {len(done)} of {len(self.tasks)} tasks{kept}", hint="type the same command again to go on from there") from None
            if self.state:
                self._results(done).save(self.state)
        return self._results(done)

    @cached_property
    def outputs(self) -> HeadOutputs:
        """The vectors of all texts, each once."""
        texts = list(dict.fromkeys(text for task in self.tasks for split in SPLITS for example in task.splits.get(split, ()) for text in self.inputs(example.texts)))
        return make_head_outputs(
            self.model,
            texts,
            self.cache,
            position=self.choice.position,
            max_length=self.choice.max_length,
            batch_size=self.choice.batch_size,
            progress=partial(self.tell, f"vectors of {self.model.name}"),
        )

    def inputs(self, texts: Texts) -> list[Texts]:
        """What the model reads of an example."""
        return [texts] if len(texts) == 1 or self.choice.pairs == "together" else [(text,) for text in texts]

    def _check(self, n: int) -> int:
        if not 1 <= n <= self.heads:
            raise UserError(f"the number of heads must be from 1 to {self.heads}, all that {self.model.name} has; got {n} instead", hint=f"give -n {self.shape.heads}, say")
        return n

    def _counts(self, choice: Choice) -> tuple[int, ...]:
        """The points of the curve: those asked for, or some up to all heads."""
        width = self.shape.heads
        asked = (
            choice.counts
            if choice.counts is not None
            else [n for n in (1, 2, 4, width // 2, width, 3 * width // 2, 2 * width, 3 * width, 4 * width, self.heads) if 1 <= n <= self.heads]
        )
        return tuple(sorted({*(self._check(n) for n in asked), choice.n or width}))

    @cached_property
    def about(self) -> dict[str, Any]:
        """Everything that changes the numbers."""
        return {
            "model": describe(self.model, self.stack),
            "tasks": {task.name: _digest(task) for task in self.tasks},
            "settings": asdict(self.settings) | asdict(self.choice),
        }

    @cached_property
    def identity(self) -> str:
        """A digest of all that."""
        return hashlib.sha256(json.dumps(self.about | {"versions": versions()}, sort_keys=True).encode()).hexdigest()

    def _resume(self) -> dict[str, dict[str, xr.Dataset]]:
        """The tasks that a stopped run has finished; without their encoding, which would cut the names of longer ones."""
        if self.state is None or not self.state.exists():
            return {}
        try:
            found = Results.open(self.state)
        except ResultsError as error:
            raise UserError(f"{self.state} is damaged: {error.message}", hint=f"delete {self.state} to start afresh") from None
        if found.provenance.get("identity") != self.identity:
            raise UserError(f"{self.state} is the state of another run (another model, tasks or settings)", hint=f"delete {self.state} to start afresh, or give another -o")
        return {str(name): {group: found[group].sel(task=[name]).drop_encoding() for group in found} for name in found["probe"]["task"].values}

    def _results(self, done: dict[str, dict[str, xr.Dataset]]) -> Results:
        groups = next(iter(done.values()))
        merged = {group: xr.concat([done[task.name][group] for task in self.tasks if task.name in done], "task") for group in groups}
        return Results.build(merged, self._provenance())

    def _provenance(self) -> dict[str, Any]:
        return {
            **self.about,
            "corpus": {"name": ", ".join(task.title for task in self.tasks), "format": "probing tasks"},
            "position": self.outputs.position,
            "shards": ["1/1"],
            "identity": self.identity,
            "counts": {**self.outputs.counts, "seen": self.outputs.counts["texts"] - self.outputs.counts["empty"], "bytes": self.outputs.size, **dict.fromkeys(NEVER, 0)},
            "notes": [note for task in self.tasks for note in task.notes],
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }


class _OneTask:
    """All classifiers of one task."""

    def __init__(self, run: _Probing, task: ProbingTask, place: int) -> None:
        self.run_, self.task, self.settings, self.shape = run, self._with_tokens(run, task), run.settings, run.shape
        self.rows = Rows.of(self.task)
        self.tell = partial(run.tell, f"{task.title} ({place + 1} of {len(run.tasks)})")
        examples = [example for split in SPLITS for example in self.task.splits.get(split, ())]
        self.index = np.array([[run.outputs.row[text] for text in run.inputs(example.texts)] for example in examples], np.int64)

    def run(self) -> dict[str, xr.Dataset]:
        layers, points = self.shape.layers, self._points()
        total = 2 * layers + 2 * len(points)
        heads, states = [], []
        for layer in range(layers):
            heads.append(classify(self._heads(layer), self.rows, self.settings))
            self.tell(2 * layer + 1, total)
            states.append(classify(self._layer(layer), self.rows, self.settings))
            self.tell(2 * layer + 2, total)
        validation = np.stack([one.validation for one in heads])
        orders = {"top": ranking(validation.ravel()), "greedy": self._greedy(validation) if self.run_.choice.greedy else []}
        found: dict[tuple[str, int], Scores] = {}
        for way, order in orders.items():
            for place, n in enumerate(points):
                if n <= len(order):
                    found[way, n] = classify(self._together(order[:n])[None], self.rows, replace(self.settings, control=False))
                self.tell(2 * layers + len(points) * (way == "greedy") + place + 1, total)
        return {"probe": self._dataset(heads, ("layer", "head")), "probe_layer": self._dataset(states, ("layer",)), "probe_top": self._top(found, orders)}

    @staticmethod
    def _with_tokens(run: _Probing, task: ProbingTask) -> ProbingTask:
        """The task without examples that have no token, and so no vector."""
        empty = run.outputs.empty
        if not empty:
            return task
        kept = {
            split: tuple(example for example in examples if not any(run.outputs.row[text] in empty for text in run.inputs(example.texts)))
            for split, examples in task.splits.items()
        }
        return replace(task, splits=kept)

    def _heads(self, layer: int) -> Tensor:
        """The features of a layer's heads, (head, row, width)."""
        return self._features(lambda rows: self.run_.outputs.heads(layer, rows)).permute(1, 0, 2).contiguous()

    def _layer(self, layer: int) -> Tensor:
        return self._features(lambda rows: self.run_.outputs.layer(layer, rows))[None]

    def _together(self, order: Sequence[int]) -> Tensor:
        """The features of some heads one after the other, (row, width): heads are counted through all layers."""
        parts: dict[int, Tensor] = {}
        for layer in sorted({unit // self.shape.heads for unit in order}):
            chosen = [unit for unit in order if unit // self.shape.heads == layer]
            values = self._features(lambda rows, layer=layer, chosen=chosen: self.run_.outputs.heads(layer, rows)[:, [unit % self.shape.heads for unit in chosen]])  # type: ignore[misc]
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
        price = len(self.rows.train) * width * (self.rows.classes or len(self.rows.levels)) * len(self.settings.l2) * 4
        return [n for n in self.run_.choice.counts or () if n * price <= COST or n == self.run_.choice.n]

    def _greedy(self, validation: NDArray[np.float64]) -> list[int]:
        width = self.shape.width * (4 if self.index.shape[1] == 2 else 1)
        candidates = ranking(validation.ravel())[: min(CANDIDATES, max(1, NUMBERS // width))]
        kept, rows = judged(self.rows, self.settings.seed)
        x = torch.empty(len(candidates), len(kept), width)
        for layer in range(self.shape.layers):
            prepared = standardise(self._heads(layer), self.rows.train)[0][:, torch.from_numpy(kept)]
            for place, unit in enumerate(candidates):
                if unit // self.shape.heads == layer:
                    x[place] = prepared[unit % self.shape.heads]
        return [candidates[place] for place in greedy(x, rows, count=max(self._points()))]

    def _dataset(self, scores: Sequence[Scores], dims: tuple[str, ...]) -> xr.Dataset:
        """The scores of units, each entry of ``scores`` a layer."""
        arrays = {name: np.stack([getattr(one, name) for one in scores]) for name in ("validation", "test", "l2", "control", "constant")}
        if dims == ("layer",):
            arrays = {name: values[:, 0] for name, values in arrays.items()}
        arrays["low"], arrays["high"] = self._interval(arrays["test"])
        data = xr.Dataset({name: (("task", *dims), values[None].astype(np.float64)) for name, values in arrays.items()})
        data = data.assign_coords({"task": [self.task.name], **{dim: np.arange(1, data.sizes[dim] + 1) for dim in dims}})
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

    def _top(self, found: dict[tuple[str, int], Scores], orders: dict[str, list[int]]) -> xr.Dataset:
        counts = self.run_.choice.counts or ()
        shape = (1, len(WAYS), len(counts))
        arrays = {name: np.full(shape, np.nan) for name in ("validation", "test", "l2")}
        for (way, n), one in found.items():
            for name, values in arrays.items():
                values[0, WAYS.index(way), counts.index(n)] = getattr(one, name)[0]
        arrays["low"], arrays["high"] = self._interval(arrays["test"])
        rank = np.full((1, len(WAYS), self.run_.heads), "", f"<U{len(str(self.shape.layers)) + len(str(self.shape.heads)) + 1}")
        for way, order in orders.items():
            rank[0, WAYS.index(way), : len(order)] = [f"{unit // self.shape.heads + 1}-{unit % self.shape.heads + 1}" for unit in order]
        data = xr.Dataset(
            {name: (("task", "way", "n"), values) for name, values in arrays.items()}
            | {"rank": (("task", "way", "place"), rank), "test_size": (("task",), np.array([len(self.rows.test)]))}
        )
        data = data.assign_coords(task=[self.task.name], way=list(WAYS), n=list(counts), place=np.arange(1, self.run_.heads + 1))
        return data.assign_attrs(title="Test score of a classifier on n heads together", unit="share or correlation", source=SOURCE, listed="no")

    def _listed(self, data: xr.Dataset, title: str) -> xr.Dataset:
        """With what lists and exports of any results have."""
        n = xr.full_like(data["test"], len(self.rows.test))
        data = data.assign(mean=data["test"], deviation=xr.full_like(data["test"], np.nan), n=n)
        return data.assign_attrs(title=title, unit="share or correlation", source=SOURCE, listed="no")

    def _interval(self, test: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        size = len(self.rows.test)
        if self.rows.regression:
            return pearson_interval(test, size)
        known = np.where(np.isnan(test), 0.0, test)
        low, high = wilson(np.round(known * size), np.full(test.shape, size))
        return np.where(np.isnan(test), np.nan, low), np.where(np.isnan(test), np.nan, high)


def _digest(task: ProbingTask) -> str:
    """What a task's examples are."""
    digest = hashlib.sha256(repr(task.labels).encode())
    for split in SPLITS:
        for example in task.splits.get(split, ()):
            digest.update(repr((split, example.texts, example.label)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
