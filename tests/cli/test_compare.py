"""``headscope compare``: two models, two results files, what cannot be compared; frame links."""

from __future__ import annotations

import json

import numpy as np
import pytest

import headscope as hs
from stats.sampled import random_values, sampled

FEATURES = ("--measure", "feature", "--measure", "link")


@pytest.fixture(scope="module")
def other_folder(tmp_path_factory):
    """The tiny model with other weights."""
    from tiny import tiny_network, tiny_tokenizer

    folder = tmp_path_factory.mktemp("other")
    tiny_network("bert", seed=5).save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


def test_two_models_are_compared_layer_by_layer(run, tmp_path, tiny_folder, other_folder, text):
    how = ("--max-length 32 --json -o", tmp_path / "c.nc")
    done = run("compare", tiny_folder, other_folder, text, *how)
    assert done.code == 0
    rows = json.loads(done.out)
    found = hs.open(tmp_path / "c.nc")["change"]["mean"]
    assert [row["layer"] for row in rows] == [1, 2]
    assert [row["cosine"] for row in rows] == pytest.approx(found.mean("head").values.tolist())
    assert rows[0]["examples"] == 2
    assert done.err.splitlines()[-2:] == [
        f"next: headscope figures {tmp_path / 'c.nc'}, headscope report {tmp_path / 'c.nc'}",
        str(tmp_path / "c.nc"),
    ]


def test_the_options_reach_the_run_and_the_file_is_named_after_both(
    run, here, tiny_folder, other_folder, text
):
    options = "--single --limit 3 --seed 4 --batch-size 1 --max-length 32 --long drop --quiet"
    done = run("compare", tiny_folder, other_folder, text, options)
    assert (done.code, done.out) == (0, f"{tiny_folder.name}-{other_folder.name}-corpus.nc\n")
    about = hs.open(here / done.out.strip()).provenance
    expected = {"max_length": 32, "long": "drop", "batch_size": 1, "limit": 3, "seed": 4}
    assert about["settings"].items() >= expected.items()
    assert about["counts"]["seen"] == 3


def test_features_adds_paired_differences(run, tmp_path, tiny_folder, other_folder):
    how = (*FEATURES, "--limit 4 --max-length 60 --json -o", tmp_path / "c.nc")
    done = run("compare", tiny_folder, other_folder, "demo", *how)
    assert done.code == 0
    assert {row["measure"] for row in json.loads(done.out)[2:]} == {"feature", "link"}
    assert hs.open(tmp_path / "c.nc").measures == ("change", "feature-change", "link-change")


def test_two_results_files_are_compared_by_their_means(run, tmp_path):
    before, after = (random_values("feature", seed=seed) for seed in (1, 2))
    one, other = (
        sampled({"feature": values}).save(tmp_path / f"{name}.nc")
        for name, values in (("one", before), ("other", after))
    )
    done = run("compare", one, other, "--json")
    assert done.code == 0
    rows = json.loads(done.out)
    assert [row["mean change"] for row in rows] == pytest.approx(
        (after.mean(0) - before.mean(0)).mean((0, 1)).tolist()
    )
    assert done.err.startswith("Both runs saw the same examples, but results keep only sums")
    elsewhere = sampled({"feature": after})
    corpus = {"corpus": {"name": "x", "format": "text", "sha256": "1" * 64}}
    elsewhere = elsewhere.described(elsewhere.provenance | corpus).save(tmp_path / "elsewhere.nc")
    assert run("compare", one, elsewhere).err.startswith("The two runs saw different examples")


def test_statistics_that_one_file_does_not_know_are_not_printed(run, tmp_path):
    values = random_values("feature", seed=1)
    unknown = values.copy()
    unknown[..., 0] = np.nan  # attention to nouns, on texts without any
    one, other = (
        sampled({"feature": some}).save(tmp_path / f"{name}.nc")
        for name, some in (("one", values), ("other", unknown))
    )
    assert [row["heads"] == 0 for row in json.loads(run("compare", one, other, "--json").out)][
        :2
    ] == [True, False]
    printed = run("compare", one, other).out
    assert "to a noun" not in printed
    assert "to a verb" in printed


@pytest.mark.parametrize("order", [("results.nc", "demo"), ("demo", "results.nc")])
def test_a_model_and_a_results_file_are_refused(run, order):
    done = run("compare", *order)
    assert (done.code, done.out) == (2, "")
    assert done.told == [
        f"error: a model and a results file cannot be compared: {order[0]} and {order[1]}",
        "next:  give two models, or survey the model and give two results files",
    ]


def test_options_for_reading_a_corpus_are_refused_for_two_results_files(run):
    done = run("compare", "one.nc", "other.nc", "--single")
    assert (done.code, done.out) == (2, "")
    assert done.told == [
        "error: two results are compared without a corpus: --single has no effect",
        "next:  leave --single out",
    ]


def test_models_that_cannot_be_compared_are_told_in_two_lines(
    run, tmp_path, tiny_folder, causal_folder, text
):
    how = ("--max-length 32 --quiet -o", tmp_path / "c.nc")
    done = run("compare", tiny_folder, causal_folder, text, *how)
    assert done.code == 2
    assert (
        done.told[0]
        == f"error: {tiny_folder} has the stack 'encoder', {causal_folder} only decoder: their "
        "heads cannot be compared"
    )
    assert not (tmp_path / "c.nc").exists()


def test_features_without_a_tree_are_refused(run, tmp_path, tiny_folder, other_folder, text):
    how = (*FEATURES, "--max-length 32 -o", tmp_path / "c.nc")
    done = run("compare", tiny_folder, other_folder, text, *how)
    assert done.code == 2
    assert done.told[0].startswith("error: the measure 'feature' needs tags, tree, which ")


def test_frames_shows_the_heads_that_stand_out(run, tmp_path):
    values = random_values("frame", layers=3, heads=4)
    path = sampled({"frame": values}).save(tmp_path / "f.nc")
    rows = json.loads(
        run("table", path, "frames", "--percentile", "80", "--top", "4", "--json").out
    )
    means = values.mean(0)[..., 0]
    assert [row["mean"] for row in rows] == pytest.approx(
        np.sort(means, axis=None)[::-1][:4].tolist()
    )
    assert [row["over"] for row in rows] == [
        bool(row["mean"] > np.percentile(means, 80)) for row in rows
    ]


def test_frames_of_results_without_them_are_refused(run, tmp_path):
    done = run(
        "table", sampled({"change": random_values("change")}).save(tmp_path / "f.nc"), "frames"
    )
    assert done.code == 2
    assert "has no table 'frames': it holds no 'frame'" in done.told[0]
