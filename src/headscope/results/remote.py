"""Results that live elsewhere: what an address names is copied to the cache, and the copy opened.

fsspec reaches the place. The copy is made anew when the file there has changed, and is checked like
any other results file before its contents are read.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headscope.errors import ResultsError, cut
from headscope.files import atomic_write, cache_folder, digest_of, show_size, write_text
from headscope.limits import RESULTS

PACKAGES = {"https": "fsspec[http]", "hf": "huggingface_hub", "s3": "s3fs", "gs": "gcsfs"}
"""What can begin an address, and the package that reaches it."""
# A path drops one of two slashes: what was read as one is an address all the same.
ADDRESS = re.compile(r"([a-z][a-z0-9+.]+):/{1,2}(?=[^/])(.+)", re.DOTALL)
HERE = re.compile(r"(localhost|127\.0\.0\.1)(:\d+)?/")
VERSION = ("size", "ETag", "etag", "LastModified", "last_modified", "mtime", "oid", "md5", "crc32c")
"""What tells that a file has changed, where its place says so."""


def address_of(path: str | Path) -> str:
    """The address that a path is; nothing for the path of a file on this machine.

    >>> address_of(Path("https://example.org/demo.nc")), address_of("results/demo.nc")
    ('https://example.org/demo.nc', '')
    """
    match = ADDRESS.fullmatch(str(path))
    return f"{match[1]}://{match[2]}" if match else ""


@contextmanager
def on_disk(path: str | Path) -> Iterator[Path]:
    """A file of this machine: the path itself, or a copy of what an address names.

    A copy that cannot be used is removed, so that the next attempt fetches it again.
    """
    address = address_of(path)
    if not address:
        yield Path(path)
        return
    cache = cache_folder()
    with tempfile.TemporaryDirectory() as temporary:
        folder = cache / "results" if cache else Path(temporary)
        copy = folder / digest_of(address)[:16] / (Path(address).name or "results.nc")
        _fetch(address, copy)
        try:
            yield copy
        except ResultsError as error:
            copy.unlink(missing_ok=True)
            message = error.message.replace(str(copy), address)
            raise ResultsError(message, hint=error.hint, command=error.command) from None


def _fetch(address: str, copy: Path) -> None:
    """Copy what an address names, unless the copy is already of this version."""
    files, place = _file_system(address)
    note = copy.with_name(f"{copy.name}.json")
    try:
        about = files.info(place)
        version = {key: str(about[key]) for key in VERSION if about.get(key) is not None}
        # Only the size is known: that does not tell one version from another.
        if len(version) > 1 and copy.is_file() and _noted(note) == version:
            return
        _check_size(address, about.get("size"))
        with atomic_write(copy, error=ResultsError) as temporary:
            files.get_file(place, str(temporary), callback=_limit(address))
    except ResultsError:
        raise
    # Every file system raises errors of its own libraries.
    except Exception as error:
        raise ResultsError(
            f"{address} cannot be read: {_reason(error)}",
            hint="check the address and the network, or download the file and open it",
        ) from None
    write_text(note, json.dumps(version) + "\n")


def _file_system(address: str) -> tuple[Any, str]:
    """The file system that reaches an address, and the address in its own form."""
    import fsspec

    protocol, _, rest = address.partition("://")
    local = protocol == "http" and HERE.match(rest)
    if protocol not in PACKAGES and not local:
        raise ResultsError(
            f"results can be opened from addresses that begin with "
            f"{', '.join(f'{name}://' for name in PACKAGES)}; got {protocol}:// instead",
            hint="download the file, and open it by its path",
        )
    try:
        options = _patient() if protocol.startswith("http") else {}
        files, place = fsspec.url_to_fs(address, **options)
    except ImportError:
        package = PACKAGES["https" if local else protocol]
        raise ResultsError(
            f"{protocol}:// addresses need a package that is not installed: {package}",
            hint=f"pip install '{package}'",
        ) from None
    return files, place


def _patient() -> dict[str, Any]:
    """Wait for an answer, not for the whole file: aiohttp would stop after five minutes."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
    return {"client_kwargs": {"timeout": timeout}}


def _reason(error: Exception) -> str:
    """Why a file cannot be read: fsspec says of any answer that there is no such file."""
    cause = error.__cause__ or error
    if getattr(cause, "status", 0) == 404 or (cause is error and isinstance(cause, OSError)):
        return "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
    lines = str(cause).splitlines()
    return cut(lines[0], 200) if lines else type(cause).__name__


def _noted(note: Path) -> Any:
    """The version of a copy, if it was noted."""
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _check_size(address: str, size: int | None) -> None:
    """Refuse a file that is larger than the limit for results."""
    if size is not None and size > RESULTS.value:
        raise ResultsError(
            f"{address} has more than {show_size(RESULTS.value)}, the limit for results",
            hint=RESULTS.advice,
        )


def _limit(address: str) -> Any:
    """What watches a copy grow: some servers do not say how large a file is, or say it wrong."""
    from fsspec.callbacks import Callback

    class Limited(Callback):  # type: ignore[misc]
        def call(self, *_: Any, **__: Any) -> None:
            _check_size(address, self.value)

    return Limited()
