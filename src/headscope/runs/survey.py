"""A survey: every measure that fits, over a whole corpus, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from headscope.corpus import Corpus, CorpusLike, read
from headscope.encode import (
    UNIT,
    Counts,
    WorkUnit,
    work_units,
)
from headscope.measures.base import Context, Measure
from headscope.measures.maps import Maps, check_maps, on_maps
from headscope.measures.registry import choose, needs_of
from headscope.models import Model
from headscope.models.like import ModelLike, using_model
from headscope.models.value_norms import ValueNorms
from headscope.progress import ProgressLike, Update
from headscope.results import Atlas
from headscope.results.nested import check_nulls
from headscope.results.schema import EXAMPLES
from headscope.runs.checks import check_lengths, check_names
from headscope.runs.engines import Engine, EngineName, Task, Work, make_engine
from headscope.runs.run import EVERY, Arrays, Block, describe
from headscope.runs.settings import (
    Long,
    RunSettings,
    check_examples,
    check_shard,
    make_settings,
)
from headscope.runs.split_run import SplitRun
from headscope.runs.survey_work import SurveyWork, strongest
from headscope.runs.synthetic import NAME as SYNTHETIC
from headscope.runs.synthetic import chosen_sequences

MeasuresLike = Iterable[str | Measure | type[Measure]] | str | Measure | type[Measure]
"""Names of measures, configured objects, or classes; one or several."""


def survey(
    model: ModelLike,
    corpus: CorpusLike,
    *,
    measures: MeasuresLike | None = None,
    maps: Maps = "attention",
    limit: int | None = None,
    max_length: int = 128,
    long: Long = "truncate",
    batch_size: int = 16,
    seed: int = 0,
    stack: str = "",
    token_types: bool = True,
    examples: int = 32,
    synthetic: bool | None = None,
    null: str | Iterable[str] = (),
    shard: tuple[int, int] | str = (1, 1),
    output: str | Path | None = None,
    checkpoint: str | Path | None = None,
    every: float = EVERY,
    overwrite: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str = "",
    progress: ProgressLike = False,
) -> Atlas:
    """Measure every head of a model on a corpus, in one pass.

    Parameters
    ----------
    model
        A hub id, a folder, "demo", a :class:`~headscope.Model`, or a pair of a loaded network and
        its tokenizer.
    corpus
        A path, "demo", a :class:`~headscope.Corpus`, a list of texts or of pairs of texts, a
        DataFrame, or a ``datasets.Dataset``; see :func:`headscope.read`.
    measures
        Names (``"entropy"``), configured objects (``hs.Role(direction="both")``) or classes of your
        own. Default: all that corpus and model allow, except those that cost more than the pass.
    maps
        What measures are computed on: ``"attention"``; ``"norm"``, attention weighted by the length
        of the vector that each key sends through the head (Kobayashi et al. 2020); or ``"both"``.
        Results on norm-weighted maps have names that begin with ``norm_``, such as
        ``norm_entropy``. Examples and synthetic sequences are of attention maps.
    limit
        Use at most this many examples, the first ones.
    max_length
        The largest number of tokens of an example.
    long
        What to do with longer examples: truncate, split into parts, or drop.
    batch_size
        How many examples go through the model at once.
    seed
        For whatever is random (masked words of the gradient measure).
    stack
        ``"encoder"``, ``"decoder"`` or ``"cross"``, for models that have an encoder and a decoder.
        Default: the encoder. For cross attention, the encoder reads the first text of a pair and
        the decoder the second; a single text goes to both.
    token_types
        Tell the two texts of a pair apart by token types, where the model has them.
    examples
        How many examples to keep for looking at heads: a random sample of so many that all heads
        share, and of each head a quarter as many on which it is strongest. Their texts are stored
        in the results; 0 keeps none. See :attr:`headscope.Atlas.kept`.
    synthetic
        Also run 32 sequences of 64 random tokens written twice, and add what heads do there as the
        group ``synthetic``; see :func:`headscope.synthetic`. Default: together with the default
        measures, where a decoder-only model has enough tokens for it.
    null
        Also survey null models, one or several: ``"random-weights"`` (all drawn anew by the model's
        own rule), ``"random-weights-keep-embeddings"``, ``"shuffled-words"`` (the words of each
        sentence in random order, while its tree stays where it is). Each costs another pass. See
        :attr:`headscope.Atlas.nulls` and :func:`headscope.stats.null_table`.
    shard
        ``(i, n)`` or ``"i/n"`` does the i-th of n parts of the work; see :func:`headscope.merge`.
    output
        Save the results there. If the file already holds this very run, it is opened instead; if
        it holds another one, that is an error, which says what differs.
    checkpoint
        Where the state of an unfinished run is kept. Default: ``OUTPUT.partial``.
    every
        Seconds between two checkpoints.
    overwrite
        Replace the results of another run in ``output``, and its checkpoint; compute this very run
        again if its results are there.
    engine
        Where the work is done: ``"local"`` (in this process), ``"processes"`` (in several processes
        on this machine) or ``"ray"`` (on a Ray cluster). Results are the same bit for bit, if each
        worker has as many threads as this process would have.
    workers
        How many workers the engine has; each loads the model. Default: one per core, or one per CPU
        of a running Ray cluster but one.
    address
        The address of a running Ray cluster, ``"HOST:PORT"`` or ``"auto"``. By default one is
        started on this machine.
    progress
        True shows a progress bar; a function is called with (done, total).

    Returns
    -------
    Atlas
        Means, intervals and counts of every head, with provenance.

    See Also
    --------
    compare : two models side by side.
    merge : put the shards of a run together.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="position")
    >>> round(float(atlas.mean("position").sel(layer=1, head=3, offset="previous")), 1)
    1.0
    """
    check_maps(maps)
    settings = make_settings(
        limit=limit,
        max_length=max_length,
        long=long,
        batch_size=batch_size,
        seed=seed,
        stack=stack,
        token_types=token_types,
    )
    names, kept, part = check_nulls(null), check_examples(examples), check_shard(shard)
    with using_model(model, head=head_for(measures)) as loaded:
        real = read(corpus)
        place = make_engine(engine, workers, address, size=loaded.size)

        def make(
            kind: type[Survey], one: Model, texts: Corpus, path: str | Path | None, title: str
        ) -> Survey:
            return kind(
                one,
                texts,
                measures,
                settings,
                maps=maps,
                examples=kept if kind is Survey else 0,
                synthetic=synthetic if texts is real else False,
                shard=part,
                output=path,
                checkpoint=checkpoint if kind is Survey else None,
                every=every,
                overwrite=overwrite,
                engine=place,
                title=title,
            )

        if not names:
            return make(Survey, loaded, real, output, "surveying").execute(progress)
        from headscope.runs.nulls import NullRuns

        runs = NullRuns(loaded, real, seed, names, make)
        return runs.run(output, overwrite=overwrite).execute(progress)


def head_for(measures: MeasuresLike | None) -> Literal["lm"] | None:
    """The head that a model given by name is loaded with: some measures need a language model."""
    asked = [measures] if isinstance(measures, str | Measure | type) else list(measures or ())
    needs = (
        "lm" in (needs_of(name) if isinstance(name, str) else getattr(name, "needs", ()))
        for name in asked
    )
    return "lm" if any(needs) else None


class Survey(SplitRun):
    """One pass of a corpus through a model. Blocks of work are units of examples."""

    no_examples = "switched off"
    """Why no examples are kept, where they are not."""

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        measures: MeasuresLike | None,
        settings: RunSettings,
        *,
        maps: Maps = "attention",
        examples: int = 0,
        synthetic: bool | None = False,
        shard: tuple[int, int] = (1, 1),
        output: str | Path | None = None,
        checkpoint: str | Path | None = None,
        every: float = EVERY,
        engine: Engine | None = None,
        overwrite: bool = False,
        title: str = "surveying",
    ) -> None:
        super().__init__(
            title,
            output=output,
            checkpoint=checkpoint,
            every=every,
            engine=engine,
            overwrite=overwrite,
        )
        self.model = model
        self.corpus = corpus.first(settings.limit) if settings.limit else corpus
        self.stack = settings.stack or model.main_stack()
        self.settings = settings.model_copy(update={"stack": self.stack})
        self.shard = shard
        self.context = Context(model.shape(self.stack), model.causal(self.stack), settings.seed)
        self.sequences, self.no_sequences = chosen_sequences(
            synthetic, model, self.stack, offered=measures is None, seed=settings.seed
        )
        chosen = self.chosen(measures)
        check_lengths(chosen, settings.max_length)
        self.examples = 0 if self.stack == "cross" else examples
        check_names(chosen, self.examples)
        bound = [measure.bind(self.context, self.corpus) for measure in chosen]
        for measure in bound:
            measure.check_model(model, self.stack)
        self.maps = maps
        self.measures, self.not_weighted = on_maps(bound, maps)
        if maps != "attention":
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

    def chosen(self, measures: MeasuresLike | None) -> list[Measure]:
        """The measures asked for, or all that corpus and model allow."""
        offered = self.corpus.annotations | self.model.capabilities
        cross = self.stack == "cross"
        return choose(measures, offered, corpus=self.corpus.name, cross=cross)

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
            "settings": self.settings.model_dump(),
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
