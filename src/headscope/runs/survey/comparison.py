"""Two models run over one corpus in lockstep (Kovaleva et al. 2019, §4.3), and two results.

Layer by layer, each head's map is put beside the other model's. No maps are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Corpus, Example
from headscope.encode import Batch, Encoded, Encoder
from headscope.encode.cross import CrossEncoder
from headscope.errors import ModelError, UserError
from headscope.measures.base import Measure
from headscope.measures.distance import Change, Difference, Match
from headscope.measures.registry import choose
from headscope.models import LayerView, Model
from headscope.options import CorpusRun, Saving, Workers
from headscope.progress import Reporter
from headscope.results import Atlas
from headscope.runs.forward import BatchValues, Pass
from headscope.runs.run import Run, describe
from headscope.runs.survey import CompareOptions, SurveyOptions
from headscope.runs.survey.surveying import Survey
from headscope.runs.survey.work import SurveyWork
from headscope.stats.tables.change import difference_atlas, share_labels

ALIKE = "compare models of one shape and one tokenizer, e.g. before and after fine-tuning"


class ResultsComparison(Run[Atlas]):
    """Two results side by side: see :func:`headscope.compare`."""

    def __init__(self, first: Atlas, second: Atlas, options: CompareOptions) -> None:
        super().__init__(Saving.of(options), "comparing results")
        self.first, self.second = first, second

    @cached_property
    def about(self) -> dict[str, Any]:
        """What both results are of."""
        return {"compared": {"first": self.first.provenance, "second": self.second.provenance}}

    def work(self, reporter: Reporter) -> Atlas:
        """Their differences."""
        shared = share_labels(self.first, self.second)
        first, second = self.first.provenance, self.second.provenance
        differences = difference_atlas(self.first, self.second)
        about = {
            "model": _joined(first["model"], second["model"]) | _shared_shape(differences),
            "corpus": _joined(first["corpus"], second["corpus"]),
            "settings": {},
            "counts": {},
            "not_compared": shared.sentences(),
        }
        return Atlas.build(differences, self.provenance() | about)


def _shared_shape(differences: dict[str, xr.Dataset]) -> dict[str, Any]:
    """The layers and heads that two results share, as provenance has them."""
    for dataset in differences.values():
        if {"layer", "head"} <= set(dataset.dims):
            numbers = [int(number) for number in dataset["layer"].values]
            shape = {"layers": len(numbers), "heads": dataset.sizes["head"]}
            gaps = numbers != list(range(1, len(numbers) + 1))
            return shape | ({"layer_numbers": numbers} if gaps else {})
    return {}


def _joined(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """What both have in common once, the rest side by side."""
    return _side_by_side(left, right) | {"first": left.get("name"), "second": right.get("name")}


def _side_by_side(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for key in dict.fromkeys([*left, *right]):
        first, second = left.get(key), right.get(key)
        if first == second:
            joined[key] = first
        elif isinstance(first, dict) and isinstance(second, dict):
            joined[key] = _side_by_side(first, second)
        else:
            both = (str(value) if value or value == 0 else "none" for value in (first, second))
            joined[key] = " and ".join(both)
    return joined


def check_alike(first: Model, second: Model, stack: str) -> None:
    """Heads can be put side by side only if both models have the same ones."""
    shape = first.shape(stack)
    if stack not in second.shapes:
        raise ModelError(
            f"{first.name} has the stack {stack!r}, {second.name} only "
            f"{', '.join(second.shapes)}: their heads cannot be compared",
            hint=ALIKE,
        )
    other = second.shape(stack)
    if (shape.layers, shape.heads) != (other.layers, other.heads):
        raise ModelError(
            f"the two models have different shapes: {first.name} has {shape.layers} layers of "
            f"{shape.heads} heads, {second.name} {other.layers} of {other.heads}",
            hint=ALIKE,
        )
    if shape.numbers != other.numbers:
        raise ModelError(
            f"the two models have attention in different layers: {first.name} in "
            f"{', '.join(map(str, shape.labels))}, {second.name} in "
            f"{', '.join(map(str, other.labels))}",
            hint=ALIKE,
        )


class Comparison(Survey):
    """A run of two models: it sums up the likeness of their maps, and paired differences."""

    no_examples = "two models were compared"

    def __init__(
        self, first: Model, second: Model, corpus: Corpus, options: CompareOptions
    ) -> None:
        if options.stack == "cross":
            raise UserError(
                "cross attention can be surveyed, but not compared token by token",
                hint="survey both models with stack='cross', and compare the results",
            )
        self.second, self.match = second, options.match
        shared = options.subset(CorpusRun) | options.subset(Workers)
        own = {"measures": options.measures, "examples": 0, "synthetic": False}
        surveying = SurveyOptions(**shared | own)
        size = first.size + second.size  # workers load both
        super().__init__(first, corpus, surveying, title="comparing", size=size)

    def make_work(self) -> SurveyWork:
        """Both models on every unit."""
        return CompareWork(
            *(self.model, self.measures, self.stack, self.context, self.settings),
            second=self.second,
        )

    def chosen(self, options: SurveyOptions) -> list[Measure]:
        """The likeness, and the differences asked for."""
        alike: list[Measure] = [Change(), *([] if self.match == "no" else [Match(self.match)])]
        if not options.measures:
            return alike
        both = self.model.capabilities & self.second.capabilities
        offered = self.corpus.annotations | both
        compared = choose(options.measures, offered, corpus=self.corpus.name, beside=False)
        return [*alike, *(Difference(measure) for measure in compared)]

    def described(self) -> dict[str, Any]:
        """Both models: what they share once, the rest side by side."""
        one, two = (describe(model, self.stack) for model in (self.model, self.second))
        return _joined(one, two) | {"name": f"{_short(one['name'])} and {_short(two['name'])}"}


@dataclass(eq=False, kw_only=True)
class CompareWork(SurveyWork):
    """Two models on the same units."""

    second: Model

    def encode(
        self, examples: Iterable[Example], encoder: Encoder | CrossEncoder
    ) -> Iterator[Encoded]:
        """The examples as tokens, which must be the same for both models."""
        other = self.encoder(self.second)
        for example in examples:
            mine, theirs = (list(reader.encode([example])) for reader in (encoder, other))
            check_tokens(self.model, self.second, example, mine, theirs)
            yield from mine

    def make_forward(self) -> Callable[[Batch], BatchValues]:
        """Both models, in lockstep."""
        return Lockstep(self).run


def check_tokens(
    first: Model,
    second: Model,
    example: Example,
    mine: Sequence[Encoded],
    theirs: Sequence[Encoded],
) -> None:
    """Refuse two models that make different tokens of an example: no map could be compared."""
    if [item.ids.tolist() for item in mine] != [item.ids.tolist() for item in theirs]:
        raise ModelError(
            f"the two models have different tokenizers: of example {example.id} "
            f"{first.name} makes {_tokens(first, mine)}, {second.name} {_tokens(second, theirs)}",
            hint=ALIKE,
        )


def _tokens(model: Model, items: Sequence[Encoded]) -> str:
    ids = [token for item in items for token in item.ids.tolist()]
    return " ".join(model.tokenizer.convert_ids_to_tokens(ids[:8])) + (" …" if len(ids) > 8 else "")


def _short(name: str) -> str:
    """A folder by its last part, a hub id whole."""
    return name if name.count("/") < 2 else Path(name).name


# --- two models on the same batch ---

TURN = 0.02  # seconds after which a model that waits for the other looks whether it is still there


class Lockstep:
    """Two models on the same batch, each in a thread of its own.

    The first hands every block of rows over as soon as it has it, and waits until the one before is
    taken, so that at most two blocks of the first model are held at a time.
    """

    def __init__(self, work: CompareWork) -> None:
        self.differences = [measure for measure in work.measures if isinstance(measure, Difference)]
        self.alike = [measure for measure in work.measures if not isinstance(measure, Difference)]
        compared = [difference.measure for difference in self.differences]
        both = work.model, work.second
        self.first, self.second = (Pass(net, compared, work.stack, work.context) for net in both)
        self.stack = work.stack
        # Networks of different kinds may cut their maps differently.
        self.whole_maps = type(both[0].network) is not type(both[1].network)

    def run(self, batch: Batch) -> BatchValues:
        """Likeness and differences of a batch."""
        values = self.attempt(batch, careful=False) or self.attempt(batch, careful=True)
        assert values is not None
        return values

    def attempt(self, batch: Batch, *, careful: bool) -> BatchValues | None:
        """Run both models; None if some attention is not finite, unless the pass is careful."""
        leading = HandOver(self.stack, self.whole_maps)

        def lead() -> BatchValues | None:
            try:
                return self.first.attempt(batch, [leading], careful=careful)
            finally:
                leading.give(None)  # releases whoever waits for another block

        # Twice: a second Ctrl-C may come before the first exit has noted that it is over.
        with ThreadPoolExecutor(1) as pool, leading, leading:
            ahead = pool.submit(lead)
            meeting = Meeting(self.alike, batch, leading, ahead)
            after = self.second.attempt(batch, [meeting], careful=careful)
            leading.drain(ahead)
            before = ahead.result()
        if before is None or after is None:
            return None
        values = meeting.values()
        for difference in self.differences:
            name = difference.measure.name
            values[difference.name] = after.values[name] - before.values[name]
        return BatchValues(values, {}, np.where(before.broken >= 0, before.broken, after.broken))


class HandOver:
    """Hands the blocks of the first model to the second, as long as they are taken.

    On leaving the context nobody takes them any more, and the first model stops at its next block.
    Ctrl-C may come at any moment, and again while its consequences are under way: a thread that
    waited for the second model would then wait for ever, and the process for the thread.
    """

    def __init__(self, stack: str, whole_maps: bool) -> None:
        self.stack, self.whole_maps = stack, whole_maps
        self.handed: Queue[Tensor | None] = Queue(maxsize=1)
        self.over = False

    def __enter__(self) -> HandOver:
        return self

    def __exit__(self, *_: object) -> None:
        self.over = True

    def give(self, block: Tensor | None) -> bool:
        """Hand a block over, or None after the last; False if nobody takes it any more."""
        while not self.over:
            try:
                self.handed.put(block, timeout=TURN)
            except Full:
                continue
            return True
        return False

    def drain(self, ahead: Future[BatchValues | None]) -> None:
        """Take what is still handed over, until the first model is done."""
        while not ahead.done():
            try:
                self.handed.get(timeout=TURN)
            except Empty:
                continue

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Hand a block over."""
        if view.stack == self.stack and not self.give(block.to(torch.float32)):
            raise CancelledError

    def end(self, view: LayerView) -> None:
        """All blocks of the layer have been handed over."""


