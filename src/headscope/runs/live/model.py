"""The model behind the explorer: maps, predictions and effects of one text at a time."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import UserError, unknown
from headscope.heads import Head, HeadsLike
from headscope.models import Model
from headscope.models.replace import FittedReplacement
from headscope.runs.live.changes import Changes, strongest_moves
from headscope.runs.live.listeners import (
    Check,
    EnoughLayers,
    Moved,
    Pooled,
    Window,
    as_bytes,
    as_words,
    inside,
)
from headscope.runs.live.passes import TextPasses
from headscope.runs.live.predictions import (
    Kind,
    Prediction,
    compare,
    divergences,
    place_of_prediction,
    what_it_predicts,
)
from headscope.runs.live.text import LiveText, Reading, longest, read_text

STACKED_TOKENS = 2048
"""So many tokens are run at once when heads are switched off in turn."""


def _nothing() -> None:
    """Nobody cancels."""


class LiveModel:
    """A model that answers questions about one text at a time.

    The outputs of the layers of the last two texts are kept, so that a head's map takes one layer,
    and switching heads off takes only the layers from the first of them up.

    Parameters
    ----------
    model
        The model, with a language-model head or a classifier if it has one
        (``headscope.load(name, head="own")``).
    stack
        The stack to look at. Default: the encoder if there is one.

    Examples
    --------
    >>> import headscope as hs
    >>> live = LiveModel(hs.load("demo"))
    >>> text = LiveText("The dog barked.")
    >>> live.read(text).tokens
    ['[CLS]', 'The', 'dog', 'barked', '.', '[SEP]']
    >>> maps = live.maps(text, "1-3") / 65535
    >>> live.read(text).tokens[maps[0, 3].argmax()]  # what "barked" attends to
    'dog'
    """

    def __init__(self, model: Model, *, stack: str = "") -> None:
        self.model = model
        self.stack = stack or model.main_stack()
        if self.stack == "cross":
            raise UserError(
                "the rows and columns of cross attention are different texts, which the explorer "
                "cannot show",
                hint="give stack='encoder' or stack='decoder'",
                command="give --stack encoder or --stack decoder",
            )
        self.shape = model.shape(self.stack)
        self.kind: Kind = what_it_predicts(model)
        self._passes = TextPasses(model, self.stack, self.kind)

    def describe(self) -> dict[str, Any]:
        """What the page knows about the model; ``LiveModel`` in ``web/src/data/types.ts``."""
        return {
            "name": self.model.label,
            "type": str(getattr(self.model.config, "model_type", "")),
            "layers": self.shape.layers,
            "heads": self.shape.heads,
            "numbers": list(self.shape.labels),
            "longest": longest(self.model),
            "causal": self.model.causal(self.stack),
            "predicts": self.kind,
            "mask": str(self.model.tokenizer.mask_token or "") if self.kind == "masked" else "",
        }

    def read(self, text: LiveText) -> Reading:
        """The tokens and words of a text.

        Raises
        ------
        UserError
            If it is empty, or longer than the model takes.
        """
        return read_text(self.model, text, self.stack)

    def thumbnails(self, text: LiveText, *, check: Check = _nothing) -> NDArray[np.uint8]:
        """All heads' maps, pooled to at most 32 × 32 cells, as square roots in 256 steps.

        Returns
        -------
        ndarray of uint8, (layer, head, cell, cell)
        """
        return self._passes.recorded(text, check).small

    def maps(
        self,
        text: LiveText,
        heads: HeadsLike,
        *,
        rows: tuple[int, int] | None = None,
        keys: tuple[int, int] | None = None,
        off: HeadsLike = (),
        how: str = "zero",
        check: Check = _nothing,
    ) -> NDArray[np.uint16]:
        """Maps of some heads, or windows of them.

        Parameters
        ----------
        text
            The text.
        heads
            The heads, such as ``"3-9,5-8"``.
        rows, keys
            The first row or key, and the one after the last. Default: all.
        off, how
            Heads that are off, and how; see :meth:`predictions`.
        check
            Called in every layer; what it raises ends the pass.

        Returns
        -------
        ndarray of uint16, (head, row, key)
            Weights, 65535 for 1.
        """
        chosen = self.shape.parse(heads)
        kept = self._passes.recorded(text, check)
        whole = (0, len(kept.reading))
        wanted: dict[int, list[tuple[int, int]]] = {}
        for place, head in enumerate(chosen):
            wanted.setdefault(head.layer, []).append((head.head, place))
        window = Window(self.stack, wanted, inside(rows, whole), inside(keys, whole), check=check)
        with torch.inference_mode(), suppress(EnoughLayers):
            kept.cache.forward(
                self._passes.replacement(kept, off, how),
                listeners=[window],
                layer=(self.stack, min(wanted)),
                **self._passes.options,
            )
        return as_words(window.weights, self.model.label)

    def predictions(
        self,
        text: LiveText,
        at: int | None = None,
        *,
        off: HeadsLike = (),
        how: str = "zero",
        check: Check = _nothing,
    ) -> Prediction:
        """What the model predicts, with all heads on and with some off.

        Parameters
        ----------
        text
            The text.
        at
            A masked token, or the token after which the next one is predicted. Default: the first
            mask, or the last token.
        off
            Heads that are off.
        how
            ``"zero"``: their output is 0. ``"uniform"``: they attend equally to every token that
            they may see. ``"mean"``: their output is their mean output over the tokens of this
            text, all heads on.
        check
            Called in every layer; what it raises ends the pass.
        """
        kept = self._passes.recorded(text, check)
        place = place_of_prediction(self.kind, kept.reading, at)
        before = after = self._passes.predicted(kept, None, place)
        if off:
            after = self._passes.predicted(kept, self._passes.replacement(kept, off, how), place)
        return compare(self.model, self.kind, place, before, after)

    def effects(
        self,
        text: LiveText,
        layer: int,
        at: int | None = None,
        *,
        how: str = "zero",
        check: Check = _nothing,
    ) -> NDArray[np.float32]:
        """How far the prediction moves when each head of a layer is switched off in turn.

        Parameters
        ----------
        text, at, how, check
            See :meth:`predictions`.
        layer
            The layer's number, from 1.

        Returns
        -------
        ndarray of float32, (head,)
            Kullback–Leibler divergences in nats.
        """
        if layer not in self.shape.labels:
            raise unknown("layer", str(layer), map(str, self.shape.labels))
        kept = self._passes.recorded(text, check)
        place = place_of_prediction(self.kind, kept.reading, at)
        before = self._passes.predicted(kept, None, place)
        offs = [
            self._passes.replacement(kept, Head(layer - 1, head), how)
            for head in range(self.shape.heads)
        ]
        most = max(STACKED_TOKENS // len(kept.reading), 1)
        found: list[Tensor] = []
        for start in range(0, len(offs), most):
            check()
            found += self._passes.each(kept, offs[start : start + most], place)
        return divergences(before, torch.stack(found)).float().cpu().numpy()

    def changes(
        self,
        text: LiveText,
        off: HeadsLike,
        *,
        how: str = "zero",
        most: int = 4,
        check: Check = _nothing,
    ) -> Changes:
        """How the maps of all heads change when some are switched off.

        Parameters
        ----------
        text, off, how, check
            See :meth:`predictions`.
        most
            How many heads are listed.
        """
        kept = self._passes.recorded(text, check)
        length = len(kept.reading)
        named = ~kept.reading.special
        moved = Moved(self.stack, self.shape, named if named.any() else named | True, check=check)
        pooled = Pooled(self.stack, self.shape, length, copy=1, check=check)
        replacement = self._passes.replacement(kept, off, how)
        none = FittedReplacement({}, "zero", {})
        with torch.inference_mode(), suppress(EnoughLayers):
            kept.cache.forward_stacked(
                [none, replacement], listeners=[pooled, moved], **self._passes.options
            )
        small = kept.small.copy()
        for layer in pooled.means:  # the layers that were computed
            place = self.shape.place(layer)
            small[place] = as_bytes(pooled.result()[place], self.model.label)
        divergence = moved.result()
        moves = strongest_moves(moved, divergence, self.shape, set(self.shape.parse(off)), most)
        return Changes(divergence, small, moves)

    def generate(
        self,
        text: LiveText,
        *,
        off: HeadsLike = (),
        how: str = "zero",
        check: Check = _nothing,
    ) -> tuple[int, str, float, bool]:
        """The most likely next token.

        Returns
        -------
        tuple of int, str, float, bool
            Its id, its characters, its probability, and whether it ends the text.
        """
        if self.kind != "next":
            raise UserError("only causal language models write on")
        found = self.predictions(text, off=off, how=how, check=check)
        best = max(found.choices, key=lambda one: one.after)
        return best.id, best.name, best.after, best.id in self._passes.ends()
