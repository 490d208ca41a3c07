"""Checkpoints of one training: the same survey of each, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack, cast

from headscope.corpus import Corpus, CorpusLike, read
from headscope.measures.maps import Maps, check_maps
from headscope.models import Model
from headscope.models.checkpoints import (
    Checkpoint,
    check_configs,
    different,
    find_checkpoints,
    steps_of,
)
from headscope.models.like import ModelLike, using_model
from headscope.models.load_options import LoadOptions
from headscope.progress import ProgressLike
from headscope.results import Atlas
from headscope.results.nested import with_track
from headscope.results.track import CHECKPOINTS
from headscope.runs.engines import EngineName, make_engine
from headscope.runs.parts import JoinedRuns, Part
from headscope.runs.run import EVERY
from headscope.runs.settings import Long, RunSettings, check_examples, make_settings
from headscope.runs.survey import MeasuresLike, Survey, head_for
from headscope.stats.track import track_groups


def track(
    models: ModelLike | Sequence[ModelLike],
    corpus: CorpusLike,
    *,
    revisions: Sequence[str] = (),
    measures: MeasuresLike | None = None,
    maps: Maps = "attention",
    limit: int | None = None,
    max_length: int = 128,
    long: Long = "truncate",
    batch_size: int = 16,
    seed: int = 0,
    stack: str = "",
    token_types: bool = True,
    examples: int = 32,
    synthetic: bool | None = None,
    output: str | Path | None = None,
    every: float = EVERY,
    overwrite: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str = "",
    progress: ProgressLike = False,
    **load: Unpack[LoadOptions],
) -> Atlas:
    """Survey the checkpoints of a training, to see when heads get their roles.

    The checkpoints are surveyed one after the other, so that one model is in memory at a time. A
    run that was stopped resumes: finished checkpoints are kept in the folder ``OUTPUT.parts`` until
    all are done.

    Parameters
    ----------
    models
        The checkpoints, in their order: folders, hub ids, models, or pairs of a network and its
        tokenizer. Or one folder that holds a folder for each checkpoint, as a Trainer writes them
        (``checkpoint-500``, …). Or one hub id, with ``revisions``.
    corpus
        As in :func:`headscope.survey`.
    revisions
        Branches, tags or commits of one hub model, in their order.
    measures, maps, limit, max_length, long, batch_size, seed, stack, token_types, synthetic
        As in :func:`headscope.survey`.
    examples
        How many examples of the last checkpoint to keep, as in :func:`headscope.survey`.
    output, every, overwrite, engine, workers, address, progress
        As in :func:`headscope.survey`.
    **load
        Options of :func:`headscope.load` for models given by name, such as ``dtype``.

    Returns
    -------
    Atlas
        The survey of the last checkpoint, and the values of all checkpoints beside it: see
        :attr:`headscope.Atlas.track`.

    Raises
    ------
    ModelError
        If a folder holds no model, a revision cannot be read, or checkpoints differ in shape.

    See Also
    --------
    headscope.stats.emergence : the first checkpoint from which on a head keeps a role.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.models.random import random_init
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> random = random_init(hs.load("demo"), seed=0)
    >>> atlas = hs.track([random, hs.load("demo")], texts, measures="position")
    >>> hs.stats.emergence(atlas, by="position:previous", least=0.5)["head"].tolist()
    ['1-3']
    """
    check_maps(maps)
    options = cast("dict[str, Any]", dict(load))
    found = find_checkpoints(models, revisions)
    check_configs(found, trust_remote_code=bool(options.get("trust_remote_code")))
    settings = make_settings(
        limit=limit,
        max_length=max_length,
        long=long,
        batch_size=batch_size,
        seed=seed,
        stack=stack,
        token_types=token_types,
    )
    surveys = Checkpoints(
        found,
        read(corpus),
        measures,
        settings,
        load=options,
        engine=(engine, workers, address),
        more={"maps": maps, "synthetic": synthetic, "every": every},
        examples=check_examples(examples),
    )
    return surveys.run(output, overwrite=overwrite).execute(progress)


@dataclass
class Checkpoints:
    """The surveys of all checkpoints, as runs that are joined.

    Parameters
    ----------
    found
        The checkpoints.
    corpus, measures, settings
        Of every survey.
    load
        Options of :func:`headscope.load`.
    engine
        Name, workers and address.
    more
        Further options of :class:`~headscope.runs.survey.Survey`.
    examples
        How many examples of the last checkpoint are kept.
    """

    found: Sequence[Checkpoint]
    corpus: Corpus
    measures: MeasuresLike | None
    settings: RunSettings
    load: dict[str, Any]
    engine: tuple[EngineName, int | None, str]
    more: dict[str, Any]
    examples: int
    shapes: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """The shape of the first model that was loaded, by the checkpoint's name."""

    def run(self, output: str | Path | None, *, overwrite: bool = False) -> JoinedRuns:
        """One survey after the other."""
        parts = [
            Part(one.name, partial(self._survey, number)) for number, one in enumerate(self.found)
        ]
        return JoinedRuns(parts, self.joined, main=-1, output=output, overwrite=overwrite)

    @contextmanager
    def _survey(self, number: int, output: Path | None) -> Iterator[Survey]:
        one, last = self.found[number], number == len(self.found) - 1
        options = self.load | ({"revision": one.revision} if one.revision else {})
        named = isinstance(one.model, str | Path)
        head = head_for(self.measures)
        with using_model(one.model, head=head, **(options if named else {})) as model:
            self._check_shape(one.name, model)
            yield Survey(
                model,
                self.corpus,
                self.measures,
                self.settings,
                **self.more,
                examples=self.examples if last else 0,
                output=output,
                engine=make_engine(*self.engine, size=model.size),
                title=f"surveying {one.name} ({number + 1} of {len(self.found)})",
            )

    def _check_shape(self, name: str, model: Model) -> None:
        shape = model.shape(self.settings.stack or model.main_stack())
        mine = (model.config.model_type, shape.layers, shape.heads)
        first, known = next(iter(self.shapes.items()), (name, mine))
        if mine != known:
            raise different(first, known, name, mine)
        self.shapes.setdefault(first, known)

    def joined(self, found: Sequence[Atlas]) -> Atlas:
        """The last checkpoint, with the values of all beside it."""
        names = [one.name for one in self.found]
        steps: Sequence[int | None] = steps_of(names) or [None] * len(names)
        models = [atlas.provenance["model"] for atlas in found]
        listed = [
            {
                "name": name,
                "step": step,
                "revision": model.get("revision", ""),
                "weights": model.get("weights", ""),
            }
            for name, step, model in zip(names, steps, models, strict=True)
        ]
        last = found[-1]
        notes = [*last.provenance.get("notes", []), *_same_weights(listed)]
        about = last.provenance | {CHECKPOINTS: listed, "notes": notes}
        return with_track(last.described(about), track_groups(found, names))


def _same_weights(listed: Sequence[dict[str, Any]]) -> list[str]:
    """Notes on checkpoints that follow each other with the same weights."""
    return [
        f"the checkpoints {one['name']} and {two['name']} have the same weights"
        for one, two in pairwise(listed)
        if one["weights"] == two["weights"]
    ]
