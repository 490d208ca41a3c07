"""How a model is loaded: checks of the options that need neither torch nor the model."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from headscope.encode.template import BOS, Bos
from headscope.errors import ModelError, UserError, unknown

Quantization = Literal["", "8bit", "4bit"]
DeviceMap = str | Mapping[str, int | str]
"""How layers are spread over devices: a way of accelerate's, one device, or a device for each part
of the network.
"""
DTYPES = ("float32", "float16", "bfloat16")
QUANTIZATIONS = ("8bit", "4bit")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
DEVICE = re.compile(r"(cpu|cuda|mps|xpu|npu|hpu)(:\d+)?")


class LoadOptions(TypedDict, total=False):
    """Options of :func:`headscope.load` for functions that hand them on."""

    device: str
    dtype: str
    device_map: DeviceMap
    quantization: Quantization
    adapter: str | Path
    revision: str
    allow_pickle: bool
    trust_remote_code: bool
    bos: Bos
    chat: bool


def check_load_options(
    *,
    device: str = "cpu",
    dtype: str = "float32",
    device_map: DeviceMap = "",
    quantization: str = "",
    adapter: str | Path = "",
    bos: str = "keep",
) -> None:
    """Check options of :func:`headscope.load` before anything is loaded.

    Raises
    ------
    UserError
        If an option has a value that is not allowed, or two options exclude each other.
    ModelError
        If an option needs a package that is not installed, or the adapter's folder is not one.

    Examples
    --------
    >>> check_load_options(dtype="bfloat16")
    >>> check_load_options(dtype="int3")
    Traceback (most recent call last):
    headscope.errors.UserError: the dtype must be one of bfloat16, float16, float32; got 'int3' ...
    """
    if dtype not in DTYPES:
        raise unknown("dtype", str(dtype), DTYPES)
    if quantization and quantization not in QUANTIZATIONS:
        raise unknown("quantization", str(quantization), QUANTIZATIONS)
    if bos not in BOS:
        raise unknown("treatment of the beginning-of-sequence token", str(bos), BOS)
    if device_map:
        _check_device_map(device_map, device)
    if quantization:
        _need("bitsandbytes", "quantised weights", "pip install bitsandbytes accelerate")
        _need("accelerate", "quantised weights", "pip install bitsandbytes accelerate")
    if adapter:
        from headscope.models.adapter_files import check_adapter

        check_adapter(adapter)


def checked_early(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options of :func:`headscope.load` that :func:`check_load_options` checks.

    >>> checked_early({"dtype": "float16", "revision": "main"})
    {'dtype': 'float16'}
    """
    names = check_load_options.__kwdefaults__ or {}
    return {name: value for name, value in options.items() if name in names}


def _check_device_map(device_map: DeviceMap, device: str) -> None:
    if isinstance(device_map, str):
        if device_map not in DEVICE_MAPS and not DEVICE.fullmatch(device_map):
            raise unknown("device map", device_map, (*DEVICE_MAPS, "cpu", "cuda:0"))
    elif not isinstance(device_map, Mapping):
        raise UserError(
            "the device map must be a name or a dictionary of devices; got "
            f"{type(device_map).__name__} instead",
            hint="give e.g. device_map='auto'",
        )
    if device != "cpu":
        raise UserError(
            f"a device and a device map exclude each other; got {device!r} and {device_map!r}",
            hint="leave device= or device_map= out",
            command="leave --device or --device-map out",
        )
    _need("accelerate", "a device map", "pip install accelerate")


def _need(package: str, what: str, install: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ModelError(f"{what} cannot be used without {package}", hint=install)
