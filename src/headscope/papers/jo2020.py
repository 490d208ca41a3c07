"""Jo and Myaeng 2020, "Roles and Utilization of Attention Heads": parts, tables and claims.

The published numbers, in the paper and released, are in ``jo2020_release``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import spearmanr

from headscope import models
from headscope.corpus.grammar import GRAMMAR
from headscope.errors import ResultsError, UserError
from headscope.figures import agreement_grid, before_after, probe_grid, scatter_grid
from headscope.figures.probing import RANGES
from headscope.files import slug
from headscope.heads import Head
from headscope.models.pooling import Pooling
from headscope.numbers import interval, p_value
from headscope.options import AnyPath, Option
from headscope.page import Plot, Section, Table, records
from headscope.page.probing import SELECTIVITY, best_head_rows, split_tables
from headscope.papers.catalogue import PAPERS, Paper
from headscope.papers.claims import Untested, Verdict, percent
from headscope.papers.jo2020_release import (
    FAMILIES,
    MEDIAN_GAIN,
    STS_LAYERS,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TASK_SIZES,
    TUNED_GAINS,
    Release,
    encoder_of,
    read_release,
)
from headscope.papers.recipe import PaperRecipe, Step, Training, part, written_remarks
from headscope.papers.report import as_sentence, counted, gallery, short_name
from headscope.results import Atlas
from headscope.results.columns import PROBES, for_people
from headscope.runs.probe import Position, Probing, Solver, default_counts, probe
from headscope.runs.tune import Tuned, pooling_slug, tune
from headscope.stats.tables.probing import (
    best_layer,
    better_heads,
    correlation,
    head_table,
    median_gain,
    paired_scores,
    percent_gain,
    probe_agreement,
    probing_of,
    probing_remarks,
    small_test_text,
    small_tests,
    syntactic_semantic,
    task_titles,
    top_heads,
    top_table,
)
from headscope.tasks import Task, find_task
from headscope.tasks.probing import find_tasks, glue_task, sample
from headscope.tasks.task import MADE, TITLES, ProbingTask, all_notes

if TYPE_CHECKING:
    from headscope.models import Model
    from headscope.models.loading import ModelLike
else:  # checked where it is loaded
    ModelLike = Any

Row = dict[str, Any]
Runs = Mapping[str, Sequence[Tuned]]
"""Tuned models of all seeds, by what the classifier was trained on."""
STATES = ("last layer", "best layer", "top heads")
"""What the classifiers of Table 4 are trained on."""
PLACES = {"cls": "the first token", "last": "the last token", "mean": "the mean over tokens"}
FIGURE_3 = (
    ("BERT base", "BERT large", "GPT", "GPT2", "ELECTRA large"),
    (
        "sentence_length",
        "tree_depth",
        "subj_number",
        "bigram_shift",
        "coordination_inversion",
        "odd_man_out",
    ),
)
"""The encoders and tasks of Figure 3, in its order."""
CONTROLS = (
    "Not in the paper. A control task gives each sentence a random label of its first word's type "
    "(after Hewitt and Liang 2019), so that only remembering words helps; selectivity is the score "
    "minus that of the control task. A vector that has lost the first word scores low on it, too. "
    "Compression is how many times shorter the training labels become when they are sent with the "
    "head's vectors (online code of Voita and Titov 2020); 1 means that the head tells nothing."
)
GAINS = (
    "Points by which a score is above that of the last layer: the mean over the rows of Table 4 of "
    "the difference between medians, and the lowest and the highest of any seed."
)


class Jo2020(PaperRecipe, Training):
    """Roles and Utilization of Attention Heads: probing, top heads, and fine-tuning from them.

    Parameters
    ----------
    model
        A hub id, a model folder, a .gguf file or an embedded model; in Python also a loaded model
        or a network with its tokenizer.
    tasks
        Where probing tasks come from: SentEval files, a folder of them, a treebank, or demo for the
        built-in corpus; in Python also tasks. Default: the ten tasks, with sentences of a built-in
        grammar.
    only
        Only this probing task, such as Tense or past_present.
    limit
        At most N examples of each split of a probing task, drawn at random; fine-tuning uses all.
    downstream
        A GLUE task such as mrpc, sts-b or sst-2; in Python also a Task. Default: opinion and
        paraphrase, whose sentences a built-in grammar writes.
    seeds
        How many models to fine-tune from each of the last layer, the best layer and the top heads;
        0 skips fine-tuning. Default: 5, as in the paper; 1 for tasks of the grammar.
    tuned
        Where tuned models are, or will be. Finished ones are reused. Default: tuned/ in the output
        folder.
    position
        Token at which vectors are read: cls, last or mean. Default: last for causal models,
        otherwise cls if there is one, else mean.
    top
        How many of the best heads to combine. Default: as many as a layer has.
    solver
        exact finds the optimum; rmsprop trains as the paper does.
    cache
        Where vectors are kept. Default: vectors/ in the output folder.
    controls
        Control tasks with selectivity, description lengths, the embeddings alone, random weights,
        random heads beside the top heads, and repeated splits of small tasks (slow).
    published
        The numbers that the authors released: their repository, a folder with its results, or a
        tar archive of one. Figures 3, 5, 6 and 7 are drawn from them, with ours beside them.
    colours
        Colour ranges of maps: own, shared (one for all maps of a task) or majority (one for all
        maps of a task, from the majority class up).

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

    paper: ClassVar[Paper] = PAPERS["jo2020"]
    heads: ClassVar[tuple[str, str] | None] = (
        "12 × 12, 24 × 16",
        "in the paper (BERT base and large)",
    )
    rate: ClassVar[float] = 2e-5

    model: Annotated[  # several here
        ModelLike | Sequence[ModelLike],
        Option(metavar="MODEL", completes="models"),
    ] = field(default=("demo",), kw_only=False)  # type: ignore[assignment]
    tasks: Annotated[Sequence[str | Path | ProbingTask], Option(metavar="SOURCE")] = (GRAMMAR,)
    only: Annotated[Sequence[str], Option(flag="--task", metavar="NAME", completes="tasks")] = ()
    limit: Annotated[int | None, Option(least=1, metavar="N")] = None
    downstream: Annotated[Sequence[str | Task], Option(metavar="NAME", completes="tasks")] = tuple(
        MADE
    )
    seeds: Annotated[int | None, Option(least=0, name="number of seeds", metavar="N")] = None
    tuned: Annotated[AnyPath | None, Option(metavar="FOLDER")] = None
    position: Position | None = None
    top: Annotated[int | None, Option(short="-n", least=1, name="number of heads")] = None
    solver: Solver = "exact"
    cache: Annotated[AnyPath | None, Option(metavar="FOLDER")] = None
    controls: bool = False
    published: Annotated[AnyPath | None, Option(metavar="PATH")] = None
    colours: Annotated[Literal["own", "shared", "majority"], Option(name="colour range")] = "own"
    batch_size: Annotated[int, Option(least=1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        tunes = any(one.name == "tuning" for one in self.chosen)
        self.check_training(self, trains=bool(tunes and self.downstream and self.all_seeds))
        for name in self.models:
            same = [other for other in self.models if slug(other) == slug(name)]
            if len(same) > 1:
                raise UserError(
                    f"{' and '.join(same)} have the same short name, {slug(name)}, and would "
                    "share their files",
                    hint="rename a folder, or run them into two output folders",
                )

    @cached_property
    def downstream_tasks(self) -> tuple[Task, ...]:
        """The downstream tasks, each once."""
        tasks = (find_task(task) if isinstance(task, str) else task for task in self.downstream)
        return tuple(dict.fromkeys(tasks))

    @cached_property
    def all_seeds(self) -> range:
        """The seeds of fine-tuning."""
        written = all(task in MADE.values() for task in self.downstream_tasks)
        count = (1 if written else 5) if self.seeds is None else self.seeds
        return range(self.seed, self.seed + count)

    def remarks(self) -> list[str]:
        """Which sentences a grammar wrote."""
        titles = [one.title for one in self.downstream_tasks if one in MADE.values()]
        return written_remarks([*(["the probing tasks"] if self.written else []), *titles])

    @property
    def written(self) -> bool:
        """Whether the built-in grammar writes the sentences of the probing tasks."""
        return any(task in (GRAMMAR, Path(GRAMMAR)) for task in self.tasks)

    @cached_property
    def probing_tasks(self) -> list[ProbingTask]:
        """The probing tasks."""
        ready = [task for task in self.tasks if isinstance(task, ProbingTask)]
        sources = [str(task) for task in self.tasks if not isinstance(task, ProbingTask)]
        found = find_tasks(sources, only=self.only or None, limit=self.limit, seed=self.seed)
        return [*ready, *found]

    def facts(self) -> list[tuple[str, str]]:
        """The tasks."""
        titles = ", ".join(task.title for task in self.downstream_tasks)
        return [
            (str(len(self.probing_tasks)), "probing tasks"),
            (titles or "none", "downstream tasks"),
        ]

    def missing(self, result: str) -> str | None:
        """All claims are listed."""
        return {
            "probed": "no probing task was probed",
            "layers": LAYERED,
            "all_layers": LAYERED,
            "frozen": "no downstream task was run",
        }.get(result, "no model was fine-tuned")

    # --- probing ---

    @property
    def how(self) -> dict[str, Any]:
        """The options of probing."""
        names = ("position", "max_length", "batch_size", "solver", "seed", "device")
        return {name: getattr(self, name) for name in names} | {"n": self.top}

    @property
    def vectors(self) -> Path:
        """Where vectors are kept."""
        return Path(self.cache or self.folder / "vectors")

    def _probe(
        self,
        name: str,
        model: Model,
        tasks: Sequence[ProbingTask],
        *,
        written: bool,
        **other: Any,
    ) -> Atlas:
        """Train the classifiers of a model into ``probe-NAME.nc``, or open that file.

        With ``written``, for sentences from the built-in grammar, the curve over n stops at a
        layer's heads: larger classifiers took most of the time where this was profiled.
        """
        path, heads = self.folder / f"probe-{name}.nc", model.shape(model.main_stack()).heads
        counts = default_counts(heads, heads) if written else None
        how = {**self.how, "counts": counts, "repeats": 1, **other}  # splits are a control
        results = probe(
            model,
            tasks,
            **how,
            cache=self.vectors,
            output=path,
            overwrite=self.overwrite,
            progress=self.reporter,
        )
        return self.note(path, results)

    @cached_property
    def probed(self) -> dict[str, Atlas]:
        """The probing tasks, by the model's name."""
        probed = {
            name: self._probe(slug(name), self.load(name), self.probing_tasks, written=self.written)
            for name in self.models
        }
        self._claimed({short_name(name): results for name, results in probed.items()})
        return probed

    @property
    def by_short_name(self) -> dict[str, Atlas]:
        """The same, by the names that readers know."""
        return {short_name(name): results for name, results in self.probed.items()}

    def _claimed(
        self, probed: Mapping[str, Atlas], tables: Mapping[str, pd.DataFrame] | None = None
    ) -> None:
        """Keep results for the claims: of the heads, and of layers and top heads."""
        if tables is None:
            both = {"probe_layer", "probe_top"}
            whole = {name: one for name, one in probed.items() if both <= set(one.measures)}
            tables = {name: top_table(results) for name, results in whole.items()}
        columns = ["last", "best", "top"]
        layers = {name: table.dropna(subset=columns) for name, table in tables.items()}
        self.results.update({"probed": probed, "layers": layers})
        pooled = pd.concat(layers.values()) if layers else pd.DataFrame()
        if len(pooled):
            self.results["all_layers"] = pooled

    @part("tasks", "Encoders and tasks", "Sections 4.1 and 4.2, Tables 1 and 2")
    def encoders_and_tasks(self) -> Section:
        """Tables 1 and 2: our models and tasks beside the paper's."""
        loaded = {short_name(name): self.load(name) for name in self.models}
        note = f"The paper has {TASK_SIZES['train']} training and {TASK_SIZES['test']} test "
        note = " ".join([f"{note}sentences.", *task_notes(self.probing_tasks)])
        tables = [
            Table(encoder_rows(loaded), title="Table 1"),
            Table(task_rows(self.probing_tasks), title="Table 2", note=note),
        ]
        return self.section("tasks", tables=tables)

    @part("heads", "Heads, layers and top heads", "Section 4.4, Tables 3 and 5")
    def layers_and_heads(self) -> Sequence[Step]:
        """One section per model."""
        return [partial(self._heads, name) for name in self.models]

    def _heads(self, name: str) -> Section:
        results = self.probed[name]
        encoder = encoder_of(results.provenance)
        published = (TABLE_3 | TABLE_5).get(encoder)
        table = top_table(results, published, n=self.top)
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
        notes = [note, *probing_remarks(results), beside, small_test_text(small_tests(results))]
        below = " ".join(filter(None, notes))
        best = best_head_rows(results)
        return self.section(
            "heads",
            gain_text(table),
            [
                Table(records(for_people(table, PROBES)), title="Tables 3 and 5", note=below),
                Table(best, title="Best heads", sortable=True, id="best", note=SELECTIVITY),
            ],
            gallery(results, "top-n", "probe-selectivity"),
            title=f"Heads, layers and top heads of {short_name(name)}",
            suffix=slug(name),
        )

    @part("maps", "Heat maps", "Section 4.3, Figures 3, 6 and 7")
    def maps(self) -> Section:
        """The scores of all heads."""
        probed, colours = self.by_short_name, self.colours
        ordered = Plot(
            "heads-sorted",
            "Scores of heads, sorted",
            "As in Figures 3 and 6: layer 1 at the bottom, the best head of a layer on the left.",
            probe_grid(probed, colours=colours),
        )
        unordered = Plot(
            "heads-unsorted",
            "Scores of heads, in their order",
            "As in Figure 7: every head keeps its place, so that it can be followed across tasks.",
            probe_grid(probed, sorted=False, colours=colours),
        )
        text = f"Models stand below each other; {RANGES[colours]}."
        return self.section("maps", text, plots=[ordered, unordered])

    @part("scatter", "Syntactic and semantic scores", "Section 6.2, Figure 5")
    def scatter(self) -> Section:
        """Figure 5 and its correlations."""
        probed = self.by_short_name
        caption = "As in Figure 5: one point per head, coloured by layer."
        title = "Syntactic and semantic scores"
        plot = Plot("scatter", title, caption, scatter_grid(probed))
        made, note = scatter_rows(probed, seed=self.seed)
        table = Table(made, title="Correlation over heads", note=note)
        return self.section("scatter", "Means of test scores.", [table], [plot])

    # --- downstream tasks ---

    @cached_property
    def _examples(self) -> dict[str, ProbingTask]:
        """The downstream tasks as probing tasks, by name."""
        found = {task.name: glue_task(task, self.data_of(task)) for task in self.downstream_tasks}
        if self.limit is None:
            return found
        return {name: sample(task, self.limit, self.seed) for name, task in found.items()}

    def _before(self, name: str, task: Task) -> Atlas:
        """The frozen heads of a downstream task, before fine-tuning."""
        file = f"{slug(name)}-{task.name}"
        examples = [self._examples[task.name]]
        return self._probe(file, self.load(name), examples, written=task in MADE.values())

    def _after(self, name: str, task: Task, state: str, runs: Sequence[Tuned]) -> Atlas:
        """The same in the fine-tuned models of all seeds: the mean over them."""
        found = []
        for seed, tuned in enumerate(runs, self.seed):
            model = models.load(tuned.folder, **self.for_other_models)
            ending = f"-seed{seed}" if seed else ""
            file = f"{slug(name)}-{task.name}-{state.replace(' ', '-')}{ending}"
            examples = [self._examples[task.name]]
            alone = {"n": 1, "counts": (), "greedy": False, "control": False}  # heads are all used
            found.append(self._probe(file, model, examples, written=False, **alone))
        return mean_scores(found)

    @part("frozen", "Downstream tasks, frozen", "Section 5.1", "downstream")
    def frozen(self) -> Sequence[Step]:
        """One section per model and task."""
        pairs = [(name, task) for name in self.models for task in self.downstream_tasks]
        return [partial(self._frozen, *pair) for pair in pairs]

    def _frozen(self, name: str, task: Task) -> Section:
        """Classifiers on the frozen heads and layers of a model."""
        results, how = self._before(name, task), Probing(**self.how)
        self.results.setdefault("frozen", {}).setdefault(short_name(name), {})[task.name] = results
        note = (
            f"Dev scores in percent. L2, layer and heads are chosen by {how.folds}-fold "
            f"cross-validation on the training data; pairs are encoded {how.pairs}; "
            f"vectors are read at {place_text(results)}."
        )
        layers = records(for_people(top_table(results, n=self.top), PROBES))
        return self.section(
            "frozen",
            "Classifiers on frozen heads and layers.",
            [
                Table(layers, title="Layers and top heads", note=note),
                Table(best_head_rows(results), title="Best heads"),
            ],
            gallery(results, "probe", "top-n"),
            title=f"{task.title}, frozen {short_name(name)}",
            suffix=f"{slug(name)}-{task.name}",
        )

    @part(
        "tuning",
        "Downstream tasks, fine-tuned",
        "Sections 5.2 and 6.1, Table 4, Figure 4",
        "downstream",
    )
    def tuning(self) -> Section | Sequence[Step]:
        """Fine-tuning from the last layer, the best layer and the top heads (Table 4, Figure 4)."""
        if not self.all_seeds:
            return []
        done: dict[str, dict[str, Runs]] = {}
        probed: dict[str, dict[str, dict[str, Atlas]]] = {}
        chosen, encoders = [], {}
        for name in self.models:
            short = short_name(name)
            for task in self.downstream_tasks:
                before = self._before(name, task)
                poolings = self.poolings(before, task.name)
                runs = {
                    state: [self._tuned(name, task, pooling, seed) for seed in self.all_seeds]
                    for state, pooling in poolings.items()
                }
                done.setdefault(short, {})[task.name] = runs
                heads = poolings["top heads"].title.removeprefix("heads ")
                layer = poolings["best layer"].title
                chosen.append(f"{short}, {task.title}: best layer {layer}, top heads {heads}.")
                after = {s: self._after(name, task, s, runs[s]) for s in (STATES[0], STATES[2])}
                probed.setdefault(short, {})[task.name] = {"before": before, **after}
                encoders[short] = encoder_of(before.provenance)
        tasks = self.downstream_tasks
        gains = {
            name: {state: tuning_gains(tasks, runs, state) for state in STATES[1:]}
            for name, runs in done.items()
        }
        states = state_rows(probed)
        near = {name: neighbour_gains(tasks) for name, tasks in probed.items()}
        self.results.update(gains=gains, states=by_model(states), neighbour_gains=near)
        seeds_text = counted(len(self.all_seeds), "seed")
        note = (
            f"Dev scores in percent: the median over {seeds_text}, with the lowest and the "
            f"highest. {' '.join(chosen)}"
        )
        caption = (
            f"As in Figure 4: frozen scores of each head, after fine-tuning the mean over "
            f"{seeds_text}."
        )
        title = "Heads before and after fine-tuning"
        return self.section(
            "tuning",
            tuning_text(done),
            [
                Table(tuning_rows(tasks, done, encoders), title="Table 4", note=note),
                Table(gain_rows(gains, encoders), title="Mean gains", note=GAINS),
                Table(states, title="Frozen scores of heads, before and after"),
            ],
            [Plot("before-after", title, caption, before_after(probed))],
        )

    def poolings(self, results: Atlas, task: str) -> dict[str, Pooling]:
        """What the three classifiers of Table 4 are trained on, from the frozen heads of a task."""
        position, count = self.position or "", self.top or results["probe"].sizes["head"]
        ranked = results["probe_top"]["rank"].sel(task=task, way="top").values[:count]
        heads = [Head.parse(str(head)) for head in ranked]
        found = (
            Pooling(position=position),
            Pooling(layer=best_layer(results, task), position=position),
            Pooling(heads, position=position),
        )
        return dict(zip(STATES, found, strict=True))

    def _tuned(self, name: str, task: Task, pooling: Pooling, seed: int) -> Tuned:
        home = Path(self.tuned or self.folder / "tuned")
        home = home / slug(name) if len(self.models) > 1 else home
        folder = home / f"{task.name}-{pooling_slug(pooling)}{f'-seed{seed}' if seed else ''}"
        with self.reporter.progress(folder.name) as progress:
            return tune(
                self.source(name),
                task=task,
                data=self.data_of(task),
                output=folder,
                overwrite=self.overwrite,
                pooling=pooling,
                **self.for_training,
                progress=progress,
                seed=seed,
                **self.training_of(task),
                max_length=self.max_length,
            )

    # --- extras: controls, and the authors' numbers ---

    @part("controls", "Controls", "Sections 3.2 and 3.3", "controls", extra=True)
    def control_sections(self) -> Sequence[Step]:
        """One section per model."""
        return [partial(self._controls, name) for name in self.models]

    def _controls(self, name: str) -> Section:
        from headscope.models.loading import random_init
        from headscope.runs.probe.controls import probe_controls

        results, model = self.probed[name], self.load(name)
        random = random_init(model, seed=self.seed)
        nulls = self._probe(
            f"{slug(name)}-random", random, self.probing_tasks, written=self.written
        )
        path = self.folder / f"controls-{slug(name)}.nc"
        controls = self._kept_controls(path, results)
        if controls is None:
            how, tasks = Probing(**self.how), self.probing_tasks
            controls = probe_controls(
                model, tasks, results, how, cache=self.vectors, progress=self.reporter
            )
            controls.save(path)
        self.note(path, controls, shown=False)
        tables = [
            control_table(results, controls, nulls),
            random_head_table(controls["probe_random"]),
            *split_tables(controls),
        ]
        title = f"Controls of {short_name(name)}"
        return self.section("controls", CONTROLS, tables, title=title, suffix=slug(name))

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

    @part(
        "published",
        "The authors' own numbers",
        "Tables 3 and 5, Figures 3, 5, 6 and 7",
        "published",
        extra=True,
    )
    def authors_numbers(self) -> Section:
        """The paper's tables and figures from the released numbers, with ours beside them."""
        release = read_release(str(self.published))
        encoders = release.encoders
        names = {one.name for one in self.chosen}
        ours = self.by_short_name if names & {"heads", "maps", "scatter"} else {}
        if not ours:
            columns = ["last", "best", "top"]
            tables_of = {
                encoder: pd.DataFrame(list(rows.values()), columns=columns)
                for encoder, rows in release.table.items()
            }
            self._claimed(encoders, tables_of)
        compared = [beside(name, one, release, seed=self.seed) for name, one in ours.items()]
        made, note = scatter_rows(encoders, seed=self.seed)
        recomputed = "Top heads, recomputed"
        tables = [
            released_table(release),
            Table(released_heads(encoders), title=recomputed, sortable=True, id="release-top"),
            Table(made, title="Correlation over heads, recomputed", note=note),
        ]
        agreeing = [row for found, _ in compared for row in found]
        text = "Computed and drawn by our code from the numbers that the authors released."
        if agreeing:
            tables.append(Table(agreeing, title="Agreement of heads, published and here"))
        elif ours:
            text += (
                " None of the models here has the family and shape of a published encoder and one "
                "of its tasks, so there is nothing to lay beside them."
            )
        missing = [missing_scores(name, results) for name, results in encoders.items()]
        plots = [*release_plots(encoders), *(plot for _, some in compared for plot in some)]
        return self.section("published", " ".join([text, *filter(None, missing)]), tables, plots)


# --- Tables of probing ----------------------------------------------------------------------------


def encoder_rows(loaded: Mapping[str, Model]) -> list[Row]:
    """Table 1: our models, then the paper's."""
    made = []
    for name, model in loaded.items():
        shape = model.shape(model.main_stack())
        size = f"{model.network.num_parameters() / 1e6:.1f}M"
        made.append((name, shape.layers, shape.heads, size))
    published = [(f"{name} (paper)", *row) for name, row in TABLE_1.items()]
    columns = ("encoder", "layers", "heads", "parameters")
    return [dict(zip(columns, row, strict=True)) for row in (*made, *published)]


def task_rows(tasks: Sequence[ProbingTask]) -> list[Row]:
    """Table 2: classes and sentences of each task."""
    return [
        {
            "task": task.title,
            "group": task.group,
            "classes": len(task.labels),
            "paper: classes": TABLE_2.get(task.name),
            **{split: len(task.splits.get(split, ())) for split in ("train", "dev", "test")},
        }
        for task in tasks
    ]


def task_notes(tasks: Sequence[ProbingTask]) -> list[str]:
    """Say what a reader must know of how the tasks were made.

    How labels were found and which sentences were skipped is in the results file.
    """
    in_file = ("labels: ", "skipped: ")
    made = any(note.startswith(in_file[0]) for task in tasks for note in task.notes)
    where = "Tasks are made from a treebank; the notes of the results file say how."
    others = [
        replace(task, notes=tuple(note for note in task.notes if not note.startswith(in_file)))
        for task in tasks
    ]
    return [*([where] if made else []), *map(as_sentence, all_notes(others))]


def correlation_row(model: str, row: Mapping[str, Any], **more: Any) -> Row:
    """A correlation over heads with its intervals."""
    return {
        "model": model,
        **more,
        "correlation": row["correlation"],
        "value": row["value"],
        "95 % interval over heads": interval(row["low"], row["high"]),
        "95 % interval over layers": interval(row["layer low"], row["layer high"]),
        "heads": row["heads"],
    }


def scatter_rows(probed: Mapping[str, Atlas], *, seed: int) -> tuple[list[Row], str]:
    """Correlations between syntactic and semantic scores (Figure 5), and which tasks these are."""
    made: list[Row] = []
    for name, results in probed.items():
        frame = syntactic_semantic(results)
        found = records(correlation(frame, seed=seed))
        made += [correlation_row(name, row) for row in found]
    tasks, missing = frame.attrs["tasks"], frame.attrs["missing"]
    note = (
        f"Syntactic: {', '.join(tasks['syntactic'])}. Semantic: {', '.join(tasks['semantic'])}."
        + (f" Not probed: {', '.join(TITLES[name] for name in missing)}." if missing else "")
        + " The second interval draws whole layers, because the heads of one layer are not "
        "independent."
    )
    return made, note


def gain_text(table: pd.DataFrame) -> str:
    """Say how much the top heads gain (Section 4.4)."""
    last, best = median_gain(table, over="last"), median_gain(table)
    greedy_last = median_gain(table, way="greedy", over="last")
    greedy_best = median_gain(table, way="greedy")
    return (
        f"In the median over tasks, the {table['n'][0]} best heads together gain {last:.1f} % over "
        f"the last layer and {best:.1f} % over the best layer; chosen greedily, "
        f"{greedy_last:.1f} % and {greedy_best:.1f} %. (The paper reports {MEDIAN_GAIN:g} % "
        "over the best layer; "
        "by its tables, that is the gain over the last layer.)"
    )


def place_text(results: Atlas) -> str:
    """Where vectors were read, in words."""
    return PLACES[results.provenance["position"]]


# --- Tables of tuning -----------------------------------------------------------------------------


def tuning_scores(runs: Sequence[Tuned], metric: str) -> NDArray[np.float64]:
    """The scores of all seeds, in percent."""
    return np.array([100 * tuned.scores[metric] for tuned in runs])


def tuning_rows(
    tasks: Sequence[Task], done: Mapping[str, Mapping[str, Runs]], encoders: Mapping[str, str]
) -> list[Row]:
    """Table 4: the median of all seeds, with the lowest and the highest score.

    Published numbers stand beside those of the same encoder.
    """
    made: list[Row] = []
    for model, runs in done.items():
        published = TABLE_4.get(encoders[model], {})
        for task in tasks:
            for metric in task.metrics:
                row: Row = {"model": model, "task": f"{task.title} ({metric})"}
                known = published.get((task.name, metric))
                for place, state in enumerate(STATES):
                    scores = tuning_scores(runs[task.name][state], metric)
                    row[state] = f"{np.median(scores):.1f} ({min(scores):.1f}–{max(scores):.1f})"
                    if known:
                        row[f"{state}: paper"] = known[place]
                made.append(row)
    return made


def tuning_gains(
    tasks: Sequence[Task], runs: Mapping[str, Runs], state: str
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """What a state gains over the last layer, in points, over all tasks and metrics (Section 5.2).

    Returns
    -------
    mean
        The mean difference between medians over seeds.
    seeds
        The mean difference of each seed.
    medians
        The difference between medians of each task and metric.
    """
    pairs = [
        tuple(tuning_scores(runs[task.name][one], metric) for one in (state, STATES[0]))
        for task in tasks
        for metric in task.metrics
    ]
    medians = [np.median(one) - np.median(last) for one, last in pairs]
    seeds = np.array([one - last for one, last in pairs]).mean(0)
    return float(np.mean(medians)), seeds, np.array(medians)


Gains = Mapping[str, tuple[float, NDArray[np.float64], NDArray[np.float64]]]
"""What :func:`tuning_gains` returned for the best layer and for the top heads."""


def gain_rows(gains: Mapping[str, Gains], encoders: Mapping[str, str]) -> list[Row]:
    """The mean gains over the last layer, in points, one row per model and state."""
    made: list[Row] = []
    for model, states in gains.items():
        for state, (mean, seeds, _) in states.items():
            row: Row = {
                "model": model,
                "trained on": state,
                "mean gain": f"{mean:+.2f}",
                "lowest seed": f"{seeds.min():+.2f}",
                "highest seed": f"{seeds.max():+.2f}",
            }
            published = TUNED_GAINS.get(encoders[model])
            if published is not None and state == STATES[2]:
                row["paper"] = f"{published:+.2f}"
            made.append(row)
    return made


def state_rows(probed: Mapping[str, Mapping[str, Mapping[str, Atlas]]]) -> list[Row]:
    """Summarise the frozen scores of heads before and after fine-tuning (Figure 4).

    The mean over heads and the best head, in percent, and the rank correlation of the heads with
    those before.
    """
    made: list[Row] = []
    for model, tasks in probed.items():
        for task, states in tasks.items():
            first = next(iter(states.values()))["probe"]["test"].sel(task=task).values.ravel()
            for state, results in states.items():
                scores = results["probe"]["test"].sel(task=task).values.ravel()
                rho = spearmanr(first, scores, nan_policy="omit").statistic
                row: Row = {"model": model}
                row["task"] = str(results["probe"]["title"].sel(task=task).values)
                row |= {"state": state, "mean over heads": 100 * float(np.nanmean(scores))}
                row["best head"] = 100 * float(np.nanmax(scores))
                row["Spearman with before"] = None if state == "before" else float(rho)
                made.append(row)
    return made


def by_model(states: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    """By model, for each task and tuned state: the change of the mean, and the correlation."""
    found: dict[str, list[tuple[float, float]]] = {}
    before = 0.0
    for row in states:
        if row["state"] == "before":
            before = row["mean over heads"]
        else:
            change = row["mean over heads"] - before
            found.setdefault(row["model"], []).append((change, row["Spearman with before"]))
    return found


def neighbour_gains(tasks: Mapping[str, Mapping[str, Atlas]]) -> list[float]:
    """What the neighbours of the best tenth of heads gain, in points, by task and tuned state."""
    found = []
    for states in tasks.values():
        before, *after = (
            one["probe"]["test"].isel(task=0).transpose("layer", "head").values
            for one in states.values()
        )
        best = before >= np.nanquantile(before, 0.9)
        near = np.zeros_like(best)
        near[1:] |= best[:-1]
        near[:-1] |= best[1:]
        near[:, 1:] |= best[:, :-1]
        near[:, :-1] |= best[:, 1:]
        found += [100 * float(np.nanmean((one - before)[near & ~best])) for one in after]
    return found


def mean_scores(runs: Sequence[Atlas]) -> Atlas:
    """Average the scores of heads over the runs of several seeds.

    Several runs have no interval: one run's would not cover the scatter between them.
    """
    if len(runs) == 1:
        return runs[0]
    first = runs[0]["probe"]
    test = sum(one["probe"]["test"] for one in runs) / len(runs)
    unknown = first["test"] * np.nan
    probe = first.assign(test=test, low=unknown, high=unknown)
    return Atlas.build({"probe": probe}, runs[0].provenance)


def tuning_text(done: Mapping[str, Mapping[str, Runs]]) -> str:
    """Say how the models of Table 4 were tuned, and how long that took."""
    runs = [
        tuned
        for tasks in done.values()
        for states in tasks.values()
        for several in states.values()
        for tuned in several
    ]
    first = runs[0]
    sizes = sorted({tuned.examples["train"] for tuned in runs})
    examples = " to ".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
    return (
        "A linear layer, tanh, dropout 0.1 and a classifier on top, all weights trainable; batches "
        f"of {first.settings.batch_size}, {counted(first.settings.epochs, 'epoch')}, learning rate "
        f"{first.settings.learning_rate:g}, {examples} training examples; "
        f"{sum(tuned.minutes for tuned in runs):.1f} minutes for {counted(len(runs), 'run')}."
    )


# --- Tables of controls ---------------------------------------------------------------------------


def control_table(results: Atlas, controls: Atlas, random: Atlas) -> Table:
    """The controls of the best head of each task; ``random`` is of the model's random weights."""
    made: list[Row] = []
    found, better = controls["probe_control"], better_heads(results).set_index("task")
    for name, title in task_titles(results).items():
        if name not in found["task"].values:
            continue
        best = records(head_table(results, name, count=1))[0]
        layer, head = (int(part) for part in best["head"].split("-"))
        mine = found.sel(task=name, layer=layer, head=head)
        words = controls["probe_embeddings"]["test"].sel(task=name)
        chance = random["probe"].sel(task=name)["test"]
        trained = results["probe"].sel(task=name)["test"]
        count = better.loc[title] if title in better.index else None
        above = "" if count is None else f"{count['holm']} of {count['heads']}"
        made.append(
            {
                "task": title,
                "best head": best["head"],
                "test": 100 * best["test"],
                "control task": 100 * float(mine["control_task"]),
                "selectivity": 100 * float(mine["selectivity"]),
                "compression": float(mine["compression"]),
                "embeddings only": 100 * float(words),
                "best of random weights": 100 * float(chance.max()),
                "mean of heads": 100 * float(trained.mean()),
                "random weights": 100 * float(chance.mean()),
                "heads above majority": above,
            }
        )
    pairs = zip(found["title"].values, found["control_size"].values, strict=True)
    sizes = ", ".join(f"{title} {size:.0f}" for title, size in pairs)
    note = (
        f"Scores in percent; means over {controls.provenance['draws']} control tasks. Test "
        f"sentences of the control tasks: {sizes}. Embeddings only: the mean over tokens of "
        "what the first layer reads, with the width of a layer; positions are part of it, so that "
        "it knows lengths. Random weights: all weights drawn anew but the embeddings. Heads above "
        "majority: exact binomial tests with Holm's correction over heads, level 0.05."
    )
    return Table(made, title="Controls of the best head", note=note)


def random_head_table(data: xr.Dataset) -> Table:
    """The top heads beside random ones."""
    made: list[Row] = []
    for place, title in enumerate(data["title"].values):
        mine = data.isel(task=place)
        scores, top = 100 * mine["test"].values, 100 * float(mine["top"])
        ends = f"{100 * float(mine['low']):+.1f} to {100 * float(mine['high']):+.1f}"
        made.append(
            {
                "task": str(title),
                f"top-{int(mine['n'])} heads": top,
                "random heads, mean": float(np.mean(scores)),
                "lowest and highest": f"{scores.min():.1f}–{scores.max():.1f}",
                "difference, points": f"{100 * float(mine['difference']):+.1f} ({ends})",
                "p": p_value(float(mine["p"])),
                "sets at least as good": f"{int((scores >= top).sum())} of {len(scores)}",
            }
        )
    note = (
        "Test scores in percent. The difference, its 95 % interval and its p-value are paired over "
        "test sentences: the top heads are right, minus the share of random sets that are."
    )
    return Table(made, title="Top heads beside random ones", note=note)


# --- Tables and figures of the authors' numbers ---------------------------------------------------


def released_table(release: Release) -> Table:
    """Tables 3 and 5 from the released table, with the gains recomputed."""
    made: list[Row] = [
        {
            "encoder": encoder,
            "task": TITLES[task],
            "last layer": last,
            "best layer": best,
            "top heads": top,
            "gain over last, %": percent_gain(top, last),
            "gain over best, %": percent_gain(top, best),
        }
        for encoder, tasks in release.table.items()
        for task, (last, best, top) in tasks.items()
    ]
    note = "The release has no such numbers."
    if made:
        last, best = (
            np.median([row[f"gain over {base}, %"] for row in made]) for base in ("last", "best")
        )
        note = (
            f"Test accuracy in percent. Median gain of the top heads: {last:.2f} % over the last "
            f"layer, {best:.2f} % over the best layer."
        )
    return Table(made, title="Tables 3 and 5, released", sortable=True, id="released", note=note)


def released_heads(encoders: Mapping[str, Atlas]) -> list[Row]:
    """List the best layer, the best head and the top heads of each encoder and task.

    The best layer is the one with the highest mean test score of its heads; heads are chosen by
    validation scores, as many as a layer has.
    """
    made: list[Row] = []
    for encoder, results in encoders.items():
        data = probing_of(results)
        for name, title in task_titles(results).items():
            means = data["test"].sel(task=name).mean("head")
            best = records(head_table(results, name, count=1))[0]
            chosen = top_heads(results, data.sizes["head"], name)
            made.append(
                {
                    "encoder": encoder,
                    "task": title,
                    "best layer (mean of heads)": int(means["layer"][int(means.argmax("layer"))]),
                    "best head": best["head"],
                    "its score": 100 * best["test"],
                    "top heads, best first": ", ".join(map(str, chosen)),
                }
            )
    return made


def release_plots(encoders: Mapping[str, Atlas]) -> list[Plot]:
    """Draw Figures 3, 5, 6 and 7 from the authors' numbers."""
    probed = {name: set(task_titles(results)) for name, results in encoders.items()}
    tasks = [task for task in TITLES if all(task in names for names in probed.values())]
    chosen = {name: encoders[name] for name in FIGURE_3[0] if name in encoders}

    def plot(figure: int, caption: str, chart: Any) -> Plot:
        title = f"Figure {figure}, from the authors' numbers"
        return Plot(f"published-figure-{figure}", title, caption, chart)

    plots = []
    if chosen and set(FIGURE_3[1]) <= set(tasks):
        caption = "Heads of a layer are sorted, the best on the left; layer 1 is at the bottom."
        chart = probe_grid(chosen, FIGURE_3[1], columns=len(FIGURE_3[1]))
        plots.append(plot(3, caption, chart))
    caption = "One point per head, coloured by layer."
    plots.append(plot(5, caption, scatter_grid(encoders)))
    for number, ordered in ((6, True), (7, False)):
        order = "sorted, the best on the left" if ordered else "in their own columns"
        caption = f"All encoders and tasks; heads of a layer are {order}."
        plots.append(plot(number, caption, probe_grid(encoders, tasks, sorted=ordered)))
    return plots


def beside(
    name: str, results: Atlas, release: Release, *, seed: int
) -> tuple[list[Row], list[Plot]]:
    """Compare the heads of one of our models with the published ones, task by task.

    Both lists are empty if the paper has no such encoder, or the tasks differ.
    """
    encoder = encoder_of(results.provenance)
    published = release.encoders.get(encoder)
    if published is None:
        return [], []
    try:
        scores = paired_scores(results, published)
    except ResultsError:
        return [], []
    found = probe_agreement(scores, seed=seed)
    made = [correlation_row(name, row, task=row["task"]) for row in records(found)]
    title = f"{name}: scores of heads, published and here"
    plot = Plot(
        f"agreement-{slug(name)}",
        f"Heads of {name} beside the published {encoder}",
        "Test scores of each head, the authors' and ours, on different sentences.",
        agreement_grid(scores, found, title=title),
    )
    return made, [plot]


def missing_scores(encoder: str, results: Atlas) -> str:
    """Say which scores of heads the release lacks."""
    absent = probing_of(results)["test"].isnull().sum(("layer", "head"))
    titles = task_titles(results)
    lacking = [
        f"{titles[str(task)]} ({int(count)} heads)"
        for task, count in zip(absent["task"].values, absent.values, strict=True)
        if count
    ]
    return f"The release lacks scores of {encoder}: {', '.join(lacking)}." if lacking else ""


# --- Claims: the text, its place, the published number, and the rule that decides here ------------

DEEP = 24
"""Layers of the paper's large models."""
LAYERED = "layers and top heads were not probed"
SEEN = "seen in the maps"
PLOTTED = "seen in the plots"
claim = Jo2020.claim
of_models = partial(claim, each="models")


def in_each_task(
    results: Atlas, tasks: Sequence[str], check: Callable[[pd.Series], tuple[str, bool]]
) -> Verdict:
    """Ask a question of the mean score of each layer's heads; all tasks that were probed count."""
    titles, found = task_titles(results), []
    for task in tasks:
        if task in titles:
            means = probing_of(results)["test"].sel(task=task).mean("head").to_series().dropna()
            if len(means) > 1:
                text, holds = check(means)
                found.append((f"{titles[task]} {text}", holds))
    if not found:
        raise Untested("neither task was probed")
    return Verdict(", ".join(text for text, _ in found), all(holds for _, holds in found))


def halves(means: pd.Series) -> tuple[float, float]:
    """The mean of the lower and of the upper half of the layers; a middle layer is in neither."""
    half = len(means) // 2
    return 100 * float(means.iloc[:half].mean()), 100 * float(means.iloc[-half:].mean())


@of_models(
    "Section 4.3, Figure 3",
    SEEN,
    "in both tasks (or the one that was probed), the heads of the lower half have a higher "
    "mean score than the others",
    ours="halves",
)
def low(probed: Atlas) -> Verdict:
    """heads of the lower layers are better at Length and Depth; scores fall from the mid-upper
    layers on.
    """

    def check(means: pd.Series) -> tuple[str, bool]:
        below, above = halves(means)
        return f"{below:.1f} below, {above:.1f} above", below > above

    return in_each_task(probed, ("sentence_length", "tree_depth"), check)


@of_models(
    "Section 4.3, Figure 3",
    SEEN,
    "in both tasks (or the one that was probed), the layer whose heads have the highest mean "
    "score is in the middle third",
    ours="the middle third",
)
def middle(probed: Atlas) -> Verdict:
    """heads of the middle layers are activated for SubjNum and CoordInv."""

    def check(means: pd.Series) -> tuple[str, bool]:
        place = int(np.argmax(means.to_numpy())) + 1
        inside = len(means) / 3 < place <= 2 * len(means) / 3
        return f"layer {int(means.index[place - 1])} of {len(means)}", inside

    return in_each_task(probed, ("subj_number", "coordination_inversion"), check)


@of_models(
    "Section 4.3, Figure 3",
    SEEN,
    "in both tasks (or the one that was probed), the heads of the upper half have a higher "
    "mean score than the others",
    ours="halves",
)
def high(probed: Atlas) -> Verdict:
    """heads of the upper layers are mostly activated for BigramShift and OddManOut."""

    def check(means: pd.Series) -> tuple[str, bool]:
        below, above = halves(means)
        return f"{below:.1f} below, {above:.1f} above", above > below

    return in_each_task(probed, ("bigram_shift", "odd_man_out"), check)


def counted_tasks(better: Any, least: float) -> Verdict:
    """Whether something holds in at least a share of the tasks."""
    if not len(better):
        raise Untested(LAYERED)
    return Verdict(f"{int(better.sum())} of {len(better)}", float(better.mean()) >= least)


# The next claims compare encoders, so they need several: the authors' numbers have them.
RELEASED = "give --published with the authors' results (linear_head_wise_results/MODEL_TASK.json)"


def family_of(name: str, results: Atlas) -> str:
    """The family of an encoder: BERT, ELECTRA, GPT (both of them)."""
    kind = results.provenance["model"].get("type", "")
    return FAMILIES.get(kind, name.split()[0]).replace("GPT2", "GPT")


def profiles(probed: Mapping[str, Atlas]) -> dict[str, NDArray[np.float64]]:
    """For each encoder the mean score of heads by depth in ten steps, standardised by task."""
    tasks = set.intersection(*(set(task_titles(one)) & set(TITLES) for one in probed.values()))
    found = {}
    for name, results in probed.items():
        rows = []
        for task in sorted(tasks):
            means = probing_of(results)["test"].sel(task=task).mean("head").values
            known = np.isfinite(means)  # the release lacks a layer of ELECTRA large
            depths = np.linspace(0, 1, len(means))[known]
            steps = np.interp(np.linspace(0, 1, 10), depths, means[known])
            rows.append((steps - steps.mean()) / max(float(steps.std()), 1e-9))
        found[name] = np.concatenate(rows) if rows else np.zeros(0)
    return found


def pairs_of(probed: Mapping[str, Atlas]) -> dict[tuple[str, str], tuple[bool, float]]:
    """Every two encoders: whether they are of one family, and how alike their profiles are."""
    found = profiles(probed) if len(probed) > 2 else {}
    families = {name: family_of(name, results) for name, results in probed.items()}
    pairs = {
        (one, other): (
            families[one] == families[other],
            float(np.corrcoef(found[one], found[other])[0, 1]),
        )
        for one, other in combinations(found, 2)
        if found[one].size > 10
    }
    if len({alike for alike, _ in pairs.values()}) < 2:
        raise Untested(f"two encoders of one family and one of another are needed: {RELEASED}")
    return pairs


@claim(
    "Section 4.3, Figure 3",
    SEEN,
    "scores by depth correlate more within families than between them, on average, ELECTRA large "
    "left out",
    ours="means of layers, in ten steps of depth",
)
def families_alike(probed: Mapping[str, Atlas]) -> Verdict:
    """heat maps of one family look alike, those of different families do not."""
    others = {name: one for name, one in probed.items() if name != "ELECTRA large"}
    pairs = pairs_of(others).values()
    within, between = (
        float(np.mean([rho for same, rho in pairs if same == alike])) for alike in (True, False)
    )
    return Verdict(f"{within:.2f} within, {between:.2f} between", within > between)


@claim(
    "Section 4.3, Appendix B",
    SEEN,
    "small and base correlate more by depth with each other than large does with either",
    ours="means of layers, in ten steps of depth",
)
def electra_large(probed: Mapping[str, Atlas]) -> Verdict:
    """ELECTRA large is unlike ELECTRA small and base, which look alike."""
    names = ("ELECTRA small", "ELECTRA base", "ELECTRA large")
    if any(name not in probed for name in names):
        raise Untested(f"the three ELECTRA models are needed: {RELEASED}")
    found = profiles({name: probed[name] for name in names})
    alike, *others = (
        float(np.corrcoef(found[one], found[other])[0, 1]) for one, other in combinations(names, 2)
    )
    text = f"small and base {alike:.2f}, with large {others[0]:.2f} and {others[1]:.2f}"
    return Verdict(text, alike > max(others))


def by_family(
    probed: Mapping[str, Atlas], tasks: Sequence[str], score: Callable[[xr.DataArray], float]
) -> tuple[float, float]:
    """A number of each encoder's heads, averaged over the tasks, for BERT and for GPT."""
    found: dict[str, list[float]] = {"BERT": [], "GPT": []}
    for name, results in probed.items():
        known = [task for task in tasks if task in task_titles(results)]
        scores = [score(probing_of(results)["test"].sel(task=task)) for task in known]
        if scores and family_of(name, results) in found:
            found[family_of(name, results)].append(float(np.mean(scores)))
    if not all(found.values()):
        raise Untested(f"a BERT and a GPT model are needed: {RELEASED}")
    return float(np.mean(found["BERT"])), float(np.mean(found["GPT"]))


@claim(
    "Section 4.3, Figure 3",
    SEEN,
    "the share of heads with at least half of the best head's gain over chance is larger in GPT",
    ours="half of the gain",
)
def gpt_spreads(probed: Mapping[str, Atlas]) -> Verdict:
    """in GPT many heads work together on SubjNum and CoordInversion, in BERT only a few."""

    def share(scores: xr.DataArray) -> float:
        gains = scores.values - 0.5  # both tasks have two classes of equal size
        return float((gains >= np.nanmax(gains) / 2).mean())

    bert, gpt = by_family(probed, ("subj_number", "coordination_inversion"), share)
    return Verdict(f"GPT {percent(gpt)}, BERT {percent(bert)} of the heads", gpt > bert)


@claim(
    "Section 4.3, Figure 3",
    SEEN,
    "the heads of the upper half have a higher mean score in BERT",
    ours="the upper half",
)
def bert_upper(probed: Mapping[str, Atlas]) -> Verdict:
    """upper heads of BERT are better at BigramShift and OddManOut than those of GPT."""

    def upper_mean(scores: xr.DataArray) -> float:
        return 100 * float(scores.isel(layer=slice(-(scores.sizes["layer"] // 2), None)).mean())

    bert, gpt = by_family(probed, ("bigram_shift", "odd_man_out"), upper_mean)
    return Verdict(f"BERT {bert:.1f}, GPT {gpt:.1f}", bert > gpt)


@of_models(
    "Section 4.4, Tables 3 and 5",
    "40 of 40",
    "the layer that validation chooses is at least as good on the test data, in all tasks",
)
def last(layers: pd.DataFrame) -> Verdict:
    """the last layer is no better than the best layer in any task."""
    return counted_tasks(layers["best"] >= layers["last"], 1.0)


@of_models(
    "Section 4.4, Tables 3 and 5", "39 of 40", "in nine tasks of ten or more", ours="nine of ten"
)
def top(layers: pd.DataFrame) -> Verdict:
    """the top heads are better than the best layer in almost all tasks."""
    return counted_tasks(layers["top"] > layers["best"], 0.9)


@claim(
    "Section 4.4",
    f"{MEDIAN_GAIN:g} % (by the paper's tables, over the last layer)",
    "the median gain over the last layer, over all models and tasks, is 19 % or more",
    ours="rounded down",
)
def gain(all_layers: pd.DataFrame) -> Verdict:
    """accuracy is increased by 19.22 % in the median."""
    over_last, over_best = median_gain(all_layers, over="last"), median_gain(all_layers)
    here = f"{over_last:.1f} % (over the best layer {over_best:.1f} %)"
    return Verdict(here, bool(over_last >= np.floor(MEDIAN_GAIN)))


def both_scores(results: Atlas) -> pd.DataFrame:
    """Syntactic and semantic scores of the heads."""
    try:
        return syntactic_semantic(results)
    except UserError:
        raise Untested("no syntactic or no semantic task was probed") from None


@of_models(
    "Section 6.2, Figure 5",
    PLOTTED,
    "Pearson's correlation is positive, and so is its 95 % interval over layers",
)
def linear(probed: Atlas) -> Verdict:
    """syntactic and semantic scores of heads are linearly related."""
    row = records(correlation(both_scores(probed), resamples=2000))[0]
    if np.isnan(row["value"]) or np.isnan(row["layer low"]):
        raise Untested("no syntactic or no semantic task was probed")
    text = f"{row['value']:.2f} ({row['layer low']:.2f} to {row['layer high']:.2f})"
    return Verdict(text, bool(row["layer low"] > 0))


@of_models(
    "Section 6.2, Figure 5",
    PLOTTED,
    "both layer means rise with the layer (Spearman's correlation above 0), or the model has "
    "24 layers or more and not both do",
)
def rise(probed: Atlas) -> Verdict:
    """the lower the layer, the less it matters for syntax and semantics; not in large models."""
    means = both_scores(probed).groupby("layer")[["syntactic", "semantic"]].mean().dropna()
    if len(means) < 3:
        raise Untested("no syntactic or no semantic task was probed")
    rho = [float(spearmanr(means.index, means[name]).statistic) for name in means]
    rises = all(value > 0 for value in rho)
    return Verdict(
        f"{rho[0]:+.2f} and {rho[1]:+.2f}", rises if len(means) < DEEP - 1 else not rises
    )


@of_models(
    "Section 6.2, Figure 5",
    "BERT large, ELECTRA large",
    "in a model of 24 layers or more, the last quarter has lower means than the rest in both",
    ours="the last quarter",
)
def upper(probed: Atlas) -> Verdict:
    """in large models, the highest layers contribute less to both."""
    try:
        frame = syntactic_semantic(probed).dropna()
    except UserError:
        frame = pd.DataFrame({"layer": [0]})
    layers = int(frame["layer"].max())
    if layers < DEEP:
        raise Untested("no model has 24 layers or more")
    late = frame["layer"] > 0.75 * layers
    ends = {
        name: (100 * frame.loc[late, name].mean(), 100 * frame.loc[~late, name].mean())
        for name in ("syntactic", "semantic")
    }
    text = ", ".join(f"{name} {one:.1f} against {rest:.1f}" for name, (one, rest) in ends.items())
    return Verdict(text, all(one < rest for one, rest in ends.values()))


@of_models(
    "Section 5.2, Table 4",
    "0.82 and 1.04 points",
    "the mean gain over tasks and metrics is above 0",
)
def tuned_from_top(gains: Gains) -> Verdict:
    """fine-tuning from the top heads is better than from the last layer."""
    mean = gains[STATES[2]][0]
    return Verdict(f"{mean:+.2f} points", mean > 0)


@of_models(
    "Section 5.2, Table 4",
    "below the last layer in 7 of 10 rows",
    "a score of some task is below that of the last layer, or the mean gain is not above 0",
)
def best_layer_inconsistent(gains: Gains) -> Verdict:
    """fine-tuning from the best layer gives no consistent gain."""
    mean, _, medians = gains[STATES[1]]
    worse = int((medians < 0).sum())
    text = f"{mean:+.2f} points on average; {worse} of {len(medians)} rows below the last layer"
    return Verdict(text, bool(mean <= 0 or worse))


def frozen_means(frozen: Mapping[str, Mapping[str, Atlas]], task: str) -> dict[str, pd.Series]:
    """The mean frozen score of each layer's heads on a downstream task, by model."""
    found = {
        name: tasks[task]["probe"]["test"].isel(task=0).mean("head").to_series()
        for name, tasks in frozen.items()
        if task in tasks
    }
    if not found:
        raise Untested(f"{task} was not run: give {task.upper()}/train.tsv and dev.tsv (--data)")
    return found


@claim(
    "Section 6.1, Figure 4",
    SEEN,
    "the best tenth of the heads lies higher for SST-2 than for MRPC, on average",
    ours="the best tenth",
)
def sst_upper(frozen: Mapping[str, Mapping[str, Atlas]]) -> Verdict:
    """heads that matter for MRPC are spread over all layers, those for SST-2 are in the upper
    ones.
    """
    depths: dict[str, list[float]] = {"mrpc": [], "sst-2": []}
    for tasks in frozen.values():
        for task in depths.keys() & tasks.keys():
            scores = tasks[task]["probe"]["test"].isel(task=0).transpose("layer", "head").values
            best = np.argsort(-scores.ravel(), kind="stable")[: max(1, scores.size // 10)]
            depths[task].append(float(np.mean(best // scores.shape[1] + 0.5) / len(scores)))
    if not all(depths.values()):
        raise Untested("both are needed: give MRPC and SST-2 (--downstream, --data)")
    mrpc, sst = (float(np.mean(depths[task])) for task in ("mrpc", "sst-2"))
    return Verdict(
        f"mean depth {sst:.2f} for SST-2, {mrpc:.2f} for MRPC (0 is the bottom)", sst > mrpc
    )


@claim(
    "Section 6.1, Figure 4",
    SEEN,
    "a layer in the lowest 30 % and one in the upper half have higher mean scores than the lowest "
    "layer between them, in most models",
    ours="means of layers",
)
def two_regions(frozen: Mapping[str, Mapping[str, Atlas]]) -> Verdict:
    """STS-B has two influential regions, in the lower (first 25 to 30 %) and the upper layers."""
    texts, holds = [], []
    for name, means in frozen_means(frozen, "sts-b").items():
        values = means.to_numpy(float)
        first = max(1, round(STS_LAYERS[1] * len(values)))
        half = max(first + 1, len(values) // 2)
        low, between, high = values[:first], values[first:half], values[half:]
        peaks = float(low.max()), float(between.min()), float(high.max())
        texts.append(f"{name}: {peaks[0]:.2f} below, {peaks[1]:.2f} between, {peaks[2]:.2f} above")
        holds.append(min(peaks[0], peaks[2]) > peaks[1])
    return Verdict("; ".join(texts), 2 * sum(holds) > len(holds))


@of_models(
    "Section 6.1, Figure 4",
    SEEN,
    "the neighbours of the best tenth of heads gain, on average over tasks and states",
    ours="the best tenth; neighbours in the next layers, and in the same layer",
)
def neighbours(neighbour_gains: Sequence[float]) -> Verdict:
    """heads adjacent to superior ones also gain slightly by fine-tuning."""
    mean = float(np.mean(neighbour_gains))
    return Verdict(f"{mean:+.2f} points", mean > 0)


@of_models(
    "Section 6.1, Figure 4",
    SEEN,
    "in all tasks and states, the mean over heads rises and the rank correlation with before "
    "is 0.5 or more",
    ours="0.5",
)
def amplified(states: Sequence[tuple[float, float]]) -> Verdict:
    """fine-tuning amplifies the heat maps and preserves their pattern."""
    text = "; ".join(f"{change:+.1f} points, {rho:.2f}" for change, rho in states)
    return Verdict(text, all(change > 0 and rho >= 0.5 for change, rho in states))
