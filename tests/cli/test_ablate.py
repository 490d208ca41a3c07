"""``headscope ablate`` from end to end, with tiny models in folders."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from cli.test_mistakes import mistake
from headscope.results import Atlas
from headscope.runs.tune import Tuned, TuneSettings
from headscope.tasks import Task

TEXTS = [
    "the cat sat on the mat",
    "a small bird sang",
    "the dog sat by the door",
    "we walked to the river",
    "rain fell on the roof",
    "that is all there is",
]


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A tiny BERT with a language-model head, with a classifier, and without either."""
    from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

    from tiny import tiny_network, tiny_tokenizer

    made = {}
    names = {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
    for name, auto, changes in (
        ("lm", AutoModelForMaskedLM, {}),
        ("classifier", AutoModelForSequenceClassification, names),
        ("bare", AutoModel, {}),
    ):
        made[name] = tmp_path_factory.mktemp("models") / name
        tiny_network("bert", auto=auto, **changes).save_pretrained(made[name])
        tiny_tokenizer("bert").save_pretrained(made[name])
    return made


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text(
        "text\tlabel\n"
        + "".join(f"{text}\t{'yes' if index % 2 else 'no'}\n" for index, text in enumerate(TEXTS))
    )
    return path


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.txt"
    path.write_text("\n\n".join(TEXTS))
    return path


def test_a_classifier_on_a_users_own_table(run, here, folders, table):
    how = "--set 1-1,2-4 --no-layers -o off.nc --max-length 32"
    done = run("ablate", folders["classifier"], "--dev", table, how)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "off.nc"
    results = Atlas.open(here / "off.nc")
    assert results["head_off"]["mean"].shape == (2, 4)
    assert results["set_off"]["set"].values.tolist() == ["1-1,2-4"]
    assert "layer_off" not in results.measures
    outputs, gold = results["ablation"]["outputs"], results["ablation"]["gold"]
    right = (outputs.argmax("output") == gold).mean("example")
    assert results["head_off"]["mean"].values.ravel() == pytest.approx(right.values[1:9])
    assert f"baseline: accuracy {right.values[0]:.4f}" in done.err
    assert "6 examples are few for a bootstrap" in done.err
    assert (here / "off-figures" / "head-off.png").stat().st_size > 5000
    assert "warning: the classifier" not in done.err


def test_a_tuned_folder_knows_its_task(run, here, folders, tmp_path):
    tuned = tmp_path / "tuned"
    shutil.copytree(folders["classifier"], tuned)
    labels = ["entailment", "not_entailment"]
    task, scores = (
        Task("rte", "RTE", "classification", tuple(labels), ("accuracy",)),
        {"accuracy": 0.5},
    )
    about = (tuned, "tiny", task, TuneSettings(), scores, scores, {"train": 8, "dev": 8})
    Tuned(*about, 1.0, [], "", {}).write()
    rows = [f"{one}\t{two}\t{labels[len(one) % 2]}" for one, two in pairwise(TEXTS)]
    (tmp_path / "glue" / "RTE").mkdir(parents=True)
    header = "sentence1\tsentence2\tlabel"
    (tmp_path / "glue" / "RTE" / "dev.tsv").write_text("\n".join([header, *rows]) + "\n")
    how = "--no-heads --no-layers --set 1-1 --max-length 32 --quiet"
    done = run("ablate", tuned, "--data", tmp_path / "glue", how)
    assert (done.code, done.out) == (0, "tuned-rte-ablation.nc\n"), done.err
    results = Atlas.open(here / "tuned-rte-ablation.nc")
    assert results.provenance["objective"]["labels"] == labels
    gold = results["ablation"]["gold"].values.tolist()
    assert sorted(gold) == sorted(len(one) % 2 for one in TEXTS[:-1])
    assert mistake(run("ablate", tuned)) == (
        f"{tuned} was tuned for RTE; its examples are needed to judge it",
        "give --data glue (the folder of the task's files), or --dev dev.tsv",
    )


@pytest.mark.slow
def test_a_language_models_loss_with_importance_and_pruning(run, here, folders, plain):
    how = "--importance --prune --way zero -o off.nc --max-length 32"
    done = run("ablate", folders["lm"], "--corpus", plain, how)
    assert done.code == 0, done.err
    results = Atlas.open(here / "off.nc")
    drawn = {"importance", "importance_agreement", "head_off", "layer_off", "pruning"}
    assert set(results.measures) == {"ablation", *drawn}
    assert results["head_off"].attrs["metric"] == "loss"
    losses = results["ablation"]["outputs"].mean(("example", "output")).values[1:9]
    assert results["head_off"]["mean"].values.ravel() == pytest.approx(losses, abs=1e-5)
    names = {f"{name.replace('_', '-')}.png" for name in drawn}
    assert {file.name for file in (here / "off-figures").iterdir()} == names
    assert "Gradient importance and disabling" in done.out
    for command in ("ls", "report", "export"):
        more = ["-o", "off.csv"] if command == "export" else []
        assert run(command, "off.nc", *more).code == 0
    again = run("ablate", folders["lm"], "--corpus", plain, f"{how} --quiet")
    assert again.code == 0
    assert again.out == "off.nc\n"


def test_json_has_one_row_per_head_layer_and_set(run, here, folders, plain):
    how = "--json -o off.nc --ablate.correction none --max-length 32"
    done = run("ablate", folders["lm"], "--corpus", plain, how)
    rows: list[dict[str, Any]] = json.loads(done.out)
    assert [row["off"] for row in rows if row["kind"] == "layer"] in (["1", "2"], ["2", "1"])
    assert len(rows) == 10
    head = next(row for row in rows if row["off"] == "2-3")
    data = Atlas.open(here / "off.nc")["head_off"].sel(layer=2, head=3)
    assert head["score"] == pytest.approx(data["mean"].item())
    assert head["gain"] == pytest.approx(head["baseline"] - head["score"])
    assert head["p"] == head["p_corrected"] == pytest.approx(data["p"].item())
    columns = "kind off metric baseline score gain low high p p_corrected"
    assert list(head) == columns.split()


def test_a_glue_task_is_read_from_its_folder_and_untrained_weights_are_named(run, here, folders):
    home = here / "glue" / "SST-2"
    home.mkdir(parents=True)
    (home / "dev.tsv").write_text(
        "sentence\tlabel\n" + "".join(f"{text}\t{index % 2}\n" for index, text in enumerate(TEXTS))
    )
    how = "--task sst2 --data glue --no-heads -o off.nc --limit 4 --max-length 32"
    done = run("ablate", folders["bare"], how)
    assert done.code == 0, done.err
    assert "warning: the classifier of" in done.err
    assert "was never trained for this task: 2 of its weights are random" in done.err
    results = Atlas.open(here / "off.nc")
    assert results["ablation"].sizes["example"] == 4
    assert np.isin(results["layer_off"]["mean"].values, [0, 0.25, 0.5, 0.75, 1]).all()


SEE = "see headscope ablate --help"
CORRECTION = "the correction must be one of bh, holm, none; got 'holms' instead. Did you"


@pytest.mark.parametrize(
    ("model", "options", "error", "advice"),
    [
        (
            "classifier",
            "--set 3-1",
            "the model has no head 3-1 (L2H0); its heads run from 1-1 to 2-4",
            "give heads as LAYER-HEAD counted from 1, such as 3-9, or L2H8",
        ),
        ("classifier", "--set 1,2", "a head must be given as LAYER-HEAD", "e.g. 3-9 or 4-*"),
        (
            "classifier",
            "--set *-*",
            "1-1,1-2,1-3,1-4,2-1,2-2,2-3,2-4 would disable all 8 heads of the model",
            "leave at least one head enabled",
        ),
        ("classifier", "--way none", "the way to disable a head must be one of mean, unif", SEE),
        ("classifier", "--metric pearson", "the metric of", SEE),
        ("classifier", "--ablate.correction holms", CORRECTION, SEE),
        ("lm", "--ablate.correction holms", CORRECTION, SEE),
    ],
)
def test_a_mistake_gives_two_lines(run, here, folders, table, model, options, error, advice):
    told = mistake(run("ablate", folders[model], "--dev", table, "-o", "off.nc", *options.split()))
    assert told[0].startswith(error)
    assert told[1].startswith(advice)


def test_the_error_for_a_model_without_the_right_head_says_what_to_give(run, here, folders, plain):
    error, advice = mistake(run("ablate", folders["bare"], "--corpus", plain, "-o", "off.nc"))
    assert "has no language-model head: " in error
    assert error.endswith("; and no task was given")
    assert advice == (
        "give --task and --data for a tuned classifier, or choose a masked or causal language model"
    )
    assert mistake(run("ablate", folders["lm"], "--task", "mrpc", "-o", "off.nc")) == (
        "a classifier is judged by a task with its data, or by the labelled table dev; got task",
        "give e.g. --task mrpc and --data glue, or --dev dev.tsv",
    )
    expected = ("the metric f1 needs a task", "give --task and --data, or leave --metric out")
    assert mistake(run("ablate", folders["lm"], "--metric", "f1", "-o", "off.nc")) == expected


def test_labels_of_one_class_are_an_error(run, here, folders, tmp_path):
    path = tmp_path / "one.tsv"
    path.write_text("text\tlabel\n" + "".join(f"{text}\tyes\n" for text in TEXTS))
    error, _ = mistake(run("ablate", folders["classifier"], "--dev", path, "-o", "off.nc"))
    assert "a task needs two classes or more" in error


def test_an_undefined_baseline_has_dashes():
    """F1 is not defined where no example is of class 1 or taken for it."""
    from headscope.cli.tables import AblationTable
    from headscope.stats.tables.ablation import scored
    from stats.made_ablation import made_ablation

    outputs = np.tile(np.array([1.0, 0.0]), (9, 40, 1))
    results = scored(made_ablation(outputs, np.zeros(40), metric="f1"), resamples=100)
    results = results.described(results.provenance | {"counts": {"seen": 40, "nonfinite": 0}})
    baseline = next(iter(AblationTable().notes(results)))
    assert "baseline: f1 – – (not defined on these examples), 40 examples" in baseline
    heads = AblationTable().frames(results)[0].for_people()
    assert set(heads.iloc[0, 1:4]) == {"–"}
