"""Two models over one corpus in lockstep (Kovaleva et al. 2019, §4.3): layer by layer, each head's map beside the other model's. No maps are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import Corpus
from headscope.encode import Batch, Encoded
from headscope.errors import ModelError, UserError
from headscope.measures import Measure, choose
from headscope.measures.change import Change, difference_of
from headscope.models import LayerView, Model
from headscope.results import Results
from headscope.runs.forward import Pass, Seen
from headscope.runs.settings import Settings, make_settings
from headscope.runs.survey import EVERY, Progress, Run, describe, state_path

ALIKE = "compare models of one shape and one tokenizer, e.g. a model before and after fine-tuning"


def compare(
    first: Model,
    second: Model,
    corpus: Corpus,
    *,
    measures: Iterable[str] = (),
    output: str | Path | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    every: float = EVERY,
    **settings: Any,
) -> Results:
    """Run a corpus through two models at once: the measure ``change`` is the cosine of their maps, head by head.

    For each of ``measures`` there is also ``NAME-change``: its value in the second model less that in the first, paired by example. Everything else as in
    :func:`headscope.runs.survey`: a stopped run goes on from its checkpoint, and a finished one is opened.
    """
    chosen = make_settings(**settings)
    path = Path(output) if output else None
    stack = chosen.stack or first.main_stack()
    check_alike(first, second, stack)
    run = Comparison(
        first,
        second,
        corpus,
        measures,
        chosen.model_copy(update={"stack": stack}),
        state_path(path, checkpoint),
        every,
    )
    return run.to(path, progress)


def check_alike(first: Model, second: Model, stack: str) -> None:
    """Heads can be put side by side only if both models have the same ones."""
    one = first.shape(stack)
    if stack not in second.shapes:
        raise ModelError(
            f"{first.name} has the stack {stack!r}, {second.name} only {', '.join(second.shapes)}: their heads cannot be compared",
            hint=ALIKE,
        )
    other = second.shape(stack)
    if (one.layers, one.heads) != (other.layers, other.heads):
        raise ModelError(
            f"the two models have different shapes: {first.name} has {one.layers} layers of {one.heads} heads, {second.name} {other.layers} of {other.heads}",
            hint=ALIKE,
        )


class Comparison(Run):
    """A run of two models: what it sums up are the likeness of their maps, and differences."""

    def __init__(
        self,
        first: Model,
        second: Model,
        corpus: Corpus,
        measures: Iterable[str],
        settings: Settings,
        checkpoint: Path | None,
        every: float,
    ) -> None:
        self.second = second
        super().__init__(first, corpus, measures, settings, (1, 1), checkpoint, every)
        self.second_encoder = second.encoder(
            max_length=settings.max_length,
            long=settings.long,
            stack=self.stack,
            token_types=settings.token_types,
        )

    def chosen(self, names: Iterable[str] | None) -> list[type[Measure]]:
        """The likeness, and the differences asked for."""
        asked = [names] if isinstance(names, str) else list(names or ())
        offered = (
            self.corpus.annotations | (self.model.capabilities & self.second.capabilities)
            if asked
            else frozenset[str]()
        )
        return [
            Change,
            *(
                difference_of(measure)
                for measure in (choose(asked, offered, corpus=self.corpus.name) if asked else ())
            ),
        ]

    def encoded(self) -> Iterator[Encoded]:
        """The examples as tokens, which must be the same for both models."""
        for example in self.corpus:
            mine, theirs = (
                list(encoder.encode([example])) for encoder in (self.encoder, self.second_encoder)
            )
            if [item.ids.tolist() for item in mine] != [item.ids.tolist() for item in theirs]:
                one, other = (
                    _tokens(model, items)
                    for model, items in ((self.model, mine), (self.second, theirs))
                )
                raise UserError(
                    f"the two models have different tokenizers: of example {example.id} {self.model.name} makes {one}, {self.second.name} {other}",
                    hint=ALIKE,
                )
            yield from mine

    def forward(self) -> Callable[[Batch], Seen]:
        """Both models, in lockstep."""
        return Lockstep(self.model, self.second, self.measures, self.stack, self.settings.seed).run

    def described(self) -> dict[str, Any]:
        """Both models: what they share once, the rest side by side."""
        one, other = (describe(model, self.stack) for model in (self.model, self.second))
        joined = {
            key: one[key] if one[key] == other[key] else f"{one[key]} and {other[key]}"
            for key in one
        }
        return joined | {
            "name": f"{_short(one['name'])} and {_short(other['name'])}",
            "first": one["name"],
            "second": other["name"],
        }


def _tokens(model: Model, items: Sequence[Encoded]) -> str:
    ids = [token for item in items for token in item.ids.tolist()]
    return " ".join(model.tokenizer.convert_ids_to_tokens(ids[:8])) + (" …" if len(ids) > 8 else "")


def _short(name: str) -> str:
    """A folder by its last part, a hub id whole."""
    return name if name.count("/") < 2 else Path(name).name


class Lockstep:
    """Two models on the same batch, each in a thread of its own. The first hands every map over as soon as it has it, and waits until the one before is taken:
    at most two layers' maps of the first model are held at a time.
    """

    def __init__(
        self, first: Model, second: Model, measures: Sequence[Measure], stack: str, seed: int
    ) -> None:
        self.change, *others = measures
        self.first, self.second = (Pass(model, others, stack, seed) for model in (first, second))
        self.stack = stack

    def run(self, batch: Batch) -> Seen:
        """The cosine of each layer as the second model computes it; differences at the end."""
        handed: Queue[Tensor | None] = Queue(maxsize=1)
        device = self.second.model.device
        prepared = self.change.prepare(batch, device)
        layers: list[Tensor] = []

        def hand_over(view: LayerView) -> None:
            if view.stack == self.stack:
                handed.put(view.attention)

        def lead() -> Seen:
            try:
                return self.first.run(batch, [hand_over])
            finally:
                handed.put(None)  # whoever waits for another layer is told that there is none

        def meet(view: LayerView) -> None:
            if view.stack == self.stack:
                other = handed.get()
                if other is None:
                    ahead.result()  # raises what went wrong there
                    raise AssertionError("the first model has fewer layers than it had")
                layers.append(
                    self.change.layer(
                        view, torch.stack([other.to(device), view.attention]), prepared
                    )
                )

        with ThreadPoolExecutor(1) as pool:
            ahead = pool.submit(lead)
            try:
                after = self.second.run(batch, [meet])
            finally:
                _drain(handed, ahead)
            before = ahead.result()
        values = {self.change.name: torch.stack(layers, 1).cpu().numpy()}
        values |= {name: found - before.values[name] for name, found in after.values.items()}
        return Seen(values, {}, np.where(before.broken >= 0, before.broken, after.broken))


def _drain(handed: Queue[Tensor | None], ahead: Future[Seen]) -> None:
    """Take what is still handed over, so that the first model is never left waiting."""
    while not ahead.done():
        try:
            handed.get(timeout=0.02)
        except Empty:
            continue
