"""transformers' Trainer, as it is used here: our order of rows, our progress, and checkpoints by the clock."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from headscope.models import NAME, Model
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.rows import LengthOrder, Rows, collator
from headscope.runs.tune.settings import Settings

EVERY = 120.0
"""Seconds between two checkpoints."""
DECAY = 0.01
"""Weight decay, as in Devlin et al. 2018, whose settings the paper takes."""
RUN = "run.json"

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


class Watcher(TrainerCallback):  # type: ignore[misc]
    """Tells of progress, asks for a checkpoint when it is time, and keeps count of the seconds beside it."""

    def __init__(self, folder: Path, progress: Progress | None, every: float) -> None:
        self.folder, self.progress, self.every = folder, progress, every
        self.before = float(read_json(folder / RUN).get("seconds", 0.0))
        self.began = self.saved = time.monotonic()
        self.stop = False

    @property
    def seconds(self) -> float:
        """How long training has taken, before an interruption too."""
        return self.before + time.monotonic() - self.began

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After each step."""
        if self.progress:
            self.progress(state.global_step, state.max_steps)
        if self.stop or time.monotonic() - self.saved >= self.every:
            control.should_save = True
        control.should_training_stop = control.should_training_stop or self.stop

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After each checkpoint."""
        self.saved = time.monotonic()
        write_json(self.folder / RUN, read_json(self.folder / RUN) | {"seconds": self.seconds})


class _Trainer(Trainer):  # type: ignore[misc]
    def _get_train_sampler(self, train_dataset: Any = None) -> LengthOrder:
        return LengthOrder(
            self.train_dataset.lengths, batch_size=self.args.train_batch_size, seed=self.args.seed
        )


def train_rows(
    model: Model,
    rows: Rows,
    settings: Settings,
    *,
    pooled: PooledClassifier | None = None,
    device: str,
    folder: Path,
    progress: Progress | None,
    every: float,
) -> tuple[float, list[float]]:
    """Train a model on rows, from the last checkpoint in ``folder`` if there is one: the seconds it took, and the mean loss of each epoch."""
    network = pooled or model.network
    gpus = max(1, torch.cuda.device_count()) if device == "cuda" else 1
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=max(1, settings.batch_size // gpus),
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup,
        weight_decay=DECAY,
        seed=settings.seed,
        bf16=settings.precision == "bf16",
        fp16=settings.precision == "fp16",
        use_cpu=device == "cpu",
        save_strategy="no",
        save_total_limit=1,
        logging_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=device == "cuda",
        remove_unused_columns=False,
    )
    watcher = Watcher(folder, progress, every)
    trainer = _Trainer(
        model=network,
        args=arguments,
        train_dataset=rows,
        data_collator=collator(model.network, model.pad),
        callbacks=[watcher],
    )
    trainer.remove_callback(PrinterCallback)
    hasten = model.config._attn_implementation == NAME and not (pooled and pooled.watches)
    if hasten:
        _quick(model.network)
    try:
        with without_bars(), stopping(watcher):
            trainer.train(
                resume_from_checkpoint=str(found) if (found := last_checkpoint(folder)) else None
            )
    finally:
        if hasten:
            model.network.set_attn_implementation(NAME)
        network.eval()
    return watcher.seconds, [
        float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry
    ]


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written to its end: its state is the last file."""
    found = [path for path in folder.glob("checkpoint-*") if read_json(path / "trainer_state.json")]
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


@contextmanager
def stopping(watcher: Watcher) -> Iterator[None]:
    """Let Ctrl-C wait for the end of the step, so that a checkpoint can be written; a second one does not wait."""
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be caught
        yield
        return
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def ask(*_: Any) -> None:
        signal.signal(signal.SIGINT, before)
        watcher.stop = True

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if watcher.stop:
        raise KeyboardInterrupt


@contextmanager
def without_bars() -> Iterator[None]:
    """Silence transformers' own progress bars, which loading and saving draw."""
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            transformers.logging.enable_progress_bar()


def _quick(network: Any) -> None:
    """Train with the fastest attention that the architecture has: nobody looks at the maps meanwhile."""
    try:
        network.set_attn_implementation("sdpa")
    except ValueError:
        network.set_attn_implementation("eager")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, empty if the file is not there or was cut short."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object, whole or not at all."""
    beside = path.with_name(f".{path.name}")
    beside.write_text(json.dumps(values), encoding="utf-8")
    beside.replace(path)
