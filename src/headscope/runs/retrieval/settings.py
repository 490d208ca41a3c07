"""What a run of retrieval depends on, checked before a model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headscope.errors import UserError, unknown
from headscope.runs.retrieval.needles import Needle, choose_needles

LENGTHS = (512, 1024)
DEPTHS = (0.1, 0.3, 0.5, 0.7, 0.9)
MASKED = (5, 10)
WAYS = ("zero", "uniform")


@dataclass(frozen=True)
class RetrievalSettings:
    """How needles are hidden and asked for, and how the check disables heads.

    Parameters
    ----------
    lengths, depths, every_depth, chat, seed
        See :func:`headscope.retrieval`.
    needles
        The needles themselves.
    masked
        How many heads the check disables at a time, one number after the other. None takes 5 and
        10, or fewer where a model is small; an empty list makes no check.
    draws
        How many sets of random heads are drawn for each of these numbers.
    way
        How heads are disabled: ``"zero"`` or ``"uniform"``.

    Examples
    --------
    >>> RetrievalSettings(lengths=(256,)).depths
    (0.1, 0.3, 0.5, 0.7, 0.9)
    """

    lengths: Sequence[int] = LENGTHS
    depths: Sequence[float] = DEPTHS
    every_depth: bool = False
    needles: tuple[Needle, ...] = ()
    chat: bool | None = None
    masked: Sequence[int] | None = None
    draws: int = 3
    way: str = "zero"
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", tuple(self.lengths))
        object.__setattr__(self, "depths", tuple(self.depths))
        object.__setattr__(self, "needles", self.needles or choose_needles())
        if self.masked is not None:
            object.__setattr__(self, "masked", tuple(sorted(set(self.masked))))
        _check_all("length", self.lengths, lambda one: one >= 1, "1 token or more")
        _check_all("depth", self.depths, lambda one: 0 <= one <= 1, "from 0 to 1")
        for count in (*(self.masked or ()), self.draws):
            if count < 1:
                raise UserError(
                    f"numbers of disabled heads and of draws must be 1 or more, got {count} instead"
                )
        if self.way not in WAYS:
            raise unknown("way to disable a head", self.way, WAYS)

    def about(self) -> dict[str, Any]:
        """Everything as provenance keeps it, but the needles only by their number."""
        return asdict(self) | {"needles": len(self.needles)}


def _check_all(what: str, given: Sequence[Any], good: Any, allowed: str) -> None:
    if not given:
        raise UserError(f"at least one {what} must be given")
    for one in given:
        if not good(one):
            raise UserError(f"every {what} must be {allowed}, got {one} instead")
