"""Results files in five years: a file of each version is kept, and plain xarray can read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headscope.errors import ResultsError
from headscope.results import SCHEMA, Atlas, netcdf
from headscope.results.netcdf import migrate, oldest

DATA = Path(__file__).parents[1] / "data"
KEPT = {int(path.stem.removeprefix("results-")): path for path in DATA.glob("results-*.nc")}
PLAIN = """
import sys
sys.modules["headscope"] = None  # importing it would fail
import json
import xarray as xr

tree = xr.open_datatree(sys.argv[1])
assert int(tree.attrs["headscope_schema"]) >= 3
about = json.loads(tree.attrs["provenance"])
assert about["model"]["name"] == "demo", about
assert (about["model"]["layers"], about["model"]["heads"]) == (6, 12)
position = tree["position"].to_dataset()
assert position["mean"].dims == ("layer", "head", "offset")
assert position["mean"].sel(layer=1, head=3, offset="previous") > 0.999
assert position.attrs["kind"] == "mean"
sums = position["sum"].sum("bucket") / position["count"].sum("bucket")
assert abs(sums - position["mean"]).max() < 1e-12
for name in ("low", "high", "deviation", "n"):
    assert name in position
texts = bytes(tree["examples"]["texts"].values).decode("utf-8")
assert "dog" in texts and "cat" in texts
print(sorted(tree.children))
"""


def test_a_file_of_todays_version_is_kept():
    assert SCHEMA in KEPT, f"make tests/data/results-{SCHEMA}.nc, and a step in netcdf.STEPS"
    assert KEPT[SCHEMA].stat().st_size < 300_000


@pytest.mark.parametrize("version", sorted(KEPT))
def test_files_of_all_versions_open_to_the_same_numbers(version):
    atlas = Atlas.open(KEPT[version])
    assert atlas.tree.attrs["headscope_schema"] == SCHEMA
    previous = atlas.mean("position").sel(layer=1, head=3, offset="previous")
    assert float(previous) == pytest.approx(0.9999261796474457, abs=1e-12)
    assert atlas.shape == (6, 12)
    assert len(atlas.table("entropy")) == 6 * 12 * 3
    assert atlas.kept.texts[0].tokens[:3] == ("[CLS]", "The", "dog")


@pytest.mark.parametrize("version", sorted(KEPT))
def test_plain_xarray_reads_a_results_file_without_headscope(version):
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, KEPT[version]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "position" in done.stdout


def _older(tmp_path: Path) -> Path:
    """A file of a made-up older version, in which the position measure had another name."""
    with xr.open_datatree(KEPT[SCHEMA]) as opened:
        tree = opened.load()
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    groups["offsets"] = groups.pop("position").rename(offset="place")
    root = xr.Dataset(attrs={**tree.attrs, "headscope_schema": np.int64(SCHEMA - 2)})
    named = {f"/{name}": group for name, group in groups.items()}
    made = xr.DataTree.from_dict({"/": root, **named})
    return netcdf.write_tree(made, tmp_path / "old.nc")


def _first(tree: xr.DataTree) -> xr.DataTree:
    groups = {f"/{name}": node.to_dataset() for name, node in tree.children.items()}
    groups["/position"] = groups.pop("/offsets")
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=tree.attrs), **groups})


def _second(tree: xr.DataTree) -> xr.DataTree:
    groups = {f"/{name}": node.to_dataset() for name, node in tree.children.items()}
    groups["/position"] = groups["/position"].rename(place="offset")
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=tree.attrs), **groups})


def test_an_older_file_is_brought_up_to_date_step_by_step(tmp_path, monkeypatch):
    path = _older(tmp_path)
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=rf"an older version of Headscope \(schema {SCHEMA - 2}"):
        Atlas.open(path)
    monkeypatch.setattr(netcdf, "STEPS", {SCHEMA - 2: _first, SCHEMA - 1: _second})
    atlas = Atlas.open(path)
    now = Atlas.open(KEPT[SCHEMA])
    assert set(atlas.measures) == set(now.measures)
    assert atlas["position"].identical(now["position"])
    assert atlas.tree.attrs["headscope_schema"] == SCHEMA
    assert path.read_bytes() == before


def test_a_missing_step_makes_older_files_unreadable_and_the_error_names_the_range(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(netcdf, "STEPS", {SCHEMA - 1: _second})
    assert oldest(SCHEMA) == SCHEMA - 1
    with pytest.raises(ResultsError, match=rf"reads schema {SCHEMA - 1} to {SCHEMA}\)"):
        Atlas.open(_older(tmp_path))


def test_results_of_this_version_are_not_changed():
    tree = Atlas.open(KEPT[SCHEMA]).tree
    assert migrate(tree, SCHEMA) is tree
