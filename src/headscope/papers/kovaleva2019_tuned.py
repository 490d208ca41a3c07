"""The fine-tuned models of Kovaleva et al. 2019: where they are, how they were made, Table 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope import models
from headscope.corpus import Corpus
from headscope.errors import CorpusError, UserError
from headscope.page import Table
from headscope.papers.report import as_sentence, counted, short_name
from headscope.runs.tune import (
    RECORD,
    STARTS,
    Start,
    Tuned,
    TuneSettings,
    read_record,
    recorded_task,
    tune,
)
from headscope.tasks import Task, find_task, label_ids, task_examples
from headscope.tasks.metrics import majority, metric_title

if TYPE_CHECKING:
    from headscope.models import Model
    from headscope.papers.kovaleva2019 import Kovaleva2019

CONFIG, UNFINISHED = "config.json", "checkpoints"
"""A folder with the first is a checkpoint; with the second, it is still being tuned."""
TunedLike = str | Path | Sequence[str | Path] | Mapping[str, str | Path | Sequence[str | Path]]
COLUMNS = ("untrained", "random", "pretrained")
"""The starts, in the order of the paper's columns."""
TABLE_1: dict[str, dict[str, tuple[float, ...]]] = {  # F1 before accuracy where there are two
    "mrpc": {"untrained": (0, 31.6), "random": (81.2, 68.3), "pretrained": (87.9, 82.3)},
    "sts-b": {"untrained": (33.1,), "random": (2.9,), "pretrained": (82.7,)},
    "sst-2": {"untrained": (49.1,), "random": (80.5,), "pretrained": (92,)},
    "qqp": {"untrained": (0, 60.9), "random": (0, 63.2), "pretrained": (65.2, 78.6)},
    "rte": {"untrained": (52.7,), "random": (52.7,), "pretrained": (64.6,)},
    "qnli": {"untrained": (52.8,), "random": (49.5,), "pretrained": (84.4,)},
    "mnli": {"untrained": (31.7,), "random": (61.0,), "pretrained": (78.6,)},
}
"""Validation scores in percent of an untrained classifier on pretrained BERT, and after tuning from
random and from pretrained weights. For STS-B the paper prints accuracy; the task's labels are real
numbers, and its metric in GLUE is a correlation."""
MEAN_GAIN = 35.9
"""Points by which fine-tuning beats the untrained classifier on average (Section 4.3)."""


# --- Where they are -------------------------------------------------------------------------------


@dataclass(frozen=True)
class TunedPlaces:
    """Where fine-tuned models are, or will be.

    Parameters
    ----------
    home
        The folder that has or gets one folder per task, start and seed; None if none was given.
    own
        The user's own checkpoints by the name of the task: folders or hub ids.
    """

    home: Path | None = None
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def tuned_places(given: TunedLike | None, tasks: Sequence[Task]) -> TunedPlaces:
    """Read what the user gave as fine-tuned models; nothing of it needs torch.

    Parameters
    ----------
    given
        A folder of models (``FOLDER/TASK-START``, as ``headscope tune`` makes them), which need not
        exist yet; a checkpoint's folder; ``"TASK=MODEL"`` with a folder or a hub id; a list of
        these; or models by the name of the task. A task may have several models.
    tasks
        The tasks of the recipe.

    Raises
    ------
    UserError
        The task of a model is unknown or not one of the recipe's, or there are two folders of
        models.

    Examples
    --------
    >>> rte = find_task("rte")
    >>> tuned_places(["tuned", "rte=textattack/bert-base-uncased-RTE"], [rte]).own
    {'rte': ('textattack/bert-base-uncased-RTE',)}
    """
    homes: list[Path] = []
    own: dict[str, list[str]] = {}
    for name, place in _entries(given):
        task = _named(name, tasks) if name else _task_of(Path(place), tasks)
        if task is None:
            homes.append(Path(place))
        else:
            own.setdefault(task.name, []).append(place)
    if len(homes) > 1:
        raise UserError(
            "there can be only one folder of fine-tuned models, got "
            f"{' and '.join(map(str, homes))}",
            hint='name single checkpoints with their tasks: tuned={"rte": "FOLDER"}',
            command="name single checkpoints with their tasks: --tuned rte=FOLDER",
        )
    return TunedPlaces(homes[0] if homes else None, {name: tuple(own[name]) for name in own})


