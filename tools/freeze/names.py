"""Names of an earlier commit and what became of them, and differences that are expected.

Extend ``RENAMED`` when a file, a measure, a statistic, a dimension or a label is renamed, and
``EXPLAINED`` when a difference is meant, with a line in the changelog. Both are used only for runs
of the commit that they name, so that what explains one difference hides no other.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field

import xarray as xr

NOT_COMPARED = {
    "*.log": "progress messages",
    "*.png": "pictures, drawn from numbers that are compared",
    "*.svg": "pictures, drawn from numbers that are compared",
    "glue/*": "input of the jobs",
    "cache/*": "input of the jobs",
    "run.json": "the record of the run",
}
"""Files that are not compared, and why. Any other file must be of a kind that can be read."""
DIGESTS = {"word-maps", "vectors"}
"""Folders whose subfolders are named by digests of settings. They are matched by their contents."""
SHARES = "*-frames.json"
"""Tables whose intervals are of shares."""


@dataclass(frozen=True)
class Names:
    """Old names to present names."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Files that a job writes, below the output folder."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """Groups of results files."""
    statistics: Mapping[str, str] = field(default_factory=dict)
    """Variables of results files, and columns of tables."""
    dims: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels by dimension (its new name); rows of tables have the dimension ``row``."""

    def rename(self, array: xr.DataArray) -> xr.DataArray:
        """An old array with present dimensions and labels."""
        array = array.rename({dim: self.dims[str(dim)] for dim in array.dims if dim in self.dims})
        for dim, names in self.labels.items():
            if dim in array.coords:
                labels = [names.get(str(label), label) for label in array[dim].values]
                array = array.assign_coords({dim: labels})
        return array


RENAMED: dict[str, Names] = {}
"""By commit: names that have changed since."""
TOLERANCES: dict[str, float] = {}
"""By commit: the largest relative difference, where it is not that of rounding alone."""
EXPLAINED: dict[str, dict[str, str]] = {}
"""By commit: patterns of ``FILE PART STATISTIC`` or ``FILE PART STATISTIC LABEL`` to reasons."""


def explained(what: str, reasons: Mapping[str, str]) -> str:
    """The reason why a difference is expected, or nothing."""
    for pattern, reason in reasons.items():
        if fnmatch.fnmatchcase(what, pattern):
            return reason
    return ""
