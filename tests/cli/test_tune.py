"""``headscope tune``: from files to a table of scores and folders with models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from headscope.papers.kovaleva2019_tuned import MEAN_GAIN, TABLE_1
from headscope.runs.tune import Tuned, TuneSettings
from headscope.tasks import GLUE

QUICK = ("--epochs", "1", "--batch-size", "4", "--max-length", "32", "--learning-rate", "0.002")


@pytest.fixture
def glue(tmp_path):
    """Two tasks in GLUE's layout: nine training examples, four dev examples, three of them of the
    first class."""
    folder = tmp_path / "glue"
    for task, header, first, second in (
        ("RTE", "index\tsentence1\tsentence2\tlabel", "entailment", "not_entailment"),
        ("MRPC", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1", "0"),
    ):
        for split, labels in (
            ("train", [first, second] * 4 + [first]),
            ("dev", [first, first, first, second]),
        ):
            rows = [
                f"{number}\tthe cat sat\ta dog sat\t{label}"
                if task == "RTE"
                else f"{label}\t1\t2\tthe cat sat\ta dog sat"
                for number, label in enumerate(labels)
            ]
            (folder / task).mkdir(parents=True, exist_ok=True)
            (folder / task / f"{split}.tsv").write_text("\n".join([header, *rows]) + "\n")
    return folder


@pytest.fixture
def table(tmp_path):
    """A user's own tables, without a header."""
    for name, count in (("train", 6), ("dev", 4)):
        (tmp_path / f"{name}.tsv").write_text(
            "".join(
                f"the {'cat' if row % 2 else 'dog'} sat\t{'cat' if row % 2 else 'dog'}\n"
                for row in range(count)
            )
        )
    return tmp_path / "train.tsv", tmp_path / "dev.tsv"


def test_the_published_table_is_the_one_whose_mean_gain_is_published():
    # Where a task has two scores, the second one is the accuracy.
    gains = [row["pretrained"][-1] - row["untrained"][-1] for row in TABLE_1.values()]
    assert np.mean(gains) == pytest.approx(MEAN_GAIN, abs=0.05)
    assert list(TABLE_1) == list(GLUE)
    for name, row in TABLE_1.items():
        assert {len(scores) for scores in row.values()} == {2 if name in ("mrpc", "qqp") else 1}


def test_the_table_has_all_three_starts_beside_the_published_scores(
    run, tmp_path, tiny_folder, glue
):
    line = ("tune", tiny_folder, "--task rte --task MRPC --data", glue, *QUICK)
    done = run(*line, "--start all -o", tmp_path / "out")
    assert done.code == 0, done.err
    words = " ".join(done.out.split())
    for heading in ("majority", "untrained: paper", "random: paper", "pretrained: here", "minutes"):
        assert all(part in words for part in heading.split())
    for published in ("52.7", "64.6", "0.0/31.6", "81.2/68.3", "87.9/82.3"):
        assert published in words
    folders = [
        str(tmp_path / "out" / f"{task}-{start}")
        for task in ("rte", "mrpc")
        for start in ("pretrained", "random", "untrained")
    ]
    assert done.out.splitlines()[-6:] == folders
    for folder in folders:
        assert (Path(folder) / "headscope-tune.json").is_file()
    assert "2 of its weights are random (classifier.bias, classifier.weight)" in done.err


def test_json_has_one_record_per_run_and_finished_runs_are_not_repeated(
    run, tmp_path, tiny_folder, glue
):
    how = ("--start untrained --seed 1 --seed 2 -o", tmp_path / "out", *QUICK)
    command = ("tune", tiny_folder, "--task rte --data", glue, *how)
    done = run(*command, "--json", "--quiet")
    records = json.loads(done.out)
    assert [
        (record["task"], record["start"], record["seed"], record["train"], record["dev"])
        for record in records
    ] == [("rte", "untrained", 1, 9, 4), ("rte", "untrained", 2, 9, 4)]
    assert {record["majority accuracy"] for record in records} == {0.75}
    expected = ["rte-untrained-seed1", "rte-untrained-seed2"]
    assert [Path(record["folder"]).name for record in records] == expected
    assert done.err == ""
    again = run(*command)
    assert (
        f"{tmp_path / 'out' / 'rte-untrained-seed1'} is already finished; "
        "its scores are read from there" in again.err
    )
    assert "median of 2 seeds" in again.out


def test_the_table_shows_median_and_range_of_seeds_and_their_total_time():
    from headscope.papers.kovaleva2019_tuned import table_rows

    def made(seed: int, f1: float, accuracy: float) -> Tuned:
        scores, majority = {"f1": f1, "accuracy": accuracy}, {"f1": 0.812, "accuracy": 0.684}
        known = (Path(), "m", GLUE["mrpc"], TuneSettings(seed=seed), scores, majority)
        return Tuned(*known, {"train": 10, "dev": 4}, 60.0, [], "", {})

    found = table_rows([made(0, 0.8, 0.5), made(1, 0.9, 0.75), made(2, 0.85, 0.25)])
    assert found == [
        {
            "task": "MRPC",
            "metric": "F1/accuracy",
            "train": 10,
            "dev": 4,
            "majority": "81.2/68.4",
            "pretrained: paper": "87.9/82.3",
            "pretrained: here": "85.0/50.0 (80.0–90.0, 25.0–75.0)",
            "minutes": "3.0",
        }
    ]


