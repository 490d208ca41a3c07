"""transformers' Trainer with our order of rows, our progress, and checkpoints by the clock."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from headscope.files import write_text
from headscope.models import NAME, Model
from headscope.progress import Update
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.rows import LengthOrder, TokenRows, collator
from headscope.runs.tune.settings import TuneSettings

EVERY = 120.0
"""Seconds between two checkpoints."""
DECAY = 0.01
"""Weight decay, as in Devlin et al. 2019, whose settings Kovaleva et al. 2019 use."""
STATE = "run.json"


class CheckpointClock(TrainerCallback):  # type: ignore[misc]
    """Reports progress, asks for a checkpoint when it is time, and keeps the time beside it.

    Parameters
    ----------
    folder
        Where the checkpoints are.
    update
        Called after each step with (steps done, steps in all).
    every
        Seconds between two checkpoints.
    """

    def __init__(self, folder: Path, update: Update, every: float) -> None:
        self.folder, self.update, self.every = folder, update, every
        self.before = float(read_json(folder / STATE).get("seconds", 0.0))
        self.began = self.saved = time.monotonic()
        self.stop = False

    @property
    def seconds(self) -> float:
        """How long training has taken, including the time before an interruption."""
        return self.before + time.monotonic() - self.began

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the trainer after each step."""
        self.update(state.global_step, state.max_steps)
        if self.stop or time.monotonic() - self.saved >= self.every:
            control.should_save = True
        control.should_training_stop = control.should_training_stop or self.stop

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the trainer after each checkpoint."""
        self.saved = time.monotonic()
        write_json(self.folder / STATE, read_json(self.folder / STATE) | {"seconds": self.seconds})


class LengthTrainer(Trainer):  # type: ignore[misc]
    """A trainer that sees rows in :class:`LengthOrder`."""

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthOrder:
        return LengthOrder(
            self.train_dataset.lengths, batch_size=self.args.train_batch_size, seed=self.args.seed
        )


def train_rows(
    model: Model,
    rows: TokenRows,
    settings: TuneSettings,
    *,
    pooled: PooledClassifier | None = None,
    device: str,
    folder: Path,
    update: Update,
    every: float,
) -> tuple[float, list[float]]:
    """Train a model on rows, from the last checkpoint in ``folder`` if there is one.

    Parameters
    ----------
    model, pooled
        The model, and its classifier if that is on a layer or on heads.
    rows
        The encoded training examples.
    settings
        Epochs, learning rate and so on.
    device
        ``"cpu"``, ``"cuda"`` or ``"mps"``.
    folder
        Where checkpoints are written, one every ``every`` seconds.
    update
        Called after each step with (steps done, steps in all).

    Returns
    -------
    seconds : float
        The time that training took, including the time before an interruption.
    losses : list of float
        The mean loss of each epoch.
    """
    network = pooled or model.network
    clock = CheckpointClock(folder, update, every)
    trainer = LengthTrainer(
        model=network,
        args=_arguments(settings, device, folder),
        train_dataset=rows,
        data_collator=collator(model.network, model.pad),
        callbacks=[clock],
    )
    trainer.remove_callback(PrinterCallback)
    observed = model.config._attn_implementation == NAME
    fast = observed and not (pooled and pooled.watches)
    if fast:
        _use_fast_attention(model.network)
    try:
        with without_bars(), stopping(clock):
            found = last_checkpoint(folder)
            trainer.train(resume_from_checkpoint=str(found) if found else None)
    finally:
        if fast:
            model.network.set_attn_implementation(NAME)
        network.eval()
    history = trainer.state.log_history
    return clock.seconds, [float(entry["loss"]) for entry in history if "loss" in entry]


def _arguments(settings: TuneSettings, device: str, folder: Path) -> TrainingArguments:
    gpus = max(1, torch.cuda.device_count()) if device == "cuda" else 1
    return TrainingArguments(
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


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint. Its state is written last, so an incomplete one has none."""
    found = [path for path in folder.glob("checkpoint-*") if read_json(path / "trainer_state.json")]
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


@contextmanager
def stopping(clock: CheckpointClock) -> Iterator[None]:
    """Let Ctrl-C wait for the end of the step, so that a checkpoint is written.

    A second Ctrl-C does not wait.
    """
    if threading.current_thread() is not threading.main_thread():  # only there are signals caught
        yield
        return
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def ask(*_: Any) -> None:
        signal.signal(signal.SIGINT, before)
        clock.stop = True

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if clock.stop:
        raise KeyboardInterrupt


@contextmanager
def without_bars() -> Iterator[None]:
    """Silence the progress bars that transformers draws while loading and saving."""
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            transformers.logging.enable_progress_bar()


def _use_fast_attention(network: Any) -> None:
    """Train with the fastest attention of the architecture: no map is looked at meanwhile."""
    try:
        network.set_attn_implementation("sdpa")
    except ValueError:
        network.set_attn_implementation("eager")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty if the file is missing or incomplete."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object atomically."""
    write_text(path, json.dumps(values))
