"""The recipe of Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import ClassVar, Literal, cast

from headscope.corpus import Corpus, CorpusLike, read
from headscope.errors import UserError, unknown
from headscope.figures import task_patterns
from headscope.figures.grids import SCALES, Scale
from headscope.measures.patterns import RELIABLE
from headscope.models import Model, ModelLike
from headscope.models.replacement import WAYS
from headscope.page import Plot, Section, Table
from headscope.papers.claims import Finding
from headscope.papers.kovaleva2019 import facts
from headscope.papers.kovaleva2019.change import Change
from headscope.papers.kovaleva2019.checkpoints import Checkpoint
from headscope.papers.kovaleva2019.claims import (
    change_findings,
    frame_finding,
    pattern_findings,
    tuning_findings,
)
from headscope.papers.kovaleva2019.disabling import Disabling
from headscope.papers.kovaleva2019.drawings import appendix_plots, random_maps, typical_plot
from headscope.papers.kovaleva2019.frames import frame_section
from headscope.papers.kovaleva2019.glue_table import gain_sentence, tuning_tables
from headscope.papers.kovaleva2019.places import TunedLike, tuned_places
from headscope.papers.kovaleva2019.tables import share_rows
from headscope.papers.kovaleva2019.tuned import TunedModels
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import as_sentence, gallery_plots
from headscope.results import Atlas
from headscope.runs.pattern_maps import ClassifiedMaps
from headscope.runs.tune import STARTS, Precision, TuneSettings
from headscope.tasks import Task, find_task

SAMPLES = ("random", "first")
EXAMPLES = 1000
"""The most dev examples of each task, as in the paper."""


@dataclass
class Kovaleva2019(Recipe):
    """Revealing the Dark Secrets of BERT: fine-tuning, patterns, frames, and disabled heads.

    Options that all recipes share are described in :class:`headscope.papers.recipe.Recipe`.
    ``limit`` limits the dev examples (1000 at most, as in the paper), not the sentences with frame
    links and not training; ``train_limit`` limits training.

    Parameters
    ----------
    model
        A hub id, a model folder, ``"demo"``, a :class:`headscope.Model`, or a network with its
        tokenizer.
    tasks
        GLUE tasks, by name or as :class:`headscope.tasks.Task`. Without one, only the parts
        ``patterns`` and ``frames`` can run.
    data
        The folder with the GLUE files (``FOLDER/RTE/train.tsv``), or ``"hub"``.
    frames
        Sentences with frame links: JSON lines, ``"framenet"`` for nltk's, or ``"demo"``.
    tuned
        Fine-tuned models. A folder in which they are, or will be (``FOLDER/TASK-START``, as
        ``headscope tune`` makes them): models that are there are used as they are. Or checkpoints
        of your own, folders and hub ids, with or without Headscope's record: ``"rte=FOLDER"``, a
        list of such strings, or ``{"rte": "FOLDER"}``; a task may have several. Default: ``tuned/``
        in the output folder.
    starts
        The columns of Table 1: pretrained, random, untrained.
    seeds
        How many models are tuned for each task and start, with the seeds ``seed``, ``seed`` + 1 ….
    train_limit
        Train on at most this many examples of each task, drawn at random. Default: all.
    precision
        Of training: ``"float32"``, or mixed precision ``"bf16"`` or ``"fp16"`` (GPU only).
    way
        How a head is disabled: uniform, zero or mean.
    parser
        The spaCy pipeline that finds linguistic features. Default: the small English one.
    epochs
        Passes over the training examples.
    learning_rate
        The highest learning rate, reached after warm-up.
    sample
        Which dev examples are used where there are more than wanted: ``"random"`` ones, drawn with
        ``seed``, or the ``"first"`` ones.
    scale
        Whether all maps of a figure of changes have ``"one"`` colour scale, or ``"each"`` its own.

    Examples
    --------
    >>> recipe = Kovaleva2019("demo", parts=["patterns", "frames"], limit=20)
    >>> [part.title for part in recipe.chosen]
    ['Pattern classes', 'Frame relations']

    References
    ----------
    Olga Kovaleva, Alexey Romanov, Anna Rogers and Anna Rumshisky. 2019. Revealing the Dark Secrets
    of BERT. EMNLP-IJCNLP.
    """

    model: ModelLike = "demo"
    _: KW_ONLY
    tasks: Sequence[str | Task] = ()
    data: str | Path = "hub"
    frames: CorpusLike = "demo"
    tuned: TunedLike | None = None
    starts: Sequence[str] = STARTS
    seeds: int = 1
    train_limit: int | None = None
    precision: str = "float32"
    way: str = "uniform"
    parser: str = ""
    epochs: int = 3
    learning_rate: float = 5e-5
    sample: Literal["random", "first"] = "random"
    scale: Scale = "one"

    name: ClassVar[str] = "kovaleva2019"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.starts:
            if name not in STARTS:
                raise unknown("start", name, STARTS)
        self.chosen_starts = tuple(start for start in STARTS if start in self.starts)
        if self.way not in WAYS:
            raise unknown("way of disabling heads", self.way, WAYS)
        if self.sample not in SAMPLES:
            raise unknown("sample", self.sample, SAMPLES)
        if self.scale not in SCALES:
            raise unknown("colour scale", self.scale, SCALES)
        if self.seeds < 1:
            raise UserError(f"the number of seeds must be 1 or more, got {self.seeds} instead")
        if self.train_limit is not None and self.train_limit < 1:
            raise UserError(f"the training limit must be 1 or more, got {self.train_limit} instead")
        found = (find_task(task) if isinstance(task, str) else task for task in self.tasks)
        self.chosen_tasks: tuple[Task, ...] = tuple(dict.fromkeys(found))
        TuneSettings(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            precision=cast("Precision", self.precision),
        )
        self._frames = read(self.frames)
        places = tuned_places(self.tuned, self.chosen_tasks)
        self.tuned_models = TunedModels(self, places, limit=self.at_most(EXAMPLES))
        self._change, self._disabling = Change(self), Disabling(self)
        self._done: list[Checkpoint] = []
        self._patterns_found: dict[str, Atlas] | None = None

    @property
    def given(self) -> frozenset[str]:
        """Whether there are tasks."""
        return frozenset({"tasks"} if self.tasks else ())

    def steps(self, part: str) -> Sequence[Step]:
        """Each part has one section, with the tasks side by side."""
        steps: dict[str, Step] = {
            "tuning": self._table,
            "patterns": self._patterns,
            "frames": self._frame_section,
            "change": self._change.run,
            "disabling": self._disabling.run,
        }
        return [steps[part]]

    def claims(self) -> list[Finding]:
        """What this run found about the claims of the parts that ran, in the order of the paper."""
        found: list[Finding] = []
        if self._patterns_found is not None:
            found += pattern_findings(self._patterns_found)
        if "frames" in self.about:
            found.append(frame_finding(self.frame_results()))
        found += tuning_findings(self._done) if self._done else []
        if self._change.after:
            layers = {task: self._change.layers(task) for task in self._change.changes}
            found += change_findings(layers, self._change.after)
        return found + self._disabling.findings()

    def check(self) -> None:
        """Check the fine-tuned models that are there, before anything is trained."""
        if {part.name for part in self.chosen} - {"frames"}:
            self.tuned_models.check()

    def facts(self) -> list[tuple[str, str]]:
        """The tasks."""
        return [(", ".join(task.title for task in self.chosen_tasks) or "none", "tasks")]

    def drawn(self, corpus: Corpus, most: int | None) -> Corpus:
        """At most so many examples of a corpus, drawn at random or the first ones."""
        return (
            corpus.sample(most, seed=self.seed) if self.sample == "random" else corpus.first(most)
        )

    def run_name(self, task: Task, place: int) -> str:
        """What the files of a task's models are called: the first has the name of the task."""
        return task.name + (f"-{place + 1}" if place else "")

    def examples_sentence(self) -> str:
        """Say which dev examples of each task are used."""
        parts = []
        for task in self.chosen_tasks:
            whole, used = self.tuned_models.all_dev(task).size(), self.tuned_models.dev(task).size()
            how = "drawn at random" if self.sample == "random" else "the first ones"
            of = f"all {used:,}" if whole == used else f"{used:,} of {whole:,}, {how}"
            parts.append(f"{task.title} {of}")
        return f"Dev examples: {'; '.join(parts)}."

    @property
    def _pretrained(self) -> Model:
        return self.load(self.models[0])

    def _table(self) -> Section:
        self._done = done = [
            tuned
            for task in self.chosen_tasks
            for start in self.chosen_starts
            for tuned in self.tuned_models.checkpoints(task, start)
        ]
        ways = dict.fromkeys(tuned.training for tuned in done if tuned.start != "untrained")
        text = " ".join([*map(as_sentence, ways), gain_sentence(done)])
        notes = [note for tuned in done for note in tuned.notes]
        return self.section("tuning", text, tuning_tables(done, notes))

    def _pattern_survey(self, name: str, model: Model, corpus: Corpus) -> Atlas:
        """Classify maps at a length for which the network is reliable, whatever tuning uses."""
        length = min(RELIABLE, model.longest or RELIABLE)
        drawn = self.drawn(corpus, self.at_most(EXAMPLES))
        return self.survey(name, model, drawn, ["pattern"], max_length=length, whole=True)

    def _patterns(self) -> Section:
        found: dict[str, Atlas] = {}
        for task in self.chosen_tasks:
            dev = self.tuned_models.dev(task)
            after = next(iter(self.tuned_models.models(task).values()))
            found[f"{task.title}, pretrained"] = self._pattern_survey(
                f"patterns-{task.name}-before", self._pretrained, dev
            )
            found[f"{task.title}, tuned"] = self._pattern_survey(
                f"patterns-{task.name}", after, dev
            )
        self._patterns_found = {
            task.title: found[f"{task.title}, tuned"] for task in self.chosen_tasks
        }
        if not found:
            own = self._frames.format == "builtin"
            name = "built-in pairs" if own else Path(self._frames.name).name
            found[name] = self._pattern_survey("patterns", self._pretrained, self._frames)
        least, most = facts.HETEROGENEOUS.items()
        note = (
            "Percent of all maps, as the network classifies them, with 95 % intervals (jackknife "
            "over groups of documents). The paper gives numbers for heterogeneous maps only: from "
            f"{least[1]} ({least[0]}) to {most[1]} ({most[0]})."
        )
        by_task = Plot(
            "patterns-by-task", "Pattern classes", "As in Figure 2.", task_patterns(found)
        )
        last = list(found.values())[-1]
        drawn = self._random_maps()
        return self.section(
            "patterns",
            f"Every map of every head, on at most {EXAMPLES} examples of each task. Examples are "
            f"cut at {RELIABLE} tokens, whatever the length of tuning: on longer test maps the "
            "network is often wrong.",
            [Table(share_rows(found), title="Share of each class", note=note)],
            [
                typical_plot(drawn),
                by_task,
                *gallery_plots(last, "pattern-layers", "pattern-heads"),
                *appendix_plots(drawn),
            ],
        )

    def _random_maps(self) -> dict[str, ClassifiedMaps]:
        """All maps of one random example: of each task's tuned model, or of the built-in corpus."""
        found = {}
        for task in self.chosen_tasks:
            tuned = next(iter(self.tuned_models.models(task).values()))
            found[task.title] = random_maps(tuned, self.tuned_models.dev(task), seed=self.seed)
        corpus = {"Pretrained": self._frames}
        return found or {
            name: random_maps(self._pretrained, texts, seed=self.seed)
            for name, texts in corpus.items()
        }

    def frame_results(self) -> Atlas:
        """The pretrained model's attention along frame links, on all sentences."""
        return self.survey("frames", self._pretrained, self._frames, ["frame"], whole=True)

    def _frame_section(self) -> Section:
        return frame_section(self, self._pretrained, self._frames)