def _entries(tuned: TunedLike | None) -> list[tuple[str, str]]:
    """Pairs of a task's name, which may be empty, and a place."""
    if tuned is None:
        return []
    if isinstance(tuned, Mapping):
        lists = (
            (name, [own] if isinstance(own, str | Path) else own) for name, own in tuned.items()
        )
        return [(name, str(place)) for name, places in lists for place in places]
    several = [tuned] if isinstance(tuned, str | Path) else tuned
    parted = [(str(place), *str(place).partition("=")) for place in several]
    # A folder that exists may have an = in its name.
    return [
        (name, place) if equals and not Path(text).exists() else ("", text)
        for text, name, equals, place in parted
    ]


def _named(name: str, tasks: Sequence[Task]) -> Task:
    task = find_task(name)
    if task.name not in {known.name for known in tasks}:
        raise UserError(
            f"a fine-tuned model was given for {task.title}, which is not one of the tasks "
            f"({', '.join(known.title for known in tasks) or 'none'})",
            hint=f'give tasks=["{task.name}"] too',
            command=f"give --task {task.name} too",
        )
    return task


def _task_of(folder: Path, tasks: Sequence[Task]) -> Task | None:
    """The task of a checkpoint's folder; None for any other folder."""
    if not (folder / CONFIG).is_file() and not (folder / RECORD).is_file():
        return None
    recorded = recorded_task(folder)
    if recorded is not None:
        return _named(recorded.name, tasks)
    if len(tasks) == 1:
        return tasks[0]
    raise UserError(
        f"{folder} is a checkpoint, and nothing says which task it was tuned for",
        hint=f'name its task: tuned={{"rte": "{folder}"}}',
        command=f"name its task: --tuned rte={folder}",
    )


