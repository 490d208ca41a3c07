"""Model names: what they may look like, and what can be said of them without importing torch."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from headscope.errors import ModelError
from headscope.models.demo import DEMO, demo_files

ANYTHING = "a hub id, a folder saved with save_pretrained, or 'demo'"
HUB_ID = re.compile(r"(\b[\w.-]{1,96}\b/)?\b[\w.-]{1,96}\b", re.ASCII)
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\|\.{1,2}\\")


def check_model_name(name: str | Path) -> None:
    """Check a model name as far as that is possible without loading anything.

    Folders are looked at, the wheel of the embedded model is looked for, and a hub id is checked
    for its form only: whether it exists, only the hub knows. Imports neither torch nor
    transformers.

    Parameters
    ----------
    name
        A hub id, a folder, or ``"demo"``.

    Raises
    ------
    ModelError
        If the name is a path that does not exist, a file, a folder without ``config.json``, not a
        valid hub id, or ``"demo"`` without its wheel.

    Examples
    --------
    >>> check_model_name("bert-base-uncased")
    >>> check_model_name("./no-such-folder")
    Traceback (most recent call last):
        ...
    headscope.errors.ModelError: there is no folder ./no-such-folder
    next: check the path, or give a hub id or 'demo'
    """
    if not isinstance(name, str | Path):
        raise ModelError(f"a model name must be {ANYTHING}; got {type(name).__name__} instead")
    if str(name) == DEMO:
        demo_files()
        return
    folder = model_folder(name)
    if folder is None:
        _check_hub_id(str(name))
    elif not folder.exists():
        raise ModelError(
            f"there is no folder {name}", hint="check the path, or give a hub id or 'demo'"
        )
    elif not folder.is_dir():
        raise ModelError(f"{name} is a file, not a model folder", hint=f"give {ANYTHING}")
    elif not (folder / "config.json").is_file():
        raise ModelError(
            f"{name} is not a model folder: it has no config.json", hint=f"give {ANYTHING}"
        )


def model_folder(name: str | Path) -> Path | None:
    """The folder that a model name stands for, or None for a hub id and ``"demo"``.

    A name is a folder if it exists on disk or can only be a path: it is a :class:`~pathlib.Path`,
    begins with ``/``, ``./``, ``../`` or ``~``, or has more than one slash. The folder itself need
    not exist.

    Examples
    --------
    >>> model_folder("google/electra-small-discriminator") is None
    True
    >>> str(model_folder("models/mine/latest"))
    'models/mine/latest'
    """
    if str(name) in {DEMO, ""}:
        return None
    path = _expanded(Path(name))
    return path if isinstance(name, Path) or _is_path(str(name)) or path.exists() else None


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
        or bool(_WINDOWS.match(text))
    )


def _check_hub_id(text: str) -> None:
    """The rules are those of ``huggingface_hub.utils.validate_repo_id``."""
    forbidden = "--" in text or ".." in text or text.endswith(".git")
    if HUB_ID.fullmatch(text) and not forbidden:
        return
    raise ModelError(
        f"{text!r} is not the name of a model: there is no such folder, and a hub id looks like "
        "bert-base-uncased or google/electra-small-discriminator",
        hint=f"give {ANYTHING}",
    )
