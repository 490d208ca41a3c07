"""The recipe of Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT"."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headscope.corpus import Corpus
from headscope.figures import task_patterns
from headscope.measures.patterns import RELIABLE
from headscope.models import Model
from headscope.options import takes
from headscope.page import Plot, Section, Table
from headscope.papers.claims import Finding
from headscope.papers.kovaleva2019 import Kovaleva2019Options, facts
from headscope.papers.kovaleva2019.change import Change
from headscope.papers.kovaleva2019.checkpoints import Checkpoint
from headscope.papers.kovaleva2019.claims import (
    change_findings,
    frame_finding,
    pattern_findings,
    tuning_findings,
)
from headscope.papers.kovaleva2019.disabling import Disabling
from headscope.papers.kovaleva2019.drawings import (
    DrawnExample,
    appendix_plots,
    random_maps,
    typical_plot,
)
from headscope.papers.kovaleva2019.frames import frame_section
from headscope.papers.kovaleva2019.glue_table import gain_sentence, tuning_tables
from headscope.papers.kovaleva2019.tables import share_rows
from headscope.papers.kovaleva2019.tuned import TunedModels
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import as_sentence, gallery_plots
from headscope.results import Atlas
from headscope.tasks import Task

EXAMPLES = 1000
"""The most dev examples of each task, as in the paper."""


class Kovaleva2019(Recipe):
    """Revealing the Dark Secrets of BERT: fine-tuning, patterns, frames, and disabled heads.

    Its options are those of :class:`headscope.papers.Kovaleva2019Options`.

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

    options: Kovaleva2019Options

    @takes(Kovaleva2019Options)
    def __init__(self, options: Kovaleva2019Options) -> None:
        super().__init__(options.model, options)
        self.chosen_tasks, self.chosen_starts = options.chosen_tasks, options.chosen_starts
        self._frames = options.links
        limit = options.at_most(EXAMPLES)
        self.tuned_models = TunedModels(self, options.places, limit=limit)
        self._change, self._disabling = Change(self), Disabling(self)
        self._done: list[Checkpoint] = []
        self._patterns_found: dict[str, Atlas] | None = None

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

    def run_name(self, task: Task, place: int) -> str:
        """What the files of a task's models are called: the first has the name of the task."""
        return task.name + (f"-{place + 1}" if place else "")

    def examples_sentence(self) -> str:
        """Say which dev examples of each task are used."""
        parts = []
        for task in self.chosen_tasks:
            whole, used = self.tuned_models.all_dev(task).size(), self.tuned_models.dev(task).size()
            how = "drawn at random" if self.options.sample == "random" else "the first ones"
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
        drawn = self.options.drawn(corpus, self.options.at_most(EXAMPLES))
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

    def _random_maps(self) -> dict[str, DrawnExample]:
        """All maps of one random example: of each task's tuned model, or of the built-in corpus."""
        found = {}
        for task in self.chosen_tasks:
            tuned = next(iter(self.tuned_models.models(task).values()))
            found[task.title] = random_maps(
                tuned, self.tuned_models.dev(task), seed=self.options.seed
            )
        corpus = {"Pretrained": self._frames}
        return found or {
            name: random_maps(self._pretrained, texts, seed=self.options.seed)
            for name, texts in corpus.items()
        }

    def frame_results(self) -> Atlas:
        """The pretrained model's attention along frame links, on all sentences."""
        return self.survey("frames", self._pretrained, self._frames, ["frame"], whole=True)

    def _frame_section(self) -> Section:
        return frame_section(self, self._pretrained, self._frames)
