"""Which heads are disabled in which pass, what is done to a batch, and how long it will take.

Each head, each layer and any sets of heads are disabled in turn, here or in a worker. One full pass
over the batch records the inputs of the layers; each further pass computes only the layers from its
first disabled head up. What the passes gave becomes labelled datasets: the mean loss and its
interval come from sums, kept in the same buckets of documents as those of a survey; scores come
from the outputs of each example. Every example keeps its ``group`` (document), so that intervals
can respect documents.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import bucket_of
from headscope.corpus.example import BUCKETS
from headscope.encode import Batch
from headscope.errors import UserError
from headscope.heads import WINDOW, Head, HeadsLike, head_names
from headscope.models import LayerView, Model, OutputListener, Replacement, Shape
from headscope.models.cache import LayerCache
from headscope.models.model import ModelWork
from headscope.models.replace import FittedReplacement
from headscope.progress import clock
from headscope.results import Atlas
from headscope.results.moments import BucketSums
from headscope.runs.ablate import Scoring
from headscope.runs.ablate.objectives import Objective, Question, example_losses
from headscope.runs.forward import Stacking
from headscope.stats.tables.ablation import agreement as rank_agreement
from headscope.stats.tables.ablation import scored, with_nodes
from headscope.tasks.metrics import METRICS

BASELINE = "none"


@dataclass(frozen=True)
class Disabled:
    """The heads that are disabled in one pass over the examples.

    Parameters
    ----------
    kind
        ``baseline``, ``head``, ``layer`` or ``set``; in a pruning curve, the order of the heads.
    name
        The name in results, counted from 1: ``none``, ``3-9``, ``layer 3`` or ``3-9,4-1``.
    heads
        The disabled heads, in the order of the model.
    """

    kind: str
    name: str
    heads: tuple[Head, ...]

    @property
    def size(self) -> int:
        """How many heads are disabled."""
        return len(self.heads)


NOTHING = Disabled("baseline", BASELINE, ())
"""The pass with all heads."""


def plan(
    shape: Shape,
    *,
    heads: bool = True,
    kv: bool = False,
    layers: bool = True,
    sets: Sequence[HeadsLike] = (),
    importance: bool = False,
) -> list[Disabled]:
    """What to disable, one pass after the other.

    Parameters
    ----------
    shape
        The shape of the model.
    heads, layers
        Whether to disable each head and each layer in turn. The layer of a model that has only one
        is skipped if there is anything else to disable.
    kv
        Disable heads that share keys and values together, as sets, instead of one by one.
    sets
        Sets of heads to disable together, such as ``"3-9,4-1"`` or ``"4-*"``.
    importance
        Whether anything else is computed, so that nothing need be disabled.

    Returns
    -------
    list of Disabled
        The baseline, then heads, layers and sets.

    Raises
    ------
    UserError
        If there is nothing to disable, if the model has no such head, or if a pass would disable
        all heads.

    Examples
    --------
    >>> [off.name for off in plan(Shape(2, 2, 8), sets=["1-2,2-1"])]
    ['none', '1-1', '1-2', '2-1', '2-2', 'layer 1', 'layer 2', '1-2,2-1']
    """
    every = shape.every_head
    passes = [NOTHING]
    if heads and kv:
        sets = [*shape.kv_groups, *sets]
    elif heads:
        passes += [Disabled("head", str(head), (head,)) for head in every]
    if layers and (shape.layers > 1 or not (heads or sets)):
        for layer in shape.numbers:
            chosen = tuple(head for head in every if head.layer == layer)
            passes.append(Disabled("layer", f"layer {layer + 1}", chosen))
    passes += [disabled_set(shape, chosen) for chosen in sets]
    if len(passes) == 1 and not importance:
        raise UserError("there is nothing to disable", hint="give heads, layers or sets")
    for off in passes:
        if off.size == len(every):
            raise UserError(
                f"{off.name} would disable all {off.size} heads of the model, "
                "which leaves nothing to compare",
                hint="leave at least one head enabled",
            )
    return passes


def disabled_set(shape: Shape, heads: HeadsLike, kind: str = "set", name: str = "") -> Disabled:
    """A pass with several heads disabled.

    Parameters
    ----------
    shape
        The shape of the model.
    heads
        The heads, see :func:`headscope.heads.parse_heads`.
    kind, name
        See :class:`Disabled`. The name is that of the heads if it is empty.
    """
    chosen = tuple(sorted(shape.parse(heads)))
    return Disabled(kind, name or head_names(chosen), chosen)


Means = Mapping[int, Tensor]
"""The mean output of every head, {layer from 0: (head, width)}."""
STACKED_TOKENS = 256
"""Passes over a batch of fewer tokens are run several at once, up to about so many tokens. That
takes half as long for 16 tokens, 0.7 times as long for 32, and gains nothing beyond these many.
"""


def _array(tensors: list[Tensor]) -> NDArray[np.float32]:
    return np.asarray(torch.stack(tensors).float().cpu().numpy())


def head_means(model: Model, stream: Iterable[Batch], stack: str) -> dict[int, Tensor]:
    """The mean output of every head over all real tokens: what the way mean puts in its place.

    Parameters
    ----------
    model
        The model.
    stream
        Batches of examples.
    stack
        The stack whose heads are meant.

    Returns
    -------
    dict
        {layer from 0: (head, width)}.
    """
    sums: dict[int, Tensor] = {}
    tokens = 0
    for batch in stream:
        mask = torch.from_numpy(batch.mask).to(model.device)
        tokens += int(mask.sum())

        def listen(view: LayerView, mask: Tensor = mask) -> None:
            if view.stack == stack:
                added = view.output[mask].double().sum(0)
                sums[view.layer] = sums[view.layer] + added if view.layer in sums else added

        with torch.inference_mode():
            model.forward(batch, listeners=[OutputListener(listen)])
    return {layer: total / tokens for layer, total in sums.items()}


def head_importance(
    model: Model, objective: Objective, question: Question, stack: str
) -> NDArray[np.float32]:
    """How much each example's loss depends on a gate ξ on each head's output, |∂loss/∂ξ| at ξ = 1.

    With the output of a head written ξ·o, the derivative is the sum of o · ∂loss/∂o over tokens and
    width. The total loss is a sum over examples, none of which sees another, so one forward and one
    backward pass give each example its own.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    question
        A batch that the objective made.
    stack
        The stack whose heads are meant.

    Returns
    -------
    array
        (example, layer, head).

    References
    ----------
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.1.
    """
    views: list[LayerView] = []

    def listen(view: LayerView) -> None:
        if view.stack == stack:
            views.append(view)

    with torch.enable_grad(), objective.asking(question):
        outputs = objective.read(model.forward(question.batch, listeners=[listen]), question)
        losses = example_losses(objective.metric, outputs, question.gold)
        gradients = torch.autograd.grad(
            losses.nan_to_num(0.0).sum(), [view.output for view in views]
        )
    layers = [
        (gradient * view.output).sum((1, 3)).abs().float()
        for view, gradient in zip(views, gradients, strict=True)
    ]
    return np.asarray(torch.stack(layers, 1).detach().cpu().numpy(), np.float32)


@dataclass(eq=False)
class AblationWork(ModelWork):
    """All passes over a batch. It is sent to each worker once.

    The layers below the first disabled head are not computed again: their outputs are recorded in
    one full pass. Passes that begin in the same layer are run together if the batch is small.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    stack
        The stack whose heads are disabled.
    way
        How: uniform, zero, mean or window.
    window
        For the way window: how many first and how many recent tokens a head sees.
    means, choosing_means
        For the way mean: the mean output of every head, over all examples, and over those that
        choose the heads of a pruning curve.
    seed
        Set before the first batch, for objectives that draw random numbers.
    """

    made_there: ClassVar[tuple[str, ...]] = ("cache", "stacking")

    model: Model
    objective: Objective
    _: KW_ONLY
    stack: str
    way: str
    window: tuple[int, int] = WINDOW
    means: Means | None = None
    choosing_means: Means | None = None
    seed: int = 0

    @cached_property
    def cache(self) -> LayerCache:
        """Runs a batch with heads disabled."""
        torch.manual_seed(self.seed)
        return LayerCache(self.model)

    @cached_property
    def stacking(self) -> Stacking:
        """Whether several passes may be run at once."""
        # Bitsandbytes rounds by what is in a batch, and halves would differ by more than 1e-6.
        exact = not self.model.quantization and self.model.network.dtype == torch.float32
        return Stacking(None if self.objective.by_example and exact else False)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {
            "objective": _exchanged(self.objective, self.model, _TheModel)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.objective = _exchanged(self.objective, _TheModel, self.model)

    def __call__(
        self,
        batch: Batch,
        passes: Sequence[Disabled],
        base: Disabled = NOTHING,
        *,
        pruning: bool = False,
        importance: bool = False,
        update: Callable[[int], None] | None = None,
    ) -> tuple[BatchOutputs, bool]:
        """Run all passes over a batch.

        Parameters
        ----------
        batch
            The examples.
        passes
            What is disabled in each pass; the first one should disable no more than ``base``.
        base
            What all of them disable.
        pruning
            Whether the passes are those of a pruning curve.
        importance
            Whether gradient importance is computed.
        update
            Called with the number of passes done.

        Returns
        -------
        outputs : BatchOutputs
            What the passes gave for the examples that have a finite output in the first one.
        skips : bool
            Whether layers below the first disabled head were skipped.
        """
        cache, question = self.cache, self.objective.ask(batch)
        means = self.choosing_means if pruning else self.means
        outputs, losses = self._run_all(question, passes, base, means, update)
        values = np.zeros((len(batch), 0, 0), np.float32)
        if importance:
            values = head_importance(self.model, self.objective, question, self.stack)
        keep = np.isfinite(outputs[0]).all(1)
        examples = [item.example for item in batch.items]
        used = [example for example, kept in zip(examples, keep, strict=True) if kept]
        finite = BatchOutputs(
            outputs[:, keep],
            losses[:, keep],
            question.gold.double().cpu().numpy()[keep],
            values[keep],
            np.array([bucket_of(example) for example in used], np.int64),
            [example.id for example in used],
            [example.group for example in used],
            [example.id for example, kept in zip(examples, keep, strict=True) if not kept],
        )
        return finite, cache.skips

    def _run_all(
        self,
        question: Question,
        passes: Sequence[Disabled],
        base: Disabled,
        means: Means | None,
        update: Callable[[int], None] | None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The outputs, (pass, example, number), and losses, (pass, example), of each pass."""
        fitted, *offs = (
            Replacement(off.heads, self.way, self.stack, means, self.window).fit(self.model)
            for off in (base, *passes)
        )
        done = 0
        with torch.inference_mode():
            with self.objective.asking(question):
                recorded = self.cache.record(question.batch, replacement=fitted)
                outputs = [self.objective.read(recorded, question)] * len(passes)
            places = [place for place, off in enumerate(passes) if off.heads != base.heads]
            for group in self._groups(question.batch, places, offs):
                chosen = [offs[place] for place in group]
                read = self.stacking.outputs(chosen, lambda some: self._run(question, some))
                for place, output in zip(group, read, strict=True):
                    outputs[place] = output
                done += len(group)
                if update:
                    update(done)
            metric, gold = self.objective.metric, question.gold
            losses = [example_losses(metric, output, gold) for output in outputs]
            return _array(outputs), _array(losses)

    def _groups(
        self, batch: Batch, places: Sequence[int], offs: Sequence[FittedReplacement]
    ) -> list[list[int]]:
        """Some passes, those that are run at once together."""
        by_start: dict[int, list[int]] = {}
        for place in places:
            by_start.setdefault(self.cache.start(offs[place]), []).append(place)
        most = 1 if self.stacking.same is False else max(STACKED_TOKENS // batch.ids.size, 1)
        groups = []
        for alike in by_start.values():
            count = -(-len(alike) // most)  # about equally large
            groups += [alike[part::count] for part in range(count)]
        return groups

    def _run(self, question: Question, offs: Sequence[FittedReplacement]) -> list[Tensor]:
        """The outputs of passes that are run at once."""
        copies = question if len(offs) == 1 else question.repeated(len(offs))
        with self.objective.asking(copies):
            cache = self.cache
            output = cache.forward(offs[0]) if len(offs) == 1 else cache.forward_stacked(offs)
            return list(torch.tensor_split(self.objective.read(output, copies), len(offs)))


class _TheModel:
    """Stands for the model of the work in an objective that is sent with it."""


def _exchanged(objective: Objective, old: Any, new: Any) -> Objective:
    """A copy of an objective with one attribute's value in place of another."""
    changed = copy(objective)
    for name, value in vars(objective).items():
        if value is old:
            setattr(changed, name, new)
    return changed


WARM = 1.0
"""A first pass that takes so many seconds is timed; a shorter one only warms up."""


def time_passes(
    work: AblationWork, batch: Batch, passes: Sequence[Disabled], *, threads: int | None = None
) -> tuple[float, float]:
    """The seconds that one batch takes with all heads, and with some disabled.

    A pass computes the layers from its first disabled head up. Of those passes that begin in the
    middle one of all layers, the mean is about that of all passes.

    Parameters
    ----------
    work
        What is done to a batch.
    batch
        The batch.
    passes
        What is disabled in each pass of the ablation.
    threads
        The threads of a worker; None for those of this process.
    """
    shape = work.model.shape(work.stack)
    places = sorted(_place(off, shape) for off in passes if off.heads)
    middle = places[(len(places) - 1) // 2] if places else -1  # importance alone
    group = [off for off in passes if off.heads and _place(off, shape) == middle]
    group = group[: max(STACKED_TOKENS // batch.ids.size, 1)]
    with _threads(threads):
        full = _seconds(work, batch, [NOTHING])
        if full < WARM:
            full = _seconds(work, batch, [NOTHING])
        if len(group) > 1:  # the first of these are checked against single ones
            work(batch, [NOTHING, *group])
        several = _seconds(work, batch, [NOTHING, *group])
    return full, max(several - full, 0.0) / max(len(group), 1)


def describe_time(seconds: float, *, passes: int, examples: int, workers: int = 1) -> str:
    """The estimate as a sentence.

    Examples
    --------
    >>> describe_time(7400.0, passes=157, examples=408, workers=2)
    '157 passes over 408 examples will take about 1:01:40 with 2 workers'
    """
    share = clock(max(seconds / workers, 1.0))
    by = f" with {workers} workers" if workers > 1 else ""
    return f"{passes} passes over {examples} examples will take about {share}{by}"


def _place(off: Disabled, shape: Shape) -> int:
    """The place of the first layer in which heads are disabled."""
    return min(shape.place(head.layer) for head in off.heads)


def _seconds(work: AblationWork, batch: Batch, passes: Sequence[Disabled]) -> float:
    began = time.perf_counter()
    work(batch, passes)
    return time.perf_counter() - began


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# --- what all passes gave ---

SOURCE = "Kovaleva et al. 2019, §4.6, Figures 8 and 9"
GRADIENTS = "Michel et al. 2019, §4.1"
AXES = {"outputs": 1, "losses": 1, "gold": 0, "importance": 0, "buckets": 0}
"""The arrays of a batch, and which of their axes is that of the examples."""
NAMES = ("ids", "groups", "skipped")
"""Its lists of names."""
CHUNK = 1024
"""Examples that are added at a time."""


@dataclass(frozen=True)
class BatchOutputs:
    """What all passes gave for some examples.

    Parameters
    ----------
    outputs
        (pass, example, number).
    losses
        (pass, example).
    gold
        The right answers, (example,).
    importance
        (example, layer, head); of size 0 if it was not asked for.
    buckets
        The bucket of each example's document, (example,).
    ids, groups
        The names of the examples and of their documents; a document may have none.
    skipped
        The names of examples for which the model with all heads gives no finite output, such as a
        causal text of one token.
    """

    outputs: NDArray[np.float32]
    losses: NDArray[np.float32]
    gold: NDArray[np.float64]
    importance: NDArray[np.float32]
    buckets: NDArray[np.int64]
    ids: list[str]
    groups: list[str]
    skipped: list[str]

    @property
    def examples(self) -> int:
        """How many examples were used or skipped."""
        return len(self.ids) + len(self.skipped)


def join_outputs(parts: Iterable[BatchOutputs]) -> BatchOutputs:
    """Several batches as one."""
    whole: dict[str, Any] = {}
    batches = list(parts)
    for name, axis in AXES.items():
        whole[name] = np.concatenate([getattr(part, name) for part in batches], axis)
    for name in NAMES:
        whole[name] = [item for part in batches for item in getattr(part, name)]
    return BatchOutputs(**whole)


def outputs_dataset(
    passes: Sequence[Disabled],
    outputs: BatchOutputs,
    objective: dict[str, Any],
    way: str,
    *,
    title: str = "Loss with heads disabled",
    source: str = SOURCE,
) -> xr.Dataset:
    """The outputs of all passes as a dataset.

    Parameters
    ----------
    passes
        What was disabled.
    outputs
        What the passes gave.
    objective
        What :meth:`Objective.about` says.
    way
        How heads were disabled.
    title, source
        Attributes of the dataset.

    Returns
    -------
    xarray.Dataset
        The sums of the losses (bucket, run), and each example's outputs (run, example, output),
        right answer and group.
    """
    variables = {
        **_sums(outputs.buckets, outputs.losses.T, ("run",)),
        "outputs": (("run", "example", "output"), outputs.outputs),
        "gold": (("example",), outputs.gold),
        "kind": (("run",), np.array([off.kind for off in passes], object)),
        "off": (("run",), np.array([off.size for off in passes])),
    }
    labels = _labels(outputs) | {"run": np.array([off.name for off in passes], object)}
    metric, name = objective["metric"], objective["name"]
    judged = {"metric": metric, "better": METRICS[metric].better, "way": way, "objective": name}
    return xr.Dataset(variables, labels).assign_attrs(
        title=title, unit="loss", source=source, listed="no", **judged
    )


def importance_dataset(outputs: BatchOutputs, layers: Sequence[int]) -> xr.Dataset:
    """The gradient importance of every head as a dataset, with each example's values.

    Parameters
    ----------
    outputs
        The values.
    layers
        The numbers of the layers, from 1.
    """
    heads = outputs.importance.shape[2]
    variables = {
        **_sums(outputs.buckets, outputs.importance, ("layer", "head")),
        "values": (("example", "layer", "head"), outputs.importance),
    }
    labels = _labels(outputs) | {"layer": list(layers), "head": range(1, heads + 1)}
    return xr.Dataset(variables, labels).assign_attrs(
        title="Gradient head importance", unit="mean |∂loss/∂ξ|", source=GRADIENTS
    )


def _sums(
    buckets: NDArray[np.int64], values: NDArray[np.float32], dims: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
    """Sum, sum of squares and count of finite values, (example, …), by bucket."""
    shape = values.shape[1:]
    total, square = BucketSums(BUCKETS, shape), BucketSums(BUCKETS, shape)
    count = np.zeros((BUCKETS, *shape), np.int64)
    for start in range(0, len(values), CHUNK):
        part, places = values[start : start + CHUNK], buckets[start : start + CHUNK]
        known = np.isfinite(part)
        filled = np.where(known, part, 0.0).astype(np.float64)
        total.add(places.tolist(), filled)
        square.add(places.tolist(), filled**2)
        np.add.at(count, places, known)
    dims = ("bucket", *dims)
    return {
        "sum": (dims, total.values()),
        "square": (dims, square.values()),
        "count": (dims, count),
    }


def _labels(outputs: BatchOutputs) -> dict[str, Any]:
    return {
        "bucket": np.arange(1, BUCKETS + 1),
        "example": np.array(outputs.ids, object),
        "group": ("example", np.array(outputs.groups, object)),
    }


class OutputParts:
    """The outputs of the batches done so far, by their numbers; they may come in any order."""

    def __init__(self) -> None:
        self.batches: dict[int, BatchOutputs] = {}
        self.examples = 0
        """How many examples were used or skipped."""

    def add(self, number: int, outputs: BatchOutputs) -> None:
        """Add a batch. One that is done again takes the place of the first."""
        if number not in self.batches:
            self.examples += outputs.examples
        self.batches[number] = outputs

    def joined(self) -> BatchOutputs | None:
        """All batches as one, in the order of their numbers; None if there is none."""
        ordered = [self.batches[number] for number in sorted(self.batches)]
        return join_outputs(ordered) if ordered else None

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a checkpoint must hold: the names of examples, and arrays, by the batch."""
        batches = self.batches.items()
        names = {
            str(number): {name: getattr(part, name) for name in NAMES} for number, part in batches
        }
        arrays = {
            f"{number}/{name}": getattr(part, name) for number, part in batches for name in AXES
        }
        return names, arrays

    def restore(self, state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what a checkpoint held."""
        for number, names in state.items():
            own: dict[str, Any] = {name: arrays[f"{number}/{name}"] for name in AXES}
            self.add(int(number), BatchOutputs(**own, **names))


def with_scores(atlas: Atlas, options: Scoring) -> Atlas:
    """Add scores, intervals and tests; with gradient importance, its agreement with disabling.

    Parameters
    ----------
    atlas
        The outputs of an ablation, scored or not.
    options
        How scores are computed. They are written to the provenance.
    """
    how = options.subset(Scoring)
    done = scored(atlas, **how)
    if "importance" in done.measures and "head_off" in done.measures:
        agreement = agreement_dataset(done, options.confidence)
        done = with_nodes(done, {"importance_agreement": agreement})
    tree = done.tree.copy()
    tree.attrs["provenance"] = json.dumps(done.provenance | {"scores": how}, sort_keys=True)
    return Atlas(tree)


def agreement_dataset(atlas: Atlas, confidence: float) -> xr.Dataset:
    """The rank agreement of gradient importance with what disabling each head does."""
    table = rank_agreement(atlas, confidence=confidence)
    columns = {"mean": "Spearman", "low": "low", "high": "high", "n": "heads"}
    agreement = xr.Dataset(
        {name: ("against", table[column].to_numpy()) for name, column in columns.items()},
        {"against": table["importance against"].to_numpy(object)},
    )
    return agreement.assign_attrs(
        title="Gradient importance and the effect of disabling heads",
        unit="Spearman's ρ over all heads",
        **{"source": GRADIENTS, "listed": "no", "kind": "correlation"},
    )
