"""What a survey does to a unit of examples, here or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from headscope.corpus import Example
from headscope.encode import Batch, Counts, Encoded, Encoder, WorkUnit, batches
from headscope.encode.cross import CrossEncoder
from headscope.measures.base import Context, Measure
from headscope.models import Model
from headscope.models.sending import ModelWork
from headscope.runs.forward import BatchValues, Pass
from headscope.runs.gathered import Arrays, Gathered
from headscope.runs.settings import RunSettings


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
    """

    made_there = ("_forward",)
    _forward: Callable[[Batch], BatchValues] | None = None

    def __init__(
        self,
        model: Model,
        measures: Sequence[Measure],
        stack: str,
        context: Context,
        settings: RunSettings,
    ) -> None:
        self.model, self.measures = model, list(measures)
        self.stack, self.context, self.settings = stack, context, settings

    def __call__(self, unit: WorkUnit, skip: int = 0) -> tuple[dict[str, Any], Arrays]:
        """Survey a unit of examples, without its first ``skip`` batches; what it gives as state."""
        gathered = Gathered(self.measures, self.settings.batch_size)
        for batch in self.batches(unit, gathered.counts):
            if batch.index >= skip:
                gathered.add(unit.index, batch, self.run(batch))
        return gathered.state()

    def batches(self, unit: WorkUnit, counts: Counts) -> Iterator[Batch]:
        """The batches of a unit. What happened to its examples is added to ``counts``."""
        encoder = self.encoder(self.model)
        items = list(self.encode(unit.examples, encoder))
        counts.add(encoder.counts)
        return batches(items, size=self.settings.batch_size, pad=self.model.pad)

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

    def run(self, batch: Batch) -> BatchValues:
        """One batch through the model."""
        if self._forward is None:
            torch.manual_seed(self.settings.seed)
            self._forward = self.make_forward()
        return self._forward(batch)

    def make_forward(self) -> Callable[[Batch], BatchValues]:
        """What every batch goes through."""
        return Pass(self.model, self.measures, self.stack, self.context).run
