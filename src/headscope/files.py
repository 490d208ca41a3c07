"""Files that are written whole or not at all: atomic writes, locks, digests, sizes.

Everything that Headscope writes goes through :func:`atomic_write`, so that a full disk, a crash or
a second process never leaves half a file where a whole one is expected. Digests inside files are
checked when they are read again. They find damage: a flipped bit, a block of zeros, half a copy;
they do not stop anybody who changes a file on purpose and writes a new digest.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
from filelock import FileLock, Timeout

from headscope.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray


OTHER_PLACE = {"hint": "choose another output path", "command": "choose another place with -o"}
DISK = {
    "hint": "free some disk space or choose another output path, then run it again",
    "command": "free some disk space, or choose another place with -o",
}


def check_writable(path: Path, *, error: type[UserError] = UserError) -> None:
    """Check that a file can be written here, before hours of work depend on it.

    The folder is made if it does not exist.
    """
    folder = path.resolve().parent
    if path.is_dir():
        raise error(
            f"{path} is a folder; a file is to be written there",
            hint="give the name of a file",
            command="give a file name, e.g. -o results.nc",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError("the file is write-protected")
    except (FileExistsError, NotADirectoryError):
        places = (folder, *folder.parents)
        wrong = next((place for place in places if place.is_file()), folder)
        raise error(
            f"{path} cannot be written: {wrong} is a file, not a folder", **OTHER_PLACE
        ) from None
    except OSError as problem:
        raise error(
            f"{path} cannot be written: {problem.strerror or problem}", **OTHER_PLACE
        ) from None


def check_folder(path: Path, *, error: type[UserError] = UserError) -> None:
    """Check that a folder can be made here, or is there."""
    if path.exists() and not path.is_dir():
        raise error(f"{path} is a file, not a folder", hint="give another folder")


def check_regular(path: Path, *, error: type[UserError] = UserError) -> None:
    """Refuse pipes and devices, which would be waited for, and can be read only once.

    Anything else passes: what is missing, or a folder, has errors of its own.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise error(
            f"{path} is a pipe or a device, not a file",
            hint="write what it holds to a file, and give that file",
        )


@contextmanager
def atomic_write(
    path: Path, *, error: type[UserError] = UserError, before: Path | None = None
) -> Iterator[Path]:
    """Write a file whole or not at all.

    Gives a temporary path in the same folder, with a name that nobody else has (a planted link is
    never followed). When the block ends well, the file is flushed to the disk and put in place in
    one step; otherwise it is removed and what stood there before is unchanged.

    Parameters
    ----------
    path
        The file.
    error
        The error to raise if it cannot be written.
    before
        Where what stood there before is kept; None drops it.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{path.name[:80]}."
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".tmp")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        if before is not None and path.exists():
            path.replace(before)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror or problem}", **DISK) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait for the end of the block.

    For work of other libraries that must not be cut short: an interrupt between taking a lock and
    noting that it was taken leaves the lock taken for ever.
    """
    if threading.current_thread() is not threading.main_thread():  # only there are signals caught
        yield
        return
    waiting: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    held = [number for number in numbers if callable(before[number])]
    for number in held:
        signal.signal(number, lambda got, _: waiting.append(got))
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, before[number])
    for late in waiting[:1]:
        signal.raise_signal(late)


@contextmanager
def uncollected() -> Iterator[None]:
    """Let Python's garbage collector wait for the end of the block.

    For work of other libraries that does not bear it: what the collector finds may be a file of the
    same library, which is closed there and then.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def write_bytes(path: Path, data: bytes, *, before: Path | None = None) -> Path:
    """Write bytes atomically; see :func:`atomic_write`."""
    with atomic_write(path, before=before) as temporary:
        temporary.write_bytes(data)
    return path


def write_text(path: Path, text: str) -> Path:
    """Write UTF-8 text atomically."""
    return write_bytes(path, text.encode("utf-8"))


def sync_folder(folder: Path) -> None:
    """Make sure that a folder's entries are on the disk, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing to the same output.

    The lock is a file beside the output. It is released when the block ends, and by the operating
    system if the process dies.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.lock")
    lock = FileLock(beside)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"another process is writing to {path}",
            hint="wait for it to finish, or choose another output path",
            command="wait for it to finish, or choose another place with -o",
        ) from None
    except OSError as problem:
        raise UserError(
            f"{path} cannot be written: {problem.strerror or problem}", **OTHER_PLACE
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):  # before the release: nobody else can hold it yet
            beside.unlink(missing_ok=True)
        lock.release()


def cache_folder() -> Path | None:
    """The folder for what is kept between runs.

    Returns
    -------
    Path or None
        ``$HEADSCOPE_CACHE``, else the user's cache folder as the system names it (on Linux
        ``$XDG_CACHE_HOME/headscope`` or ``~/.cache/headscope``). None if ``HEADSCOPE_CACHE`` is
        "off" or there is no home folder.
    """
    setting = os.environ.get("HEADSCOPE_CACHE", "")
    try:
        if setting:
            return None if setting == "off" else Path(setting).expanduser()
        folder = platformdirs.user_cache_path("headscope", appauthor=False)
    except RuntimeError:  # no home folder
        return None
    return folder if folder.is_absolute() else None


