"""Compare the numbers in two folders of results files, tables and pages.

It reads netCDF files, JSON tables and HTML pages directly and imports nothing of Headscope, so that
it can read what any commit wrote. The tables below map names of the base commit to present names:
extend them when a file, a measure, a statistic, a dimension or a label is renamed.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

FILES: dict[str, str] = {}
"""Files that a job writes, below the output folder."""
MEASURES: dict[str, str] = {}
"""Groups of results files."""
STATISTICS: dict[str, str] = {}
"""Variables of results files, and columns of JSON tables."""
DIMS: dict[str, str] = {}
LABELS: dict[str, dict[str, str]] = {}
"""Labels by dimension (its new name); for JSON tables, by column."""
EXPLAINED: dict[str, str] = {}
"""Differences that the changelog explains: a pattern of ``FILE MEASURE`` to the reason."""

BLOCKED = {"block", "bucket"}
"""Dimensions over which a run keeps partial sums. How a run is cut is free; the totals are not."""
SKIPPED = {"tuned", "vectors", "word-maps"}
"""Folders of models and intermediate files, whose names are digests."""
TIMES = {"seconds"}
"""Columns that differ between any two runs."""
ROUNDED = {"deviation", "low", "high"}
"""Statistics that come from the difference of two sums of squares, whose rounding errors are large
where all values are nearly equal."""
RESOLUTION = 2.0**-104
"""The unit in which sums are kept now. Smaller numbers become 0."""
SHARES = "*-frames.json"
"""Tables whose intervals are of shares."""

Numbers = dict[tuple[str, str], xr.DataArray]
"""The numbers of a file by measure and statistic."""


def read_netcdf(path: Path) -> Numbers:
    """Every numeric variable of a results file but the partial sums, and the counts of the run."""
    found: Numbers = {}
    with xr.open_datatree(path) as tree:
        for name, node in tree.children.items():
            dataset = within_bounds(node.to_dataset().load())
            for statistic, array in dataset.data_vars.items():
                if array.dtype.kind in "biuf" and not BLOCKED & set(map(str, array.dims)):
                    found[name, str(statistic)] = by_id(array)
        counts = json.loads(tree.attrs.get("provenance", "{}")).get("counts", {})
    for key, value in counts.items():
        if isinstance(value, int):
            found["counts", key] = xr.DataArray(value)
    return found


def within_bounds(dataset: xr.Dataset) -> xr.Dataset:
    """Clip the intervals of shares to 0–1. The base commit let them cross these bounds."""
    if str(dataset.attrs.get("unit", "")).startswith("share"):
        bounds = [name for name in ("low", "high") if name in dataset]
        return dataset.assign({name: dataset[name].clip(0.0, 1.0) for name in bounds})
    return dataset


def by_id(array: xr.DataArray) -> xr.DataArray:
    """Kept values of single examples, labelled by the examples' ids where these are unique."""
    if "id" in array.coords and array.indexes.get("example") is not None:
        ids = array["id"].values.astype(str)
        if len(set(ids)) == len(ids):
            return array.assign_coords(example=ids).drop_vars("id")
    return array


def read_table(path: Path) -> Numbers:
    """The numeric columns of a JSON or CSV table, its rows labelled by the text columns."""
    if path.suffix == ".csv":
        frame = pd.read_csv(path)
    else:
        rows = json.loads(path.read_text() or "[]")
        frame = pd.DataFrame(rows if isinstance(rows, list) else [])
    frame = frame.drop(columns=list(TIMES & set(frame)))
    if fnmatch.fnmatch(path.name, SHARES):
        frame[["low", "high"]] = frame[["low", "high"]].clip(0.0, 1.0)
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    texts = frame.drop(columns=numeric).astype(str)
    for column, labels in LABELS.items():
        if column in texts:
            texts[column] = texts[column].replace(labels)
    labels = [" | ".join(sorted(row)) for row in texts.itertuples(index=False)]
    if len(set(labels)) < len(labels):
        labels = [f"{label} #{number}" for number, label in enumerate(labels)]
    return {
        ("table", str(name)): xr.DataArray(
            frame[name].to_numpy(float), dims="row", coords={"row": labels}
        )
        for name in numeric
    }


def read_page(path: Path) -> Counter[str]:
    """The numbers in the cells of a page's tables."""
    cells = re.findall(r"<td[^>]*>(.*?)</td>", path.read_text(), flags=re.DOTALL)
    texts = (re.sub(r"<[^>]+>", "", cell).strip() for cell in cells)
    return Counter(text for text in texts if re.search(r"\d", text))


def rename(array: xr.DataArray) -> xr.DataArray:
    """An array of the base commit with present dimensions and labels."""
    array = array.rename({dim: DIMS[str(dim)] for dim in array.dims if str(dim) in DIMS})
    for dim, names in LABELS.items():
        if dim in array.coords:
            labels = [names.get(str(label), label) for label in array[dim].values]
            array = array.assign_coords({dim: labels})
    return array


@dataclass(frozen=True)
class Difference:
    """How far two arrays are apart."""

    equal: bool
    absolute: float = 0.0
    relative: float = 0.0
    note: str = ""


