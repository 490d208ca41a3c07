"""Reading a network and its tokenizer from a folder, a GGUF file or the hub."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from transformers import AutoModel, BitsAndBytesConfig

from headscope.errors import ModelError, out_of_memory
from headscope.models.attention import register
from headscope.models.checks import check_not_empty, check_tokenizer, check_weights, check_whole
from headscope.models.embedded import EMBEDDED
from headscope.models.gguf import converted, is_gguf
from headscope.models.load_options import DeviceMap
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


@dataclass(frozen=True)
class NetworkReader:
    """How a network is read from a folder or from the hub."""

    device: str
    dtype: torch.dtype
    device_map: DeviceMap
    quantization: str
    adapter: str | Path
    revision: str
    allow_pickle: bool
    trust_remote_code: bool
    seed: int

    def read(
        self, name: str, place: str, head: Literal["lm", "own"] | AutoClass | None
    ) -> tuple[Any, Any]:
        """The network, with its adapter and where it belongs, and its tokenizer; both checked."""
        options: dict[str, Any] = {"trust_remote_code": self.trust_remote_code}
        if self.revision:
            options["revision"] = self.revision
        register()
        with quiet():
            config = read_config(place, options)
            choose = {"lm": language_model_class, "own": own_class}.get(str(head))
            auto = choose(name, config) if choose else head or AutoModel
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.seed)
                network, report = read_network(
                    place,
                    config,
                    auto,
                    dtype=self.dtype,
                    allow_pickle=self.allow_pickle,
                    options=options | self._placement(),
                )
            tokenizer = read_tokenizer(place, options)
        check_weights(name, report, language_model=getattr(auto, "__name__", "").endswith("LM"))
        check_not_empty(name, tokenizer)
        check_tokenizer(tokenizer, network)
        if self.adapter:
            with quiet():
                add_adapter(network, self.adapter, name=name)
        placed = self.device_map or self.quantization
        return network if placed else _moved(name, network, self.device), tokenizer

    def _placement(self) -> dict[str, Any]:
        """Where transformers puts the weights, and how it quantises them."""
        found: dict[str, Any] = {}
        if self.quantization:
            # It warns of the same thing in every layer and pass.
            logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
            found["quantization_config"] = BitsAndBytesConfig(
                load_in_8bit=self.quantization == "8bit",
                load_in_4bit=self.quantization == "4bit",
                bnb_4bit_compute_dtype=self.dtype,
            )
            found["device_map"] = {"": self.device}
        if self.device_map:
            given = self.device_map
            found["device_map"] = given if isinstance(given, str) else dict(given)
        return found


def _moved(name: str, network: Any, device: str) -> Any:
    try:
        return network.to(torch.device(device))
    except (RuntimeError, AssertionError, MemoryError) as error:
        if out_of_memory(error):
            raise too_large(name) from error
        raise ModelError(
            f"the device {device!r} cannot be used: {first_line(error)}",
            hint="use device='cpu'",
            command="give --device cpu",
        ) from None
