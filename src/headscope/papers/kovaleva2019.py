"""Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT": numbers, parts, tables and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import norm

from headscope.corpus import Corpus, Example, read
from headscope.errors import UserError
from headscope.figures import attention_lines, attention_panel, pattern_grid, task_patterns
from headscope.figures.ablation import WAYS, heads_off_by_task, layers_off_by_task
from headscope.figures.builders import Scale, by_task, heat_grid, measure_grid
from headscope.figures.changes import PAIRS, from_cls_by_task, similarity_by_task, special_by_task
from headscope.figures.lines import map_with_zoom
from headscope.figures.patterns import PATTERNS, typical_maps
from headscope.figures.style import styled, subject
from headscope.heads import Head
from headscope.measures.patterns import RELIABLE
from headscope.numbers import interval, number, p_value
from headscope.options import RARE, Option, Options
from headscope.page import Plot, Section, Table, records
from headscope.papers.catalogue import PAPERS, Paper
from headscope.papers.claims import Untested, Verdict
from headscope.papers.kovaleva2019_tuned import (
    MEAN_GAIN,
    Checkpoint,
    Scored,
    TunedModels,
    TunedPlaces,
    gain_sentence,
    gains_over,
    main_scores,
    tuned_places,
    tuning_tables,
)
from headscope.papers.recipe import PaperRecipe, Sampled, Training, part, written_remarks
from headscope.papers.report import as_sentence, gallery
from headscope.results import Atlas
from headscope.results.columns import FRAMES, Column, for_people
from headscope.runs.ablate import ablate
from headscope.runs.looking import attention
from headscope.runs.survey import compare
from headscope.stats import frame_table
from headscope.stats.grid import grid_heads, strongest_head
from headscope.stats.inference.correction import correct
from headscope.stats.tables.ablation import change_records, change_table, few_documents
from headscope.stats.tables.disabling import DisablingSummary, disabling_summary, shared_heads
from headscope.stats.tables.patterns import pattern_shares
from headscope.tasks import Task, find_task
from headscope.tasks.metrics import metric_title
from headscope.tasks.task import MADE

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
    from headscope.models import Model
    from headscope.papers.kovaleva2019_tuned import TunedLike
    from headscope.results import TextAttention
    from headscope.runs.examples import HeadExample
else:  # what the command line takes, and what options keep
    CorpusLike = Any
    TunedLike = Sequence[Any] | Mapping[str, Any]

Start = Literal["pretrained", "random", "untrained"]
Row = dict[str, Any]
EXAMPLES = 1000
"""The most dev examples of each task, as in the paper."""

# --- What the paper reports -----------------------------------------------------------------------

HETEROGENEOUS = {"MRPC": 32, "QQP": 61}
"""The smallest and the largest share of heterogeneous maps of a task, in percent (Section 4.1)."""
FRAME_HEADS = (0.201, 0.209)
"""Mean attention along frame links of the two heads over the 99th percentile (Section 4.2)."""
GAINS = {"sts-b": 0.1, "mrpc": 1.2}
"""The smallest and the largest gain of a task from disabling its best head (Section 4.6)."""
LAYER_GAIN = {"rte": 3.2}
"""Points gained by disabling the first layer (Section 4.6)."""

# --- The recipe -----------------------------------------------------------------------------------


class WhichTuned(Training, Options):
    """Which fine-tuned models there are, or will be.

    Parameters
    ----------
    tuned
        A folder in which fine-tuned models are, or will be (FOLDER/TASK-START, as headscope tune
        makes them): models that are there are used as they are. Or a checkpoint of your own, a
        folder or hub id, with its task: rte=FOLDER; in Python also a mapping of tasks to these. A
        task may have several. Default: tuned/ in the output folder.
    starts
        The columns of Table 1. Default: all.
    seeds
        How many models are tuned for each task and start, with the seeds seed, seed + 1 ….
    train_limit
        Train on at most N examples of each task, drawn at random.
    precision
        Of training: float32, or mixed precision: bf16, fp16 (GPU only).
    """

    panel: ClassVar[str] = "Fine-tuning"

    tuned: Annotated[TunedLike | None, Option(metavar="FOLDER|TASK=MODEL")] = None
    starts: Annotated[Sequence[Start], Option(flag="--start", name="start")] = get_args(Start)
    seeds: Annotated[int, Option(least=1, name="number of seeds", metavar="N")] = 1
    train_limit: Annotated[int | None, Option(least=1, name="training limit", metavar="N")] = None
    precision: Literal["float32", "bf16", "fp16"] = "float32"


class Kovaleva2019(PaperRecipe, WhichTuned, Sampled):
    """Revealing the Dark Secrets of BERT: fine-tuning, patterns, frames, and disabled heads.

    Parameters
    ----------
    tasks
        GLUE tasks: mrpc, sts-b, sst-2, qqp, rte, qnli or mnli; in Python also a Task. Default:
        opinion and paraphrase, whose sentences a built-in grammar writes.
    limit
        Use at most N dev examples of each task (1000 at most, as in the paper); neither the
        sentences with frame links nor training are limited.
    frames
        Sentences with frame links: JSON lines, framenet for nltk's, or demo.
    way
        How a head is disabled.
    parser
        The spaCy pipeline that finds linguistic features. Default: the small English one.
    scale
        Whether all maps of a figure of changes have one colour scale, or each its own.

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

    paper: ClassVar[Paper] = PAPERS["kovaleva2019"]
    heads: ClassVar[tuple[str, str] | None] = ("12 × 12", "in the paper (BERT base)")
    prefix: ClassVar[str] = "read"

    tasks: Annotated[
        Sequence[str | Task], Option(flag="--task", metavar="NAME", completes="tasks")
    ] = tuple(MADE)
    limit: Annotated[int | None, Option(least=1, metavar="N")] = None
    frames: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    way: Annotated[Literal["uniform", "zero", "mean"], Option(name="way of disabling heads")] = (
        "uniform"
    )
    parser: Annotated[str, RARE] = ""
    scale: Annotated[Literal["one", "each"], Option(name="colour scale")] = "one"

    def __post_init__(self) -> None:
        super().__post_init__()
        trains = any(part.name != "frames" for part in self.chosen)
        self.check_training(self, trains=bool(self.tasks) and trains)
        _ = self.links, self.places

    @cached_property
    def chosen_tasks(self) -> tuple[Task, ...]:
        """The tasks, each once."""
        tasks = (find_task(task) if isinstance(task, str) else task for task in self.tasks)
        return tuple(dict.fromkeys(tasks))

    @property
    def chosen_starts(self) -> tuple[Start, ...]:
        """The starts, in the order of Table 1."""
        return tuple(start for start in get_args(Start) if start in self.starts)

    @cached_property
    def links(self) -> Corpus:
        """The sentences with frame links, read."""
        return read(self.frames)

    @cached_property
    def places(self) -> TunedPlaces:
        """Where fine-tuned models are, or will be."""
        return tuned_places(self.tuned, self.chosen_tasks)

    @cached_property
    def tuned_models(self) -> TunedModels:
        """The fine-tuned models, and their examples."""
        return TunedModels(self, self.at_most(EXAMPLES))

    def check(self) -> None:
        """Check the fine-tuned models that are there, before anything is trained."""
        if {part.name for part in self.chosen} - {"frames"}:
            self.tuned_models.check()

    def facts(self) -> list[tuple[str, str]]:
        """The tasks."""
        return [(", ".join(task.title for task in self.chosen_tasks) or "none", "tasks")]

    def remarks(self) -> list[str]:
        """Which sentences a grammar wrote."""
        return written_remarks([task.title for task in self.chosen_tasks if task in MADE.values()])

    def examples_sentence(self) -> str:
        """Say which dev examples of each task are used."""
        parts = []
        for task in self.chosen_tasks:
            whole, used = self.tuned_models.all_dev(task).size(), self.tuned_models.dev(task).size()
            how = "drawn at random" if self.sample == "random" else "the first ones"
            of = f"all {used:,}" if whole == used else f"{used:,} of {whole:,}, {how}"
            parts.append(f"{task.title} {of}")
        return f"Dev examples: {'; '.join(parts)}."

    @part("tuning", "Fine-tuning", "Section 4.3, Table 1", "tasks")
    def tuning(self) -> Section:
        """Table 1: fine-tuned from pretrained and random weights, and an untrained classifier."""
        done: list[Checkpoint] = [
            tuned
            for task in self.chosen_tasks
            for start in self.chosen_starts
            for tuned in self.tuned_models.checkpoints(task, start)
        ]
        self.results["tuned"] = done
        ways = dict.fromkeys(tuned.training for tuned in done if tuned.start != "untrained")
        text = " ".join([*map(as_sentence, ways), gain_sentence(done)])
        notes = [note for tuned in done for note in tuned.notes]
        return self.section("tuning", text, tuning_tables(done, notes))

    # --- Section 4.1 ---

    def _pattern_survey(self, name: str, corpus: Corpus, model: Model | None = None) -> Atlas:
        """Classify maps at a length for which the network is reliable, whatever tuning uses."""
        used = model or self.model_loaded
        drawn = self.drawn(corpus, self.at_most(EXAMPLES))
        length = min(RELIABLE, used.longest or RELIABLE)
        return self.survey(name, drawn, ["pattern"], model=used, max_length=length, whole=True)

    @part("patterns", "Pattern classes", "Section 4.1, Figure 2")
    def patterns(self) -> Section:
        """The share of each class of maps."""
        surveys: dict[str, Atlas] = {}
        tuned: dict[str, Atlas] = {}
        drawn: dict[str, DrawnExample] = {}
        for task in self.chosen_tasks:
            dev = self.tuned_models.dev(task)
            before = self._pattern_survey(f"patterns-{task.name}-before", dev)
            surveys[f"{task.title}, pretrained"] = before
            after = self._first_tuned(task)
            if after is not None:
                tuned[task.title] = self._pattern_survey(f"patterns-{task.name}", dev, after)
                surveys[f"{task.title}, tuned"] = tuned[task.title]
            drawn[task.title] = self._random_example(after or self.model_loaded, dev)
        self.results["tuned_patterns"] = tuned
        if not surveys:
            own = self.links.format == "builtin"
            name = "built-in pairs" if own else Path(self.links.name).name
            surveys[name] = self._pattern_survey("patterns", self.links)
            drawn["Pretrained"] = self._random_example(self.model_loaded, self.links)
        least, most = HETEROGENEOUS.items()
        note = (
            "Percent of all maps, as the network classifies them, with 95 % intervals (jackknife "
            "over groups of documents). The paper gives numbers for heterogeneous maps only: from "
            f"{least[1]} ({least[0]}) to {most[1]} ({most[0]})."
        )
        chart = task_patterns(surveys)
        text = (
            f"Every map of every head, on at most {EXAMPLES} examples of each task. Examples are "
            f"cut at {RELIABLE} tokens, whatever the length of tuning: on longer test maps the "
            "network is often wrong."
        )
        return self.section(
            "patterns",
            text,
            [Table(share_rows(surveys), title="Share of each class", note=note)],
            [
                typical_plot(drawn),
                Plot("patterns-by-task", "Pattern classes", "As in Figure 2.", chart),
                *gallery(list(surveys.values())[-1], "pattern-layers", "pattern-heads"),
                *map(appendix_plot, drawn.items()),
            ],
        )

    def _first_tuned(self, task: Task) -> Model | None:
        """The first tuned model of a task; None if nobody asked for the task, and it has none."""
        try:
            return next(iter(self.tuned_models.models(task).values()))
        except UserError as error:
            if self.tasks != tuple(MADE):
                raise
            self.reporter.say(f"patterns of the pretrained model alone: {error.message}")
            return None

    def _random_example(self, model: Model, corpus: Corpus) -> DrawnExample:
        """All maps of a model on one example that is drawn at random, as in Appendix A."""
        texts = next(iter(corpus.sample(1, seed=self.seed))).texts
        return texts, attention(model, *texts, max_length=LONGEST, patterns=True)

    # --- Section 4.2 ---

    @cached_property
    def frame_results(self) -> Atlas:
        """The pretrained model's attention along frame links, on all sentences."""
        return self.survey("frames", self.links, ["frame"], whole=True)

    @part("frames", "Frame relations", "Section 4.2, Figure 3")
    def frame_relations(self) -> Section:
        """The heads that attend most along frame links."""
        from headscope.runs.examples import frame_example

        results = self.frame_results
        note = (
            "The largest attention between a frame's target and a core element, in either "
            "direction, averaged over sentences. Published: two heads above the 99th percentile, "
            f"with {FRAME_HEADS[0]} and {FRAME_HEADS[1]}."
        )
        title = "Heads with the most attention along frame links"
        shown = records(for_people(frame_table(results), FRAMES))
        strongest = Table(shown, title=title, note=note)
        annotated = Table(
            annotation_rows(self.links, seed=self.seed),
            title="Sentences with frame annotation",
            note="As in Figure 4: the frame's target, and its core elements with their names.",
        )
        shown_on = [
            (head, frame_example(self.model_loaded, self.links, head=head))
            for head in frame_heads(results)
        ]
        drawn = [(head, example) for head, example in shown_on if example is not None]
        seen = results.provenance["counts"]["seen"]
        text = f"All {seen:,} examples with frame links, whatever the limit."
        plots = [*gallery(results, "frames"), *frame_plots(drawn)]
        return self.section("frames", text, [strongest, annotated], plots)

    # --- Sections 4.3 to 4.5 ---

    @part("change", "What fine-tuning changes", "Sections 4.3 to 4.5, Figures 5 to 7", "tasks")
    def change(self) -> Section:
        """The pretrained model beside the fine-tuned ones."""
        changes: dict[str, dict[str, Atlas]] = {}
        after: dict[str, Atlas] = {}
        for task in self.chosen_tasks:
            corpus = self._parsed(task)
            changes[task.title] = {}
            for place, (label, model) in enumerate(self.tuned_models.models(task).items()):
                changes[task.title][label] = self._compared(run_name(task, place), model, corpus)
                if place == 0:
                    names = ["feature", "link", "position"]
                    after[task.title] = self.survey(
                        f"features-{task.name}", corpus, names, model=model, whole=True
                    )
        self.results.update({"changes": changes, "after": after})
        several = any(len(seeds) > 1 for seeds in changes.values())
        ranges = " In brackets: the range over tuning seeds." if several else ""
        tables = [
            Table(
                similarity_rows(changes),
                title="Similarity of maps by layer",
                note=f"Cosine of the maps, mean over the heads of a layer; 1 is unchanged.{ranges}",
            ),
            Table(
                feature_rows(after),
                title="Attention to features after fine-tuning",
                note="share of attention, mean over all heads; in brackets, the head with the "
                "most. Values are the attention that the token gets from all tokens, divided by "
                "their number.",
            ),
            Table(
                cls_rows(after),
                title="Attention from [CLS] in the last layer",
                note="The largest weight to a token with the feature, mean over the layer's heads.",
            ),
            Table(
                link_rows(after),
                title="The strongest head of each link",
                note="Neighbour: the head's attention to the previous, the same or the next token, "
                "whichever gets most. The paper's candidates coincide with diagonal maps.",
            ),
        ]
        text = (
            "The pretrained model beside the fine-tuned ones: the cosine of their maps; attention "
            "to linguistic features, after fine-tuning and after minus before; and attention from "
            f"token to token. {self.examples_sentence()}"
        )
        firsts = {name: next(iter(seeds.values())) for name, seeds in changes.items()}
        return self.section("change", text, tables, self._change_plots(firsts, after))

    def _parsed(self, task: Task) -> Corpus:
        from headscope.corpus.spacy import parse

        dev = self.tuned_models.dev(task)
        source = dev.source
        return replace(
            dev,
            source=lambda: parse(source(), parser=self.parser),
            rough=source,
            format=f"{dev.format}+spacy",
        )

    def _compared(self, name: str, tuned: Model, corpus: Corpus) -> Atlas:
        return self.compute(
            f"change-{name}",
            compare,
            self.model_loaded,
            tuned,
            corpus,
            measures=["feature", "link"],
            batch_size=self.batch_size,
            max_length=self.max_length,
        )

    def _change_plots(self, firsts: Mapping[str, Atlas], after: Mapping[str, Atlas]) -> list[Plot]:
        features = [
            Plot(
                f"features-change-{task.name}",
                title := f"{name}: change in attention to features",
                "Section 4.4. The tuned model minus the pretrained one, example by example: "
                "orange is more attention, purple less.",
                measure_grid(atlas, "feature-change", title, columns=3, scale=self.scale),
            )
            for (name, atlas), task in zip(firsts.items(), self.chosen_tasks, strict=True)
        ]
        return [
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
                special_by_task(after),
            ),
            *features,
            Plot(
                "figure-7",
                "Attention from [CLS]",
                "After Figure 7: the largest weight from [CLS] to a token with the feature, in the "
                "last layer of the tuned models.",
                from_cls_by_task(after),
            ),
            Plot(
                "links-change",
                "Change in attention from token to token",
                "Section 4.5. The tuned model minus the pretrained one.",
                links_by_task(firsts, self.scale),
            ),
        ]

    # --- Section 4.6 ---

    @part("disabling", "Disabling heads", "Section 4.6, Figures 8 and 9", "tasks")
    def disabling(self) -> Section:
        """Disable each head and each layer of all models."""
        chosen = frame_heads(self.frame_results)
        sets = [",".join(map(str, chosen))] if len(chosen) > 1 else []
        off: dict[str, dict[str, Atlas]] = {}
        for task in self.chosen_tasks:
            off[task.title] = {}
            for place, tuned in enumerate(self.tuned_models.checkpoints(task)):
                off[task.title][tuned.label] = self.compute(
                    f"off-{run_name(task, place)}",
                    ablate,
                    tuned.place,
                    task=task,
                    dev=self.tuned_models.dev(task),
                    sets=sets,
                    way=self.way,
                    batch_size=self.batch_size,
                    max_length=self.max_length,
                    **self.for_other_models,
                )
        heads, layers = summaries(off, "head", self.seed), summaries(off, "layer", self.seed)
        self.results.update({"off": off, "heads_off": heads, "layers_off": layers})
        tables = [
            summary_table("head", heads),
            summary_table("layer", layers),
            shared_table(off),
            *frame_tables(off, chosen),
            *gain_tables(off),
        ]
        firsts = {task: next(iter(seeds.values())) for task, seeds in off.items()}
        head_caption = (
            "After Figure 8: points gained (orange) or lost (purple) without the head. First "
            "tuning seed."
        )
        layer_caption = "After Figure 9, with intervals. First tuning seed."
        plots = [
            Plot("figure-8", "One head disabled", head_caption, heads_off_by_task(firsts)),
            Plot("figure-9", "One layer disabled", layer_caption, layers_off_by_task(firsts)),
        ]
        return self.section("disabling", self._disabling_text(heads), tables, plots)

    def _disabling_text(self, heads: Summaries) -> str:
        first = {task: next(iter(seeds.values())) for task, seeds in heads.items()}
        sizes = {task: summary.examples for task, summary in first.items()}
        text = (
            f"Every head and every layer is disabled in turn ({WAYS[self.way]}). "
            f"{self.examples_sentence()} The paper's largest gain from one head is "
            f"{GAINS['mrpc']} points (MRPC) and its smallest {GAINS['sts-b']} (STS-B); "
            f"disabling the first layer gains {LAYER_GAIN['rte']} points on RTE."
        )
        fewest = min(first.values(), key=lambda summary: summary.documents)
        narrow = few_documents(fewest.documents, fewest.examples)
        text += f" Warning: {narrow}." if narrow else ""
        few = [f"{task} ({size})" for task, size in sizes.items() if size < 500]
        if few:
            text += (
                f" Warning: there are few dev examples for {', '.join(few)}. A single one makes up "
                f"to {100 / min(sizes.values()):.2g} points of accuracy, and the best of many "
                "heads gains several by chance."
            )
        return text