class Meeting:
    """Compares each block of the second model with the one that the first hands over."""

    def __init__(
        self,
        measures: Sequence[Measure],
        batch: Batch,
        leading: HandOver,
        ahead: Future[BatchValues | None],
    ) -> None:
        self.measures, self.leading, self.ahead = measures, leading, ahead
        self.whole_maps = leading.whole_maps
        self.batch = batch
        self.prepared: dict[torch.device, list[Any]] = {}  # layers may be on several devices
        self.layers: list[list[Tensor]] = [[] for _ in measures]

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Compare a block."""
        if view.stack != self.leading.stack:
            return
        other = self.leading.handed.get()
        if other is None:
            self.ahead.result()  # raises what went wrong there
            raise AssertionError("the first model has fewer layers than it had")
        if block.device not in self.prepared:
            self.prepared[block.device] = [
                measure.prepare(self.batch, block.device) for measure in self.measures
            ]
        both = torch.stack([other.to(block.device), block.to(torch.float32)])
        for measure, prepared in zip(self.measures, self.prepared[block.device], strict=True):
            measure.rows(view, both, first_row, prepared)

    def end(self, view: LayerView) -> None:
        """Keep the values of a layer."""
        if view.stack == self.leading.stack:
            every = zip(self.measures, self.prepared[view.output.device], self.layers, strict=True)
            for measure, prepared, layers in every:
                layers.append(measure.end(view, prepared))

    def values(self) -> dict[str, NDArray[Any]]:
        """What the measures found in the batch, by name."""
        every = zip(self.measures, next(iter(self.prepared.values())), self.layers, strict=True)
        return {
            measure.name: measure.finish(layers, prepared).cpu().numpy()
            for measure, prepared, layers in every
        }
