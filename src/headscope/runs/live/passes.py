"""Passes of a model over one text: all heads on, and with heads replaced."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import collate
from headscope.errors import unknown
from headscope.heads import HeadsLike
from headscope.models import Model, Replacement
from headscope.models.cache import LayerCache
from headscope.models.replace import WAYS, FittedReplacement
from headscope.runs.live.listeners import Check, Pooled, as_bytes
from headscope.runs.live.predictions import Kind, log_probabilities
from headscope.runs.live.text import LiveText, Reading, read_text

KEPT = 2
"""Texts whose layers are kept: two are compared side by side."""


@dataclass(frozen=True)
class Recorded:
    """A text with all heads on: the outputs of its layers, small maps, mean outputs of heads."""

    reading: Reading
    cache: LayerCache
    small: NDArray[np.uint8]
    means: dict[int, Tensor]


class TextPasses:
    """Passes over single texts. The outputs of the layers of the last two texts are kept.

    Parameters
    ----------
    model
        The model.
    stack
        The stack that is looked at.
    kind
        What the model predicts.
    """

    def __init__(self, model: Model, stack: str, kind: Kind) -> None:
        self.model, self.stack, self.kind = model, stack, kind
        self.shape = model.shape(stack)
        self._texts: OrderedDict[LiveText, Recorded] = OrderedDict()
        accepted = inspect.signature(model.network.forward).parameters
        self._keeps = "logits_to_keep" in accepted
        self._stacks: bool | None = None
        # A decoder beside an encoder reads the text itself, not what the encoder is to predict.
        decodes = model.encoder_decoder and stack == "decoder"
        self.options: dict[str, Any] = {"stack": stack} if decodes else {}

    def recorded(self, text: LiveText, check: Check) -> Recorded:
        """The text with all heads on, computed once."""
        if text in self._texts:
            self._texts.move_to_end(text)
            return self._texts[text]
        reading = read_text(self.model, text, self.stack)
        pooled = Pooled(self.stack, self.shape, len(reading), check=check)
        cache = LayerCache(self.model)
        batch = collate([reading.encoded], pad=self.model.pad)
        while len(self._texts) >= KEPT:
            self._texts.popitem(last=False)
        with torch.inference_mode():
            cache.record(batch, listeners=[pooled], **self.options, **self._kept_logits(0))
        small = as_bytes(pooled.result(), self.model.label)
        self._texts[text] = Recorded(reading, cache, small, pooled.means)
        return self._texts[text]

    def replacement(self, kept: Recorded, off: HeadsLike, how: str) -> FittedReplacement:
        """Heads that are off, fitted to the model; means are those of the text, all heads on."""
        if how not in WAYS:
            raise unknown("way to switch a head off", how, WAYS)
        found = Replacement(off, way=how, stack=self.stack, means=kept.means)
        return found.fit(self.model)

    def _kept_logits(self, place: int) -> dict[str, Any]:
        """Ask for the scores of one token only: those of all take much memory."""
        if not self._keeps:
            return {}
        return {"logits_to_keep": torch.tensor([max(place, 0)], device=self.model.device)}

    def _scores(self, output: Any, place: int) -> Tensor:
        """Scores of tokens or classes, (copy, class)."""
        scores: Tensor = output.logits
        if self.kind == "class":
            return scores
        return scores[:, 0] if self._keeps else scores[:, place]

    def predicted(
        self, kept: Recorded, replacement: FittedReplacement | None, place: int
    ) -> Tensor:
        """The log-probabilities of tokens or classes at one place, (class,)."""
        with torch.inference_mode():
            output = kept.cache.forward(replacement, **self.options, **self._kept_logits(place))
        return log_probabilities(self.model, self._scores(output, place)[0])

    def each(self, kept: Recorded, offs: Sequence[FittedReplacement], place: int) -> list[Tensor]:
        """The predictions with each replacement, several at once where that gives the same."""
        if self._stacks is False or len(offs) == 1:
            return [self.predicted(kept, off, place) for off in offs]
        try:
            with torch.inference_mode():
                output = kept.cache.forward_stacked(
                    offs, **self.options, **self._kept_logits(place)
                )
            together = list(log_probabilities(self.model, self._scores(output, place)))
        except (RuntimeError, ValueError, IndexError, TypeError):
            together = []
        if self._stacks is None:  # tried once: some networks mix the copies, or round by batch
            alone = self.predicted(kept, offs[-1], place)
            self._stacks = len(together) == len(offs) and torch.allclose(
                alone, together[-1], rtol=1e-3, atol=1e-4
            )
        return together if self._stacks else self.each(kept, offs, place)

    def ends(self) -> set[int]:
        """The tokens that end a text."""
        return end_tokens(self.model)


def end_tokens(model: Model) -> set[int]:
    """The tokens with which a model ends a text."""
    found: set[int | None] = set()
    for where in (model.config, getattr(model.network, "generation_config", None)):
        token = getattr(where, "eos_token_id", None)
        found |= set(token) if isinstance(token, list | tuple) else {token}
    return {one for one in {*found, model.tokenizer.eos_token_id} if one is not None}