def run_name(task: Task, place: int) -> str:
    """What the files of a task's models are called: the first has the name of the task."""
    return task.name + (f"-{place + 1}" if place else "")


# --- Patterns: Figures 1 and 2, Appendix A --------------------------------------------------------

DrawnExample = tuple[tuple[str, ...], "TextAttention"]
"""The texts of an example, and all maps of a model on it with their classes."""
LONGEST = 64
"""Tokens of an example whose maps are drawn."""


def share_rows(surveys: Mapping[str, Atlas]) -> list[Row]:
    """List the share of each pattern class (Figure 2), in percent of all maps."""
    rows = []
    for name, results in surveys.items():
        row: Row = {"maps of": name}
        for share in records(pattern_shares(results)):
            ends = interval(100 * share["low"], 100 * share["high"], form="{:.1f}".format)
            row[str(share["pattern"])] = f"{100 * share['share']:.1f} {ends}"
        rows.append(row | {"examples": results.provenance["counts"]["seen"]})
    return rows


def typical_plot(drawn: Mapping[str, DrawnExample]) -> Plot:
    """Draw the four maps of each class that the network is surest of (Figure 1)."""
    maps: dict[str, list[tuple[float, str, Any]]] = {name: [] for name in PATTERNS}
    for name, (_, seen) in drawn.items():
        for row in records(seen.patterns()):
            weights = seen.maps.sel(layer=row["layer"], head=row["head"]).values
            label = f"{name} {row['layer']}-{row['head']}"
            maps[str(row["pattern"])].append((float(row["sureness"]), label, weights))
    chosen = {
        name: [(label, weights) for _, label, weights in sorted(many, key=lambda one: -one[0])[:4]]
        for name, many in maps.items()
    }
    caption = (
        "After Figure 1: the maps that the network is surest of, among all maps of one random dev "
        "example of each task."
    )
    return Plot("figure-1", "Typical maps of each class", caption, typical_maps(chosen))


