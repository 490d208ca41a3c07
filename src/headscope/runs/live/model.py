"""The model behind the explorer: maps, predictions and effects of one text at a time."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import collate
from headscope.errors import UserError, unknown
from headscope.heads import Head, HeadsLike
from headscope.models import Model, Replacement
from headscope.models.cache import LayerCache
from headscope.models.projections import ValueNorms
from headscope.models.replace import WAYS, FittedReplacement
from headscope.runs.live.listeners import (
    Check,
    EnoughLayers,
    Move,
    Moved,
    Pooled,
    Window,
    as_bytes,
    as_words,
)
from headscope.runs.live.text import (
    Kind,
    LiveText,
    Prediction,
    Reading,
    Token,
    compare,
    divergences,
    end_tokens,
    log_probabilities,
    longest,
    place_of_prediction,
    read_text,
    what_it_predicts,
)

STACKED_TOKENS = 2048
"""So many tokens are run at once when heads are switched off in turn."""
KEPT = 2
"""Texts whose layers are kept: two are compared side by side."""


MapsOf = Literal["attention", "norm"]
"""What maps show: attention, or what it carries."""


def nothing() -> None:
    """Nobody cancels."""


@dataclass(frozen=True)
class Recorded:
    """A text with all heads on: the outputs of its layers, small maps, mean outputs of heads."""

    reading: Reading
    cache: LayerCache
    small: NDArray[np.uint8]
    means: dict[int, Tensor]


@dataclass(frozen=True)
class Changes:
    """What heads that are off do to the maps of all heads.

    Attributes
    ----------
    divergence
        Mean Jensen–Shannon divergence of the rows, in nats, (layer, head).
    small
        All maps with these heads off, pooled, (layer, head, cell, cell).
    moves
        The heads whose maps change most, without those that are off.
    """

    divergence: NDArray[np.float32]
    small: NDArray[np.uint8]
    moves: list[Move]


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
        self._texts: OrderedDict[LiveText, Recorded] = OrderedDict()
        accepted = inspect.signature(model.network.forward).parameters
        self._keeps = "logits_to_keep" in accepted
        self._stacks: bool | None = None
        # A decoder beside an encoder reads the text itself, not what the encoder is to predict.
        decodes = model.encoder_decoder and self.stack == "decoder"
        self._options: dict[str, Any] = {"stack": self.stack} if decodes else {}

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

    def read(self, text: LiveText, *, check: Check = nothing) -> Reading:
        """The tokens and words of a text.

        Raises
        ------
        UserError
            If it is empty, or longer than the model takes.
        """
        check()
        return read_text(self.model, text, self.stack)

    def thumbnails(
        self, text: LiveText, *, weights: MapsOf = "attention", check: Check = nothing
    ) -> NDArray[np.uint8]:
        """All heads' maps, pooled to at most 32 × 32 cells, as square roots in 256 steps.

        Parameters
        ----------
        text, weights, check
            See :meth:`maps`.

        Returns
        -------
        ndarray of uint8, (layer, head, cell, cell)
        """
        kept = self._recorded(text, check)
        norms = self._weighing(weights)
        if norms is None:
            return kept.small
        pooled = Pooled(self.stack, self.shape, check, norms, length=len(kept.reading))
        first = (self.stack, self.shape.numbers[0])
        with torch.inference_mode():
            kept.cache.forward(listeners=[pooled], layer=first, **self._options)
        return as_bytes(pooled.result(), self.model.label)

    def _weighing(self, weights: MapsOf) -> ValueNorms | None:
        return self._norms if weights == "norm" else None

    @cached_property
    def _norms(self) -> ValueNorms:
        return ValueNorms(self.model, self.stack)

    def maps(
        self,
        text: LiveText,
        heads: HeadsLike,
        *,
        rows: Sequence[int] | None = None,
        keys: Sequence[int] | None = None,
        off: HeadsLike = (),
        how: str = "zero",
        weights: MapsOf = "attention",
        check: Check = nothing,
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
        weights
            ``"attention"``, or ``"norm"``: times the length of what each key sends through the
            head, divided by the row's sum (Kobayashi et al. 2020).
        check
            Called in every layer; what it raises ends the pass.

        Returns
        -------
        ndarray of uint16, (head, row, key)
            Weights, 65535 for 1.
        """
        chosen = self.shape.parse(heads)
        kept = self._recorded(text, check)
        whole = (0, len(kept.reading))
        wanted: dict[int, list[tuple[int, int]]] = {}
        for place, head in enumerate(chosen):
            wanted.setdefault(head.layer, []).append((head.head, place))
        window = Window(
            self.stack,
            self.shape,
            check,
            self._weighing(weights),
            wanted=wanted,
            rows=_inside(rows, whole),
            keys=_inside(keys, whole),
        )
        with torch.inference_mode(), suppress(EnoughLayers):
            kept.cache.forward(
                self._replacement(kept, off, how),
                listeners=[window],
                layer=(self.stack, min(wanted)),
                **self._options,
            )
        return as_words(window.weights, self.model.label)

    def predictions(
        self,
        text: LiveText,
        at: int | None = None,
        *,
        off: HeadsLike = (),
        how: str = "zero",
        check: Check = nothing,
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
        kept = self._recorded(text, check)
        place = place_of_prediction(self.kind, kept.reading, at)
        before = after = self._predicted(kept, None, place)
        if off:
            after = self._predicted(kept, self._replacement(kept, off, how), place)
        return compare(self.model, self.kind, place, before, after)

    def effects(
        self,
        text: LiveText,
        layer: int,
        at: int | None = None,
        *,
        how: str = "zero",
        check: Check = nothing,
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
        kept = self._recorded(text, check)
        place = place_of_prediction(self.kind, kept.reading, at)
        before = self._predicted(kept, None, place)
        offs = [
            self._replacement(kept, Head(layer - 1, head), how) for head in range(self.shape.heads)
        ]
        most = max(STACKED_TOKENS // len(kept.reading), 1)
        after: list[Tensor] = []
        for start in range(0, len(offs), most):
            check()
            after += self._each(kept, offs[start : start + most], place)
        return divergences(before, torch.stack(after)).float().cpu().numpy()

    def changes(
        self,
        text: LiveText,
        off: HeadsLike,
        *,
        how: str = "zero",
        most: int = 4,
        weights: MapsOf = "attention",
        check: Check = nothing,
    ) -> Changes:
        """How the maps of all heads change when some are switched off.

        Parameters
        ----------
        text, off, how, check
            See :meth:`predictions`.
        most
            How many heads are listed.
        weights
            What the pooled maps show; see :meth:`maps`. Divergences are of attention.
        """
        kept = self._recorded(text, check)
        named = ~kept.reading.special
        listening = (self.stack, self.shape, check)
        moved = Moved(*listening, named=named if named.any() else named | True)
        norms = self._weighing(weights)
        pooled = Pooled(*listening, norms, length=len(kept.reading), copy=1)
        replacement = self._replacement(kept, off, how)
        none = FittedReplacement({}, "zero", {})
        with torch.inference_mode(), suppress(EnoughLayers):
            kept.cache.forward_stacked(
                [none, replacement], listeners=[pooled, moved], **self._options
            )
        small = self.thumbnails(text, weights=weights, check=check).copy()
        for layer in pooled.means:  # the layers that were computed
            place = self.shape.place(layer)
            small[place] = as_bytes(pooled.result()[place], self.model.label)
        return Changes(moved.result(), small, moved.strongest(set(self.shape.parse(off)), most))

    def generate(
        self,
        text: LiveText,
        *,
        off: HeadsLike = (),
        how: str = "zero",
        check: Check = nothing,
    ) -> Token:
        """The most likely next token."""
        if self.kind != "next":
            raise UserError("only causal language models write on")
        choices = self.predictions(text, off=off, how=how, check=check).choices
        best = max(choices, key=lambda one: one.after)
        return Token(best.id, best.name, best.after, best.id in end_tokens(self.model))

    # --- passes over single texts ---

    def _recorded(self, text: LiveText, check: Check) -> Recorded:
        """The text with all heads on, computed once."""
        if text in self._texts:
            self._texts.move_to_end(text)
            return self._texts[text]
        reading = read_text(self.model, text, self.stack)
        pooled = Pooled(self.stack, self.shape, check, length=len(reading))
        cache = LayerCache(self.model)
        batch = collate([reading.encoded], pad=self.model.pad)
        while len(self._texts) >= KEPT:
            self._texts.popitem(last=False)
        with torch.inference_mode():
            cache.record(batch, listeners=[pooled], **self._options, **self._kept_logits(0))
        small = as_bytes(pooled.result(), self.model.label)
        self._texts[text] = Recorded(reading, cache, small, pooled.means)
        return self._texts[text]

    def _replacement(self, kept: Recorded, off: HeadsLike, how: str) -> FittedReplacement:
        """Heads that are off, fitted to the model; means are those of the text, all heads on."""
        if how not in WAYS:
            raise unknown("way to switch a head off", how, WAYS)
        off_heads = Replacement(off, way=how, stack=self.stack, means=kept.means)
        return off_heads.fit(self.model)

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

    def _predicted(
        self, kept: Recorded, replacement: FittedReplacement | None, place: int
    ) -> Tensor:
        """The log-probabilities of tokens or classes at one place, (class,)."""
        with torch.inference_mode():
            output = kept.cache.forward(replacement, **self._options, **self._kept_logits(place))
        return log_probabilities(self.model, self._scores(output, place)[0])

    def _each(self, kept: Recorded, offs: Sequence[FittedReplacement], place: int) -> list[Tensor]:
        """The predictions with each replacement, several at once where that gives the same."""
        if self._stacks is False or len(offs) == 1:
            return [self._predicted(kept, off, place) for off in offs]
        try:
            with torch.inference_mode():
                output = kept.cache.forward_stacked(
                    offs, **self._options, **self._kept_logits(place)
                )
            together = list(log_probabilities(self.model, self._scores(output, place)))
        except (RuntimeError, ValueError, IndexError, TypeError):
            together = []
        if self._stacks is None:  # tried once: some networks mix the copies, or round by batch
            alone = self._predicted(kept, offs[-1], place)
            self._stacks = len(together) == len(offs) and torch.allclose(
                alone, together[-1], rtol=1e-3, atol=1e-4
            )
        return together if self._stacks else self._each(kept, offs, place)


def _inside(given: Sequence[int] | None, whole: tuple[int, int]) -> tuple[int, int]:
    """A window within the text."""
    if given is None:
        return whole
    first, last = max(given[0], whole[0]), min(given[1], whole[1])
    if first >= last:
        raise UserError(
            f"the window must lie within tokens 0 to {whole[1]}; got {given[0]} to {given[1]}"
        )
    return first, last
