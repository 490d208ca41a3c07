"""Jo and Myaeng 2020, "Roles and Utilization of Attention Heads", from top to bottom: probing, heat maps, top-n heads, downstream tasks frozen and fine-tuned, and the scatter."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from headscope.errors import UserError
from headscope.figures.probing.heat import before_after, probe_grid
from headscope.figures.probing.scatter import scatter_grid
from headscope.files import slug
from headscope.models import Model, Pooling, load
from headscope.page import Document, Plot, Section, Table, records
from headscope.page.probing import SELECTIVITY, best_head_rows, layer_rows
from headscope.papers.jo2020 import facts
from headscope.papers.recipe import Workshop, plots_of
from headscope.progress import Reporter
from headscope.results import Results
from headscope.runs.probe.options import ProbeOptions
from headscope.runs.probe.probe import probe
from headscope.runs.tune import Tuned, pooling_slug, tune
from headscope.stats.probing import (
    best_layer,
    correlation,
    median_gain,
    probing_remarks,
    syntactic_semantic,
    top_table,
)
from headscope.tasks import Task
from headscope.tasks.find import glue_task, sample
from headscope.tasks.probing import ProbingTask, all_notes

PUBLISHED = {"bert": "BERT base", "gpt2": "GPT2", "openai-gpt": "GPT"}
"""Whose published numbers stand beside those of an architecture."""
STATES = ("last layer", "best layer", "top heads")


@dataclass
class Jo2020:
    """The recipe, for one model or several. Fine-tuned models go to ``tuned`` (finished ones are taken as they are); a part that cannot be run says why, and the others go on."""

    models: Sequence[str]
    shop: Workshop
    tasks: Sequence[ProbingTask]
    downstream: Sequence[Task] = ()
    data: str = ""
    tuned: Path = Path("tuned")
    seeds: Sequence[int] = (0, 1, 2, 3, 4)
    cache: Path = Path("headscope-vectors")
    options: ProbeOptions = field(default_factory=ProbeOptions)
    training: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.models:
            same = [other for other in self.models if slug(other) == slug(name)]
            if len(same) > 1:
                raise UserError(
                    f"{' and '.join(same)} have the same short name, {slug(name)}, and so the same files",
                    hint="rename a folder, or run them into two folders (-o)",
                )

    def run(self) -> Path:
        """Everything, then the page."""
        parts: list[Callable[[], Section]] = []
        if self.tasks:
            parts += [
                self._what,
                *(partial(self._heads, name) for name in self.models),
                self._maps,
                self._scatter,
            ]
        for name in self.models:
            for task in self.downstream:
                parts += [
                    partial(self._frozen, name, task),
                    *([partial(self._tuned, name, task)] if self.seeds else []),
                ]
        sections, notes = self.shop.sections(parts)
        document = Document(
            title="Roles and Utilization of Attention Heads",
            subtitle=f"Jo and Myaeng 2020, on {', '.join(map(short_name, self.models))}: the paper's tables and figures, published numbers beside ours",
            facts=[
                (", ".join(self._size(name) for name in self.models), "layers × heads here"),
                ("12 × 12, 24 × 16", "in the paper (BERT base, large)"),
                (str(len(self.tasks)), "probing tasks"),
                (", ".join(task.title for task in self.downstream) or "none", "downstream tasks"),
            ],
            remarks=[f"Left out: {note}" for note in notes],
            sections=sections,
            provenance=json.dumps(self.about, indent=2, ensure_ascii=False),
        )
        return self.shop.page("jo2020", document)

    @cached_property
    def about(self) -> dict[str, Any]:
        """The provenance of every run, by name."""
        return {}

    @cached_property
    def _loaded(self) -> dict[str, Model]:
        return {name: load(name, device=self.shop.options.device) for name in self.models}

    def _size(self, name: str) -> str:
        model = self._loaded[name]
        shape = model.shape(model.main_stack())
        return f"{shape.layers} × {shape.heads}"

    def _probe(self, name: str, model: Model, tasks: Sequence[ProbingTask]) -> Results:
        """The classifiers of a model, kept as probe-NAME.nc."""
        path = self.shop.folder / f"probe-{name}.nc"
        results = probe(
            model,
            tasks,
            cache=self.cache,
            output=path,
            progress=cast(Reporter, self.shop.voice),
            **asdict(self.options),
        )
        self.shop.made.append(path)
        self.about[path.stem] = results.provenance
        return results

    @cached_property
    def probed(self) -> dict[str, Results]:
        """The probing tasks, model by model."""
        return {
            name: self._probe(slug(name), self._loaded[name], self.tasks) for name in self.models
        }

    @property
    def _named(self) -> dict[str, Results]:
        """The same, by the names that readers know."""
        return {short_name(name): results for name, results in self.probed.items()}

    def _what(self) -> Section:
        """Tables 1 and 2."""
        encoders = [
            {
                "encoder": short_name(name),
                "layers": model.shape(model.main_stack()).layers,
                "heads": model.shape(model.main_stack()).heads,
                "parameters": f"{model.network.num_parameters() / 1e6:.1f}M",
            }
            for name, model in self._loaded.items()
        ]
        published = [
            {
                "encoder": f"{row.name} (paper)",
                "layers": row.layers,
                "heads": row.heads,
                "parameters": row.parameters,
            }
            for row in facts.JO_TABLE_1
        ]
        classes = {row.name: row.classes for row in facts.JO_TABLE_2}
        tasks = [
            {
                "task": task.title,
                "group": task.group,
                "classes": len(task.labels),
                "paper: classes": classes.get(task.name),
                **{split: len(task.splits.get(split, ())) for split in ("train", "dev", "test")},
            }
            for task in self.tasks
        ]
        note = "The paper has 100k sentences for training and 10k for the test. " + "".join(
            f"{note[0].upper()}{note[1:]}. " for note in all_notes(self.tasks)
        )
        return Section(
            "what",
            "Encoders and tasks",
            "Sections 4.1 and 4.2.",
            [
                Table(encoders + published, title="Table 1"),
                Table(tasks, title="Table 2", note=note.strip()),
            ],
        )

    def _heads(self, name: str) -> Section:
        """Tables 3 and 5, the best heads, and the curve over n."""
        results = self.probed[name]
        kind = results.provenance["model"]["type"]
        source = PUBLISHED.get(kind, "")
        table = top_table(
            results, (facts.JO_TABLE_3 | facts.JO_TABLE_5).get(source), n=self.options.n
        )
        note = (
            f"Test scores in percent with 95 % intervals, and gains over the last layer; layer, heads and L2 chosen on validation. Vectors at {_where(results)}. {''.join(f'{remark}. ' for remark in probing_remarks(results))}"
            + (
                f"The paper's numbers are those of {source}, on other sentences."
                if source
                else "The paper has no table for this architecture."
            )
        )
        text = (
            f"Sections 4.2 to 4.4. In the median over tasks the {table['n'][0]} best heads together gain {median_gain(table, over='last'):.1f} % over the last layer "
            f"and {median_gain(table):.1f} % over the best one; chosen greedily, {median_gain(table, way='greedy', over='last'):.1f} % and {median_gain(table, way='greedy'):.1f} %. "
            f"(The paper writes {facts.JO_MEDIAN_GAIN:g} % over the best layer; by its tables that is the gain over the last.)"
        )
        tables = [
            Table(layer_rows(table), title="Tables 3 and 5", note=note),
            Table(
                best_head_rows(results),
                title="Best heads",
                sortable=True,
                id=f"best-{slug(name)}",
                note=SELECTIVITY,
            ),
        ]
        plots = [
            Plot(f"{plot.name}-{slug(name)}", plot.title, plot.caption, plot.chart)
            for plot in plots_of(results, "top-n", "probe-selectivity")
        ]
        return Section(
            f"heads-{slug(name)}",
            f"Heads, layers and top heads of {short_name(name)}",
            text,
            tables,
            plots,
        )

    def _maps(self) -> Section:
        """Figures 3, 6 and 7."""
        text = "Section 4.3: a row a model, a column a task. Each map has its own colour range."
        plots = [
            Plot(
                "heads-sorted",
                "Scores of heads, sorted",
                "As Figures 3 and 6: layer 1 at the bottom, the best head of a layer at the left.",
                probe_grid(self._named),
            ),
            Plot(
                "heads-unsorted",
                "Scores of heads, in their order",
                "As Figure 7: heads stand where they are, so that one head can be followed through the tasks.",
                probe_grid(self._named, sorted=False),
            ),
        ]
        return Section("maps", "Heat maps", text, [], plots)

    def _scatter(self) -> Section:
        """Figure 5."""
        rows = []
        for name, results in self._named.items():
            frame = syntactic_semantic(results)
            rows += [
                {"model": name, **row}
                for row in records(correlation(frame, seed=self.shop.options.seed))
            ]
        tasks, missing = frame.attrs["tasks"], frame.attrs["missing"]
        note = (
            f"Syntactic: {', '.join(tasks['syntactic'])}. Semantic: {', '.join(tasks['semantic'])}."
            + (f" Not probed: {', '.join(missing)}." if missing else "")
        )
        table = Table(
            rows,
            title="Correlation over heads",
            note=f"{note} Intervals over heads, and over whole layers, whose heads are not independent.",
        )
        plot = Plot(
            "scatter",
            "Syntactic and semantic scores",
            "As Figure 5: a point a head, coloured by its layer.",
            scatter_grid(self._named),
        )
        return Section(
            "scatter",
            "Syntactic and semantic scores",
            "Section 6.2: means of test scores.",
            [table],
            [plot],
        )

    @cached_property
    def _examples(self) -> dict[str, ProbingTask]:
        limit, seed = self.shop.options.limit, self.shop.options.seed
        found = {task.name: glue_task(task, self.data) for task in self.downstream}
        return (
            {name: sample(task, limit, seed) for name, task in found.items()}
            if limit is not None
            else found
        )

    def _before(self, name: str, task: Task) -> Results:
        return self._probe(
            f"{slug(name)}-{task.name}", self._loaded[name], [self._examples[task.name]]
        )

    def _frozen(self, name: str, task: Task) -> Section:
        """J6."""
        results = self._before(name, task)
        rows = layer_rows(top_table(results, n=self.options.n))
        heads = best_head_rows(results)
        note = f"Dev scores in percent; L2, layer and heads chosen by {self.options.folds} folds of the training part; pairs {self.options.pairs}; vectors at {_where(results)}."
        plots = [
            Plot(f"{plot.name}-{slug(name)}-{task.name}", plot.title, plot.caption, plot.chart)
            for plot in plots_of(results, "probe", "top-n")
        ]
        text = "Section 5: classifiers on frozen heads and layers."
        return Section(
            f"frozen-{slug(name)}-{task.name}",
            f"{task.title}, frozen {short_name(name)}",
            text,
            [
                Table(rows, title="Layers and top heads", note=note),
                Table(heads, title="Best heads"),
            ],
            plots,
        )

    def poolings(self, name: str, task: Task) -> dict[str, Pooling]:
        """What the three classifiers of Table 4 see; layer and heads are chosen on the frozen model."""
        results = self._before(name, task)
        layer = best_layer(results, task.name)
        ranked = (
            results["probe_top"]["rank"]
            .sel(task=task.name, way="top")
            .values[: self.options.n or results["probe"].sizes["head"]]
        )
        heads = tuple(
            (int(layer_) - 1, int(head) - 1)
            for layer_, head in (str(head).split("-") for head in ranked)
        )
        position = self.options.position or ""
        return dict(
            zip(
                STATES,
                (
                    Pooling(position=position),
                    Pooling(layer=None if layer is None else layer - 1, position=position),
                    Pooling(heads, position=position),
                ),
                strict=True,
            )
        )

    def _tuned(self, name: str, task: Task) -> Section:
        """Table 4 and Figure 4."""
        poolings = self.poolings(name, task)
        done = {
            state: [self._tune(name, task, pooling, seed) for seed in self.seeds]
            for state, pooling in poolings.items()
        }
        published = {
            row.metric: (row.last, row.best, row.top)
            for row in facts.JO_TABLE_4["BERT base"]
            if row.task == task.name
        }
        rows = []
        for metric in task.metrics:
            row: dict[str, Any] = {"task": f"{task.title} ({metric})"}
            for place, state in enumerate(STATES):
                scores = [100 * tuned.scores[metric] for tuned in done[state]]
                row |= {
                    f"{state}: paper": published.get(metric, (None, None, None))[place],
                    f"{state}: here": f"{np.median(scores):.1f} ({min(scores):.1f} … {max(scores):.1f})",
                }
            rows.append(row)
        one = done[STATES[0]][0]
        spent = sum(tuned.minutes for runs in done.values() for tuned in runs)
        note = (
            f"Dev scores in percent: the median of {len(self.seeds)} seeds, with the lowest and the highest. Best layer: {poolings['best layer'].title}; top heads: {poolings['top heads'].title.removeprefix('heads ')}. "
            "Published: BERT base."
        )
        text = (
            f"Section 5.2: linear, tanh, dropout 0.1 and a classifier on top, all weights free; batches of {one.settings.batch_size}, {one.settings.epochs} epochs, learning rate {one.settings.learning_rate:g}, "
            f"{one.examples['train']} training examples; {spent:.0f} minutes for {sum(map(len, done.values()))} runs."
        )
        after = {
            state: self._after(name, task, state, done[state][0])
            for state in (STATES[0], STATES[2])
        }
        plot = Plot(
            f"before-after-{slug(name)}-{task.name}",
            "Heads before and after fine-tuning",
            f"As Figure 4: frozen scores of each head, before and after fine-tuning with seed {self.seeds[0]}; one colour range.",
            before_after({"before": self._before(name, task), **after}),
        )
        means = [
            {
                "state": state,
                "mean over heads": 100 * float(found["probe"]["test"].mean()),
                "best head": 100 * float(found["probe"]["test"].max()),
            }
            for state, found in ({"before": self._before(name, task)} | after).items()
        ]
        return Section(
            f"tuned-{slug(name)}-{task.name}",
            f"{task.title}, fine-tuned {short_name(name)}",
            text,
            [
                Table(rows, title="Table 4", note=note),
                Table(means, title="Frozen scores of heads, before and after"),
            ],
            [plot],
        )

    def _tune(self, name: str, task: Task, pooling: Pooling, seed: int) -> Tuned:
        home = self.tuned / slug(name) if len(self.models) > 1 else self.tuned
        folder = home / f"{task.name}-{pooling_slug(pooling)}{f'-seed{seed}' if seed else ''}"
        with self.shop.voice.progress(folder.name) as progress:
            return tune(
                name,
                task=task,
                data=self.data,
                output=folder,
                pooling=pooling,
                device=self.shop.options.device,
                progress=progress,
                seed=seed,
                **self.training,
            )

    def _after(self, name: str, task: Task, state: str, tuned: Tuned) -> Results:
        return self._probe(
            f"{slug(name)}-{task.name}-{state.replace(' ', '-')}",
            load(tuned.folder, device=self.shop.options.device),
            [self._examples[task.name]],
        )


def short_name(name: str) -> str:
    """A folder's own name, or the whole id of a model on the hub."""
    return Path(name).resolve().name if Path(name).is_dir() else name


def _where(results: Results) -> str:
    return {"cls": "the first token", "last": "the last token", "mean": "the mean over tokens"}[
        results.provenance["position"]
    ]