def appendix_plot(drawn: tuple[str, DrawnExample]) -> Plot:
    """Draw all maps of one example (Appendix A)."""
    name, (texts, seen) = drawn
    title = f"{name}: all maps of one example"
    chart = pattern_grid(
        seen.maps.values,
        seen.maps["pattern"].values.tolist(),
        title=title,
        subtitle=" / ".join(texts),
        numbers=seen.maps["layer"].values.tolist(),
    )
    caption = (
        "After Appendix A: every head on one dev example that was drawn at random and cut to "
        f"{LONGEST} tokens; frames and letters are the classes that the network gives."
    )
    return Plot(f"appendix-{name.lower()}", title, caption, chart)


# --- Frames: Figures 3 and 4 ----------------------------------------------------------------------


def frame_heads(results: Atlas) -> list[Head]:
    """The two heads that attend most along frame links, as in the paper."""
    return [Head.parse(str(name)) for name in frame_table(results, top=2)["head"]]


def frame_plots(drawn: Sequence[tuple[Head, HeadExample]]) -> list[Plot]:
    """Draw each head on the sentence that shows it best: the map with a zoom, and lines."""
    if not drawn:
        return []
    maps, lines = [], []
    for head, best in drawn:
        # The paper's heads attend from the target; here the row is where the link is stronger.
        row, title = strongest_row(best), f"Head {head}"
        marked = best.marked - {row}
        maps.append(map_with_zoom(best.words, best.attention, row=row, marked=marked, title=title))
        lines.append(attention_lines(best.words, best.attention, title=title, red=best.marked))
    title = "Maps of the strongest heads"
    whole = styled(alt.hconcat(*maps, spacing=40).resolve_scale(color="independent"), title)
    zoomed = (
        "After Figure 3, left and right: the map of each head on the sentence in which it attends "
        "most along a frame link, between words; below, attention from the word where the link is "
        "strongest, with the words of target and element in red."
    )
    between = (
        "Attention between words; the frame's target and its element are red. Each sentence "
        "is the one in which the head attends most along a link, not a typical one."
    )
    in_lines = "Frame links in a sentence"
    panel = attention_panel(lines, title=in_lines, columns=2)
    return [Plot("frame-maps", title, zoomed, whole), Plot("frame-lines", in_lines, between, panel)]


