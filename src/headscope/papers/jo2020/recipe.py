"""The recipe of Jo and Myaeng 2020, "Roles and Utilization of Attention Heads"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import pandas as pd

from headscope.errors import ResultsError, UserError
from headscope.figures import probe_grid, scatter_grid
from headscope.figures.probing import RANGES
from headscope.files import slug
from headscope.models import Model
from headscope.models.loading import random_init
from headscope.options import takes
from headscope.page import Plot, Section, Table
from headscope.page.probing import SELECTIVITY, best_head_rows, layer_rows, split_tables
from headscope.papers.claims import Finding
from headscope.papers.jo2020 import Jo2020Options, facts
from headscope.papers.jo2020.claims import findings, layer_scores
from headscope.papers.jo2020.controls import TEXT, head_table_of_controls, random_head_table
from headscope.papers.jo2020.downstream import Downstream
from headscope.papers.jo2020.encoders import encoder_of
from headscope.papers.jo2020.published import published_parts
from headscope.papers.jo2020.release import Release, read_release
from headscope.papers.jo2020.tables import (
    encoder_rows,
    gain_text,
    place_text,
    scatter_rows,
    task_notes,
    task_rows,
)
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import gallery_plots, short_name
from headscope.results import Atlas
from headscope.runs.probe import Probing, probe
from headscope.runs.probe.controls import probe_controls
from headscope.stats.tables.probing import probing_remarks, small_test_text, small_tests, top_table
from headscope.tasks.probing import find_tasks
from headscope.tasks.task import ProbingTask


class Jo2020(Recipe):
    """Roles and Utilization of Attention Heads: probing, top heads, and fine-tuning from them.

    Its options are those of :class:`headscope.papers.Jo2020Options`.

    Examples
    --------
    >>> recipe = Jo2020("demo", only=["Tense"], parts=["heads"], limit=100)
    >>> [part.source for part in recipe.chosen]
    ['Section 4.4, Tables 3 and 5']

    References
    ----------
    Jae-young Jo and Sung-Hyon Myaeng. 2020. Roles and Utilization of Attention Heads in
    Transformer-based Neural Language Models. ACL.
    """

    options: Jo2020Options

    @takes(Jo2020Options)
    def __init__(self, options: Jo2020Options) -> None:
        super().__init__(options.model, options)
        for name in self.models:
            same = [other for other in self.models if slug(other) == slug(name)]
            if len(same) > 1:
                raise UserError(
                    f"{' and '.join(same)} have the same short name, {slug(name)}, and would "
                    "share their files",
                    hint="rename a folder, or run them into two output folders",
                )
        self._downstream = options.downstream_tasks
        self._options = Probing(
            position=options.position,
            n=options.top,
            max_length=options.max_length,
            batch_size=options.batch_size,
            solver=options.solver,
            seed=options.seed,
            device=options.device,
        )
        self._later = Downstream(self, self._downstream, self._probe, self._options)

    def steps(self, part: str) -> Sequence[Step]:
        """Heads have one section per model, downstream tasks one per model and task."""
        pairs = [(name, task) for name in self.models for task in self._downstream]
        steps: dict[str, list[Step]] = {
            "tasks": [self._what],
            "heads": [partial(self._heads, name) for name in self.models],
            "maps": [self._maps],
            "scatter": [self._scatter],
            "frozen": [partial(self._later.frozen, *pair) for pair in pairs],
            "tuning": [self._later.tuning] if self.options.seeds else [],
            "controls": [partial(self._controls, name) for name in self.models],
            "published": [self._beside],
        }
        return steps[part]

    def facts(self) -> list[tuple[str, str]]:
        """The tasks."""
        titles = ", ".join(task.title for task in self._downstream)
        return [
            (str(len(self._tasks)), "probing tasks"),
            (titles or "none", "downstream tasks"),
        ]

    def claims(self) -> Sequence[Finding]:
        """The paper's claims, tested on our models; without any, on the authors' numbers."""
        names = {part.name for part in self.chosen}
        probed: Mapping[str, Atlas] = {}
        tables: dict[str, pd.DataFrame] = {}
        if names & {"heads", "maps", "scatter"}:
            probed = self._named
            made = {name: layer_scores(results) for name, results in probed.items()}
            tables = {name: table for name, table in made.items() if table is not None}
        elif "published" in names:
            probed = self._release.encoders
            tables = {
                encoder: pd.DataFrame(list(rows.values()), columns=["last", "best", "top"])
                for encoder, rows in self._release.table.items()
            }
        return findings(probed, tables, self._later.gains, self._later.changes)

    @cached_property
    def _tasks(self) -> list[ProbingTask]:
        ready = [task for task in self.options.tasks if isinstance(task, ProbingTask)]
        sources = [str(task) for task in self.options.tasks if not isinstance(task, ProbingTask)]
        how = self.options
        found = find_tasks(sources, only=how.only or None, limit=how.limit, seed=how.seed)
        return [*ready, *found]

    def _probe(self, name: str, model: Model, tasks: Sequence[ProbingTask]) -> Atlas:
        """Train the classifiers of a model into ``probe-NAME.nc``, or open that file."""
        path = self.folder / f"probe-{name}.nc"
        results = probe(
            model,
            tasks,
            position=self.options.position,
            n=self.options.top,
            max_length=self.options.max_length,
            batch_size=self.options.batch_size,
            solver=self.options.solver,
            seed=self.options.seed,
            device=self.options.device,
            repeats=1,  # repeated splits are among the controls
            cache=self.options.cache or self.folder / "vectors",
            output=path,
            overwrite=self.options.overwrite,
            progress=self.reporter,
        )
        return self.keep(path, results)

    @cached_property
    def _probed(self) -> dict[str, Atlas]:
        """The probing tasks, by model."""
        return {name: self._probe(slug(name), self.load(name), self._tasks) for name in self.models}

    @property
    def _named(self) -> dict[str, Atlas]:
        """The same, by the names that readers know."""
        return {short_name(name): results for name, results in self._probed.items()}

    def _what(self) -> Section:
        models = {short_name(name): self.load(name) for name in self.models}
        sizes = facts.TASK_SIZES
        note = f"The paper has {sizes['train']} training and {sizes['test']} test sentences."
        note = " ".join([note, *task_notes(self._tasks)])
        return self.section(
            "tasks",
            tables=[
                Table(encoder_rows(models), title="Table 1"),
                Table(task_rows(self._tasks), title="Table 2", note=note),
            ],
        )

    def _heads(self, name: str) -> Section:
        results = self._probed[name]
        encoder = encoder_of(results.provenance)
        published = (facts.TABLE_3 | facts.TABLE_5).get(encoder)
        table = top_table(results, published, n=self.options.top)
        beside = (
            f"The published numbers are for {encoder}, on other sentences."
            if published
            else "The paper has no table for an encoder of this family and shape."
        )
        note = (
            "Test scores in percent with 95 % intervals in parentheses, and gains over the last "
            "layer; the best layer's number is in square brackets. Layer, heads and L2 are chosen "
            f"on validation data. Vectors are read at {place_text(results)}."
        )
        small = small_test_text(small_tests(results))
        notes = [note, *probing_remarks(results), beside, small]
        tables = [
            Table(layer_rows(table), title="Tables 3 and 5", note=" ".join(filter(None, notes))),
            Table(
                best_head_rows(results),
                title="Best heads",
                sortable=True,
                id="best",
                note=SELECTIVITY,
            ),
        ]
        return self.section(
            "heads",
            gain_text(table),
            tables,
            gallery_plots(results, "top-n", "probe-selectivity"),
            title=f"Heads, layers and top heads of {short_name(name)}",
            suffix=slug(name),
        )

    def _maps(self) -> Section:
        ordered = Plot(
            "heads-sorted",
            "Scores of heads, sorted",
            "As in Figures 3 and 6: layer 1 at the bottom, the best head of a layer on the left.",
            probe_grid(self._named, colours=self.options.colours),
        )
        unordered = Plot(
            "heads-unsorted",
            "Scores of heads, in their order",
            "As in Figure 7: every head keeps its place, so that it can be followed across tasks.",
            probe_grid(self._named, sorted=False, colours=self.options.colours),
        )
        text = f"Models stand below each other; {RANGES[self.options.colours]}."
        return self.section("maps", text, plots=[ordered, unordered])

    def _scatter(self) -> Section:
        rows, note = scatter_rows(self._named, seed=self.options.seed)
        plot = Plot(
            "scatter",
            "Syntactic and semantic scores",
            "As in Figure 5: one point per head, coloured by layer.",
            scatter_grid(self._named),
        )
        table = Table(rows, title="Correlation over heads", note=note)
        return self.section("scatter", "Means of test scores.", [table], [plot])

    def _controls(self, name: str) -> Section:
        results, model = self._probed[name], self.load(name)
        random = random_init(model, seed=self.options.seed)
        nulls = self._probe(f"{slug(name)}-random", random, self._tasks)
        path = self.folder / f"controls-{slug(name)}.nc"
        controls = self._kept_controls(path, results)
        if controls is None:
            controls = probe_controls(
                model,
                self._tasks,
                results,
                self._options,
                cache=Path(self.options.cache or self.folder / "vectors"),
                progress=self.reporter,
            )
            controls.save(path)
        self.keep(path, controls)
        tables = [
            head_table_of_controls(results, controls, nulls),
            random_head_table(controls),
            *split_tables(controls),
        ]
        return self.section(
            "controls", TEXT, tables, title=f"Controls of {short_name(name)}", suffix=slug(name)
        )

    def _kept_controls(self, path: Path, results: Atlas) -> Atlas | None:
        """The controls of an earlier run of these very probes, if there are any."""
        if not path.exists():
            return None
        try:
            kept = Atlas.open(path)
        except ResultsError as error:
            self.reporter.say(f"{error.message}; it is made again")
            return None
        same = ("model", "tasks", "settings")
        equal = all(kept.provenance.get(key) == results.provenance.get(key) for key in same)
        return kept if equal and "probe_embeddings" in kept.measures else None

    @cached_property
    def _release(self) -> Release:
        assert self.options.published is not None
        return read_release(self.options.published)

    def _beside(self) -> Section:
        probing = {"tasks", "heads", "maps", "scatter"} & {part.name for part in self.chosen}
        ours = self._named if probing - {"tasks"} else {}
        text, tables, plots = published_parts(self._release, ours, seed=self.options.seed)
        return self.section("published", text, tables, plots)
