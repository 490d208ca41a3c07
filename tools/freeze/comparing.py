"""Compare the numbers in two folders of results files, tables, pages and models.

Every file of the old folder is compared with its counterpart, every number in it with the number of
the same name and labels. What is missing, what is new and what was not compared is listed.
``names.py`` knows what has been renamed and which differences are expected.
"""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import xarray as xr

from freeze.names import (
    DIGESTS,
    EXPLAINED,
    NOT_COMPARED,
    RENAMED,
    SHARES,
    TOLERANCES,
    Names,
    explained,
)
from freeze.pages import compare_pages, read_page
from freeze.reading import PACK, READERS, TEXTS, Numbers, read_numbers

Entry = TypeVar("Entry")

# --- Arrays: how far two are apart, and how much of that is rounding ---

ROUNDED = {"deviation", "low", "high"}
"""Statistics that come from the difference of two sums of squares, whose rounding errors are large
where all values are nearly equal."""
P_VALUES = {"p", "p_corrected"}
TOTALS = {"total sum", "total square"}
"""Sums over all examples."""
PACKED = 2.0**-22
"""The step between two numbers in single precision, as the packs of a page hold them."""
RESOLUTION = 2.0**-104
"""The unit in which sums are kept now. Smaller numbers become 0."""


@dataclass(frozen=True)
class Difference:
    """How far two arrays are apart."""

    absolute: float = 0.0
    relative: float = 0.0
    note: str = ""
    """The two numbers with the largest difference and their labels."""
    moved: int = 0
    size: int = 0
    beyond: tuple[str, ...] = ()
    """Where the numbers differ by more than rounding and the tolerance."""
    missing: tuple[str, ...] = ()
    """What only the old side has."""
    added: tuple[str, ...] = ()
    """What only the new side has."""

    @property
    def equal(self) -> bool:
        """Whether all old numbers are there, bit for bit."""
        return not self.moved and not self.missing


def difference(
    old: xr.DataArray,
    new: xr.DataArray,
    rounding: xr.DataArray | None = None,
    tolerance: float = 0.0,
) -> Difference:
    """Compare label by label. A number that only one side has, or NaN on one side, is infinite.

    Differences are relative to the larger of the two numbers. Those of at most ``rounding``, or of
    at most ``tolerance`` times the larger number, are not listed in ``beyond``.

    >>> difference(xr.DataArray([4.0, np.nan]), xr.DataArray([3.0, np.nan])).relative
    0.25
    """
    if set(old.dims) != set(new.dims):
        return Difference(missing=(f"dimensions {old.dims}, now {new.dims}",))
    missing: list[str] = []
    added: list[str] = []
    for dim in old.dims:
        if (dim in old.coords) != (dim in new.coords):
            return Difference(missing=(f"labels of dimension {dim}",))
        if dim in old.coords:
            here, there = old[dim].values.tolist(), new[dim].values.tolist()
            first, second = set(here), set(there)
            known = [label for label in here if label in second]
            missing += [str(label) for label in here if label not in second]
            added += [str(label) for label in there if label not in first]
            old, new = old.sel({dim: known}), new.sel({dim: known})
            rounding = None if rounding is None else rounding.sel({dim: known})
    new = new.transpose(*old.dims)
    if old.shape != new.shape:
        return Difference(missing=(f"shape {old.shape}, now {new.shape}",))
    floor = RESOLUTION if rounding is None else rounding.transpose(*old.dims).values
    gap, ratio = gaps(old.values, new.values)
    moved = gap > 0
    if not moved.any():
        return Difference(0.0, 0.0, "", 0, gap.size, (), tuple(missing), tuple(added))
    beyond = np.argwhere((gap > floor) & (ratio > tolerance))
    worst = np.unravel_index(int(ratio.argmax()), ratio.shape)
    return Difference(
        float(gap.max()),
        float(ratio.max()),
        describe(old, new, worst),
        int(moved.sum()),
        gap.size,
        tuple(describe(old, new, tuple(where)) for where in beyond),
        tuple(missing),
        tuple(added),
    )


