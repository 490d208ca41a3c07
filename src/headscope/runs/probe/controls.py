"""Controls of a probing run: control tasks, description length, and random heads beside the best.

They say whether a score comes from the head or from the classifier, and whether choosing heads by
validation is better than choosing any. The description length is how many bits the labels take,
given a head's vectors.

References
----------
Krichevsky and Trofimov (1981), The Performance of Universal Encoding, IEEE Transactions on
Information Theory 27(2).
Voita and Titov (2020), Information-Theoretic Probing with Minimum Description Length, EMNLP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import log, log1p
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from headscope.errors import CorpusError
from headscope.heads import Head
from headscope.models import Model
from headscope.progress import ProgressLike, as_reporter
from headscope.results import Atlas
from headscope.runs.probe import Probing, Vectors
from headscope.runs.probe.classify import classify, standardise
from headscope.runs.probe.linear import Problems, solve
from headscope.runs.probe.rows import LabelledRows, task_texts
from headscope.runs.probe.task import TaskProbe, TaskResults, count_repeats, joined
from headscope.runs.probe.vectors import HeadOutputs, make_head_outputs
from headscope.tasks.probing import control_task, first_word
from headscope.tasks.task import SPLITS, ProbingTask

DRAWS, SETS = 3, 20
"""How many control tasks and how many sets of random heads are drawn."""
MOST_CLASSES = 100
"""Tasks with more classes have no description length: it would take too long."""
ENDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Where blocks end, as shares of the training examples."""


def probe_controls(
    model: Model,
    tasks: Sequence[ProbingTask],
    results: Atlas,
    options: Probing,
    *,
    cache: Path,
    draws: int = DRAWS,
    sets: int = SETS,
    progress: ProgressLike = False,
) -> Atlas:
    """Compute the controls of a probing run.

    Parameters
    ----------
    model
        The model that was probed.
    tasks
        The tasks; those with numbers instead of classes are skipped.
    results
        What :func:`headscope.probe` returned for them.
    options
        The options of that run.
    cache
        Folder of vectors.
    draws
        How many control tasks are drawn.
    sets
        How many sets of random heads are drawn.
    progress
        True for a progress bar.

    Returns
    -------
    Atlas
        ``probe_control`` (task, layer, head): the mean test score on the control tasks
        (``control_task``), the selectivity, the description length in bits and the compression;
        ``control_size`` is the mean number of test examples of the control tasks.
        ``probe_random`` (task, set): test scores of random heads beside the top heads.
        ``probe_embeddings`` (task): the test score of the embeddings alone.
        ``probe_splits`` and ``probe_splits_top``: repeated splits of small tasks.
    """
    reporter = as_reporter(progress)
    chosen = [task for task in tasks if task.labels]
    texts = task_texts(chosen, options.pairs)
    outputs = make_head_outputs(model, texts, cache, **options.subset(Vectors))
    options = replace(options, control=False, n=options.n or outputs.shape.heads)
    groups: list[Mapping[str, xr.Dataset]] = []
    with reporter.progress(f"controls of {model.name}") as update:
        for place, task in enumerate(chosen):
            controls = _Controls(task, outputs, results, options)
            groups.append(controls.groups(model, draws, sets))
            update(place + 1, len(chosen))
    return Atlas.build(joined(groups), {**results.provenance, "draws": draws, "sets": sets})


def kept_rows(task: ProbingTask) -> NDArray[np.int64]:
    """The rows of a task's examples, split after split, that its control tasks keep.

    Parameters
    ----------
    task
        The task.

    Examples
    --------
    >>> from headscope.corpus import Example
    >>> train = (Example("1", ("A dog",), label="x"), Example("2", ("A cat",), label="y"))
    >>> test = (Example("3", ("The dog",), label="x"), Example("4", ("a bat",), label="x"))
    >>> kept_rows(ProbingTask("t", "T", ("x", "y"), {"train": train, "test": test})).tolist()
    [0, 1, 3]
    """
    known = {first_word(example) for example in task.splits["train"]}
    examples = [example for split in SPLITS for example in task.splits.get(split, ())]
    return np.flatnonzero([first_word(example) in known for example in examples])


