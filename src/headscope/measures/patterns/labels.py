"""Labelled sets of attention maps: a folder with ``maps.safetensors`` and ``labels.tsv``. One is
built in, and a user may add others.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from headscope.errors import UserError, unknown
from headscope.measures.patterns.network import CLASSES

BUILTIN = Path(__file__).parent / "data"
MAPS, LABELS = "maps.safetensors", "labels.tsv"
SHAPE = (
    "give a folder with maps.safetensors and labels.tsv, as written by "
    "headscope.measures.patterns.labels.write_labelled"
)


def pack(attention: NDArray[Any]) -> NDArray[np.uint8]:
    """A map as it is stored: the roots of its weights in 256 steps, so that small weights keep
    their shades.

    >>> pack(np.array([[1.0, 0.0], [0.25, 0.75]])).tolist()
    [[255, 0], [128, 221]]
    """
    return np.asarray(np.round(255 * np.sqrt(np.clip(attention, 0.0, 1.0))), np.uint8)


def unpack(stored: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The weights of a stored map, to within 0.004."""
    return np.asarray((stored.astype(np.float32) / 255) ** 2, np.float32)


@dataclass(frozen=True)
class Labelled:
    """Maps (query, key), packed, with a label for each and what else is known of it (model, layer,
    head, split, ...).
    """

    maps: tuple[NDArray[np.uint8], ...]
    labels: tuple[str, ...]
    known: tuple[Mapping[str, str], ...]

    def __post_init__(self) -> None:
        if not len(self.maps) == len(self.labels) == len(self.known):
            raise UserError(
                f"there must be one label for each map, got {len(self.maps)} maps, "
                f"{len(self.labels)} labels and {len(self.known)} rows instead"
            )
        for label in self.labels:
            if label not in CLASSES:
                raise unknown("pattern", label, CLASSES)
        for one in self.maps:
            if one.ndim != 2 or one.shape[0] != one.shape[1] or not one.size:
                raise UserError(
                    f"a map must be square and not empty, got {one.shape} instead",
                    hint="cut away padding: one row and one column for each token",
                )

    def __len__(self) -> int:
        return len(self.maps)

    def part(self, **wanted: str) -> Labelled:
        """Those of which all this is known, e.g. ``part(split="test")``."""
        return self.take(
            [
                index
                for index, row in enumerate(self.known)
                if all(row.get(key) == value for key, value in wanted.items())
            ]
        )

    def take(self, indices: Sequence[int]) -> Labelled:
        """Some of them, by number."""
        return Labelled(
            tuple(self.maps[index] for index in indices),
            tuple(self.labels[index] for index in indices),
            tuple(self.known[index] for index in indices),
        )

    def __add__(self, other: Labelled) -> Labelled:
        return Labelled(
            self.maps + other.maps, self.labels + other.labels, self.known + other.known
        )


def label_maps(
    maps: Sequence[NDArray[Any]],
    labels: Sequence[str],
    known: Sequence[Mapping[str, str]] | None = None,
) -> Labelled:
    """A labelled set of attention maps held in memory; weights between 0 and 1."""
    return Labelled(
        tuple(pack(np.asarray(one)) for one in maps),
        tuple(labels),
        tuple(known) if known is not None else tuple({} for _ in maps),
    )


def read_labelled(folder: str | Path = BUILTIN) -> Labelled:
    """Read a labelled set; without a folder, the built-in one."""
    folder = Path(folder)
    maps = read_maps(folder / MAPS)
    with _text(folder / LABELS) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    if not rows or not {"index", "label"} <= set(rows[0]):
        raise UserError(
            f"{folder / LABELS} must have the columns index and label, and a row for each map",
            hint=SHAPE,
        )
    places = {row["index"]: row for row in rows}
    missing = [str(index) for index in range(len(maps)) if str(index) not in places]
    if missing or len(rows) != len(maps):
        raise UserError(
            f"{folder / LABELS} must have one row for each of the {len(maps)} maps, numbered from "
            f"0; got {len(rows)} rows" + (f", none for {missing[0]}" if missing else ""),
            hint=SHAPE,
        )
    ordered = [places[str(index)] for index in range(len(maps))]
    return Labelled(
        tuple(maps),
        tuple(row["label"] for row in ordered),
        tuple(
            {key: value for key, value in row.items() if key not in {"index", "label"}}
            for row in ordered
        ),
    )


def write_labelled(folder: str | Path, labelled: Labelled) -> Path:
    """Write a labelled set into a folder, which is made if need be."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_maps(folder / MAPS, labelled.maps)
    columns = list(dict.fromkeys(key for row in labelled.known for key in row))
    with (folder / LABELS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, ["index", "label", *columns], delimiter="\t", lineterminator="\n", restval=""
        )
        writer.writeheader()
        writer.writerows(
            {"index": str(index), "label": label, **row}
            for index, (label, row) in enumerate(zip(labelled.labels, labelled.known, strict=True))
        )
    return folder


def write_maps(path: Path, maps: Sequence[NDArray[np.uint8]]) -> None:
    """Store maps of any size one after the other."""
    cells = np.concatenate([one.ravel() for one in maps]) if maps else np.zeros(0, np.uint8)
    save_file({"cells": cells, "lengths": np.array([len(one) for one in maps], np.int32)}, path)


def read_maps(path: Path) -> list[NDArray[np.uint8]]:
    """The maps that :func:`write_maps` stored."""
    if not path.is_file():
        raise UserError(f"no such file: {path}", hint=SHAPE)
    try:
        stored = load_file(path)
    except SafetensorError as error:
        raise UserError(f"{path} cannot be read: {error}", hint=SHAPE) from error
    if (
        set(stored) != {"cells", "lengths"}
        or stored["cells"].dtype != np.uint8
        or int((stored["lengths"].astype(np.int64) ** 2).sum()) != stored["cells"].size
    ):
        raise UserError(
            f"{path} does not hold packed maps: it must have cells (uint8) and the lengths they "
            "are cut by",
            hint=SHAPE,
        )
    lengths = stored["lengths"].astype(np.int64)
    ends = np.cumsum(lengths**2)
    return [
        stored["cells"][end - length**2 : end].reshape(length, length)
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]


def _text(path: Path) -> Any:
    if not path.is_file():
        raise UserError(f"no such file: {path}", hint=SHAPE)
    return path.open(encoding="utf-8", newline="")
