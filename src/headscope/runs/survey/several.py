"""Surveys made of several: with null models, and of the checkpoints of a training.

A null model has random weights, or reads texts whose words are shuffled.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from headscope.corpus import Corpus
from headscope.corpus.shuffled import shuffled_words
from headscope.files import slug
from headscope.identity import identity_of
from headscope.measures.base import Measure
from headscope.models import Model
from headscope.models.checkpoints import Checkpoint, different, steps_of
from headscope.models.like import using_model
from headscope.models.random import random_init
from headscope.options import Loading, Saving, Workers
from headscope.progress import Reporter
from headscope.results import Atlas
from headscope.results.nested import CHECKPOINTS, NULL_WORDS, with_nulls, with_track
from headscope.runs.run import NOTHING, Run
from headscope.runs.survey import Measuring, SurveyOptions
from headscope.runs.survey.surveying import Survey
from headscope.runs.track import TrackOptions
from headscope.stats.tables.track import track_groups

KEPT, SHUFFLED = "random-weights-keep-embeddings", "shuffled-words"

Part = Callable[[Path | None], AbstractContextManager[Run[Atlas]]]
"""Makes one of the runs, given where its result is kept meanwhile. The model that it needs is
loaded on entering the context, and closed on leaving it."""


class Joined(Run[Atlas]):
    """Runs that are done one after the other and joined, such as a survey and its null models.

    Each of them resumes as it would alone. Until all are done, their results are kept in the folder
    ``OUTPUT.parts``.

    Parameters
    ----------
    options
        Output and overwrite.
    parts
        The runs, by name.
    join
        Makes one of their results, in the order of the parts.
    main
        The place of the part whose results the joined ones are, with the others beside them.
    """

    def __init__(
        self,
        options: Saving,
        parts: Mapping[str, Part],
        join: Callable[[Sequence[Atlas]], Atlas],
        *,
        main: int = 0,
    ) -> None:
        super().__init__(Saving.of(options), "joining")
        self.parts, self.join, self.main = dict(parts), join, main
        self.state_path = None  # each part has its own
        self.folder: Path | None = None
        if self.output is not None:
            self.folder = self.output.with_name(f"{self.output.name}.parts")
        self._abouts: list[dict[str, Any]] = []

    @cached_property
    def about(self) -> dict[str, Any]:
        """The main part's, and the identities of all; models are loaded that were not yet."""
        for part in list(self.parts.values())[len(self._abouts) :]:
            with part(None) as run:
                self._abouts.append(run.about)
        identities = dict(zip(self.parts, map(identity_of, self._abouts), strict=True))
        return {**self._abouts[self.main], "parts": identities}

    def work(self, reporter: Reporter) -> Atlas:
        """Do all runs that are left, and join their results."""
        results = []
        for number, (name, part) in enumerate(self.parts.items(), 1):
            place = None if self.folder is None else self.folder / f"{number:03d}-{slug(name)}.nc"
            with part(place) as run:
                if len(self._abouts) < number:
                    self._abouts.append(run.about)
                run.part, run.overwrite = True, self.overwrite
                results.append(run.execute())
        joined = self.join(results)
        return joined.described(joined.provenance | self.provenance())

    def save(self, result: Atlas) -> None:
        """Write the joined results, then remove those of the parts."""
        super().save(result)
        if self.folder is not None:  # only now: the results are on the disk
            shutil.rmtree(self.folder, ignore_errors=True)

    def kept(self) -> str:
        """What was finished."""
        there = self.folder is not None and any(self.folder.glob("*.nc"))
        return f"what was finished is kept in {self.folder}" if there else NOTHING


# --- null models ---


def survey_run(model: Model, corpus: Corpus, options: SurveyOptions) -> Run[Atlas]:
    """The run of a survey, with its null models if there are any."""
    if not options.null:
        return Survey(model, corpus, options)

    @contextmanager
    def real(output: Path | None) -> Iterator[Survey]:
        yield Survey(model, corpus, replace(options, output=output))

    nulls: dict[str, Part] = {
        str(name): partial(_null, name, model, corpus, options) for name in options.null
    }
    return Joined(options, {"survey": real, **nulls}, partial(_beside_nulls, options))


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


