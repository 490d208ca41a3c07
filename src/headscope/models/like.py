"""What may stand for a model wherever one is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Unpack

from headscope.errors import UserError
from headscope.models.load_options import LoadOptions
from headscope.models.loading import load, wrap
from headscope.models.model import Model
from headscope.models.network_reader import AutoClass

ModelLike = str | Path | Model | tuple[Any, Any]
"""A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, or a network
with its tokenizer.
"""


def as_model(
    model: ModelLike,
    *,
    head: Literal["lm", "own"] | AutoClass | None = None,
    seed: int = 0,
    **options: Unpack[LoadOptions],
) -> Model:
    """A model from whatever stands for one.

    Parameters
    ----------
    model
        A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, which is
        returned as it is, or a network with its tokenizer, ``(network, tokenizer)``, which is
        wrapped.
    head
        See :func:`~headscope.models.load`. A model that is loaded already keeps what it has.
    seed
        See :func:`~headscope.models.load`.
    **options
        Further options of :func:`~headscope.models.load`. They apply where a model is loaded by
        name; a network with its tokenizer takes only ``bos`` and ``chat``. With a model that is
        loaded already, anything but the default is an error.

    Returns
    -------
    Model

    Raises
    ------
    ModelError
        If it cannot be loaded or wrapped.
    UserError
        If an option of loading is given with a model that is loaded already.

    See Also
    --------
    using_model : The same as a context manager, which closes what it has wrapped.

    Examples
    --------
    >>> model = as_model("demo")
    >>> as_model(model) is model, as_model((model.network, model.tokenizer)).name
    (True, 'model')
    """
    if isinstance(model, tuple) and len(model) == 2:
        _check_defaults({**options, "seed": seed}, allowed=("bos", "chat"))
        bos, chat = options.get("bos", "keep"), options.get("chat", False)
        return wrap(model[0], model[1], bos=bos, chat=chat)
    if isinstance(model, Model):
        _check_defaults({**options, "seed": seed})
        return model
    return load(model, head=head, seed=seed, **options)


@contextmanager
def using_model(
    model: ModelLike,
    *,
    head: Literal["lm", "own"] | AutoClass | None = None,
    seed: int = 0,
    **options: Unpack[LoadOptions],
) -> Iterator[Model]:
    """The model of :func:`as_model`, closed at the end if it was made here.

    A network that was given with its tokenizer is put back as it was. A :class:`Model` that was
    given stays open.

    Parameters
    ----------
    model, head, seed, **options
        See :func:`as_model`.

    Yields
    ------
    Model
    """
    found = as_model(model, head=head, seed=seed, **options)
    try:
        yield found
    finally:
        if found is not model:
            found.close()


def _check_defaults(options: dict[str, Any], *, allowed: tuple[str, ...] = ()) -> None:
    """Options of loading mean nothing to a model that is loaded already."""
    defaults = load.__kwdefaults__ or {}
    for option, value in options.items():
        if option not in defaults:
            raise TypeError(f"load() got an unexpected keyword argument {option!r}")
        if value != defaults[option] and option not in allowed:
            raise UserError(
                f"{option}= applies only to a model given by its name, and this one is loaded "
                f"already; got {option}={value!r}",
                hint=f"remove {option}=, or give the model's name instead of the model",
            )
