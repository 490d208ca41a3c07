"""Two folders of results are compared number by number, through tables of renamed things."""

from __future__ import annotations

import json
from pathlib import Path

import number_diff
import numpy as np
import pytest
import xarray as xr


def write_results(path: Path, *, dim: str = "row", labels: tuple[str, ...] = ("a", "b")) -> Path:
    """Write a results file with a mean, a count and partial sums, as a survey does."""
    size = len(labels)
    entropy = xr.Dataset(
        {
            "mean": (("layer", dim), np.arange(1.0, 2 * size + 1).reshape(2, size) / 3),
            "n": (("layer", dim), np.full((2, size), 7)),
            "sum": (("block", "layer", dim), np.ones((4, 2, size))),
        },
        {"layer": [1, 2], dim: list(labels)},
    )
    provenance = json.dumps({"counts": {"read": 7, "dropped": []}})
    root = xr.Dataset(attrs={"provenance": provenance})
    path.parent.mkdir(exist_ok=True)
    xr.DataTree.from_dict({"/": root, "/entropy": entropy}).to_netcdf(path)
    return path


def change(path: Path, statistic: str, value: float) -> None:
    """Set the first number of a statistic in a results file."""
    tree = xr.load_datatree(path)
    array = tree["entropy"][statistic]
    array.values[0, 0] = value
    tree["entropy"][statistic] = array
    path.unlink()
    tree.to_netcdf(path)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal folders."""
    old, new = tmp_path / "old", tmp_path / "new"
    write_results(old / "x.nc")
    write_results(new / "x.nc")
    return old, new


def test_equal_files_are_bit_equal(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert number_diff.compare(*folders)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["x.nc", "entropy", "bit-equal"],
        ["x.nc", "counts", "bit-equal"],
    ]


def test_a_difference_within_the_tolerance_is_printed_and_passes(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    change(folders[1] / "x.nc", "mean", 1 / 3 + 1e-12)
    assert number_diff.compare(*folders)
    assert "abs 1.0e-12 rel 3.0e-12 mean" in capsys.readouterr().out
    assert not number_diff.compare(*folders, tolerance=1e-13)


@pytest.mark.parametrize(("statistic", "value"), [("mean", np.nan), ("mean", 0.34), ("n", 8)])
def test_a_number_that_moved_or_vanished_fails(
    folders: tuple[Path, Path], statistic: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folders[1] / "x.nc", statistic, value)
    assert not number_diff.compare(*folders)
    assert "DIFFERS" in capsys.readouterr().out


def test_an_explained_difference_passes_with_its_reason(
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(folders[1] / "x.nc", "mean", 5.0)
    monkeypatch.setattr(number_diff, "EXPLAINED", {"x.nc ent*": "a bug was fixed"})
    assert number_diff.compare(*folders)
    assert "[a bug was fixed]" in capsys.readouterr().out


def test_renamed_files_dims_and_labels_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write_results(old / "x.nc")
    write_results(new / "y.nc", dim="query", labels=("all", "b"))
    monkeypatch.setattr(number_diff, "FILES", {"x.nc": "y.nc"})
    monkeypatch.setattr(number_diff, "DIMS", {"row": "query"})
    assert not number_diff.compare(old, new), "the label a is missing"
    monkeypatch.setattr(number_diff, "LABELS", {"query": {"a": "all"}})
    assert number_diff.compare(old, new)


def test_labels_are_matched_whatever_their_order(tmp_path: Path) -> None:
    old = xr.DataArray([1.0, 2.0], dims="row", coords={"row": ["a", "b"]})
    new = xr.DataArray([2.0, 9.0, 1.0], dims="row", coords={"row": ["b", "c", "a"]})
    assert number_diff.difference(old, new).equal
    assert number_diff.difference(new, old).note == "missing: row c"


def test_a_deviation_may_move_as_far_as_the_rounding_of_its_sums() -> None:
    def numbers(deviation: float) -> number_diff.Numbers:
        values = {"mean": 0.5, "deviation": deviation}
        return {("m", name): xr.DataArray([value]) for name, value in values.items()}

    bound = number_diff.rounding_errors(numbers(1e-6), "m", "deviation")
    assert bound is not None
    # Sums of squares near 0.25 are exact to about 1e-16, so the deviation to 1e-16 / 1e-6.
    assert 1e-11 < bound.item() < 1e-8
    moved = xr.DataArray([1e-6 + bound.item() / 2]), xr.DataArray([1e-6 + 2 * bound.item()])
    assert number_diff.difference(xr.DataArray([1e-6]), moved[0], bound).relative == 0.0
    assert number_diff.difference(xr.DataArray([1e-6]), moved[1], bound).relative > 1e-9


def test_the_rounding_of_a_sum_of_squares_stays_below_the_bound() -> None:
    values = 0.5 + 1e-6 * np.random.default_rng(0).standard_normal(60)
    total, square = values.sum(), (values**2).sum()
    from_sums = np.sqrt((square - total**2 / 60) / 59)
    statistics = {"mean": values.mean(), "deviation": values.std(ddof=1)}
    found = {("m", name): xr.DataArray(value) for name, value in statistics.items()}
    bound = number_diff.rounding_errors(found, "m", "deviation")
    assert bound is not None
    assert 0 < abs(from_sums - statistics["deviation"]) < bound.item()


def test_intervals_of_shares_are_compared_within_their_bounds() -> None:
    bounds = {"low": [-0.2, 0.1], "high": [0.3, 1.4], "mean": [-0.5, 2.0]}
    made = xr.Dataset({name: ("head", values) for name, values in bounds.items()})
    share = number_diff.within_bounds(made.assign_attrs(unit="share of attention"))
    assert share["low"].values.tolist() == [0.0, 0.1]
    assert share["high"].values.tolist() == [0.3, 1.0]
    assert share["mean"].values.tolist() == [-0.5, 2.0]
    assert number_diff.within_bounds(made.assign_attrs(unit="nats")).equals(made)


def test_a_missing_file_or_measure_fails(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(number_diff, "MEASURES", {"entropy": "surprise"})
    assert not number_diff.compare(*folders)
    monkeypatch.undo()
    (folders[1] / "x.nc").unlink()
    assert not number_diff.compare(*folders)


def test_rows_of_printed_tables_are_matched_by_their_texts(tmp_path: Path) -> None:
    rows = [
        {"head": "1-2", "mean": 0.5, "over": True},
        {"head": "3-4", "mean": None, "over": False},
    ]
    for folder, table in (("old", rows), ("new", rows[::-1]), ("off", [rows[0] | {"mean": 0.6}])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.json").write_text(json.dumps(table))
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")
    assert not number_diff.compare(tmp_path / "old", tmp_path / "off")


def test_csv_tables_are_compared(tmp_path: Path) -> None:
    for folder, value in (("old", 0.5), ("new", 0.5), ("off", 0.6)):
        (tmp_path / folder).mkdir()
        table = f"probe,uas,seconds\nattention,{value},{hash(folder)}\n"
        (tmp_path / folder / "probes.csv").write_text(table)
        (tmp_path / folder / "settings.json").write_text(f'{{"seed": {value}}}')
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")
    assert not number_diff.compare(tmp_path / "old", tmp_path / "off")


def test_pages_are_compared_by_the_numbers_in_their_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, cell in (("old", "0.25"), ("new", "0.26")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.html").write_text(f"<td>Words</td><td><b>{cell}</b></td><td>7</td>")
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")
    assert "1 of 2 cells are gone or changed: 0.25" in capsys.readouterr().out