def test_a_users_own_table_is_trained_on_and_surveyed(run, tmp_path, tiny_folder, table):
    train, dev = table
    done = run("tune", tiny_folder, "--train", train, "--dev", dev, "-o", tmp_path / "out", *QUICK)
    folder = tmp_path / "out" / "custom-pretrained"
    assert (done.code, done.out.splitlines()[-1]) == (0, str(folder))
    assert "train.tsv" in done.out
    about = json.loads((folder / "config.json").read_text())
    assert about["id2label"] == {"0": "cat", "1": "dog"}
    how = ("--measure entropy --max-length 32 -o", tmp_path / "x.nc")
    assert run("survey", folder, dev, *how).code == 0


def test_classifiers_on_heads_a_layer_or_the_last_layer(run, tmp_path, tiny_folder, glue):
    quick = ("--epochs", "1", "--batch-size", "4", "--max-length", "32", "-o", tmp_path / "out")
    for given, name, title, position in (
        (("--pooling", "heads:2-3,1-1"), "rte-heads-2-3_1-1", "heads 2-3, 1-1", "cls"),
        (
            ("--pooling", "layer:1", "--position", "mean", "--seed", "4"),
            "rte-layer1-mean-seed4",
            "layer 1",
            "mean",
        ),
        (("--pooling", "last", "--start", "untrained"), "rte-last-untrained", "layer 2", "cls"),
    ):
        done = run("tune", tiny_folder, "--task", "rte", "--data", glue, *given, *quick)
        assert (done.code, done.out.splitlines()[-1]) == (0, str(tmp_path / "out" / name)), done.err
        words = " ".join(done.out.split())
        assert title in words
        assert position in words
        assert "paper" not in words
        about = json.loads((tmp_path / "out" / name / "headscope-tune.json").read_text())
        assert about["settings"]["learning_rate"] == 2e-5
    assert "the classifier on layer 2 of" in done.err
    line = ("tune", tiny_folder, "--task rte --data", glue, "--pooling", "heads:2-3, 1-1", *quick)
    (record,) = json.loads(run(*line, "--json --quiet").out)
    assert (record["pooling"], record["position"]) == ("heads 2-3, 1-1", "cls")
    folder = Path(record["folder"])
    assert folder.name == "rte-heads-2-3_1-1"
    how = ("--measure entropy --max-length 32 -o", tmp_path / "x.nc")
    survey = run("survey", folder, glue / "RTE" / "dev.tsv", *how)
    assert survey.code == 0, survey.err


def test_an_interruption_says_how_to_resume(run, tmp_path, tiny_folder, glue, monkeypatch):
    from headscope.runs.tune.trainer import CheckpointClock

    def press(self: CheckpointClock, *_: object, **__: object) -> None:
        self.stop = True  # as Ctrl-C does

    command = ("tune", tiny_folder, "--task", "rte", "--data", glue, "-o", tmp_path / "out", *QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointClock, "on_train_begin", press)
        done = run(*command)
    folder = tmp_path / "out" / "rte-pretrained"
    lines = [
        f"error: stopped; the state after step 1 is kept in {folder / 'checkpoints'}",
        "next:  type the same command again to resume",
    ]
    assert (done.code, done.told) == (130, lines)
    assert run(*command).code == 0


NEEDED = "tuning needs a task and its data, or train and dev; got"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", f"{NEEDED} none"),
        ("--task rte", f"{NEEDED} task"),
        ("--task rte --data GLUE --dev a.tsv", f"{NEEDED} task and data and dev"),
        ("--task rtx --data GLUE", "the task must be one of mnli, mrpc, opinion, paraphrase, qnli"),
        ("--task rte --data GLUE --start scratch", "the start must be one of all, pretrained, ran"),
        ("--task rte --data GLUE --pooling layer4", "a pooling must be last, layer:N or heads:LA"),
        ("--task rte --data GLUE --pooling last --position end", "the position must be one of cls"),
        ("--task rte --data GLUE --position last", "the position 'last' needs a pooling"),
        ("--task rte --data nowhere", "no such corpus file: nowhere"),
        (
            "--task rte --task mrpc --train a.tsv --dev b.tsv",
            "--train and --dev are one task's tables, got 2 tasks",
        ),
        ("--task qqp --data GLUE", "GLUE has no folder for QQP; its folders are: MRPC, RTE"),
    ],
)
def test_a_mistake_is_an_error_before_anything_is_trained(
    run, tmp_path, tiny_folder, glue, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    glue.rename(tmp_path / "GLUE")
    done = run("tune", tiny_folder, *options.split())
    assert done.code == 2
    assert done.told[0].startswith(f"error: {message}")
    assert not list(tmp_path.glob("tuned/*"))