def checksum(path: Path) -> str:
    """The SHA-256 of a file's bytes, as hexadecimal digits."""
    check_regular(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(*parts: str | bytes | memoryview) -> str:
    """The SHA-256 of several parts. Where one part ends and the next begins matters.

    >>> digest_of("ab", "c") == digest_of("a", "bc")
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        digest.update(size.to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def slug(name: str) -> str:
    """A short file name made from the name of a model or corpus.

    >>> slug("../data/en_ewt-ud-dev.conllu.gz"), slug("google/bert_uncased")
    ('en_ewt-ud-dev', 'bert_uncased')
    """
    return re.sub(r"[^\w-]", "_", Path(name).name.split(".")[0]) or "results"


def show_size(size: float) -> str:
    """A number of bytes as people write it.

    >>> show_size(512), show_size(3_500_000), show_size(7.2e9)
    ('512 bytes', '3.5 MB', '7.2 GB')
    """
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size:.0f} bytes"


def _umask() -> int:
    """The permissions that new files do not get; asking for them means setting them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def temporary_folder(path: Path) -> Path:
    """Make an empty folder beside a path, with a name that nobody else has.

    Rename it to ``path`` when it is whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name[:80]}."
    return Path(tempfile.mkdtemp(dir=path.parent, prefix=prefix, suffix=".tmp"))


DIGEST = "digest"
"""The key of a digest, in JSON objects and in the metadata of tensors."""
FILES = "headscope-files.json"
"""The digests of a folder's files, beside them."""
CHANGED = "its contents do not match the digest written with them"


class Damaged(ValueError):
    """The contents of a file do not match its digest."""


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with a digest of its contents.

    Examples
    --------
    >>> unsealed(json.loads(json.dumps(sealed({"seed": 0}))))
    {'seed': 0}
    """
    return {**values, DIGEST: _json_digest(values)}


def unsealed(values: Mapping[str, Any], *, required: bool = False) -> dict[str, Any]:
    """The contents of a sealed JSON object.

    Parameters
    ----------
    values
        What :func:`sealed` returned.
    required
        Whether an object without a digest is damaged, or just older than digests.

    Raises
    ------
    Damaged
        If the contents have changed.

    Examples
    --------
    >>> unsealed(sealed({"seed": 0}) | {"seed": 1})
    Traceback (most recent call last):
    headscope.files.Damaged: its contents do not match the digest written with them
    """
    if not isinstance(values, Mapping):
        raise Damaged("it does not hold a JSON object")
    contents = {key: value for key, value in values.items() if key != DIGEST}
    if DIGEST not in values and not required:
        return contents
    if values.get(DIGEST) != _json_digest(contents):
        raise Damaged(CHANGED)
    return contents


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> Path:
    """Write arrays as a safetensors file with a digest, whole or not at all."""
    import numpy as np
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    meta = {**(metadata or {}), DIGEST: tensor_digest(arrays)}
    return write_bytes(path, save(arrays, metadata=meta))


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a safetensors file, and check them against its digest if it has one.

    Raises
    ------
    Damaged
        If the arrays have changed.
    SafetensorError
        If the file is something else, or not complete.
    """
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        meta = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if meta.get(DIGEST, "") and meta[DIGEST] != tensor_digest(tensors):
        raise Damaged(CHANGED)
    return tensors


def tensor_digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    """A digest of arrays: names, types, shapes and contents.

    Examples
    --------
    >>> import numpy as np
    >>> zeros = tensor_digest({"a": np.zeros(4)})
    >>> zeros == tensor_digest({"a": np.zeros((2, 2))}), zeros == tensor_digest({"b": np.zeros(4)})
    (False, False)
    """
    import numpy as np

    parts: list[str | bytes] = []
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        parts += [f"{name} {array.dtype} {array.shape}", array.tobytes()]
    return digest_of(*parts)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what torch and safetensors raise on a full disk into an error of ours.

    The files in the folder get the permissions of other new files: safetensors writes for the
    owner alone.
    """
    from safetensors import SafetensorError

    try:
        yield
        for file in folder.iterdir() if folder.is_dir() else ():
            if file.is_file():
                file.chmod(0o666 & ~_umask())
    except (OSError, SafetensorError, RuntimeError) as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        reason = error.strerror if isinstance(error, OSError) and error.strerror else text
        raise UserError(f"{folder} cannot be written: {reason}", **DISK) from None


def seal_folder(folder: Path) -> None:
    """Write the digests of a folder's files beside them, once all of them are on the disk.

    Parameters
    ----------
    folder
        A folder that another library filled. Folders inside it and hidden files are left out.

    See Also
    --------
    folder_damage : Check them.
    """
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and file.name != FILES and not file.name.startswith(".")
    )
    digests = {}
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
        digests[file.name] = checksum(file)
    write_text(folder / FILES, json.dumps(sealed({"files": digests}), indent=1) + "\n")


def folder_damage(folder: Path) -> str:
    """What is wrong with a sealed folder, in words; nothing if all files are as they were written.

    Parameters
    ----------
    folder
        A folder. Nothing is wrong with one that was never sealed.
    """
    if not (folder / FILES).is_file():
        return ""
    try:
        listing = json.loads((folder / FILES).read_text(encoding="utf-8"))
        digests = unsealed(listing, required=True)["files"]
    except (OSError, ValueError, KeyError, RecursionError) as error:
        return f"{FILES} cannot be used ({error})"
    for name, digest in digests.items():
        try:
            if checksum(folder / name) != digest:
                return f"{name} has changed since it was written"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
    return ""


def _json_digest(values: Mapping[str, Any]) -> str:
    # As it will be read: keys are strings, and tuples are lists.
    return digest_of(json.dumps(json.loads(json.dumps(values)), sort_keys=True))
