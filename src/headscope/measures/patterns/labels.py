"""Labelled sets of attention maps: a folder with ``maps.safetensors`` and ``labels.tsv``. One is
built in, and a user may add others.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from headscope.errors import UserError, unknown
from headscope.files import digest_of, write_bytes, write_text
from headscope.measures.patterns.network import CLASSES

BUILTIN = Path(__file__).parent / "data"
MAPS, LABELS = "maps.safetensors", "labels.tsv"
CHECK = "check"
"""The column with a short digest of each row and its map. Rows without one are not checked."""
MARK = "sha256:"
"""Begins these digests, so that they are known by it even if the name of the column is damaged."""
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
        for map_ in self.maps:
            if map_.ndim != 2 or map_.shape[0] != map_.shape[1] or not map_.size:
                raise UserError(
                    f"a map must be square and not empty, got {map_.shape} instead",
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
        tuple(pack(np.asarray(map_)) for map_ in maps),
        tuple(labels),
        tuple(known) if known is not None else tuple({} for _ in maps),
    )


def read_labelled(folder: str | Path = BUILTIN) -> Labelled:
    """Read a labelled set; without a folder, the built-in one.

    Raises
    ------
    UserError
        If a file is missing or damaged, or they do not belong together.
    """
    folder = Path(folder)
    labelled, damaged = read_checked(folder)
    if damaged:
        raise UserError(
            f"{folder / LABELS} is damaged: row {damaged[0]} or its map does not match its check",
            hint=f"if you changed the row yourself, empty its cell in the column {CHECK}; if not, "
            f"headscope label MODEL CORPUS -o {folder} asks for this label again",
        )
    return labelled


def read_checked(folder: Path) -> tuple[Labelled, list[int]]:
    """Read a labelled set, and the numbers of those of its rows that are damaged."""
    maps = read_maps(folder / MAPS)
    rows = read_rows(folder / LABELS)
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
    damaged = [
        index
        for index, (row, map_) in enumerate(zip(ordered, maps, strict=True))
        if row.get(CHECK) and row[CHECK] != row_check(row, map_)
    ]
    # A damaged label may be no class at all; whoever reads these drops the row in any case.
    wrong = {index for index in damaged if ordered[index]["label"] not in CLASSES}
    labelled = Labelled(
        tuple(maps),
        tuple(CLASSES[0] if index in wrong else row["label"] for index, row in enumerate(ordered)),
        tuple(
            {key: value for key, value in row.items() if key not in {"index", "label", CHECK}}
            for row in ordered
        ),
    )
    return labelled, damaged


def write_labelled(folder: str | Path, labelled: Labelled) -> Path:
    """Write a labelled set into a folder, which is made if need be."""
    folder = Path(folder)
    write_maps(folder / MAPS, labelled.maps)
    write_text(folder / LABELS, label_rows(labelled))
    return folder


def label_rows(labelled: Labelled) -> str:
    """The contents of ``labels.tsv``."""
    columns = list(dict.fromkeys(key for row in labelled.known for key in row))
    rows = [
        {"index": str(index), "label": label, **row}
        for index, (label, row) in enumerate(zip(labelled.labels, labelled.known, strict=True))
    ]
    for row, map_ in zip(rows, labelled.maps, strict=True):
        row[CHECK] = row_check(row, map_)
    return table_text(rows, ["index", "label", *columns, CHECK])


def table_text(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> str:
    """Rows as tab-separated text."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, delimiter="\t", lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a tab-separated file.

    Raises
    ------
    UserError
        If the file is missing, not UTF-8, or a row has too few or too many cells.
    """
    if not path.is_file():
        raise UserError(f"no such file: {path}", hint=SHAPE)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows: list[dict[Any, Any]] = list(csv.DictReader(file, delimiter="\t"))
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path} cannot be read: {error}", hint="restore a copy of it") from None
    for number, row in enumerate(rows):
        if None in row or None in row.values():
            raise UserError(
                f"{path} is damaged: row {number} has too many or too few cells",
                hint="restore a copy of it, or correct the row",
            )
        if any(cell.startswith(MARK) for key, cell in row.items() if key != CHECK):
            raise UserError(
                f"{path} is damaged: its last column must be called {CHECK}",
                hint="restore a copy of it, or correct its first line",
            )
    return rows


def row_check(row: Mapping[str, str], more: NDArray[Any] | int = 0) -> str:
    """A short digest of a row, whatever its number, and of its map.

    Parameters
    ----------
    row
        The cells by column.
    more
        The map that the row belongs to, or the number of rows where there are no maps.

    Examples
    --------
    >>> row_check({"index": "0", "label": "block"}) == row_check({"index": "1", "label": "block"})
    True
    >>> row_check({"label": "block"}) == row_check({"label": "diagonal"})
    False
    """
    cells = sorted(
        (key, value) for key, value in row.items() if value and key not in ("index", CHECK)
    )
    size, data = (str(more), b"") if isinstance(more, int) else (str(more.shape), more.tobytes())
    return MARK + digest_of(*(part for cell in cells for part in cell), size, data)[:16]


def write_maps(path: Path, maps: Sequence[NDArray[np.uint8]]) -> None:
    """Store maps of any size one after the other."""
    cells = np.concatenate([map_.ravel() for map_ in maps]) if maps else np.zeros(0, np.uint8)
    lengths = np.array([len(map_) for map_ in maps], np.int32)
    write_bytes(path, save({"cells": cells, "lengths": lengths}))


def read_maps(path: Path) -> list[NDArray[np.uint8]]:
    """The maps that :func:`write_maps` stored."""
    if not path.is_file():
        raise UserError(f"no such file: {path}", hint=SHAPE)
    try:
        stored = load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} cannot be read: {error}", hint=SHAPE) from error
    if not _are_packed(stored):
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


def _are_packed(stored: Mapping[str, NDArray[Any]]) -> bool:
    """Whether arrays are those of packed maps: the cells of square maps, and their lengths."""
    if set(stored) != {"cells", "lengths"}:
        return False
    cells, lengths = stored["cells"], stored["lengths"]
    if cells.dtype != np.uint8 or lengths.dtype.kind != "i" or lengths.ndim != 1:
        return False
    possible = (lengths >= 0) & (lengths <= cells.size)  # a square cannot overflow then
    return bool(possible.all()) and int((lengths.astype(np.int64) ** 2).sum()) == cells.size
