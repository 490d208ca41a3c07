"""The model behind the explorer: maps, predictions and effects of one text at a time; and the
requests of the page, checked, with their answers as documents and arrays.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from headscope.encode import collate
from headscope.errors import UserError, unknown
from headscope.heads import Head, HeadsLike
from headscope.models import Model, Replacement
from headscope.models.cache import LayerCache
from headscope.models.projections import ValueNorms
from headscope.models.replace import WAYS, FittedReplacement
from headscope.runs.forward import Stacking
from headscope.runs.live.listeners import (
    Check,
    EnoughLayers,
    LiveStack,
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
from headscope.runs.preparing import check_not_cross

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

    Attributes
    ----------
    check
        Called in every layer; what it raises ends the pass.

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
    >>> live.answer("read", {"text": "Dogs bark."})[0]["words"]
    ['Dogs', 'bark', '.']
    """

    def __init__(self, model: Model, *, stack: str = "") -> None:
        self.model = model
        self.stack = stack or model.main_stack()
        check_not_cross(self.stack, "which the explorer cannot show")
        self.shape = model.shape(self.stack)
        self.kind: Kind = what_it_predicts(model)
        self._texts: OrderedDict[LiveText, Recorded] = OrderedDict()
        self._keeps = "logits_to_keep" in inspect.signature(model.network.forward).parameters
        self._stacking = Stacking()
        self.check: Check = nothing
        # A decoder beside an encoder reads the text itself, not what the encoder is to predict.
        decodes = model.encoder_decoder and self.stack == "decoder"
        self._options: dict[str, Any] = {"stack": self.stack} if decodes else {}

    def _listening(self, weights: MapsOf = "attention") -> LiveStack:
        norms = self._norms if weights == "norm" else None
        return LiveStack(self.stack, self.shape, self.check, norms)

    @cached_property
    def _norms(self) -> ValueNorms:
        return ValueNorms(self.model, self.stack)

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
        self.check()
        return read_text(self.model, text, self.stack)

    def thumbnails(self, text: LiveText, *, weights: MapsOf = "attention") -> NDArray[np.uint8]:
        """All heads' maps, pooled to at most 32 × 32 cells, as square roots in 256 steps.

        Parameters
        ----------
        text, weights
            See :meth:`maps`.

        Returns
        -------
        ndarray of uint8, (layer, head, cell, cell)
        """
        kept = self._recorded(text)
        if weights == "attention":
            return kept.small
        pooled = Pooled(self._listening(weights), length=len(kept.reading))
        first = (self.stack, self.shape.numbers[0])
        with torch.inference_mode():
            kept.cache.forward(listeners=[pooled], layer=first, **self._options)
        return as_bytes(pooled.result(), self.model.label)

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

        Returns
        -------
        ndarray of uint16, (head, row, key)
            Weights, 65535 for 1.
        """
        chosen = self.shape.parse(heads)
        kept = self._recorded(text)
        whole = (0, len(kept.reading))
        wanted: dict[int, list[tuple[int, int]]] = {}
        for place, head in enumerate(chosen):
            wanted.setdefault(head.layer, []).append((head.head, place))
        span = {"rows": _inside(rows, whole), "keys": _inside(keys, whole)}
        window = Window(self._listening(weights), wanted=wanted, **span)
        with torch.inference_mode(), suppress(EnoughLayers):
            kept.cache.forward(
                self._replacement(kept, off, how),
                listeners=[window],
                layer=(self.stack, min(wanted)),
                **self._options,
            )
        return as_words(window.weights, self.model.label)

    def predictions(
        self, text: LiveText, at: int | None = None, *, off: HeadsLike = (), how: str = "zero"
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
        """
        kept = self._recorded(text)
        position = place_of_prediction(self.kind, kept.reading, at)
        before = after = self._predicted(kept, None, position)
        if off:
            after = self._predicted(kept, self._replacement(kept, off, how), position)
        return compare(self.model, self.kind, position, before, after)

    def effects(
        self, text: LiveText, layer: int, at: int | None = None, *, how: str = "zero"
    ) -> NDArray[np.float32]:
        """How far the prediction moves when each head of a layer is switched off in turn.

        Parameters
        ----------
        text, at, how
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
        kept = self._recorded(text)
        position = place_of_prediction(self.kind, kept.reading, at)
        before = self._predicted(kept, None, position)
        offs = [
            self._replacement(kept, Head(layer - 1, head), how) for head in range(self.shape.heads)
        ]
        most = max(STACKED_TOKENS // len(kept.reading), 1)
        after: list[Tensor] = []
        for start in range(0, len(offs), most):
            self.check()
            after += self._each(kept, offs[start : start + most], position)
        return divergences(before, torch.stack(after)).float().cpu().numpy()

    def changes(
        self,
        text: LiveText,
        off: HeadsLike,
        *,
        how: str = "zero",
        most: int = 4,
        weights: MapsOf = "attention",
    ) -> Changes:
        """How the maps of all heads change when some are switched off.

        Parameters
        ----------
        text, off, how
            See :meth:`predictions`.
        most
            How many heads are listed.
        weights
            What the pooled maps show; see :meth:`maps`. Divergences are of attention.
        """
        kept = self._recorded(text)
        named = ~kept.reading.special
        moved = Moved(self._listening(), named=named if named.any() else named | True)
        pooled = Pooled(self._listening(weights), length=len(kept.reading), copy=1)
        replacement = self._replacement(kept, off, how)
        none = FittedReplacement({}, "zero", {})
        with torch.inference_mode(), suppress(EnoughLayers):
            kept.cache.forward_stacked(
                [none, replacement], listeners=[pooled, moved], **self._options
            )
        small = self.thumbnails(text, weights=weights).copy()
        for layer in pooled.means:  # the layers that were computed
            at = self.shape.place(layer)
            small[at] = as_bytes(pooled.result()[at], self.model.label)
        return Changes(moved.result(), small, moved.strongest(set(self.shape.parse(off)), most))

    def generate(self, text: LiveText, *, off: HeadsLike = (), how: str = "zero") -> Token:
        """The most likely next token."""
        if self.kind != "next":
            raise UserError("only causal language models write on")
        choices = self.predictions(text, off=off, how=how).choices
        best = max(choices, key=lambda choice: choice.after)
        return Token(best.id, best.name, best.after, best.id in end_tokens(self.model))

    # --- the requests of the page ---

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of what the page can ask."""
        return tuple(ACTIONS)

    def answer(
        self, action: str, request: Mapping[str, Any], check: Check = nothing
    ) -> tuple[Document, Arrays]:
        """Answer one request of the page with a document and arrays, which become a pack.

        Requests are answered one after the other: the explorer has one thread for the model.

        Parameters
        ----------
        action
            One of :attr:`actions`.
        request
            What is asked, as JSON holds it.
        check
            Called in every layer; what it raises ends the work.

        Raises
        ------
        UserError
            If the request is not one, or cannot be answered.
        """
        if action not in ACTIONS:
            raise unknown("action", action, ACTIONS)
        kind, document = ACTIONS[action]
        try:
            checked = kind.model_validate(dict(request))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the request"
            raise UserError(f"the request cannot be read: {where}: {first['msg']}") from None
        text = LiveText(checked.text, checked.second or None, tuple(checked.more))
        options = checked.model_dump(exclude={"text", "second", "more"})
        self.check = check
        try:
            return document(checked, getattr(self, action)(text, **options))
        finally:
            self.check = nothing

    # --- passes over single texts ---

    def _recorded(self, text: LiveText) -> Recorded:
        """The text with all heads on, computed once."""
        if text in self._texts:
            self._texts.move_to_end(text)
            return self._texts[text]
        reading = read_text(self.model, text, self.stack)
        pooled = Pooled(self._listening(), length=len(reading))
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
        return Replacement(off, way=how, stack=self.stack, means=kept.means).fit(self.model)

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

    def _predicted(self, kept: Recorded, off: FittedReplacement | None, place: int) -> Tensor:
        """The log-probabilities of tokens or classes at one place, (class,)."""
        return self._each(kept, [off], place)[0]

    def _each(
        self, kept: Recorded, offs: Sequence[FittedReplacement | None], place: int
    ) -> Sequence[Tensor]:
        """The predictions with each replacement, several at once where that gives the same."""
        options = self._options | self._kept_logits(place)

        def run(some: Sequence[Any]) -> list[Tensor]:
            with torch.inference_mode():
                if len(some) == 1:
                    output = kept.cache.forward(some[0], **options)
                else:
                    output = kept.cache.forward_stacked(some, **options)
            return list(log_probabilities(self.model, self._scores(output, place)))

        return self._stacking.outputs(offs, run)


