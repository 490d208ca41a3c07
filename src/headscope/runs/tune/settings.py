"""The settings of a fine-tuning run, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from headscope.errors import UserError, unknown

Start = Literal["pretrained", "random", "untrained"]
Precision = Literal["float32", "bf16", "fp16"]
STARTS: tuple[Start, ...] = ("pretrained", "random", "untrained")
"""Fine-tuned from the model's own weights; fine-tuned from weights drawn from normal(0, 0.02);
the model's own weights with a new classifier that is scored without training."""
DEVICES = ("cpu", "cuda", "mps")
PRECISIONS: tuple[Precision, ...] = ("float32", "bf16", "fp16")


@dataclass(frozen=True)
class TuneSettings:
    """Everything that changes the numbers of a fine-tuning run, besides model and data.

    The parameters are those of :func:`headscope.runs.tune.tune`. The defaults are those of
    Kovaleva et al. 2019 (§3) and of Devlin et al. 2019, whom they follow.

    Examples
    --------
    >>> TuneSettings(epochs=0)
    Traceback (most recent call last):
    headscope.errors.UserError: the number of epochs must be 1 or more, got 0 instead
    """

    start: Start = "pretrained"
    epochs: int = 3
    learning_rate: float = 5e-5
    batch_size: int = 32
    max_length: int = 128
    warmup: float = 0.1
    seed: int = 0
    precision: Precision = "float32"
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise unknown("start", self.start, STARTS)
        if self.precision not in PRECISIONS:
            raise unknown("precision", self.precision, PRECISIONS)
        rules = (
            (self.epochs >= 1, "number of epochs", "be 1 or more", self.epochs),
            (0 < self.learning_rate < 1, "learning rate", "be between 0 and 1", self.learning_rate),
            (self.batch_size >= 1, "batch size", "be 1 or more", self.batch_size),
            (0 <= self.warmup < 1, "warm-up", "be a share from 0 to below 1", self.warmup),
            (0 <= self.seed < 2**32, "seed", "be from 0 to 4294967295", self.seed),
            (self.limit is None or self.limit >= 1, "limit", "be 1 or more", self.limit),
        )
        for allowed, name, rule, given in rules:
            if not allowed:
                raise UserError(f"the {name} must {rule}, got {given} instead")


def check_training(settings: TuneSettings, device: str) -> None:
    """Check that training is possible here: the library, the device, the precision."""
    if find_spec("accelerate") is None:
        raise UserError(
            "fine-tuning needs the library accelerate, which is not installed",
            hint="pip install 'headscope[tune]'",
        )
    if device not in DEVICES:
        raise UserError(
            f"the device for fine-tuning must be one of {', '.join(DEVICES)}; "
            f"got {device!r} instead",
            hint="choose one of several GPUs with CUDA_VISIBLE_DEVICES=1 and the device cuda",
        )
    if settings.precision == "fp16" and device == "cpu":
        raise UserError(
            "fp16 needs a GPU: on a CPU half-precision training is bf16",
            hint="choose the precision bf16 or float32",
        )