# --- How they were made ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """A fine-tuned model of the recipe.

    ``examples`` has the numbers ``train`` and ``dev``; what nothing tells of a model that was tuned
    elsewhere is missing: ``train``, the minutes, the settings. ``majority`` has the metrics for
    always answering the most frequent class of the training examples.
    """

    task: Task
    start: Start
    place: str
    scores: Mapping[str, float]
    majority: Mapping[str, float]
    examples: Mapping[str, int]
    minutes: float = float("nan")
    settings: TuneSettings | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, tuned: Tuned) -> Checkpoint:
        """A model that Headscope tuned."""
        same = (tuned.scores, tuned.majority, tuned.examples, tuned.minutes, tuned.settings)
        notes = tuple(f"{tuned.task.title}: {note}" for note in tuned.notes)
        return cls(tuned.task, tuned.start, str(tuned.folder), *same, notes)

    @property
    def label(self) -> str:
        """What tells it from other models of its task: the seed, or the name."""
        return short_name(self.place) if self.settings is None else f"seed {self.settings.seed}"

    @property
    def training(self) -> str:
        """How it was trained, in words."""
        if self.settings is None:
            return f"{short_name(self.place)}: fine-tuned elsewhere"
        number = self.examples.get("train")
        of = "" if number is None else f" over {counted(number, 'example')}"
        return (
            f"batches of {self.settings.batch_size}, {counted(self.settings.epochs, 'epoch')}{of}, "
            f"learning rate {self.settings.learning_rate:g}"
        )


@dataclass
class TunedModels:
    """The models of Table 1, trained once, or checked and used as they are; and their examples."""

    recipe: Kovaleva2019
    limit: int
    _known: dict[tuple[str, Start], list[Checkpoint]] = field(default_factory=dict)

    def all_dev(self, task: Task) -> Corpus:
        """All dev examples of a task."""
        return task_examples(task, self.recipe.data_of(task), "dev")

    def dev(self, task: Task) -> Corpus:
        """The dev examples that are looked at: random ones if there are more than the limit."""
        return self.recipe.drawn(self.all_dev(task), self.limit)

    def check(self) -> None:
        """Check every model that is there already, before anything is trained."""
        for task in self.recipe.chosen_tasks:
            for start in self.recipe.chosen_starts:
                folders = self._folders(task, start).values()
                if self._own(task, start) or any(map(_is_model, folders)):
                    self.checkpoints(task, start)

    def checkpoints(self, task: Task, start: Start = "pretrained") -> list[Checkpoint]:
        """The models of a task, one per seed; or the user's own for the start ``pretrained``."""
        key = (task.name, start)
        if key not in self._known:
            own = [self._found(place, task, start) for place in self._own(task, start)]
            folders = self._folders(task, start).items()
            self._known[key] = own or [
                self._made(folder, seed, task, start) for seed, folder in folders
            ]
        return self._known[key]

    def models(self, task: Task) -> dict[str, Model]:
        """The models that were tuned from the pretrained one, by seed or name."""
        how = self.recipe.for_other_models
        return {tuned.label: models.load(tuned.place, **how) for tuned in self.checkpoints(task)}

    def _own(self, task: Task, start: Start) -> tuple[str, ...]:
        return self.recipe.places.own.get(task.name, ()) if start == "pretrained" else ()

    def _folders(self, task: Task, start: Start) -> dict[int, Path]:
        """Where the tuned models are or will be, by seed."""
        home, first = self.recipe.places.home or self.recipe.folder / "tuned", self.recipe.seed
        return {
            seed: home / (f"{task.name}-{start}" + (f"-seed{seed}" if seed else ""))
            for seed in range(first, first + self.recipe.seeds)
        }

    def _made(self, folder: Path, seed: int, task: Task, start: Start) -> Checkpoint:
        """A model of the folder that the user named, as it is; or one that is tuned now."""
        recipe = self.recipe
        if recipe.places.home is not None and _is_model(folder):
            return self._found(str(folder), task, start)
        train = recipe.drawn(task_examples(task, recipe.data_of(task), "train"), recipe.train_limit)
        with recipe.reporter.progress(folder.name) as progress:
            done = tune(
                recipe.source(recipe.models[0]),
                task=task,
                train=train,
                dev=self.all_dev(task),
                output=folder,
                overwrite=recipe.overwrite,
                **recipe.for_training,
                progress=progress,
                start=start,
                seed=seed,
                precision=recipe.precision,
                **recipe.training_of(task),
                max_length=recipe.max_length,
            )
        return Checkpoint.of(done)

    def _found(self, place: str, task: Task, start: Start) -> Checkpoint:
        """Check a model that was not tuned by this run, and learn its scores.

        With a record of Headscope's, scores and settings are taken from it; without one, the model
        is scored on the dev examples. Either way the same check decides whether it can be used.
        """
        from headscope.runs.tune.classifier import check_checkpoint, score_checkpoint

        recipe, dev = self.recipe, self.all_dev(task)
        like, device = recipe.model_loaded, recipe.device
        if (Path(place) / RECORD).is_file():
            check_checkpoint(place, task, dev, like=like, device=device)
            return Checkpoint.of(read_record(place))
        length = recipe.max_length
        scored = score_checkpoint(place, task, dev, like=like, max_length=length, device=device)
        notes = (f"{short_name(place)} has no record of how it was trained", *scored.notes)
        most = self._most_frequent(task, dev)
        return Checkpoint(
            task, start, place, scored.scores, most, {"dev": scored.examples}, notes=notes
        )

    def _most_frequent(self, task: Task, dev: Corpus) -> dict[str, float]:
        """Scores of the most frequent training answer; NaN without the training examples."""
        try:
            train = list(task_examples(task, self.recipe.data_of(task), "train"))
        except CorpusError:
            return dict.fromkeys(task.metrics, float("nan"))
        return majority(task, label_ids(task, train), label_ids(task, list(dev)))


def _is_model(folder: Path) -> bool:
    """Whether a folder holds a finished model; one that is still being tuned has its state."""
    whole = (folder / CONFIG).is_file() and not (folder / UNFINISHED).is_dir()
    return whole or (folder / RECORD).is_file()


# --- Table 1 --------------------------------------------------------------------------------------

Scored = Checkpoint | Tuned
"""A model with its scores on a task: found, or trained here."""


def tuning_tables(done: Sequence[Scored], notes: Sequence[str]) -> list[Table]:
    """Make Table 1, and with several seeds a second one with the range over seeds.

    A note on one task begins with it: ``"RTE: …"``.
    """
    several = len(done) > len({(tuned.task.name, tuned.start) for tuned in done})
    below = ["Dev scores in percent."]
    below.append("Majority: always the most frequent class of the training data.")
    if several:
        below.append("Several tuning seeds: the median.")
    below += map(as_sentence, merged_notes(notes, {tuned.task.title for tuned in done}))
    tables = [Table(table_rows(done, ranges=False), title="Table 1", note=" ".join(below))]
    if several:
        note = "The lowest and the highest score in percent."
        tables.append(Table(range_rows(done), title="Range over tuning seeds", note=note))
    return tables


def _by_task(done: Sequence[Scored]) -> dict[str, list[Scored]]:
    names = dict.fromkeys(tuned.task.name for tuned in done)
    return {name: [tuned for tuned in done if tuned.task.name == name] for name in names}


