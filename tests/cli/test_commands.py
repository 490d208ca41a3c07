"""Every command, from a model and a corpus to results, report, figures and tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import headscope as hs
from cli.conftest import MEASURES, TEXT
from headscope.cli import look


def test_a_survey_of_the_embedded_model_finds_its_previous_token_head(demo_nc):
    found = hs.open(demo_nc)
    # Known of this model: layer 1, head 3 is near 1.00 on the previous token.
    assert found.mean("position").sel(layer=1, head=3, offset="previous") > 0.97
    assert found["position"].sizes["layer"] == 6
    assert found["position"].sizes["head"] == 12
    assert not demo_nc.with_name("demo.nc.partial").exists()


def test_results_are_named_after_model_and_corpus_unless_told(run, here, tiny_folder, text):
    done = run("survey", tiny_folder, text, "--max-length", "32")
    assert Path(done.out.splitlines()[-1]).name == f"{tiny_folder.name}-corpus.nc"
    assert Path(done.out.splitlines()[-1]).is_file()


def test_the_options_of_a_survey_are_kept_in_its_results(run, tmp_path, tiny_folder, text):
    options = "--limit 1 --seed 7 --batch-size 3 --max-length 32 --long drop --device cpu"
    line = ("survey", tiny_folder, text, "-o", tmp_path / "x.nc", options, "--measure entropy")
    assert run(*line).code == 0
    about = hs.open(tmp_path / "x.nc").provenance
    expected = {"limit": 1, "seed": 7, "batch_size": 3, "max_length": 32, "long": "drop"}
    assert about["settings"].items() >= (expected | {"stack": "encoder"}).items()
    assert about["measures"] == ["entropy"]
    assert about["counts"]["seen"] == 1


def test_the_corpus_options_reach_the_reader(run, tmp_path, tiny_folder):
    table = tmp_path / "table.data"
    table.write_text("id\tleft\tright\n1\tthe cat\tthe dog\n2\ta cat\ta dog\n")
    how = "--read.format tsv --columns left,right --max-length 32 -o"
    assert run("survey", tiny_folder, table, how, tmp_path / "x.nc").code == 0
    about = hs.open(tmp_path / "x.nc").provenance
    assert (about["corpus"]["format"], about["counts"]["seen"]) == ("tsv", 2)


def test_single_takes_paragraphs_one_by_one(run, tmp_path, tiny_folder, text):
    line = ("survey", tiny_folder, text, "--single --max-length 32 -o", tmp_path / "x.nc")
    assert run(*line).code == 0
    assert hs.open(tmp_path / "x.nc").provenance["counts"]["seen"] == 4


def test_two_shards_merge_to_the_whole(run, tmp_path, tiny_folder, text):
    text.write_text("\n\n".join([TEXT] * 3))  # twelve paragraphs: units of 8 and of 4
    common = ["survey", tiny_folder, text, *MEASURES, "--single --batch-size 1 --max-length 32 -o"]
    assert run(*common, tmp_path / "whole.nc").code == 0
    parts = [tmp_path / "part1.nc", tmp_path / "part2.nc"]
    for number, part in enumerate(parts, 1):
        assert run(*common, part, "--survey.shard", f"{number}/2").code == 0
        assert hs.open(part).provenance["counts"]["seen"] == 12 - 4 * number
    done = run("merge", *parts, "-o", tmp_path / "merged.nc", "--json")
    assert done.code == 0
    assert len(json.loads(done.out)) == 15
    whole, merged = hs.open(tmp_path / "whole.nc"), hs.open(tmp_path / "merged.nc")
    for measure in whole:
        xr.testing.assert_identical(whole[measure], merged[measure])
    assert merged.provenance["shards"] == ["1/1"]
    assert merged.provenance["counts"] == whole.provenance["counts"]


def test_a_stopped_survey_goes_on_where_it_was(run, tmp_path, tiny_folder, text, monkeypatch):
    from headscope.runs.forward import Pass

    common = ["survey", tiny_folder, text, *MEASURES, "--single --batch-size 1 --max-length 32"]
    assert run(*common, "-o", tmp_path / "whole.nc").code == 0
    batches = []

    def stop_at_third(self: Pass, batch: object) -> object:
        batches.append(batch)
        if len(batches) == 3:
            raise KeyboardInterrupt
        return ran(self, batch)

    ran = Pass.run
    output = tmp_path / "x.nc"
    with monkeypatch.context() as patch:
        patch.setattr(Pass, "run", stop_at_third)
        stopped = run(*common, "-o", output)
    assert stopped.code == 130
    assert stopped.told == [
        f"error: stopped after 2 examples; the state is kept in {output}.partial",
        "next:  type the same command again to resume",
    ]
    assert not output.exists()
    done = run(*common, "-o", output)
    assert (done.code, f"resuming from {output}.partial" in done.err) == (0, True)
    whole, resumed = hs.open(tmp_path / "whole.nc"), hs.open(output)
    for measure in whole:
        xr.testing.assert_identical(whole[measure], resumed[measure])


def test_the_report_stands_beside_the_results_unless_told(run, tmp_path, small_nc):
    assert run("report", small_nc).out == f"{tmp_path / 'small.html'}\n"
    assert (tmp_path / "small.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    page = tmp_path / "new" / "page.html"
    assert run("report", small_nc, "-o", page).out == f"{page}\n"
    assert page.is_file()


def test_a_large_report_hints_at_a_folder(run, small_nc, monkeypatch):
    said = "MB in one file: --folder loads heads when they are opened"
    assert said not in run("report", small_nc).err
    monkeypatch.setattr("headscope.cli.files.LARGE", 1000)
    assert said in run("report", small_nc).err


def test_ls_shows_measures_model_corpus_and_settings(run, demo_nc):
    done = run("ls", demo_nc)
    assert done.code == 0
    for measure in ("position", "special", "entropy"):
        assert measure in done.out
    for line in ("layers 6", "heads 12", "limit 6", "torch", "1/1"):
        assert line in done.err


def test_ls_as_json_lists_what_each_measure_has(run, made_nc):
    rows = json.loads(run("ls", made_nc, "--json").out)
    assert [row["measure"] for row in rows] == ["position", "special", "entropy"]
    assert rows[0] == {
        "measure": "position",
        "title": "Title of position",
        "unit": "share of attention",
        "labels": "offset: previous, current, next",
        "examples": 8,
        "source": "Source of position",
    }


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export_writes_one_row_a_head_and_statistic(run, tmp_path, made_nc, ending):
    path = tmp_path / f"table.{ending}"
    assert run("export", made_nc, "-o", path).out == f"{path}\n"
    table = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert len(table) == 2 * 3 * (3 + 9 + 3)
    row = table.query("measure == 'special' and label == 'sep, other' and layer == 2 and head == 1")
    expected = hs.open(made_nc).mean("special").sel(token="sep", row="other", layer=2, head=1)
    assert row["mean"].item() == pytest.approx(float(expected), rel=1e-12)


def test_export_takes_one_measure(run, tmp_path, made_nc):
    run("export", made_nc, "-o", tmp_path / "x.csv", "--measure", "entropy")
    assert set(pd.read_csv(tmp_path / "x.csv")["measure"]) == {"entropy"}


@pytest.mark.parametrize(
    ("ending", "magic"),
    [
        ("png", b"\x89PNG\r\n\x1a\n"),
        ("svg", b"<svg"),
        ("pdf", b"%PDF-"),
        ("html", b"<!DOCTYPE html>"),
    ],
)
def test_figures_come_in_every_format(run, tmp_path, made_nc, ending, magic):
    how = ("--format", ending, "--figure entropy --figure heat-cls --json")
    done = run("figures", made_nc, "-o", tmp_path / "figures", *how)
    files = [Path(row["file"]) for row in json.loads(done.out)]
    assert [file.name for file in files] == [f"entropy.{ending}", f"heat-cls.{ending}"]
    for file in files:
        assert file.read_bytes().lstrip().startswith(magic)


def test_all_figures_are_drawn_unless_some_are_named(run, tmp_path, made_nc):
    done = run("figures", made_nc, "-o", tmp_path / "all", "--format", "svg", "--json")
    names = {row["figure"] for row in json.loads(done.out)}
    assert names >= {"position", "special", "from-sep", "entropy", "heat-previous", "heat-cls"}
    assert {file.name for file in (tmp_path / "all").iterdir()} == {f"{name}.svg" for name in names}


def test_the_demo_writes_results_and_a_report(run, tmp_path):
    done = run("demo", "--limit", "1", "-o", tmp_path / "demo", "--json")
    assert done.code == 0
    counts = {row["measure"]: row["n"] for row in json.loads(done.out)}
    assert counts["position"] == counts["entropy"] == 1
    assert sorted(file.name for file in (tmp_path / "demo").iterdir()) == ["demo.html", "demo.nc"]
    assert str(tmp_path / "demo" / "demo.html") in done.err


def test_the_demo_says_how_to_find_its_commands_outside_the_path(tmp_path, monkeypatch):
    script = tmp_path / ".venv" / "bin" / "activate"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setenv("PATH", str(tmp_path))
    told = "to use the commands below, type first: source .venv/bin/activate\n"
    assert look._activation() == told
    command = tmp_path / "headscope"
    command.touch(mode=0o755)
    assert look._activation() == ""


def test_plain_text_without_trees_is_told_once_what_parsing_would_add(run, here, tiny_folder, text):
    line = ("survey", tiny_folder, text, "--max-length", "32", "-o", "x.nc", "--overwrite")
    assert run(*line).err.count("--parse would add") == 1
    assert "--parse would add" not in run(*line, "--measure", "entropy").err
