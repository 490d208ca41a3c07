"""Controls of a probing run: control tasks, description length, and random heads beside the best.

They say whether a score comes from the head or from the classifier, and whether choosing heads by
validation is better than choosing any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import CorpusError
from headscope.heads import Head
from headscope.models import Model
from headscope.progress import ProgressLike, as_reporter
from headscope.results import Atlas
from headscope.runs.probe import Probing
from headscope.runs.probe.classify import classify, standardise
from headscope.runs.probe.description import description_length, uniform_length
from headscope.runs.probe.embeddings import embedding_features
from headscope.runs.probe.features import TaskFeatures, model_inputs
from headscope.runs.probe.groups import embedding_group
from headscope.runs.probe.random_heads import compare_random
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.split_groups import split_groups
from headscope.runs.probe.splits import count_repeats, split_scores
from headscope.runs.probe.task_scores import single_scores
from headscope.runs.probe.vectors import make_head_outputs
from headscope.tasks.probing import control_task, first_word
from headscope.tasks.task import SPLITS, ProbingTask

DRAWS, SETS = 3, 20
"""How many control tasks and how many sets of random heads are drawn."""
MOST_CLASSES = 100
"""Tasks with more classes have no description length: it would take too long."""


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
    texts = dict.fromkeys(
        text
        for task in chosen
        for split in SPLITS
        for example in task.splits.get(split, ())
        for text in model_inputs(example.texts, options.pairs)
    )
    outputs = make_head_outputs(
        model,
        list(texts),
        cache,
        position=options.position,
        max_length=options.max_length,
        batch_size=options.batch_size,
    )
    groups: dict[str, list[xr.Dataset]] = {}
    with reporter.progress(f"controls of {model.name}") as update:
        for place, task in enumerate(chosen):
            features = TaskFeatures(task, outputs, options.pairs)
            controls = _Controls(task, features, results, replace(options, control=False))
            made = {
                "probe_control": controls.of_heads(draws),
                "probe_random": controls.of_sets(sets),
                "probe_embeddings": controls.of_embeddings(model),
                **controls.of_splits(),
            }
            for name, group in made.items():
                groups.setdefault(name, []).append(group)
            update(place + 1, len(chosen))
    whole = {name: xr.concat(parts, "task") for name, parts in groups.items()}
    attributes = {"listed": "no", "kind": "probe", "source": "Jo and Myaeng 2020"}
    whole = {name: data.assign_attrs(attributes) for name, data in whole.items()}
    return Atlas.build(whole, {**results.provenance, "draws": draws, "sets": sets})


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


class _Controls:
    """The controls of one task."""

    def __init__(
        self, task: ProbingTask, features: TaskFeatures, results: Atlas, options: Probing
    ) -> None:
        self.task, self.features, self.options = features.task, features, options
        self.rows = LabelledRows.of(features.task)
        self.shape = features.outputs.shape
        self.probe = results["probe"].sel(task=task.name)
        self.top = results["probe_top"]["rank"].sel(task=task.name, way="top").values

    def of_heads(self, draws: int) -> xr.Dataset:
        """Control tasks and description lengths of all heads."""
        numbers = (self.shape.layers, self.shape.heads)
        control, bits = np.full(numbers, np.nan), np.full(numbers, np.nan)
        tasks = self._control_rows(draws)
        for place, layer in enumerate(self.shape.numbers):
            x = self.features.heads(layer)
            if tasks:
                each = [
                    classify(x[:, torch.from_numpy(kept)], rows, self.options).test
                    for kept, rows in tasks
                ]
                control[place] = np.mean(each, axis=0)
            if self.rows.classes <= MOST_CLASSES:
                scaled, _ = standardise(x, self.rows.train)
                l2 = self.probe["l2"].values[place]
                bits[place] = description_length(scaled, self.rows, l2, seed=self.options.seed)
        test = self.probe["test"].values
        size = float(np.mean([len(rows.test) for _, rows in tasks])) if tasks else 0.0
        values = {
            "control_task": control,
            "selectivity": test - control,
            "description": bits,
            "compression": uniform_length(self.rows) / bits,
        }
        data = xr.Dataset(
            {name: (("task", "layer", "head"), found[None]) for name, found in values.items()},
            {
                "task": [self.task.name],
                "layer": self.probe["layer"].values,
                "head": self.probe["head"].values,
            },
        )
        return data.assign(control_size=("task", [size]), title=("task", [self.task.title]))

    def _control_rows(self, draws: int) -> list[tuple[NDArray[np.int64], LabelledRows]]:
        """The rows of this task's examples that each control task keeps, and its labels."""
        kept = kept_rows(self.task)
        found = []
        for draw in range(draws):
            try:
                rows = LabelledRows.of(control_task(self.task, self.options.seed + draw))
            except CorpusError:  # too few sentences begin with the same word
                continue
            found.append((kept, rows))
        return found

    def of_sets(self, sets: int) -> xr.Dataset:
        """The top heads beside random ones, as many."""
        count = self.options.n or self.shape.heads
        best = [Head.parse(str(name)) for name in self.top[:count]]
        right = self._right(best)
        random = np.random.default_rng(self.options.seed)
        heads = self.shape.every_head
        drawn = np.stack(
            [
                self._right([heads[place] for place in random.permutation(len(heads))[:count]])
                for _ in range(sets)
            ]
        )
        found = compare_random(right, drawn)
        numbers = {
            name: ("task", [getattr(found, name)])
            for name in ("top", "difference", "low", "high", "p")
        }
        return xr.Dataset(
            {"test": (("task", "set"), found.scores[None]), **numbers},
            {"task": [self.task.name], "set": np.arange(1, sets + 1)},
        ).assign(title=("task", [self.task.title]), n=("task", [count]))

    def of_embeddings(self, model: Model) -> xr.Dataset:
        """The embeddings alone."""
        x = embedding_features(
            model,
            self.features,
            max_length=self.options.max_length,
            batch_size=self.options.batch_size,
        )
        scores = single_scores(classify(x, self.rows, self.options))
        return embedding_group(self.task, self.rows, scores)

    def of_splits(self) -> dict[str, xr.Dataset]:
        """Repeated splits, if the task is small."""
        repeats = count_repeats(self.task, self.options.repeats)
        if not repeats:
            return {}
        options = replace(self.options, n=self.options.n or self.shape.heads)
        scores = split_scores(self.features, self.rows, options, repeats)
        return split_groups(self.task, self.rows, scores, self.shape.labels)

    def _right(self, heads: Sequence[Head]) -> NDArray[np.bool_]:
        scores = classify(self.features.together(heads), self.rows, self.options, keep_right=True)
        assert scores.right is not None
        right: NDArray[np.bool_] = scores.right[0]
        return right
