"""The tuned models of the recipe: training, what it changes, and disabling their heads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headscope.corpus import Corpus
from headscope.corpus.spacy.parser import parse
from headscope.models import Model, load
from headscope.page import Section, Table
from headscope.papers.kovaleva2019.tables import disabling_text, gain_rows
from headscope.papers.sections import gallery_plots
from headscope.runs.ablate import Way, ablate
from headscope.runs.compare import compare
from headscope.runs.tune import Start, Tuned, tune
from headscope.stats.ablation import change_table
from headscope.tasks import Task, task_examples

if TYPE_CHECKING:
    from headscope.papers.kovaleva2019.recipe import Kovaleva2019

SHOWN = 8
"""Heads in the tables of the largest gains and losses."""


@dataclass
class TunedModels:
    """The models of Table 1, and the sections about them.

    Parameters
    ----------
    recipe
        The recipe, which knows folders, data and settings.
    limit
        The most dev examples of each task.
    """

    recipe: Kovaleva2019
    limit: int

    @property
    def _home(self) -> Path:
        """The folder of the tuned models."""
        return Path(self.recipe.tuned) if self.recipe.tuned else self.recipe.folder / "tuned"

    def dev(self, task: Task) -> Corpus:
        """The dev examples of a task."""
        return task_examples(task, str(self.recipe.data), "dev")

    def tune(self, task: Task, start: Start) -> Tuned:
        """Tune one model of Table 1, or read it if it is finished."""
        folder = self._home / f"{task.name}-{start}"
        with self.recipe.reporter.progress(folder.name) as progress:
            return tune(
                self.recipe.source(self.recipe.models[0]),
                task=task,
                data=self.recipe.data,
                output=folder,
                device=self.recipe.device,
                progress=progress,
                start=start,
                seed=self.recipe.seed,
                epochs=self.recipe.epochs,
                learning_rate=self.recipe.learning_rate,
                max_length=self.recipe.max_length,
            )

    def model(self, task: Task) -> Model:
        """The model that was tuned from the pretrained one."""
        return load(self.tune(task, "pretrained").folder, device=self.recipe.device)

    def change(self, task: Task) -> Section:
        """Run the pretrained and the tuned model side by side over the parsed dev examples."""
        dev, tuned = self.dev(task), self.model(task)
        source = dev.source
        parsed = replace(
            dev,
            source=lambda: parse(source(), parser=self.recipe.parser),
            rough=source,
            format=f"{dev.format}+spacy",
        )
        path = self.recipe.folder / f"change-{task.name}.nc"
        with self.recipe.reporter.progress(path.stem) as progress:
            results = compare(
                self.recipe.load(self.recipe.models[0]),
                tuned,
                parsed,
                measures=["feature", "link"],
                output=path,
                progress=progress,
                limit=self.limit,
                seed=self.recipe.seed,
                batch_size=self.recipe.batch_size,
                max_length=self.recipe.max_length,
            )
        self.recipe.keep(path, results)
        after = self.recipe.survey(
            f"features-{task.name}", tuned, parsed, ["feature", "link"], limit=self.limit
        )
        means = results.mean("change").mean("head")
        rows = [
            {"layer": int(layer), "mean cosine of its heads": float(value)}
            for layer, value in zip(means["layer"].values, means.values, strict=True)
        ]
        text = (
            "Cosine between the maps before and after fine-tuning; attention to linguistic "
            "features, after minus before; and attention from [CLS] in the last layer, after."
        )
        plots = [
            *gallery_plots(results, "change", "features-change", "links-change"),
            *gallery_plots(after, "from-cls"),
        ]
        return self.recipe.section(
            "change",
            text,
            [Table(rows, title="Similarity of maps by layer")],
            plots,
            title=f"{task.title}: what fine-tuning changes",
            suffix=task.name,
        )

    def disabling(self, task: Task) -> Section:
        """Disable each head and each layer of the tuned model."""
        path = self.recipe.folder / f"off-{task.name}.nc"
        with self.recipe.reporter.progress(path.stem) as progress:
            results = ablate(
                self.tune(task, "pretrained").folder,
                task=task,
                data=self.recipe.data,
                way=cast("Way", self.recipe.way),
                output=path,
                progress=progress,
                limit=self.limit,
                seed=self.recipe.seed,
                batch_size=self.recipe.batch_size,
                max_length=self.recipe.max_length,
                device=self.recipe.device,
            )
        self.recipe.keep(path, results)
        heads, layers = change_table(results), change_table(results, "layer")
        note = (
            "Scores and gains on the scale of the metric, with 95 % intervals (paired bootstrap "
            "over examples). Corrected p-values: Holm over all heads."
        )
        tables = [
            Table(
                gain_rows(heads.head(SHOWN), "head"),
                title="Heads whose removal helps most",
                note=note,
            ),
            Table(
                gain_rows(heads.tail(SHOWN)[::-1], "head"), title="Heads whose removal hurts most"
            ),
            Table(gain_rows(layers, "layer"), title="Layers disabled in turn"),
        ]
        seen = results.provenance["counts"]["seen"]
        return self.recipe.section(
            "disabling",
            disabling_text(task, heads, layers=len(layers), seen=seen, way=self.recipe.way),
            tables,
            gallery_plots(results, "head-off", "layer-off"),
            title=f"{task.title}: disabling heads",
            suffix=task.name,
        )