class _Controls(TaskProbe):
    """The controls of one task."""

    def __init__(
        self, task: ProbingTask, outputs: HeadOutputs, results: Atlas, options: Probing
    ) -> None:
        super().__init__(task, outputs, options, repeats=count_repeats(task, options.repeats))
        self.results = TaskResults(self.task, self.rows, self.shape.labels)
        self.probe = results["probe"].sel(task=self.task.name)
        self.top = results["probe_top"]["rank"].sel(task=self.task.name, way="top").values

    def groups(self, model: Model, draws: int, sets: int) -> dict[str, xr.Dataset]:
        """The groups of all controls; repeated splits if the task is small."""
        groups = {
            "probe_control": self.of_heads(draws),
            "probe_random": self.of_sets(sets),
            "probe_embeddings": self.results.embeddings(self.embedding_scores(model)),
        }
        return groups | (self.results.splits(self.split_scores()) if self.repeats else {})

    def of_heads(self, draws: int) -> xr.Dataset:
        """Control tasks and description lengths of all heads."""
        control, bits = np.full((2, self.shape.layers, self.shape.heads), np.nan)
        kept, tasks = torch.from_numpy(kept_rows(self.task)), self._control_tasks(draws)
        for place, layer in enumerate(self.shape.numbers):
            x = self.features.heads(layer)
            if tasks:
                each = [classify(x[:, kept], rows, self.plain).test for rows in tasks]
                control[place] = np.mean(each, axis=0)
            if self.rows.classes <= MOST_CLASSES:
                scaled, _ = standardise(x, self.rows.train)
                l2 = self.probe["l2"].values[place]
                bits[place] = description_length(scaled, self.rows, l2, seed=self.options.seed)
        values = {
            "control_task": control,
            "selectivity": self.probe["test"].values - control,
            "description": bits,
            "compression": uniform_length(self.rows) / bits,
        }
        return self.results.dataset(
            {name: (("layer", "head"), each) for name, each in values.items()},
            {name: self.probe[name].values for name in ("layer", "head")},
            ("title",),
            more={"control_size": float(np.mean([len(rows.test) for rows in tasks] or [0]))},
        )

    def _control_tasks(self, draws: int) -> list[LabelledRows]:
        """The rows and labels of the control tasks that can be learned."""
        tasks = []
        for draw in range(draws):
            with suppress(CorpusError):  # too few sentences begin with the same word
                task = control_task(self.task, self.options.seed + draw)
                tasks.append(LabelledRows.of(task))
        return tasks

    def of_sets(self, sets: int) -> xr.Dataset:
        """The top heads beside random ones, as many."""
        count = self.options.n or 0
        right = self._right([Head.parse(str(name)) for name in self.top[:count]])
        random = np.random.default_rng(self.options.seed)
        orders = [random.permutation(len(self.heads))[:count] for _ in range(sets)]
        drawn = np.stack([self._right([self.heads[place] for place in one]) for one in orders])
        return self.results.dataset(
            {"test": (("set",), drawn.mean(1))},
            {"set": np.arange(1, sets + 1)},
            ("title",),
            more={**compare_random(right, drawn), "n": count},
        )

    def _right(self, heads: Sequence[Head]) -> NDArray[np.bool_]:
        scores = classify(self.features.together(heads), self.rows, self.plain, keep_right=True)
        assert scores.right is not None
        right: NDArray[np.bool_] = scores.right[0]
        return right


def compare_random(right: NDArray[np.bool_], random: NDArray[np.bool_]) -> dict[str, float]:
    """Compare the top heads with sets of random heads, test example by test example.

    Parameters
    ----------
    right
        Which test examples the top heads get right, (example,).
    random
        The same for the sets of random heads, (set, example).

    Returns
    -------
    dict of float
        ``top``, the test score of the top heads; ``difference``, the mean over test examples of:
        the top heads are right, minus the share of random sets that are; its 95 % interval, ``low``
        and ``high``; and its two-sided ``p`` (one-sample t-test over test examples).

    Examples
    --------
    >>> top = np.array([True, True, True, False])
    >>> scores = compare_random(top, np.array([[1, 0, 1, 0], [1, 1, 0, 0]], bool))
    >>> scores["top"], scores["difference"]
    (0.75, 0.25)
    """
    paired = right.astype(np.float64) - random.mean(0)
    test = stats.ttest_1samp(paired, 0.0)
    ends = test.confidence_interval(0.95)
    scores = (right.mean(), paired.mean(), ends.low, ends.high, test.pvalue)
    return dict(zip(("top", "difference", "low", "high", "p"), map(float, scores), strict=True))


def block_ends(count: int) -> list[int]:
    """Where the blocks of so many examples end; blocks without examples are left out.

    Parameters
    ----------
    count
        The number of training examples.

    Examples
    --------
    >>> block_ends(1000), block_ends(40)
    ([1, 2, 4, 8, 16, 32, 62, 125, 250, 500, 1000], [1, 2, 5, 10, 20, 40])
    """
    return sorted({int(count * share) for share in ENDS} - {0})


