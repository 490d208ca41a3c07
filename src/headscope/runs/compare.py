"""Two models over one corpus, or two results side by side.

Two models are run in lockstep (Kovaleva et al. 2019, §4.3): layer by layer, each head's map beside
the other model's. No maps are stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headscope.corpus import Corpus, CorpusLike, Example, read
from headscope.encode import Batch, Encoded, Encoder
from headscope.encode.cross import CrossEncoder
from headscope.errors import ModelError, UserError
from headscope.identity import KEYS, check_same_run
from headscope.measures.base import Context, Measure
from headscope.measures.change import Change, Difference
from headscope.measures.registry import choose
from headscope.models import Model
from headscope.models.like import ModelLike, using_model
from headscope.progress import ProgressLike
from headscope.results import Atlas
from headscope.runs.engines import Engine, EngineName, make_engine
from headscope.runs.forward import BatchValues
from headscope.runs.lockstep import Lockstep
from headscope.runs.run import EVERY, describe, versions
from headscope.runs.settings import Long, RunSettings, make_settings
from headscope.runs.survey import MeasuresLike, Survey
from headscope.runs.survey_work import SurveyWork
from headscope.stats.differences import difference_atlas
from headscope.stats.shared import share_labels

ALIKE = "compare models of one shape and one tokenizer, e.g. before and after fine-tuning"


def compare(
    first: ModelLike | Atlas,
    second: ModelLike | Atlas,
    corpus: CorpusLike | None = None,
    *,
    measures: MeasuresLike = (),
    limit: int | None = None,
    max_length: int = 128,
    long: Long = "truncate",
    batch_size: int = 16,
    seed: int = 0,
    stack: str = "",
    token_types: bool = True,
    output: str | Path | None = None,
    checkpoint: str | Path | None = None,
    every: float = EVERY,
    overwrite: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str = "",
    progress: ProgressLike = False,
) -> Atlas:
    """Compare two models on a corpus, or two results.

    Two models: the measure ``change`` is the cosine of their maps, head by head; for each of
    ``measures`` there is also ``NAME-change``, its value in the second model minus that in the
    first, paired by example. Two results: for every measure that both have, the difference of their
    means (second minus first) with its interval and p-values, over the labels that they share; the
    provenance lists what only one of them has.

    Parameters
    ----------
    first, second
        Two models of one shape and one tokenizer, each as in :func:`headscope.survey`; or two
        :class:`Atlas`.
    corpus
        What the models are run on; not for results.
    measures
        Measures whose paired differences are computed too, as in :func:`headscope.survey`.
    limit, max_length, long, batch_size, seed, stack, token_types
        As in :func:`headscope.survey`.
    output, checkpoint, every, overwrite, engine, workers, address, progress
        As in :func:`headscope.survey`.

    Returns
    -------
    Atlas

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> atlas = hs.compare("demo", "demo", texts, measures="entropy")
    >>> float(atlas.mean("change").min()) > 0.9999
    True
    """
    if isinstance(first, Atlas) and isinstance(second, Atlas):
        return _compare_results(first, second, corpus, output, overwrite=overwrite)
    if isinstance(first, Atlas) or isinstance(second, Atlas):
        raise UserError(
            "a model and results cannot be compared: give two models or two results",
            hint="survey the model, then compare the two results",
        )
    if corpus is None:
        raise UserError(
            "comparing two models needs a corpus to run them on",
            hint='e.g. hs.compare(first, second, "demo")',
            command="headscope compare FIRST SECOND CORPUS",
        )
    settings = make_settings(
        limit=limit,
        max_length=max_length,
        long=long,
        batch_size=batch_size,
        seed=seed,
        stack=stack,
        token_types=token_types,
    )
    with using_model(first) as one, using_model(second) as two:
        check_alike(one, two, stack or one.main_stack())
        run = Comparison(
            one,
            two,
            read(corpus),
            measures,
            settings,
            output=output,
            checkpoint=checkpoint,
            every=every,
            overwrite=overwrite,
            engine=make_engine(engine, workers, address, size=one.size + two.size),
        )
        return run.execute(progress)


def _compare_results(
    first: Atlas,
    second: Atlas,
    corpus: CorpusLike | None,
    output: str | Path | None,
    *,
    overwrite: bool,
) -> Atlas:
    if corpus is not None:
        raise UserError("results are compared without a corpus", hint="leave the corpus out")
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
    found = Atlas.build(differences, about)
    if output is not None and Path(output).exists() and not overwrite:
        there = Atlas.open(output).provenance
        check_same_run(there, about, f"{output} holds the results of another run")
    return found if output is None else found.saved(output)


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
        self,
        first: Model,
        second: Model,
        corpus: Corpus,
        measures: MeasuresLike,
        settings: RunSettings,
        *,
        output: str | Path | None = None,
        checkpoint: str | Path | None = None,
        every: float = EVERY,
        overwrite: bool = False,
        engine: Engine | None = None,
    ) -> None:
        if settings.stack == "cross":
            raise UserError(
                "cross attention can be surveyed, but not compared token by token",
                hint="survey both models with stack='cross', and compare the results",
                command="survey both models with --stack cross, and compare the files",
            )
        self.second = second
        super().__init__(
            first,
            corpus,
            measures,
            settings,
            output=output,
            checkpoint=checkpoint,
            every=every,
            overwrite=overwrite,
            engine=engine,
            title="comparing",
        )

    def make_work(self) -> SurveyWork:
        """Both models on every unit."""
        return CompareWork(
            self.model, self.second, self.measures, self.stack, self.context, self.settings
        )

    def chosen(self, measures: MeasuresLike | None) -> list[Measure]:
        """The likeness, and the differences asked for."""
        if measures is None or (isinstance(measures, Sequence) and not measures):
            return [Change()]
        both = self.model.capabilities & self.second.capabilities
        offered = self.corpus.annotations | both
        asked = choose(measures, offered, corpus=self.corpus.name, beside=False)
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
        settings: RunSettings,
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