def _inside(span: Sequence[int] | None, whole: tuple[int, int]) -> tuple[int, int]:
    """A window within the text."""
    if span is None:
        return whole
    first, last = max(span[0], whole[0]), min(span[1], whole[1])
    if first >= last:
        raise UserError(
            f"the window must lie within tokens 0 to {whole[1]}; got {span[0]} to {span[1]}"
        )
    return first, last


# --- requests of the page ---

Document = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Span = Annotated[list[int], Field(min_length=2, max_length=2)]
HEADS = 64
"""The most maps in one answer."""


class _Text(BaseModel):
    """A text, its pair, and the tokens that were generated after it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    second: str | None = None
    more: list[int] = []


class _Off(_Text):
    """A text with some heads off."""

    off: list[str] = []
    how: str = "zero"


class _Thumbnails(_Text):
    weights: MapsOf = "attention"


class _Maps(_Off):
    heads: Annotated[list[str], Field(min_length=1, max_length=HEADS)]
    rows: Span | None = None
    keys: Span | None = None
    weights: MapsOf = "attention"


class _Changes(_Off):
    weights: MapsOf = "attention"


class _Predictions(_Off):
    at: int | None = None


class _Effects(_Text):
    layer: int
    at: int | None = None
    how: str = "zero"


def _reading(request: Any, reading: Any) -> tuple[Document, Arrays]:
    return {
        "tokens": reading.tokens,
        "words": reading.words,
        "unit": reading.unit.tolist(),
        "special": np.flatnonzero(reading.special).tolist(),
        "stop": np.flatnonzero(reading.stop).tolist(),
        "masks": reading.masks,
        "written": len(request.more),
    }, {}


def _changes(_request: Any, changes: Any) -> tuple[Document, Arrays]:
    moves = [asdict(move) | {"head": str(move.head)} for move in changes.moves]
    document = {"moves": moves, "side": changes.small.shape[-1]}
    return document, {"small": changes.small, "divergence": changes.divergence}


ACTIONS: Mapping[str, tuple[type[_Text], Callable[[Any, Any], tuple[Document, Arrays]]]] = {
    "read": (_Text, _reading),
    "thumbnails": (_Thumbnails, lambda _, small: ({"side": small.shape[-1]}, {"small": small})),
    "maps": (_Maps, lambda request, maps: ({"heads": request.heads}, {"weights": maps})),
    "predictions": (_Predictions, lambda _, prediction: (asdict(prediction), {})),
    "effects": (_Effects, lambda request, far: ({"layer": request.layer}, {"divergence": far})),
    "changes": (_Changes, _changes),
    "generate": (_Off, lambda _, token: (token._asdict(), {})),
}
"""The methods of :class:`LiveModel` that can be asked: the request, and what the answer holds."""
