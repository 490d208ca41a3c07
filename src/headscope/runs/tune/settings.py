"""How a model is fine-tuned, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.errors import UserError, unknown

STARTS = ("pretrained", "random", "untrained")
"""Fine-tuned from pretrained weights; fine-tuned from normal(0, 0.02); pretrained, with a classifier that is not trained."""
PRECISIONS = ("float32", "bf16", "fp16")


@dataclass(frozen=True)
class Settings:
    """What changes the numbers of a run. The defaults are those of the paper (§3) and of Devlin et al. 2018.

    >>> Settings(epochs=0)
    Traceback (most recent call last):
    headscope.errors.UserError: the number of epochs must be 1 or more, got 0 instead
    next: see headscope tune --help
    """

    start: str = "pretrained"
    epochs: int = 3
    learning_rate: float = 5e-5
    batch_size: int = 32
    max_length: int = 128
    warmup: float = 0.1
    seed: int = 0
    precision: str = "float32"
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
        for right, name, rule, given in rules:
            if not right:
                raise UserError(
                    f"the {name} must {rule}, got {given} instead", hint="see headscope tune --help"
                )
