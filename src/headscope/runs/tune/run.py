"""One fine-tuning run: what is finished is read, what was interrupted resumes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from headscope.corpus import Corpus
from headscope.errors import Interrupted, ResultsError, UserError
from headscope.identity import another_run, differences
from headscope.options import Saving
from headscope.progress import Reporter
from headscope.runs.run import AGAIN, Run
from headscope.runs.tune.classifier import task_for
from headscope.runs.tune.loading import LoadedClassifier
from headscope.runs.tune.pooled.files import remove_pooled, save_pooled
from headscope.runs.tune.predictions import predict
from headscope.runs.tune.record import Tuned, read_record
from headscope.runs.tune.recorded import RECORD
from headscope.runs.tune.rows import TokenRows, encode_rows
from headscope.runs.tune.settings import TuneSettings
from headscope.runs.tune.trainer import (
    last_checkpoint,
    read_state,
    train_rows,
    without_bars,
    write_state,
    writing,
)
from headscope.seals import FILES, folder_damage, seal_folder
from headscope.tasks.data import TaskData
from headscope.tasks.metrics import majority, score

CHECKPOINTS = "checkpoints"
LIBRARIES = ("headscope", "torch", "transformers", "accelerate")
"""The libraries whose versions a record keeps."""


class IntoFolder(Saving):
    """Where a model goes."""

    into_folder = True


class Tuning(Run[Tuned]):
    """One fine-tuning run and its folder.

    Parameters
    ----------
    loaded
        The model and its classifier.
    data
        The task and its examples.
    settings
        How to train.
    options
        The output, whether to train again what is finished and replace what another run left, and
        progress.
    device
        Where to train.
    every
        Seconds between two checkpoints, which transformers' Trainer writes.
    resume
        False removes what an earlier run left in the folder.
    """

    def __init__(
        self,
        loaded: LoadedClassifier,
        data: TaskData,
        settings: TuneSettings,
        options: IntoFolder,
        *,
        device: str,
        every: float,
        resume: bool = True,
    ) -> None:
        super().__init__(options, Path(options.output or "").name)
        self.state_path = None  # transformers' Trainer keeps its own
        assert self.output is not None
        self.loaded, self.data, self.settings, self.folder = loaded, data, settings, self.output
        self.device, self.every, self.resume = device, every, resume
        self.model = loaded.model
        self.tuned_task = data.task if loaded.pooled else task_for(loaded.model, data.task)
        self.state_folder = self.folder / CHECKPOINTS

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, task, data, settings and pooling."""
        pooling = self.loaded.pooling
        return {
            "task": asdict(self.data.task) | {"title": ""},
            "train": self.data.train.about,
            "dev": self.data.dev.about,
            "settings": asdict(self.settings) | {"device": self.device},
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
        if not self.resume:
            shutil.rmtree(self.state_folder, ignore_errors=True)
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
        notes = [*_start_notes(self.loaded, self.settings.start), *self.data.train.notes]
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
            pooling=self.loaded.pooling,
        )

    def save(self, result: Tuned) -> None:
        """Write the checkpoint, then the record, then remove the training state."""
        with writing(self.folder):
            self.state_folder.mkdir(parents=True, exist_ok=True)  # marks the folder as ours
            with without_bars():
                self.model.network.save_pretrained(self.folder)
            self.model.tokenizer.save_pretrained(self.folder)
        if self.loaded.pooled:
            save_pooled(self.loaded.pooled, self.folder)
        with writing(self.folder):
            seal_folder(self.folder)
        result.write()
        shutil.rmtree(self.state_folder, ignore_errors=True)

    def _encode(self, corpus: Corpus) -> tuple[TokenRows, list[str]]:
        return encode_rows(self.model, self.tuned_task, corpus, max_length=self.settings.max_length)

    def _check_classes(self, rows: TokenRows) -> None:
        if self.tuned_task.labels and len(np.unique(rows.labels)) < 2:
            only = self.tuned_task.labels[int(rows.labels[0])]
            raise UserError(
                f"a task needs two classes or more; the {len(rows)} training examples of "
                f"{self.data.train.name} are all {only!r}",
                hint="give more examples, or a larger limit",
                command="give more examples, or a larger --limit",
            )

    def _score(self, dev: TokenRows) -> dict[str, float]:
        outputs = predict(
            self.model, dev, batch_size=self.settings.batch_size, pooled=self.loaded.pooled
        )
        return score(self.tuned_task, outputs, dev.labels)

    def _check_folder(self) -> None:
        if self.folder.exists() and any(self.folder.iterdir()) and not self.state_folder.is_dir():
            raise UserError(
                f"{self.folder} is not empty, and not the folder of a fine-tuning run",
                hint="choose another folder, or empty this one",
            )

    def _open_state(self) -> None:
        """Make the folder of the checkpoints. Those of another run are an error."""
        found = read_state(self.state_folder)
        differing = differences(found.get("about", found), self.about) if found else []
        if differing and not self.overwrite:
            raise another_run(f"{self.state_folder} holds the state of another run", differing)
        if differing:
            shutil.rmtree(self.state_folder, ignore_errors=True)
        self.state_folder.mkdir(parents=True, exist_ok=True)
        if differing or not found:
            write_state(self.state_folder, {"about": self.about})

    def _train(self, rows: TokenRows, reporter: Reporter) -> tuple[float, list[float]]:
        try:
            with reporter.progress(self.title) as update:
                return train_rows(
                    self.model,
                    rows,
                    self.settings,
                    pooled=self.loaded.pooled,
                    device=self.device,
                    folder=self.state_folder,
                    update=update,
                    every=self.every,
                )
        except KeyboardInterrupt:
            kept = last_checkpoint(self.state_folder)
            if kept is None:
                raise Interrupted("stopped before a checkpoint was written", **AGAIN) from None
            step = kept.name.rpartition("-")[2]
            raise Interrupted(
                f"stopped; the state after step {step} is kept in {self.state_folder}", **AGAIN
            ) from None


def _start_notes(loaded: LoadedClassifier, start: str) -> list[str]:
    """A note if the classifier is new and stays untrained, or is not new."""
    name = loaded.model.name
    trained = f"{name} already has a trained classifier for these classes"
    if start == "untrained":
        return loaded.notes or [f"{trained}: its score is not that of an untrained one"]
    return [] if loaded.notes or start == "random" else [f"{trained}: training continues from it"]
