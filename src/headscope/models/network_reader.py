"""Reading a network and its tokenizer from a folder, a GGUF file or the hub."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import AutoModel, BitsAndBytesConfig

from headscope.errors import ModelError, out_of_memory
from headscope.models.attention import register
from headscope.models.checks import check_not_empty, check_tokenizer, check_weights, check_whole
from headscope.models.embedded import EMBEDDED
from headscope.models.gguf import converted, is_gguf
from headscope.models.names import model_folder
from headscope.models.peft_adapters import add_adapter
from headscope.models.pretrained import (
    first_line,
    language_model_class,
    own_class,
    read_config,
    read_network,
    read_tokenizer,
    too_large,
)
from headscope.models.quiet import quiet
from headscope.options import LoadOptions


class AutoClass(Protocol):
    """An auto class of transformers, or anything else with its ``from_pretrained``."""

    def from_pretrained(self, *args: Any, **kwargs: Any) -> Any:
        """A network, and the report on its weights (``output_loading_info=True``)."""


@contextmanager
def place_of(name: str | Path) -> Iterator[str]:
    """What transformers is given: a folder's path or a hub id."""
    embedded = EMBEDDED.get(str(name))
    if embedded is not None:
        file = embedded.checked()
        if not is_gguf(file):
            yield str(file.parent)
            return
        with converted(file, sha256=embedded.sha256) as folder:
            yield str(folder)
        return
    path = model_folder(name)
    if path is not None and is_gguf(path) and path.is_file():
        with converted(path) as folder:
            yield str(folder)
    elif path is None:
        yield str(name)
    else:
        check_whole(path)
        yield str(path)


def is_converted(name: str | Path) -> bool:
    """Whether a model is read from a GGUF file."""
    embedded = EMBEDDED.get(str(name))
    return is_gguf(embedded.file if embedded else name)


def read_model(name: str, place: str, options: LoadOptions) -> tuple[Any, Any]:
    """A network, with its adapter and where it belongs, and its tokenizer; both checked.

    Parameters
    ----------
    name
        What messages call it.
    place
        The folder or hub id that transformers is given, of :func:`place_of`.
    options
        How it is loaded.
    """
    kwargs: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    if options.revision:
        kwargs["revision"] = options.revision
    register()
    dtype, head = getattr(torch, options.dtype), options.head
    with quiet():
        config = read_config(place, kwargs)
        choose = {"lm": language_model_class, "own": own_class}.get(str(head))
        auto = choose(name, config) if choose else head or AutoModel
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            network, report = read_network(
                place,
                config,
                auto,
                dtype=dtype,
                allow_pickle=options.allow_pickle,
                options=kwargs | _placement(options, dtype),
            )
        tokenizer = read_tokenizer(place, kwargs)
    check_weights(name, report, language_model=getattr(auto, "__name__", "").endswith("LM"))
    check_not_empty(name, tokenizer)
    check_tokenizer(tokenizer, network)
    if options.adapter:
        with quiet():
            add_adapter(network, options.adapter, name=name)
    placed = options.device_map or options.quantization
    return network if placed else _moved(name, network, options.device), tokenizer


def _placement(options: LoadOptions, dtype: torch.dtype) -> dict[str, Any]:
    """Where transformers puts the weights, and how it quantises them."""
    placement: dict[str, Any] = {}
    if options.quantization:
        # It warns of the same thing in every layer and pass.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        placement["quantization_config"] = BitsAndBytesConfig(
            load_in_8bit=options.quantization == "8bit",
            load_in_4bit=options.quantization == "4bit",
            bnb_4bit_compute_dtype=dtype,
        )
        placement["device_map"] = {"": options.device}
    if options.device_map:
        given = options.device_map
        placement["device_map"] = given if isinstance(given, str) else dict(given)
    return placement


def _moved(name: str, network: Any, device: str) -> Any:
    try:
        return network.to(torch.device(device))
    except (RuntimeError, AssertionError, MemoryError) as error:
        if out_of_memory(error):
            raise too_large(name) from error
        raise ModelError(
            f"the device {device!r} cannot be used: {first_line(error)}",
            hint="give device='cpu'",
        ) from None
