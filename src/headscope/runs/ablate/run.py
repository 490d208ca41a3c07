"""One ablation: every batch with all heads, then with some of them disabled in turn; and the
pruning curve, a model's score with fewer and fewer heads.

One full pass over a batch records the inputs of the layers, and each further pass computes only the
layers from its first disabled head up. Only what the objective reads of each example is kept, so
memory grows with examples × passes × classes, not with the model.

For the curve, heads are removed in three orders: by gradient importance, computed once; greedily,
where the loss decides at each step; and at random. Every second example chooses the heads, and the
curve is that of the others: the examples that chose the heads would flatter them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus import Corpus
from headscope.encode import Batch, Encoded, Encoder
from headscope.encode.batch import WINDOW
from headscope.errors import ModelError, UserError
from headscope.files import uninterrupted
from headscope.heads import Head, head_names, parse_heads
from headscope.models import Model, ModelLike, using_model
from headscope.options import Loading, Pass
from headscope.progress import Update
from headscope.results import Atlas
from headscope.runs.ablate import AblateOptions, Scoring
from headscope.runs.ablate.objectives import (
    LanguageModelObjective,
    Objective,
    TaskObjective,
    as_objective,
)
from headscope.runs.ablate.prune import PruneOptions
from headscope.runs.ablate.work import (
    NOTHING,
    AblationWork,
    BatchOutputs,
    Disabled,
    OutputParts,
    describe_time,
    disabled_set,
    head_importance,
    head_means,
    importance_dataset,
    join_outputs,
    outputs_dataset,
    plan,
    time_passes,
    with_scores,
)
from headscope.runs.preparing import drawn
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.runs.tune.classifier import load_classifier
from headscope.runs.workers import Engine, Here, Work
from headscope.runs.workers import Task as WorkerTask
from headscope.stats.inference.documents import cluster_numbers
from headscope.tasks import Task

# --- the pruning curve ---

SOURCE = "Michel et al. 2019, §4.2"
TITLE = "Loss with fewer and fewer heads"


def random_halves(items: Sequence[Encoded], seed: int) -> tuple[list[Encoded], list[Encoded]]:
    """Examples to choose heads on, and others to score: two halves of the documents.

    They are drawn at random, not taken in turn: the labels of a made task alternate.

    Raises
    ------
    UserError
        If there are fewer than two documents.
    """
    documents = cluster_numbers([item.example.group for item in items])
    if len(set(documents)) < 2:
        raise UserError(
            "pruning needs two documents or more: one half ranks heads, the other judges",
            hint="give more examples",
        )
    order = np.random.default_rng(seed).permutation(max(documents) + 1)
    first = order[documents] % 2 == 0
    ranking, judging = (
        [items[at] for at in np.flatnonzero(half).tolist()] for half in (first, ~first)
    )
    return ranking, judging


class Pruning:
    """The steps of a pruning curve: a greedy search, then batches of the other examples.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    items
        All encoded examples.
    options
        With the stack whose heads are removed.

    Raises
    ------
    UserError
        If there are fewer than two documents.

    References
    ----------
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.2.
    """

    def __init__(
        self, model: Model, objective: Objective, items: Sequence[Encoded], options: AblateOptions
    ) -> None:
        chosen_on, scored = random_halves(items, options.seed)
        self.model, self.objective, self.options = model, objective, options
        self.shape = model.shape(options.stack)
        self.heads = self.shape.every_head
        self.choosing, self.scored = (
            list(model.batches(half, size=options.batch_size)) for half in (chosen_on, scored)
        )
        self.chosen_on = len(chosen_on)
        every, points = len(self.heads), options.prune_points
        counts = {round(every * step / points) for step in range(1, points)}
        self.counts = sorted(counts - {0, every})
        candidates, budget = options.prune_candidates, options.prune_budget
        self.trials = every * (1 + candidates) if budget is None else budget
        self.search = GreedySearch(
            self.heads, self._mean_losses, candidates=candidates, budget=self.trials
        )
        self.parts = OutputParts()
        self.workers: Engine | None = None
        """Those who run batches with heads disabled: set before the first step."""

    @property
    def steps(self) -> int:
        """The number of steps, at most one per head for the search, and one per scored batch."""
        return len(self.heads) + len(self.scored)

    @property
    def total(self) -> int:
        """The work in all steps: passes times examples."""
        scored = sum(len(batch) for batch in self.scored)
        return self.trials * self.chosen_on + (3 * len(self.counts) + 1) * scored

    @property
    def done(self) -> int:
        """The work that is done, in the units of :attr:`total`."""
        over = self.search.finished or self.parts.examples
        trials = self.trials if over else self.search.trials
        return trials * self.chosen_on + (3 * len(self.counts) + 1) * self.parts.examples

    def do(self, step: int) -> None:
        """Do a step. Doing one again changes nothing."""
        if step >= len(self.heads):
            self.parts.add(step, self._outputs([self.scored_batch(step)], self.passes))
        elif not self.search.finished:
            self.search.step()

    def scored_batch(self, step: int) -> Batch:
        """The batch that is scored in a step after the search."""
        return self.scored[step - len(self.heads)]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a checkpoint must hold."""
        search, (parts, arrays) = self.search, self.parts.state()
        kept = {"removed": head_names(search.removed), "trials": search.trials}
        return {"search": kept | {"costs": list(search.costs.values())}, "parts": parts}, arrays

    def restore(self, state: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what a checkpoint held."""
        kept, search = state["search"], self.search
        search.removed = parse_heads(kept["removed"]) if kept["removed"] else ()
        search.costs = dict(zip(self.heads, kept["costs"], strict=False))
        search.trials = kept["trials"]
        self.parts.restore(state["parts"], arrays)

    def dataset(self) -> xr.Dataset:
        """The curves: outputs and losses with fewer and fewer heads, in three orders."""
        outputs = self.parts.joined()
        assert outputs is not None  # there are two examples or more
        about, way = self.objective.about(), self.options.way_title
        dataset = outputs_dataset(self.passes, outputs, about, way, title=TITLE, source=SOURCE)
        orders = {f"order_{kind}": head_names(order) for kind, order in self.orders.items()}
        left = len(self.heads) - dataset["off"]
        return dataset.assign(left=left).assign_attrs(orders, chosen_on=self.chosen_on)

    @cached_property
    def orders(self) -> dict[str, tuple[Head, ...]]:
        """The order in which heads are removed: by importance, greedily, at random."""
        values = mean_importance(self.model, self.objective, self.choosing, self.options.stack)
        shuffled = np.random.default_rng(self.options.seed).permutation(len(self.heads))
        return {
            "importance": tuple(
                self.heads[place] for place in np.argsort(values, axis=None, kind="stable")
            ),
            "greedy": self.search.removed,
            "random": tuple(self.heads[index] for index in shuffled),
        }

    @cached_property
    def passes(self) -> list[Disabled]:
        """What is disabled at each point of each curve, after a pass with all heads."""
        passes = [NOTHING]
        for kind, order in self.orders.items():
            for count in self.counts:
                if count <= len(order):
                    name = f"{kind}, {len(self.heads) - count} left"
                    passes.append(disabled_set(self.shape, order[:count], kind, name))
        return passes

    def _outputs(
        self, chosen: Sequence[Batch], passes: Sequence[Disabled], base: Disabled = NOTHING
    ) -> BatchOutputs:
        """What the passes give for some batches, in their order."""
        how = {"pruning": True}
        tasks = (
            WorkerTask(place, (batch, passes, base), how) for place, batch in enumerate(chosen)
        )
        assert self.workers is not None
        done = dict(self.workers.map(tasks))
        return join_outputs(done[place][0] for place in range(len(chosen)))

    def _mean_losses(self, base: Sequence[Head], tried: Sequence[Head]) -> list[float]:
        """The mean loss without ``base``, then without each tried head as well."""
        start = disabled_set(self.shape, base) if base else NOTHING
        passes = [start, *(disabled_set(self.shape, [*base, head]) for head in tried)]
        losses = self._outputs(self.choosing, passes, start).losses.astype(np.float64)
        return [float(value) for value in np.nanmean(losses, 1)]


def mean_importance(
    model: Model, objective: Objective, batches: Iterable[Batch], stack: str
) -> NDArray[np.float32]:
    """The mean gradient importance of every head over some batches, (layer, head)."""
    values = [head_importance(model, objective, objective.ask(batch), stack) for batch in batches]
    mean: NDArray[np.float32] = np.concatenate(values).mean(0)
    return mean


Losses = Callable[[Sequence[Head], Sequence[Head]], list[float]]
"""The loss with some heads removed, then with each of some others removed as well."""


class GreedySearch:
    """Removes the head that costs least, again and again, until one is left.

    What a head's removal costs is remembered from when it was last tried; only the heads that
    seemed cheapest are tried again.

    Parameters
    ----------
    heads
        All heads.
    losses
        Computes the loss without some heads.
    candidates
        How many heads are tried at each step: those whose removal cost least when last tried.
    budget
        After how many trials the search ends.

    Attributes
    ----------
    removed
        The removed heads, in their order.
    costs
        What removing each head added to the loss when it was last tried.
    trials
        How many trials were made.

    Examples
    --------
    >>> from headscope.heads import head_names
    >>> costs = {Head(0, 0): 3.0, Head(0, 1): 1.0, Head(0, 2): 2.0}
    >>> def losses(base, tried):
    ...     start = sum(costs[head] for head in base)
    ...     return [start, *(start + costs[head] for head in tried)]
    >>> search = GreedySearch(list(costs), losses, candidates=2, budget=99)
    >>> while not search.finished:
    ...     search.step()
    >>> head_names(search.removed)
    '1-2,1-3'
    """

    def __init__(
        self, heads: Sequence[Head], losses: Losses, *, candidates: int, budget: int
    ) -> None:
        self.heads, self.losses = tuple(heads), losses
        self.candidates, self.budget = candidates, budget
        self.removed: tuple[Head, ...] = ()
        self.costs: dict[Head, float] = {}
        self.trials = 0

    @property
    def finished(self) -> bool:
        """Whether one head is left, or the budget does not suffice for another step."""
        left = len(self.heads) - len(self.removed)
        over = left <= 1 or self.trials + min(self.candidates, left) > self.budget
        return bool(self.costs) and over

    def step(self) -> None:
        """Try each head alone at first; afterwards remove one head."""
        first = not self.costs
        tried = self.heads if first else self._cheapest()
        start, *losses = self.losses(self.removed, tried)
        costs = {head: loss - start for head, loss in zip(tried, losses, strict=True)}
        with uninterrupted():  # a checkpoint holds all of a step, or nothing
            self.costs = self.costs | costs
            self.trials += len(tried)
            self.removed += () if first else (min(tried, key=costs.__getitem__),)

    def _cheapest(self) -> Sequence[Head]:
        """The heads to try again, of those that are left."""
        left = [head for head in self.heads if head not in self.removed]
        return sorted(left, key=self.costs.__getitem__)[: self.candidates]


# --- the run ---

NO_TASK = "give task= and data= for a tuned classifier, or choose a masked or causal language model"
PRUNING = "pruning/"
"""Begins the names of the pruning curve's arrays in a checkpoint."""
IMPORTANCE = 3.0
"""Gradient importance takes about as long as so many full passes."""
SHOWN = 20
"""How many of the skipped examples are named in the provenance."""


class AblationRun(Run[Atlas]):
    """A resumable ablation. Blocks of work are batches, then the steps of a pruning curve.

    Parameters
    ----------
    model, corpus, objective
        The model, the examples and what it is judged by.
    options
        What is disabled, and how.
    """

    def __init__(
        self, model: Model, corpus: Corpus, objective: Objective, options: AblateOptions
    ) -> None:
        super().__init__(options, "disabling heads", size=model.size)
        self.model, self.objective = model, objective
        self.options = replace(options, stack=options.stack or model.main_stack())
        self.shape = model.shape(self.options.stack)
        self.corpus = drawn(corpus, options)
        self.passes = plan(
            self.shape,
            heads=options.heads,
            kv=options.kv,
            layers=options.layers,
            sets=options.sets,
            importance=options.importance,
        )
        self.encoder = self._new_encoder()
        self.parts = OutputParts()
        self.skips = True
        self.batch_count = 0

    @cached_property
    def about(self) -> dict[str, Any]:
        """Everything that changes the outputs. Scores are computed again if they differ."""
        options = self.options
        curve = {
            "candidates": options.prune_candidates,
            "budget": options.prune_budget,
            "points": options.prune_points,
        }
        return {
            "model": describe(self.model, options.stack),
            "corpus": self.corpus.about,
            "settings": options.subset(Pass),
            "objective": self.objective.about(),
            "ablation": {
                "way": options.way_title,
                "runs": [off.name for off in self.passes],
                "importance": options.importance,
                "prune": curve if options.prune else None,
            },
        }

    @cached_property
    def works(self) -> AblationWork:
        """What is done to every batch."""
        options = self.options
        means = chosen = None
        if options.way == "mean":
            means = head_means(self.model, self._batches(self._new_encoder()), options.stack)
            if self.pruning:
                chosen = head_means(self.model, self.pruning.choosing, options.stack)
        return AblationWork(
            self.model,
            self.objective,
            stack=options.stack,
            way=options.way,
            window=options.window,
            means=means,
            choosing_means=chosen,
            seed=options.seed,
        )

    @cached_property
    def pruning(self) -> Pruning | None:
        """The steps of the pruning curve."""
        if not self.options.prune:
            return None
        items = list(self._new_encoder().encode(self.corpus))
        return Pruning(self.model, self.objective, items, self.options)

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
            torch.manual_seed(self.options.seed)

    def estimate(self) -> float | None:
        """The seconds that the rest of the run would take one worker; None if there is no text."""
        window = list(islice(self._batches(self._new_encoder()), WINDOW))
        if not window:
            return None
        batch, options = window[len(window) // 2], self.options
        threads = self.engine.threads if self.engine else None
        full, disabled = time_passes(self.works, batch, self.passes, threads=threads)
        total = full * (1 + IMPORTANCE * options.importance) + disabled * (len(self.passes) - 1)
        total *= self.examples
        if self.pruning:  # most of its passes disable heads of low layers
            total += full * self.pruning.total
        done, all_work = self.progress()
        tokens = sum(batch.ids.size for batch in window) / sum(map(len, window))  # of an example
        return total * tokens / batch.ids.size * (1 - done / all_work)

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
        outputs = self.works(
            batch,
            self.passes,
            importance=self.options.importance,
            update=lambda passes: update(done + passes * len(batch), total),
        )
        self.absorb(block.index, outputs)

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

    def task(self, block: Block) -> WorkerTask:
        """A batch, and what is disabled."""
        if self.pruning and isinstance(block.work, int):
            batch = self.pruning.scored_batch(block.work)
            return WorkerTask(block.index, (batch, self.pruning.passes), {"pruning": True})
        return WorkerTask(
            block.index, (block.work, self.passes), {"importance": self.options.importance}
        )

    def absorb(self, index: int, result: tuple[BatchOutputs, bool]) -> None:
        """Keep the outputs of a batch."""
        outputs, skips = result
        step = index - self.batch_count
        if self.pruning and step >= len(self.pruning.heads):
            self.pruning.parts.add(step, outputs)
            return
        self.parts.add(index, outputs)
        self.skips = self.skips and skips

    def progress(self) -> tuple[int, int]:
        """Examples times passes."""
        done, total = (self.pruning.done, self.pruning.total) if self.pruning else (0, 0)
        passes = len(self.passes)
        return self.parts.examples * passes + done, self.examples * passes + total

    def so_far(self) -> str:
        """What has been done, for the message after Ctrl-C."""
        examples = sum(len(part.ids) for part in self.parts.batches.values())
        if self.pruning and self.pruning.search.trials:
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
        self.parts.restore(state["parts"], arrays)
        self.skips = state["skips"]
        if self.pruning:
            own = ((name.partition(PRUNING), array) for name, array in arrays.items())
            pruned = {name: array for (before, prefix, name), array in own if prefix and not before}
            self.pruning.restore(state["pruning"], pruned)

    def result(self) -> Atlas:
        """Outputs, scores, intervals and tests, and whatever else was asked for."""
        outputs = self.parts.joined()
        if outputs is None or not outputs.ids:
            raise UserError(
                f"no example of {self.corpus.name} can be used: "
                "the model's output is not finite for any of them",
                hint="check the model, or give longer texts",
            )
        about, way = self.about["objective"], self.options.way_title
        groups = {"ablation": outputs_dataset(self.passes, outputs, about, way)}
        if self.options.importance:
            groups["importance"] = importance_dataset(outputs, self.shape.labels)
        if self.pruning:
            groups["pruning"] = self.pruning.dataset()
        skipped = [f"{name}: no finite output" for name in outputs.skipped[:SHOWN]]
        counts = {
            "seen": len(outputs.ids),
            "nonfinite": len(outputs.skipped),
            "nonfinite_examples": skipped,
        }
        provenance = self.provenance() | {
            "counts": {**asdict(self.encoder.counts), **counts},
            "layer_cache": self.skips,
            "notes": [*self.corpus.notes, *self.model.notes],
        }
        return with_scores(Atlas.build(groups, provenance), self.options)

    def finished(self) -> Atlas | None:
        """The results of this run, if the output holds them; scored again if options differ."""
        opened = super().finished()
        if opened is None or opened.provenance.get("scores") == self.options.subset(Scoring):
            return opened
        again = with_scores(opened, self.options)
        again.save(str(self.output))
        return again

    def _new_encoder(self) -> Encoder:
        return self.model.encoder(
            max_length=self.options.max_length,
            long=self.options.long,
            stack="",
            token_types=self.options.token_types,
        )

    def _batches(self, encoder: Encoder) -> Iterator[Batch]:
        return self.model.batches(encoder.encode(self.corpus), size=self.options.batch_size)


@contextmanager
def judged(
    model: ModelLike, task: Task | None, options: AblateOptions | PruneOptions
) -> Iterator[tuple[Model, Objective]]:
    """A model and what it is judged by; a network that was wrapped is put back at the end."""
    head: Literal["lm"] | None = "lm" if isinstance(model, str | Path) else None
    with ExitStack() as stack:
        if task is not None and isinstance(model, str | Path):
            how = options.subset(Loading)
            used, _ = load_classifier(model, task, seed=options.seed, **how)
        elif task is not None or options.objective is not None:
            used = stack.enter_context(using_model(model, options))
        else:
            try:
                used = stack.enter_context(using_model(model, options, head=head))
            except ModelError as error:
                if "language-model head" not in error.message:
                    raise
                raise ModelError(f"{error.message}; and no task was given", hint=NO_TASK) from None
        if task is not None:
            yield used, TaskObjective(used, task, options.metric)
        elif options.objective is not None:
            yield used, as_objective(options.objective, options.metric)
        else:
            yield used, LanguageModelObjective(used, options.seed)
