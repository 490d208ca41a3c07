"""Two folders of results are compared number by number, and nothing is skipped in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from freeze import comparing as number_diff
from freeze.names import Names
from safetensors.numpy import save_file

COMMIT = "abc1234def"


def write_results(
    path: Path, *, dim: str = "row", labels: tuple[str, ...] = ("a", "b"), **changes: Any
) -> Path:
    """Write a results file with a mean, a count and partial sums, as a survey does.

    ``changes`` are values for the first number of a variable, or other variables.
    """
    size = len(labels)
    variables: dict[str, Any] = {
        "mean": (("layer", dim), np.arange(1.0, 2 * size + 1).reshape(2, size) / 3),
        "n": (("layer", dim), np.full((2, size), 7)),
        "sum": (("block", "layer", dim), np.ones((4, 2, size))),
    }
    for name, value in changes.items():
        if name in variables:
            variables[name][1].flat[0] = value
        else:
            variables[name] = value
    entropy = xr.Dataset(variables, {"layer": [1, 2], dim: list(labels)}, {"unit": "nats"})
    provenance = json.dumps({"counts": {"read": 7, "dropped": []}, "created": str(path)})
    root = xr.Dataset(attrs={"provenance": provenance})
    path.parent.mkdir(exist_ok=True)
    xr.DataTree.from_dict({"/": root, "/entropy": entropy}).to_netcdf(path)
    return path


@pytest.fixture
def folders(tmp_path):
    """Two folders with equal numbers."""
    old, new = tmp_path / "old", tmp_path / "new"
    write_results(old / "x.nc")
    write_results(new / "x.nc")
    return old, new


def write_record(folder: Path, **statuses: int) -> None:
    """Write what a run notes about its jobs."""
    jobs = {name.replace("_", "-"): {"status": status} for name, status in statuses.items()}
    (folder / "run.json").write_text(json.dumps({"commit": COMMIT, "jobs": jobs}))


def section(printed: str, title: str) -> list[str]:
    """The lines below a heading of the summary."""
    lines = printed.split(f"\n{title}\n")[1].split("\n\n")[0].splitlines()
    return [line.strip() for line in lines]


def test_equal_numbers_are_bit_equal(folders, capsys):
    assert number_diff.compare(*folders)
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()[:2]]
    assert lines == [["x.nc", "entropy", "bit-equal"], ["x.nc", "provenance", "bit-equal"]]
    # Two layers, two rows: means, counts and the totals of the sums.
    assert "equal bit for bit: 12" in printed


def test_equal_files_are_identical(folders, capsys):
    (folders[1] / "x.nc").write_bytes((folders[0] / "x.nc").read_bytes())
    assert number_diff.compare(*folders)
    assert capsys.readouterr().out.split()[:2] == ["x.nc", "identical"]


def test_a_difference_within_the_tolerance_is_printed_and_passes(folders, capsys):
    write_results(folders[1] / "x.nc", mean=1 / 3 + 1e-13)
    assert number_diff.compare(*folders)
    printed = capsys.readouterr().out
    assert "rounding 1 moved, abs 1.0e-13 rel 3.0e-13" in printed
    title = "Largest differences by measure and statistic (tolerance 1e-12)"
    assert section(printed, title)[0].split()[:5] == ["entropy", "mean", "1", "of", "4"]
    assert not number_diff.compare(*folders, tolerance=1e-14)


@pytest.mark.parametrize(
    ("statistic", "value"), [("mean", np.nan), ("mean", 0.34), ("n", 8), ("sum", 2.0)]
)
def test_a_number_that_moved_or_vanished_fails(folders, statistic, value, capsys):
    write_results(folders[1] / "x.nc", **{statistic: value})
    assert not number_diff.compare(*folders)
    printed = capsys.readouterr().out
    assert "DIFFERS" in section(printed, "Not explained")[0]
    assert "1 a " in section(printed, "Not explained")[0], "layer and row are named"


def test_partial_sums_may_be_cut_in_any_way(tmp_path):
    for folder, blocks in (("old", 4), ("new", 8)):
        sums = np.full((blocks, 3), 8.0 / blocks)
        measure = xr.Dataset({"sum": (("bucket" if blocks == 8 else "block", "head"), sums)})
        (tmp_path / folder).mkdir()
        xr.DataTree.from_dict({"/m": measure}).to_netcdf(tmp_path / folder / "x.nc")
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")


def test_groups_inside_groups_are_compared(tmp_path):
    for folder, value in (("old", 1.0), ("new", 2.0)):
        (tmp_path / folder).mkdir()
        inner = xr.Dataset({"mean": ("head", [value])})
        xr.DataTree.from_dict({"/m/inner": inner}).to_netcdf(tmp_path / folder / "x.nc")
    assert not number_diff.compare(tmp_path / "old", tmp_path / "new")


def test_variables_that_hold_text_are_compared(folders):
    write_results(folders[0] / "x.nc", best=("layer", ["3-9", "2-8"]))
    write_results(folders[1] / "x.nc", best=("layer", ["3-9", "2-7"]))
    assert not number_diff.compare(*folders)


def test_a_lost_label_fails_even_beside_larger_differences(tmp_path, capsys):
    extra = {"deviation": (("layer", "row"), np.ones((2, 2)))}
    write_results(tmp_path / "old" / "x.nc", **extra)
    less = {"deviation": (("layer", "row"), np.ones((2, 1)) + 1e-14)}
    write_results(tmp_path / "new" / "x.nc", labels=("a",), **less)
    assert not number_diff.compare(tmp_path / "old", tmp_path / "new", tolerance=1.0)
    assert "mean is missing: b" in capsys.readouterr().out


def test_what_only_the_new_run_has_is_listed(folders, capsys):
    more = {"high": (("layer", "row"), np.ones((2, 3)))}
    write_results(folders[1] / "x.nc", labels=("a", "b", "c"), **more)
    (folders[1] / "y.csv").write_text("a\n1\n")
    number_diff.compare(*folders)
    added = section(capsys.readouterr().out, "Only in the new run")
    assert "1 × entropy high in *.nc" in added
    assert "1 × entropy mean c in *.nc" in added
    assert "1 × file y.csv" in added


def test_files_that_are_not_compared_are_listed_with_the_reason(folders, capsys):
    for folder in folders:
        (folder / "x.log").write_text(f"{folder}")
    assert number_diff.compare(*folders)
    skipped = section(capsys.readouterr().out, "Not compared")
    assert skipped == ["1 × log file: progress messages"]


def test_a_file_of_an_unknown_kind_fails(folders, capsys):
    for folder in folders:
        (folder / "x.parquet").write_text(f"{folder}")
    assert not number_diff.compare(*folders)
    assert "x.parquet" in section(capsys.readouterr().out, "Not explained")[0]


def test_a_job_that_failed_or_did_not_run_fails(folders, capsys):
    write_record(folders[0], a=0, b=0, c=0)
    write_record(folders[1], a=0, b=1)
    assert not number_diff.compare(*folders)
    bad = section(capsys.readouterr().out, "Not explained")
    assert [line.split()[2:] for line in bad] == [["b", "FAILED"], ["c", "NOT", "RUN"]]


def test_jobs_of_several_commits_in_one_folder_fail(folders, capsys):
    for folder, commits in zip(folders, ("11", "12"), strict=True):
        pairs = zip("ab", commits, strict=True)
        jobs = {name: {"status": 0, "commit": commit} for name, commit in pairs}
        (folder / "run.json").write_text(json.dumps({"commit": COMMIT, "jobs": jobs}))
    assert not number_diff.compare(*folders)
    assert "jobs of several commits: 1, 2" in capsys.readouterr().out


def test_only_the_jobs_that_are_asked_for_are_compared(folders):
    write_results(folders[1] / "x.nc", mean=5.0)
    for folder in folders:
        write_results(folder / "x-more.nc")
        write_record(folder, x=0, x_more=0)
    assert number_diff.compare(*folders, only="x-more")
    assert not number_diff.compare(*folders, only="x")


def test_an_explained_difference_passes_for_the_commit_that_it_names(folders, monkeypatch, capsys):
    write_results(folders[1] / "x.nc", mean=5.0)
    reasons = {"x.nc entropy mean 1 a *": "a bug was fixed"}
    monkeypatch.setattr(number_diff, "EXPLAINED", {COMMIT[:7]: reasons})
    assert not number_diff.compare(*folders), "the folder is not known to be of that commit"
    write_record(folders[0])
    capsys.readouterr()
    assert number_diff.compare(*folders)
    assert section(capsys.readouterr().out, "Expected differences") == ["1 × a bug was fixed"]
    write_results(folders[1] / "x.nc", mean=5.0, n=8)
    assert not number_diff.compare(*folders), "another statistic moved too"


def test_renamed_files_dims_and_labels_are_found(tmp_path, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new"
    write_results(old / "x.nc")
    write_record(old)
    write_results(new / "y.nc", dim="query", labels=("all", "b"))
    names = Names(files={"x.nc": "y.nc"}, dims={"row": "query"})
    monkeypatch.setattr(number_diff, "RENAMED", {COMMIT: names})
    assert not number_diff.compare(old, new), "the label a is missing"
    names = Names(files=names.files, dims=names.dims, labels={"query": {"a": "all"}})
    monkeypatch.setattr(number_diff, "RENAMED", {COMMIT: names})
    assert number_diff.compare(old, new)


def test_a_missing_file_or_measure_fails(folders, monkeypatch):
    write_record(folders[0])
    monkeypatch.setattr(number_diff, "RENAMED", {COMMIT: Names(measures={"entropy": "surprise"})})
    assert not number_diff.compare(*folders)
    monkeypatch.undo()
    (folders[1] / "x.nc").unlink()
    assert not number_diff.compare(*folders)


def test_old_intervals_of_shares_may_cross_the_bounds_that_new_ones_keep(tmp_path):
    def write(folder, low, high, unit="share of attention"):
        bounds = xr.Dataset({"low": ("head", [low]), "high": ("head", [high])})
        (tmp_path / folder).mkdir()
        tree = xr.DataTree.from_dict({"/m": bounds.assign_attrs(unit=unit)})
        tree.to_netcdf(tmp_path / folder / "x.nc")
        return tmp_path / folder

    old = write("old", -0.2, 1.4)
    assert number_diff.compare(old, write("new", 0.0, 1.0))
    assert number_diff.compare(old, write("same", -0.2, 1.4))
    assert not number_diff.compare(old, write("off", 0.1, 1.0))
    nats = write("nats", -0.2, 1.4, unit="nats")
    assert not number_diff.compare(nats, write("clipped nats", 0.0, 1.0, unit="nats"))


def test_rows_of_printed_tables_are_matched_by_their_texts(tmp_path):
    rows = [
        {"head": "1-2", "mean": 0.5, "over": True},
        {"head": "3-4", "mean": None, "over": False},
    ]
    for folder, table in (("old", rows), ("new", rows[::-1]), ("off", [rows[0] | {"mean": 0.6}])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.json").write_text(json.dumps(table))
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")
    assert not number_diff.compare(tmp_path / "old", tmp_path / "off")


def test_csv_tables_and_nested_json_are_compared_without_times(tmp_path):
    for number, (folder, value) in enumerate((("old", 0.5), ("new", 0.5), ("off", 0.6))):
        (tmp_path / folder).mkdir()
        table = f"probe,uas,seconds\nattention,0.5,{number}\n"
        (tmp_path / folder / "probes.csv").write_text(table)
        nested = {"scores": [{"accuracy": value}], "minutes": number}
        (tmp_path / folder / "tune.json").write_text(json.dumps(nested))
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")
    assert not number_diff.compare(tmp_path / "old", tmp_path / "off")


def test_weights_of_tuned_models_are_compared(tmp_path, capsys):
    for folder, value in (("old", 1.0), ("new", 1.0 + 2**-20)):
        (tmp_path / folder / "tuned").mkdir(parents=True)
        weights = {"query": np.array([[value, 2.0]], np.float32)}
        save_file(weights, tmp_path / folder / "tuned" / "model.safetensors")
    assert not number_diff.compare(tmp_path / "old", tmp_path / "new")
    assert "query: #0 #0 1.0 became 1.0000009536743164" in capsys.readouterr().out


def test_folders_named_by_digests_are_matched_by_their_model(tmp_path):
    def write(folder, digest, model, value):
        place = tmp_path / folder / "vectors" / digest
        place.mkdir(parents=True)
        (place / "about.json").write_text(json.dumps({"model": model}))
        save_file({"cls": np.array([value])}, place / "block.safetensors")

    write("old", "0a", "runs/tuned", 1.0)
    write("new", "1b", "demo", 2.0)
    write("new", "2c", "tuned", 1.0)
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")
    write("off", "2c", "tuned", 3.0)
    assert not number_diff.compare(tmp_path / "old", tmp_path / "off")


def test_texts_that_changed_are_listed_if_asked_for(folders, capsys):
    for folder, text in zip(folders, ("a row a head", "one row per head"), strict=True):
        (folder / "about.json").write_text(json.dumps({"caption": text}))
    assert number_diff.compare(*folders, texts=True)
    changed = section(capsys.readouterr().out, "Texts that changed")
    assert changed == ["1 × *.json texts caption: a row a head → one row per head"]
    assert number_diff.compare(*folders)
    assert section(capsys.readouterr().out, "Texts that changed") == ["1 × (--texts lists them)"]


def write_page(folder: Path, row: str, text: str = "24 segments") -> None:
    """Write a page with a table and a sentence."""
    folder.mkdir()
    (folder / "p.html").write_text(
        f"<p>{text}</p><table><thead><tr><th>head</th><th>mean</th><th>minutes</th></tr></thead>"
        f"<tr>{row}</tr></table>"
    )


def test_pages_are_compared_by_their_tables_and_text(tmp_path, capsys):
    write_page(tmp_path / "old", "<td>3-9</td><td>0.389</td><td>0.4</td>")
    write_page(tmp_path / "new", "<td>3-9</td><td>38.9</td><td>2.6</td>")
    assert number_diff.compare(tmp_path / "old", tmp_path / "new")
    printed = capsys.readouterr().out
    assert "1 × column of a page: minutes" in section(printed, "Not compared")
    write_page(tmp_path / "other head", "<td>3-8</td><td>0.389</td><td>0.4</td>")
    write_page(tmp_path / "row", "<td>3-9</td><td>0.388</td><td>0.4</td>")
    write_page(tmp_path / "text", "<td>3-9</td><td>0.389</td><td>0.4</td>", text="23 segments")
    for folder in ("other head", "row", "text"):
        assert not number_diff.compare(tmp_path / "old", tmp_path / folder), folder