@contextmanager
def _null(
    name: str, model: Model, corpus: Corpus, options: SurveyOptions, output: Path | None
) -> Iterator[Survey]:
    title = f"surveying {NULL_WORDS[name]}"
    options = replace(options, output=output, checkpoint=None, examples=0)
    if name == SHUFFLED:  # sequences of random tokens have no words to shuffle
        texts = shuffled_words(corpus, seed=options.seed)
        yield NullSurvey(model, texts, replace(options, synthetic=False), title=title)
        return
    with random_init(model, seed=options.seed, keep_embeddings=name == KEPT) as random:
        yield NullSurvey(random, corpus, options, title=title)


def _beside_nulls(options: SurveyOptions, results: Sequence[Atlas]) -> Atlas:
    """The real survey with the null models beside it."""
    real, *others = results
    about = real.provenance | {"nulls": {name: {"seed": options.seed} for name in options.null}}
    return with_nulls(real.described(about), dict(zip(options.null, others, strict=True)))


# --- checkpoints of a training ---


def track_run(checkpoints: Sequence[Checkpoint], corpus: Corpus, options: TrackOptions) -> Joined:
    """The run of :func:`headscope.track`: one survey after the other."""
    shapes: dict[str, tuple[object, ...]] = {}  # of the first model that was loaded, by its name
    parts = {
        one.name: partial(_survey, checkpoints, place, corpus, options, shapes)
        for place, one in enumerate(checkpoints)
    }
    return Joined(options, parts, partial(_tracked, checkpoints), main=-1)


@contextmanager
def _survey(
    checkpoints: Sequence[Checkpoint],
    place: int,
    corpus: Corpus,
    options: TrackOptions,
    shapes: dict[str, tuple[object, ...]],
    output: Path | None,
) -> Iterator[Survey]:
    """The survey of one checkpoint. Examples are kept of the last one."""
    checkpoint, count = checkpoints[place], len(checkpoints)
    named = isinstance(checkpoint.model, str | Path)
    loading = Loading.of(options) if named else Loading()
    if checkpoint.revision:
        loading = replace(loading, revision=checkpoint.revision)
    examples = options.examples if place == count - 1 else 0
    shared = options.subset(Measuring) | options.subset(Workers)
    surveying = SurveyOptions(**shared | {"output": output, "examples": examples})
    with using_model(checkpoint.model, loading, head=options.head) as model:
        shape = model.shape(options.stack or model.main_stack())
        mine = (model.config.model_type, shape.layers, shape.heads)
        first, known = next(iter(shapes.items()), (checkpoint.name, mine))
        if mine != known:
            raise different(first, known, checkpoint.name, mine)
        shapes.setdefault(first, known)
        title = f"surveying {checkpoint.name} ({place + 1} of {count})"
        yield Survey(model, corpus, surveying, title=title)


def _tracked(checkpoints: Sequence[Checkpoint], results: Sequence[Atlas]) -> Atlas:
    """The last checkpoint, with the values of all beside it."""
    names = [one.name for one in checkpoints]
    steps: Sequence[int | None] = steps_of(names) or [None] * len(names)
    models = [atlas.provenance["model"] for atlas in results]
    listed = [
        {
            "name": name,
            "step": step,
            "revision": model.get("revision", ""),
            "weights": model.get("weights", ""),
        }
        for name, step, model in zip(names, steps, models, strict=True)
    ]
    same = [
        f"the checkpoints {one['name']} and {two['name']} have the same weights"
        for one, two in pairwise(listed)
        if one["weights"] == two["weights"]
    ]
    last = results[-1].provenance
    about = last | {CHECKPOINTS: listed, "notes": [*last.get("notes", []), *same]}
    return with_track(results[-1].described(about), track_groups(results, names))
