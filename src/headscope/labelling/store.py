"""One's own labels on disk: a folder as ``headscope.measures.patterns.labels`` reads it, saved after every label, whole at any moment."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.labelling.maps import Corner
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
NAMES = tuple(field.name for field in fields(Corner))


class Store:
    """Labelled maps of a folder, and those that were skipped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._check()
        _mend(folder)
        self.labelled = (
            read_labelled(folder) if (folder / LABELS).exists() else Labelled((), (), ())
        )
        self.skipped = _read_skipped(folder / SKIPPED)

    @property
    def corners(self) -> list[Corner | None]:
        """Where each labelled map comes from, in the order of labelling; None for maps that other hands put there without saying."""
        return [
            _corner(row)
            if set(NAMES) <= set(row) and row["layer"].isdigit() and row["head"].isdigit()
            else None
            for row in self.labelled.known
        ]

    def add(self, corner: Corner, attention: NDArray[np.float32], label: str, second: int) -> None:
        """Keep a label, at once."""
        known = {name: str(value) for name, value in asdict(corner).items()} | {
            "length": str(len(attention)),
            "second": str(second),
        }
        self._write(self.labelled + Labelled((pack(attention),), (label,), (known,)), longer=True)

    def remove(self, corner: Corner) -> None:
        """Take a label back."""
        self._write(
            self.labelled.take(
                [index for index, found in enumerate(self.corners) if found != corner]
            ),
            longer=False,
        )

    def skip(self, corner: Corner) -> None:
        """Remember that a map could not be decided."""
        self.skipped.append(corner)
        self._write_skipped()

    def unskip(self, corner: Corner) -> None:
        """Show it again."""
        self.skipped.remove(corner)
        self._write_skipped()

    def _check(self) -> None:
        """Fail now, before anything is labelled, if labels cannot be kept here."""
        hint = "give another folder with -o"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except (FileExistsError, NotADirectoryError):
            raise UserError(
                f"{self.folder} is not a folder that labels can be kept in: a file is in the way",
                hint=hint,
            ) from None
        except OSError as error:
            raise UserError(
                f"labels cannot be kept in {self.folder}: {error.strerror or error}", hint=hint
            ) from None
        if (self.folder / "config.json").exists():
            raise UserError(f"{self.folder} is a model folder", hint=hint)

    def _write(self, labelled: Labelled, *, longer: bool) -> None:
        """Both files beside the old ones, then in place: maps first if there is one more, labels first if there is one less, so that no label is ever without its map."""
        order = (MAPS, LABELS) if longer else (LABELS, MAPS)
        if len(labelled):
            with tempfile.TemporaryDirectory(dir=self.folder) as beside:
                write_labelled(beside, labelled)
                for name in order:
                    (Path(beside) / name).replace(self.folder / name)
        else:  # a labelled set has at least one map
            for name in order:
                (self.folder / name).unlink(missing_ok=True)
        self.labelled = labelled

    def _write_skipped(self) -> None:
        beside = self.folder / f".{SKIPPED}.tmp"
        with beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, NAMES, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(corner) for corner in self.skipped)
        beside.replace(self.folder / SKIPPED)


def _mend(folder: Path) -> None:
    """A session that was killed between the two files has a map too many."""
    if not (folder / MAPS).exists():
        return
    maps = read_maps(folder / MAPS)
    if not (folder / LABELS).exists():
        if len(maps) > 1:
            raise UserError(
                f"{folder / MAPS} has {len(maps)} maps, but {LABELS} is missing",
                hint=f"put {LABELS} back, or give another folder with -o",
            )
        (folder / MAPS).unlink()
        return
    with (folder / LABELS).open(encoding="utf-8", newline="") as file:
        rows = sum(1 for _ in csv.DictReader(file, delimiter="\t"))
    if len(maps) == rows + 1:
        write_maps(folder / MAPS, maps[:rows])


def _corner(row: Mapping[str, str]) -> Corner:
    return Corner(row["model"], row["corpus"], row["example"], int(row["layer"]), int(row["head"]))


def _read_skipped(path: Path) -> list[Corner]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    try:
        return [_corner(row) for row in rows]
    except (KeyError, TypeError, ValueError):
        raise UserError(
            f"{path} is not a list of skipped maps: it must have the columns {', '.join(NAMES)}",
            hint="delete it, and skipped maps are shown again",
        ) from None
