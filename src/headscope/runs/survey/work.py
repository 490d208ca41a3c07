"""What a survey does to a unit of examples, here or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from headscope.corpus import Example
from headscope.encode import UNIT, Batch, Counts, Encoded, Encoder, WorkUnit
from headscope.encode.cross import CrossEncoder
from headscope.measures.base import Context, Measure
from headscope.models import Model
from headscope.models.sending import ModelWork
from headscope.options import Pass as Options
from headscope.results.stored import PARTS, ExampleStore, Standing
from headscope.runs.forward import BatchValues, Pass
from headscope.runs.keeping.keeper import Keeper
from headscope.runs.survey.gathered import Arrays, Gathered


class SurveyWork(ModelWork):
    """What is done to a unit of examples, here or by a worker: sent to each worker once.

    Parameters
    ----------
    model
        The model.
    measures
        Bound to the run.
    stack, context, settings
        Of the run.
    examples
        How many examples are kept in the sample that all heads share; 0 for none.
    """

    made_there = ("_forward", "_keeper", "_standing")
    _forward: Callable[[Batch], BatchValues] | None = None
    _keeper: Keeper | None = None
    _standing: Standing | None = None

    def __init__(
        self,
        model: Model,
        measures: Sequence[Measure],
        stack: str,
        context: Context,
        settings: Options,
        examples: int = 0,
    ) -> None:
        self.model, self.measures = model, list(measures)
        self.stack, self.context, self.settings = stack, context, settings
        self.examples = examples
        self.keys: dict[int, int] = {}
        """Number and part of each example of the unit in work, by the identity of its tokens."""

    def __call__(self, unit: WorkUnit, skip: int = 0) -> tuple[dict[str, Any], Arrays]:
        """Survey a unit of examples, without its first ``skip`` batches; what it gives as state."""
        gathered = self.gathered()
        store = gathered.examples
        if store is not None:
            # What falls behind the examples of earlier units could never be kept in the end.
            store.floor = self._standing
        for batch in self.batches(unit, gathered.counts):
            if batch.index >= skip:
                gathered.add(unit.index, batch, self.run(batch, store))
        if store is not None:
            self._standing = store.standing()
        return gathered.state()

    def gathered(self) -> Gathered:
        """Where what is found is gathered: nothing yet."""
        shape, store = self.context.shape, None
        if self.examples:
            store = ExampleStore(shape.labels, shape.heads, self.examples, strongest(self.examples))
        return Gathered(self.measures, self.settings.batch_size, store)

    def batches(self, unit: WorkUnit, counts: Counts) -> Iterator[Batch]:
        """The batches of a unit. What happened to its examples is added to ``counts``."""
        encoder = self.encoder(self.model)
        items = list(
            self.numbered(unit, encoder) if self.examples else self.encode(unit.examples, encoder)
        )
        counts.add(encoder.counts)
        return self.model.batches(items, size=self.settings.batch_size)

    def encoder(self, model: Model) -> Encoder | CrossEncoder:
        """A new encoder for one of the run's models."""
        settings = self.settings
        if self.stack == "cross":
            return model.cross_encoder(max_length=settings.max_length, long=settings.long)
        return model.encoder(
            max_length=settings.max_length,
            long=settings.long,
            stack=self.stack,
            token_types=settings.token_types,
        )

    def encode(
        self, examples: Iterable[Example], encoder: Encoder | CrossEncoder
    ) -> Iterator[Encoded]:
        """The examples as tokens."""
        return encoder.encode(examples)

    def numbered(self, unit: WorkUnit, encoder: Encoder | CrossEncoder) -> Iterator[Encoded]:
        """The examples of a unit as tokens, noting the number and the part of each."""
        self.keys = {}
        first = unit.index * self.settings.batch_size * UNIT + 1
        for number, example in enumerate(unit.examples, first):
            for part, item in enumerate(self.encode([example], encoder)):
                self.keys[id(item)] = number * PARTS + part
                yield item

    def run(self, batch: Batch, store: ExampleStore | None = None) -> BatchValues:
        """One batch through the model. Examples are found that belong into the store."""
        if self._forward is None:
            torch.manual_seed(self.settings.seed)
            self._forward = self.make_forward()
        if self._keeper is not None:
            self._keeper.store, self._keeper.keys = store, self.keys
        return self._forward(batch)

    def make_forward(self) -> Callable[[Batch], BatchValues]:
        """What every batch goes through."""
        self._keeper = Keeper(self.model, self.context) if self.examples else None
        return Pass(self.model, self.measures, self.stack, self.context, self._keeper).run


def strongest(examples: int) -> int:
    """How many of its strongest examples each head keeps beside a sample of some size.

    >>> strongest(32), strongest(2)
    (8, 1)
    """
    return max(1, examples // 4)
