"""A run's state on disk: replaced in one step, and checked by its digest when it is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.errors import UserError
from headscope.files import CHANGED, digest_of, sync_folder, tensor_digest, write_bytes
from headscope.identity import another_run, differences, identity_of, plain


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands: the next block of work, what was counted, and the arrays so far.

    Blocks in ``ahead`` are done although they come after the next one. ``origin`` is everything
    that changes the numbers, and the versions of libraries.
    """

    origin: Mapping[str, Any]
    next_block: int
    state: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    ahead: Sequence[int] = ()

    def digest(self) -> str:
        """A digest of everything in it."""
        return digest_of(
            identity_of(self.origin),
            str(self.next_block),
            json.dumps(list(self.ahead)),
            json.dumps(self.state, sort_keys=True),
            tensor_digest(self.arrays),
        )


def before_path(path: Path) -> Path:
    """Where the checkpoint before the last one is kept, in case the last one is damaged.

    >>> before_path(Path("run.nc.partial")).name
    'run.nc.partial.before'
    """
    return path.with_name(f"{path.name}.before")


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file whole or not at all, and keep the one before it."""
    meta = {
        "origin": json.dumps(plain(checkpoint.origin)),
        "next_block": str(checkpoint.next_block),
        "ahead": json.dumps(list(checkpoint.ahead)),
        "state": json.dumps(checkpoint.state),
        "digest": checkpoint.digest(),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in checkpoint.arrays.items()}
    try:
        write_bytes(path, save(arrays, metadata=meta), before=before_path(path))
    except UserError as error:
        raise UserError(
            f"the checkpoint {error.message}",
            hint="free some disk space and run it again: it resumes from the last checkpoint",
        ) from None


def read_checkpoint(
    path: Path,
    origin: Mapping[str, Any],
    say: Callable[[str], None] | None = None,
    *,
    overwrite: bool = False,
) -> Checkpoint | None:
    """The checkpoint of this very run, or None if there is none.

    If the last one is damaged, or was lost, the one before it takes its place.

    Parameters
    ----------
    path
        The last checkpoint.
    origin
        What the run is made of.
    say
        Called with a sentence if the last checkpoint is damaged and the one before it is used.
    overwrite
        Ignore a file that is damaged, or is the checkpoint of another run.

    Raises
    ------
    UserError
        If the file is damaged, or is the checkpoint of another run, which must not be overwritten.
    """
    before = before_path(path)
    try:
        found = _read(path)
    except UserError as error:
        earlier = _same_run(before, origin)
        if earlier is None and overwrite:
            return None
        if earlier is None:
            raise
        if say is not None:
            say(f"{error.message}; the checkpoint before it is used, and the rest computed again")
        before.replace(path)
        return earlier
    if found is None:  # killed between two renamings
        return _same_run(before, origin)
    differing = differences(found.origin, origin)
    if differing and overwrite:
        return None
    if differing:
        what = f"{path} is the checkpoint of another run"
        raise another_run(what, differing, or_else=f"; or delete {path}")
    return found


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint and the one before it, for good."""
    path.unlink(missing_ok=True)
    before_path(path).unlink(missing_ok=True)
    sync_folder(path.parent)


def _read(path: Path) -> Checkpoint | None:
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            if "identity" in meta and "origin" not in meta:
                raise UserError(
                    f"{path} is a checkpoint of an earlier version of Headscope, and cannot be "
                    "resumed",
                    **_advice(path),
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        state = json.loads(meta["state"])
        ahead = json.loads(meta["ahead"])
        origin = json.loads(meta["origin"])
        found = Checkpoint(origin, int(meta["next_block"]), state, arrays, ahead)
        whole = meta["digest"] == found.digest()
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError, OSError) as error:
        raise UserError(
            f"{path} is not a checkpoint, or is damaged: {error}", **_advice(path)
        ) from None
    if not whole:
        raise UserError(f"{path} is damaged: {CHANGED}", **_advice(path))
    return found


def _same_run(path: Path, origin: Mapping[str, Any]) -> Checkpoint | None:
    """A checkpoint, if it is whole and of this run."""
    try:
        found = _read(path)
    except UserError:
        return None
    return None if found is None or differences(found.origin, origin) else found


def _advice(path: Path) -> dict[str, str]:
    return {
        "hint": f"delete {path} to start again, or choose another output path",
        "command": f"delete {path} to start again, or choose another place with -o",
    }
