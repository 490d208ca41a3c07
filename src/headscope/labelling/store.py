"""Labels on disk, saved after every decision.

The folder has the form that :func:`headscope.measures.patterns.labels.read_labelled` reads, plus a
list of skipped maps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.files import write_bytes, write_text
from headscope.heads import Head
from headscope.labelling.maps import MapId
from headscope.measures.patterns.labels import (
    CHECK,
    LABELS,
    MAPS,
    Labelled,
    label_rows,
    pack,
    read_checked,
    read_maps,
    read_rows,
    row_check,
    table_text,
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
    damaged
        How many labels were damaged. They are dropped, so that their maps can be labelled again,
        and the damaged files are kept, with names that end in ``.damaged``.

    Raises
    ------
    UserError
        If the folder cannot be written, is a model folder, or holds damaged labels.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._check()
        _drop_unlabelled_map(folder)
        self.damaged = 0
        self.labelled = self._read() if (folder / LABELS).exists() else Labelled((), (), ())
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

    def _read(self) -> Labelled:
        """The labels that are as they were written; the files are kept if some are not."""
        labelled, damaged = read_checked(self.folder)
        if not damaged:
            return labelled
        for name in (MAPS, LABELS):
            path = self.folder / name
            write_bytes(path.with_name(f"{name}.damaged"), path.read_bytes())
        self.damaged = len(damaged)
        kept = labelled.take([at for at in range(len(labelled)) if at not in damaged])
        self._write(kept, maps_first=False)
        return kept

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
                f"labels cannot be kept in {self.folder}: {error.strerror or error}", **OTHER_FOLDER
            ) from None
        if (self.folder / "config.json").exists():
            raise UserError(
                f"labels cannot be kept in {self.folder}: it is a model folder", **OTHER_FOLDER
            )

    def _write(self, labelled: Labelled, *, maps_first: bool) -> None:
        """Replace both files, in an order that never leaves a label without its map."""
        for name in (MAPS, LABELS) if maps_first else (LABELS, MAPS):
            path = self.folder / name
            if not len(labelled):  # a labelled set has at least one map
                path.unlink(missing_ok=True)
            elif name == MAPS:
                write_maps(path, labelled.maps)
            else:
                write_text(path, label_rows(labelled))
        self.labelled = labelled

    def _write_skipped(self) -> None:
        if not self.skipped:  # a list that was cut short is known by its checks
            (self.folder / SKIPPED).unlink(missing_ok=True)
            return
        rows = [map_id.as_row() for map_id in self.skipped]
        checked = [row | {CHECK: row_check(row, len(rows))} for row in rows]
        write_text(self.folder / SKIPPED, table_text(checked, [*COLUMNS, CHECK]))


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
    rows = len(read_rows(folder / LABELS))
    if len(maps) == rows + 1:
        write_maps(folder / MAPS, maps[:rows])


def _has_id(row: Mapping[str, str]) -> bool:
    return set(COLUMNS) <= set(row) and all(
        row[key].isdecimal() and len(row[key]) <= 9 for key in ("layer", "head")
    )


def _map_id(row: Mapping[str, str]) -> MapId:
    head = Head(int(row["layer"]) - 1, int(row["head"]) - 1)
    return MapId(row["model"], row["corpus"], row["example"], head)


def _read_skipped(path: Path) -> list[MapId]:
    if not path.exists():
        return []
    rows = read_rows(path)
    if not rows or any(row.get(CHECK, "") not in ("", row_check(row, len(rows))) for row in rows):
        raise UserError(
            f"{path} is damaged: its rows do not match their checks",
            hint="delete the file to see the skipped maps again",
        )
    try:
        return [_map_id(row) for row in rows]
    except (KeyError, TypeError, ValueError):
        raise UserError(
            f"{path} is not a list of skipped maps: it must have the columns {', '.join(COLUMNS)}",
            hint="delete it to see the skipped maps again",
        ) from None
