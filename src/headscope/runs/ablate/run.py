"""One ablation: every batch with all heads, then with some of them disabled in turn.

One full pass over a batch records the inputs of the layers, and each further pass computes only the
layers from its first disabled head up. Only what the objective reads of each example is kept, so
memory grows with examples × passes × classes, not with the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import islice
from typing import Any

import torch

from headscope.encode import Batch, Encoder
from headscope.encode.batch import WINDOW
from headscope.errors import UserError
from headscope.options import Pass, Workers
from headscope.progress import Update
from headscope.results import Atlas
from headscope.runs.ablate.estimate import describe_time, time_passes, tokens_of_example
from headscope.runs.ablate.inputs import AblationInputs
from headscope.runs.ablate.outputs import (
    BatchOutputs,
    importance_dataset,
    outputs_dataset,
)
from headscope.runs.ablate.parts import OutputParts
from headscope.runs.ablate.plan import Disabled
from headscope.runs.ablate.prune import PruneSettings, Pruning
from headscope.runs.ablate.scores import with_scores
from headscope.runs.ablate.settings import ScoreSettings
from headscope.runs.ablate.sweep import head_means
from headscope.runs.ablate.work import AblationWork
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.runs.workers import Here, Task, Work

PRUNING = "pruning/"
"""Begins the names of the pruning curve's arrays in a checkpoint."""
SHOWN = 20
"""How many of the skipped examples are named in the provenance."""


