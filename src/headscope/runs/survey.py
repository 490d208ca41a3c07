"""A survey: every measure that fits, over a whole corpus, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from headscope.corpus import Corpus, CorpusLike, bucket_of, read
from headscope.encode import WINDOW, Batch, Encoded, Encoder, batches
from headscope.errors import UserError
from headscope.files import digest_of
from headscope.measures.base import Context, Measure
from headscope.measures.registry import choose
from headscope.measures.sums import Kept, Sums
from headscope.models import Model
from headscope.models.like import ModelLike, using_model
from headscope.progress import ProgressLike, Update
from headscope.results import Atlas
from headscope.runs.forward import BatchValues, Pass
from headscope.runs.run import EVERY, Arrays, Block, Run, describe
from headscope.runs.settings import Long, RunSettings, check_shard, make_settings

MeasuresLike = Iterable[str | Measure | type[Measure]] | str | Measure | type[Measure]
"""Names of measures, configured objects, or classes; one or several."""
SHOWN = 20
"""How many of the examples that could not be used are named in the provenance."""


@dataclass
class Tally:
    """What happened to the examples during a pass."""

    seen: int = 0
    nonfinite: int = 0
    nonfinite_examples: list[str] = field(default_factory=list)


def survey(
    model: ModelLike,
    corpus: CorpusLike,
    *,
    measures: MeasuresLike | None = None,
    limit: int | None = None,
    max_length: int = 128,
    long: Long = "truncate",
    batch_size: int = 16,
    seed: int = 0,
    stack: str = "",
    token_types: bool = True,
    shard: tuple[int, int] | str = (1, 1),
    output: str | Path | None = None,
    checkpoint: str | Path | None = None,
    every: float = EVERY,
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
        ``"encoder"`` or ``"decoder"``, for models that have both. Default: the encoder.
    token_types
        Tell the two texts of a pair apart by token types, where the model has them.
    shard
        ``(i, n)`` or ``"i/n"`` does the i-th of n parts of the work; see :func:`headscope.merge`.
    output
        Save the results there. If the file already holds this very run, it is opened instead.
    checkpoint
        Where the state of an unfinished run is kept. Default: ``OUTPUT.partial``.
    every
        Seconds between two checkpoints.
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
    settings = make_settings(
        limit=limit,
        max_length=max_length,
        long=long,
        batch_size=batch_size,
        seed=seed,
        stack=stack,
        token_types=token_types,
    )
    with using_model(model, head=_head_for(measures)) as loaded:
        run = Survey(
            loaded,
            read(corpus),
            measures,
            settings,
            shard=check_shard(shard),
            output=output,
            checkpoint=checkpoint,
            every=every,
        )
        return run.execute(progress)


def _head_for(measures: MeasuresLike | None) -> Literal["lm"] | None:
    """The head that a model given by name is loaded with: gradients need a language model."""
    asked = [measures] if isinstance(measures, str | Measure | type) else list(measures or ())
    needs = (
        name == "gradient" if isinstance(name, str) else "lm" in getattr(name, "needs", ())
        for name in asked
    )
    return "lm" if any(needs) else None


def check_lengths(measures: Iterable[Measure], max_length: int) -> None:
    """Refuse lengths at which the whole maps that a measure needs would fill the memory."""
    for measure in measures:
        if not measure.in_blocks and max_length > measure.longest:
            raise UserError(
                f"the measure {measure.name!r} needs whole attention maps, which is possible up to "
                f"{measure.longest} tokens, got a maximum length of {max_length} instead",
                hint=f"give max_length={measure.longest}, or measure it in a run of its own",
                command=f"give --max-length {measure.longest}, or measure it in a run of its own",
            )


class Survey(Run):
    """One pass of a corpus through a model. Blocks of work are batches."""

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        measures: MeasuresLike | None,
        settings: RunSettings,
        *,
        shard: tuple[int, int] = (1, 1),
        output: str | Path | None = None,
        checkpoint: str | Path | None = None,
        every: float = EVERY,
        title: str = "surveying",
    ) -> None:
        super().__init__(title, output=output, checkpoint=checkpoint, every=every)
        self.model = model
        self.corpus = corpus.first(settings.limit) if settings.limit else corpus
        self.stack = settings.stack or model.main_stack()
        if self.stack == "cross":
            raise UserError(
                "cross attention joins two different texts and cannot be surveyed: its rows and "
                "columns are not the same tokens",
                hint="survey the encoder or the decoder; observe cross attention with "
                "Model.forward and a listener",
            )
        self.settings = settings.model_copy(update={"stack": self.stack})
        self.shard = shard
        self.context = Context(model.shape(self.stack), model.causal(self.stack), settings.seed)
        chosen = self.chosen(measures)
        check_lengths(chosen, settings.max_length)
        self.measures = [measure.bind(self.context, self.corpus) for measure in chosen]
        self.sums = {measure.name: Sums(measure) for measure in self.measures}
        self.kept = {measure.name: Kept(measure) for measure in self.measures if measure.keep}
        self.encoder: Encoder = model.encoder(
            max_length=settings.max_length,
            long=settings.long,
            stack=self.stack,
            token_types=settings.token_types,
        )
        self.tally = Tally()
        self.yielded = self.examples_done = self.total = 0
        self.forward: Callable[[Batch], BatchValues] | None = None

    def chosen(self, measures: MeasuresLike | None) -> list[Measure]:
        """The measures asked for, or all that corpus and model allow."""
        offered = self.corpus.annotations | self.model.capabilities
        return choose(measures, offered, corpus=self.corpus.name)

    def encoded(self) -> Iterator[Encoded]:
        """The examples as tokens."""
        return self.encoder.encode(self.corpus)

    def make_forward(self) -> Callable[[Batch], BatchValues]:
        """What every batch goes through."""
        return Pass(self.model, self.measures, self.stack, self.context).run

    def described(self) -> dict[str, Any]:
        """Which model the numbers are of."""
        return describe(self.model, self.stack)

    def begin(self) -> None:
        """Get ready for the first batch."""
        torch.manual_seed(self.settings.seed)
        self.forward = self.make_forward()
        self.total = self.corpus.size()

    def blocks(self) -> Iterator[Block]:
        """Batches of examples of similar length."""
        for batch in batches(self.encoded(), size=self.settings.batch_size, pad=self.model.pad):
            yield Block(batch.index, batch)

    def do(self, block: Block, update: Update) -> None:
        """Run a batch, unless it belongs to another shard, and add what it gave to the sums."""
        number, shards = self.shard
        if block.index % shards != number - 1:
            return
        assert self.forward is not None
        batch: Batch = block.work
        found = self.forward(batch)
        keep = found.broken < 0
        self.whole = False
        self._count(batch, found)
        rows = np.flatnonzero(keep)
        examples = [batch.items[row].example for row in rows]
        buckets = [bucket_of(example) for example in examples]
        for name, values in found.values.items():
            totals = found.totals.get(name)
            self.sums[name].add(buckets, values[keep], None if totals is None else totals[keep])
            if name in self.kept and block.index < self._kept_blocks(name):
                self.kept[name].add(
                    (block.index * self.settings.batch_size + rows).tolist(),
                    [example.id for example in examples],
                    [example.group for example in examples],
                    values[keep],
                )

    def _kept_blocks(self, name: str) -> int:
        """How many batches are kept: whole windows, whose batches are sorted by length."""
        size = self.settings.batch_size * WINDOW
        return -(-self.sums[name].measure.keep // size) * WINDOW

    def _count(self, batch: Batch, found: BatchValues) -> None:
        for item, layer in zip(batch.items, found.broken, strict=True):
            if layer < 0:
                self.tally.seen += 1
                continue
            self.tally.nonfinite += 1
            if len(self.tally.nonfinite_examples) < SHOWN:
                self.tally.nonfinite_examples.append(
                    f"{item.example.id}: attention is not finite in layer {layer + 1}"
                )

    def passed(self, block: Block) -> None:
        """Count the examples that are done.

        A window of examples is read ahead, so what is done is the share of those read whose parts
        have been run. It never shrinks.
        """
        self.yielded += len(block.work)
        counts = self.encoder.counts
        self.examples_done = max(self.examples_done, counts.read * self.yielded // counts.used)

    def progress(self) -> tuple[int, int]:
        """Examples."""
        return self.examples_done, self.total

    def so_far(self) -> str:
        """Examples."""
        return f"{self.tally.seen} examples"

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, corpus, settings and measures."""
        return {
            "model": self.described(),
            "corpus": {
                "name": self.corpus.name,
                "format": self.corpus.format,
                "sha256": self.corpus.checksum,
            },
            "settings": self.settings.model_dump(),
            "measures": [measure.name for measure in self.measures],
            "details": {measure.name: measure.identity() for measure in self.measures},
        }

    @cached_property
    def identity(self) -> str:
        """The shard is part of it too."""
        whole = super().identity
        return whole if self.shard == (1, 1) else digest_of(whole, str(self.shard))

    def provenance(self) -> dict[str, Any]:
        """With the shard, and what happened to the examples."""
        return super().provenance() | {
            "shards": [f"{self.shard[0]}/{self.shard[1]}"],
            "counts": {**asdict(self.encoder.counts), **asdict(self.tally)},
        }

    def result(self) -> Atlas:
        """The sums with labels, and the values that were kept."""
        exact = self.shard != (1, 1)
        sums = {name: sums.dataset(exact=exact) for name, sums in self.sums.items()}
        sums |= {name: sums[name].merge(kept.dataset()) for name, kept in self.kept.items()}
        return Atlas.build(sums, self.provenance())

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The tally, sums and kept values."""
        arrays = {
            f"{name}/{key}": array
            for name, store in self._stores()
            for key, array in store.arrays().items()
        }
        return asdict(self.tally), arrays

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take up the tally, sums and kept values."""
        self.tally = Tally(**state)
        for name, store in self._stores():
            store.restore({key: arrays[f"{name}/{key}"] for key in store.arrays()})

    def _stores(self) -> list[tuple[str, Sums | Kept]]:
        """Everything that a checkpoint must hold, by name."""
        return [*self.sums.items(), *((f"{name}/kept", kept) for name, kept in self.kept.items())]
