"""How much memory a model needs, told from its files before they are loaded."""

from __future__ import annotations

from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import psutil
import torch
from huggingface_hub import get_safetensors_metadata, try_to_load_from_cache
from safetensors import SafetensorError, safe_open

from headscope.errors import ModelError
from headscope.files import checksum, digest_of, show_size

FLOATS = ("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2")
"""Kinds of numbers that are loaded in the dtype asked for; others keep their size."""
SIZES = {"I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
PER_WEIGHT = {"8bit": 1.0, "4bit": 0.5}
CGROUP = Path("/sys/fs/cgroup")


def weight_files(place: str, revision: str = "") -> list[Path]:
    """The safetensors files of a folder, or of a hub model that is in the hub's cache.

    Parameters
    ----------
    place
        A folder's path or a hub id.
    revision
        Branch, tag or commit of a hub model.
    """
    folder = Path(place)
    if not folder.exists():
        found = try_to_load_from_cache(place, "config.json", revision=revision or None)
        if not isinstance(found, str):
            return []
        folder = Path(found).parent
    return sorted(folder.glob("model*.safetensors"))


def files_digest(files: list[Path], *more: str) -> str:
    """A short digest of weights that are not in memory, from the files that hold them."""
    return digest_of(*(checksum(file) for file in files), *more)[:16]


def needed_bytes(place: str, revision: str, size: int, quantization: str = "") -> int | None:
    """How many bytes a model's weights take once they are loaded.

    Parameters
    ----------
    place, revision
        See :func:`weight_files`. A hub model that is not in the cache is asked for on the hub.
    size
        Bytes per floating-point number in the dtype asked for.
    quantization
        ``"8bit"``, ``"4bit"`` or nothing.

    Returns
    -------
    int or None
        None if that cannot be known.
    """
    floats, others = 0, 0
    files = weight_files(place, revision)
    if not files and Path(place).exists():
        return None
    if files:
        try:
            for file in files:
                with safe_open(file, "pt") as tensors:
                    for name in tensors.keys():  # noqa: SIM118
                        tensor = tensors.get_slice(name)
                        count, kind = prod(tensor.get_shape()), tensor.get_dtype()
                        floats += count if kind in FLOATS else 0
                        others += 0 if kind in FLOATS else count * SIZES.get(kind, 1)
        except (SafetensorError, OSError):  # damaged: loading says so in its own words
            return None
    else:
        with suppress(Exception):  # no connection, no safetensors, a private model
            found = get_safetensors_metadata(place, revision=revision or None)
            for kind, count in found.parameter_count.items():
                floats += count if kind in FLOATS else 0
                others += 0 if kind in FLOATS else count * SIZES.get(kind, 1)
    total = int(floats * PER_WEIGHT.get(quantization, size) + others)
    return total or None


def check_memory(
    name: str, place: str, revision: str, *, dtype: torch.dtype, quantization: str, device: str
) -> None:
    """Check that a model fits into memory, before hours of swapping.

    Parameters
    ----------
    name
        What to call the model in an error message.
    place, revision
        See :func:`weight_files`.
    dtype, quantization, device
        How and where it is to be loaded.

    Raises
    ------
    ModelError
        If it needs more memory than there is.
    """
    needed = needed_bytes(place, revision, dtype.itemsize, quantization)
    available = available_bytes(device)
    if needed is None or available is None or needed <= available:
        return
    shown = quantization or str(dtype).removeprefix("torch.")
    smaller: list[tuple[str, Any]] = []
    if dtype.itemsize > 2 and not quantization:
        half = show_size(needed * 2 / dtype.itemsize)
        smaller.append((f"dtype='bfloat16' ({half})", f"--dtype bfloat16 ({half})"))
    if quantization != "4bit":
        smaller.append(("quantization='4bit'", "--quantization 4bit"))
    smaller.append(("device_map='auto'", "--device-map auto"))
    raise ModelError(
        f"{name} needs {show_size(needed)} of memory in {shown}, and {show_size(available)} are "
        f"free on {device}",
        hint="give " + " or ".join(option for option, _ in smaller),
        command="give " + " or ".join(option for _, option in smaller),
    )


def check_gguf_memory(path: Path) -> None:
    """Check that a GGUF file can be converted to float32 in memory.

    Raises
    ------
    ModelError
        If it needs more memory than there is.
    """
    available = available_bytes()
    if available is None or path.stat().st_size * 16 <= available:  # two bits per weight at least
        return
    from gguf import GGUFReader  # slow: only where it matters

    needed = 4 * sum(int(tensor.n_elements) for tensor in GGUFReader(path).tensors)
    if needed > available:
        raise ModelError(
            f"{path.name} needs {show_size(needed)} of memory to be converted to float32, and "
            f"{show_size(available)} are free",
            hint="convert it on a larger machine, or give the same model as safetensors",
        )


def available_bytes(device: str = "cpu") -> int | None:
    """How much memory is free on a device; None if that cannot be known."""
    if device.startswith("cuda"):
        with suppress(RuntimeError, AssertionError, ValueError):
            return int(torch.cuda.mem_get_info(device)[0])
        return None
    if device != "cpu":
        return None
    free = int(psutil.virtual_memory().available)
    limit = _container_limit()
    return free if limit is None else min(free, limit)


def _container_limit() -> int | None:
    """What is left of the memory that a container or batch system allows (Linux, cgroup v2)."""
    with suppress(OSError, ValueError):
        limit = int((CGROUP / "memory.max").read_text())
        used = int((CGROUP / "memory.current").read_text())
        lines = (CGROUP / "memory.stat").read_text().splitlines()
        files = next(int(line.split()[1]) for line in lines if line.startswith("file "))
        return limit - used + files  # files in memory give way
    return None
