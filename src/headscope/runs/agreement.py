"""How far a model agrees with transformers' own eager attention: options, function, result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from headscope.options import ModelRun, Option, takes
from headscope.runs.preparing import loaded

if TYPE_CHECKING:
    import pandas as pd

    from headscope.models.loading import ModelLike


@dataclass(frozen=True)
class Agreement:
    """One comparison with eager attention.

    Parameters
    ----------
    text
        What was run: ``"one text"``, ``"a batch of several lengths"`` or ``"a long text"``.
    what
        ``"maps"``, or ``"outputs"`` of the layers (the hidden states).
    stack
        ``"encoder"``, ``"decoder"`` or ``"cross"``; "" if nothing could be run.
    tokens
        The length of the longest text.
    layers
        How many layers were compared.
    difference
        The largest one: of maps, in attention; of outputs, relative to the layer's largest number.
    layer
        The layer in which it was found, from 1.
    allowed
        A larger difference is a failure.
    error
        Why the comparison could not be made; "" if it was.
    """

    text: str
    what: str
    stack: str = ""
    tokens: int = 0
    layers: int = 0
    difference: float = math.inf
    layer: int = 0
    allowed: float = 0.0
    error: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the difference is within rounding."""
        return not self.error and self.difference <= self.allowed

    @property
    def digits(self) -> str:
        """To which digit both agree, in words.

        >>> Agreement("one text", "maps", difference=0.0).digits
        'every bit'
        >>> Agreement("one text", "maps", difference=3e-7).digits
        '6 digits'
        """
        if self.difference == 0:
            return "every bit"
        if not self.difference < 0.1:
            return "none"
        digits = math.floor(-math.log10(self.difference))
        return f"{digits} digit{'s' * (digits != 1)}"

    def sentence(self) -> str:
        """What is wrong, in words."""
        if self.error:
            return f"{self.what} of {self.text} could not be compared: {self.error}"
        return (
            f"{self.what} of the {self.stack} on {self.text} differ by {self.difference:.2g} "
            f"(layer {self.layer})"
        )


@dataclass(frozen=True)
class Check:
    """What :func:`check` found.

    Parameters
    ----------
    model
        The model's name.
    rows
        The comparisons.
    notes
        What was not compared, and remarks on the model.
    """

    model: str
    rows: tuple[Agreement, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything agrees."""
        return bool(self.rows) and all(row.agrees for row in self.rows)

    def verdict(self) -> str:
        """The result in one sentence."""
        if self.passed:
            worst = max(self.rows, key=lambda row: row.difference)
            exact = worst.difference == 0
            digits = "in every bit" if exact else f"to {worst.digits} or more"
            return f"PASS: {self.model} agrees with eager attention {digits}"
        wrong = "; ".join(row.sentence() for row in self.rows if not row.agrees)
        return f"FAIL: {self.model} does not agree with eager attention: {wrong}"

    def frame(self) -> pd.DataFrame:
        """One row per comparison."""
        import pandas as pd

        return pd.DataFrame(
            {
                "text": row.text,
                "tokens": row.tokens,
                "compared": f"{row.what} ({row.stack})" if row.stack else row.what,
                "layers": row.layers,
                "largest difference": row.difference,
                "agrees to": row.digits if not row.error else row.error,
                "allowed": row.allowed,
                "verdict": "ok" if row.agrees else "FAIL",
            }
            for row in self.rows
        )

    def __str__(self) -> str:
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return f"{self.frame().to_string(index=False)}{notes}\n{self.verdict()}"


class CheckOptions(ModelRun):
    """Options of :func:`check`.

    Parameters
    ----------
    max_length
        Tokens of the long text. The default is 512, or more where a window or an index is longer,
        up to 4096, or what the model takes.
    seed
        Seed of the tokens.
    """

    max_length: Annotated[int | None, Option(name="maximum length")] = None
    seed: int = 0


@takes(CheckOptions)
def check(model: ModelLike, options: CheckOptions) -> Check:
    """Compare a model, as Headscope observes it, with transformers' own eager attention.

    The same weights are run twice on the same device: observed, and with the attention that
    transformers itself calls eager. Compared are the maps of every layer and what every layer gives
    to the next: on one text, on a batch of texts of several lengths against each text alone, and on
    a long text, beyond any window or index that the configuration names. The texts are random
    tokens.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`~headscope.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``.

    Returns
    -------
    Check
        Its ``passed`` says whether all agrees; printing it shows the table.

    Raises
    ------
    UserError
        If the model cannot be loaded or observed, or does not take so many tokens. What goes wrong
        after that is part of the result.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.check("demo", max_length=64)
    >>> found.passed
    True
    >>> found.rows[0].digits
    'every bit'
    """
    with loaded(model, options) as used:
        from headscope.runs.eager import compare_with_eager

        return compare_with_eager(used, options)
