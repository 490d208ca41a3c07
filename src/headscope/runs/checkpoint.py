"""A run's state on disk: replaced in one step, and checked by its digest when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.errors import UserError
from headscope.files import digest_of, write_bytes


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands: the next block of work, what was counted, and the arrays so far.

    Blocks in ``ahead`` are done although they come after the next one.
    """

    identity: str
    next_block: int
    state: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    ahead: Sequence[int] = ()

    def digest(self) -> str:
        """A digest of everything in it."""
        parts: list[str | bytes | memoryview] = [self.identity, str(self.next_block)]
        parts.append(json.dumps(list(self.ahead)))
        parts.append(json.dumps(self.state, sort_keys=True))
        for name in sorted(self.arrays):
            array = np.ascontiguousarray(self.arrays[name])
            parts += [f"{name} {array.dtype} {array.shape}", array.tobytes()]
        return digest_of(*parts)


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file whole or not at all."""
    meta = {
        "identity": checkpoint.identity,
        "next_block": str(checkpoint.next_block),
        "ahead": json.dumps(list(checkpoint.ahead)),
        "state": json.dumps(checkpoint.state),
        "digest": checkpoint.digest(),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in checkpoint.arrays.items()}
    try:
        write_bytes(path, save(arrays, metadata=meta))
    except UserError as error:
        raise UserError(
            f"the checkpoint {error.message}",
            hint="free some disk space and run it again: it resumes from the last checkpoint",
        ) from None


def read_checkpoint(path: Path, identity: str) -> Checkpoint | None:
    """The checkpoint of this very run, or None if there is none.

    Raises
    ------
    UserError
        If the file is damaged, or is the checkpoint of another run, which must not be overwritten.
    """
    if not path.exists():
        return None
    advice = {
        "hint": f"delete {path} to start again, or choose another output path",
        "command": f"delete {path} to start again, or choose another place with -o",
    }
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        state = json.loads(meta["state"])
        ahead = json.loads(meta["ahead"])
        found = Checkpoint(meta["identity"], int(meta["next_block"]), state, arrays, ahead)
        whole = meta["digest"] == found.digest()
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise UserError(f"{path} is not a checkpoint, or is damaged: {error}", **advice) from None
    if not whole:
        raise UserError(
            f"{path} is damaged: its contents do not match the digest written with them", **advice
        )
    if found.identity != identity:
        raise UserError(
            f"{path} is the checkpoint of another run (another model, corpus or settings)",
            **advice,
        )
    return found
