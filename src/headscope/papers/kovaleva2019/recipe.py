"""The recipe of Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from headscope.corpus import Corpus, CorpusLike, read
from headscope.errors import unknown
from headscope.figures import attention_lines, attention_panel, task_patterns
from headscope.heads import Head
from headscope.models import Model, ModelLike
from headscope.models.replacement import WAYS
from headscope.page import Plot, Section, Table
from headscope.papers.kovaleva2019 import facts
from headscope.papers.kovaleva2019.glue_table import table_rows
from headscope.papers.kovaleva2019.tables import frame_rows, share_rows
from headscope.papers.kovaleva2019.tuned import TunedModels
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import as_sentence, counted, gallery_plots
from headscope.results import Atlas
from headscope.runs.examples import frame_example
from headscope.runs.tune import STARTS
from headscope.stats import frame_table
from headscope.tasks import Task, find_task

EXAMPLES = 1000
"""The most dev examples of each task, as in the paper."""


@dataclass
class Kovaleva2019(Recipe):
    """Revealing the Dark Secrets of BERT: fine-tuning, patterns, frames, and disabled heads.

    Options that all recipes share are described in :class:`headscope.papers.recipe.Recipe`.
    ``limit`` limits the dev examples; training uses all examples.

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
        Where tuned models are, or will be: ``FOLDER/TASK-START``, as ``headscope tune`` makes them.
        Finished ones are reused. Default: ``tuned/`` in the output folder.
    starts
        The columns of Table 1: pretrained, random, untrained.
    way
        How a head is disabled: uniform, zero or mean.
    parser
        The spaCy pipeline that finds linguistic features. Default: the small English one.
    epochs
        Passes over the training examples.
    learning_rate
        The highest learning rate, reached after warm-up.

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
    tuned: str | Path | None = None
    starts: Sequence[str] = STARTS
    way: str = "uniform"
    parser: str = ""
    epochs: int = 3
    learning_rate: float = 5e-5

    name: ClassVar[str] = "kovaleva2019"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.starts:
            if name not in STARTS:
                raise unknown("start", name, STARTS)
        self._starts = tuple(start for start in STARTS if start in self.starts)
        if self.way not in WAYS:
            raise unknown("way of disabling heads", self.way, WAYS)
        found = (find_task(task) if isinstance(task, str) else task for task in self.tasks)
        self._tasks: tuple[Task, ...] = tuple(dict.fromkeys(found))
        self._frames = read(self.frames)
        self._tuned = TunedModels(self, limit=self.at_most(EXAMPLES))

    @property
    def given(self) -> frozenset[str]:
        """Whether there are tasks."""
        return frozenset({"tasks"} if self.tasks else ())

    def steps(self, part: str) -> Sequence[Step]:
        """Change and disabling have one section per task."""
        steps: dict[str, list[Step]] = {
            "tuning": [self._table],
            "patterns": [self._patterns],
            "frames": [self._frame_section],
            "change": [partial(self._tuned.change, task) for task in self._tasks],
            "disabling": [partial(self._tuned.disabling, task) for task in self._tasks],
        }
        return steps[part]

    def facts(self) -> list[tuple[str, str]]:
        """The tasks."""
        return [(", ".join(task.title for task in self._tasks) or "none", "tasks")]

    @property
    def _pretrained(self) -> Model:
        return self.load(self.models[0])

    def _look(self, name: str, model: Model, corpus: Corpus, measures: list[str]) -> Atlas:
        """Survey at most as many examples as the paper."""
        return self.survey(name, model, corpus, measures, limit=self.at_most(EXAMPLES))

    def _table(self) -> Section:
        done = [self._tuned.tune(task, start) for task in self._tasks for start in self._starts]
        notes = dict.fromkeys(note for tuned in done for note in tuned.notes)
        note = (
            "Dev scores in percent. Majority: always the most frequent class of the training data."
        )
        settings = done[0].settings
        text = (
            f"Batches of {settings.batch_size}, {counted(settings.epochs, 'epoch')}, learning rate "
            f"{settings.learning_rate:g}, seed {settings.seed}."
        )
        below = " ".join([note, *map(as_sentence, notes)])
        table = Table(table_rows(done), title="Table 1", note=below)
        return self.section("tuning", text, [table])

    def _patterns(self) -> Section:
        found: dict[str, Atlas] = {}
        for task in self._tasks:
            dev, after = self._tuned.dev(task), self._tuned.model(task)
            found[f"{task.title}, pretrained"] = self._look(
                f"patterns-{task.name}-before", self._pretrained, dev, ["pattern"]
            )
            found[f"{task.title}, tuned"] = self._look(
                f"patterns-{task.name}", after, dev, ["pattern"]
            )
        if not found:
            name = "built-in pairs" if self._frames.format == "builtin" else self._frames.name
            found[name] = self._look("patterns", self._pretrained, self._frames, ["pattern"])
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
        return self.section(
            "patterns",
            f"Every map of every head, on at most {EXAMPLES} examples of each task.",
            [Table(share_rows(found), title="Share of each class", note=note)],
            [by_task, *gallery_plots(last, "pattern-layers", "pattern-heads")],
        )

    def _frame_section(self) -> Section:
        results = self._look("frames", self._pretrained, self._frames, ["frame"])
        first, second = facts.FRAME_HEADS
        note = (
            "The largest attention between a frame's target and a core element, in either "
            "direction, averaged over sentences. Published: two heads above the 99th percentile, "
            f"with {first} and {second}."
        )
        table = Table(
            frame_rows(results),
            title="Heads with the most attention along frame links",
            note=note,
        )
        return self.section(
            "frames",
            f"{results.provenance['counts']['seen']} examples with frame links.",
            [table],
            [*gallery_plots(results, "frames"), *self._frame_lines(results)],
        )

    def _frame_lines(self, results: Atlas) -> list[Plot]:
        """Draw the two strongest heads, each on the sentence that shows it best (Figure 3)."""
        charts = []
        for name in frame_table(results, count=2)["head"]:
            head = Head.parse(str(name))
            example = frame_example(self._pretrained, self._frames, head=head)
            if example:
                charts.append(
                    attention_lines(
                        example.words, example.attention, title=f"Head {name}", red=example.marked
                    )
                )
        if not charts:
            return []
        title = "Frame links in a sentence"
        caption = (
            "Attention between words; the frame's target and its element are red. Each sentence "
            "is the one in which the head attends most along a link, not a typical one."
        )
        panel = attention_panel(charts, title=title, columns=2)
        return [Plot("frame-lines", title, caption, panel)]
