"""A run's state on disk: replaced in one step, so that a kill at any moment leaves the last whole one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.errors import UserError


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands: the next batch, what was counted, and the sums of every measure."""

    identity: str
    next_batch: int
    state: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write beside the file, flush to disk, then replace."""
    meta = {
        "identity": checkpoint.identity,
        "next_batch": str(checkpoint.next_batch),
        "state": json.dumps(checkpoint.state),
    }
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(
                save(
                    {
                        name: np.ascontiguousarray(array)
                        for name, array in checkpoint.arrays.items()
                    },
                    metadata=meta,
                )
            )
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        hint = "make room, then type the same command again to go on from the last checkpoint"
        raise UserError(
            f"the checkpoint {path} cannot be written: {error.strerror or error}", hint=hint
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def read_checkpoint(path: Path, identity: str) -> Checkpoint | None:
    """The checkpoint of this very run, or None if there is none. One of another run is an error: it is not ours to overwrite."""
    if not path.exists():
        return None
    hint = f"delete {path} to start afresh, or give another -o"
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        found = Checkpoint(
            meta["identity"], int(meta["next_batch"]), json.loads(meta["state"]), arrays
        )
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise UserError(f"{path} is not a checkpoint, or is damaged: {error}", hint=hint) from None
    if found.identity != identity:
        raise UserError(
            f"{path} is the checkpoint of another run (another model, corpus or settings)",
            hint=hint,
        )
    return found
