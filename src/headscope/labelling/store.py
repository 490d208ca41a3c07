"""Labels on disk, saved after every decision.

The folder has the form that :func:`headscope.measures.patterns.labels.read_labelled` reads, plus a
list of skipped maps.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.files import atomic_write
from headscope.heads import Head
from headscope.labelling.maps import MapId
from headscope.measures.patterns.labels import (
    LABELS,
    MAPS,
    Labelled,
    pack,
    read_labelled,
    read_maps,
    write_labelled,
    write_maps,
)

SKIPPED = "skipped.tsv"
COLUMNS = ("model", "corpus", "example", "layer", "head")
OTHER_FOLDER = {"hint": "choose another folder", "command": "choose another folder with -o"}


class LabelStore:
    """A folder of labelled maps and a list of skipped ones.

    Parameters
    ----------
    folder
        The folder, created if it does not exist. Labels that are there already are read.

    Attributes
    ----------
    labelled
        The labelled maps, in the order of labelling.
    skipped
        The maps that were skipped.

    Raises
    ------
    UserError
        If the folder cannot be written, is a model folder, or holds damaged labels.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._check()
        _drop_unlabelled_map(folder)
        has_labels = (folder / LABELS).exists()
        self.labelled = read_labelled(folder) if has_labels else Labelled((), (), ())
        self.skipped = _read_skipped(folder / SKIPPED)

    @property
    def map_ids(self) -> list[MapId | None]:
        """The identity of each labelled map; None for maps added by hand without one."""
        return [_map_id(row) if _has_id(row) else None for row in self.labelled.known]

    def add(self, map_id: MapId, attention: NDArray[np.float32], label: str, second: int) -> None:
        """Save the label of a map.

        Parameters
        ----------
        map_id
            Which map it is.
        attention
            Its weights, (query, key).
        label
            Its class.
        second
            The index of the first token of the second text; 0 if there is none.
        """
        row = map_id.as_row() | {"length": str(len(attention)), "second": str(second)}
        added = Labelled((pack(attention),), (label,), (row,))
        self._write(self.labelled + added, maps_first=True)

    def remove(self, map_id: MapId) -> None:
        """Delete the label of a map."""
        kept = [index for index, found in enumerate(self.map_ids) if found != map_id]
        self._write(self.labelled.take(kept), maps_first=False)

    def skip(self, map_id: MapId) -> None:
        """Save that a map was skipped."""
        self.skipped.append(map_id)
        self._write_skipped()

    def unskip(self, map_id: MapId) -> None:
        """Delete a map from the list of skipped ones."""
        self.skipped.remove(map_id)
        self._write_skipped()

    def _check(self) -> None:
        """Fail before anything is labelled if labels cannot be kept here."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except (FileExistsError, NotADirectoryError):
            raise UserError(
                f"labels cannot be kept in {self.folder}: a file of that name exists",
                **OTHER_FOLDER,
            ) from None
        except OSError as error:
            raise UserError(
                f"labels cannot be kept in {self.folder}: {error.strerror or error}",
                **OTHER_FOLDER,
            ) from None
        if (self.folder / "config.json").exists():
            raise UserError(
                f"labels cannot be kept in {self.folder}: it is a model folder", **OTHER_FOLDER
            )

    def _write(self, labelled: Labelled, *, maps_first: bool) -> None:
        """Replace both files, in an order that never leaves a label without its map."""
        order = (MAPS, LABELS) if maps_first else (LABELS, MAPS)
        if len(labelled):
            with tempfile.TemporaryDirectory(dir=self.folder) as beside:
                write_labelled(beside, labelled)
                for name in order:
                    with atomic_write(self.folder / name) as temporary:
                        (Path(beside) / name).replace(temporary)
        else:  # a labelled set has at least one map
            for name in order:
                (self.folder / name).unlink(missing_ok=True)
        self.labelled = labelled

    def _write_skipped(self) -> None:
        with (
            atomic_write(self.folder / SKIPPED) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(map_id.as_row() for map_id in self.skipped)


def _drop_unlabelled_map(folder: Path) -> None:
    """Drop the last map if the session was killed before its label was written."""
    if not (folder / MAPS).exists():
        return
    maps = read_maps(folder / MAPS)
    if not (folder / LABELS).exists():
        if len(maps) > 1:
            raise UserError(
                f"{folder / MAPS} has {len(maps)} maps, but {LABELS} is missing",
                hint=f"restore {LABELS}, or choose another folder",
                command=f"restore {LABELS}, or choose another folder with -o",
            )
        (folder / MAPS).unlink()
        return
    with (folder / LABELS).open(encoding="utf-8", newline="") as file:
        rows = sum(1 for _ in csv.DictReader(file, delimiter="\t"))
    if len(maps) == rows + 1:
        with atomic_write(folder / MAPS) as temporary:
            write_maps(temporary, maps[:rows])


def _has_id(row: Mapping[str, str]) -> bool:
    return set(COLUMNS) <= set(row) and row["layer"].isdigit() and row["head"].isdigit()


def _map_id(row: Mapping[str, str]) -> MapId:
    head = Head(int(row["layer"]) - 1, int(row["head"]) - 1)
    return MapId(row["model"], row["corpus"], row["example"], head)


def _read_skipped(path: Path) -> list[MapId]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    try:
        return [_map_id(row) for row in rows]
    except (KeyError, TypeError, ValueError):
        raise UserError(
            f"{path} is not a list of skipped maps: it must have the columns {', '.join(COLUMNS)}",
            hint="delete it to see the skipped maps again",
        ) from None
