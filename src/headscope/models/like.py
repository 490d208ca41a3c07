"""What may stand for a model wherever one is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from headscope.encode import Bos
from headscope.errors import UserError
from headscope.models.load_options import DeviceMap, Quantization
from headscope.models.loading import AutoClass, load, wrap
from headscope.models.model import Model

ModelLike = str | Path | Model | tuple[Any, Any]
"""A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, or a network
with its tokenizer.
"""


def as_model(
    model: ModelLike,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    device_map: DeviceMap = "",
    quantization: Quantization = "",
    adapter: str | Path = "",
    revision: str = "",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    head: Literal["lm"] | AutoClass | None = None,
    bos: Bos = "keep",
    chat: bool = False,
    seed: int = 0,
) -> Model:
    """A model from whatever stands for one.

    Parameters
    ----------
    model
        A hub id, a folder, a ``.gguf`` file, ``"demo"``, ``"demo-llm"``, a :class:`Model`, which is
        returned as it is, or a network with its tokenizer, ``(network, tokenizer)``, which is
        wrapped.
    device, dtype, device_map, quantization, adapter, revision, allow_pickle, trust_remote_code, \
    bos, chat, seed
        See :func:`~headscope.models.load`. They apply only where a model is loaded by name; with a
        model that is loaded already, anything but the default is an error.
    head
        See :func:`~headscope.models.load`. A model that is loaded already keeps what it has.

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
    options: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "device_map": device_map,
        "quantization": quantization,
        "adapter": adapter,
        "revision": revision,
        "allow_pickle": allow_pickle,
        "trust_remote_code": trust_remote_code,
        "bos": bos,
        "chat": chat,
        "seed": seed,
    }
    if isinstance(model, tuple) and len(model) == 2:
        _check_defaults(options)
        return wrap(model[0], model[1])
    if isinstance(model, Model):
        _check_defaults(options)
        return model
    return load(model, head=head, **options)


@contextmanager
def using_model(
    model: ModelLike,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    device_map: DeviceMap = "",
    quantization: Quantization = "",
    adapter: str | Path = "",
    revision: str = "",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    head: Literal["lm"] | AutoClass | None = None,
    bos: Bos = "keep",
    chat: bool = False,
    seed: int = 0,
) -> Iterator[Model]:
    """The model of :func:`as_model`, closed at the end if it was made here.

    A network that was given with its tokenizer is put back as it was. A :class:`Model` that was
    given stays open.

    Parameters
    ----------
    model, device, dtype, device_map, quantization, adapter, revision, allow_pickle, \
    trust_remote_code, head, bos, chat, seed
        See :func:`as_model`.

    Yields
    ------
    Model
    """
    found = as_model(
        model,
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        adapter=adapter,
        revision=revision,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
        head=head,
        bos=bos,
        chat=chat,
        seed=seed,
    )
    try:
        yield found
    finally:
        if found is not model:
            found.close()


def _check_defaults(options: dict[str, Any]) -> None:
    """Options of loading mean nothing to a model that is loaded already."""
    defaults = load.__kwdefaults__ or {}
    for option, value in options.items():
        if value != defaults[option]:
            raise UserError(
                f"{option}= applies only to a model given by its name, and this one is loaded "
                f"already; got {option}={value!r}",
                hint=f"remove {option}=, or give the model's name instead of the model",
            )
