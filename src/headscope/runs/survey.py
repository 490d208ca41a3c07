"""A survey: every measure that fits, over a whole corpus, in one pass that can be stopped, resumed and split."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headscope.corpus import Corpus
from headscope.encode import WINDOW, Batch, Encoded, Encoder, batches
from headscope.errors import Interrupted, UserError
from headscope.files import check_writable
from headscope.measures import BLOCKS, Kept, Measure, Setting, Sums, choose
from headscope.models import Model
from headscope.results import Results
from headscope.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from headscope.runs.forward import Pass, Seen
from headscope.runs.output import run_to
from headscope.runs.settings import Settings, make_settings, parse_shard

EVERY = 5.0
"""Seconds between two checkpoints."""

Progress = Callable[[int, int], None]
"""Called with (examples done, examples in all)."""


@dataclass
class Tally:
    """What happened to the examples during the pass."""

    seen: int = 0
    nonfinite: int = 0
    nonfinite_examples: list[str] = field(default_factory=list)


def survey(
    model: Model,
    corpus: Corpus,
    *,
    measures: Iterable[str] | None = None,
    shard: tuple[int, int] = (1, 1),
    output: str | Path | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    every: float = EVERY,
    **settings: Any,
) -> Results:
    """Run a corpus through a model once, with every measure that the corpus allows (or those named).

    ``settings`` are those of :class:`Settings`. With ``output`` the results are saved there; if that file already holds this very run, it is
    opened and nothing is computed. Meanwhile the state is kept beside it (``.partial``, or ``checkpoint``), and the same call made again after an
    interruption goes on from there, to the same numbers. ``shard`` (i, n) does the i-th of n parts.
    """
    chosen = make_settings(**settings)
    parse_shard(f"{shard[0]}/{shard[1]}")  # a part that is none would silently be empty
    path = Path(output) if output else None
    return Run(model, corpus, measures, chosen, shard, state_path(path, checkpoint), every).to(
        path, progress
    )


def state_path(output: Path | None, checkpoint: str | Path | None) -> Path | None:
    """Where the state of a run is kept: where asked, else beside the output."""
    return (
        Path(checkpoint)
        if checkpoint
        else output.with_name(output.name + ".partial")
        if output
        else None
    )


class Run:
    """One pass of a corpus through a model, with what it needs to be stopped, resumed and split."""

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        measures: Iterable[str] | None,
        settings: Settings,
        shard: tuple[int, int],
        checkpoint: Path | None,
        every: float,
    ) -> None:
        self.model = model
        self.corpus = corpus.first(settings.limit) if settings.limit else corpus
        self.stack = settings.stack or model.main_stack()
        if self.stack == "cross":
            raise UserError(
                "cross attention joins two different texts, and cannot be surveyed: its rows and columns are not the same tokens",
                hint="survey the encoder or the decoder; observe cross attention with Model.forward and a listener",
            )
        self.settings = settings.model_copy(update={"stack": self.stack})
        self.shard = shard
        self.path = checkpoint
        self.every = every
        setting = Setting(
            model.shape(self.stack),
            model.causal(self.stack),
            settings.subtypes,
            settings.roles,
            settings.direction,
        )
        self.measures = [measure.study(setting, self.corpus) for measure in self.chosen(measures)]
        self.sums = {measure.name: Sums(measure) for measure in self.measures}
        # Whole windows are kept: within one, batches are sorted by length, and the first of them would be the short examples.
        self.kept_batches = -(-settings.keep // (settings.batch_size * WINDOW)) * WINDOW
        self.kept = {
            measure.name: Kept(measure)
            for measure in self.measures
            if measure.keeps and self.kept_batches
        }
        self.encoder: Encoder = model.encoder(
            max_length=settings.max_length,
            long=settings.long,
            stack=self.stack,
            token_types=settings.token_types,
        )
        self.tally = Tally()
        self.next_batch = 0
        self.whole = True  # false while the sums hold half a batch
        self.yielded = self.done = 0

    def chosen(self, names: Iterable[str] | None) -> list[type[Measure]]:
        """The measures asked for, or all that corpus and model allow."""
        return choose(
            names, self.corpus.annotations | self.model.capabilities, corpus=self.corpus.name
        )

    def encoded(self) -> Iterator[Encoded]:
        """The examples as tokens."""
        return self.encoder.encode(self.corpus)

    def forward(self) -> Callable[[Batch], Seen]:
        """What a batch goes through."""
        return Pass(self.model, self.measures, self.stack, self.settings.seed).run

    def described(self) -> dict[str, Any]:
        """Which model the numbers are of; its weights are read through once for it."""
        return describe(self.model, self.stack)

    def to(self, path: Path | None, progress: Progress | None) -> Results:
        """Run, and save to ``path``; nothing is computed if that file already holds this very run."""
        return run_to(path, self.path, lambda: self.identity, lambda: self.run(progress))

    def run(self, progress: Progress | None) -> Results:
        """Run what is left to be run."""
        self._resume()
        torch.manual_seed(self.settings.seed)
        forward = self.forward()
        total = self.corpus.size() if progress else 0
        saved = time.monotonic()
        try:
            for batch in self._batches():
                if (
                    batch.index >= self.next_batch
                    and (batch.index % BLOCKS) % self.shard[1] == self.shard[0] - 1
                ):
                    self._add(batch, forward)
                self.next_batch = max(self.next_batch, batch.index + 1)
                if progress:
                    progress(self._done(), total)
                if self.path and time.monotonic() - saved > self.every:
                    self._save()
                    saved = time.monotonic()
        except KeyboardInterrupt:
            raise self._interrupted() from None
        sums = {name: sums.dataset() for name, sums in self.sums.items()}
        sums |= {name: sums[name].merge(kept.variables()) for name, kept in self.kept.items()}
        return Results.build(sums, self._provenance())

    def _batches(self) -> Iterator[Batch]:
        for batch in batches(self.encoded(), size=self.settings.batch_size, pad=self.model.pad):
            self.yielded += len(batch)
            yield batch

    def _done(self) -> int:
        """How many examples are done: of those read (a window is read ahead), the share whose parts have been run. Never less than before."""
        counts = self.encoder.counts
        self.done = max(self.done, counts.read * self.yielded // counts.used)
        return self.done

    def _add(self, batch: Batch, forward: Callable[[Batch], Seen]) -> None:
        seen = forward(batch)
        keep = seen.broken < 0
        self.whole = False
        for item, layer in zip(batch.items, seen.broken, strict=True):
            if layer >= 0:
                self.tally.nonfinite += 1
                if len(self.tally.nonfinite_examples) < 20:
                    self.tally.nonfinite_examples.append(
                        f"{item.example.id}: attention is not finite in layer {layer + 1}"
                    )
        self.tally.seen += int(keep.sum())
        for name, values in seen.values.items():
            totals = seen.totals.get(name)
            self.sums[name].add(
                batch.index % BLOCKS, values[keep], None if totals is None else totals[keep]
            )
            if name in self.kept and batch.index < self.kept_batches:
                rows = np.flatnonzero(keep)
                numbers = (batch.index * self.settings.batch_size + rows).tolist()
                self.kept[name].add(
                    numbers, [batch.items[row].example.id for row in rows], values[keep]
                )
        self.next_batch = batch.index + 1
        self.whole = True

    @cached_property
    def identity(self) -> str:
        """A digest of everything that changes the numbers: a checkpoint of another run must not be taken up."""
        about = self.about | {"shard": list(self.shard), "versions": versions()}
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, corpus, settings and measures."""
        return {
            "model": self.described(),
            "corpus": {
                "name": self.corpus.name,
                "format": self.corpus.format,
                "sha256": self.corpus.checksum,
            },
            "settings": self.settings.model_dump(),
            "measures": [measure.name for measure in self.measures],
            "details": {
                measure.name: found for measure in self.measures if (found := measure.identity())
            },
        }

    def _provenance(self) -> dict[str, Any]:
        counts = {**asdict(self.encoder.counts), **asdict(self.tally)}
        return {
            **self.about,
            "shards": [f"{self.shard[0]}/{self.shard[1]}"],
            "identity": self.identity,
            "counts": counts,
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }

    def _save(self) -> None:
        if self.path:
            arrays = {
                f"{name}/{key}": array
                for name, sums in self._stores()
                for key, array in sums.arrays().items()
            }
            write_checkpoint(
                self.path, Checkpoint(self.identity, self.next_batch, asdict(self.tally), arrays)
            )

    def _resume(self) -> None:
        if self.path is None:
            return
        check_writable(self.path)
        found = read_checkpoint(self.path, self.identity)
        if found is None:
            return
        self.next_batch = found.next_batch
        self.tally = Tally(**found.state)
        for name, store in self._stores():
            store.restore({key: found.arrays[f"{name}/{key}"] for key in store.arrays()})

    def _stores(self) -> list[tuple[str, Sums | Kept]]:
        """Everything that a checkpoint must hold, by name."""
        return [*self.sums.items(), *((f"{name}/kept", kept) for name, kept in self.kept.items())]

    def _interrupted(self) -> Interrupted:
        if self.path is None:
            return Interrupted(
                "stopped; nothing was kept",
                hint="give an output file, and a stopped run can be resumed",
            )
        if not self.whole:  # half a batch is in the sums, and would be counted twice: the last checkpoint is what there is
            kept = (
                f"the state of the last checkpoint is kept in {self.path}"
                if self.path.exists()
                else "nothing was kept yet"
            )
            return Interrupted(
                f"stopped in the middle of a batch; {kept}",
                hint="type the same command again to go on from there",
            )
        self._save()
        return Interrupted(
            f"stopped after {self.tally.seen} examples; the state is kept in {self.path}",
            hint="type the same command again to go on from there",
        )


def describe(model: Model, stack: str) -> dict[str, Any]:
    """A model as provenance has it."""
    shape = model.shape(stack)
    return {
        "name": model.name,
        "revision": model.revision,
        "type": model.config.model_type,
        "dtype": str(model.network.dtype).removeprefix("torch."),
        "weights": model.digest,
        "stack": stack,
        "layers": shape.layers,
        "heads": shape.heads,
    }


def versions() -> dict[str, str]:
    """The libraries that numbers depend on."""
    return {
        "python": platform.python_version(),
        **{
            name: version(name)
            for name in ("headscope", "torch", "transformers", "numpy", "xarray")
        },
    }
