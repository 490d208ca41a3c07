"""Fine-tuned models of the recipe: the user's own checkpoints, seeds, limits and samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from headscope.errors import UserError
from headscope.papers import Kovaleva2019
from headscope.papers import recipe as base
from headscope.papers.kovaleva2019_tuned import (
    MEAN_GAIN,
    TABLE_1,
    Checkpoint,
    gains_over,
    main_scores,
    table_rows,
    tuned_places,
)
from headscope.results import Atlas
from headscope.runs.tune import RECORD
from headscope.tasks import find_task
from papers.test_kovaleva2019 import ROWS, glue  # noqa: F401 (fixture)

RTE, MRPC = find_task("rte"), find_task("mrpc")


@pytest.fixture
def own(tiny_folder, tmp_path):
    """A classifier that somebody saved with transformers alone; its classes have no names."""
    torch.manual_seed(4)
    network = AutoModelForSequenceClassification.from_pretrained(tiny_folder, num_labels=2)
    with torch.no_grad():
        network.classifier.weight *= 50
    folder = tmp_path / "own"
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(folder)
    return folder


def recipe(model: Path, data: Path, output: Path, **options: object) -> Kovaleva2019:
    given = {"starts": ["pretrained"], "parts": ["tuning"], "max_length": 48} | options
    return Kovaleva2019(model, tasks=["rte"], data=data, output=output, **given)  # type: ignore[arg-type]


def test_a_checkpoint_without_our_record_is_scored_as_transformers_scores_it(
    tiny_folder, own, glue, tmp_path
):
    report = recipe(tiny_folder, glue, tmp_path / "out", tuned=f"rte={own}").run()
    network = AutoModelForSequenceClassification.from_pretrained(own).eval()
    tokenizer = AutoTokenizer.from_pretrained(own)
    answers = []
    for one, two, _ in ROWS:
        with torch.inference_mode():
            logits = network(**tokenizer(one, two, return_tensors="pt")).logits
        answers.append(RTE.labels[int(logits.argmax())])
    expected = accuracy_score([label for _, _, label in ROWS], answers)
    row = report.tables["tuning/table-1"].iloc[0]
    assert row["pretrained: here"] == f"{100 * expected:.1f}"
    assert (row["train"], row["minutes"]) == ("–", "–")
    note = report.sections[0].tables[0].note
    assert "Own has no record of how it was trained." in note
    assert "are called label_0, label_1: they are taken to be entailment, not_entailment" in note


@pytest.mark.slow
def test_all_parts_run_on_an_own_checkpoint(tiny_folder, own, glue, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "save_in_formats", lambda _chart, paths: paths)
    parts = ["tuning", "patterns", "change", "disabling"]
    report = recipe(tiny_folder, glue, tmp_path / "out", tuned={"rte": own}, parts=parts).run()
    assert report.skipped == ()
    assert not (tmp_path / "out" / "tuned").exists()


def test_one_check_refuses_a_checkpoint_for_every_part(tiny_folder, own, glue, tmp_path):
    network = AutoModelForSequenceClassification.from_pretrained(
        own, num_labels=3, ignore_mismatched_sizes=True
    )
    network.save_pretrained(own)
    messages = set()
    for part in ("tuning", "patterns", "change", "disabling"):
        made = recipe(tiny_folder, glue, tmp_path / part, tuned=f"rte={own}", parts=[part])
        with pytest.raises(UserError) as raised:
            made.run()
        messages.add(raised.value.message)
    (message,) = messages
    assert message.startswith(f"{own} cannot be used for RTE: the classifier of {own} was never")


def test_a_checkpoint_of_another_shape_is_refused(tiny_folder, glue, tmp_path):
    network = AutoModelForSequenceClassification.from_pretrained(
        tiny_folder, num_labels=2, num_hidden_layers=1
    )
    network.save_pretrained(tmp_path / "small")
    AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(tmp_path / "small")
    made = recipe(tiny_folder, glue, tmp_path / "out", tuned=tmp_path / "small")
    with pytest.raises(UserError, match="the two models have different shapes"):
        made.run()


@pytest.mark.slow
def test_several_seeds_limited_training_and_a_folder_of_models_that_is_used_as_it_is(
    tiny_folder, glue, tmp_path
):
    options = {"seeds": 2, "train_limit": 8, "epochs": 1}
    first = recipe(tiny_folder, glue, tmp_path / "a", tuned=tmp_path / "models", **options).run()
    row = first.tables["tuning/table-1"].iloc[0]
    assert row["train"] == 8
    seeds = first.tables["tuning/range-over-tuning-seeds"].iloc[0]
    low, high = map(float, seeds["pretrained"].split("–"))
    assert float(row["pretrained: here"]) == pytest.approx((low + high) / 2, abs=0.11)
    folders = sorted(folder.name for folder in (tmp_path / "models").iterdir())
    assert folders == ["rte-pretrained", "rte-pretrained-seed1"]
    # Other settings: the models are used as they are, and the page says how they were trained.
    other = recipe(tiny_folder, glue, tmp_path / "b", tuned=tmp_path / "models", epochs=3).run()
    assert "1 epoch over 8 examples" in other.sections[0].text
    (tmp_path / "models" / "rte-pretrained" / RECORD).unlink()
    bare = recipe(tiny_folder, glue, tmp_path / "c", tuned=tmp_path / "models").run()
    assert "Rte-pretrained: fine-tuned elsewhere." in bare.sections[0].text
    scores = [one.tables["tuning/table-1"].iloc[0]["pretrained: here"] for one in (other, bare)]
    assert scores[0] == scores[1]


def test_dev_examples_are_drawn_at_random_and_frame_sentences_are_not_cut(
    tiny_folder, glue, tmp_path
):
    made = recipe(tiny_folder, glue, tmp_path / "out", limit=5, seed=7, parts=["frames"])
    places = np.random.default_rng(7).permutation(len(ROWS))[:5]
    assert [example.texts for example in made.tuned_models.dev(RTE)] == [
        ROWS[place][:2] for place in sorted(places)
    ]
    first = recipe(tiny_folder, glue, tmp_path / "out", limit=5, sample="first")
    assert [example.texts for example in first.tuned_models.dev(RTE)] == [
        row[:2] for row in ROWS[:5]
    ]
    made.run()
    assert Atlas.open(tmp_path / "out" / "frames.nc").provenance["counts"]["seen"] > 5


def test_what_tuned_may_be(own, tmp_path):
    assert tuned_places(None, [RTE]).home is None
    assert tuned_places(tmp_path / "new", [RTE]).home == tmp_path / "new"
    assert tuned_places([f"rte={own}", "rte=me/model"], [RTE]).own == {
        "rte": (str(own), "me/model")
    }
    assert tuned_places(own, [RTE]).own == {"rte": (str(own),)}  # the only task
    assert tuned_places({"mrpc": [own], "rte": "me/model"}, [RTE, MRPC]).own["mrpc"] == (str(own),)
    with pytest.raises(UserError, match="nothing says which task it was tuned for"):
        tuned_places(own, [RTE, MRPC])
    with pytest.raises(UserError, match="given for MRPC, which is not one of the tasks"):
        tuned_places(f"mrpc={own}", [RTE])
    with pytest.raises(UserError, match="only one folder of fine-tuned models"):
        tuned_places(["a", "b"], [RTE])
    with pytest.raises(UserError, match="Did you mean 'rte'"):
        tuned_places("rtee=a", [RTE])


def test_the_paper_s_mean_gain_is_that_of_its_table():
    """35.9 is the mean over the seven rows of Table 1, with accuracy where there is one."""
    made = []
    for name, row in TABLE_1.items():
        task = find_task(name)
        for start in ("untrained", "pretrained"):
            printed = dict(zip(task.metrics, [value / 100 for value in row[start]], strict=False))
            made.append(Checkpoint(task, start, "x", printed, printed, {"dev": 1}))
    gains = gains_over(main_scores(made), "untrained", "pretrained")
    assert (round(float(np.mean(list(gains.values()))), 1), len(gains)) == (MEAN_GAIN, 7)
    assert len(table_rows(made)) == 7
