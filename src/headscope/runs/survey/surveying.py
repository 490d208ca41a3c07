"""The runs of surveys: one pass of a corpus through a model; and several surveys joined into one.

Joined are a survey and its null models, which have random weights or read texts whose words are
shuffled, and the surveys of a training's checkpoints.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from headscope.corpus import Corpus
from headscope.corpus.corpus import shuffled_words
from headscope.encode import UNIT, Counts, WorkUnit, work_units
from headscope.errors import UserError
from headscope.files import slug
from headscope.identity import identity_of
from headscope.measures.base import Context, Measure
from headscope.measures.registry import choose, on_maps
from headscope.models import Model
from headscope.models.checkpoints import Checkpoint, different, steps_of
from headscope.models.loading import random_init, using_model
from headscope.models.projections import ValueNorms
from headscope.options import Loading, Pass, Saving, Workers
from headscope.progress import Reporter, Update
from headscope.results import Atlas
from headscope.results.merge import CHECKPOINTS, NULL_WORDS, with_nulls, with_track
from headscope.results.schema import EXAMPLES, NULL, TRACK
from headscope.runs.preparing import drawn
from headscope.runs.run import NOTHING, Arrays, Block, Run, describe
from headscope.runs.survey import Measuring, SurveyOptions, TrackOptions
from headscope.runs.survey.work import SurveyWork, strongest
from headscope.runs.synthetic import NAME as SYNTHETIC
from headscope.runs.synthetic import chosen_sequences
from headscope.runs.workers import Task, Work
from headscope.stats.tables.track import track_groups


class Survey(Run[Atlas]):
    """One pass of a corpus through a model. Blocks of work are units of examples."""

    no_examples = "switched off"
    """Why no examples are kept, where they are not."""

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        options: SurveyOptions,
        *,
        title: str = "surveying",
        size: int = 0,
    ) -> None:
        super().__init__(options, title, size=size or model.size)
        self.model = model
        self.corpus = drawn(corpus, options)
        self.stack = options.stack or model.main_stack()
        self.options, self.shard = options, options.part
        self.settings = replace(Pass.of(options), stack=self.stack)
        self.context = Context(model.shape(self.stack), model.causal(self.stack), options.seed)
        self.sequences, self.no_sequences = chosen_sequences(
            options.synthetic,
            model,
            self.stack,
            offered=options.measures is None,
            seed=options.seed,
        )
        if self.no_sequences:
            options.reporter.say(f"note: {self.no_sequences}")
        chosen = self.chosen(options)
        check_lengths(chosen, options.max_length)
        self.examples = 0 if self.stack == "cross" else options.examples
        check_names(chosen, self.examples)
        bound = [measure.bind(self.context, self.corpus) for measure in chosen]
        for measure in bound:
            measure.check_model(model, self.stack)
        self.maps = options.maps
        self.measures, self.not_weighted = on_maps(bound, options.maps)
        if options.maps != "attention":
            ValueNorms(model, self.stack)  # says now what is wrong with the model
        self.works = self.make_work()
        self.gathered = self.works.gathered()
        self.works.encoder(model)  # what is wrong with the settings is said now
        self.batches_done = self.total = 0
        self.examples_done = 0.0

    def make_work(self) -> SurveyWork:
        """What is done to every unit."""
        return SurveyWork(
            self.model, self.measures, self.stack, self.context, self.settings, self.examples
        )

    def chosen(self, options: SurveyOptions) -> list[Measure]:
        """The measures asked for, or all that corpus and model allow."""
        offered = self.corpus.annotations | self.model.capabilities
        cross = self.stack == "cross"
        return choose(options.chosen(offered), offered, corpus=self.corpus.name, cross=cross)

    def described(self) -> dict[str, Any]:
        """Which model the numbers are of."""
        return describe(self.model, self.stack)

    def begin(self) -> None:
        """Count the examples of this shard."""
        size, width = self.corpus.size(), self.settings.batch_size * UNIT
        number, shards = self.shard
        self.total = sum(
            min(width, size - index * width)
            for index in range(number - 1, -(-size // width), shards)
        )
        self.examples_done = float(self.gathered.counts.read)

    def blocks(self) -> Iterator[Block]:
        """Units of examples that belong to this shard."""
        number, shards = self.shard
        for unit in work_units(self.corpus, size=self.settings.batch_size):
            if unit.index % shards == number - 1:
                yield Block(unit.index, unit)

    def do(self, block: Block, update: Update) -> None:
        """Run a unit, and add what each batch gave to the sums."""
        unit: WorkUnit = block.work
        counts = Counts()
        batches = list(self.works.batches(unit, counts))
        for batch in batches[self.batches_done :]:
            values = self.works.run(batch, self.gathered.examples)
            self.whole = False
            self.gathered.add(unit.index, batch, values)
            self.batches_done = batch.index + 1
            self.whole = True
            self.examples_done = self.gathered.counts.read + counts.read * (
                (batch.index + 1) / len(batches)
            )
            if batch.index + 1 < len(batches):
                update(*self.progress())
                self.pause()
        self.whole = False
        self.gathered.counts.add(counts)
        self.batches_done = 0

    def ship(self) -> Work:
        """The same work for workers elsewhere."""
        return self.works

    def task(self, block: Block) -> Task:
        """A unit, and how many of its batches an interrupted run did."""
        skip = self.batches_done if block.index == self.next_block else 0
        return Task(block.index, (block.work, skip))

    def absorb(self, index: int, result: tuple[dict[str, Any], Arrays]) -> None:
        """Add a unit's sums."""
        self.gathered.merge(*result)
        if index == self.next_block:
            self.batches_done = 0

    def started(self) -> bool:
        """Also within the first unit."""
        return super().started() or bool(self.batches_done)

    def passed(self, block: Block) -> None:
        """A unit is done, now or earlier."""
        self.examples_done = float(self.gathered.counts.read)

    def progress(self) -> tuple[int, int]:
        """Examples."""
        done = self.examples_done if self.engine is None else self.gathered.counts.read
        return int(done), self.total

    def so_far(self) -> str:
        """Examples."""
        return f"{self.gathered.tally.seen} examples"

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, corpus, settings and measures, and which part of the corpus."""
        return {
            "shards": [f"{self.shard[0]}/{self.shard[1]}"],
            "model": self.described(),
            "corpus": self.corpus.about,
            "settings": asdict(self.settings),
            "measures": [measure.name for measure in self.measures],
            "details": {measure.name: measure.identity() for measure in self.measures},
            "examples": self.examples_kept(),
            **({} if self.maps == "attention" else {"maps": self.maps}),
            **({} if self.sequences is None else {SYNTHETIC: asdict(self.sequences)}),
        }

    def examples_kept(self) -> dict[str, Any]:
        """How many examples are kept for every head, or why none are."""
        if self.examples:
            return {"kept": self.examples, "strongest": strongest(self.examples)}
        cross = "the rows and keys of cross attention are different texts"
        return {"kept": 0, "why": cross if self.stack == "cross" else self.no_examples}

    def provenance(self) -> dict[str, Any]:
        """With what happened to the examples."""
        return super().provenance() | {
            "notes": [
                *self.corpus.notes,
                *self.model.notes,
                *filter(None, [self.no_sequences]),
                *self.not_weighted,
            ],
            "counts": {**asdict(self.gathered.counts), **asdict(self.gathered.tally)},
        }

    def result(self) -> Atlas:
        """The sums with labels, and the values that were kept."""
        exact = self.shard != (1, 1)
        kept = self.gathered.kept
        sums = {name: sums.dataset(exact=exact) for name, sums in self.gathered.sums.items()}
        sums |= {name: sums[name].merge(values.dataset()) for name, values in kept.items()}
        if self.sequences is not None:
            random, _ = self.sequences.sums(self.model, self.stack, self.shard)
            sums[SYNTHETIC] = random.dataset(exact=exact)
        if self.gathered.examples is not None:
            sums[EXAMPLES] = self.gathered.examples.dataset()
        return Atlas.build(sums, self.provenance())

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What was gathered, and how far the unit in work is."""
        state, arrays = self.gathered.state()
        return state | {"batches_done": self.batches_done}, arrays

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take up what was gathered."""
        self.batches_done = state["batches_done"]
        self.gathered.restore(state, arrays)


# --- what can be wrong with the measures of a survey ---


def check_lengths(measures: Iterable[Measure], max_length: int) -> None:
    """Refuse lengths at which the whole maps that a measure needs would fill the memory."""
    for measure in measures:
        if not measure.in_blocks and max_length > measure.longest:
            raise UserError(
                f"the measure {measure.name!r} needs whole attention maps, which is possible up to "
                f"{measure.longest} tokens, got a maximum length of {max_length} instead",
                hint=f"give max_length={measure.longest}, or measure it in a run of its own",
            )


def check_names(measures: Sequence[Measure], examples: int) -> None:
    """Refuse a measure whose results would be kept under the name of something else."""
    taken = next((own.name for own in measures if own.name in (NULL, TRACK)), None)
    if taken is not None:
        raise UserError(
            f"a measure cannot be called {taken!r}: results keep "
            f"{'null models' if taken == NULL else 'checkpoints'} under that name",
            hint="give the class another name",
        )
    if examples and any(measure.name == EXAMPLES for measure in measures):
        raise UserError(
            f"a measure cannot be called {EXAMPLES!r}: results keep the examples of all heads "
            "under that name",
            hint="give the class another name, or keep none with examples=0",
        )


KEPT, SHUFFLED = "random-weights-keep-embeddings", "shuffled-words"

Part = Callable[[Path | None], AbstractContextManager[Run[Atlas]]]
"""Makes one of the runs, given where its result is kept meanwhile. The model that it needs is
loaded on entering the context, and closed on leaving it."""


class Joined(Run[Atlas]):
    """Runs that are done one after the other and joined, such as a survey and its null models.

    Each of them resumes as it would alone. Until all are done, their results are kept in the folder
    ``OUTPUT.parts``.

    Parameters
    ----------
    options
        Output and overwrite.
    parts
        The runs, by name.
    join
        Makes one of their results, in the order of the parts.
    main
        The place of the part whose results the joined ones are, with the others beside them.
    """

    def __init__(
        self,
        options: Saving,
        parts: Mapping[str, Part],
        join: Callable[[Sequence[Atlas]], Atlas],
        *,
        main: int = 0,
    ) -> None:
        super().__init__(Saving.of(options), "joining")
        self.parts, self.join, self.main = dict(parts), join, main
        self.state_path = None  # each part has its own
        self.folder: Path | None = None
        if self.output is not None:
            self.folder = self.output.with_name(f"{self.output.name}.parts")
        self._abouts: list[dict[str, Any]] = []

    @cached_property
    def about(self) -> dict[str, Any]:
        """The main part's, and the identities of all; models are loaded that were not yet."""
        for part in list(self.parts.values())[len(self._abouts) :]:
            with part(None) as run:
                self._abouts.append(run.about)
        identities = dict(zip(self.parts, map(identity_of, self._abouts), strict=True))
        return {**self._abouts[self.main], "parts": identities}

    def work(self, reporter: Reporter) -> Atlas:
        """Do all runs that are left, and join their results."""
        results = []
        for number, (name, part) in enumerate(self.parts.items(), 1):
            output = None if self.folder is None else self.folder / f"{number:03d}-{slug(name)}.nc"
            with part(output) as run:
                if len(self._abouts) < number:
                    self._abouts.append(run.about)
                run.part, run.overwrite = True, self.overwrite
                results.append(run.execute())
        joined = self.join(results)
        return joined.described(joined.provenance | self.provenance())

    def save(self, result: Atlas) -> None:
        """Write the joined results, then remove those of the parts."""
        super().save(result)
        if self.folder is not None:  # only now: the results are on the disk
            shutil.rmtree(self.folder, ignore_errors=True)

    def kept(self) -> str:
        """What was finished."""
        there = self.folder is not None and any(self.folder.glob("*.nc"))
        return f"what was finished is kept in {self.folder}" if there else NOTHING


