"""The options of a probing run, checked once. Nothing here imports torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from operator import index
from typing import Literal, SupportsIndex

from headscope.errors import UserError, unknown
from headscope.models.pooling import POSITIONS

L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""The L2 values that the paper chooses from (Jo and Myaeng 2020, appendix A.2)."""
FOLDS = 5
SOLVERS = ("exact", "rmsprop")
PAIRS = ("together", "apart")

Solver = Literal["exact", "rmsprop"]
PairMode = Literal["together", "apart"]
Position = Literal["cls", "last", "mean"]


@dataclass(frozen=True)
class ProbeOptions:
    """Everything that changes the numbers of a probing run, besides the model and the tasks.

    Parameters
    ----------
    position
        Token at which vectors are read: ``"cls"``, ``"last"`` or ``"mean"`` (the mean over all
        tokens). None chooses the position that suits the model.
    pairs
        ``"together"`` encodes a pair of texts as one input. ``"apart"`` encodes the texts
        separately as u and v; the features are u, v, |u - v| and u · v.
    n
        Number of best heads to concatenate; None stands for the number of heads in a layer.
    counts
        Numbers of heads for the curve over n; None chooses up to ten between 1 and all heads.
    greedy
        Whether to also select heads greedily, by what each adds to those already selected.
    max_length
        Maximum number of tokens per input; longer ones are truncated.
    batch_size
        Number of texts per forward pass.
    solver
        ``"exact"`` finds the optimum of each classifier; ``"rmsprop"`` trains as the paper does.
    l2
        L2 penalties to choose from; the validation score decides.
    folds
        Number of cross-validation folds for a task without a validation split.
    control
        Whether to also train every classifier on shuffled labels.
    embeddings
        Whether to also train a classifier on the embeddings alone, averaged over tokens.
    repeats
        Number of random splits of a task that are probed besides its own; 1 for none. None stands
        for 5 where validation or test has fewer than 200 examples, and for none elsewhere.
    seed
        Seed of the folds, the shuffled labels and the RMSProp solver.
    device
        Device on which classifiers are trained.

    Raises
    ------
    UserError
        If a value is not allowed.

    Examples
    --------
    >>> ProbeOptions(l2=(0.1, 0.01)).l2
    (0.01, 0.1)
    >>> ProbeOptions(folds=1)
    Traceback (most recent call last):
    headscope.errors.UserError: the number of folds must be 2 or more, got 1 instead
    """

    position: Position | None = None
    pairs: PairMode = "together"
    n: int | None = None
    counts: tuple[int, ...] | None = None
    greedy: bool = True
    max_length: int = 128
    batch_size: int = 32
    solver: Solver = "exact"
    l2: tuple[float, ...] = L2
    folds: int = FOLDS
    control: bool = True
    embeddings: bool = False
    repeats: int | None = None
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise unknown("solver", self.solver, SOLVERS)
        if self.pairs not in PAIRS:
            raise unknown("pairs option", self.pairs, PAIRS)
        if self.position is not None and self.position not in POSITIONS:
            raise unknown("position", self.position, POSITIONS)
        counts = self.counts and tuple(_whole("number of heads", each) for each in self.counts)
        checked: dict[str, object] = {
            "l2": _penalties(self.l2),
            "n": None if self.n is None else _whole("number of heads", self.n),
            "counts": counts,
            "folds": _whole("number of folds", self.folds, least=2),
            "batch_size": _whole("batch size", self.batch_size, least=1),
            "max_length": _whole("maximum length", self.max_length),
            "repeats": None
            if self.repeats is None
            else _whole("number of repeats", self.repeats, least=1),
            "seed": _whole("seed", self.seed),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def settings(self) -> dict[str, object]:
        """All options by name, except ``repeats``, and ``embeddings`` if they are off.

        Results that were made before these options existed have the same settings.

        Examples
        --------
        >>> "embeddings" in ProbeOptions().settings, ProbeOptions(embeddings=True).settings["folds"]
        (False, 5)
        """
        named = asdict(self)
        del named["repeats"]
        return {name: value for name, value in named.items() if value or name != "embeddings"}

    def resolve(self, model: str, *, layers: int, heads: int) -> ProbeOptions:
        """Fill in ``n`` and ``counts`` for a model, and check them against its number of heads.

        Parameters
        ----------
        model
            Name of the model, for error messages.
        layers, heads
            Number of layers, and of heads in each.

        Returns
        -------
        ProbeOptions
            The same options, with ``counts`` in ascending order and including ``n``.

        Raises
        ------
        UserError
            If the model has fewer heads than ``n`` or one of ``counts``.

        Examples
        --------
        >>> resolved = ProbeOptions().resolve("demo", layers=6, heads=12)
        >>> resolved.n, resolved.counts
        (12, (1, 2, 4, 6, 12, 18, 24, 36, 48, 72))
        """
        total = layers * heads
        n = heads if self.n is None else self.n
        counts = self.counts if self.counts is not None else default_counts(heads, total)
        for number in (n, *counts):
            if not 1 <= number <= total:
                raise UserError(
                    f"the number of heads must be between 1 and {total}, the number of heads of "
                    f"{model}; got {number} instead",
                    hint=f"{heads} is the number of heads in a layer",
                )
        return replace(self, n=n, counts=tuple(sorted({*counts, n})))


def default_counts(heads: int, total: int) -> tuple[int, ...]:
    """Numbers of heads for the curve over n: up to ten, from one head to all of them.

    Examples
    --------
    >>> default_counts(4, 8)
    (1, 2, 4, 6, 8)
    """
    points = (1, 2, 4, heads // 2, heads, 3 * heads // 2, *(k * heads for k in (2, 3, 4)), total)
    return tuple(sorted({point for point in points if 1 <= point <= total}))


def _penalties(given: Iterable[float]) -> tuple[float, ...]:
    """L2 values in ascending order."""
    shown = str(given)
    try:
        shown = ", ".join(map(str, given))
        values = sorted(float(value) for value in given)
    except (TypeError, ValueError):
        values = []
    if not values or not all(0 < value < 1e6 for value in values):
        raise UserError(
            f"L2 values must be numbers above 0, got {shown or 'none'} instead",
            hint="for example 0.001 and 0.01",
        )
    return tuple(values)


def _whole(name: str, value: object, *, least: int | None = None) -> int:
    """A whole number, of any type that stands for one."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise UserError(f"the {name} must be a whole number, got {value!r} instead")
    number = index(value)
    if least is not None and number < least:
        raise UserError(f"the {name} must be {least} or more, got {number} instead")
    return number
