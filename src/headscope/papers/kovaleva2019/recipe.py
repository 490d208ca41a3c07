"""Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT", from top to bottom: fine-tuning, patterns, frames, change, features, and what disabling heads does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

from headscope.corpus import Corpus
from headscope.corpus.spacy.parser import parse
from headscope.figures import attention_lines, attention_panel, task_patterns
from headscope.models import Model, load
from headscope.page import Document, Plot, Section, Table, records
from headscope.papers.kovaleva2019 import facts
from headscope.papers.kovaleva2019.glue_table import table_rows
from headscope.papers.recipe import Workshop, plots_of
from headscope.results import Results
from headscope.runs import compare
from headscope.runs.ablate.ablate import ablate
from headscope.runs.ablate.objective import Labels
from headscope.runs.examples import frame_example
from headscope.runs.tune import Start, Tuned, load_classifier, tune
from headscope.stats import frame_table
from headscope.stats.ablation import change_table, scored
from headscope.stats.patterns import pattern_shares
from headscope.tasks import Task, task_examples

EXAMPLES = 1000
"""Of each task's dev examples, at most this many are used, as in the paper."""
STARTS = ("pretrained", "random", "untrained")
SHOWN = 8


@dataclass
class Kovaleva2019:
    """The recipe. Models are tuned first, into ``tuned`` (FOLDER/TASK-START as ``headscope tune`` makes them; finished ones are taken as they are).

    A part that cannot be run says why, and the others go on.
    """

    model: str
    shop: Workshop
    tasks: Sequence[Task]
    data: str
    frames: Corpus
    tuned: Path
    starts: Sequence[str] = STARTS
    way: str = "uniform"
    parser: str = ""
    training: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Path:
        """Everything, then the page."""
        parts: list[Callable[[], Section]] = [self._table, self._patterns, self._frames]
        for task in self.tasks:
            parts += [partial(self._change, task), partial(self._disabled, task)]
        sections, notes = self.shop.sections(parts)
        shape = self.pretrained.shape(self.pretrained.main_stack())
        document = Document(
            title="Revealing the Dark Secrets of BERT",
            subtitle=f"Kovaleva et al. 2019, on {self.model}: the paper's tables and figures, published numbers (BERT base) beside ours",
            facts=[
                (f"{shape.layers} × {shape.heads}", "layers × heads here"),
                ("12 × 12", "in the paper (BERT base)"),
                (", ".join(task.title for task in self.tasks) or "none", "tasks"),
            ],
            remarks=[f"Left out: {note}" for note in notes],
            sections=sections,
            provenance=json.dumps(self.about, indent=2, ensure_ascii=False),
        )
        return self.shop.page("kovaleva2019", document)

    @cached_property
    def pretrained(self) -> Model:
        """The model before fine-tuning."""
        return load(self.model, device=self.shop.options.device)

    @cached_property
    def about(self) -> dict[str, Any]:
        """The provenance of every survey, by name."""
        return {}

    def _dev(self, task: Task) -> Corpus:
        return task_examples(task, self.data, "dev")

    def _limit(self) -> int:
        return min(self.shop.options.limit or EXAMPLES, EXAMPLES)

    def _tune(self, task: Task, start: str) -> Tuned:
        """One cell of Table 1; finished folders are read."""
        with self.shop.voice.progress(f"{task.name}-{start}") as progress:
            return tune(
                self.model,
                task=task,
                data=self.data,
                output=self.tuned / f"{task.name}-{start}",
                device=self.shop.options.device,
                progress=progress,
                start=cast("Start", start),
                seed=self.shop.options.seed,
                **self.training,
            )

    def _table(self) -> Section:
        """K4."""
        done = [self._tune(task, start) for task in self.tasks for start in self.starts]
        note = (
            "Dev scores in percent; majority: always the most frequent class of training. "
            + " ".join(dict.fromkeys(note for tuned in done for note in tuned.notes))
        )
        one = done[0].settings if done else None
        text = (
            f"Section 4.3: batches of {one.batch_size}, {one.epochs} epochs, learning rate {one.learning_rate:g}, seed {one.seed}."
            if one
            else "No task was given."
        )
        return Section(
            "glue",
            "Fine-tuning",
            text,
            [Table(table_rows(done), title="Table 1", note=note.strip())] if done else [],
        )

    def _patterns(self) -> Section:
        """K1: the pretrained model, and each tuned one on its own task."""
        found: dict[str, Results] = {}
        for task in self.tasks:
            dev = self._dev(task)
            found[f"{task.title}, pretrained"] = self._survey(
                f"patterns-{task.name}-before", self.pretrained, dev, ["pattern"]
            )
            found[f"{task.title}, tuned"] = self._survey(
                f"patterns-{task.name}", self._tuned_model(task), dev, ["pattern"]
            )
        if not found:
            found["built-in pairs"] = self._survey(
                "patterns", self.pretrained, self.frames, ["pattern"]
            )
        rows = [
            {"maps of": name}
            | {
                str(
                    row["pattern"]
                ): f"{100 * row['share']:.1f} ({100 * row['low']:.1f} … {100 * row['high']:.1f})"
                for row in records(pattern_shares(results))
            }
            | {"examples": results.provenance["counts"]["seen"]}
            for name, results in found.items()
        ]
        note = "Percent of all maps, with 95 % intervals (block jackknife), as the classifier sees them. The paper gives numbers only for heterogeneous maps: from 32 (MRPC) to 61 (QQP)."
        last = list(found.values())[-1]
        plots = [
            Plot("patterns-by-task", "Pattern classes", "As Figure 2.", task_patterns(found)),
            *plots_of(last, "pattern-layers", "pattern-heads"),
        ]
        return Section(
            "patterns",
            "Pattern classes",
            "Section 4.1: every map of every head, at most 1000 examples a task.",
            [Table(rows, title="Shares", note=note)],
            plots,
        )

    def _frames(self) -> Section:
        """K2."""
        results = self._survey("frames", self.pretrained, self.frames, ["frame"])
        note = "Largest attention between a frame's target and a core element, both directions, averaged over sentences. Published: two heads over the 99th percentile, with 0.201 and 0.209."
        table = Table(
            records(frame_table(results)),
            title="Heads with the most attention along frame links",
            note=note,
        )
        text = f"Section 4.2: {results.provenance['counts']['seen']} examples with frame links."
        return Section(
            "frames",
            "Frame relations",
            text,
            [table],
            [*plots_of(results, "frames"), *self._frame_lines(results)],
        )

    def _frame_lines(self, results: Results) -> list[Plot]:
        """Figure 3, right: the strongest heads, each on the sentence in which it shows most."""
        charts = []
        for name in frame_table(results, count=2)["head"]:
            layer, head = (int(part) - 1 for part in str(name).split("-"))
            drawn = frame_example(self.pretrained, self.frames, layer=layer, head=head)
            if drawn:
                charts.append(
                    attention_lines(
                        drawn.words, drawn.attention, title=f"Head {name}", red=drawn.marked
                    )
                )
        if not charts:
            return []
        caption = "Attention between words; red: the frame's target and its element. The sentence is the one in which the head shows most, not a typical one."
        return [
            Plot(
                "frame-lines",
                "Frame links in a sentence",
                caption,
                attention_panel(charts, title="Frame links in a sentence", columns=2),
            )
        ]

    def _change(self, task: Task) -> Section:
        """K3, K5 and K6: the pretrained and the tuned model in lockstep over the task's dev examples, parsed for the features."""
        dev, tuned = self._dev(task), self._tuned_model(task)
        source = dev.source
        parsed = replace(
            dev,
            source=lambda: parse(source(), parser=self.parser),
            rough=source,
            format=f"{dev.format}+spacy",
        )
        path = self.shop.folder / f"change-{task.name}.nc"
        with self.shop.voice.progress(path.stem) as progress:
            results = compare(
                self.pretrained,
                tuned,
                parsed,
                measures=["feature", "link"],
                output=path,
                progress=progress,
                **self.shop.settings | {"limit": self._limit()},
            )
        self.shop.made.append(path)
        self.about[path.stem] = results.provenance
        means = results.mean("change").mean("head")
        rows = [
            {"layer": int(layer), "mean cosine of its heads": float(value)}
            for layer, value in zip(means["layer"].values, means.values, strict=True)
        ]
        after = self._survey(f"features-{task.name}", tuned, parsed, ["feature", "link"])
        plots = [
            *plots_of(results, "change", "features-change", "links-change"),
            *plots_of(after, "from-cls"),
        ]
        text = "Sections 4.3 to 4.5: cosine of the maps before and after fine-tuning; attention to linguistic features after less before; attention from [CLS] in the last layer after."
        return _of(
            task,
            Section(
                "change",
                "What fine-tuning changes",
                text,
                [Table(rows, title="Likeness of maps by layer")],
                plots,
            ),
        )

    def _disabled(self, task: Task) -> Section:
        """K7."""
        model, _ = load_classifier(
            self._folder(task), task, seed=self.shop.options.seed, device=self.shop.options.device
        )
        path = self.shop.folder / f"off-{task.name}.nc"
        with self.shop.voice.progress(path.stem) as progress:
            raw = ablate(
                model,
                self._dev(task),
                Labels(model, task),
                way=self.way,
                output=path,
                progress=progress,
                **self.shop.settings | {"limit": self._limit()},
            )
        self.shop.made.append(path)
        self.about[path.stem] = raw.provenance
        results = scored(raw)
        heads, layers = change_table(results), change_table(results, "layer")
        sure = heads[heads["p corrected"] < 0.05]
        gains = facts.KOVALEVA_GAINS.get(task.name)
        text = (
            f"Section 4.6: {len(heads)} heads and {len(layers)} layers off in turn ({self.way}), on {results.provenance['counts']['seen']} dev examples. "
            f"{int((heads['gain'] > 0).sum())} heads off give a better score, {int((heads['gain'] < 0).sum())} a worse one; told apart from noise (p < 0.05, Holm over all heads): "
            f"{int((sure['gain'] > 0).sum())} gains and {int((sure['gain'] < 0).sum())} losses."
            + (f" The paper's largest gain from one head is {gains} points." if gains else "")
        )
        note = "Gain over the baseline with its 95 % interval (paired bootstrap over examples); p corrected over all heads."
        tables = [
            Table(
                records(heads.head(SHOWN)), title="Heads with the largest gain when off", note=note
            ),
            Table(records(heads.tail(SHOWN)[::-1]), title="Heads with the largest loss when off"),
            Table(records(layers), title="Layers off"),
        ]
        return _of(
            task,
            Section(
                "off", "Disabling heads", text, tables, plots_of(results, "head-off", "layer-off")
            ),
        )

    def _folder(self, task: Task) -> Path:
        return self.tuned / f"{task.name}-pretrained"

    def _tuned_model(self, task: Task) -> Model:
        """The tuned model; it is tuned now if it was not yet."""
        self._tune(task, "pretrained")
        return load(self._folder(task), device=self.shop.options.device)

    def _survey(self, name: str, model: Model, corpus: Corpus, measures: list[str]) -> Results:
        results = self.shop.survey(name, model, corpus, measures, limit=self._limit())
        self.about[name] = results.provenance
        return results


def _of(task: Task, section: Section) -> Section:
    """A section of one task."""
    plots = [replace(plot, name=f"{plot.name}-{task.name}") for plot in section.plots]
    return replace(
        section, id=f"{section.id}-{task.name}", title=f"{task.title}: {section.title}", plots=plots
    )