# --- null models ---


def survey_run(model: Model, corpus: Corpus, options: SurveyOptions) -> Run[Atlas]:
    """The run of a survey, with its null models if there are any."""
    if not options.null:
        return Survey(model, corpus, options)

    @contextmanager
    def real(output: Path | None) -> Iterator[Survey]:
        yield Survey(model, corpus, replace(options, output=output))

    nulls: dict[str, Part] = {
        str(name): partial(_null, name, model, corpus, options) for name in options.null
    }
    return Joined(options, {"survey": real, **nulls}, partial(_beside_nulls, options))


class NullSurvey(Survey):
    """A survey of a null model: the measures of the real one, without single scores."""

    no_examples = "a null model was surveyed"

    def chosen(self, options: SurveyOptions) -> list[Measure]:
        """The measures of the survey, none of which keeps scores of single examples: bands are of
        means.
        """
        slim = [copy.copy(measure) for measure in super().chosen(options)]
        for measure in slim:
            measure.keep = 0
        return slim


@contextmanager
def _null(
    name: str, model: Model, corpus: Corpus, options: SurveyOptions, output: Path | None
) -> Iterator[Survey]:
    title = f"surveying {NULL_WORDS[name]}"
    options = replace(options, output=output, checkpoint=None, examples=0)
    if name == SHUFFLED:  # sequences of random tokens have no words to shuffle
        texts = shuffled_words(corpus, seed=options.seed)
        yield NullSurvey(model, texts, replace(options, synthetic=False), title=title)
        return
    with random_init(model, seed=options.seed, keep_embeddings=name == KEPT) as random:
        yield NullSurvey(random, corpus, options, title=title)


