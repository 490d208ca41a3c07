"""How scores are computed from the outputs of an ablation, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.errors import UserError
from headscope.stats.bootstrap import CONFIDENCE
from headscope.stats.tests import check_correction


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