def difference(
    old: xr.DataArray, new: xr.DataArray, rounding: xr.DataArray | None = None
) -> Difference:
    """Compare label by label. A number that only one side has, or NaN on one side, is infinite.

    Differences are relative to the larger of the two numbers. Those of at most ``rounding`` are
    counted in ``absolute``, but not in ``relative``.

    >>> difference(xr.DataArray([4.0, np.nan]), xr.DataArray([3.0, np.nan])).relative
    0.25
    """
    if set(old.dims) != set(new.dims):
        return Difference(False, np.inf, np.inf, f"dims {old.dims} became {new.dims}")
    lost = []
    for dim in old.dims:
        if dim in old.coords and dim in new.coords:
            known = [label for label in old[dim].values if label in set(new[dim].values)]
            lost += [f"{dim} {label}" for label in old[dim].values if label not in set(known)]
            old, new = old.sel({dim: known}), new.sel({dim: known})
            rounding = None if rounding is None else rounding.sel({dim: known})
    new = new.transpose(*old.dims)
    if old.shape != new.shape:
        return Difference(False, np.inf, np.inf, f"shape {old.shape} became {new.shape}")
    one, other = old.values.astype(float), new.values.astype(float)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    if same.all():
        return Difference(not lost, note=f"missing: {', '.join(lost)}" if lost else "")
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(same, 0.0, np.abs(one - other))
        size = np.maximum(np.abs(one), np.abs(other))
        floor = RESOLUTION if rounding is None else rounding.transpose(*old.dims).values
        ratio = np.where(same | (gap <= floor), 0.0, gap / size)
    gap, ratio = np.nan_to_num(gap, nan=np.inf), np.nan_to_num(ratio, nan=np.inf)
    where = np.unravel_index(int(ratio.argmax()), ratio.shape)
    note = f"{(~same).sum()} of {same.size}; {one[where]!r} became {other[where]!r}"
    if lost:
        note += f"; missing: {', '.join(lost)}"
    return Difference(False, float(gap.max()), float(ratio.max()), note)


def compare(old: Path, new: Path, *, tolerance: float = 1e-9) -> bool:
    """Compare every file of two runs. Print one line per file and measure; true if all is well."""
    good = True
    for path in sorted(old.rglob("*")):
        name = str(path.relative_to(old))
        if path.suffix not in (".nc", ".json", ".csv", ".html") or name == "run.json":
            continue
        if name.startswith(("cache/", "glue/")) or SKIPPED & set(path.parts):
            continue
        other = new / FILES.get(name, name)
        if not other.exists():
            print(f"{name:40} MISSING")
            good = False
        elif path.suffix == ".html":
            compare_pages(name, read_page(path), read_page(other))
        else:
            read = read_netcdf if path.suffix == ".nc" else read_table
            good &= compare_numbers(name, read(path), read(other), tolerance)
    return good


def compare_numbers(name: str, old: Numbers, new: Numbers, tolerance: float) -> bool:
    """Print a line for each measure of a file: the statistic that is furthest from what it was."""
    good = True
    for measure in dict.fromkeys(measure for measure, _ in old):
        worst, statistics = Difference(True), []
        for statistic in (statistic for other, statistic in old if other == measure):
            key = MEASURES.get(measure, measure), STATISTICS.get(statistic, statistic)
            if key not in new:
                found = Difference(False, np.inf, np.inf, "missing")
            else:
                rounding = rounding_errors(old, measure, statistic)
                found = difference(rename(old[measure, statistic]), new[key], rounding)
            if not found.equal:
                statistics.append(statistic)
            if (found.relative, not found.equal) > (worst.relative, not worst.equal):
                worst = Difference(
                    False, found.absolute, found.relative, f"{statistic}: {found.note}"
                )
        reason = explained(f"{name} {measure}")
        bad = (worst.relative > tolerance or "missing" in worst.note) and not reason
        good &= not bad
        shown = "bit-equal" if worst.equal else f"abs {worst.absolute:.1e} rel {worst.relative:.1e}"
        mark = "DIFFERS " if bad else "explained " if reason and not worst.equal else ""
        detail = "" if worst.equal else f"{', '.join(statistics)}; {worst.note} {reason}"
        print(f"{name:40} {measure:16} {mark}{shown} {detail}".rstrip())
    return good


def rounding_errors(numbers: Numbers, measure: str, statistic: str) -> xr.DataArray | None:
    """How far rounding of the sums may move a deviation or an end of an interval.

    The variance is a difference of sums of squares, so its error is that of the mean square; the
    deviation's is that divided by the deviation. The factor covers the length of the sums, and the
    t value of an interval over two examples.
    """
    if statistic not in ROUNDED:
        return None
    smallest = float(np.finfo(float).eps)
    if not {(measure, "mean"), (measure, "deviation")} <= set(numbers):
        return rename(xr.full_like(numbers[measure, statistic], smallest, dtype=float))
    mean, deviation = numbers[measure, "mean"], numbers[measure, "deviation"]
    variance_error = smallest * (mean**2 + deviation**2) + RESOLUTION
    return rename(16 * variance_error / np.maximum(deviation, variance_error**0.5))


def compare_pages(name: str, old: Counter[str], new: Counter[str]) -> None:
    """Print which numbers of a page's tables are gone. For reading: cells may be reworded."""
    gone = old - new
    shown = ", ".join(list(gone)[:12])
    print(
        f"{name:40} {'page':16} {gone.total()} of {old.total()} cells are gone or changed: {shown}"
    )


def explained(what: str) -> str:
    """The reason why a difference is expected, or nothing."""
    for pattern, reason in EXPLAINED.items():
        if fnmatch.fnmatch(what, pattern):
            return f"[{reason}]"
    return ""
