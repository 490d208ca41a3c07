"""What may stand for a model wherever one is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from headscope.errors import UserError
from headscope.models.loading import load_model, wrap
from headscope.models.model import Model
from headscope.models.network_reader import AutoClass
from headscope.options import Loading, LoadOptions

ModelLike = str | Path | Model | tuple[Any, Any]
"""A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, or a network
with its tokenizer.
"""


def as_model(
    model: ModelLike,
    loading: Loading | None = None,
    *,
    head: Literal["lm", "own"] | AutoClass | None = None,
    seed: int = 0,
) -> Model:
    """A model from whatever stands for one.

    Parameters
    ----------
    model
        A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, which is
        returned as it is, or a network with its tokenizer, ``(network, tokenizer)``, which is
        wrapped.
    loading
        How a model is loaded by name; larger options will do. A network with its tokenizer takes
        only ``bos`` and ``chat``. With a model that is loaded already, anything but the default is
        an error.
    head, seed
        See :func:`~headscope.models.load`. A model that is loaded already keeps what it has.

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
    how = loading or Loading()
    if isinstance(model, tuple) and len(model) == 2:
        _check_defaults(how, seed, allowed=("bos", "chat"))
        return wrap(model[0], model[1], bos=how.bos, chat=how.chat)
    if isinstance(model, Model):
        _check_defaults(how, seed)
        return model
    return load_model(model, LoadOptions(**how.subset(Loading), head=head, seed=seed))


@contextmanager
def using_model(
    model: ModelLike,
    loading: Loading | None = None,
    *,
    head: Literal["lm", "own"] | AutoClass | None = None,
    seed: int = 0,
) -> Iterator[Model]:
    """The model of :func:`as_model`, closed at the end if it was made here.

    A network that was given with its tokenizer is put back as it was. A :class:`Model` that was
    given stays open.
    """
    used = as_model(model, loading, head=head, seed=seed)
    try:
        yield used
    finally:
        if used is not model:
            used.close()


def _check_defaults(loading: Loading, seed: int, *, allowed: tuple[str, ...] = ()) -> None:
    """Options of loading mean nothing to a model that is loaded already."""
    seeded = {"seed": seed} if seed else {}
    for option, value in (loading.changed(Loading) | seeded).items():
        if option not in allowed:
            raise UserError(
                f"{option}= applies only to a model given by its name, and this one is loaded "
                f"already; got {option}={value!r}",
                hint=f"remove {option}=, or give the model's name instead of the model",
            )
