"""The options of an ablation, checked once. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from headscope.errors import UserError, unknown
from headscope.options import Pass
from headscope.stats.bootstrap import CONFIDENCE
from headscope.stats.tests import check_correction

Way = Literal["uniform", "zero", "mean"]
"""How heads are disabled."""


def ablation_settings(way: str, long: str, **values: object) -> Pass:
    """The settings of the passes over the examples.

    Parameters
    ----------
    way
        How heads are disabled, which is only checked here.
    long
        What to do with long examples: truncate or drop.
    values
        The other settings, see :class:`headscope.options.Pass`.

    Examples
    --------
    >>> ablation_settings("uniform", "truncate", batch_size=8).batch_size
    8
    """
    if way not in get_args(Way):
        raise unknown("way to disable a head", way, get_args(Way))
    if long == "split":
        raise UserError(
            "long examples cannot be split here: each example has one answer",
            hint="give long='truncate' or 'drop'",
        )
    return Pass(long=long, **values)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ScoreSettings:
    """The options of scores, intervals and tests.

    Parameters
    ----------
    correction
        The correction of p-values over all heads (layers, sets): holm, bh or none.
    resamples
        The number of bootstrap resamples. The default depends on the number of heads, see
        :func:`headscope.stats.ablation.scored`.
    confidence
        The confidence of the intervals.

    Examples
    --------
    >>> ScoreSettings(confidence=95)
    Traceback (most recent call last):
    headscope.errors.UserError: the confidence must be between 0 and 1, got 95 instead
    """

    correction: str = "holm"
    resamples: int | None = None
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        check_correction(self.correction)
        if self.resamples is not None and self.resamples < 1:
            raise UserError(
                f"the number of resamples must be 1 or more, got {self.resamples} instead"
            )
        if not 0 < self.confidence < 1:
            raise UserError(
                f"the confidence must be between 0 and 1, got {self.confidence:g} instead"
            )
