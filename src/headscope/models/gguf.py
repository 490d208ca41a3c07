"""Models in GGUF files, the format of llama.cpp: read once, and kept as safetensors in the cache.

transformers reads GGUF slowly (ten seconds for 135 million weights), so that a file is converted
when it is first used. Nothing at the top of this file imports torch.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from filelock import FileLock
from safetensors import SafetensorError

from headscope.errors import ModelError, out_of_memory
from headscope.files import (
    cache_folder,
    checksum,
    digest_of,
    folder_damage,
    seal_folder,
    show_size,
    slug,
    sync_folder,
    temporary_folder,
)

SUFFIX = ".gguf"
MAGIC = b"GGUF"
NEEDED = ("gguf", "accelerate")
FORMAT = 1
"""Increased whenever the same file is converted differently."""


def is_gguf(name: str | Path) -> bool:
    """Whether a model name is that of a GGUF file.

    >>> is_gguf("models/SmolLM2.Q4_1.gguf"), is_gguf("someone/SmolLM2-GGUF")
    (True, False)
    """
    return str(name).lower().endswith(SUFFIX)


def check_gguf(path: Path, *, sha256: str = "") -> None:
    """Check a GGUF file, and that it can be read, without reading its weights.

    Parameters
    ----------
    path
        The file.
    sha256
        Its digest, if it is known.

    Raises
    ------
    ModelError
        If it is not a GGUF file, or if packages that read it are missing and it has not been
        converted before.
    """
    with path.open("rb") as file:
        begins = file.read(len(MAGIC))
    if begins != MAGIC:
        raise ModelError(
            f"{path} is not a GGUF file: it does not begin with 'GGUF'",
            hint="copy or download the file again",
        )
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing and not _is_converted(path, sha256):
        raise ModelError(
            f"{path.name} cannot be read without {' and '.join(missing)}",
            hint="pip install 'headscope[gguf]'",
        )


@contextmanager
def converted(path: Path, *, sha256: str = "") -> Iterator[Path]:
    """A folder with the model of a GGUF file: config, float32 safetensors and tokenizer.

    It is made when the file is first used, and kept in the cache. Its name depends on the file's
    contents and on the versions of transformers and gguf. Other processes that want the same model
    wait. Where there is no cache (``HEADSCOPE_CACHE=off``), the folder is deleted at the end.

    Parameters
    ----------
    path
        The file.
    sha256
        Its digest, if it is known.

    Yields
    ------
    Path

    Raises
    ------
    ModelError
        If the file is damaged, its architecture is not supported, or the disk is full.
    """
    cache = cache_folder()
    if cache is None:
        with tempfile.TemporaryDirectory(prefix="headscope-") as temporary:
            _convert(path, Path(temporary))
            yield Path(temporary)
        return
    folder = cache / "models" / _folder_name(path, sha256)
    if not _is_whole(folder):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(folder.with_name(f".{folder.name}.lock")):
                _keep(path, folder)
        except (OSError, SafetensorError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise ModelError(
                f"the model in {path.name} cannot be kept in {folder.parent}: {reason}",
                hint="set HEADSCOPE_CACHE to a folder that can be written, or to 'off'",
            ) from None
    yield folder


def _is_converted(path: Path, sha256: str) -> bool:
    cache = cache_folder()
    if cache is None:
        return False
    return (cache / "models" / _folder_name(path, sha256) / "config.json").is_file()


def _is_whole(folder: Path) -> bool:
    """Whether a file was converted into a folder, and the folder is not damaged."""
    return (folder / "config.json").is_file() and not folder_damage(folder)


def _folder_name(path: Path, sha256: str) -> str:
    try:
        reader = version("gguf")
    except PackageNotFoundError:
        reader = ""
    parts = (sha256 or checksum(path), str(FORMAT), version("transformers"), reader)
    return f"{slug(path.name)}-{digest_of(*parts)[:16]}"


def _keep(path: Path, folder: Path) -> None:
    """Convert a file into a folder that appears whole. Whoever calls this holds the lock."""
    if _is_whole(folder):  # another process was quicker
        return
    shutil.rmtree(folder, ignore_errors=True)  # damaged
    logging.getLogger(__name__).warning(
        f"{path.name} is converted to safetensors, once; this takes ten seconds or longer"
    )
    temporary = temporary_folder(folder)
    try:
        _convert(path, temporary)
        seal_folder(temporary)
        temporary.chmod(0o755)
        temporary.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _convert(path: Path, folder: Path) -> None:
    """Read a GGUF file through transformers, and save it as transformers saves models."""
    import torch

    from headscope.models.attach import quiet
    from headscope.models.checks import check_weights

    with quiet(), _quick_reading(), contextlib.redirect_stderr(io.StringIO()):
        try:
            network, report, tokenizer = _read(path, torch.float32)
        except ModelError:
            raise
        except Exception as error:  # damaged files fail in many ways
            raise _unreadable(path, error) from error
    check_weights(path.name, report, language_model=False)
    size = sum(weight.numel() * weight.element_size() for weight in network.parameters())
    free = shutil.disk_usage(folder).free
    if size > free:
        raise ModelError(
            f"{path.name} needs {show_size(size)} as safetensors in the cache, and {folder.parent} "
            f"has {show_size(free)} left",
            hint="free some disk space, or set HEADSCOPE_CACHE to another folder",
        )
    network.hf_quantizer = None  # the weights are no longer quantised: they can be saved
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    with quiet():
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def _quick_reading() -> Iterator[None]:
    """Let transformers parse a file once, without a progress bar, which is a widget in notebooks.

    By itself it parses the file for the config, the weights and the tokenizer each, and makes the
    table of tensor names anew for every module of the network.
    """
    from unittest.mock import patch

    import gguf
    from transformers import modeling_gguf_pytorch_utils as reading

    with (
        patch.object(reading, "tqdm", lambda tensors, **_: tensors),
        patch.object(gguf, "GGUFReader", functools.cache(gguf.GGUFReader)),
        patch.object(gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
    ):
        yield


def _read(path: Path, dtype: Any) -> tuple[Any, dict[str, Any], Any]:
    from transformers import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        AutoConfig,
        AutoModel,
        AutoModelForCausalLM,
        AutoTokenizer,
    )

    source: dict[str, Any] = {
        "pretrained_model_name_or_path": str(path.parent),
        "gguf_file": path.name,
    }
    config = AutoConfig.from_pretrained(**source)
    causal = type(config) in MODEL_FOR_CAUSAL_LM_MAPPING
    auto = AutoModelForCausalLM if causal else AutoModel
    network, report = auto.from_pretrained(**source, dtype=dtype, output_loading_info=True)
    return network, report, AutoTokenizer.from_pretrained(**source)


def _unreadable(path: Path, error: Exception) -> ModelError:
    if out_of_memory(error):
        return ModelError(
            f"there is not enough memory to convert {path.name} to float32",
            hint="convert it on a larger machine, or give the same model as safetensors",
        )
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if "is not supported" in text:
        return ModelError(
            f"{path.name} cannot be read: {text}",
            hint="give the same model as safetensors: a hub id or a folder",
        )
    return ModelError(
        f"{path.name} cannot be read as GGUF: {text or type(error).__name__}",
        hint="the file may be incomplete: copy or download it again",
    )
