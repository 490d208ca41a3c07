"""Null models: the same survey with random weights, or on texts whose words are shuffled."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headscope.corpus import Corpus
from headscope.corpus.shuffled import shuffled_words
from headscope.measures.base import Measure
from headscope.models import Model
from headscope.models.random import random_init
from headscope.results import Atlas
from headscope.results.nested import NULL_WORDS, with_nulls
from headscope.runs.parts import JoinedRuns, Part
from headscope.runs.survey import MeasuresLike, Survey

KEPT, SHUFFLED = "random-weights-keep-embeddings", "shuffled-words"
Make = Callable[[type[Survey], Model, Corpus, Path | None, str], Survey]
"""Makes a survey with the options of the real one: its kind, the model, the corpus, where it is
saved, and its title."""


class NullSurvey(Survey):
    """A survey of a null model: the measures of the real one, without single scores."""

    no_examples = "a null model was surveyed"

    def chosen(self, measures: MeasuresLike | None) -> list[Measure]:
        """The measures of the survey, none of which keeps scores of single examples: bands are of
        means.
        """
        slim = [copy.copy(measure) for measure in super().chosen(measures)]
        for measure in slim:
            measure.keep = 0
        return slim


@dataclass(frozen=True)
class NullRuns:
    """A survey and its null models, as runs that are joined.

    Parameters
    ----------
    model, corpus, seed
        Of the real survey.
    nulls
        The names of the null models, see :data:`headscope.results.nested.NULLS`.
    make
        Makes a survey with the options of the real one.
    """

    model: Model
    corpus: Corpus
    seed: int
    nulls: Sequence[str]
    make: Make

    def run(self, output: str | Path | None, *, overwrite: bool = False) -> JoinedRuns:
        """The real survey first, then the null models."""
        real = Part("survey", self._real)
        parts = [real, *(Part(name, partial(self._null, name)) for name in self.nulls)]
        return JoinedRuns(parts, self.joined, output=output, overwrite=overwrite)

    def joined(self, found: Sequence[Atlas]) -> Atlas:
        """The real survey with the null models beside it."""
        real, *others = found
        about = real.provenance | {"nulls": {name: {"seed": self.seed} for name in self.nulls}}
        beside: Mapping[str, Atlas] = dict(zip(self.nulls, others, strict=True))
        return with_nulls(real.described(about), beside)

    @contextmanager
    def _real(self, output: Path | None) -> Iterator[Survey]:
        yield self.make(Survey, self.model, self.corpus, output, "surveying")

    @contextmanager
    def _null(self, name: str, output: Path | None) -> Iterator[Survey]:
        title = f"surveying {NULL_WORDS[name]}"
        if name == SHUFFLED:
            texts = shuffled_words(self.corpus, seed=self.seed)
            yield self.make(NullSurvey, self.model, texts, output, title)
            return
        with random_init(self.model, seed=self.seed, keep_embeddings=name == KEPT) as random:
            yield self.make(NullSurvey, random, self.corpus, output, title)
