"""Requests of the explorer's page, checked, and their answers as documents and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headscope.errors import UserError, unknown
from headscope.runs.live.listeners import Check
from headscope.runs.live.model import LiveModel
from headscope.runs.live.text import LiveText

Document = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
HEADS = 64
"""The most maps in one answer."""


class _Text(BaseModel):
    """A text, its pair, and the tokens that were generated after it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    second: str | None = None
    more: list[int] = []

    def given(self) -> LiveText:
        return LiveText(self.text, self.second or None, tuple(self.more))


class _Off(_Text):
    """A text with some heads off."""

    off: list[str] = []
    how: str = "zero"


class _Maps(_Off):
    heads: Annotated[list[str], Field(min_length=1, max_length=HEADS)]
    rows: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    keys: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None


class _Predictions(_Off):
    at: int | None = None


class _Effects(_Text):
    layer: int
    at: int | None = None
    how: str = "zero"


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
        self._actions: dict[str, tuple[type[_Text], Any]] = {
            "read": (_Text, self._read),
            "thumbnails": (_Text, self._thumbnails),
            "maps": (_Maps, self._maps),
            "predictions": (_Predictions, self._predictions),
            "effects": (_Effects, self._effects),
            "changes": (_Off, self._changes),
            "generate": (_Off, self._generate),
        }

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of what can be asked."""
        return tuple(self._actions)

    def describe(self) -> Document:
        """What the page knows about the model; ``LiveModel`` in ``web/src/data/types.ts``."""
        return self.live.describe()

    def answer(
        self, action: str, request: Mapping[str, Any], check: Check | None = None
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
        if action not in self._actions:
            raise unknown("action", action, self._actions)
        kind, function = self._actions[action]
        try:
            asked = kind.model_validate(dict(request))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the request"
            raise UserError(f"the request cannot be read: {where}: {first['msg']}") from None
        found: tuple[Document, Arrays] = function(asked, check or _nothing)
        return found

    def _read(self, asked: _Text, _check: Check) -> tuple[Document, Arrays]:
        reading = self.live.read(asked.given())
        return {
            "tokens": reading.tokens,
            "words": reading.words,
            "unit": reading.unit.tolist(),
            "special": np.flatnonzero(reading.special).tolist(),
            "stop": np.flatnonzero(reading.stop).tolist(),
            "masks": reading.masks,
            "written": len(asked.more),
        }, {}

    def _thumbnails(self, asked: _Text, check: Check) -> tuple[Document, Arrays]:
        small = self.live.thumbnails(asked.given(), check=check)
        return {"side": small.shape[-1]}, {"small": small}

    def _maps(self, asked: _Maps, check: Check) -> tuple[Document, Arrays]:
        weights = self.live.maps(
            asked.given(),
            asked.heads,
            rows=_pair(asked.rows),
            keys=_pair(asked.keys),
            off=asked.off,
            how=asked.how,
            check=check,
        )
        return {"heads": asked.heads}, {"weights": weights}

    def _predictions(self, asked: _Predictions, check: Check) -> tuple[Document, Arrays]:
        found = self.live.predictions(
            asked.given(), asked.at, off=asked.off, how=asked.how, check=check
        )
        choices = [
            {"id": one.id, "name": one.name, "before": one.before, "after": one.after}
            for one in found.choices
        ]
        return {
            "at": found.at,
            "choices": choices,
            "divergence": found.divergence,
            "score": found.score,
        }, {}

    def _effects(self, asked: _Effects, check: Check) -> tuple[Document, Arrays]:
        values = self.live.effects(asked.given(), asked.layer, asked.at, how=asked.how, check=check)
        return {"layer": asked.layer}, {"divergence": values}

    def _changes(self, asked: _Off, check: Check) -> tuple[Document, Arrays]:
        found = self.live.changes(asked.given(), asked.off, how=asked.how, check=check)
        moves = [
            {
                "head": str(move.head),
                "divergence": move.divergence,
                "row": move.row,
                "more": list(move.more),
                "less": list(move.less),
            }
            for move in found.moves
        ]
        document = {"moves": moves, "side": found.small.shape[-1]}
        return document, {"small": found.small, "divergence": found.divergence}

    def _generate(self, asked: _Off, check: Check) -> tuple[Document, Arrays]:
        token, name, probability, ends = self.live.generate(
            asked.given(), off=asked.off, how=asked.how, check=check
        )
        return {"id": token, "name": name, "probability": probability, "ends": ends}, {}


def _pair(given: list[int] | None) -> tuple[int, int] | None:
    return None if given is None else (given[0], given[1])


def _nothing() -> None:
    """Nobody cancels."""
