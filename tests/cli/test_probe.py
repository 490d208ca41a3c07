"""``headscope probe`` from end to end, with a tiny model and small tasks in files."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli.test_mistakes import mistake
from headscope.results import Atlas
from page.test_report import Reader

WORDS = ("cat", "dog", "bird", "tree", "roof", "rain", "river", "home")
SIZES = {"tr": 40, "va": 16, "te": 20}
SMALL = ("--max-length", 32, "--curve", 2, "--l2", 0.01)


def random_texts(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return list(
        dict.fromkeys(
            " ".join(random.choice(WORDS, random.integers(3, 8))) for _ in range(3 * count)
        )
    )[:count]


@pytest.fixture
def senteval(tmp_path):
    """Depth (three classes) and Tense (two)."""
    folder = tmp_path / "senteval"
    folder.mkdir()
    for name, classes, seed in (("tree_depth", 3, 1), ("past_present", 2, 2)):
        texts = random_texts(sum(SIZES.values()), seed)
        marks = [mark for mark, count in SIZES.items() for _ in range(count)]
        (folder / f"{name}.txt").write_text(
            "".join(
                f"{mark}\t{len(text) % classes}\t{text}\n"
                for mark, text in zip(marks, texts, strict=True)
            )
        )
    return folder


@pytest.fixture
def glue(tmp_path):
    folder = tmp_path / "glue"
    heads = {
        "MRPC": "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
        "STS-B": "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\t"
        "sentence2\tscore",
    }
    for name, head in heads.items():
        (folder / name).mkdir(parents=True)
        for split, count, seed in (("train", 40, 3), ("dev", 12, 4)):
            pairs = zip(random_texts(count, seed), random_texts(count, seed + 10), strict=True)
            rows = [
                f"{place % 2}\t{place}\t{place}\t{one}\t{two}"
                if name == "MRPC"
                else f"{place}\tg\tf\ty\to\ts\ts\t{one}\t{two}\t{5 * place / count:.3f}"
                for place, (one, two) in enumerate(pairs)
            ]
            (folder / name / f"{split}.tsv").write_text("\n".join([head, *rows]) + "\n")
    return folder


def test_a_folder_of_tasks_and_everything_made_from_the_results(run, here, tiny_folder, senteval):
    asked = ("probe", tiny_folder, senteval, "-o", "p.nc", *SMALL, "--l2", 0.1)
    done = run(*asked)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "p.nc"
    for word in ("Depth", "Tense", "majority", "last layer", "best layer"):
        assert word in done.out
    assert "Depth, Tense: fewer than 200 validation or test examples; 5 random splits" in done.err
    assert "Means over 5 random splits, with 95 % intervals" in done.out
    assert "* Small tests: Depth (20 sentences), Tense (20)." in done.err
    results = Atlas.open(here / "p.nc")
    assert results["probe"]["task"].values.tolist() == ["tree_depth", "past_present"]
    assert results["probe"]["test"].shape == (2, 2, 4)
    assert results["probe_top"]["n"].values.tolist() == [2, 4]
    assert np.isfinite(results["probe"]["control"].values).all()
    assert np.isfinite(results["probe_top"]["test"].values).all()
    assert set(np.unique(results["probe"]["l2"].values)) <= {0.01, 0.1}
    assert len(list((here / "headscope-vectors").iterdir())) == 1

    before = (here / "p.nc").stat().st_mtime_ns
    rows: list[dict[str, Any]] = json.loads(run(*asked, "--json").out)
    assert [row["task"] for row in rows] == ["Depth", "Tense"]
    top = results["probe_top"]["test"].sel(task="tree_depth", n=4)
    last = results["probe_layer"]["test"].sel(task="tree_depth", layer=2)
    expected = [100 * float(one) for one in (top.sel(way="top"), top.sel(way="greedy"), last)]
    assert [rows[0][name] for name in ("top", "greedy", "last")] == pytest.approx(expected)
    assert run(*asked, "--quiet").out == "p.nc\n"
    assert (here / "p.nc").stat().st_mtime_ns == before  # opened, not computed again

    listed = run("ls", "p.nc")
    assert listed.code == 0, listed.err
    assert "Jo and Myaeng 2020" in listed.out
    assert [row["examples"] for row in json.loads(run("ls", "p.nc", "--json").out)] == [20] * 5
    page = run("report", "p.nc")
    assert page.code == 0, page.err
    shown = str(Reader((here / "p.html").read_text()).packs())
    assert "Layers and top heads" in shown
    assert "Repeated splits" in shown
    assert "Small tests: Depth (20 sentences), Tense (20)." in shown
    assert run("export", "p.nc", "-o", "p.csv").code == 0
    table = pd.read_csv(here / "p.csv")
    chosen = "measure == 'probe' and label == 'past_present' and layer == 2 and head == 3"
    head = table.query(chosen).iloc[0]
    score = results["probe"]["test"].sel(task="past_present", layer=2, head=3)
    assert head["test"] == pytest.approx(float(score))
    assert (len(table), head["test_size"]) == (2 * 2 * 8, 20)  # and means over splits
    assert not {"mean", "deviation", "n"} & {*table.columns, *results["probe"].data_vars}
    assert run("export", "p.nc", "--measure", "probe_layer", "-o", "layers.csv").code == 0
    assert len(pd.read_csv(here / "layers.csv")) == 2 * 2
    drawn = run("figures", "p.nc", "--format", "svg", "--json")
    assert drawn.code == 0, drawn.err
    names = {row["figure"] for row in json.loads(drawn.out)}
    assert {"probe", "probe-unsorted", "probe-selectivity", "top-n"} <= names
    assert all((here / "figures" / f"{name}.svg").read_text().startswith("<svg") for name in names)


def test_fewer_tasks_examples_and_classifiers(run, here, tiny_folder, senteval):
    how = "--task tense --sample 15 --no-greedy --no-control --embeddings --repeats 2 -n 3"
    done = run("probe", tiny_folder, senteval, how, "--probe.cache kept -o p.nc", *SMALL)
    assert done.code == 0, done.err
    assert "Tense: at most 15 examples of each split, drawn at random" in done.err
    assert "top-3 heads" in done.out
    results = Atlas.open(here / "p.nc")
    assert results["probe"]["task"].values.tolist() == ["past_present"]
    assert {int(results["probe"][name][0]) for name in ("train", "dev", "test_size")} == {15}
    assert np.isnan(results["probe"]["control"].values).all()
    assert np.isnan(results["probe_top"]["test"].sel(way="greedy").values).all()
    assert results["probe_top"]["n"].values.tolist() == [2, 3]
    assert f"{100 * float(results['probe_top']['test'].sel(way='top', n=3)[0]):.1f}" in done.out
    assert f"{100 * float(results['probe_embeddings']['test'][0]):.1f}" in done.out
    assert "embeddings" in done.out
    each = results["probe_splits_top"]["each"].sel(way="top")
    assert f"{100 * float(each.mean()):.1f} (" in done.out
    assert each.sizes["split"] == 2
    assert sorted(path.name for path in here.iterdir()) == ["kept", "p.nc"]


def test_a_custom_task_with_the_solver_of_the_paper(run, here, tiny_folder, senteval):
    shutil.copy(senteval / "past_present.txt", senteval / "mine.txt")
    how = "--task mine --solver rmsprop -o p.nc --quiet --no-greedy"
    done = run("probe", tiny_folder, senteval, how, *SMALL)
    assert (done.code, done.out, done.err) == (0, "p.nc\n", "")
    results = Atlas.open(here / "p.nc")
    assert results["probe"]["task"].values.tolist() == ["mine"]
    assert results.provenance["settings"]["solver"] == "rmsprop"


def test_glue_tasks_are_read_from_their_folder(run, here, tiny_folder, glue):
    (here / "mrpc").mkdir()  # a recipe may leave such a folder; ./mrpc would name it
    how = "--pairs apart -o p.nc --no-greedy --no-control --json"
    done = run("probe", tiny_folder, "mrpc", "stsb", "--data", glue, how, *SMALL)
    assert done.code == 0, done.err
    assert [row["metric"] for row in json.loads(done.out)] == ["accuracy", "pearson"]
    assert "all tasks: tested on the dev split; L2 is chosen by folds of the train" in done.err
    data = Atlas.open(here / "p.nc")["probe"]
    sizes = [data[name].values.tolist() for name in ("train", "dev", "test_size", "classes")]
    assert sizes == [[40, 40], [0, 0], [12, 12], [2, 0]]
    assert json.loads(done.out)[1]["majority"] is None


def test_ctrl_c_has_its_own_exit_code(run, here, tiny_folder, senteval, monkeypatch):
    from headscope.runs.probe import task as probing_task

    def stop(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(probing_task, "classify", stop)
    done = run("probe", tiny_folder, senteval, "-o", "p.nc", *SMALL)
    assert done.code == 130
    error, after = done.told
    words = "error: stopped before anything was finished; the vectors of"
    kept = re.fullmatch(rf"{words} \d+ texts are kept in (.+)", error)
    assert kept
    assert list(Path(kept[1]).glob("*.safetensors"))
    assert after == "next:  type the same command again to resume"
    assert not (here / "p.nc").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--l2", "0"], "L2 values must be numbers above 0, got 0.0 instead"),
        (["-n", "9"], "the number of heads must be between 1 and 8, the number of heads of "),
        (["--curve", "20"], "the number of heads must be between 1 and 8, the number of heads of "),
        (["--sample", "1"], "1 examples of Depth have only one class"),
        (["--task", "Tens"], "the task must be one of Depth, Tense; got 'Tens' instead. Did you"),
        (["--repeats", "0"], "the number of repeats must be 1 or more, got 0 instead"),
        (["--max-length", "65"], "the maximum length must be at most 64 for "),
    ],
)
def test_wrong_options_are_reported_in_two_lines(
    run, here, tiny_folder, senteval, options, message
):
    length = () if "--max-length" in options else ("--max-length", 32)
    error, _ = mistake(run("probe", tiny_folder, senteval, "-o", "p.nc", *length, *options))
    assert error.startswith(message)
    assert not (here / "p.nc").exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["tr\ta\tcat", "tr\ta\tdog", "te\ta\tbird"], "the whole file has only one class, 'a'"),
        (["tr\ta\tcat", "tr\tb\tdog", "te\tc\tbird"], "a class without training examples: 'c'"),
        (["tr\ta\tcat", "tr\tb\tdog"], "has no te lines: there is nothing to test on"),
        (["te\ta\tcat", "te\tb\tdog"], "has no tr lines: there is nothing to train on"),
        (
            ["tr\ta\tcat", "tr\tb\tdog", "te\tb\tbird"],
            "5 folds need at least 5 training examples, got 2 instead",
        ),
        (
            ["tr\ta\tcat", "tr\tb\t\u200b", "te\tb\tbird"],
            "mine: all training examples have the same label, 'a'",
        ),
    ],
)
def test_wrong_tasks_are_reported_in_two_lines(run, here, tiny_folder, lines, message):
    (here / "mine.txt").write_text("\n".join(lines) + "\n")
    error, _ = mistake(run("probe", tiny_folder, "mine.txt", "-o", "p.nc", "--max-length", 32))
    assert message in error


def test_wrong_sources_are_reported_in_two_lines(run, here, tiny_folder, senteval):
    twice = mistake(run("probe", tiny_folder, senteval, senteval / "tree_depth.txt", "-o", "p.nc"))
    assert twice[0] == "two tasks are called tree_depth"
    assert mistake(run("probe", tiny_folder, "mrpc", "-o", "p.nc")) == (
        "mrpc is a GLUE task, whose files must be given too",
        "give --data FOLDER (FOLDER/MRPC/train.tsv …), or --data hub",
    )
    assert "nothing.txt" in mistake(run("probe", tiny_folder, "nothing.txt", "-o", "p.nc"))[0]
    assert "no-model" in mistake(run("probe", here / "no-model", senteval, "-o", "p.nc"))[0]
    assert list(here.iterdir()) == []
