"""``headscope track`` and ``headscope survey --null`` from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import headscope as hs
from cli.conftest import MEASURES
from headscope.stats import emergence, null_table
from planted_track import TEXTS, save_checkpoints

SHORT = ("--max-length", "24", "--lines", "--examples", "0")
ROLES = [f"--measure={name}" for name in ("activity", "work", "spread")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return save_checkpoints(tmp_path_factory.mktemp("training"))


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    return path


def test_checkpoints_are_surveyed_and_roles_listed_by_when_they_appear(
    run, tmp_path, folders, lines
):
    output = tmp_path / "track.nc"
    done = run("track", *folders, lines, "-o", output, *ROLES, *SHORT)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == str(output)
    rows = [line.split() for line in done.out.splitlines() if line.startswith("│")]
    assert ["│", "1-1", "│", "previous", "│", "checkpoint-20", "│", "20"] in [
        row[:8] for row in rows
    ]
    table = emergence(hs.open(output))
    again = run("track", folders[0].parent, lines, "-o", output, "--json", *ROLES, *SHORT)
    assert [row["head"] for row in json.loads(again.out)] == table["head"].tolist()
    drawn = run("figures", output, "--figure", "emergence", "--format", "svg", "-o", tmp_path)
    assert drawn.code == 0
    assert "step" in (tmp_path / "emergence.svg").read_text()


def test_a_value_and_its_threshold(run, tmp_path, folders, lines):
    options = ("-o", tmp_path / "x.nc", "--measure", "position", *SHORT)
    by = ("--by", "position:previous")
    done = run("track", *folders, lines, *options, *by, "--threshold", "0.5", "--json")
    assert [(row["head"], row["checkpoint"]) for row in json.loads(done.out)] == [
        ("1-1", "checkpoint-20")
    ]
    missing = run("track", *folders, lines, *options, *by)
    assert missing.code == 2
    assert missing.told[1] == "next:  e.g. --by position:previous with --threshold 0.5"
    plain = run("track", *folders, lines, *options)
    assert "no main roles: they need the measures activity, work and spread" in plain.err


MINE = """
from headscope.measures import Groups, Linear, mass_weights

class Own(Linear):
    name, title, unit, source = "own", "Own text", "share of attention", "a test"
    dims = {"text": ("same",)}

    def weights(self, item):
        return [mass_weights(Groups(item.segment))]
"""


def test_measures_of_a_file_roles_and_maps_are_those_of_a_survey_of_the_last_checkpoint(
    run, tmp_path, folders, lines
):
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    options = ("--measure", "role", "--measure", "entropy", "--measure-file", mine, *SHORT)
    options = (*options, "--roles.only", "next-local", "--roles.keep", "7", "--maps", "both")
    tracked, plain = tmp_path / "track.nc", tmp_path / "survey.nc"
    done = run("track", *folders, lines, "-o", tracked, *options)
    assert done.code == 0, done.err
    assert run("survey", folders[-1], lines, "-o", plain, *options).code == 0
    atlas, survey = hs.open(tracked), hs.open(plain)
    assert atlas.measures == survey.measures
    assert {"role", "own", "norm_entropy"} <= set(atlas.measures)
    assert atlas["role"]["role"].values.tolist() == ["next-local"]
    for name in survey.measures:
        np.testing.assert_allclose(atlas.mean(name), survey.mean(name), rtol=1e-6)
    assert atlas.track["own"].sizes["checkpoint"] == len(folders)


def test_default_measures_are_kept_where_only_roles_are_configured(run, tmp_path, folders, lines):
    output = tmp_path / "x.nc"
    few = ("--roles.keep", "9", "--limit", "2", *SHORT)
    done = run("track", *folders[-2:], lines, "-o", output, *few)
    assert done.code == 0, done.err
    assert {"position", "entropy", "role", "work"} <= set(hs.open(output).measures)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (["ONE"], [], "error: a track needs two checkpoints or more, got 1 instead"),
        (["ONE", "./nowhere"], [], "error: there is no folder ./nowhere"),
        (["ONE"], ["--revisions", "a,b"], "is a folder, which has no revisions: they belong to"),
        (["gpt2"], ["--revisions", "a"], "error: a track needs two revisions or more"),
        (["gpt2"], ["--revisions", "a,b"], "error: the revision 'a' of gpt2 cannot be read"),
        (
            ["ONE", "TWO"],
            ["--maps", "norms"],
            "error: the kind of maps must be one of attention, both, norm",
        ),
        (["ONE", "TWO"], ["--measure-file", "no.py"], "no.py"),
        (["ONE", "TWO"], ["--measure", "entropie"], "did you mean 'entropy'?"),
        (["ONE", "TWO"], ["--dtype", "bf16"], "error: the dtype must be one of"),
        (["ONE", "TINY"], [], "error: the checkpoints have different shapes: checkpoint-0 (bert, "),
    ],
)
def test_mistakes_are_told_before_anything_is_run(
    run, tmp_path, folders, tiny_folder, lines, models, options, message
):
    known = {"ONE": str(folders[0]), "TWO": str(folders[1]), "TINY": str(tiny_folder)}
    given = [known.get(model, model) for model in models]
    done = run("track", *given, lines, "-o", tmp_path / "x.nc", *options, *SHORT)
    assert done.code == 2
    assert message in done.told[0]
    assert "Traceback" not in done.err
    assert not (tmp_path / "x.nc").exists()


def test_null_models_are_shown_after_a_survey_and_by_heads(run, tmp_path, tiny_folder, text):
    output = tmp_path / "x.nc"
    null = ("--null", "random-weights", "--null", "shuffled-words")
    done = run("survey", tiny_folder, text, "-o", output, "--max-length", "32", *MEASURES, *null)
    assert done.code == 0, done.err
    assert "beside" in done.out
    assert {"random weights", "shuffled words"} <= {
        line.split("│")[1].strip() for line in done.out.splitlines() if line.count("│") > 2
    }
    assert f"headscope table {output} nulls" in done.err
    listed = run("heads", output, "--nulls", "--json")
    assert len(json.loads(listed.out)) == len(null_table(hs.open(output)))
    beside = run("heads", output, "--by", "entropy", "--json")
    assert "shuffled-words low" in json.loads(beside.out)[0]


def test_null_models_that_are_not_there_are_told(run, tmp_path, small_nc, tiny_folder, text):
    without = run("heads", small_nc, "--nulls")
    assert without.told == [
        "error: these results have no null models to compare with",
        "next:  survey again: headscope survey MODEL CORPUS --null random-weights",
    ]
    both = run("heads", small_nc, "--nulls", "--by", "entropy")
    assert both.code == 2
    unknown = run("survey", tiny_folder, text, "--null", "random", "-o", tmp_path / "x.nc")
    assert "the null model must be one of" in unknown.told[0]
