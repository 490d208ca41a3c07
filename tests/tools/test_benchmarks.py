"""Benchmarks: their arithmetic, their tables in the docs, and what they say when a tool fails."""

import doctest
import json
import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.alternatives.__main__ import PAIRS, compare, difference, do
from benchmarks.alternatives.environments import HERE, Environment, make_environment
from benchmarks.alternatives.jobs.made_heads import HELD, TEST, TRAIN, make
from benchmarks.alternatives.jobs.maps_numpy import one_example
from benchmarks.growth import PICTURE, POINTS, VALUES, draw
from benchmarks.recipes.jobs import JOBS
from benchmarks.recipes.page import PAGE, filled, read_rows
from benchmarks.recipes.scale import SCALED, need, seconds_at_scale

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["__main__", "timing", "recipes.scale", "recipes.page"])
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(import_module(f"benchmarks.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_page_on_clusters_shows_what_was_recorded():
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, read_rows()) == page


def test_every_job_that_the_page_needs_was_recorded_once():
    names = [row["name"] for row in read_rows()]
    assert names == [name for name in JOBS if name in names]
    assert {*SCALED, "wide", "gradient-1", "tuning"} <= set(names)


def test_a_large_run_is_computed_as_the_page_says():
    measured = {"bare": 0.2, "wide": 0.5, "comparison": 0.5, "distance": 0.3, "ablation": 10.0}
    # A forward pass: 16 times two layers. Heads: 1024 / 144.
    assert seconds_at_scale("bare", measured) == pytest.approx(8.0)
    assert seconds_at_scale("comparison", measured) == pytest.approx(16 + 0.1 * 64 / 9)
    assert seconds_at_scale("distance", measured) == pytest.approx(8 + 0.1 * (64 / 9) ** 2)
    assert seconds_at_scale("ablation", measured) == pytest.approx(50 * 8 * 64 / 9)
    # 782 units of 128 sequences: 98 rounds for 8 workers, 13 for 64.
    one, eight, many = need("bare", measured).hours
    assert one == pytest.approx(782 * 128 * 8 / 3600)
    assert eight == pytest.approx(98 * 128 * 8 / 3600)
    assert many == pytest.approx(13 * 128 * 8 / 3600)


def test_the_figure_of_growth_has_a_panel_for_time_and_memory_of_each_kind():
    points = json.loads(POINTS.read_text(encoding="utf-8"))["rows"]
    measured = {kind: [one["value"] for one in points if one["kind"] == kind] for kind in VALUES}
    for kind, values in measured.items():
        assert len(values) >= 2
        assert set(values) <= set(VALUES[kind])
    assert all(one["ratio"] > 0.5 and one["memory"] >= 0 for one in points)
    spec = draw(points).to_dict()
    panels = [panel for row in spec["vconcat"] for panel in row["hconcat"]]
    assert len(panels) == 2 * len(VALUES)
    assert PICTURE.read_bytes().startswith(b"\x89PNG")


def test_loops_over_maps_compute_the_four_statistics():
    # [CLS] looks at itself, the word evenly at [CLS] and itself, [SEP] evenly at all three.
    maps = np.array([[[[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]]])
    found = one_example(maps, np.array([False, False, True]))
    previous, start, separator = (1 / 2 + 1 / 3) / 2, (1 + 1 / 2 + 1 / 3) / 3, 1 / 9
    entropy = (0 + math.log(2) + math.log(3)) / 3
    assert found[0, 0].tolist() == pytest.approx([previous, start, separator, entropy])


def test_made_heads_are_standardised_and_the_last_tells_the_classes_apart():
    data = make()
    train, held, test = data.parts(-1)
    assert [len(y) for _, y in (train, held, test)] == [TRAIN, HELD, TEST]
    assert np.abs(data.x[:, :TRAIN].mean(1)).max() < 1e-4
    # The nearest class mean finds the class with the last head, and hardly with the first.
    for head, low, high in ((0, 0.4, 0.6), (-1, 0.7, 1.0)):
        (x, y), _, (unseen, classes) = data.parts(head)
        means = np.stack([x[y == one].mean(0) for one in (0, 1)])
        nearest = ((unseen[:, None] - means) ** 2).sum(-1).argmin(1)
        assert low < (nearest == classes).mean() < high


def test_a_tool_that_fails_says_why(tmp_path):
    assert "No module named" in do("no_such_job", HERE, tmp_path)["reason"]
    reason = "x cannot be installed: no index"
    assert do("maps_numpy", Environment(None, reason), tmp_path) == {"reason": reason}


def test_a_row_of_a_tool_that_fails_has_the_reason(tmp_path, monkeypatch):
    def missing(folder, packages):
        return Environment(None, f"{packages[-1]} is not on the index")

    def done(job, environment, folder):
        return {"reason": environment.reason} if environment.python is None else {"seconds": 1.0}

    monkeypatch.setattr("benchmarks.alternatives.__main__.make_environment", missing)
    monkeypatch.setattr("benchmarks.alternatives.__main__.do", done)
    row = compare(PAIRS["transformer-lens"], tmp_path)
    assert row["against"] == "TransformerLens: cache, head detector"
    assert row["failed"] == "detector_transformer_lens: transformer-lens is not on the index"


def test_the_largest_difference_is_over_all_arrays(tmp_path):
    np.savez(tmp_path / "one.npz", a=np.array([1.0, 2.0]), b=np.array([0.0]))
    np.savez(tmp_path / "two.npz", a=np.array([1.0, 2.5]), b=np.array([0.25]))
    assert difference(tmp_path, "one", "two") == 0.5


@pytest.mark.slow
def test_a_package_that_cannot_be_installed_leaves_no_environment(tmp_path):
    found = make_environment(tmp_path / "tool", ("--no-index no-such-package-here",))
    assert found.python is None
    assert "no-such-package-here" in found.reason
    assert not (tmp_path / "tool").exists()


def test_every_bench_target_of_the_makefile_names_a_module_that_exists():
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    modules = [line.split("-m ")[1].split()[0] for line in lines if "-m benchmarks" in line]
    assert len(modules) == 5
    for module in modules:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
