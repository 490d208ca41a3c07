"""Disabling heads (K7; Kovaleva et al. 2019, §4.6): what a model gives with each head, each layer or any set of heads off.

Batch by batch, all runs of a batch: one full pass records the layers' inputs, and a run computes only the layers from its first disabled head up.
Only what the objective reads of each example is kept, so memory grows with examples × runs × classes, not with the model.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headscope.corpus import Corpus
from headscope.encode import Batch, Encoder, batches
from headscope.errors import Interrupted, UserError, unknown
from headscope.heads import HeadsLike
from headscope.models import Model
from headscope.models.replacement import WAYS
from headscope.results import Results
from headscope.runs.ablate.importance import head_importance
from headscope.runs.ablate.objective import Objective
from headscope.runs.ablate.plan import plan
from headscope.runs.ablate.sums import Part, importance_sums, run_sums, together
from headscope.runs.ablate.sweep import Sweep, head_means
from headscope.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from headscope.runs.output import run_to
from headscope.runs.settings import RunSettings, make_settings
from headscope.runs.survey import EVERY, Progress, Tally, describe, versions

REST = 20.0
"""A checkpoint that took a second to write is followed by at least this many seconds of work."""


def ablate(
    model: Model,
    corpus: Corpus,
    objective: Objective,
    *,
    heads: bool = True,
    layers: bool = True,
    sets: Sequence[HeadsLike] = (),
    way: str = "uniform",
    importance: bool = False,
    output: str | Path | None = None,
    progress: Progress | None = None,
    every: float = EVERY,
    **settings: Any,
) -> Results:
    """What the objective reads of every example with nothing off, then with each head, layer and set off in turn.

    ``way`` is uniform (1/L to every visible token), zero or mean (its mean output over the corpus). ``importance`` adds gradient head importance.
    With ``output`` the results are saved there; a stopped run is kept beside it (``.partial``) and goes on when called again; a finished one is opened.
    ``sets`` are written as in "3-9,4-1" or "4-*". :func:`headscope.stats.ablation.scored` adds scores, intervals and tests.
    """
    path = Path(output) if output else None
    run = _Ablation(
        model,
        corpus,
        objective,
        {"heads": heads, "layers": layers, "sets": sets},
        way,
        importance,
        make_settings(**settings),
        path,
        every,
    )
    return run_to(path, run.state, lambda: run.identity, lambda: run.run(progress))


class _Ablation:
    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        objective: Objective,
        what: dict[str, Any],
        way: str,
        importance: bool,
        settings: RunSettings,
        path: Path | None,
        every: float,
    ) -> None:
        if way not in WAYS:
            raise unknown("way to disable a head", way, WAYS)
        if settings.long == "split":
            raise UserError(
                "an example cannot be split here: its answer is one for the whole",
                hint="give long='truncate' or 'drop'",
            )
        self.model, self.objective, self.way, self.importance, self.every = (
            model,
            objective,
            way,
            importance,
            every,
        )
        self.corpus = corpus.first(settings.limit) if settings.limit else corpus
        self.stack = settings.stack or model.main_stack()
        self.settings = settings.model_copy(update={"stack": self.stack})
        self.shape = model.shape(self.stack)
        self.runs = plan(self.shape, **what)
        self.state = path.with_name(path.name + ".partial") if path else None
        self.encoder: Encoder = model.encoder(
            max_length=settings.max_length,
            long=settings.long,
            stack="",
            token_types=settings.token_types,
        )
        self.tally = Tally()
        self.parts: list[Part] = []
        self.next_batch = 0
        self.skips = True

    def run(self, progress: Progress | None) -> Results:
        self._resume()
        torch.manual_seed(self.settings.seed)
        total = self.corpus.size() * len(self.runs) if progress else 0
        means = (
            head_means(self.model, self._batches(self._new_encoder()), self.stack)
            if self.way == "mean"
            else {}
        )
        sweep = Sweep(self.model, self.objective, self.stack, self.way, means)
        saved, pause, done = time.monotonic(), self.every, 0
        tell = progress or (lambda _done, _total: None)
        try:
            for batch in self._batches(self.encoder):
                if batch.index >= self.next_batch:
                    self._add(batch, sweep, partial(_tell, tell, done, len(batch), total))
                done += len(batch) * len(self.runs)
                tell(done, total)
                if self.state and time.monotonic() - saved > pause:
                    began = time.monotonic()
                    self._save()
                    saved = time.monotonic()
                    pause = max(self.every, REST * (saved - began))
        except KeyboardInterrupt:
            raise self._interrupted() from None
        self.skips = sweep.cache.skips
        if not self.parts:
            raise UserError(
                f"no example of {self.corpus.name} can be used: the model's output is not finite for any of them",
                hint="check the model, or give longer texts",
            )
        return self._results()

    def _new_encoder(self) -> Encoder:
        return self.model.encoder(
            max_length=self.settings.max_length,
            long=self.settings.long,
            stack="",
            token_types=self.settings.token_types,
        )

    def _batches(self, encoder: Encoder) -> Iterator[Batch]:
        return batches(
            encoder.encode(self.corpus), size=self.settings.batch_size, pad=self.model.pad
        )

    def _add(self, batch: Batch, sweep: Sweep, tell: Callable[[int], None]) -> None:
        """All runs of one batch. Examples for which the untouched model gives no number (a causal text of one token) are left out."""
        question = self.objective.ask(batch)
        outputs, losses = sweep.outputs(question, self.runs, tell=tell)
        shape = (
            (len(batch), self.shape.layers, self.shape.heads)
            if self.importance
            else (len(batch), 0, 0)
        )
        importance = (
            head_importance(self.model, self.objective, question, self.stack)
            if self.importance
            else np.zeros(shape, np.float32)
        )
        keep = np.isfinite(outputs[0]).all(1)
        lost = [item.example.id for item, kept in zip(batch.items, keep, strict=True) if not kept]
        ids = [item.example.id for item, kept in zip(batch.items, keep, strict=True) if kept]
        gold = question.gold.double().cpu().numpy()
        self.tally = Tally(
            self.tally.seen + len(ids),
            self.tally.nonfinite + len(lost),
            (self.tally.nonfinite_examples + [f"{name}: no finite output" for name in lost])[:20],
        )
        if ids:
            self.parts.append(
                Part(outputs[:, keep], losses[:, keep], gold[keep], importance[keep], ids)
            )
        self.next_batch = batch.index + 1

    def _results(self) -> Results:
        whole = together(self.parts)
        sums = {"ablation": run_sums(self.runs, whole, self.about["objective"], self.way)}
        if self.importance:
            sums["importance"] = importance_sums(whole)
        return Results.build(sums, self._provenance())

    @cached_property
    def about(self) -> dict[str, Any]:
        """Everything that changes the numbers."""
        return {
            "model": describe(self.model, self.stack),
            "corpus": {
                "name": self.corpus.name,
                "format": self.corpus.format,
                "sha256": self.corpus.checksum,
            },
            "settings": self.settings.model_dump(),
            "objective": self.objective.about(),
            "ablation": {
                "way": self.way,
                "runs": [run.name for run in self.runs],
                "importance": self.importance,
            },
        }

    @cached_property
    def identity(self) -> str:
        """A digest of all that: a checkpoint of another run must not be taken up."""
        return hashlib.sha256(
            json.dumps(self.about | {"versions": versions()}, sort_keys=True).encode()
        ).hexdigest()

    def _provenance(self) -> dict[str, Any]:
        return {
            **self.about,
            "shards": ["1/1"],
            "identity": self.identity,
            "counts": {**asdict(self.encoder.counts), **asdict(self.tally)},
            "layer_cache": self.skips,
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }

    def _save(self) -> None:
        if self.state and self.parts:
            whole = together(self.parts)
            arrays = {
                name: getattr(whole, name) for name in ("outputs", "losses", "gold", "importance")
            }
            write_checkpoint(
                self.state,
                Checkpoint(
                    self.identity,
                    self.next_batch,
                    {"tally": asdict(self.tally), "ids": whole.ids},
                    arrays,
                ),
            )

    def _resume(self) -> None:
        found = read_checkpoint(self.state, self.identity) if self.state else None
        if found is not None:
            self.next_batch = found.next_block
            self.tally = Tally(**found.state["tally"])
            self.parts = [Part(**found.arrays, ids=found.state["ids"])]

    def _interrupted(self) -> Interrupted:
        if self.state is None:
            return Interrupted(
                "stopped; nothing was kept",
                hint="give an output file, and a stopped run can be resumed",
            )
        self._save()
        return Interrupted(
            f"stopped after {self.tally.seen} examples; the state is kept in {self.state}",
            hint="type the same command again to go on from there",
        )


def _tell(progress: Progress, done: int, size: int, total: int, runs: int) -> None:
    """Progress within a batch, of which some runs are done."""
    progress(done + runs * size, total)