def table_rows(done: Sequence[Scored], *, ranges: bool = True) -> list[dict[str, Any]]:
    """Make the rows of Table 1: one per task, with a published and an own score per start.

    Several seeds of one start give their median, and with ``ranges`` the lowest and the highest
    score in brackets.
    """
    rows: list[dict[str, Any]] = []
    for name, runs in _by_task(done).items():
        first = runs[0]
        row = {
            "task": first.task.title,
            "metric": "/".join(map(metric_title, first.task.metrics)),
            "train": first.examples.get("train", "–"),
            "dev": first.examples["dev"],
            "majority": _percent([first.majority]),
        }
        for start in COLUMNS:
            here = [tuned.scores for tuned in runs if tuned.start == start]
            if here:
                row[f"{start}: paper"] = _slashed(TABLE_1[name][start]) if name in TABLE_1 else "–"
                row[f"{start}: here"] = _percent(here, ranges=ranges)
        known = [tuned.minutes for tuned in runs if np.isfinite(tuned.minutes)]
        rows.append(row | {"minutes": f"{sum(known):.1f}" if known else "–"})
    return rows


def range_rows(done: Sequence[Scored]) -> list[dict[str, Any]]:
    """List the lowest and the highest score over seeds, one row per task and metric."""
    rows: list[dict[str, Any]] = []
    for runs in _by_task(done).values():
        for metric in runs[0].task.metrics:
            row: dict[str, Any] = {"task": runs[0].task.title, "metric": metric_title(metric)}
            for start in COLUMNS:
                scores = [100 * run.scores[metric] for run in runs if run.start == start]
                if scores:
                    row[start] = _range(scores)
            rows.append(row)
    return rows


def merged_notes(notes: Sequence[str], titles: Collection[str]) -> list[str]:
    """Say only once what several tasks have in common.

    Examples
    --------
    >>> merged_notes(["RTE: cut", "STS-B: cut", "none: known", "RTE: cut"], {"RTE", "STS-B"})
    ['RTE, STS-B: cut', 'none: known']
    """
    merged: dict[str, dict[str, None]] = {}
    for note in notes:
        task, _, text = note.partition(": ")
        if task in titles:
            merged.setdefault(text, {})[task] = None
        else:
            merged.setdefault(note, {})
    return [f"{', '.join(tasks)}: {text}" if tasks else text for text, tasks in merged.items()]


def main_scores(done: Sequence[Scored]) -> dict[tuple[str, Start], float]:
    """The median over seeds of each task's main metric, accuracy where there is one."""
    scores = {}
    for runs in _by_task(done).values():
        task = runs[0].task
        metric = "accuracy" if "accuracy" in task.metrics else task.metrics[0]
        for start in STARTS:
            if here := [run.scores[metric] for run in runs if run.start == start]:
                scores[task.title, start] = float(np.median(here))
    return scores


def gains_over(
    scores: Mapping[tuple[str, Start], float], first: Start, second: Start
) -> dict[str, float]:
    """By how many points a start beats another one, on each task that has both."""
    tasks = dict.fromkeys(task for task, _ in scores)
    return {
        task: 100 * (scores[task, second] - scores[task, first])
        for task in tasks
        if (task, first) in scores and (task, second) in scores
    }


def gain_sentence(done: Sequence[Scored]) -> str:
    """Say what fine-tuning adds on average, beside the published number.

    The paper's 35.9 is the mean over tasks of the last column of Table 1 minus the first.
    """
    gains = list(gains_over(main_scores(done), "untrained", "pretrained").values())
    if not gains:
        return f"Published: fine-tuning adds {MEAN_GAIN} points on average over seven tasks."
    return (
        f"Fine-tuning adds {np.mean(gains):.1f} points to an untrained classifier on average over "
        f"{counted(len(gains), 'task')}; published: {MEAN_GAIN} over seven tasks (accuracy where a "
        "task has it)."
    )


def _percent(scores: Sequence[Mapping[str, float]], *, ranges: bool = True) -> str:
    """The median of each metric over seeds, in percent; with the range, if there are several."""
    columns = [[100 * score[metric] for score in scores] for metric in scores[0]]
    median = _slashed([float(np.median(column)) for column in columns])
    if len(scores) == 1 or not ranges:
        return median
    return f"{median} ({', '.join(map(_range, columns))})"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f}–{max(values):.1f}"


def _slashed(values: Sequence[float]) -> str:
    """Scores of several metrics in one cell, such as 87.9/82.3."""
    return "/".join("–" if np.isnan(value) else f"{value:.1f}" for value in values)
