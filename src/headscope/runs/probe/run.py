"""A probing run: vectors first, then the classifiers of one task after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import xarray as xr

from headscope.files import digest_of
from headscope.models import Model
from headscope.progress import Update
from headscope.results import Atlas
from headscope.runs.probe import ProbeOptions, Vectors
from headscope.runs.probe.rows import LabelledRows, TaskFeatures, task_texts
from headscope.runs.probe.task import SMALL, Scores, TaskProbe, TaskResults, count_repeats, joined
from headscope.runs.probe.vectors import HeadOutputs, make_head_outputs
from headscope.runs.run import Arrays, Block, Run, describe
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
        self.scores: dict[int, Scores] = {}
        self.outputs: HeadOutputs

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
        """Compute the vectors that the cache lacks, of all texts of all tasks, each once."""
        if any(self.repeats):
            self.say(self._split_cost())
        with self.reporter.progress(f"vectors of {self.model.name}") as update:
            self.outputs = make_head_outputs(
                self.model,
                task_texts(self.tasks, self.options.pairs),
                self.cache,
                engine=self.engine,
                progress=update,
                say=self.say,
                **self.options.subset(Vectors),
            )

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
            skip_costly=self.skip_costly,
            repeats=self.repeats[block.index],
            progress=report,
        )
        self.scores[block.index] = probe.run(self.model)

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

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The scores of the tasks that are done."""
        return {}, {
            f"{index}/{group}/{name}": values
            for index, scores in self.scores.items()
            for group, arrays in scores.items()
            for name, values in arrays.items()
        }

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Read the scores of the tasks that are done."""
        for key, values in arrays.items():
            index, group, name = key.split("/")
            self.scores.setdefault(int(index), {}).setdefault(group, {})[name] = values

    def result(self) -> Atlas:
        """The groups of all tasks."""
        return Atlas.build(joined(map(self._groups, range(len(self.tasks)))), self.provenance())

    def _groups(self, index: int) -> dict[str, xr.Dataset]:
        task = TaskFeatures(self.tasks[index], self.outputs, self.options.pairs).task
        results = TaskResults(task, LabelledRows.of(task), self.outputs.shape.labels)
        return results.groups(self.scores[index], self.options.counts or ())

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


def _task_digest(task: ProbingTask) -> str:
    """A digest of a task's labels and examples."""
    examples = (
        repr((split, example.texts, example.label))
        for split in SPLITS
        for example in task.splits.get(split, ())
    )
    return digest_of(repr(task.labels), *examples)[:16]
