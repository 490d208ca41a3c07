"""Two models run over one corpus in lockstep (Kovaleva et al. 2019, §4.3), and two results.

Layer by layer, each head's map is put beside the other model's. No maps are stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headscope.corpus import Corpus, Example
from headscope.encode import Batch, Encoded, Encoder
from headscope.encode.cross import CrossEncoder
from headscope.errors import ModelError, UserError
from headscope.identity import KEYS, check_same_run
from headscope.measures.base import Context, Measure
from headscope.measures.change import Change, Difference
from headscope.measures.registry import choose
from headscope.models import Model
from headscope.options import Pass
from headscope.results import Atlas
from headscope.runs.compare import CompareOptions
from headscope.runs.engines import Engine, make_engine
from headscope.runs.forward import BatchValues
from headscope.runs.lockstep import Lockstep
from headscope.runs.run import describe, versions
from headscope.runs.survey import SurveyOptions
from headscope.runs.survey.surveying import Survey
from headscope.runs.survey.work import SurveyWork
from headscope.stats.differences import difference_atlas
from headscope.stats.shared import share_labels

ALIKE = "compare models of one shape and one tokenizer, e.g. before and after fine-tuning"


def compare_results(first: Atlas, second: Atlas, options: CompareOptions) -> Atlas:
    """Two results side by side: see :func:`headscope.compare`."""
    shared = share_labels(first, second)
    one, two = first.provenance, second.provenance
    differences = difference_atlas(first, second)
    about = {
        "model": _joined(one["model"], two["model"]) | _shared_shape(differences),
        "corpus": _joined(one["corpus"], two["corpus"]),
        "settings": {},
        "shards": ["1/1"],
        "counts": {},
        "compared": {"first": one, "second": two},
        KEYS: ["compared"],
        "not_compared": shared.sentences(),
        "versions": versions(),
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    differing = Atlas.build(differences, about)
    path = options.path
    if path is not None and path.exists() and not options.overwrite:
        there = Atlas.open(path).provenance
        check_same_run(there, about, f"{path} holds the results of another run")
    return differing if path is None else differing.saved(path)


def _shared_shape(differences: dict[str, xr.Dataset]) -> dict[str, Any]:
    """The layers and heads that two results share, as provenance has them."""
    for dataset in differences.values():
        if {"layer", "head"} <= set(dataset.dims):
            numbers = [int(number) for number in dataset["layer"].values]
            shape = {"layers": len(numbers), "heads": dataset.sizes["head"]}
            gaps = numbers != list(range(1, len(numbers) + 1))
            return shape | ({"layer_numbers": numbers} if gaps else {})
    return {}


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What both have in common once, the rest side by side."""
    return _side_by_side(one, other) | {"first": one.get("name"), "second": other.get("name")}


def _side_by_side(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for key in dict.fromkeys([*one, *other]):
        first, second = one.get(key), other.get(key)
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
    one = first.shape(stack)
    if stack not in second.shapes:
        raise ModelError(
            f"{first.name} has the stack {stack!r}, {second.name} only "
            f"{', '.join(second.shapes)}: their heads cannot be compared",
            hint=ALIKE,
        )
    other = second.shape(stack)
    if (one.layers, one.heads) != (other.layers, other.heads):
        raise ModelError(
            f"the two models have different shapes: {first.name} has {one.layers} layers of "
            f"{one.heads} heads, {second.name} {other.layers} of {other.heads}",
            hint=ALIKE,
        )
    if one.numbers != other.numbers:
        raise ModelError(
            f"the two models have attention in different layers: {first.name} in "
            f"{', '.join(map(str, one.labels))}, {second.name} in "
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
        self.second = second
        surveying = SurveyOptions(**options.subset(CompareOptions), examples=0, synthetic=False)
        super().__init__(first, corpus, surveying, title="comparing")

    def engine_for(self, model: Model, options: SurveyOptions) -> Engine | None:
        """Workers load both models."""
        size = model.size + self.second.size
        return make_engine(options.engine, options.workers, options.address, size=size)

    def make_work(self) -> SurveyWork:
        """Both models on every unit."""
        return CompareWork(
            self.model, self.second, self.measures, self.stack, self.context, self.settings
        )

    def chosen(self, options: SurveyOptions) -> list[Measure]:
        """The likeness, and the differences asked for."""
        if not options.measures:
            return [Change()]
        both = self.model.capabilities & self.second.capabilities
        offered = self.corpus.annotations | both
        asked = choose(options.measures, offered, corpus=self.corpus.name, beside=False)
        return [Change(), *(Difference(measure) for measure in asked)]

    def described(self) -> dict[str, Any]:
        """Both models: what they share once, the rest side by side."""
        one, other = (describe(model, self.stack) for model in (self.model, self.second))
        return _joined(one, other) | {"name": f"{_short(one['name'])} and {_short(other['name'])}"}


class CompareWork(SurveyWork):
    """Two models on the same units."""

    def __init__(
        self,
        first: Model,
        second: Model,
        measures: Sequence[Measure],
        stack: str,
        context: Context,
        settings: Pass,
    ) -> None:
        super().__init__(first, measures, stack, context, settings)
        self.second = second

    def encode(
        self, examples: Iterable[Example], encoder: Encoder | CrossEncoder
    ) -> Iterator[Encoded]:
        """The examples as tokens, which must be the same for both models."""
        other = self.encoder(self.second)
        for example in examples:
            mine, theirs = (list(one.encode([example])) for one in (encoder, other))
            if [item.ids.tolist() for item in mine] != [item.ids.tolist() for item in theirs]:
                raise UserError(
                    f"the two models have different tokenizers: of example {example.id} "
                    f"{self.model.name} makes {_tokens(self.model, mine)}, "
                    f"{self.second.name} {_tokens(self.second, theirs)}",
                    hint=ALIKE,
                )
            yield from mine

    def make_forward(self) -> Callable[[Batch], BatchValues]:
        """Both models, in lockstep."""
        return Lockstep(self.model, self.second, self.measures, self.stack, self.context).run


def _tokens(model: Model, items: Sequence[Encoded]) -> str:
    ids = [token for item in items for token in item.ids.tolist()]
    return " ".join(model.tokenizer.convert_ids_to_tokens(ids[:8])) + (" …" if len(ids) > 8 else "")


def _short(name: str) -> str:
    """A folder by its last part, a hub id whole."""
    return name if name.count("/") < 2 else Path(name).name