def strongest_row(example: HeadExample) -> int:
    """The word of a frame's target or element that attends most to a word of the other."""
    target, element = sorted(example.target), sorted(example.marked - example.target)
    pairs = [pair for one in target for two in element for pair in ((one, two), (two, one))]
    return max(pairs, key=lambda pair: float(example.attention[pair]))[0]


def annotation_rows(corpus: Corpus, *, seed: int) -> list[dict[str, str]]:
    """List five random sentences with their frames, as Figure 4 shows one.

    Those with two elements, as in the figure, come first.
    """
    linked = [example for example in islice(corpus, 2000) if example.links]
    order = np.random.default_rng(seed).permutation(len(linked))
    drawn = sorted((linked[place] for place in order), key=lambda one: -min(2, len(one.links)))
    return [
        {
            "frame": example.links[0].frame or "–",
            "sentence": bracketed(example),
            "core elements": ", ".join(link.element or "–" for link in example.links),
        }
        for example in drawn[:5]
    ]


def bracketed(example: Example) -> str:
    """A sentence with its target and its elements in brackets.

    Examples
    --------
    >>> from headscope.corpus import FrameLink, Word
    >>> words = tuple(Word(text) for text in "He was becoming agitated".split())
    >>> link = FrameLink("Emotion_directed", "Experiencer", target=(3, 3), filler=(0, 0))
    >>> bracketed(Example("1", ("He was becoming agitated",), words, links=(link,)))
    '[He: Experiencer] was becoming [agitated: target]'
    """
    spans = {link.filler: link.element or "element" for link in example.links}
    spans |= {link.target: "target" for link in example.links}
    starts = {start: (end, name) for (start, end), name in spans.items()}
    parts, place = [], 0
    while place < len(example.words):
        end, name = starts.get(place, (place, ""))
        text = " ".join(word.text for word in example.words[place : end + 1])
        parts.append(f"[{text}: {name}]" if name else text)
        place = end + 1
    return " ".join(parts)