class AblationRun(Run[Atlas]):
    """A resumable ablation. Blocks of work are batches, then the steps of a pruning curve.

    Parameters
    ----------
    inputs
        The model, the examples and the objective.
    passes
        What is disabled in each pass; the first one has all heads.
    settings
        How the examples are run through the model.
    way
        How heads are disabled.
    importance
        Whether gradient importance is computed.
    prune
        How a pruning curve is computed; None computes none.
    scores
        How scores are computed.
    options
        Output, checkpoint, engine and progress.
    """

    def __init__(
        self,
        inputs: AblationInputs,
        passes: Sequence[Disabled],
        settings: Pass,
        *,
        way: str,
        importance: bool = False,
        prune: PruneSettings | None = None,
        scores: ScoreSettings | None = None,
        options: Workers | None = None,
    ) -> None:
        super().__init__(options or Workers(), "disabling heads", size=inputs.model.size)
        self.model, self.objective = inputs.model, inputs.objective
        self.shape = inputs.model.shape(settings.stack)
        self.corpus = inputs.corpus.first(settings.limit)
        self.passes, self.settings, self.way = list(passes), settings, way
        self.importance, self.prune = importance, prune
        self.scores = scores or ScoreSettings()
        self.encoder = self._new_encoder()
        self.parts = OutputParts()
        self.skips = True
        self.pruning_done = self.batch_count = 0

    @cached_property
    def about(self) -> dict[str, Any]:
        """Everything that changes the outputs. Scores are computed again if they differ."""
        return {
            "model": describe(self.model, self.settings.stack),
            "corpus": self.corpus.about,
            "settings": asdict(self.settings),
            "objective": self.objective.about(),
            "ablation": {
                "way": self.way,
                "runs": [off.name for off in self.passes],
                "importance": self.importance,
                "prune": asdict(self.prune) if self.prune else None,
            },
        }

    @cached_property
    def works(self) -> AblationWork:
        """What is done to every batch."""
        stack = self.settings.stack
        means = chosen = None
        if self.way == "mean":
            means = head_means(self.model, self._batches(self._new_encoder()), stack)
            if self.pruning:
                chosen = head_means(self.model, self.pruning.choosing, stack)
        return AblationWork(
            self.model,
            self.objective,
            stack=stack,
            way=self.way,
            means=means,
            choosing_means=chosen,
            seed=self.settings.seed,
        )

    @cached_property
    def pruning(self) -> Pruning | None:
        """The steps of the pruning curve."""
        if self.prune is None:
            return None
        return Pruning(
            self.model,
            self.objective,
            stack=self.settings.stack,
            way=self.way,
            items=list(self._new_encoder().encode(self.corpus)),
            settings=self.prune,
            batch_size=self.settings.batch_size,
            seed=self.settings.seed,
        )

    @cached_property
    def examples(self) -> int:
        """The number of examples in the corpus."""
        return self.corpus.size()

    def begin(self) -> None:
        """Measure some passes, if anybody wants to know how long the run will take."""
        if self.reporter.visible:
            seconds = self.estimate()
            if seconds is not None:
                workers = self.engine.workers if self.engine else 1
                sizes = {"passes": len(self.passes), "examples": self.examples, "workers": workers}
                curve = ", with the pruning curve" if self.pruning else ""
                self.reporter.say(describe_time(seconds, **sizes) + curve)
            torch.manual_seed(self.settings.seed)

    def estimate(self) -> float | None:
        """The seconds that the rest of the run would take one worker; None if there is no text."""
        window = list(islice(self._batches(self._new_encoder()), WINDOW))
        if not window:
            return None
        threads = self.engine.threads if self.engine else None
        times = time_passes(self.works, window[len(window) // 2], self.passes, threads=threads)
        total = times.sweep(self.passes, self.shape, importance=self.importance) * self.examples
        if self.pruning:  # most of its passes disable heads of low layers
            total += times.lowest * self.pruning.total
        done, all_work = self.progress()
        return total * tokens_of_example(window) / times.tokens * (1 - done / all_work)

    def blocks(self) -> Iterator[Block]:
        """Batches of examples, then the steps of the pruning curve."""
        yield from self._batch_blocks()
        yield from self._pruning_blocks()

    def _batch_blocks(self) -> Iterator[Block]:
        for batch in self._batches(self.encoder):
            self.batch_count = batch.index + 1
            yield Block(batch.index, batch)

    def _pruning_blocks(self) -> Iterator[Block]:
        for step in range(self.pruning.steps if self.pruning else 0):
            yield Block(self.batch_count + step, step)

    def do(self, block: Block, update: Update) -> None:
        """Do one block. Nothing is remembered before it is done, and doing it again is harmless."""
        self.whole = True
        if self.pruning and isinstance(block.work, int):
            self.pruning.workers = self.pruning.workers or Here(self.works)
            self.pruning.do(block.work)
            return
        batch: Batch = block.work
        done, total = self.progress()
        found = self.works(
            batch,
            self.passes,
            importance=self.importance,
            update=lambda passes: update(done + passes * len(batch), total),
        )
        self.absorb(block.index, found)

    def all_blocks(self, update: Update) -> None:
        """Do all blocks that are left. Workers do each step of the pruning curve together."""
        if self.engine is None:
            super().all_blocks(update)
            return
        with self.engine.start(self.works) as workers:
            self.hand_out(workers, self._batch_blocks(), update)
            if self.pruning:
                self.pruning.workers = workers
                steps = list(self._pruning_blocks())
                search = len(self.pruning.heads)
                self.do_blocks(steps[:search], update)
                self.hand_out(workers, steps[search:], update)

    def ship(self) -> Work:
        """The same work for workers elsewhere."""
        return self.works

    def task(self, block: Block) -> Task:
        """A batch, and what is disabled."""
        if self.pruning and isinstance(block.work, int):
            batch = self.pruning.scored_batch(block.work)
            return Task(block.index, (batch, self.pruning.passes), {"pruning": True})
        return Task(block.index, (block.work, self.passes), {"importance": self.importance})

    def absorb(self, index: int, result: tuple[BatchOutputs, bool]) -> None:
        """Keep the outputs of a batch."""
        found, skips = result
        step = index - self.batch_count
        if self.pruning and step >= len(self.pruning.heads):
            self.pruning.parts.add(step, found)
            self.pruning_done = self.pruning.work_after(step)
            return
        self.parts.add(index, found)
        self.skips = self.skips and skips

    def passed(self, block: Block) -> None:
        """Count the work that is done."""
        if self.pruning and isinstance(block.work, int):
            self.pruning_done = self.pruning.work_after(block.work)

    def progress(self) -> tuple[int, int]:
        """Examples times passes."""
        pruned = self.pruning.total if self.pruning else 0
        done = self.parts.examples * len(self.passes) + self.pruning_done
        return done, self.examples * len(self.passes) + pruned

    def so_far(self) -> str:
        """What has been done, for the message after Ctrl-C."""
        examples = sum(len(part.ids) for part in self.parts.found.values())
        if self.pruning and self.pruning.search.state.trials:
            return f"{examples} examples and a part of the pruning curve"
        return f"{examples} examples"

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The outputs so far, and those of the pruning curve."""
        parts, arrays = self.parts.state()
        state: dict[str, Any] = {"parts": parts, "skips": self.skips}
        if self.pruning:
            state["pruning"], pruned = self.pruning.state()
            arrays |= {f"{PRUNING}{name}": array for name, array in pruned.items()}
        return state, arrays

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Continue from a checkpoint."""
        own = {name: array for name, array in arrays.items() if not name.startswith(PRUNING)}
        self.parts.restore(state["parts"], own)
        self.skips = state["skips"]
        if self.pruning:
            pruned = {
                name.removeprefix(PRUNING): array
                for name, array in arrays.items()
                if name.startswith(PRUNING)
            }
            self.pruning.restore(state["pruning"], pruned)

    def result(self) -> Atlas:
        """Outputs, scores, intervals and tests, and whatever else was asked for."""
        found = self.parts.joined()
        if found is None or not found.ids:
            raise UserError(
                f"no example of {self.corpus.name} can be used: "
                "the model's output is not finite for any of them",
                hint="check the model, or give longer texts",
            )
        about = self.about["objective"]
        groups = {"ablation": outputs_dataset(self.passes, found, about, self.way)}
        if self.importance:
            groups["importance"] = importance_dataset(found, self.shape.labels)
        if self.pruning:
            groups["pruning"] = self.pruning.dataset()
        counts = {
            "seen": len(found.ids),
            "nonfinite": len(found.skipped),
            "nonfinite_examples": [f"{name}: no finite output" for name in found.skipped[:SHOWN]],
        }
        provenance = self.provenance() | {
            "counts": {**asdict(self.encoder.counts), **counts},
            "layer_cache": self.skips,
            "notes": [*self.corpus.notes, *self.model.notes],
        }
        return with_scores(Atlas.build(groups, provenance), self.scores)

    def finished(self) -> Atlas | None:
        """The results of this run, if the output holds them; scored again if options differ."""
        found = super().finished()
        if found is None or found.provenance.get("scores") == asdict(self.scores):
            return found
        again = with_scores(found, self.scores)
        again.save(str(self.output))
        return again

    def _new_encoder(self) -> Encoder:
        return self.model.encoder(
            max_length=self.settings.max_length,
            long=self.settings.long,
            stack="",
            token_types=self.settings.token_types,
        )

    def _batches(self, encoder: Encoder) -> Iterator[Batch]:
        return self.model.batches(encoder.encode(self.corpus), size=self.settings.batch_size)
