"""The recipe of Jo and Myaeng 2020 on a tiny model: all parts, and no work done twice."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from cli.test_mistakes import mistake
from cli.test_probe import glue, senteval  # noqa: F401 (fixtures)
from headscope.papers import recipe as base
from headscope.papers.jo2020 import Jo2020
from headscope.results import Atlas
from headscope.runs.probe import probe
from headscope.tasks import find_task
from page.samples import rows_of, said, section_ids


@pytest.mark.slow
def test_the_whole_paper_from_the_command_line(
    run, tiny_folder, senteval, glue, tmp_path, monkeypatch
):
    # Two penalties instead of five: where the penalty is weak, random vectors take long.
    fewer = partial(probe, l2=(0.01, 0.1))
    monkeypatch.setattr("headscope.papers.jo2020.probe", fewer)
    folder, name = tmp_path / "jo", tiny_folder.name
    how = "--seeds 1 --epochs 1 --learning-rate 0.01 --max-length 32 -n 2 -o"
    given = ("--model", tiny_folder, "--tasks", senteval, "--downstream mrpc --data", glue)
    asked = ("paper", "jo2020", *given, how, folder)
    done = run(*asked)
    assert (done.code, done.out) == (0, f"{folder / 'jo2020.html'}\n"), done.err
    page = said(folder / "jo2020.html")
    assert "Skipped" not in page
    for section in ("tasks", f"heads-{name}", "maps", "scatter", f"frozen-{name}-mrpc", "tuning"):
        assert section in section_ids(folder / "jo2020.html"), section
    plots = [f"{plot}-{name}" for plot in ("top-n", "probe-selectivity")]
    plots += [f"{plot}-{name}-mrpc" for plot in ("top-n", "probe")]
    for plot in (*plots, "heads-sorted", "heads-unsorted", "scatter", "before-after"):
        assert (folder / "figures" / f"{plot}.png").read_bytes().startswith(b"\x89PNG"), plot

    rows = rows_of(folder / "jo2020.html")
    assert "The paper has no table for an encoder of this family and shape." in page
    assert not any("top-2 heads: paper" in row for row in rows)
    depth = next(row for row in rows if row and row[0] == "Depth" and "(" in row[2])
    results = Atlas.open(folder / f"probe-{name}.nc")
    top = results["probe_top"]["test"].sel(task="tree_depth", way="top", n=2)
    assert any(cell.startswith(f"{100 * float(top):.1f} (") for cell in depth)
    assert any("top-2 heads" in row for row in rows)

    frozen = Atlas.open(folder / f"probe-{name}-mrpc.nc")
    best = frozen["probe_top"]["rank"].sel(task="mrpc", way="top").values[:2]
    validation = frozen["probe_layer"]["validation"].sel(task="mrpc")
    layer = int(validation["layer"][int(validation.argmax("layer"))])
    expected = {"mrpc-last", f"mrpc-layer{layer}", f"mrpc-heads-{'_'.join(best)}"}
    assert {path.name for path in (folder / "tuned").iterdir()} >= expected
    after = Atlas.open(folder / f"probe-{name}-mrpc-top-heads.nc")
    assert after.provenance["model"]["weights"] != frozen.provenance["model"]["weights"]

    files = [
        path for end in (".nc", ".safetensors", "tune.json") for path in folder.rglob(f"*{end}")
    ]
    kept = {path: path.stat().st_mtime_ns for path in files}
    assert len(kept) >= 4 + 4 + 3
    monkeypatch.setattr(base, "save_in_formats", lambda _chart, paths: paths)
    assert run(*asked, "--quiet").code == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_mistakes_are_refused_before_anything_is_made(run, tmp_path):
    for options, error in {
        "--downstream mrcp": "Did you mean 'mrpc'?",
        "--seeds -1": "the number of seeds must be 0 or more, got -1 instead",
        "--solver adam --task Length": "the solver must be one of exact, rmsprop",
    }.items():
        assert error in mistake(run("paper", "jo2020", options, "-o", tmp_path / "x"))[0]
    assert not (tmp_path / "x").exists()
    for name in ("one", "two"):
        (tmp_path / name / "model").mkdir(parents=True)
        (tmp_path / name / "model" / "config.json").write_text("{}")
    both = (tmp_path / "one" / "model", tmp_path / "two" / "model")
    asked = ("paper", "jo2020", "--model", both[0], "--model", both[1], "--task", "Length")
    assert mistake(run(*asked, "-o", tmp_path / "y")) == (
        f"{both[0]} and {both[1]} have the same short name, model, and would share their files",
        "rename a folder, or run them into two output folders",
    )


@pytest.mark.parametrize("tasks", [{}, {"tasks": ["grammar"]}, {"tasks": [Path("grammar")]}])
def test_the_page_says_that_a_grammar_wrote_the_sentences_however_that_was_given(tasks):
    [remark] = Jo2020("demo", downstream=[], **tasks).remarks()
    assert remark.startswith("The sentences of the probing tasks come from the built-in grammar")
    assert not Jo2020("demo", downstream=[], tasks=["senteval"]).remarks()


def test_tasks_of_the_grammar_are_tuned_for_one_epoch_and_others_as_in_the_paper():
    recipe, other = Jo2020("demo"), Jo2020("demo", epochs=2, learning_rate=0.5)
    mrpc, opinion = find_task("mrpc"), find_task("opinion")
    assert recipe.training_of(mrpc) == {"epochs": 3, "learning_rate": 2e-5}
    assert recipe.training_of(opinion) == {"epochs": 1, "learning_rate": 1e-4}
    assert other.training_of(opinion) == {"epochs": 2, "learning_rate": 0.5}
