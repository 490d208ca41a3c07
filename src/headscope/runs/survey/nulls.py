"""Null models: the same survey with random weights, or on texts whose words are shuffled."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from headscope.runs.survey import SurveyOptions
from headscope.runs.survey.surveying import Survey

KEPT, SHUFFLED = "random-weights-keep-embeddings", "shuffled-words"


def survey_run(model: Model, corpus: Corpus, options: SurveyOptions) -> Survey | JoinedRuns:
    """The run of a survey, with its null models if there are any."""
    return (
        NullRuns(model, corpus, options).run() if options.null else Survey(model, corpus, options)
    )


class NullSurvey(Survey):
    """A survey of a null model: the measures of the real one, without single scores."""

    no_examples = "a null model was surveyed"

    def chosen(self, options: SurveyOptions) -> list[Measure]:
        """The measures of the survey, none of which keeps scores of single examples: bands are of
        means.
        """
        slim = [copy.copy(measure) for measure in super().chosen(options)]
        for measure in slim:
            measure.keep = 0
        return slim


@dataclass(frozen=True)
class NullRuns:
    """A survey and its null models, as runs that are joined."""

    model: Model
    corpus: Corpus
    options: SurveyOptions

    def run(self) -> JoinedRuns:
        """The real survey first, then the null models."""
        options = self.options
        real = Part("survey", self._real)
        parts = [real, *(Part(name, partial(self._null, name)) for name in options.null)]
        return JoinedRuns(parts, self.joined, output=options.output, overwrite=options.overwrite)

    def joined(self, results: Sequence[Atlas]) -> Atlas:
        """The real survey with the null models beside it."""
        real, *others = results
        names, seed = self.options.null, self.options.seed
        about = real.provenance | {"nulls": {name: {"seed": seed} for name in names}}
        beside: Mapping[str, Atlas] = dict(zip(names, others, strict=True))
        return with_nulls(real.described(about), beside)

    @contextmanager
    def _real(self, output: Path | None) -> Iterator[Survey]:
        yield Survey(self.model, self.corpus, replace(self.options, output=output))

    @contextmanager
    def _null(self, name: str, output: Path | None) -> Iterator[Survey]:
        title = f"surveying {NULL_WORDS[name]}"
        options = replace(self.options, output=output, checkpoint=None, examples=0)
        if name == SHUFFLED:  # sequences of random tokens have no words to shuffle
            texts = shuffled_words(self.corpus, seed=options.seed)
            shuffled = replace(options, synthetic=False)
            yield NullSurvey(self.model, texts, shuffled, title=title)
            return
        keep = name == KEPT
        with random_init(self.model, seed=options.seed, keep_embeddings=keep) as random:
            yield NullSurvey(random, self.corpus, options, title=title)
