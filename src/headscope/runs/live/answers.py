"""Requests of the explorer's page, checked, and their answers as documents and arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headscope.errors import UserError, unknown
from headscope.runs.live.listeners import Check
from headscope.runs.live.model import LiveModel, MapsOf, nothing
from headscope.runs.live.text import LiveText

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


def _reading(request: Any, found: Any) -> tuple[Document, Arrays]:
    return {
        "tokens": found.tokens,
        "words": found.words,
        "unit": found.unit.tolist(),
        "special": np.flatnonzero(found.special).tolist(),
        "stop": np.flatnonzero(found.stop).tolist(),
        "masks": found.masks,
        "written": len(request.more),
    }, {}


def _changes(_request: Any, found: Any) -> tuple[Document, Arrays]:
    moves = [asdict(move) | {"head": str(move.head)} for move in found.moves]
    document = {"moves": moves, "side": found.small.shape[-1]}
    return document, {"small": found.small, "divergence": found.divergence}


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


class Answers:
    """Answers the requests of the page: each a document and arrays, which become a pack.

    Parameters
    ----------
    live
        The model.

    Examples
    --------
    >>> import headscope as hs
    >>> answers = Answers(LiveModel(hs.load("demo")))
    >>> answers.answer("read", {"text": "Dogs bark."})[0]["words"]
    ['Dogs', 'bark', '.']
    """

    def __init__(self, live: LiveModel) -> None:
        self.live = live

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of what can be asked."""
        return tuple(ACTIONS)

    def describe(self) -> Document:
        """What the page knows about the model; ``LiveModel`` in ``web/src/data/types.ts``."""
        return self.live.describe()

    def answer(
        self, action: str, request: Mapping[str, Any], check: Check = nothing
    ) -> tuple[Document, Arrays]:
        """Answer one request.

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
        return document(checked, getattr(self.live, action)(text, **options, check=check))