def description_length(
    x: Tensor, rows: LabelledRows, l2: NDArray[np.float64], *, seed: int
) -> NDArray[np.float64]:
    """Bits that the training labels take when they are sent block by block.

    The first block is sent with a uniform code. Each later one is coded with a classifier that is
    trained on all blocks before it. A class that these lack has no place in the classifier: its
    bias, which is not penalised, would run off to minus infinity, and what it costs to send that
    class would depend on where the solver stops. It is coded by counts instead, with the estimate
    of Krichevsky and Trofimov (1981): after n examples, each of c classes that has not occurred
    has the probability 0.5 / (n + 0.5 c), and the classifier divides the rest among the others.
    While only one class has occurred, a block is coded by counts alone.

    Parameters
    ----------
    x
        Standardised features, (unit, row, width).
    rows
        Labels (classes) and splits.
    l2
        The penalty of each unit, (unit,).
    seed
        Seed of the order of examples.

    Returns
    -------
    numpy.ndarray
        (unit,). Divided into :func:`uniform_length`, it is the compression.

    Examples
    --------
    >>> gold = np.arange(64.0) % 2
    >>> rows = LabelledRows(gold, 2, np.arange(64), np.arange(0), np.arange(64))
    >>> x = torch.stack([torch.from_numpy(gold), torch.zeros(64)])[..., None].float()
    >>> known, unknown = description_length(x - 0.5, rows, np.full(2, 1e-3), seed=0)
    >>> bool(known < unknown), uniform_length(rows)
    (True, 64.0)
    """
    order = np.random.default_rng(seed).permutation(rows.train)
    ends = block_ends(len(order))
    sets = torch.zeros(len(ends) - 1, x.shape[1], dtype=torch.bool)
    for place, end in enumerate(ends[:-1]):
        sets[place, torch.from_numpy(order[:end])] = True
    bits = np.full(len(x), ends[0] * np.log2(rows.outputs))
    gold = rows.targets[torch.from_numpy(order)]
    for penalty in sorted(set(l2.tolist())):
        units = np.flatnonzero(l2 == penalty)
        part = x[torch.from_numpy(units)]
        for places, seen in _by_classes(gold, ends):
            fitted = None
            if len(seen) > 1:
                known = torch.searchsorted(seen, rows.targets).clamp(max=len(seen) - 1)
                fitted = solve(Problems(part, known, len(seen), sets[places], (penalty,)))
            for number, place in enumerate(places):
                start, end = ends[place : place + 2]
                block = gold[start:end]
                new = ~torch.isin(block, seen)
                escape = 0.5 / (start + 0.5 * rows.outputs)
                logs = torch.full((len(part), end - start), log(escape), dtype=torch.float64)
                logs[:, ~new] = log1p(-escape * (rows.outputs - len(seen)))
                if fitted is not None:
                    features = part[:, torch.from_numpy(order[start:end])][:, ~new]
                    logits = features @ fitted.weight[:, number, 0]
                    logits = logits + fitted.bias[:, number, 0][:, None]
                    answers = torch.searchsorted(seen, block[~new]).expand(len(part), -1)
                    chances = logits.double().log_softmax(-1).gather(-1, answers[..., None])
                    logs[:, ~new] += chances[..., 0].cpu()
                bits[units] -= logs.sum(1).numpy() / np.log(2)
    return bits


def _by_classes(gold: Tensor, ends: Sequence[int]) -> list[tuple[list[int], Tensor]]:
    """The blocks that follow the same classes: their places, and the classes before them.

    >>> _by_classes(torch.tensor([2, 2, 0, 2, 0, 2]), [1, 2, 4, 6])
    [([0, 1], tensor([2])), ([2], tensor([0, 2]))]
    """
    found: list[tuple[list[int], Tensor]] = []
    for place, end in enumerate(ends[:-1]):
        seen = torch.bincount(gold[:end]).nonzero()[:, 0]
        if not found or len(found[-1][1]) < len(seen):
            found.append(([], seen))
        found[-1][0].append(place)
    return found


def uniform_length(rows: LabelledRows) -> float:
    """Bits that the training labels take without any knowledge.

    Parameters
    ----------
    rows
        Labels (classes) and splits.
    """
    return len(rows.train) * float(np.log2(rows.outputs))
