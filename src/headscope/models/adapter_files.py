"""The files of a PEFT adapter, checked without importing torch or peft."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from headscope.errors import ModelError
from headscope.models.names import check_folder, model_folder

CONFIG, WEIGHTS, PICKLED = (
    "adapter_config.json",
    "adapter_model.safetensors",
    "adapter_model.bin",
)


def check_adapter(adapter: str | Path) -> None:
    """Check an adapter as far as that is possible without loading anything.

    Parameters
    ----------
    adapter
        A folder saved by PEFT, or a hub id.

    Raises
    ------
    ModelError
        If peft is not installed, or if a folder is not that of an adapter.
    """
    if not isinstance(adapter, str | Path):
        raise ModelError(
            f"an adapter must be a folder saved by PEFT or a hub id; got "
            f"{type(adapter).__name__} instead"
        )
    if importlib.util.find_spec("peft") is None:
        raise ModelError(
            "an adapter cannot be loaded without peft", hint="pip install 'headscope[adapters]'"
        )
    folder = model_folder(adapter)
    if folder is None:
        return
    if not (folder / CONFIG).is_file():
        raise ModelError(
            f"{adapter} is not the folder of an adapter: it has no {CONFIG}",
            hint="give a folder saved by PEFT's save_pretrained, or a hub id",
        )
    check_folder(folder)
    if not (folder / WEIGHTS).is_file():
        if (folder / PICKLED).is_file():
            raise ModelError(
                f"{adapter} has only pickled weights ({PICKLED}), which can run code when opened",
                hint="save the adapter with safe_serialization=True",
            )
        raise ModelError(
            f"{adapter} has no weights: there is no {WEIGHTS}",
            hint="give a folder saved by PEFT's save_pretrained",
        )