def gaps(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Absolute and relative differences of two arrays of one shape; of texts, 0 or infinity."""
    if one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf":
        unequal = np.where(one.astype(str) == other.astype(str), 0.0, np.inf)
        return unequal, unequal
    one, other = one.astype(float), other.astype(float)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.where(same, 0.0, np.abs(one - other))
        ratio = np.where(same, 0.0, gap / np.maximum(np.abs(one), np.abs(other)))
    return np.nan_to_num(gap, nan=np.inf), np.nan_to_num(ratio, nan=np.inf)


def describe(old: xr.DataArray, new: xr.DataArray, where: tuple[int, ...]) -> str:
    """Two numbers and the labels of their place."""
    labels = [
        str(old[dim].values[number]) if dim in old.coords else f"#{number}"
        for dim, number in zip(old.dims, where, strict=True)
    ]
    return f"{' '.join([*labels, ''])}{old.values[where]} became {new.values[where]}"


def rounding_errors(
    numbers: Numbers, measure: str, statistic: str, tolerance: float = 0.0
) -> xr.DataArray | None:
    """How far a total, a deviation, an end of an interval or a p-value may move.

    Each number of a total is rounded to the resolution. The variance is a difference of sums of
    squares, so its error is that of the mean square; the deviation's is that divided by the
    deviation. The factor covers the length of the sums, and the t value of an interval over two
    examples. If the values themselves may differ by a tolerance, deviations may by that times the
    size of the values, and p-values of a z test by that times twice their logarithm.
    """
    if measure.startswith(PACK):
        array = numbers[measure, statistic]
        return PACKED * abs(array.astype(float)) if array.dtype.kind == "f" else None
    smallest = float(np.finfo(float).eps)
    counts = numbers.get((measure, "total count"))
    if statistic in TOTALS and counts is not None:
        return RESOLUTION * counts.astype(float).clip(1.0)
    if statistic.split(" of ")[0] in P_VALUES:
        p = numbers[measure, statistic].astype(float)
        return tolerance * p * (1 - 2 * np.log(p.clip(1e-300, 1.0)))
    if statistic not in ROUNDED:
        return None
    if not {(measure, "mean"), (measure, "deviation")} <= set(numbers):
        return xr.full_like(numbers[measure, statistic], smallest, dtype=float)
    mean, deviation = numbers[measure, "mean"], numbers[measure, "deviation"]
    size = (mean**2 + deviation**2) ** 0.5
    variance_error = smallest * size**2 + RESOLUTION
    rounding = variance_error / np.maximum(deviation, variance_error**0.5)
    return 16 * (rounding + tolerance * size)


# --- Files: what of two runs is compared with what ---


@dataclass
class Report:
    """What a comparison has found so far."""

    tolerance: float = 1e-12
    names: Names = field(default_factory=Names)
    reasons: Mapping[str, str] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)
    largest: dict[tuple[str, str], Difference] = field(default_factory=dict)
    explained: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    reworded: Counter[str] = field(default_factory=Counter)

    def line(self, name: str, part: str, verdict: str, detail: str = "") -> None:
        """Print one line; remember it if the verdict is in capitals."""
        text = f"{name:40} {part:16} {verdict} {detail}".rstrip()
        if verdict.isupper():
            self.bad.append(text)
        print(text, flush=True)

    def unexplained(self, what: str, details: tuple[str, ...]) -> list[str]:
        """Those of the details for which there is no reason. The others are counted."""
        rest = []
        for detail in details:
            reason = explained(f"{what} {detail}", self.reasons) or explained(what, self.reasons)
            if reason:
                self.explained[reason] += 1
            else:
                rest.append(detail)
        return rest

    def widen(self, part: str, statistic: str, found: Difference) -> None:
        """Keep the largest difference of each statistic of each measure."""
        so_far = self.largest.get((part, statistic), Difference())
        self.largest[part, statistic] = Difference(
            max(so_far.absolute, found.absolute),
            max(so_far.relative, found.relative),
            found.note if found.relative > so_far.relative else so_far.note,
            so_far.moved + found.moved,
            so_far.size + found.size,
        )


def compare(
    old: Path,
    new: Path,
    *,
    tolerance: float | None = None,
    only: str = "*",
    texts: bool = False,
) -> bool:
    """Compare every file of two runs and print what was found; true if all is well."""
    records = [read_record(old), read_record(new)]
    base = records[0].get("commit", "")
    if tolerance is None:
        tolerance = of_commit(TOLERANCES, base) or 1e-12
    report = Report(
        tolerance, of_commit(RENAMED, base) or Names(), of_commit(EXPLAINED, base) or {}
    )
    jobs = compare_jobs(*(record.get("jobs", {}) for record in records), only, report)
    matched = set()
    for path in files(old, jobs, only):
        other = counterpart(path, old, new, report.names)
        matched.add(other)
        compare_files(str(path.relative_to(old)), path, other, report)
    for path in files(new, jobs, only):
        name = str(path.relative_to(new))
        if path not in matched and not not_compared(name):
            report.added[f"file {name}"] += 1
    summarize(report, texts)
    return not report.bad


def read_record(folder: Path) -> dict:
    """What a run has noted about itself."""
    path = folder / "run.json"
    return json.loads(path.read_text()) if path.exists() else {}


def of_commit(table: Mapping[str, Entry], commit: str) -> Entry | None:
    """The entry of a commit in a table that abbreviates commits."""
    return next((entry for short, entry in table.items() if commit.startswith(short)), None)


def compare_jobs(old: dict, new: dict, only: str, report: Report) -> list[str]:
    """The names of all jobs. One that failed or that only the old run has is bad."""
    for name, done in old.items():
        if not fnmatch.fnmatch(name, only):
            report.skipped["job not asked for (--only)"] += 1
        elif name not in new:
            report.line(name, "", "NOT RUN")
        elif done["status"] or new[name]["status"]:
            report.line(name, "", "FAILED")
    report.added.update(f"job {name}" for name in new if name not in old)
    for side, jobs in (("old", old), ("new", new)):
        asked = [done for name, done in jobs.items() if fnmatch.fnmatch(name, only)]
        commits = sorted({done["commit"] for done in asked if "commit" in done})
        if len(commits) > 1:
            report.line(
                f"{side} run", "", "MIXED", f"jobs of several commits: {', '.join(commits)}"
            )
    return sorted({*old, *new}, key=len, reverse=True)


def files(folder: Path, jobs: list[str], only: str) -> list[Path]:
    """The files of a run, of the jobs that match a pattern."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        owners = (job for job in jobs if name.startswith((f"{job}.", f"{job}/", f"{job}-figures")))
        if path.is_file() and fnmatch.fnmatch(next(owners, ""), only):
            found.append(path)
    return found


def not_compared(name: str) -> str:
    """Why a file is not compared, or nothing."""
    return next((why for what, why in NOT_COMPARED.items() if fnmatch.fnmatch(name, what)), "")


def counterpart(path: Path, old: Path, new: Path, names: Names) -> Path:
    """Where the new run keeps what is in a file of the old run."""
    name = str(path.relative_to(old))
    same = new / names.files.get(name, name)
    folder = path.parent
    if same.exists() or folder.parent.name not in DIGESTS:
        return same
    for other in sorted((new / folder.parent.relative_to(old)).glob("*")):
        if contents(other) == contents(folder) and (other / path.name).exists():
            return other / path.name
    return same


def contents(folder: Path) -> list[object]:
    """What tells one folder of vectors or word maps from another."""
    abouts = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return [(Path(about.get("model", "")).name, about.get("counts")) for about in abouts]


def compare_files(name: str, old: Path, new: Path, report: Report) -> None:
    """Compare two files, or say why they are not compared."""
    reason = not_compared(name)
    if reason:
        report.skipped[f"{old.suffix[1:]} file: {reason}"] += 1
    elif not new.exists():
        report.line(name, "", "MISSING")
    elif old.read_bytes() == new.read_bytes():
        report.line(name, "", "identical")
    elif old.suffix == ".out":
        report.reworded[f"{name}: {old.read_text()} → {new.read_text()}"] += 1
    elif old.suffix not in READERS:
        report.line(name, "", "NOT COMPARED")
    else:
        compare_numbers(name, renamed(read_numbers(old), report.names), read_numbers(new), report)
        if old.suffix == ".html":
            compare_page(name, old, new, report)


def renamed(numbers: Numbers, names: Names) -> Numbers:
    """Old numbers under their present names."""
    return {
        (names.measures.get(part, part), names.statistics.get(key, key)): names.rename(array)
        for (part, key), array in numbers.items()
    }


def compare_numbers(name: str, old: Numbers, new: Numbers, report: Report) -> None:
    """Compare each part of a file, statistic by statistic."""
    for part in dict.fromkeys(part for part, _ in old):
        if part in TEXTS:
            continue
        differences: dict[str, Difference] = {}
        for statistic in (statistic for other, statistic in old if other == part):
            array = old[part, statistic]
            if (part, statistic) not in new:
                differences[statistic] = Difference(missing=("all of it",))
                continue
            other = new[part, statistic]
            if statistic in ("low", "high") and is_share(name, part, old):
                # The base commit let intervals of shares cross 0 and 1.
                array = array.clip(0.0, 1.0) if other.min() >= 0 and other.max() <= 1 else array
            rounding = rounding_errors(old, part, statistic, report.tolerance)
            differences[statistic] = difference(array, other, rounding, report.tolerance)
        judge(name, part, differences, report)
    compare_texts(name, old, new, report)
    for part, statistic in new:
        if (part, statistic) not in old and part not in TEXTS:
            report.added[f"{part} {statistic} in {shorten(name)}"] += 1


def is_share(name: str, part: str, numbers: Numbers) -> bool:
    """Whether the numbers of a measure or table are shares."""
    attributes = numbers.get(("texts", f"{part} attributes"))
    if attributes is not None and "unit" in attributes["path"]:
        return str(attributes.sel(path="unit").item()).startswith("share")
    return fnmatch.fnmatch(name, SHARES)


def shorten(name: str) -> str:
    """A file's name without the model, so that equal things can be counted.

    >>> shorten("demo-treebank.nc"), shorten("jo2020/probe-demo.nc")
    ('*.nc', 'jo2020/*.nc')
    """
    path = Path(name)
    return str(path.parent / f"*{path.suffix}") if len(path.parts) > 1 else f"*{path.suffix}"


def judge(name: str, part: str, differences: dict[str, Difference], report: Report) -> None:
    """Print one line for a part of a file, with everything that has no reason."""
    verdict, worst, details = "bit-equal", Difference(), []
    for statistic, found in differences.items():
        what = f"{name} {part} {statistic}"
        report.added.update(
            f"{part} {statistic} {label} in {shorten(name)}" for label in found.added
        )
        if part != "provenance":
            report.widen("pack" if part.startswith(PACK) else part, statistic, found)
        if found.equal:
            continue
        beyond = report.unexplained(what, found.beyond)
        missing = report.unexplained(what, found.missing)
        details += [f"{statistic}: {text}" for text in beyond[:3]]
        details += [f"{statistic}: {len(beyond)} in all"] if len(beyond) > 3 else []
        details += [f"{statistic} is missing: {label}" for label in missing[:3]]
        details += [f"{statistic}: {len(missing)} missing" for _ in missing[3:4]]
        if verdict != "explained":
            verdict = "explained" if found.beyond or found.missing else "rounding"
        worst = found if found.relative > worst.relative else worst
    moved = sum(found.moved for found in differences.values())
    size = f"{moved} moved, abs {worst.absolute:.1e} rel {worst.relative:.1e}" if moved else ""
    report.line(name, part, "DIFFERS" if details else verdict, "; ".join([size, *details]))


def compare_texts(name: str, old: Numbers, new: Numbers, report: Report) -> None:
    """Note which texts of a file changed."""
    keys = dict.fromkeys(key for key in [*old, *new] if key[0] in TEXTS)
    for key in keys:
        before, after = ({} if key not in side else words(side, key) for side in (old, new))
        for path in dict.fromkeys([*before, *after]):
            if before.get(path) != after.get(path):
                change = f"{before.get(path, '(none)')} → {after.get(path, '(none)')}"
                report.reworded[f"{shorten(name)} {key[1]} {path}: {change}"] += 1


def words(numbers: Numbers, key: tuple[str, str]) -> dict[str, str]:
    """The texts of a part by their labels, or each once if they have none."""
    array = numbers[key]
    if "path" in array.coords:
        return {str(path): str(text) for path, text in array.to_series().items()}
    return {f"#{number}": text for number, text in enumerate(dict.fromkeys(array.values.tolist()))}


def compare_page(name: str, old: Path, new: Path, report: Report) -> None:
    """Compare the numbers that the tables and the text of two pages show."""
    before, after = read_page(old), read_page(new)
    found = compare_pages(before, after)
    moved = report.unexplained(f"{name} row", tuple(found.moved))
    counts = f"{before.cells} cells in {found.rows} rows, {found.reworded.total()} shown otherwise"
    verdict = "DIFFERS" if moved else "explained" if found.moved else "agree"
    report.line(name, "tables", verdict, "; ".join([counts, *moved]))
    gone = report.unexplained(f"{name} text", tuple(found.prose))
    if gone:
        report.line(name, "text", "DIFFERS", "; ".join(gone))
    report.added.update(f"{name} row {row}" for row in found.added)
    report.reworded.update({f"{name}: {text}": n for text, n in found.reworded.items()})
    for column in before.times:
        report.skipped[f"column of a page: {column}"] += 1
    report.skipped["html file: headings of its tables, and the provenance at its end"] += 1
    if "data-for=" in old.read_text():
        report.skipped["html file: its charts, which no page draws from JSON any more"] += 1


def summarize(report: Report, texts: bool) -> None:
    """Print the largest differences, what is new, what was not compared, and the verdict."""
    print(f"\nLargest differences by measure and statistic (tolerance {report.tolerance:.0e})")
    for (part, statistic), found in sorted(report.largest.items()):
        if found.moved:
            print(
                f"  {part:14} {statistic:16} {found.moved:6} of {found.size:6} "
                f"abs {found.absolute:.1e} rel {found.relative:.1e} ({found.note})"
            )
    same = sum(found.size - found.moved for found in report.largest.values())
    print(f"  all other numbers are equal bit for bit: {same:,}")
    print_list("Expected differences", report.explained)
    print_list("Only in the new run", report.added)
    print_list("Not compared", report.skipped)
    changed = Counter({"(--texts lists them)": report.reworded.total()})
    print_list("Texts that changed", report.reworded if texts else changed)
    print_list("Not explained", Counter(report.bad))


def print_list(title: str, items: Counter[str]) -> None:
    """Print a heading and one line per item with its count."""
    print(f"\n{title}")
    for item, count in items.most_common():
        print(f"  {count} × {item}")
    if not items:
        print("  nothing")
