"""The surveys of several checkpoints, joined to one result: the run of :func:`headscope.track`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from headscope.corpus import Corpus
from headscope.models import Model
from headscope.models.checkpoints import Checkpoint, different, steps_of
from headscope.models.like import using_model
from headscope.options import Loading, Workers
from headscope.results import Atlas
from headscope.results.nested import CHECKPOINTS, with_track
from headscope.runs.parts import JoinedRuns, Part
from headscope.runs.survey import Measuring, SurveyOptions
from headscope.runs.survey.surveying import Survey
from headscope.runs.track import TrackOptions
from headscope.stats.track import track_groups


@dataclass
class Checkpoints:
    """The surveys of all checkpoints, as runs that are joined."""

    found: Sequence[Checkpoint]
    corpus: Corpus
    options: TrackOptions
    shapes: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """The shape of the first model that was loaded, by the checkpoint's name."""

    def run(self) -> JoinedRuns:
        """One survey after the other."""
        parts = [
            Part(one.name, partial(self._survey, number)) for number, one in enumerate(self.found)
        ]
        options = self.options
        return JoinedRuns(
            parts, self.joined, main=-1, output=options.output, overwrite=options.overwrite
        )

    @contextmanager
    def _survey(self, number: int, output: Path | None) -> Iterator[Survey]:
        one, last = self.found[number], number == len(self.found) - 1
        named = isinstance(one.model, str | Path)
        loading = Loading.of(self.options) if named else Loading()
        if one.revision:
            loading = replace(loading, revision=one.revision)
        examples = self.options.examples if last else 0
        options = SurveyOptions(
            **self.options.subset(Measuring)
            | self.options.subset(Workers)
            | {"output": output, "examples": examples}
        )
        with using_model(one.model, loading, head=options.head) as model:
            self._check_shape(one.name, model)
            title = f"surveying {one.name} ({number + 1} of {len(self.found)})"
            yield Survey(model, self.corpus, options, title=title)

    def _check_shape(self, name: str, model: Model) -> None:
        shape = model.shape(self.options.stack or model.main_stack())
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
