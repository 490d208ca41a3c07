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


RENAMED: dict[str, Names] = {
    "bae6a15f": Names(labels={"role": {"same word": "word pieces"}}),
}
"""By commit: names that have changed since."""

PROBES = {
    f"jo2020/*.nc {probe} {name} all of it": "a copy of the test scores and sizes, or empty"
    for probe in ("probe", "probe_layer")
    for name in ("mean", "deviation", "n")
}

BLOCKS = {
    "* change *": "cosines are summed in double precision",
    "pande2021/*.html chart-role-shift-* * of dataset 2 *": "small differences of large numbers",
    "pande2021/*.html row * | * | [135]–[246] | *": "small differences of large numbers",
    "pande2021/*.html chart-role-heat-* effect *": "effects of values that hardly vary",
    "pande2021/*.html chart-role-correlations-*": "the role block is drawn once",
}

PANDE = {
    "pande2021/*.html chart-role-*-en_ewt-ud-dev *": "tests and intervals are over documents",
    "pande2021/*.html chart-role-scores-* *": "a head that does not pass the test, if there is one",
    "pande2021/*.html chart-role-shift-* *": "all corpora in one chart",
    "pande2021/*.html row *": "more columns, shares in percent, tests over documents",
    "pande2021/*.html text *": "sections in the paper's order",
}
"""What completing the page of Pande et al. 2021 has changed. The results files are compared too,
and the scores in them have not moved."""

CLARK = {
    "*dependencies*.json table p*": "heads are tested against the offset by documents",
    "clark2019/*.html chart-dependencies *": "p in tooltips is by documents",
    "clark2019/*.html chart-heads-by-* *": "names have other places; dependency heads by documents",
    "clark2019/*.html row *": "tests by documents; intervals decide claims",
    "clark2019/*.html text *": "thresholds that are our choice, undecided claims",
}
"""What tests by documents and claims with intervals have changed. Accuracies have not moved."""

SCHEMA = {"*.nc root * headscope_schema *": "results files have schema 3"}

TOLERANCES = {"4ad51ef": 1e-5, "2eccdea": 1e-5}
"""By commit: the largest relative difference. Attention is summed in blocks of rows since then, in
single precision."""

EXPLAINED: dict[str, dict[str, str]] = {
    "2eccdea": PROBES | BLOCKS | CLARK | PANDE | SCHEMA,
    "4ad51ef": PROBES
    | BLOCKS
    | CLARK
    | PANDE
    | SCHEMA
    | {
        "*.nc provenance numbers settings.keep": "now an option of each measure, in details",
        "jo2020/*.nc provenance numbers counts.bytes *": "files of vectors carry digests",
        "*/index.json json numbers format *": "files of word maps carry digests",
        "*/about.json json numbers format *": "files of vectors carry digests",
        "*/rte-12-heads-*.json json numbers*": "heads are written as 2-5, from 1",
        "*/headscope-*.json json numbers *layer *": "layers count from 1",
        "*.html chart-frames low * became 0.0": "intervals of shares end at 0 and 1",
        "*-export.csv table low * became 0.0": "intervals of shares end at 0 and 1",
        "*-export.csv table high * became 1.0": "intervals of shares end at 0 and 1",
        "demo-asked-patterns.json table low *": "jackknife over buckets of documents",
        "demo-asked-patterns.json table high *": "jackknife over buckets of documents",
        "kovaleva2019/*.html chart-pattern* low *": "jackknife over buckets of documents",
        "kovaleva2019/*.html chart-pattern* high *": "jackknife over buckets of documents",
        "*-report.html row * | – | – | – | – | – | 0": "rows that no head has are not shown",
        "*-report.html row link | noun to pronoun | * … 1.035 *": "intervals of shares end at 1",
        "jo2020/*.html text *Sections 4.2 to 4.4*": "other sections are cited",
        "kovaleva2019/*.html row RTE, *": "jackknife over buckets of documents",
    },
}
"""By commit: patterns of ``FILE PART STATISTIC`` or ``FILE PART STATISTIC LABEL`` to reasons."""


def explained(what: str, reasons: Mapping[str, str]) -> str:
    """The reason why a difference is expected, or nothing."""
    for pattern, reason in reasons.items():
        if fnmatch.fnmatchcase(what, pattern):
            return reason
    return ""