# --- Change: Figures 5 to 7 -----------------------------------------------------------------------


def links_by_task(changes: Mapping[str, Atlas], scale: Scale) -> Any:
    """Draw the change of each kind of link, two rows per task."""
    maps = {
        f"{link}, {name}": atlas["link-change"]["mean"].sel(link=link, drop=True)
        for name, atlas in changes.items()
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


def layer_cosines(seeds: Mapping[str, Atlas]) -> list[xr.DataArray]:
    """The mean cosine of each layer's maps, by seed."""
    return [atlas.mean("change").mean("head") for atlas in seeds.values()]


def similarity_rows(changes: Mapping[str, Mapping[str, Atlas]]) -> list[Row]:
    """List the mean cosine of each layer, with the range over seeds."""
    rows = []
    for task, seeds in changes.items():
        cosines = layer_cosines(seeds)
        row: Row = {"task": task}
        for layer in cosines[0]["layer"].values:
            values = [float(cosine.sel(layer=layer)) for cosine in cosines]
            ranges = f" ({min(values):.3f}–{max(values):.3f})" if len(values) > 1 else ""
            row[f"layer {int(layer)}"] = f"{np.mean(values):.3f}{ranges}"
        rows.append(row)
    return rows


def feature_rows(after: Mapping[str, Atlas]) -> list[Row]:
    """List the attention to each feature, features in rows and tasks in columns."""
    rows: dict[str, Row] = {}
    for task, results in after.items():
        mean = results.mean("feature")
        for name in mean["feature"].values:
            heads = mean.sel(feature=name)
            head = strongest_head(heads)
            cell = "–"
            if head is not None:
                cell = f"{number(float(heads.mean()))} ({head}: {number(float(heads.max()))})"
            rows.setdefault(str(name), {"feature": str(name)})[task] = cell
    return list(rows.values())


def cls_rows(after: Mapping[str, Atlas]) -> list[Row]:
    """List what [CLS] attends to in the last layer, features in rows and tasks in columns."""
    rows: dict[str, Row] = {}
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


def link_rows(after: Mapping[str, Atlas]) -> list[Row]:
    """List the strongest head of each link between words, and whether it is a diagonal one."""
    rows = []
    for task, results in after.items():
        links, near = results.mean("link"), results.mean("position").max("offset")
        for link in PAIRS:
            heads = links.sel(link=link)
            head = strongest_head(heads)
            if head is not None:
                here = near.sel(layer=head.layer + 1, head=head.head + 1)
                row: Row = {"task": task, "link": link, "head": str(head)}
                row |= {"largest attention": float(heads.max()), "to a neighbour": float(here)}
                rows.append(row | {"all heads to a neighbour": float(near.mean())})
    return rows


# --- Disabling: Figures 8 and 9 -------------------------------------------------------------------

Off = Mapping[str, Mapping[str, Atlas]]
"""Ablations by task and seed."""
Summaries = Mapping[str, Mapping[str, DisablingSummary]]
"""Summaries of disabling one head, or one layer, by task and seed."""


def of_models(off: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """Every task and seed."""
    for task, seeds in off.items():
        for seed, result in seeds.items():
            yield task, seed, result


def summaries(off: Off, kind: str, seed: int) -> Summaries:
    """Sum up the ablations of heads or of layers."""
    return {
        task: {name: disabling_summary(atlas, kind, seed=seed) for name, atlas in seeds.items()}
        for task, seeds in off.items()
    }


def signed(value: Any) -> str:
    """Write points with their sign; a dash where there are none.

    Examples
    --------
    >>> signed(1.24), signed(-0.04), signed(float("nan"))
    ('+1.2', '0.0', '–')
    """
    if value is None or not np.isfinite(value):
        return "–"
    return "0.0" if abs(value) < 0.05 else f"{value:+.1f}"


def in_points(low: float, high: float) -> str:
    """An interval of shares, in points."""
    return interval(100 * low, 100 * high, form=signed)


DISABLED = (
    *("task", "model", Column("{kind} disabled", ("off",)), Column("metric", form=metric_title)),
    Column("score", form=lambda score: 100 * score),
    Column("gain", form=lambda gain: signed(100 * gain)),
    *(Column("95 % interval", ("low", "high"), in_points), "p"),
    Column("p (corrected)", ("p_corrected",)),
)
"""What disabling heads or layers gains: the score in percent, the gain in points."""


def summary_table(kind: str, of_tasks: Summaries) -> Table:
    """Sum up each ablation in a row: a random head or layer, the best one, and chance."""
    rows = []
    for task, seed, one in of_models(of_tasks):
        best = f"{one.best}: {signed(100 * one.best_gain)}" if one.better else "none gains"
        chance = f"{signed(100 * one.chance)}, 95 %: {signed(100 * one.chance_high)}"
        random = f"{signed(100 * one.mean)} {in_points(one.mean_low, one.mean_high)}"
        rows.append(
            {
                "task": task,
                "model": seed,
                "baseline": 100 * one.baseline,
                f"{kind}s that gain / lose": f"{one.better} / {one.worse} of {one.tested}",
                f"a random {kind}": random,
                f"best {kind}": best,
                "on other examples": (
                    f"{signed(100 * one.fitted)} ({one.chosen}: {one.chosen_share:.0%})"
                ),
                "best by chance": chance,
                "p": one.p,
            }
        )
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


def shared_table(off: Off) -> Table:
    """Which heads two models both rely on."""
    models = {
        f"{task}, {seed}" if len(off[task]) > 1 else task: head_gains(atlas)
        for task, seed, atlas in of_models(off)
    }
    note = (
        "Relied on: the heads whose removal hurts most, at most a tenth of all. Heads whose "
        "removal does no harm do not count, nor do ties of which only some would fit in. "
        "Shared: how many two models have in common; by chance: how many random heads would "
        "be; p: of so many or more. Correlation: Spearman's, of the gains of all heads. The "
        "paper: STS-B and RTE rely on the same two heads."
    )
    return Table(records(shared_heads(models)), title="Heads that models rely on alike", note=note)


def frame_tables(off: Off, heads: Sequence[Head]) -> list[Table]:
    """What disabling the frame heads does, alone and together."""
    tables = []
    names = [str(head) for head in heads]
    for task, seed, atlas in of_models(off):
        rows = change_records(atlas)
        tables.append(rows[rows["off"].isin(names)].assign(task=task, model=seed))
        if len(names) > 1:
            tables.append(change_records(atlas, "set").assign(task=task, model=seed, kind="head"))
    note = (
        "The heads of the pretrained model with the most attention along frame links, disabled "
        "in the tuned models: alone, and together. The paper: disabling either one does not "
        "lead to a drop."
    )
    if not tables:
        return []
    shown = records(for_people(pd.concat(tables), DISABLED))
    return [Table(shown, title="Frame heads disabled", note=note)]


def gain_tables(off: Off, shown: int = 4) -> list[Table]:
    """The heads with the largest gains and losses of each task, and all layers."""
    note = (
        "Gains in points, with 95 % intervals (paired bootstrap over documents). Corrected "
        "p-values: Holm over all heads, or over all layers. First tuning seed."
    )
    of_heads, of_layers = [], []
    for task, seeds in off.items():
        first = next(iter(seeds.values()))
        heads = change_records(first)
        helps, hurts = heads[heads["gain"] > 0], heads[heads["gain"] < 0]
        of_heads += [part.assign(task=task) for part in (helps[:shown], hurts[-shown:][::-1])]
        of_layers.append(change_records(first, "layer").assign(task=task))
    tables = {
        "Heads whose removal helps and hurts most": of_heads,
        "Layers disabled in turn": of_layers,
    }
    return [
        Table(records(for_people(pd.concat(frames), DISABLED)), title=title, note=note)
        for title, frames in tables.items()
    ]


def head_gains(results: Atlas) -> xr.DataArray:
    """What disabling each head gains, in points: positive where the score gets better."""
    data = results["head_off"]
    sign = 1.0 if data.attrs["better"] == "higher" else -1.0
    return 100 * sign * data["difference"].reset_coords(drop=True)


# --- Claims: the text, its place, the published number, and the rule that decides here ------------

ALPHA = 0.05
SIMPLE = ("vertical", "diagonal", "vertical+diagonal")
WORDS = ("noun", "verb", "pronoun", "subject", "object", "negation")
"""Linguistic features, without punctuation and special tokens."""
ELSEWHERE = ("STS-B", "RTE", "QNLI")
"""Tasks on which [CLS] of the last layer attends most to punctuation, not to [SEP]."""
claim = Kovaleva2019.claim


def listed(values: Mapping[str, Any], form: str) -> str:
    """One value per task, such as ``MRPC: 32 %; RTE: 40 %``."""
    return "; ".join(f"{task}: {form.format(value)}" for task, value in values.items())


def class_shares(tuned: Mapping[str, Atlas], classes: Sequence[str]) -> dict[str, float]:
    """The share of some pattern classes in the maps of each tuned model."""
    if not tuned:
        raise Untested("no fine-tuned model was looked at")
    tables = {
        task: pattern_shares(atlas).set_index("pattern")["share"] for task, atlas in tuned.items()
    }
    return {task: float(shares[list(classes)].sum()) for task, shares in tables.items()}


@claim(
    "Section 4.1, Figure 2",
    "32 % (MRPC) to 61 % (QQP)",
    "32 to 61 % of the tuned model's maps are, on every task",
)
def heterogeneous(tuned_patterns: Mapping[str, Atlas]) -> Verdict:
    """Heterogeneous maps are a third to well over half of all maps, depending on the task."""
    mixed = class_shares(tuned_patterns, ["heterogeneous"])
    least, most = (value / 100 for value in HETEROGENEOUS.values())
    holds = all(least <= value <= most for value in mixed.values())
    return Verdict(listed({task: 100 * value for task, value in mixed.items()}, "{:.0f} %"), holds)


@claim(
    "Section 4.1, Figure 2",
    "–",
    "these three classes have more than a third of the maps, on every task",
)
def repeated(tuned_patterns: Mapping[str, Atlas]) -> Verdict:
    """A large part of the maps are vertical, diagonal or both."""
    simple = class_shares(tuned_patterns, SIMPLE)
    holds = all(value > 1 / 3 for value in simple.values())
    return Verdict(listed({task: 100 * value for task, value in simple.items()}, "{:.0f} %"), holds)


@claim("Section 4.2, Figure 3", "0.201 and 0.209", "the two strongest heads have 0.201 or more")
def two_frame_heads(frames: Atlas) -> Verdict:
    """Two heads attend to core frame elements."""
    heads = records(frame_table(frames, top=2))
    here = ", ".join(f"{row['head']}: {number(row['mean'])}" for row in heads)
    return Verdict(here, all(row["mean"] >= min(FRAME_HEADS) for row in heads))


def compared(done: Sequence[Scored], first: Start, second: Start, missing: str) -> dict[str, float]:
    """By how many points one start beats another, by the median over seeds."""
    gains = gains_over(main_scores(done), first, second)
    if not gains:
        raise Untested(missing)
    return gains


@claim("Section 4.3, Table 1", f"{MEAN_GAIN} points on average", "it does on every task")
def gain(tuned: Sequence[Scored]) -> Verdict:
    """Fine-tuning beats an untrained classifier by a wide margin on all tasks."""
    missing = "the column untrained or pretrained was not run"
    gains = compared(tuned, "untrained", "pretrained", missing)
    average = float(np.mean(list(gains.values())))
    here = f"{listed(gains, '{:+.1f}')}; {average:+.1f} on average"
    return Verdict(here, all(value > 0 for value in gains.values()))


@claim("Section 4.3, Table 1", "on all tasks", "it does on every task")
def from_random(tuned: Sequence[Scored]) -> Verdict:
    """Fine-tuning from random weights gives lower scores than from pretrained ones."""
    gains = compared(tuned, "random", "pretrained", "the column random was not run")
    return Verdict(listed(gains, "{:+.1f}"), all(value > 0 for value in gains.values()))


@claim(
    "Section 4.3, Table 1",
    "2.9 against 33.1; 49.5 against 52.8",
    "they are on both tasks, or on the one that was run",
)
def worse_than_untuned(tuned: Sequence[Scored]) -> Verdict:
    """On STS-B and QNLI, tuned random weights are worse than pretrained ones without tuning."""
    missing = "neither STS-B nor QNLI was run with random weights"
    of_both = [run for run in tuned if run.task.title in ("STS-B", "QNLI")]
    gains = compared(of_both, "random", "untrained", missing)
    return Verdict(listed(gains, "{:+.1f}"), all(value > 0 for value in gains.values()))


@claim(
    "Section 4.3, Figure 5",
    "all tasks but QQP",
    "their mean cosines are the two lowest on every task but QQP",
)
def last_layers(changes: Off) -> Verdict:
    """The last two layers change most by fine-tuning, except on QQP."""
    lowest, holds = {}, []
    for task, seeds in changes.items():
        if task != "QQP":
            cosines = xr.concat(layer_cosines(seeds), "seed").mean("seed")
            layers = cosines["layer"].values
            lowest[task] = sorted(int(layers[place]) for place in np.argsort(cosines.values)[:2])
            holds.append(lowest[task] == [int(layer) for layer in layers[-2:]])
    if not lowest:
        raise Untested("only QQP was run")
    pairs = {task: f"{pair[0]} and {pair[1]}" for task, pair in lowest.items()}
    return Verdict(listed(pairs, "layers {}"), all(holds))


@claim(
    "Section 4.4",
    "–",
    "[CLS] and [SEP] together get more than twice what any feature gets (mean over heads), on "
    "every task",
)
def stripes(after: Mapping[str, Atlas]) -> Verdict:
    """Attention to linguistic features is negligible beside [CLS] and [SEP]."""
    texts, holds = {}, []
    for task, results in after.items():
        means = results.mean("feature").mean(["layer", "head"])
        special = float(means.sel(feature="cls") + means.sel(feature="sep"))
        words = {name: float(means.sel(feature=name)) for name in WORDS}
        known = {name: value for name, value in words.items() if np.isfinite(value)}
        most = max(known, key=lambda name: known[name])
        texts[task] = f"{number(special)} against {number(known[most])} ({most})"
        holds.append(special > 2 * known[most])
    return Verdict(listed(texts, "{}"), all(holds))


def gaining(changes: Off, tasks: Sequence[str], features: Sequence[str]) -> Verdict:
    """Whether on each task some head attends more to each feature after tuning (first seed)."""
    known = [task for task in tasks if task in changes]
    if not known:
        raise Untested(f"none of the tasks was run: give {' or '.join(tasks)}")
    texts, holds = {}, []
    for task in known:
        data = next(iter(changes[task].values()))["feature-change"]
        cells = []
        for feature in features:
            part = data.sel(feature=feature)
            mean = part["mean"].values.ravel()
            error = (part["high"] - part["low"]).values.ravel()
            known_heads = np.isfinite(mean) & (error > 0)
            p = norm.sf(mean[known_heads] / (error[known_heads] / (2 * norm.isf(0.025))))
            more = int((np.asarray(correct(p.tolist())) < ALPHA).sum()) if p.size else 0
            cells.append(f"{feature} {more} of {int(known_heads.sum())} heads")
            holds.append(more > 0)
        texts[task] = ", ".join(cells)
    return Verdict(listed(texts, "{}"), all(holds))


@claim(
    "Section 4.4",
    "–",
    "on each of these tasks that was run, a head does so for nouns and one for objects "
    "(p < 0.05, Holm over heads)",
    ours="the test",
)
def more_nouns(changes: Off) -> Verdict:
    """Some heads pay more attention to nouns and direct objects after tuning on MRPC, RTE and
    QQP.
    """
    return gaining(changes, ("MRPC", "RTE", "QQP"), ("noun", "object"))


@claim("Section 4.4", "–", "a head does (p < 0.05, Holm over heads)", ours="the test")
def more_negation(changes: Off) -> Verdict:
    """Some heads pay more attention to negation after tuning on QNLI."""
    return gaining(changes, ("QNLI",), ("negation",))


@claim("Section 4.4, Figure 6", "–", "the mean over heads is largest on SST-2")
def one_separator(after: Mapping[str, Atlas]) -> Verdict:
    """[SEP] gets more on SST-2 than on other tasks, because its inputs have only one."""
    if "SST-2" not in after or len(after) < 2:
        raise Untested("SST-2 and another task are needed")
    means = {
        task: float(one.mean("feature").sel(feature="sep").mean()) for task, one in after.items()
    }
    here = listed({task: number(value) for task, value in means.items()}, "{}")
    return Verdict(here, max(means, key=lambda task: means[task]) == "SST-2")


@claim(
    "Section 4.4, Figure 6",
    "–",
    "[CLS] gets more in the lower half of the layers and [SEP] in the upper half, on every task",
)
def early_cls(after: Mapping[str, Atlas]) -> Verdict:
    """Earlier layers attend to [CLS], later layers to [SEP], on all tasks."""
    texts, holds = {}, []
    for task, results in after.items():
        means = results.mean("feature").mean("head")
        half = means.sizes["layer"] // 2
        (one, two), (three, four) = (
            [
                float(means.sel(feature=token).isel(layer=layers).mean())
                for layers in (slice(0, half), slice(half, None))
            ]
            for token in ("cls", "sep")
        )
        texts[task] = (
            f"[CLS] {number(one)} below, {number(two)} above; [SEP] {number(three)}, {number(four)}"
        )
        holds.append(one > two and four > three)
    return Verdict(listed(texts, "{}"), all(holds))


@claim("Section 4.5, Figure 7", "–", "it does on every task; on those three, most to punctuation")
def from_cls(after: Mapping[str, Atlas]) -> Verdict:
    """[CLS] of the last layer attends most to [SEP], except on STS-B, RTE and QNLI
    (punctuation).
    """
    most, holds = {}, []
    for task, results in after.items():
        means = {
            name: value
            for name, value in from_cls_means(results).items()
            if np.isfinite(value) and name != "cls"
        }
        most[task] = max(means, key=lambda name: means[name])
        holds.append(most[task] == ("punctuation" if task in ELSEWHERE else "sep"))
    return Verdict(f"{listed(most, '{}')} ([CLS] itself not counted)", all(holds))


@claim(
    "Section 4.5",
    "–",
    "more than half of the strongest heads put over half of their attention on the previous, the "
    "same or the next token",
)
def diagonal(after: Mapping[str, Atlas]) -> Verdict:
    """Heads for verb–subject and noun–pronoun links are those with diagonal maps."""
    near = [float(row["to a neighbour"]) for row in link_rows(after)]
    if not near:
        raise Untested("no example has such a link")
    heads = sum(value > 0.5 for value in near)
    here = f"{heads} of {len(near)} (mean {number(float(np.mean(near)))})"
    return Verdict(here, heads > len(near) / 2)


@claim(
    "Section 4.6, Figure 8",
    "by 0.1 (STS-B) to 1.2 points (MRPC)",
    "on every task, the best head gains more than the best head would by chance (p < 0.05) and "
    "gains on other examples too; mean over seeds, median p",
)
def some_heads(heads_off: Summaries) -> Verdict:
    """On every task, disabling some heads raises the score."""
    texts, holds = {}, []
    for task, seeds in heads_off.items():
        best, fitted, chance, p = (
            np.array([getattr(summary, name) for summary in seeds.values()])
            for name in ("best_gain", "fitted", "chance", "p")
        )
        texts[task] = (
            f"{signed(100 * best.mean())}, by chance {signed(100 * chance.mean())}, on "
            f"other examples {signed(100 * fitted.mean())}, p {p_value(np.median(p))}"
        )
        holds.append(bool(np.median(p) < ALPHA and fitted.mean() > 0))
    return Verdict(listed(texts, "{}"), all(holds))


@claim(
    "Section 4.6",
    "an increase",
    "the mean over all heads is above 0 with its 95 % interval, on these tasks and all seeds",
)
def any_head(heads_off: Summaries) -> Verdict:
    """On MRPC and RTE, disabling a random head raises the score on average."""
    chosen = {task: heads_off[task] for task in ("MRPC", "RTE") if task in heads_off}
    if not chosen:
        raise Untested("neither MRPC nor RTE was run")
    texts = [
        f"{task}, {seed}: {signed(100 * one.mean)} {in_points(one.mean_low, one.mean_high)}"
        for task, seed, one in of_models(chosen)
    ]
    return Verdict("; ".join(texts), all(one.mean_low > 0 for *_, one in of_models(chosen)))


@claim(
    "Section 4.6, Figure 9",
    "+3.2 points",
    "it does with every seed, and the 95 % intervals are above 0",
)
def first_layer(off: Off) -> Verdict:
    """On RTE, disabling the first layer raises the score."""
    if "RTE" not in off:
        raise Untested("RTE was not run")
    texts, holds = [], []
    for seed, atlas in off["RTE"].items():
        table = change_table(atlas, "layer")
        row = table[table["layer off"] == "1"].iloc[0]
        ends = in_points(row["low"], row["high"])
        texts.append(f"{seed}: {signed(100 * row['gain'])} {ends}")
        holds.append(bool(row["low"] > 0))
    return Verdict("; ".join(texts), all(holds))


@claim(
    "Section 4.6, Figure 9",
    "–",
    "on some task, the best layer gains more than the best layer would by chance (p < 0.05)",
)
def any_layer(layers_off: Summaries) -> Verdict:
    """Disabling a whole layer can raise the score."""
    task, seed, best = min(of_models(layers_off), key=lambda model: float(model[2].p))
    name = f"{task}, {seed}: layer {best.best.removeprefix('layer ')}"
    here = f"at best {name}: {signed(100 * best.best_gain)}, p {p_value(best.p)}"
    return Verdict(here, bool(best.p < ALPHA))


@claim(
    "Section 4.6, Figure 9",
    "-0.2 points",
    "without the layer that hurts most the score falls, by at most 0.2 points, on both (or the "
    "one that was run; mean over seeds)",
)
def layer_losses(off: Off) -> Verdict:
    """On QNLI and MNLI, disabling a layer lowers the score by up to 0.2 points."""
    worst = {}
    for task in ("QNLI", "MNLI"):
        if task in off:
            tables = [change_table(atlas, "layer") for atlas in off[task].values()]
            gains = [table.set_index("layer off")["gain"] for table in tables]
            worst[task] = 100 * float(sum(gains).min()) / len(gains)  # type: ignore[union-attr]
    if not worst:
        raise Untested(
            "neither was run: give QNLI/dev.tsv or MNLI/dev_matched.tsv (--task, --data)"
        )
    return Verdict(listed(worst, "{:+.2f}"), all(-0.2 <= value < 0 for value in worst.values()))


@claim("Section 5", "–", "no model loses significantly without one of them (p < 0.05, corrected)")
def without_frame_heads(off: Off, frames: Atlas) -> Verdict:
    """Disabling either of the two frame heads does not lead to a drop."""
    names = [str(head) for head in frame_heads(frames)]
    losses, worst = [], 0.0
    for task, seed, atlas in of_models(off):
        table = change_table(atlas)
        rows = table[table["head off"].isin(names)]
        worst = min(worst, float(rows["gain"].min()))
        sure = rows[(rows["p corrected"] < ALPHA) & (rows["gain"] < 0)]
        losses += [f"{head} on {task}, {seed}" for head in sure["head off"]]
    here = f"{', '.join(names)}: {signed(100 * worst)} points at worst"
    if losses:
        here += f"; significant: {', '.join(losses)}"
    return Verdict(here, not losses)


@claim(
    "Section 5, Figure 8",
    "4-1 and 2-12",
    "the two heads whose removal hurts most are the same (mean over seeds)",
)
def same_heads(off: Off) -> Verdict:
    """STS-B and RTE rely on the same two heads."""
    if not {"STS-B", "RTE"} <= set(off):
        raise Untested("STS-B and RTE are both needed")
    most = {}
    for task in ("STS-B", "RTE"):
        gains = xr.concat(map(head_gains, off[task].values()), "seed").mean("seed")
        values = gains.transpose("layer", "head")
        places = np.argsort(values.values.ravel(), kind="stable")[:2]
        most[task] = [str(grid_heads(values)[place]) for place in places]
    here = listed({task: " and ".join(heads) for task, heads in most.items()}, "{}")
    return Verdict(here, set(most["STS-B"]) == set(most["RTE"]))
