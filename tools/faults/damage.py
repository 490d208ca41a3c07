"""Damage to files: flipped bits, truncation, zeros. What comes of it is one of OUTCOMES."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headscope.errors import UserError

Make = Callable[[Path], None]
"""Writes the files of a kind into an empty folder."""
Read = Callable[[Path], Any]
"""Reads them again, or has them made again; what it returns says what a user would see."""
OUTCOMES = ("refused", "same", "WRONG", "CRASH", "SILENT")
"""An error of ours; the same contents (repaired, or nothing that matters was hit); other contents;
an error of somebody else's; an error of ours without advice."""
BAD = (*OUTCOMES[2:], "LOST", "HANG", "STUCK")


@dataclass(frozen=True)
class Kind:
    """A kind of file that Headscope writes.

    Parameters
    ----------
    name
        What to call it.
    make, read
        How it is written and read.
    files
        Which files of the folder are damaged, as a pattern.
    """

    name: str
    make: Make
    read: Read
    files: str = "*"


@dataclass
class Tally:
    """What became of the faults of one kind."""

    outcomes: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, outcome: str, note: str = "") -> None:
        """Count one fault."""
        self.outcomes[outcome] += 1
        if outcome in BAD:
            self.notes.append(f"{outcome}: {note}")


def flipped(data: bytes, place: int) -> bytes:
    """The bytes with one bit flipped.

    >>> flipped(b"ab", 8)
    b'ac'
    """
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def damages(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """``count`` ways to damage a file: mostly single bits, some cuts, some zeros."""
    generator = np.random.default_rng(seed)
    for number in range(count):
        place = int(generator.integers(0, 8 * len(data)))
        if number % 8 == 6:
            yield f"cut at {place // 8}", data[: place // 8]
        elif number % 8 == 7:
            size = min(512, len(data) - place // 8)
            yield (
                f"zeros at {place // 8}",
                data[: place // 8] + b"\0" * size + data[place // 8 + size :],
            )
        else:
            yield f"bit {place}", flipped(data, place)


def damage_kind(kind: Kind, folder: Path, count: int, seed: int) -> Tally:
    """Damage the files of a kind ``count`` times each, one after the other."""
    whole = folder / "whole"
    whole.mkdir(parents=True)
    kind.make(whole)
    trial = folder / "trial"
    shutil.copytree(whole, trial)
    right = kind.read(trial)
    tally = Tally()
    files = sorted(path for path in whole.rglob(kind.files) if path.is_file())
    if not files:
        raise RuntimeError(f"{kind.name}: nothing was written")
    for number, path in enumerate(files):
        name = path.relative_to(whole)
        for how, data in damages(path.read_bytes(), count, seed + number):
            shutil.rmtree(trial)
            shutil.copytree(whole, trial)
            (trial / name).write_bytes(data)
            outcome, note = judge(lambda: kind.read(trial), right)
            tally.add(outcome, f"{kind.name}, {name}, {how}: {note}")
    return tally


def judge(read: Callable[[], Any], right: Any) -> tuple[str, str]:
    """What comes of reading damaged files."""
    try:
        found = read()
    except UserError as error:
        return ("refused" if error.hint or error.command else "SILENT"), error.message
    except Exception as error:  # what must not happen
        return "CRASH", f"{type(error).__name__}: {error}"
    return ("same", "") if found == right else ("WRONG", f"{str(found)[:60]}")


def content(*parts: Any) -> str:
    """A digest of arrays, bytes and anything else by its ``repr``."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype.kind in "biufc":
            digest.update(f"{part.dtype} {part.shape}".encode() + part.tobytes())
        elif isinstance(part, np.ndarray):
            digest.update(repr([str(cell) for cell in part.ravel().tolist()]).encode())
        else:
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
    return digest.hexdigest()
