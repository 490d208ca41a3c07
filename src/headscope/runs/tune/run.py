"""Fine-tuning runs: what is finished is read, what was interrupted resumes."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from headscope.corpus import Corpus
from headscope.errors import Interrupted, ModelError, ResultsError, UserError
from headscope.files import FILES, folder_damage, seal_folder, writing
from headscope.identity import another_run, differences
from headscope.models import Model, ModelLike, using_model
from headscope.options import Source
from headscope.progress import Reporter
from headscope.runs.run import AGAIN, Run
from headscope.runs.tune import (
    RECORD,
    SeveralOptions,
    Tuned,
    TuneOptions,
    TuneSettings,
    read_record,
)
from headscope.runs.tune.classifier import (
    PooledClassifier,
    load_base,
    load_classifier,
    remove_pooled,
    save_pooled,
    task_for,
)
from headscope.runs.tune.rows import TokenRows, encode_rows, predict
from headscope.runs.tune.trainer import (
    last_checkpoint,
    read_state,
    train_rows,
    without_bars,
    write_state,
)
from headscope.runs.workers import Task as WorkerTask
from headscope.runs.workers import make_engine
from headscope.tasks.glue import TaskData
from headscope.tasks.metrics import majority, score
from headscope.tasks.task import Task

CHECKPOINTS = "checkpoints"
LIBRARIES = ("headscope", "torch", "transformers", "accelerate")
"""The libraries whose versions a record keeps."""


def tune_on(model: ModelLike, data: TaskData, options: TuneOptions) -> Tuned:
    """Fine-tune a model on examples that were read and checked."""
    return Tuning(*load_to_train(model, data.task, options), data, options).execute()


def tune_all(
    model: ModelLike, runs: Sequence[tuple[TaskData, TuneOptions]], options: SeveralOptions
) -> list[Tuned]:
    """Do several fine-tuning runs, here or by workers."""
    reporter = options.reporter
    engine = make_engine(options)
    done: dict[int, Tuned] = {}

    def keep(place: int, tuned: Tuned) -> None:
        done[place] = tuned
        if tuned.again:
            reporter.say(f"{tuned.folder} is already finished; its scores are read from there")
        for note in tuned.notes:
            reporter.say(note)

    if engine is None:
        for place, (data, own) in enumerate(runs):
            keep(place, tune_on(model, data, own))
        return list(done.values())
    quiet = [(data, replace(own, progress=False)) for data, own in runs]

    def work(place: int) -> Tuned:
        return tune_on(model, *quiet[place])

    try:
        with reporter.progress("fine-tuning runs") as update, engine.start(work) as pool:
            update(0, len(runs))
            for place, tuned in pool.map(WorkerTask(place, (place,)) for place in range(len(runs))):
                keep(place, tuned)
                update(len(done), len(runs))
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped after {len(done)} of {len(runs)} runs; their folders are kept, and the last "
            "checkpoints of the others",
            **AGAIN,
        ) from None
    return [done[place] for place in range(len(runs))]


def load_to_train(
    model: ModelLike, task: Task, options: TuneOptions
) -> tuple[Model, PooledClassifier | None, list[str]]:
    """Load a model with a classifier for a task: its own or, with a pooling, a pooled one.

    Which of its weights were never trained is said in notes.
    """
    drawn = {"seed": options.seed, "random": options.start == "random"}
    with _checkpoint_of(model) as (place, name):
        how: dict[str, Any] = {"title": name, **drawn, **options.subset(Source)}
        if options.sees is None:
            loaded, notes = load_classifier(place, task, **how)
            return loaded, None, notes
        base = load_base(place, options.sees, **how)
    pooled = PooledClassifier(base, base.pooling, task.outputs, seed=options.seed)
    note = f"the classifier on {base.pooling.title} of {name} was never trained: its weights"
    return base, pooled, [f"{note} are random"]


@contextmanager
def _checkpoint_of(model: ModelLike) -> Iterator[tuple[str, str]]:
    """Where a model can be loaded from, and its name. One in memory is written to disk first."""
    if isinstance(model, str | Path):
        yield str(model), str(model)
        return
    with using_model(model) as loaded, tempfile.TemporaryDirectory() as folder:
        _check_plain(loaded)
        with without_bars():
            loaded.network.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        yield folder, loaded.name


def _check_plain(model: Model) -> None:
    """Refuse models that would not be the same once they are saved and loaded again."""
    loading = {
        "adapter": model.adapter,
        "quantization": model.quantization,
        "bos": "" if model.bos == "keep" else model.bos,
        "chat": model.chat,
    }
    for option, value in loading.items():
        if value:
            raise ModelError(
                f"a model that was loaded with {option}={value!r} cannot be fine-tuned",
                hint=f"load it without {option}="
                + (", or merge the adapter into it with PEFT" if option == "adapter" else ""),
            )


class Tuning(Run[Tuned]):
    """One fine-tuning run and its folder.

    Parameters
    ----------
    model, pooled, notes
        The model, its classifier if that is on a layer or on heads, and which weights of the
        classifier were never trained.
    data
        The task and its examples.
    options
        How to train.
    """

    def __init__(
        self,
        model: Model,
        pooled: PooledClassifier | None,
        notes: list[str],
        data: TaskData,
        options: TuneOptions,
    ) -> None:
        super().__init__(options, Path(options.output).name)
        self.state_path = None  # transformers' Trainer keeps its own
        self.folder = Path(options.output).absolute()
        self.model, self.pooled, self.untrained = model, pooled, notes
        self.pooling = pooled.pooling if pooled else None
        self.data, self.options = data, options
        self.settings = TuneSettings.of(options)
        self.tuned_task = data.task if pooled else task_for(model, data.task)
        self.checkpoints = self.folder / CHECKPOINTS

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, task, data, settings and pooling."""
        pooling = self.pooling
        return {
            "task": asdict(self.data.task) | {"title": ""},
            "train": self.data.train.about,
            "dev": self.data.dev.about,
            "settings": asdict(self.settings) | {"device": self.options.device},
            "pooling": f"{pooling.title} ({pooling.position})" if pooling else "none",
            "model": {"name": self.model.label, **self.model.identity(self.model.main_stack())},
        }

    def corpora(self) -> Sequence[Corpus]:
        """Training and dev examples."""
        return [self.data.train, self.data.dev]

    def there(self) -> bool:
        """Whether the folder holds a finished run.

        Raises
        ------
        UserError
            If it holds other files, which are never replaced.
        """
        if not self.options.resume:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
            self.clear()
        elif not (self.folder / RECORD).exists():
            self._check_folder()
        return (self.folder / RECORD).exists()

    def open(self) -> tuple[Tuned, Mapping[str, Any]]:
        """The record in the folder."""
        record = read_record(self.folder)
        older = {"identity": record.identity, "settings": asdict(record.settings)}
        damage = folder_damage(self.folder)
        if damage:
            raise ResultsError(f"the model in {self.folder} is damaged: {damage}")
        return replace(record, again=True), record.about or older

    def clear(self) -> None:
        """Remove what says that the folder is finished, and what a later run might not replace."""
        for name in (RECORD, FILES):
            (self.folder / name).unlink(missing_ok=True)
        remove_pooled(self.folder)

    def work(self, reporter: Reporter) -> Tuned:
        """Train what remains to be trained, and score."""
        rows, skipped = self._encode(self.data.train)
        dev, dev_skipped = self._encode(self.data.dev)
        self.check_corpora()
        self._check_classes(rows)
        notes = [*self._start_notes(), *self.data.train.notes]
        began, seconds, losses = time.monotonic(), 0.0, list[float]()
        if self.settings.start != "untrained":
            self._open_state()
            seconds, losses = self._train(rows, reporter)
            began = time.monotonic()
        return Tuned(
            folder=self.folder,
            model=self.model.label,
            task=self.tuned_task,
            settings=self.settings,
            scores=self._score(dev),
            majority=majority(self.tuned_task, rows.labels, dev.labels),
            examples={"train": len(rows), "dev": len(dev)},
            seconds=seconds + time.monotonic() - began,
            losses=losses,
            identity=self.identity,
            about=self.about,
            versions={name: version(name) for name in LIBRARIES},
            notes=[*notes, *skipped, *dev_skipped],
            pooling=self.pooling,
        )

    def save(self, result: Tuned) -> None:
        """Write the checkpoint, then the record, then remove the training state."""
        with writing(self.folder):
            self.checkpoints.mkdir(parents=True, exist_ok=True)  # marks the folder as ours
            with without_bars():
                self.model.network.save_pretrained(self.folder)
            self.model.tokenizer.save_pretrained(self.folder)
        if self.pooled:
            save_pooled(self.pooled, self.folder)
        with writing(self.folder):
            seal_folder(self.folder)
        result.write()
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def _start_notes(self) -> list[str]:
        """A note if the classifier is new and stays untrained, or is not new."""
        start, new = self.settings.start, self.untrained
        trained = f"{self.model.name} already has a trained classifier for these classes"
        if start == "untrained":
            return new or [f"{trained}: its score is not that of an untrained one"]
        return [] if new or start == "random" else [f"{trained}: training continues from it"]

    def _encode(self, corpus: Corpus) -> tuple[TokenRows, list[str]]:
        return encode_rows(self.model, self.tuned_task, corpus, max_length=self.settings.max_length)

    def _check_classes(self, rows: TokenRows) -> None:
        if self.tuned_task.labels and len(np.unique(rows.labels)) < 2:
            only = self.tuned_task.labels[int(rows.labels[0])]
            raise UserError(
                f"a task needs two classes or more; the {len(rows)} training examples of "
                f"{self.data.train.name} are all {only!r}",
                hint="give more examples, or a larger limit=",
            )

    def _score(self, dev: TokenRows) -> dict[str, float]:
        outputs = predict(self.model, dev, batch_size=self.settings.batch_size, pooled=self.pooled)
        return score(self.tuned_task, outputs, dev.labels)

    def _check_folder(self) -> None:
        if self.folder.exists() and any(self.folder.iterdir()) and not self.checkpoints.is_dir():
            raise UserError(
                f"{self.folder} is not empty, and not the folder of a fine-tuning run",
                hint="choose another folder, or empty this one",
            )

    def _open_state(self) -> None:
        """Make the folder of the checkpoints. Those of another run are an error."""
        there = read_state(self.checkpoints)
        differing = differences(there.get("about", there), self.about) if there else []
        if differing and not self.overwrite:
            raise another_run(f"{self.checkpoints} holds the state of another run", differing)
        if differing:
            shutil.rmtree(self.checkpoints, ignore_errors=True)
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        if differing or not there:
            write_state(self.checkpoints, {"about": self.about})

    def _train(self, rows: TokenRows, reporter: Reporter) -> tuple[float, list[float]]:
        try:
            with reporter.progress(self.title) as update:
                return train_rows(
                    self.model, self.pooled, rows, self.options, self.checkpoints, update
                )
        except KeyboardInterrupt:
            kept = last_checkpoint(self.checkpoints)
            if kept is None:
                raise Interrupted("stopped before a checkpoint was written", **AGAIN) from None
            step = kept.name.rpartition("-")[2]
            raise Interrupted(
                f"stopped; the state after step {step} is kept in {self.checkpoints}", **AGAIN
            ) from None
