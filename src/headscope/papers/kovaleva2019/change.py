"""What fine-tuning changes, with the tasks side by side (Sections 4.3 to 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headscope.corpus import Corpus
from headscope.corpus.spacy import parse
from headscope.figures.builders import Scale, by_task, heat_grid, measure_grid
from headscope.figures.changes import (
    PAIRS,
    from_cls_by_task,
    similarity_by_task,
    special_by_task,
)
from headscope.figures.style import subject
from headscope.models import Model
from headscope.numbers import number
from headscope.page import Plot, Section, Table
from headscope.results import Atlas
from headscope.runs.survey import compare
from headscope.stats.grid import strongest_head
from headscope.tasks import Task

if TYPE_CHECKING:
    from headscope.papers.kovaleva2019.recipe import Kovaleva2019

MEASURES = ["feature", "link", "position"]
"""What is measured of the tuned models."""
FEATURE = "share of attention, mean over all heads; in brackets, the head with the most"


@dataclass
class Change:
    """The comparison of the pretrained model with the tuned ones.

    Parameters
    ----------
    recipe
        The recipe, which knows folders, models and settings.
    """

    recipe: Kovaleva2019
    changes: dict[str, dict[str, Atlas]] = field(default_factory=dict)
    """Comparisons by task and seed."""
    after: dict[str, Atlas] = field(default_factory=dict)
    """Surveys of the first tuned model of each task."""

    def run(self) -> Section:
        """Compare the models of all tasks, and write the section."""
        for task in self.recipe.chosen_tasks:
            self._task(task)
        firsts = {name: next(iter(seeds.values())) for name, seeds in self.changes.items()}
        tables = [
            Table(self._similarity, title="Similarity of maps by layer", note=self._note),
            Table(
                feature_rows(self.after),
                title="Attention to features after fine-tuning",
                note=f"{FEATURE}. Values are the attention that the token gets from all tokens, "
                "divided by their number.",
            ),
            Table(
                cls_rows(self.after),
                title="Attention from [CLS] in the last layer",
                note="The largest weight to a token with the feature, mean over the layer's heads.",
            ),
            Table(
                link_rows(self.after),
                title="The strongest head of each link",
                note="Neighbour: the head's attention to the previous, the same or the next token, "
                "whichever gets most. The paper's candidates coincide with diagonal maps.",
            ),
        ]
        text = (
            "The pretrained model beside the fine-tuned ones: the cosine of their maps; attention "
            "to linguistic features, after fine-tuning and after minus before; and attention from "
            f"token to token. {self.recipe.examples_sentence()}"
        )
        return self.recipe.section("change", text, tables, self._plots(firsts))

    def _task(self, task: Task) -> None:
        corpus = self._parsed(task)
        self.changes[task.title] = {}
        for place, (label, model) in enumerate(self.recipe.tuned_models.models(task).items()):
            name = self.recipe.run_name(task, place)
            self.changes[task.title][label] = self._compare(f"change-{name}", model, corpus)
            if place == 0:
                self.after[task.title] = self.recipe.survey(
                    f"features-{task.name}", model, corpus, MEASURES, whole=True
                )

    def _parsed(self, task: Task) -> Corpus:
        dev = self.recipe.tuned_models.dev(task)
        source = dev.source
        return replace(
            dev,
            source=lambda: parse(source(), parser=self.recipe.options.parser),
            rough=source,
            format=f"{dev.format}+spacy",
        )

    def _compare(self, name: str, tuned: Model, corpus: Corpus) -> Atlas:
        path = self.recipe.folder / f"{name}.nc"
        with self.recipe.reporter.progress(name) as progress:
            results = compare(
                self.recipe.load(self.recipe.models[0]),
                tuned,
                corpus,
                measures=["feature", "link"],
                output=path,
                progress=progress,
                seed=self.recipe.options.seed,
                batch_size=self.recipe.options.batch_size,
                max_length=self.recipe.options.max_length,
            )
        return self.recipe.keep(path, results)

    def layers(self, task: str) -> xr.DataArray:
        """The mean cosine by layer, over heads and seeds."""
        means = [one.mean("change").mean("head") for one in self.changes[task].values()]
        return xr.concat(means, "seed").mean("seed")

    @cached_property
    def _similarity(self) -> list[dict[str, Any]]:
        rows = []
        for task, seeds in self.changes.items():
            found = [one.mean("change").mean("head") for one in seeds.values()]
            row: dict[str, Any] = {"task": task}
            for layer in found[0]["layer"].values:
                values = [float(one.sel(layer=layer)) for one in found]
                text = f"{np.mean(values):.3f}"
                if len(values) > 1:
                    text += f" ({min(values):.3f}–{max(values):.3f})"
                row[f"layer {int(layer)}"] = text
            rows.append(row)
        return rows

    @property
    def _note(self) -> str:
        several = any(len(seeds) > 1 for seeds in self.changes.values())
        ranges = " In brackets: the range over tuning seeds." if several else ""
        return f"Cosine of the maps, mean over the heads of a layer; 1 is unchanged.{ranges}"

    def _plots(self, firsts: Mapping[str, Atlas]) -> list[Plot]:
        plots = [
            Plot(
                "figure-5",
                "Change of maps by fine-tuning",
                "After Figure 5. Dark: the maps of a head have changed. First tuning seed.",
                similarity_by_task(firsts),
            ),
            Plot(
                "figure-6",
                "Attention to [SEP] and [CLS]",
                "After Figure 6: absolute weights in the tuned models, all on one scale. The "
                "larger of two [SEP]s counts; with one text there is only one.",
                special_by_task(self.after),
            ),
        ]
        for name, task in zip(firsts, self.recipe.chosen_tasks, strict=True):
            plots.append(
                Plot(
                    f"features-change-{task.name}",
                    f"{name}: change in attention to features",
                    "Section 4.4. The tuned model minus the pretrained one, example by example: "
                    "orange is more attention, purple less.",
                    measure_grid(
                        firsts[name],
                        "feature-change",
                        f"{name}: change in attention to features",
                        columns=3,
                        scale=self.recipe.options.scale,
                    ),
                )
            )
        return [
            *plots,
            Plot(
                "figure-7",
                "Attention from [CLS]",
                "After Figure 7: the largest weight from [CLS] to a token with the feature, in the "
                "last layer of the tuned models.",
                from_cls_by_task(self.after),
            ),
            Plot(
                "links-change",
                "Change in attention from token to token",
                "Section 4.5. The tuned model minus the pretrained one.",
                links_by_task(firsts, self.recipe.options.scale),
            ),
        ]


def links_by_task(changes: Mapping[str, Atlas], scale: Scale) -> Any:
    """Draw the change of each kind of link, two rows per task."""
    maps = {
        f"{link}, {name}": one["link-change"]["mean"].sel(link=link, drop=True)
        for name, one in changes.items()
        for link in PAIRS
    }
    first = next(iter(changes.values()))
    return heat_grid(
        by_task(maps),
        "task",
        title="Change in attention from token to token",
        subtitle=subject(first.provenance) if len(changes) == 1 else "two rows per task",
        unit="change in share of attention",
        diverging=True,
        columns=2,  # four in a row could not be read on a narrow screen
        scale=scale,
    )


def feature_rows(after: Mapping[str, Atlas]) -> list[dict[str, Any]]:
    """List the attention to each feature, features in rows and tasks in columns."""
    rows: dict[str, dict[str, Any]] = {}
    for task, results in after.items():
        mean = results.mean("feature")
        for name in mean["feature"].values:
            one = mean.sel(feature=name)
            row = rows.setdefault(str(name), {"feature": str(name)})
            head = strongest_head(one)
            row[task] = "–"
            if head is not None:
                row[task] = f"{number(float(one.mean()))} ({head}: {number(float(one.max()))})"
    return list(rows.values())


def cls_rows(after: Mapping[str, Atlas]) -> list[dict[str, Any]]:
    """List what [CLS] attends to in the last layer, features in rows and tasks in columns."""
    rows: dict[str, dict[str, Any]] = {}
    for task, results in after.items():
        for name, value in from_cls_means(results).items():
            rows.setdefault(name, {"feature": name})[task] = value
    return list(rows.values())


def from_cls_means(results: Atlas) -> dict[str, float]:
    """The mean over heads of the attention from [CLS] in the last layer, by feature."""
    last = results.mean("link").isel(layer=-1).mean("head")
    return {
        str(name).removeprefix("cls to "): float(last.sel(link=name))
        for name in last["link"].values
        if str(name).startswith("cls to ")
    }


def link_rows(after: Mapping[str, Atlas]) -> list[dict[str, Any]]:
    """List the strongest head of each link between words, and whether it is a diagonal one."""
    rows = []
    for task, results in after.items():
        links, near = results.mean("link"), results.mean("position").max("offset")
        for link in PAIRS:
            one = links.sel(link=link)
            head = strongest_head(one)
            if head is None:
                continue
            rows.append(
                {
                    "task": task,
                    "link": link,
                    "head": str(head),
                    "largest attention": float(one.max()),
                    "to a neighbour": float(near.sel(layer=head.layer + 1, head=head.head + 1)),
                    "all heads to a neighbour": float(near.mean()),
                }
            )
    return rows