def _beside_nulls(options: SurveyOptions, results: Sequence[Atlas]) -> Atlas:
    """The real survey with the null models beside it."""
    real, *others = results
    about = real.provenance | {"nulls": {name: {"seed": options.seed} for name in options.null}}
    return with_nulls(real.described(about), dict(zip(options.null, others, strict=True)))


# --- checkpoints of a training ---


def track_run(checkpoints: Sequence[Checkpoint], corpus: Corpus, options: TrackOptions) -> Joined:
    """The run of :func:`headscope.track`: one survey after the other."""
    shapes: dict[str, tuple[object, ...]] = {}  # of the first model that was loaded, by its name
    parts = {
        checkpoint.name: partial(_survey, checkpoints, place, corpus, options, shapes)
        for place, checkpoint in enumerate(checkpoints)
    }
    return Joined(options, parts, partial(_tracked, checkpoints), main=-1)


@contextmanager
def _survey(
    checkpoints: Sequence[Checkpoint],
    place: int,
    corpus: Corpus,
    options: TrackOptions,
    shapes: dict[str, tuple[object, ...]],
    output: Path | None,
) -> Iterator[Survey]:
    """The survey of one checkpoint. Examples are kept of the last one."""
    checkpoint, count = checkpoints[place], len(checkpoints)
    loading = Loading.of(options) if isinstance(checkpoint.model, str | Path) else Loading()
    if checkpoint.revision:
        loading = replace(loading, revision=checkpoint.revision)
    examples = options.examples if place == count - 1 else 0
    shared = options.subset(Measuring) | options.subset(Workers)
    surveying = SurveyOptions(**shared | {"output": output, "examples": examples})
    with using_model(checkpoint.model, loading, head=options.head) as model:
        shape = model.shape(options.stack or model.main_stack())
        mine = (model.config.model_type, shape.layers, shape.heads)
        first, known = next(iter(shapes.items()), (checkpoint.name, mine))
        if mine != known:
            raise different(first, known, checkpoint.name, mine)
        shapes.setdefault(first, known)
        title = f"surveying {checkpoint.name} ({place + 1} of {count})"
        yield Survey(model, corpus, surveying, title=title)


def _tracked(checkpoints: Sequence[Checkpoint], results: Sequence[Atlas]) -> Atlas:
    """The last checkpoint, with the values of all beside it."""
    names = [checkpoint.name for checkpoint in checkpoints]
    steps: Sequence[int | None] = steps_of(names) or [None] * len(names)
    models = [atlas.provenance["model"] for atlas in results]
    listed = [
        {
            "name": name,
            "step": step,
            "revision": model.get("revision", ""),
            "weights": model.get("weights", ""),
        }
        for name, step, model in zip(names, steps, models, strict=True)
    ]
    same = [
        f"the checkpoints {before['name']} and {after['name']} have the same weights"
        for before, after in pairwise(listed)
        if before["weights"] == after["weights"]
    ]
    last = results[-1].provenance
    about = last | {CHECKPOINTS: listed, "notes": [*last.get("notes", []), *same]}
    return with_track(results[-1].described(about), track_groups(results, names))
