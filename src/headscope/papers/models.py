"""The models of a recipe: given by name, or in memory already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from headscope.models import Model, ModelLike, as_model
from headscope.options import Loading

IN_MEMORY = "model"
"""The name of a network that is given with its tokenizer, as :func:`headscope.wrap` calls it."""


def one_model(given: ModelLike | Sequence[ModelLike]) -> bool:
    """Whether a recipe was given one model, not a list of them.

    A pair is a network with its tokenizer, unless it has names or models in it.

    Examples
    --------
    >>> one_model("demo"), one_model(["demo"]), one_model(("demo", "bert-base-uncased"))
    (True, False, False)
    """
    if isinstance(given, str | Path | Model):
        return True
    pair = isinstance(given, tuple) and len(given) == 2
    return pair and not isinstance(given[0], str | Path | Model | tuple)


class GivenModels:
    """Models by name, each loaded when it is first needed.

    Parameters
    ----------
    given
        A hub id, a folder, a :class:`headscope.Model` or a network with its tokenizer; or a list of
        them.
    loading
        How models that are given by name are loaded.
    head
        ``"lm"`` loads models that are given by name with their language-model head.

    Examples
    --------
    >>> models = GivenModels(["demo"], Loading())
    >>> models.names, models.load("demo").shape("encoder").heads
    (('demo',), 12)
    """

    def __init__(
        self,
        given: ModelLike | Sequence[ModelLike],
        loading: Loading,
        *,
        head: Literal["lm"] | None = None,
    ) -> None:
        several: Sequence[ModelLike] = [given] if one_model(given) else given  # type: ignore[list-item, assignment]
        self.names = tuple(map(_name, several))
        self._given = dict(zip(self.names, several, strict=True))
        self._loaded: dict[str, Model] = {}
        self._loading, self._head = loading, head

    def load(self, name: str) -> Model:
        """The model of a name; a network that was given with its tokenizer is wrapped."""
        if name not in self._loaded:
            self._loaded[name] = as_model(self._given[name], self._loading, head=self._head)
        return self._loaded[name]

    def with_head(self, name: str) -> Model:
        """The same with its language-model head; one that is in memory keeps what it has."""
        given = self._given[name]
        named = isinstance(given, str | Path)
        return as_model(given, self._loading, head="lm") if named else self.load(name)

    def source(self, name: str) -> str | Model:
        """What other functions load it from: its name or, if it is in memory, the model itself."""
        given = self._given[name]
        return str(given) if isinstance(given, str | Path) else self.load(name)

    def close(self) -> None:
        """Put back the networks that were wrapped here. Models that were given stay open."""
        for name, given in self._given.items():
            if isinstance(given, tuple) and name in self._loaded:
                self._loaded.pop(name).close()


def _name(given: ModelLike) -> str:
    if isinstance(given, Model):
        return given.name
    return IN_MEMORY if isinstance(given, tuple) else str(given)
