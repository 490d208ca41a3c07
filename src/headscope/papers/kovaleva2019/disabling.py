"""Disabling heads and layers, with the tasks side by side (Section 4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import xarray as xr

from headscope.figures.ablation import WAYS, heads_off_by_task, layers_off_by_task
from headscope.heads import Head
from headscope.page import Plot, Section, Table, records
from headscope.papers.claims import Finding
from headscope.papers.kovaleva2019 import facts
from headscope.papers.kovaleva2019.disabling_claims import disabling_findings
from headscope.papers.kovaleva2019.tables import gain_rows, points, summary_row
from headscope.results import Atlas
from headscope.runs.ablate import ablate
from headscope.stats import frame_table
from headscope.stats.tables.ablation import change_table, few_documents
from headscope.stats.tables.disabling import DisablingSummary, disabling_summary, shared_heads
from headscope.tasks import Task

if TYPE_CHECKING:
    from headscope.papers.kovaleva2019.recipe import Kovaleva2019

SHOWN = 4
"""Heads with the largest gains, and as many with the largest losses, in a task's table."""
FEW = 500
"""With fewer dev examples the page warns."""
FRAME_HEADS = 2
"""Heads with the most attention along frame links that are disabled, as in the paper."""


@dataclass
class Disabling:
    """The ablations of all tuned models.

    Parameters
    ----------
    recipe
        The recipe, which knows folders, models and settings.
    """

    recipe: Kovaleva2019
    results: dict[str, dict[str, Atlas]] = field(default_factory=dict)
    """Ablations by task and seed."""
    heads: dict[str, dict[str, DisablingSummary]] = field(default_factory=dict)
    layers: dict[str, dict[str, DisablingSummary]] = field(default_factory=dict)

    def run(self) -> Section:
        """Disable each head and each layer of all models, and write the section."""
        frame_heads = self.frame_heads()
        for task in self.recipe.chosen_tasks:
            self._task(task, frame_heads)
        tables = [
            self._summary("head", self.heads),
            self._summary("layer", self.layers),
            self._shared(),
            *self._frames(frame_heads),
            *self._single(),
        ]
        firsts = {task: next(iter(seeds.values())) for task, seeds in self.results.items()}
        plots = [
            Plot(
                "figure-8",
                "One head disabled",
                "After Figure 8: points gained (orange) or lost (purple) without the head. First "
                "tuning seed.",
                heads_off_by_task(firsts),
            ),
            Plot(
                "figure-9",
                "One layer disabled",
                "After Figure 9, with intervals. First tuning seed.",
                layers_off_by_task(firsts),
            ),
        ]
        return self.recipe.section("disabling", self._text(), tables, plots)

    def findings(self) -> list[Finding]:
        """What was found about the paper's claims; nothing if the part did not run."""
        if not self.results:
            return []
        gains = {task: self.gains(task) for task in self.results}
        return disabling_findings(self.heads, self.layers, self.results, gains, self.frame_heads())

    def frame_heads(self) -> list[Head]:
        """The heads of the pretrained model that attend most along frame links."""
        names = frame_table(self.recipe.frame_results(), top=FRAME_HEADS)["head"]
        return [Head.parse(str(name)) for name in names]

    def gains(self, task: str) -> xr.DataArray:
        """What disabling each head gains, in points, averaged over seeds."""
        found = [head_gains(one) for one in self.results[task].values()]
        return xr.concat(found, "seed").mean("seed")

    def _task(self, task: Task, frame_heads: Sequence[Head]) -> None:
        title, seed = task.title, self.recipe.options.seed
        self.results[title], self.heads[title], self.layers[title] = {}, {}, {}
        sets = [",".join(map(str, frame_heads))] if len(frame_heads) > 1 else []
        for place, tuned in enumerate(self.recipe.tuned_models.checkpoints(task)):
            name = self.recipe.run_name(task, place)
            path = self.recipe.folder / f"off-{name}.nc"
            with self.recipe.reporter.progress(path.stem) as progress:
                results = ablate(
                    tuned.place,
                    task=task,
                    dev=self.recipe.tuned_models.dev(task),
                    sets=sets,
                    way=self.recipe.options.way,
                    output=path,
                    overwrite=self.recipe.options.overwrite,
                    progress=progress,
                    seed=self.recipe.options.seed,
                    batch_size=self.recipe.options.batch_size,
                    max_length=self.recipe.options.max_length,
                    **self.recipe.options.for_other_models,
                )
            self.results[title][tuned.label] = self.recipe.keep(path, results)
            for kind, kept in (("head", self.heads), ("layer", self.layers)):
                kept[title][tuned.label] = disabling_summary(results, kind, seed=seed)

    def _text(self) -> str:
        first = {task: next(iter(seeds.values())) for task, seeds in self.heads.items()}
        sizes = {task: one.examples for task, one in first.items()}
        text = (
            f"Every head and every layer is disabled in turn ({WAYS[self.recipe.options.way]}). "
            f"{self.recipe.examples_sentence()} The paper's largest gain from one head is "
            f"{facts.GAINS['mrpc']} points (MRPC) and its smallest {facts.GAINS['sts-b']} (STS-B); "
            f"disabling the first layer gains {facts.LAYER_GAIN['rte']} points on RTE."
        )
        fewest = min(first.values(), key=lambda one: one.documents)
        narrow = few_documents(fewest.documents, fewest.examples)
        if narrow:
            text += f" Warning: {narrow}."
        few = [f"{task} ({number})" for task, number in sizes.items() if number < FEW]
        if few:
            text += (
                f" Warning: there are few dev examples for {', '.join(few)}. A single one makes up "
                f"to {points(1 / min(sizes.values()))} points of accuracy, and the best of many "
                "heads gains several by chance."
            )
        return text

    def _summary(self, kind: str, found: dict[str, dict[str, DisablingSummary]]) -> Table:
        rows = [
            summary_row(task, seed, one, kind)
            for task, seeds in found.items()
            for seed, one in seeds.items()
        ]
        note = (
            f"Gains in points. A random {kind}: the mean over all {kind}s, with its 95 % interval "
            f"(bootstrap over documents). Best {kind}: on the examples that it was chosen on; then "
            "chosen on half of the examples and scored on the other half, over 200 random halves, "
            f"with the {kind} that most halves choose. By chance: what the best {kind} gains on "
            f"average, and in 95 % of cases at most, if the outputs with and without a {kind} are "
            "exchanged at random, example by example; p is the share of such cases that gain as "
            "much as here."
        )
        return Table(rows, title=f"Disabling one {kind}", note=note)

    def _shared(self) -> Table:
        models = {
            f"{task}, {seed}" if len(seeds) > 1 else task: head_gains(one)
            for task, seeds in self.results.items()
            for seed, one in seeds.items()
        }
        table = shared_heads(models)
        note = (
            "Relied on: the heads whose removal hurts most, at most a tenth of all. Heads whose "
            "removal does no harm do not count, nor do ties of which only some would fit in. "
            "Shared: how many two models have in common; by chance: how many random heads would "
            "be; p: of so many or more. Correlation: Spearman's, of the gains of all heads. The "
            "paper: STS-B and RTE rely on the same two heads."
        )
        return Table(records(table), title="Heads that models rely on alike", note=note)

    def _frames(self, frame_heads: Sequence[Head]) -> list[Table]:
        rows = []
        names = [str(head) for head in frame_heads]
        for task, seeds in self.results.items():
            for seed, one in seeds.items():
                heads = change_table(one)
                found = records(heads[heads["head off"].isin(names)])
                if len(names) > 1:
                    both = records(change_table(one, "set"))
                    found += [row | {"head off": row["set off"]} for row in both]
                rows += [{"task": task, "model": seed, **row} for row in gain_rows(found, "head")]
        note = (
            "The heads of the pretrained model with the most attention along frame links, disabled "
            "in the tuned models: alone, and together. The paper: disabling either one does not "
            "lead to a drop."
        )
        return [Table(rows, title="Frame heads disabled", note=note)] if rows else []

    def _single(self) -> list[Table]:
        note = (
            "Gains in points, with 95 % intervals (paired bootstrap over documents). Corrected "
            "p-values: Holm over all heads, or over all layers. First tuning seed."
        )
        rows: list[dict[str, Any]] = []
        layer_rows: list[dict[str, Any]] = []
        for task, seeds in self.results.items():
            first = next(iter(seeds.values()))
            heads = change_table(first)
            helps, hurts = heads[heads["gain"] > 0], heads[heads["gain"] < 0]
            for part in (helps.head(SHOWN), hurts.tail(SHOWN)[::-1]):
                rows += [{"task": task, **row} for row in gain_rows(records(part), "head")]
            layers = records(change_table(first, "layer"))
            layer_rows += [{"task": task, **row} for row in gain_rows(layers, "layer")]
        return [
            Table(rows, title="Heads whose removal helps and hurts most", note=note),
            Table(layer_rows, title="Layers disabled in turn", note=note),
        ]


def head_gains(results: Atlas) -> xr.DataArray:
    """What disabling each head gains, in points: positive where the score gets better."""
    data = results["head_off"]
    sign = 1.0 if data.attrs["better"] == "higher" else -1.0
    return 100 * sign * data["difference"].reset_coords(drop=True)
