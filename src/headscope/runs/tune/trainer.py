"""transformers' Trainer with our order of rows, our progress, and checkpoints by the clock."""

from __future__ import annotations

import json
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from headscope.errors import UserError
from headscope.files import sealed, sync_folder, unsealed, write_text, writing
from headscope.models import NAME, Model
from headscope.progress import Update
from headscope.runs.tune import TuneOptions
from headscope.runs.tune.classifier import PooledClassifier
from headscope.runs.tune.rows import LengthOrder, TokenRows, collator

DECAY = 0.01
"""Weight decay, as in Devlin et al. 2019, whose settings Kovaleva et al. 2019 use."""
STATE = "run.json"
LOSSES = "losses.json"
"""The loss of every step so far: written last, so that a checkpoint without it is incomplete."""


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
        self.before = float(read_state(folder).get("seconds", 0.0))
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
        write_state(self.folder, read_state(self.folder) | {"seconds": self.seconds})


class LengthTrainer(Trainer):  # type: ignore[misc]
    """A trainer that sees rows in :class:`LengthOrder`, and keeps the loss of every step.

    The losses that transformers logs leave out the steps before an interruption.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.losses: list[Any] = []
        self.began = False

    def resume(self, folder: Path | None) -> None:
        """Train, from a checkpoint if there is one."""
        if folder is None:
            self.train()
            return
        try:
            self.losses = json.loads((folder / LOSSES).read_text(encoding="utf-8"))
            self.train(resume_from_checkpoint=str(folder))
        except Exception as error:  # torch, safetensors and json have kinds of their own
            if self.began:
                raise
            raise UserError(
                f"the checkpoint {folder} cannot be read: {str(error).splitlines()[0]}",
                hint=f"delete {folder} to resume from the checkpoint before it",
            ) from error

    def epoch_losses(self) -> list[float]:
        """The mean loss of each epoch, added up in float32 as transformers does."""
        losses = [float(loss) for loss in self.losses]
        size = max(1, -(-len(losses) // int(self.args.num_train_epochs)))
        epochs = [losses[start : start + size] for start in range(0, len(losses), size)]
        sums = [np.cumsum(np.array(epoch, np.float32))[-1] for epoch in epochs]
        return [float(total) / len(epoch) for total, epoch in zip(sums, epochs, strict=True)]

    def training_step(self, *args: Any, **options: Any) -> Any:
        """One step; its loss is read only when it is needed, since a GPU would have to wait."""
        self.began = True
        loss = super().training_step(*args, **options)
        self.losses.append(loss.detach())
        return loss

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthOrder:
        return LengthOrder(
            self.train_dataset.lengths, batch_size=self.args.train_batch_size, seed=self.args.seed
        )

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        folder = Path(self.args.output_dir)
        with writing(folder):
            super()._save_checkpoint(model, trial)
            checkpoint = folder / f"checkpoint-{self.state.global_step}"
            write_text(checkpoint / LOSSES, json.dumps([float(loss) for loss in self.losses]))
            sync_folder(folder)


def train_rows(
    model: Model,
    pooled: PooledClassifier | None,
    rows: TokenRows,
    options: TuneOptions,
    folder: Path,
    update: Update,
) -> tuple[float, list[float]]:
    """Train a model on rows, from the last checkpoint in ``folder`` if there is one.

    Parameters
    ----------
    model, pooled
        The model, and its classifier if that is on a layer or on heads.
    rows
        The encoded training examples.
    options
        Epochs, learning rate and so on.
    folder
        Where checkpoints are written.
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
    clock = CheckpointClock(folder, update, options.every)
    trainer = LengthTrainer(
        model=network,
        args=_arguments(options, folder),
        train_dataset=rows,
        data_collator=collator(model.network, model.pad),
        callbacks=[clock],
    )
    trainer.remove_callback(PrinterCallback)
    observed = isinstance(model.config._attn_implementation, type(NAME))
    fast = observed and not (pooled and pooled.watches)
    if fast:
        _use_fast_attention(model.network)
    try:
        with without_bars(), stopping(clock):
            remove_incomplete(folder)
            trainer.resume(last_checkpoint(folder))
    finally:
        if fast:
            model.network.set_attn_implementation(NAME)
        network.eval()
    return clock.seconds, trainer.epoch_losses()


def _arguments(options: TuneOptions, folder: Path) -> TrainingArguments:
    cuda = options.device == "cuda"
    gpus = max(1, torch.cuda.device_count()) if cuda else 1
    return TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=max(1, options.batch_size // gpus),
        num_train_epochs=options.epochs,
        learning_rate=options.learning_rate,
        warmup_steps=options.warmup,
        weight_decay=DECAY,
        seed=options.seed,
        bf16=options.precision == "bf16",
        fp16=options.precision == "fp16",
        use_cpu=options.device == "cpu",
        save_strategy="no",
        save_total_limit=2,  # the last one may be incomplete
        logging_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=cuda,
        remove_unused_columns=False,
    )


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint."""
    complete = [path for path in folder.glob("checkpoint-*") if (path / LOSSES).is_file()]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def remove_incomplete(folder: Path) -> None:
    """Remove checkpoints whose writing was cut short: training resumes from the one before."""
    for path in folder.glob("checkpoint-*"):
        if not (path / LOSSES).is_file():
            shutil.rmtree(path, ignore_errors=True)


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


def read_state(folder: Path) -> dict[str, Any]:
    """What is known of the run whose checkpoints are in a folder; nothing if there is none.

    Raises
    ------
    UserError
        If the file is damaged: whose checkpoints they are is then unknown.
    """
    path = folder / STATE
    if not path.exists():
        return {}
    try:
        return unsealed(json.loads(path.read_text(encoding="utf-8")), required=True)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is damaged: {error}", hint=f"delete {folder} to train from the beginning"
        ) from None


def write_state(folder: Path, values: dict[str, Any]) -> None:
    """Note what is known of a run beside its checkpoints."""
    write_text(folder / STATE, json.dumps(sealed(values)))
