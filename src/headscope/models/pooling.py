"""What of a model makes a text's vector: chosen heads or a layer, and the position of the token.

Jo and Myaeng (2020) take the outputs of heads and layers at ``[CLS]``, or at the last token of a
causal model. Nothing here imports torch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from headscope.encode.template import START, find_template, special_kind
from headscope.errors import ModelError, UserError, cut, unknown
from headscope.files import write_text
from headscope.heads import Head, HeadsLike, split_heads
from headscope.limits import parse_json, read_text

if TYPE_CHECKING:
    from headscope.models.model import Model

POSITIONS = ("cls", "last", "mean")
"""The first token of every text, the last real one, or the mean over all real ones."""
POOLING = "headscope-pooling.json"
MODULES = "modules.json"
MODULE = "headscope.sentences.HeadVectors"
FORM = '{"heads": ["3-9", "4-1"], "layer": null, "position": "cls"}, counted from 1'


@dataclass(frozen=True, init=False)
class Pooling:
    """What makes a text's vector: the outputs of some heads, or the hidden states after a layer.

    Parameters
    ----------
    heads
        Take the outputs of these heads, before the output projection, one after the other:
        ``"3-9,4-1"``, ``"4-*"``, a :class:`~headscope.heads.Head`, or a list of these.
    layer
        Take the hidden states after this layer, counted from 1. Without heads or a layer it is the
        last one.
    position
        ``"cls"`` for the first token, ``"last"`` for the last one, ``"mean"`` for the mean over all
        tokens. The default depends on the model; see :func:`default_position`.

    Attributes
    ----------
    pattern : str
        The heads as given, while a ``*`` in them waits for a model's shape. :meth:`fit` resolves
        it; until then ``heads`` is empty.

    Raises
    ------
    UserError
        If both heads and a layer are given, or the position does not exist.

    Examples
    --------
    >>> Pooling(heads="3-9,4-1").title, Pooling(layer=5).title, Pooling(heads="4-*").title
    ('heads 3-9, 4-1', 'layer 5', 'heads 4-*')
    >>> Pooling(heads="L2H8") == Pooling(heads=[Head(2, 8)])
    True
    """

    heads: tuple[Head, ...]
    layer: int | None
    position: str
    pattern: str

    def __init__(
        self, heads: HeadsLike | None = None, layer: int | None = None, position: str = ""
    ) -> None:
        if heads is not None and layer is not None:
            raise UserError(
                "a vector is made of heads or of a layer, not of both",
                hint="give either heads or a layer",
            )
        if position and position not in POSITIONS:
            raise unknown("position", position, POSITIONS)
        parts = () if heads is None else split_heads(heads)
        resolved = tuple(part for part in parts if isinstance(part, Head))
        complete = len(resolved) == len(parts)
        object.__setattr__(self, "heads", resolved if complete else ())
        object.__setattr__(self, "layer", layer)
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "pattern", "" if complete else ",".join(map(str, parts)))

    @property
    def title(self) -> str:
        """In words, counted from 1."""
        if self.names:
            return "heads " + ", ".join(self.names)
        return "last layer" if self.layer is None else f"layer {self.layer}"

    @property
    def names(self) -> list[str]:
        """The names of the heads, such as ``"3-9"``, or ``"4-*"`` before :meth:`fit`."""
        return self.pattern.split(",") if self.pattern else [str(head) for head in self.heads]

    def with_position(self, position: str) -> Pooling:
        """The same heads or layer at another position.

        Examples
        --------
        >>> Pooling(layer=5).with_position("mean")
        Pooling(heads=(), layer=5, position='mean', pattern='')
        """
        return Pooling(self.pattern or self.heads or None, self.layer, position)

    def fit(self, model: Model) -> Pooling:
        """The pooling with everything resolved that was left open.

        Parameters
        ----------
        model
            The model whose vectors are wanted.

        Returns
        -------
        Pooling
            With each head named, or with a layer, and with a position.

        Raises
        ------
        UserError
            If the model has no such head or layer, or the position makes no sense for it.
        """
        stack = model.main_stack()
        shape = model.shape(stack)
        position = known_position(model, stack, self.position)
        if self.names:
            return Pooling(heads=shape.parse(self.pattern or self.heads), position=position)
        last = model.depth(stack)
        layer = last if self.layer is None else self.layer
        if not 1 <= layer <= last:
            raise UserError(
                f"the model has no layer {layer}; its layers run from 1 to {last}",
                hint=f"give a layer from 1 to {last}",
            )
        return Pooling(layer=layer, position=position)

    def width(self, model: Model) -> int:
        """The length of a vector. The pooling must have been fitted to the model.

        A layer is tried out: the last one of OPT may be narrower than the others.
        """
        from headscope.models.vectors import vector_width

        return vector_width(model, self)

    def as_dict(self) -> dict[str, Any]:
        """A plain form for JSON: heads as in ``"3-9"``, the layer counted from 1, the position.

        Examples
        --------
        >>> Pooling("3-9,4-1", position="cls").as_dict()
        {'heads': ['3-9', '4-1'], 'layer': None, 'position': 'cls'}
        """
        return {"heads": self.names, "layer": self.layer, "position": self.position}

    @classmethod
    def from_dict(cls, about: object) -> Pooling:
        """Read what :meth:`as_dict` gives.

        Raises
        ------
        UserError
            If it is of any other form.
        """
        try:
            plain = _Plain.model_validate(about, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            why = f"{where}: {first['msg']}" if where else first["msg"]
            raise UserError(
                f"not a pooling: {cut(why, 300)}", hint=f"write it like {FORM}"
            ) from None
        return cls(plain.heads or None, plain.layer, plain.position)

    def write(self, folder: Path) -> Path:
        """Write :meth:`as_dict` to ``headscope-pooling.json``, beside a model's weights.

        Returns
        -------
        Path
            The file.
        """
        return write_text(folder / POOLING, json.dumps(self.as_dict(), indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Pooling | None:
        """Read what :meth:`write` wrote in a folder; None if there is no such file.

        Raises
        ------
        ModelError
            If the file cannot be read or is of any other form.
        """
        path = folder / POOLING
        if not path.is_file():
            return None
        hint = f"write it like {FORM}, or delete it to use the last layer"
        text = read_text(path, error=ModelError, hint=hint)
        value = parse_json(text, f"{path} cannot be used", error=ModelError, hint=hint)
        try:
            return cls.from_dict(value)
        except UserError as error:
            raise ModelError(f"{path} cannot be used: {error.message}", hint=hint) from None


class _Plain(BaseModel):
    """The plain form of a pooling."""

    model_config = ConfigDict(extra="forbid")

    heads: list[str] = []
    layer: int | None = None
    position: str = ""


def choose_pooling(
    own: Pooling, heads: HeadsLike | None, layer: int | None, position: str, pooling: Pooling | None
) -> Pooling:
    """The pooling that a user asks for in one of several ways, or else the model's own.

    Parameters
    ----------
    own
        The model's own pooling.
    heads, layer, position
        See :class:`Pooling`. A position alone applies to the model's own heads or layer.
    pooling
        Instead of the three.

    Examples
    --------
    >>> choose_pooling(Pooling(layer=6), None, None, "mean", None).title
    'layer 6'
    """
    if pooling is not None:
        if heads is not None or layer is not None or position:
            raise UserError(
                "a pooling says it all: heads, layer and position cannot be given beside it",
                hint="give either pooling= or heads=, layer= and position=",
            )
        return pooling
    if heads is not None or layer is not None:
        return Pooling(heads, layer, position)
    if not position:
        return own
    return own.with_position(position)


def write_modules(folder: Path) -> Path:
    """Write the ``modules.json`` with which sentence-transformers reads a checkpoint.

    It names :class:`headscope.sentences.HeadVectors` as the module that makes the vectors.

    Returns
    -------
    Path
        The file.
    """
    modules = [{"idx": 0, "name": "0", "path": "", "type": MODULE}]
    return write_text(folder / MODULES, json.dumps(modules, indent=2) + "\n")


def known_position(model: Model, stack: str, position: str) -> str:
    """The position that was asked for, or the default one of the model.

    Raises
    ------
    UserError
        If there is no such position, or if it is the first token of a causal model.
    """
    if position and position not in POSITIONS:
        raise unknown("position", position, POSITIONS)
    if position == "cls" and model.causal(stack):
        raise UserError(
            f"the position must be last or mean for {model.name}, which is a causal model: its "
            "first token sees nothing of the text; got 'cls' instead",
            hint="leave out position=",
        )
    return position or default_position(model, stack)


def default_position(model: Model, stack: str) -> str:
    """Where a model keeps what it knows of a whole text.

    It is the last token of a causal model (``"last"``); the first token if every text begins with a
    special one, such as ``[CLS]`` (``"cls"``); and otherwise the mean over all tokens (``"mean"``).
    """
    if model.causal(stack):
        return "last"
    first = find_template(model.tokenizer).one[0].token
    return "cls" if first is not None and special_kind(model.tokenizer, first) == START else "mean"
