"""Fine-tuning a model on a task, or only scoring it (K4; Kovaleva et al. 2019, §3 and Table 1; with a pooling J7; Jo and Myaeng 2020, §5.2)."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from headscope.corpus import Corpus
from headscope.errors import Interrupted, UserError
from headscope.models import Model, Pooling
from headscope.runs.tune.classifier import load_classifier, task_for
from headscope.runs.tune.pooled.classifier import RATE, PooledClassifier, load_base
from headscope.runs.tune.pooled.files import forget_pooled, save_pooled
from headscope.runs.tune.predict import predict
from headscope.runs.tune.record import RECORD, Tuned, read_record
from headscope.runs.tune.rows import Rows, encode_rows
from headscope.runs.tune.settings import Settings
from headscope.runs.tune.trainer import (
    EVERY,
    RUN,
    last_checkpoint,
    read_json,
    train_rows,
    without_bars,
    write_json,
)
from headscope.tasks.metrics import majority, score
from headscope.tasks.task import Task

CHECKPOINTS = "checkpoints"
DEVICES = ("cpu", "cuda", "mps")


def tune(
    model_name: str | Path,
    task: Task,
    train: Corpus,
    dev: Corpus,
    *,
    output: str | Path,
    pooling: Pooling | None = None,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
    resume: bool = True,
    every: float = EVERY,
    load_options: dict[str, Any] | None = None,
    **settings: Any,
) -> Tuned:
    """Fine-tune a model on a task, score it on ``dev``, and save it to the folder ``output`` as an ordinary checkpoint.

    ``settings`` are those of :class:`Settings`: start, epochs, learning_rate, batch_size, max_length, warmup, seed, precision, limit.
    With a ``pooling`` the classifier is Jo and Myaeng's, on a layer or on heads, and the learning rate is theirs (2e-5) unless given; see :func:`load_pooled`.
    An interrupted run goes on from its last checkpoint to the same weights; a finished one is read, not trained again. ``resume=False`` begins anew.
    Checkpoints are written ``every`` so many seconds.
    ``load_options`` are passed to :func:`headscope.load` (revision, allow_pickle, trust_remote_code).
    """
    chosen, folder = (
        Settings(**({"learning_rate": RATE} if pooling else {}) | settings),
        Path(output),
    )
    _check(chosen, device)
    train, dev = train.first(chosen.limit), dev.first(chosen.limit)
    options = {
        "seed": chosen.seed,
        "random": chosen.start == "random",
        "device": device,
        **(load_options or {}),
    }
    model, pooled, notes = _load(str(model_name), task, pooling, options)
    identity = _identity(model, task, train, dev, chosen, pooled.pooling if pooled else None)
    how = {"device": device, "progress": progress, "every": every, "pooled": pooled}
    run = _Run(model, task if pooled else task_for(model, task), chosen, folder, identity, how)
    if not resume:
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        (folder / RECORD).unlink(missing_ok=True)
        forget_pooled(folder)
    elif (folder / RECORD).exists():
        return run.finished()
    elif folder.exists() and any(folder.iterdir()) and not run.state.is_dir():
        raise UserError(
            f"{folder} is not empty, and not a folder of headscope tune",
            hint="give another folder, or empty this one",
        )
    rows, left_out = encode_rows(model, run.task, train, max_length=chosen.max_length)
    dev_rows, dev_left_out = encode_rows(model, run.task, dev, max_length=chosen.max_length)
    if run.task.labels and len(np.unique(rows.labels)) < 2:
        only = run.task.labels[int(rows.labels[0])]
        raise UserError(
            f"a task needs two classes or more; the {len(rows)} training examples of {train.name} are all {only!r}",
            hint="give more examples, or a larger --limit",
        )
    return run.go(
        rows,
        dev_rows,
        [*_about_start(model, chosen.start, notes), *train.notes, *left_out, *dev_left_out],
    )


def _load(
    name: str, task: Task, pooling: Pooling | None, options: dict[str, Any]
) -> tuple[Model, PooledClassifier | None, list[str]]:
    """The model with a classifier of its own or, given a pooling, one of ours; and what in it was never trained."""
    if pooling is None:
        model, notes = load_classifier(name, task, **options)
        return model, None, notes
    model = load_base(name, pooling, **options)
    pooled = PooledClassifier(model, model.pooling, task.outputs, seed=options["seed"])
    return (
        model,
        pooled,
        [
            f"the classifier on {model.pooling.title} of {name} was never trained: its weights are random"
        ],
    )


class _Run:
    def __init__(
        self,
        model: Model,
        task: Task,
        settings: Settings,
        folder: Path,
        identity: str,
        how: dict[str, Any],
    ) -> None:
        self.model, self.task, self.settings, self.folder, self.identity, self.how = (
            model,
            task,
            settings,
            folder,
            identity,
            how,
        )
        self.state = folder / CHECKPOINTS
        self.pooled: PooledClassifier | None = how["pooled"]
        self.pooling = self.pooled.pooling if self.pooled else None

    def finished(self) -> Tuned:
        """The record of this very run; that of another must not be overwritten."""
        found = read_record(self.folder)
        if found.identity == self.identity:
            return replace(found, again=True)
        before = asdict(found.settings) | {
            "model": found.model,
            "task": found.task.name,
            "pooling": _words(found.pooling),
        }
        now = asdict(self.settings) | {
            "model": self.model.name,
            "task": self.task.name,
            "pooling": _words(self.pooling),
        }
        changed = (
            ", ".join(
                f"{key} {before[key]} there, {now[key]} here"
                for key in now
                if before[key] != now[key]
            )
            or "other weights or other data"
        )
        raise UserError(
            f"{self.folder} holds another finished run: {changed}",
            hint="give another folder with -o, or delete this one",
        )

    def go(self, rows: Rows, dev: Rows, notes: list[str]) -> Tuned:
        began, seconds, losses = time.monotonic(), 0.0, list[float]()
        if self.settings.start != "untrained":
            self._open_state()
            seconds, losses = self._train(rows)
            began = time.monotonic()
        scores = score(
            self.task,
            predict(self.model, dev, batch_size=self.settings.batch_size, pooled=self.pooled),
            dev.labels,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        with without_bars():
            self.model.network.save_pretrained(self.folder)
        self.model.tokenizer.save_pretrained(self.folder)
        if self.pooled:
            save_pooled(self.pooled, self.folder)
        tuned = Tuned(
            folder=self.folder,
            model=self.model.name,
            task=self.task,
            settings=self.settings,
            scores=scores,
            majority=majority(self.task, rows.labels, dev.labels),
            examples={"train": len(rows), "dev": len(dev)},
            seconds=seconds + time.monotonic() - began,
            losses=losses,
            identity=self.identity,
            versions={
                name: version(name) for name in ("headscope", "torch", "transformers", "accelerate")
            },
            notes=notes,
            pooling=self.pooling,
        )
        tuned.write()
        shutil.rmtree(self.state, ignore_errors=True)
        return tuned

    def _open_state(self) -> None:
        """Checkpoints of another run must not be gone on from."""
        path = self.state / RUN
        if path.exists() and read_json(path).get("identity") != self.identity:
            raise UserError(
                f"{self.state} holds the state of another run (other settings, model or data)",
                hint="give another folder with -o, or delete this one",
            )
        self.state.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_json(path, {"identity": self.identity})

    def _train(self, rows: Rows) -> tuple[float, list[float]]:
        try:
            return train_rows(self.model, rows, self.settings, folder=self.state, **self.how)
        except KeyboardInterrupt:
            kept = last_checkpoint(self.state)
            if kept is None:
                raise Interrupted(
                    "stopped before a checkpoint was written",
                    hint="type the same command again to begin anew",
                ) from None
            raise Interrupted(
                f"stopped; the state after step {kept.name.rpartition('-')[2]} is kept in {self.state}",
                hint="type the same command again to go on from there",
            ) from None


def _about_start(model: Model, start: str, new: list[str]) -> list[str]:
    """What is to be told of the classifier: new weights that stay as they are, or trained ones where new ones are expected."""
    if start == "untrained":
        return new or [
            f"{model.name} has a trained classifier for these classes: what is scored is not untrained"
        ]
    return (
        []
        if new or start == "random"
        else [f"{model.name} has a trained classifier for these classes: training goes on from it"]
    )


def _words(pooling: Pooling | None) -> str:
    return f"{pooling.title} ({pooling.position})" if pooling else "none"


def _identity(
    model: Model,
    task: Task,
    train: Corpus,
    dev: Corpus,
    settings: Settings,
    pooling: Pooling | None,
) -> str:
    """What makes a run this very run: weights, data, task, settings, and the pooling if there is one."""
    parts = [
        model.digest,
        asdict(task) | {"title": ""},
        train.checksum,
        dev.checksum,
        asdict(settings),
        *([asdict(pooling)] if pooling else []),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _check(settings: Settings, device: str) -> None:
    if find_spec("accelerate") is None:
        raise UserError(
            "fine-tuning needs the library accelerate, which is not installed",
            hint="pip install 'headscope[tune]'",
        )
    if device not in DEVICES:
        raise UserError(
            f"the device for fine-tuning must be one of {', '.join(DEVICES)}, got {device!r} instead",
            hint="choose one of several GPUs with CUDA_VISIBLE_DEVICES=1 and --device cuda",
        )
    if settings.precision == "fp16" and device == "cpu":
        raise UserError(
            "fp16 needs a GPU: on a CPU half-precision training is bf16",
            hint="give --precision bf16 or float32",
        )
