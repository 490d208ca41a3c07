"""One pass of a corpus through a model: the run of :func:`headscope.survey`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from headscope.corpus import Corpus
from headscope.encode import UNIT, Counts, WorkUnit, work_units
from headscope.errors import UserError
from headscope.measures.base import Context, Measure
from headscope.measures.registry import choose, on_maps
from headscope.models import Model
from headscope.models.value_norms import ValueNorms
from headscope.options import Pass
from headscope.progress import Update
from headscope.results import Atlas
from headscope.results.schema import EXAMPLES, NULL, TRACK
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.runs.survey import SurveyOptions
from headscope.runs.survey.work import SurveyWork, strongest
from headscope.runs.synthetic import NAME as SYNTHETIC
from headscope.runs.synthetic import chosen_sequences
from headscope.runs.workers import Task, Work


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
        self.corpus = corpus.first(options.limit) if options.limit else corpus
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
        found = list(self.works.batches(unit, counts))
        for batch in found[self.batches_done :]:
            values = self.works.run(batch, self.gathered.examples)
            self.whole = False
            self.gathered.add(unit.index, batch, values)
            self.batches_done = batch.index + 1
            self.whole = True
            self.examples_done = self.gathered.counts.read + counts.read * (
                (batch.index + 1) / len(found)
            )
            if batch.index + 1 < len(found):
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
        sums |= {name: sums[name].merge(one.dataset()) for name, one in kept.items()}
        if self.sequences is not None:
            found, _ = self.sequences.sums(self.model, self.stack, self.shard)
            sums[SYNTHETIC] = found.dataset(exact=exact)
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
    taken = next((one.name for one in measures if one.name in (NULL, TRACK)), None)
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
