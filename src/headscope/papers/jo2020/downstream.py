"""The downstream tasks of the recipe: frozen heads and layers, and fine-tuning from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.figures import before_after
from headscope.files import slug
from headscope.models import Model, Pooling, load
from headscope.page import Plot, Section, Table
from headscope.page.probing import best_head_rows, layer_rows
from headscope.papers.jo2020.encoders import encoder_of
from headscope.papers.jo2020.tables import place_text
from headscope.papers.jo2020.tuning import (
    GAINS,
    STATES,
    Runs,
    gain_rows,
    mean_gain,
    mean_scores,
    pooling_text,
    state_changes,
    state_rows,
    table_4_poolings,
    tuning_rows,
    tuning_text,
)
from headscope.papers.sections import counted, gallery_plots, short_name
from headscope.results import Atlas
from headscope.runs.probe import Probing
from headscope.runs.tune import Tuned, pooling_slug, tune
from headscope.stats.tables.probing import top_table
from headscope.tasks import Task
from headscope.tasks.probing import glue_task, sample
from headscope.tasks.task import ProbingTask

if TYPE_CHECKING:
    from headscope.papers.jo2020.recipe import Jo2020

Probe = Callable[[str, Model, Sequence[ProbingTask]], Atlas]
"""Trains the classifiers of a model into a file of a name."""


@dataclass
class Downstream:
    """Sections 5 and 6.1 of the paper, for each model and task.

    Parameters
    ----------
    recipe
        The recipe, which knows folders, data and seeds.
    tasks
        The downstream tasks.
    probe
        Trains the classifiers of a model.
    options
        The options of probing.
    """

    recipe: Jo2020
    tasks: Sequence[Task]
    probe: Probe
    options: Probing
    gains: dict[str, float] = field(default_factory=dict)
    """Mean gain of fine-tuning from the top heads, by model, once it is known."""
    changes: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """Change of the mean over heads and rank correlation, once models are tuned."""

    @cached_property
    def _examples(self) -> dict[str, ProbingTask]:
        """The downstream tasks as probing tasks, by name."""
        how = self.recipe.options
        found = {task.name: glue_task(task, str(how.data)) for task in self.tasks}
        if how.limit is None:
            return found
        return {name: sample(task, how.limit, how.seed) for name, task in found.items()}

    def _before(self, name: str, task: Task) -> Atlas:
        """The frozen heads of a downstream task, before fine-tuning."""
        examples = self._examples[task.name]
        return self.probe(f"{slug(name)}-{task.name}", self.recipe.load(name), [examples])

    def _after(self, name: str, task: Task, state: str, runs: Sequence[Tuned]) -> Atlas:
        """The same in the fine-tuned models of all seeds: the mean over them."""
        found = []
        for place, tuned in enumerate(runs):
            model = load(tuned.folder, **self.recipe.options.for_other_models)
            seed = self.recipe.options.seed + place
            ending = f"-seed{seed}" if seed else ""
            file = f"{slug(name)}-{task.name}-{state.replace(' ', '-')}{ending}"
            found.append(self.probe(file, model, [self._examples[task.name]]))
        return mean_scores(found)

    def frozen(self, name: str, task: Task) -> Section:
        """Classifiers on the frozen heads and layers of a model (Section 5.1)."""
        results = self._before(name, task)
        note = (
            f"Dev scores in percent. L2, layer and heads are chosen by {self.options.folds}-fold "
            f"cross-validation on the training data; pairs are encoded {self.options.pairs}; "
            f"vectors are read at {place_text(results)}."
        )
        rows = layer_rows(top_table(results, n=self.recipe.options.top))
        return self.recipe.section(
            "frozen",
            "Classifiers on frozen heads and layers.",
            [
                Table(rows, title="Layers and top heads", note=note),
                Table(best_head_rows(results), title="Best heads"),
            ],
            gallery_plots(results, "probe", "top-n"),
            title=f"{task.title}, frozen {short_name(name)}",
            suffix=f"{slug(name)}-{task.name}",
        )

    def tuning(self) -> Section:
        """Fine-tuning from the last layer, the best layer and the top heads (Table 4, Figure 4)."""
        done: dict[str, dict[str, Runs]] = {}
        probed: dict[str, dict[str, dict[str, Atlas]]] = {}
        chosen = []
        for name in self.recipe.models:
            short = short_name(name)
            for task in self.tasks:
                poolings, runs = self._runs(name, task)
                done.setdefault(short, {})[task.name] = runs
                chosen.append(pooling_text(short, task, poolings))
                after = {s: self._after(name, task, s, runs[s]) for s in (STATES[0], STATES[2])}
                states = {"before": self._before(name, task), **after}
                probed.setdefault(short, {})[task.name] = states
        encoders = {
            short_name(name): encoder_of(self._before(name, self.tasks[0]).provenance)
            for name in self.recipe.models
        }
        self.gains = {name: mean_gain(self.tasks, runs, STATES[2]) for name, runs in done.items()}
        self.changes = state_changes(probed)
        seeds = counted(self.recipe.options.seeds, "seed")
        note = (
            f"Dev scores in percent: the median over {seeds}, with the lowest and the highest. "
            + " ".join(chosen)
        )
        plot = Plot(
            "before-after",
            "Heads before and after fine-tuning",
            f"As in Figure 4: frozen scores of each head, after fine-tuning the mean over {seeds}.",
            before_after(probed),
        )
        return self.recipe.section(
            "tuning",
            tuning_text(done),
            [
                Table(tuning_rows(self.tasks, done, encoders), title="Table 4", note=note),
                Table(gain_rows(self.tasks, done, encoders), title="Mean gains", note=GAINS),
                Table(state_rows(probed), title="Frozen scores of heads, before and after"),
            ],
            [plot],
        )

    def _runs(self, name: str, task: Task) -> tuple[dict[str, Pooling], Runs]:
        """What the classifiers are trained on, and the tuned models of all seeds."""
        poolings = table_4_poolings(
            self._before(name, task),
            task.name,
            position=self.recipe.options.position or "",
            top=self.recipe.options.top,
        )
        first = self.recipe.options.seed
        seeds = range(first, first + self.recipe.options.seeds)
        return poolings, {
            state: [self._tune(name, task, pooling, seed) for seed in seeds]
            for state, pooling in poolings.items()
        }

    def _tune(self, name: str, task: Task, pooling: Pooling, seed: int) -> Tuned:
        home = Path(self.recipe.options.tuned or self.recipe.folder / "tuned")
        home = home / slug(name) if len(self.recipe.models) > 1 else home
        folder = home / f"{task.name}-{pooling_slug(pooling)}{f'-seed{seed}' if seed else ''}"
        with self.recipe.reporter.progress(folder.name) as progress:
            return tune(
                self.recipe.source(name),
                task=task,
                data=self.recipe.options.data,
                output=folder,
                overwrite=self.recipe.options.overwrite,
                pooling=pooling,
                **self.recipe.options.for_training,
                progress=progress,
                seed=seed,
                epochs=self.recipe.options.epochs,
                learning_rate=self.recipe.options.learning_rate,
                max_length=self.recipe.options.max_length,
            )
