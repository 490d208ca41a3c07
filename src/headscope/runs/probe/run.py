"""A probing run: vectors first, then the classifiers of one task after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.files import digest_of
from headscope.models import Model
from headscope.progress import Update
from headscope.results import Atlas
from headscope.runs.probe import ProbeOptions
from headscope.runs.probe.embeddings import embedding_features
from headscope.runs.probe.features import TaskFeatures, model_inputs
from headscope.runs.probe.groups import task_groups
from headscope.runs.probe.outputs import HeadOutputs
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.split_groups import split_groups
from headscope.runs.probe.splits import SMALL, count_repeats
from headscope.runs.probe.task import TaskProbe
from headscope.runs.probe.task_scores import TaskScores
from headscope.runs.probe.vectors import make_head_outputs
from headscope.runs.run import Block, Run, describe
from headscope.tasks.task import SPLITS, ProbingTask, all_notes

NEVER = ("too_long", "split", "nonfinite")
"""Counts of a survey that are always 0 here."""


class ProbingRun(Run[Atlas]):
    """A probing run: one block of work per task."""

    def __init__(self, model: Model, tasks: Sequence[ProbingTask], options: ProbeOptions) -> None:
        super().__init__(options, "probing", size=model.size)
        self.every = 0.0  # a checkpoint after every task
        self.model, self.tasks, self.cache = model, tasks, Path(options.cache).absolute()
        self.stack = model.main_stack()
        shape = model.shape(self.stack)
        self.skip_costly = options.counts is None
        resolved = options.resolve(model.name, layers=shape.layers, heads=shape.heads)
        self.options = replace(resolved, device=str(model.device))
        self.steps = 2 * (shape.layers + len(self.options.counts or ()))
        self.repeats = [count_repeats(task, options.repeats) for task in tasks]
        self.scores: dict[int, TaskScores] = {}

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, tasks and options: everything that changes the numbers."""
        repeats = {"repeats": max(self.repeats)} if any(self.repeats) else {}
        return {
            "model": describe(self.model, self.stack),
            "tasks": {task.name: _task_digest(task) for task in self.tasks},
            "settings": self.options.settings | {"skip_costly": self.skip_costly} | repeats,
        }

    def begin(self) -> None:
        """Compute the vectors that the cache lacks."""
        if any(self.repeats):
            self.reporter.say(self._split_cost())
        with self.reporter.progress(f"vectors of {self.model.name}") as update:
            self._compute(update)

    def blocks(self) -> Iterator[Block]:
        """The tasks."""
        return (Block(index, task) for index, task in enumerate(self.tasks))

    def do(self, block: Block, update: Update) -> None:
        """Train the classifiers of a task."""

        def report(done: int, total: int) -> None:
            update(block.index * self.steps + done * self.steps // total, self.progress()[1])

        probe = TaskProbe(
            block.work,
            self.outputs,
            self.options,
            report,
            skip_costly=self.skip_costly,
            embeddings=self._embeddings if self.options.embeddings else None,
            repeats=self.repeats[block.index],
        )
        self.scores[block.index] = probe.run()

    def progress(self) -> tuple[int, int]:
        """Number of steps that are done, and of all."""
        return self.next_block * self.steps, len(self.tasks) * self.steps

    def so_far(self) -> str:
        """Number of tasks that are done."""
        return f"{self.next_block} of {len(self.tasks)} tasks"

    def kept(self) -> str:
        """The vectors, once they are computed: any other run may use them."""
        if not hasattr(self, "outputs") or not self.outputs.blocks:
            return super().kept()
        folder = self.outputs.blocks[0].parent
        return f"the vectors of {len(self.outputs.texts)} texts are kept in {folder}"

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The scores of the tasks that are done."""
        arrays = {
            f"{index}/{name}": values
            for index, scores in self.scores.items()
            for name, values in scores.arrays().items()
        }
        return {}, arrays

    def restore(self, state: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Read the scores of the tasks that are done."""
        by_task: dict[int, dict[str, NDArray[Any]]] = {}
        for name, values in arrays.items():
            index, _, rest = name.partition("/")
            by_task.setdefault(int(index), {})[rest] = values
        self.scores = {index: TaskScores.restore(found) for index, found in by_task.items()}

    def result(self) -> Atlas:
        """The groups of all tasks."""
        counts = self.options.counts or ()
        groups: dict[str, list[xr.Dataset]] = {}
        for index, task in enumerate(self.tasks):
            known = TaskFeatures(task, self.outputs, self.options.pairs).task
            rows, numbers = LabelledRows.of(known), self.outputs.shape.labels
            made = task_groups(known, rows, self.scores[index], counts, numbers)
            if self.scores[index].splits:
                made |= split_groups(known, rows, self.scores[index].splits, numbers)
            for name, group in made.items():
                groups.setdefault(name, []).append(group)
        whole = {name: xr.concat(parts, "task") for name, parts in groups.items()}
        return Atlas.build(whole, self.provenance())

    def provenance(self) -> dict[str, Any]:
        """What is written beside the results."""
        counts = self.outputs.counts
        return {
            **super().provenance(),
            "corpus": {
                "name": ", ".join(task.title for task in self.tasks),
                "format": "probing tasks",
            },
            "position": self.outputs.position,
            "counts": {
                **counts,
                "seen": counts["texts"] - counts["empty"],
                **dict.fromkeys(NEVER, 0),
            },
            "notes": all_notes(self.tasks),
        }

    def _split_cost(self) -> str:
        """Which tasks are divided again, and what that takes, as a sentence."""
        pairs = zip(self.tasks, self.repeats, strict=True)
        titles = ", ".join(task.title for task, count in pairs if count)
        shape, count = self.model.shape(self.stack), max(self.repeats)
        units = shape.layers * (shape.heads + 1) + 1
        why = f"fewer than {SMALL} validation or test examples; "
        return (
            f"{titles}: {'' if self.options.repeats else why}{count} random splits are probed "
            f"besides the task's own, which takes {count} times the work of its heads and layers "
            f"({count} × {units} classifiers for each L2 value). To skip them, set repeats to 1."
        )

    def _embeddings(self, features: TaskFeatures) -> Tensor:
        """The features of a task in the embeddings alone."""
        return embedding_features(
            self.model,
            features,
            max_length=self.options.max_length,
            batch_size=self.options.batch_size,
        )

    def _compute(self, update: Update) -> None:
        """The vectors of all texts of all tasks, each once."""
        texts = dict.fromkeys(
            text
            for task in self.tasks
            for split in SPLITS
            for example in task.splits.get(split, ())
            for text in model_inputs(example.texts, self.options.pairs)
        )
        self.outputs: HeadOutputs = make_head_outputs(
            self.model,
            list(texts),
            self.cache,
            position=self.options.position,
            max_length=self.options.max_length,
            batch_size=self.options.batch_size,
            engine=self.engine,
            progress=update,
            say=self.reporter.say,
        )


def _task_digest(task: ProbingTask) -> str:
    """A digest of a task's labels and examples."""
    examples = (
        repr((split, example.texts, example.label))
        for split in SPLITS
        for example in task.splits.get(split, ())
    )
    return digest_of(repr(task.labels), *examples)[:16]
