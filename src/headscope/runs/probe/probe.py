"""Probing: what every head's output knows of a sentence, every layer's, and those of the best heads together (J1–J6; Jo & Myaeng 2020)."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import xarray as xr

from headscope.errors import Interrupted, ResultsError, UserError
from headscope.models import Model
from headscope.results import Results
from headscope.runs.output import run_to
from headscope.runs.probe.classify import Settings
from headscope.runs.probe.outputs import HeadOutputs, make_head_outputs
from headscope.runs.probe.task import Choice, OneTask, inputs
from headscope.runs.survey import describe, versions
from headscope.tasks.probing import SPLITS, ProbingTask, all_notes

__all__ = ["Choice", "probe"]

NEVER = ("too_long", "split", "nonfinite")
"""What may happen to a survey's texts, but not here."""
Tell = Callable[[str, int, int], None]
"""Called with what is being done, and how much of how much of it."""


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
    run = _Probing(
        model,
        tasks,
        Path(cache),
        path,
        choice or Choice(),
        settings or Settings(),
        progress or (lambda _what, _done, _total: None),
    )
    return run_to(path, run.state, lambda: run.identity, run.run)


class _Probing:
    def __init__(
        self,
        model: Model,
        tasks: Sequence[ProbingTask],
        cache: Path,
        path: Path | None,
        choice: Choice,
        settings: Settings,
        tell: Tell,
    ) -> None:
        if not tasks:
            raise UserError("no task was given", hint="give SentEval files, a treebank, or 'demo'")
        names = [task.name for task in tasks]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise UserError(
                f"two tasks have the name {double}", hint="probe them in two runs, or rename a file"
            )
        self.model, self.tasks, self.cache, self.settings, self.tell = (
            model,
            tasks,
            cache,
            replace(settings, l2=tuple(sorted(settings.l2))),
            tell,
        )
        self.stack = model.main_stack()
        self.shape = model.shape(self.stack)
        self.heads = self.shape.layers * self.shape.heads
        self.choice = replace(
            choice,
            n=self._check(self.shape.heads if choice.n is None else choice.n),
            counts=self._counts(choice),
        )
        self.spare = choice.counts is None
        self.state = path.with_name(path.name + ".partial") if path else None

    def run(self) -> Results:
        done = self._resume()
        for place, task in enumerate(self.tasks):
            if task.name in done:
                continue
            try:
                tell = partial(self.tell, f"{task.title} ({place + 1} of {len(self.tasks)})")
                done[task.name] = OneTask(
                    task, self.outputs, self.choice, self.settings, tell, spare=self.spare
                ).run()
            except KeyboardInterrupt:
                kept = f", which are kept in {self.state}" if self.state and done else ""
                raise Interrupted(
                    f"stopped after {len(done)} of {len(self.tasks)} tasks{kept}",
                    hint="type the same command again to go on from there",
                ) from None
            if self.state:
                self._results(done).save(self.state)
        return self._results(done)

    @cached_property
    def outputs(self) -> HeadOutputs:
        """The vectors of all texts, each once."""
        texts = list(
            dict.fromkeys(
                text
                for task in self.tasks
                for split in SPLITS
                for example in task.splits.get(split, ())
                for text in inputs(example.texts, self.choice.pairs)
            )
        )
        return make_head_outputs(
            self.model,
            texts,
            self.cache,
            position=self.choice.position,
            max_length=self.choice.max_length,
            batch_size=self.choice.batch_size,
            progress=partial(self.tell, f"vectors of {self.model.name}"),
        )

    def _check(self, n: int) -> int:
        if not 1 <= n <= self.heads:
            raise UserError(
                f"the number of heads must be from 1 to {self.heads}, all that {self.model.name} has; got {n} instead",
                hint=f"give -n {self.shape.heads}, say",
            )
        return n

    def _counts(self, choice: Choice) -> tuple[int, ...]:
        """The points of the curve: those asked for, or some up to all heads."""
        width = self.shape.heads
        asked = (
            choice.counts
            if choice.counts is not None
            else [
                n
                for n in (
                    1,
                    2,
                    4,
                    width // 2,
                    width,
                    3 * width // 2,
                    2 * width,
                    3 * width,
                    4 * width,
                    self.heads,
                )
                if 1 <= n <= self.heads
            ]
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
        return hashlib.sha256(
            json.dumps(self.about | {"versions": versions()}, sort_keys=True).encode()
        ).hexdigest()

    def _resume(self) -> dict[str, dict[str, xr.Dataset]]:
        """The tasks that a stopped run has finished; without their encoding, which would cut the names of longer ones."""
        if self.state is None or not self.state.exists():
            return {}
        try:
            found = Results.open(self.state)
        except ResultsError as error:
            raise UserError(
                f"{self.state} is damaged: {error.message}",
                hint=f"delete {self.state} to start afresh",
            ) from None
        if found.provenance.get("identity") != self.identity:
            raise UserError(
                f"{self.state} is the state of another run (another model, tasks or settings)",
                hint=f"delete {self.state} to start afresh, or give another -o",
            )
        return {
            str(name): {group: found[group].sel(task=[name]).drop_encoding() for group in found}
            for name in found["probe"]["task"].values
        }

    def _results(self, done: dict[str, dict[str, xr.Dataset]]) -> Results:
        groups = next(iter(done.values()))
        merged = {
            group: xr.concat(
                [done[task.name][group] for task in self.tasks if task.name in done], "task"
            )
            for group in groups
        }
        return Results.build(merged, self._provenance())

    def _provenance(self) -> dict[str, Any]:
        counts = self.outputs.counts
        return {
            **self.about,
            "corpus": {
                "name": ", ".join(task.title for task in self.tasks),
                "format": "probing tasks",
            },
            "position": self.outputs.position,
            "shards": ["1/1"],
            "identity": self.identity,
            "counts": {
                **counts,
                "seen": counts["texts"] - counts["empty"],
                **dict.fromkeys(NEVER, 0),
            },
            "notes": all_notes(self.tasks),
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }


def _digest(task: ProbingTask) -> str:
    """What a task's examples are."""
    digest = hashlib.sha256(repr(task.labels).encode())
    for split in SPLITS:
        for example in task.splits.get(split, ()):
            digest.update(
                repr((split, example.texts, example.label)).encode("utf-8", "surrogatepass")
            )
    return digest.hexdigest()[:16]
